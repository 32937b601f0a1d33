"""Names of recorded conversations: readable, each only once, and without what must not be kept."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison import compare_reports
from calipers.data.trace import Trace
from calipers.evaluators import HasMatchingSpan
from calipers.exchange import dataset_from, import_run, import_traces
from calipers.exchange.attempt_name import AttemptNames, first_words, name_without_words
from calipers.exchange.received_run import ReceivedRun
from calipers.exchange.recorded_traces import trace_record
from calipers.spans.query import SpanQuery
from calipers.stores import MemoryStore, hide_matches, score_again
from calipers.views.junit import report_junit
from calipers.views.statement import Statement

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


def conversation(asked, *, trace_id=TRACE_ID, **metadata):
    return trace_record(Trace(input_text=asked, trace_id=trace_id, metadata=metadata), {})


@pytest.mark.parametrize(
    ("asked", "metadata", "name"),
    [
        ("What flies to Oslo?", {}, "what-flies-to-oslo-0e0e4736"),
        ("What flies to Oslo?", {"conversation_id": "thread-7"}, "what-flies-to-oslo-thread-7"),
        (
            "Find me  the cheapest flight from Bergen to Lima, please, and book it",
            {},
            "find-me-the-cheapest-flight-from-bergen-to-lima-0e0e4736",
        ),
        ("東京の天気は?", {}, "東京の天気は-0e0e4736"),
        ("x" * 1000, {}, f"{'x' * 48}-0e0e4736"),
        ("", {}, TRACE_ID),
        ("?!", {"conversation_id": "thread-7"}, "thread-7"),
    ],
)
def test_a_name_says_what_was_asked_and_whose_it_is(asked, metadata, name):
    assert AttemptNames().name_of(conversation(asked, **metadata)) == name


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "a-2", "b c", ""]), st.sampled_from(["", "2", "x" * 20])), max_size=30
    )
)
def test_no_name_is_given_twice(asked):
    names = AttemptNames(taken=["a-2"])
    found = [names.name_of(conversation(text, trace_id=trace_id)) for text, trace_id in asked]
    assert len({*found, "a-2"}) == len(found) + 1
    assert all(found)


@given(st.text())
def test_first_words_are_short_and_need_no_quotes(text):
    assert re.fullmatch(r"[\w-]{0,60}", first_words(text))


def test_the_name_in_a_store_with_hooks_holds_nothing_that_they_hide(tmp_path):
    anna = hide_matches(r"anna@\S+", by="")
    with MemoryStore(redact=[anna]) as store:
        run = ReceivedRun.begin(store, tmp_path, name=None, wait=1)
        record = conversation("My mail is anna@example.org, why?")
        assert run._names.name_of(record) == "my-mail-is-why-0e0e4736"
        assert record.inputs == "My mail is anna@example.org, why?"
        run.finish()


def test_a_secret_in_a_request_is_not_in_its_name():
    record = conversation("Use password=hunter2222 to log in")
    assert AttemptNames().name_of(record) == "use-password-redacted-to-log-in-0e0e4736"


def test_the_words_of_a_name_can_be_taken_off_again():
    record = conversation("I am anna@example.org", conversation_id="thread-7")
    names = AttemptNames()
    for _ in range(3):
        record.name = names.name_of(record)
        assert name_without_words(record) == "thread-7"
    record.name = "a case of mine"
    assert name_without_words(record) == "a case of mine"


def history(asked, answer="Yes."):
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]


@pytest.fixture
def recording(tmp_path):
    def write(*histories, name="history.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps({"messages": each}) for each in histories))
        return path

    return write


def test_two_recordings_of_the_same_requests_are_compared_case_by_case(store, recording):
    asked = ["To Oslo?", "To Lima?", "To Rome?"]
    one = import_traces([recording(*map(history, asked), name="one.jsonl")], store, name="one").run
    other = [history(each, "No.") for each in reversed(asked)]
    two = import_traces([recording(*other, name="two.jsonl")], store, name="two").run
    found = compare_reports(store.report(one.id), store.report(two.id))
    assert (found.pairing.pairs, found.pairing.left_out) == (3, 0)
    assert {case.name.rpartition("-")[0] for case in store.report("two").cases} == {
        "to-oslo",
        "to-lima",
        "to-rome",
    }


def test_conversations_of_which_it_is_not_known_what_was_asked_are_no_pair(store):
    one, two = (conversation("", trace_id=f"{place}" * 32) for place in (1, 2))
    assert one.inputs is two.inputs is None


def test_the_same_recording_is_kept_once_whatever_the_run_is_called(store, recording):
    path = recording(history("To Oslo?"))
    first = import_traces([path], store, name="mine")
    again = import_run(path, store)
    assert (first.run.name, again.run.name, again.is_new) == ("mine", "mine", False)


def test_a_run_of_recordings_shows_no_seed_and_no_advice_to_run_it_again(store, recording):
    run = import_traces([recording(history("To Oslo?"))], store).run
    report = score_again(store, run.id, evaluators=[not_there, TagsOfCase()])
    says = Statement(report)
    assert (report.seed, says.facts) == (None, ["1 case"])
    assert "seed" not in report_junit(report)
    assert "score the run again to have it judged" in says.headline.unanswered.advice
    assert says.times is None
    assert report.reuse.notes == []
    spans = score_again(store, run.id, evaluators=[HasMatchingSpan(SpanQuery(name_contains="x"))])
    (failed,) = (each for each in spans.cases[0].evaluator_failures if each.name == "HasMatchingSpan")
    assert "it was not made by a run of Calipers" in failed.error_message


def not_there(output):
    raise ConnectionError("the judge is away")


class TagsOfCase:
    """An evaluator that looks at the case."""

    def evaluate(self, test_case, trace):
        return {"tags": len(test_case.tags)}


def test_words_of_a_request_are_in_no_dataset_by_way_of_the_name(store, recording):
    run = import_traces(
        [recording(history("I am anna@example.org"), history("I am Anna@example.org "))], store
    ).run
    made = dataset_from(run.id, store=store)
    assert "anna" not in repr(made.dataset.cases).lower()
    assert "anna" not in repr(made.summary).lower()
    assert [case.name.startswith("i-am-anna-example-org-") for case in store.report(run.id).cases] == [
        True,
        True,
    ]
