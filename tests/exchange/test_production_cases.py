"""Attempts of runs and traces become cases: what stays, what is left out, and what a case expects."""

import itertools
import json
import re
from collections import Counter

import pytest

from calipers import Case, Dataset
from calipers.data.human_label import HumanLabel, output_digest
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.data.user_turn import UserTurn
from calipers.errors import InvalidOptionError, NotKnownError, ReportFormatError, StoreError
from calipers.evaluators import FollowsTrajectory, ToolCallsMatch
from calipers.exchange import DuplicateCase, dataset_from, export_run, import_traces
from calipers.matching import OfType
from calipers.stores import SqliteStore

QUESTION = "Is the answer right?"


def history(*said, tool=None):
    """A message history: what the user and the agent said in turn, with a call before the first answer."""
    messages = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": text}
        for place, text in enumerate(said)
    ]
    if tool is not None:
        asks = [{"type": "tool_use", "id": "c1", "name": tool, "input": {"who": "anna@example.org"}}]
        gives = [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]
        messages[1:1] = [{"role": "assistant", "content": asks}, {"role": "user", "content": gives}]
    return {"messages": messages}


@pytest.fixture
def record(tmp_path):
    """Write message histories into a file."""

    def write(*histories, name="traces.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, histories)), encoding="utf-8")
        return path

    return write


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def say(store):
    """Label attempts of the run `latest`, by position."""

    def say(position, *values, about=""):
        run = store.run("latest").id
        store.add_labels(
            [
                HumanLabel(
                    run=run, position=position, case="c", question=QUESTION, person=f"p{place}", value=value,
                    at="2026-11-01T00:00:00+00:00", about=about,
                )
                for place, value in enumerate(values)
            ]
        )  # fmt: skip

    return say


def agent(inputs):
    """An agent that fails on demand, and tells what it spent."""
    if inputs == "boom":
        raise TimeoutError("no answer")
    calls = [
        Turn(tool_call=ToolCall("find", {"q": inputs})),
        Turn(tool_call=ToolCall("find", {"q": "again"}, error="busy")),
        Turn(llm_call=LLMCall(model="m-1", input_tokens=10, output_tokens=2, cost=0.01 * len(inputs))),
    ]
    return Trace(agent_name="shop", output_text=f"answer to {inputs}", turns=calls, records_calls=True)


def short(output):
    return len(str(output)) < 15


def make_run(store, *inputs, repeat=1, **fields):
    cases = [Case(name=f"case {place}", inputs=each, **fields) for place, each in enumerate(inputs)]
    dataset = Dataset(name="made", cases=cases, evaluators=[short])
    dataset.evaluate_sync(agent, store=store, repeat=repeat, progress=False)


# ---------------------------------------------------------------------- what a case is


def test_a_recorded_request_becomes_a_case_that_expects_nothing(record):
    made = dataset_from(record(history("Where is order 17?", "On its way.", tool="lookup")))
    (case,) = made.dataset.cases
    assert (case.inputs, case.has_expected_output, case.expected_tool_calls) == (
        "Where is order 17?",
        False,
        None,
    )
    assert case.name.startswith("where-is-order-17-")
    assert case.metadata["source_status"] == "unjudged"
    assert len(case.metadata["source_trace"]) == 32
    assert "source_cost" not in case.metadata, "what was not measured is not said"
    assert "source_time" not in case.metadata


def test_a_conversation_becomes_a_case_with_turns(record):
    made = dataset_from(record(history("Hi", "Hello", "Refund order 17", "Done")))
    (case,) = made.dataset.cases
    assert [turn.user for turn in case.turns] == ["Hi", "Refund order 17"]
    assert not any(turn.has_expected_output for turn in case.turns)


def test_a_case_of_a_kept_run_keeps_tags_metadata_and_expectation_and_says_what_came_of_it(store):
    make_run(
        store, "one", "boom", tags=["t"], metadata={"lang": "de"}, expected_output="stated", cluster="doc"
    )
    first, second = dataset_from("latest", store=store).dataset.cases
    assert (first.tags, first.cluster, first.expected_output) == (("t",), "doc", "stated")
    told = {
        key: value
        for key, value in first.metadata.items()
        if key not in {"source_run", "source_time", "source_seconds", "source_trace"}
    }
    assert told == {
        "lang": "de", "source_attempt": "case 0", "source_run_name": "agent", "source_agent": "shop", "source_model": "m-1",
        "source_status": "passed", "source_cost": 0.03, "source_input_tokens": 10, "source_output_tokens": 2,
    }  # fmt: skip
    assert first.metadata["source_run"] == store.run("latest").id
    assert first.metadata["source_time"].startswith("20")
    assert (second.metadata["source_status"], second.metadata["source_error"]) == ("errored", "TimeoutError")


def test_the_same_request_has_the_same_name_in_every_dataset(record):
    a = dataset_from(record(history("One?", "1"), history("Two?", "2"), name="a.jsonl"))
    b = dataset_from(record(history("two?", "other"), name="b.jsonl"))
    assert a.dataset.cases[1].name == b.dataset.cases[0].name


def test_runs_files_and_traces_can_be_named_together(store, record, tmp_path):
    make_run(store, "from a run")
    run = store.run("latest").id
    export_run(store, run, to=f"jsonl:{tmp_path / 'run.jsonl'}")
    make_run(store, "from another")
    traces = record(history("from traces", "x"))
    made = dataset_from([traces, run, tmp_path / "run.jsonl", "latest"], store=store)
    assert [case.inputs for case in made.dataset.cases] == ["from traces", "from a run", "from another"]
    assert [each.similarity for each in made.summary.duplicates] == [1.0]


def test_a_request_that_is_not_known_makes_no_case(record):
    made = dataset_from(record(history("", "x"), history("asked", "x")))
    assert (made.summary.read, made.summary.without_request, made.summary.written) == (2, 1, 1)


# ---------------------------------------------------------------------- what it expects


def test_the_outcome_is_expected_only_where_all_people_said_yes(store, say):
    make_run(store, *"abcdefg", "boom")
    for position, values in enumerate(
        [[True], [False], [True, False], ["yes", True], ["unsure"], [True, "unsure"], []]
    ):
        say(position, *values)
    say(7, True)
    made = dataset_from("latest", store=store, confirmed_by=QUESTION)
    expected = {case.inputs: case.expected_output for case in made.dataset.cases if case.has_expected_output}
    assert set(expected) == {"a", "d"}
    assert expected["a"] == store.report("latest").cases[0].output
    assert made.summary.confirmed == 2
    names = {case.name: case.inputs for case in made.dataset.cases}
    assert [names[name] for name in made.summary.conflicting] == ["c", "f"]


def test_a_label_of_an_output_that_is_gone_confirms_nothing(store, say):
    make_run(store, "a")
    say(0, True, about=output_digest("what it said before"))
    made = dataset_from("latest", store=store, confirmed_by=QUESTION)
    assert not made.dataset.cases[0].has_expected_output
    assert (made.summary.confirmed, made.summary.outdated_labels) == (0, 1)


def test_the_answer_to_a_conversation_is_expected_of_its_last_turn(store, record, say):
    import_traces([record(history("Hi", "Hello", "Refund it", "Done", tool="find"))], store)
    say(0, True)
    (case,) = dataset_from("latest", store=store, confirmed_by=QUESTION).dataset.cases
    assert [turn.has_expected_output for turn in case.turns] == [False, True]
    assert case.turns[-1].expected_output == "Done"


def test_a_case_with_turns_comes_back_as_one_and_its_last_answer_is_what_was_confirmed(store, say):
    case = Case(name="t", turns=["Hi", "Bye"])
    Dataset(cases=[case]).evaluate_sync(lambda _: "the answer", store=store, progress=False)
    say(0, True)
    (made,) = dataset_from("latest", store=store, confirmed_by=QUESTION).dataset.cases
    assert made.turns == (UserTurn("Hi"), UserTurn("Bye", expected_output="the answer"))


def test_confirmed_calls_are_expected_without_those_that_failed(store, say):
    make_run(store, "a")
    say(0, True)
    made = dataset_from("latest", store=store, confirmed_by=QUESTION, expect=["tool-calls", "trajectory"])
    (case,) = made.dataset.cases
    assert not case.has_expected_output
    assert case.expected_tool_calls == [ToolCall("find", {"q": "a"})]
    assert case.evaluators == [FollowsTrajectory({"steps": [{"name": "find", "arguments": {"q": "a"}}]})]

    def again(inputs):
        return Trace(output_text="x", tool_calls=[ToolCall("find", {"q": inputs})])

    report = Dataset(cases=[case], evaluators=[ToolCallsMatch()]).evaluate_sync(again, progress=False)
    assert [result.value for result in report.cases[0].results] == [True, True]


def test_calls_that_a_case_stated_stay_if_all_of_them_can_be_read(store):
    stated = [{"name": "find", "arguments": {"q": "a"}, "matchers": {"n": {"approx": {"value": 3}}}}]
    Dataset(cases=[Case(inputs="a", expected_tool_calls=stated)]).evaluate_sync(
        agent, store=store, progress=False
    )
    kept = dataset_from("latest", store=store)
    assert kept.dataset.cases[0] == Case(
        name=kept.dataset.cases[0].name,
        inputs="a",
        expected_tool_calls=stated,
        metadata=kept.dataset.cases[0].metadata,
    )
    one_of_mine = [ToolCall("find", {"q": OfType(bytes)}), ToolCall("book")]
    Dataset(cases=[Case(inputs="a", expected_tool_calls=one_of_mine)]).evaluate_sync(
        agent, store=store, progress=False
    )
    lost = dataset_from("latest", store=store)
    assert (lost.dataset.cases[0].expected_tool_calls, lost.summary.unknown_calls) == (None, 1)


def test_calls_that_are_not_known_are_not_expected(store, say):
    Dataset(cases=[Case(inputs="a")]).evaluate_sync(str, store=store, progress=False)
    say(0, True)
    made = dataset_from("latest", store=store, confirmed_by=QUESTION, expect=["tool-calls"])
    assert (made.dataset.cases[0].expected_tool_calls, made.summary.unknown_calls) == (None, 1)


@pytest.mark.parametrize(
    ("value", "says"), [(4, "answered by numbers such as 4"), (None, "it has no labels of people")]
)
def test_a_question_that_confirms_nothing_is_refused(store, say, value, says):
    make_run(store, "a")
    if value is not None:
        say(0, value)
    with pytest.raises(InvalidOptionError, match=says):
        dataset_from("latest", store=store, confirmed_by=QUESTION)


def test_a_question_that_no_one_was_asked_is_refused_with_those_that_were(store, say):
    make_run(store, "a")
    say(0, True)
    with pytest.raises(
        InvalidOptionError, match=f"no one was asked 'polite' about this; there are '{QUESTION[:-1]}"
    ):
        dataset_from("latest", store=store, confirmed_by="polite")


# ---------------------------------------------------------------------- what is left out


def test_a_filter_knows_which_cases_are_flaky(store):
    said = itertools.count()
    dataset = Dataset(
        cases=[Case(name="unsteady", inputs="a"), Case(name="steady", inputs="b")],
        evaluators=[lambda output: output != "1"],
    )
    dataset.evaluate_sync(
        lambda asked: str(next(said)) if asked == "a" else "b", store=store, repeat=2, progress=False
    )
    made = dataset_from("latest", store=store, filter="is:flaky")
    assert [case.inputs for case in made.dataset.cases] == ["a"]
    assert made.summary.filtered == 2


def test_a_filter_leaves_out_what_does_not_meet_it(store):
    make_run(store, "one", "a long request", "boom")
    made = dataset_from("latest", store=store, filter=["status:failed", "cost>0.1"])
    assert [case.inputs for case in made.dataset.cases] == ["a long request"]
    assert (made.summary.read, made.summary.filtered, made.summary.written) == (3, 2, 1)


def test_of_equal_requests_the_confirmed_one_stays_and_else_the_first(store, say):
    make_run(store, "One?", "two", " one?", "ONE?")
    say(2, True)
    made = dataset_from("latest", store=store, confirmed_by=QUESTION)
    assert [case.inputs for case in made.dataset.cases] == ["two", " one?"]
    assert made.dataset.cases[1].metadata["source_duplicates"] == 2
    assert made.summary.duplicates == [
        DuplicateCase("case 0", "case 2", 1.0),
        DuplicateCase("case 3", "case 2", 1.0),
    ]
    first = dataset_from("latest", store=store).dataset.cases
    assert [case.inputs for case in first] == ["One?", "two"]


@pytest.mark.parametrize(("second", "expected"), [("a", False), ("A", True)])
def test_people_who_differ_about_the_same_answer_to_equal_requests_confirm_nothing(
    store, say, second, expected
):
    make_run(store, "a", second)  # the agent answers "a" and "A" differently
    say(0, True)
    say(1, False)
    made = dataset_from("latest", store=store, confirmed_by=QUESTION)
    (case,) = made.dataset.cases
    assert case.has_expected_output == expected
    assert made.summary.confirmed == expected
    assert made.summary.conflicting == ([] if expected else [case.name])


def test_repeats_of_a_case_are_one_case(store):
    make_run(store, "one", "two", repeat=3)
    assert [case.inputs for case in dataset_from("latest", store=store).dataset.cases] == ["one", "two"]


def test_requests_of_other_types_are_other_requests(store, record):
    make_run(store, 1, "1", ["a b"], ["a", "b"], "a b", "A  b", {"a": 1, "b": 2}, {"b": 2, "a": 1})
    traces = record(history("a", "x", "b", "y"), history("a b", "x"))
    made = dataset_from(["latest", traces], store=store)
    inputs = [case.inputs for case in made.dataset.cases]
    assert inputs == [1, "1", ["a b"], ["a", "b"], "a b", {"a": 1, "b": 2}]
    assert [each.attempt for each in made.summary.duplicates[:2]] == ["case 5", "case 7"]


def test_near_duplicates_are_listed_with_what_they_are_near(store, say):
    make_run(store, "Where is my order?", "Cancel the flight", "Where is my order please?")
    made = dataset_from("latest", store=store, near=0.8)
    assert [case.inputs for case in made.dataset.cases] == ["Where is my order?", "Cancel the flight"]
    (left_out,) = made.summary.near_duplicates
    assert (left_out.attempt, left_out.of, 0.8 <= left_out.similarity < 1) == ("case 2", "case 0", True)
    say(2, True)
    confirmed = dataset_from("latest", store=store, near=0.8, confirmed_by=QUESTION)
    assert [case.inputs for case in confirmed.dataset.cases] == [
        "Cancel the flight",
        "Where is my order please?",
    ]


def test_requests_that_differ_in_an_address_alone_are_the_same(record):
    requests = [history(f"Where is my order? {who}@example.org", "x") for who in ("anna", "bob")]
    assert dataset_from(record(*requests)).summary.written == 1
    assert dataset_from(record(*requests), keep_personal_data=True).summary.written == 2


def test_cases_that_are_there_are_not_made_again_and_their_names_are_taken(record):
    path = record(history("One?", "1"), history("Two?", "2"), history("Three?", "3", "and?", "4"))
    before = dataset_from(path, limit=1).dataset.cases
    taken = Case(name=dataset_from(path).dataset.cases[1].name, inputs="something else")
    made = dataset_from(path, beside=[*before, taken])
    assert [case.inputs for case in made.dataset.cases] == ["Two?", ["Three?", "and?"]]
    assert made.dataset.cases[0].name == f"{taken.name}_2"
    assert made.summary.duplicates[0].of == before[0].name


# ---------------------------------------------------------------------- samples


def test_a_sample_by_strata_keeps_how_each_case_was_drawn(store):
    make_run(
        store,
        *(f"request {number}" for number in range(20)),
        *(f"a much longer request {number}" for number in range(5)),
    )
    made = dataset_from("latest", store=store, sample=10, by="meta.none", seed=0)
    assert [each.drawn for each in made.summary.strata] == [10]
    made = dataset_from(
        "latest", store=store, sample=10, by=["input_tokens", "case"][:1], shares="equal", seed=0
    )
    assert made.summary.strata[0].stratum == "input_tokens=10"
    for case in made.dataset.cases:
        assert case.metadata["sample_probability"] * case.metadata["sample_weight"] == pytest.approx(1)
        assert case.metadata["sample_seed"] == 0
    again = dataset_from("latest", store=store, sample=10, by="input_tokens", seed=0)
    assert [case.name for case in made.dataset.cases] == [case.name for case in again.dataset.cases]
    assert sum(case.metadata["sample_weight"] for case in made.dataset.cases) == pytest.approx(25)
    assert made.summary.not_drawn == 15


def test_strata_are_the_values_of_a_field(store):
    make_run(store, "boom", *(f"r{number}" for number in range(8)))
    made = dataset_from("latest", store=store, sample=4, by=["status", "tool"], shares="equal", seed=1)
    assert {each.stratum: (each.size, each.drawn) for each in made.summary.strata} == {
        "status=errored; tool=unknown": (1, 1),
        "status=passed; tool=find": (8, 3),
    }
    strata = Counter(case.metadata["sample_stratum"] for case in made.dataset.cases)
    assert strata == {"status=errored; tool=unknown": 1, "status=passed; tool=find": 3}


def test_a_random_seed_is_kept(store):
    make_run(store, *"abcdef")
    made = dataset_from("latest", store=store, sample=2)
    again = dataset_from("latest", store=store, sample=2, seed=made.summary.seed)
    assert [case.name for case in made.dataset.cases] == [case.name for case in again.dataset.cases]


# ---------------------------------------------------------------------- personal data


def test_no_personal_data_is_left_in_any_part_of_a_case(store, record, say, tmp_path):
    secret = ["anna@example.org", "+49 151 12345678", "4111 1111 1111 1111"]
    told = history(
        f"I am {secret[0]}", f"Hello {secret[0]}", f"Call {secret[1]}", f"Paid by {secret[2]}", tool="find"
    )
    told["messages"][0]["content"] += ", password=hunter2222"
    import_traces([record(told)], store)
    say(0, True)
    made = dataset_from(
        "latest",
        store=store,
        confirmed_by=QUESTION,
        expect=["output", "tool-calls", "trajectory"],
        sample=1,
        by="input",
    )
    (case,) = made.dataset.cases
    assert case.turns[0].user == "I am [email-1], password=[redacted]"
    assert case.turns[1].expected_output == "Paid by [credit-card-1]"
    assert case.expected_tool_calls == [ToolCall("find", {"who": "[email-1]"})]
    made.dataset.to_file(tmp_path / "cases.yaml")
    written = (tmp_path / "cases.yaml").read_bytes() + repr(made.summary).encode()
    as_in_a_name = [re.sub(r"\W+", "-", each) for each in secret]
    assert not [each for each in [*secret, *as_in_a_name, "hunter2222"] if each.encode() in written]
    assert made.summary.redacted is not None
    assert made.summary.redacted.keys() == {"email", "phone", "credit_card", "secrets"}
    assert made.summary.redacted_cases == 1


def test_clusters_that_hold_personal_data_stay_apart(store):
    clusters = ["a@example.org", "b@example.org", "a@example.org", "shop", None]
    cases = [Case(inputs=f"request {place}", cluster=each) for place, each in enumerate(clusters)]
    Dataset(name="made", cases=cases).evaluate_sync(agent, store=store, progress=False)
    made = dataset_from("latest", store=store).dataset.cases
    assert [case.cluster for case in made] == ["[email-1]", "[email-1]_2", "[email-1]", "shop", None]
    added = dataset_from("latest", store=store, beside=[Case(inputs="x", cluster="[email-1]")]).dataset.cases
    assert [case.cluster for case in added][:3] == ["[email-1]_2", "[email-1]_3", "[email-1]_2"]


def test_personal_data_stays_where_it_is_to_stay(record):
    path = record(history("I am anna@example.org", "x"))
    made = dataset_from(path, keep_personal_data=True)
    assert made.dataset.cases[0].inputs == "I am anna@example.org"
    assert made.summary.redacted is None


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"filter": "status:passed cost>9"}, NotKnownError, "left none of 2 attempts: status:passed holds for 2, cost>9 holds for 0"),
        ({"filter": "stauts:x"}, InvalidOptionError, "unknown field 'stauts'"),
        ({"filter": "flip:worse"}, InvalidOptionError, "only where two runs are compared"),
        ({"beside": [Case(inputs="a"), Case(inputs="b")]}, NotKnownError, "the requests of 2 attempts are in the dataset already"),
        ({"limit": 1, "sample": 1}, InvalidOptionError, "give one of them"),
        ({"by": "tag"}, InvalidOptionError, "give sample too"),
        ({"sample": 1, "by": "tga"}, InvalidOptionError, "unknown field 'tga'"),
        ({"sample": 1, "by": "input"}, InvalidOptionError, "1 cannot be drawn from 2 strata"),
        ({"sample": 0}, InvalidOptionError, "sample must be a whole number from 1"),
        ({"near": 2}, InvalidOptionError, "near must be"),
        ({"expect": ["unconfirmed"]}, InvalidOptionError, "expect must be one of output, tool-calls, trajectory"),
    ],
)  # fmt: skip
def test_what_leaves_no_case_or_makes_no_sense_is_reported(store, options, error, says):
    make_run(store, "a", "b")
    with pytest.raises(error, match=says.replace("(", r"\(")):
        dataset_from("latest", store=store, **options)


def test_sources_that_are_not_there_or_hold_nothing_are_reported(store, record):
    with pytest.raises(StoreError):
        dataset_from("nothing", store=store)
    with pytest.raises(ReportFormatError, match="no conversation found"):
        dataset_from(record())
    with pytest.raises(NotKnownError, match="of 1 attempt it is not known what was asked"):
        dataset_from(record(history("", "x")))
