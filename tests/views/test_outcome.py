"""What came of an attempt, and who found fault with what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, LLMCall, ToolCall, Trace
from calipers.evaluators import ToolCallsMatch
from calipers.report import Incomplete
from calipers.report.summary import tally
from calipers.views.markdown import report_markdown
from calipers.views.outcome import (
    ExpectedCalls,
    alike,
    calls_line,
    complaints,
    count_dropped,
    count_missed,
    missed,
    name_of,
    outcome_of,
    reason_lines,
    run_problems,
    silences,
    values,
)


def kinds(records):
    broken = (records.broken("Judge", "ValueError: bad"),)
    return {
        "passed": records.case("a", records.result("x", True), records.result("score", 0.0)),
        "failed": records.case("b", records.result("x", False, "no")),
        "skipped": records.case("c", records.result("score", 1.0)),
        "error": records.case("d", records.result("x", False, "no"), evaluator_failures=broken),
    }


@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped", "error"])
def test_an_attempt_has_one_outcome(records, outcome):
    assert outcome_of(kinds(records)[outcome]) == outcome


def test_a_task_that_did_not_finish_is_an_error(records):
    assert outcome_of(records.failure("e")) == "error"


def test_what_did_not_pass_is_listed_with_failed_tasks_first(records):
    report = records.report(*kinds(records).values(), records.failure("e"))
    assert [record.name for record in missed(report)] == ["e", "b", "d"]


def test_what_is_not_kept_is_counted_all_the_same(records):
    everything = [*kinds(records).values()]
    failed = [records.failure("e"), records.failure("f")]
    whole = records.report(*everything, *failed)
    assert (count_missed(whole), count_dropped(whole)) == (4, 0)
    some = records.report(failed[0], totals=tally(everything, failed).totals())
    assert (count_missed(some), count_dropped(some)) == (4, 5)
    assert run_problems(records.report(totals=some.totals)) == []


def test_failed_tasks_did_not_pass_even_without_evaluators(records):
    assert count_missed(records.report(records.failure("a"))) == 1


def test_a_complaint_has_a_name_and_a_reason_or_else_the_grade_behind_it(records):
    case = records.case(
        "a",
        records.result("x", True, "fine"),
        records.result("y", False, "no"),
        records.result("graded", False, score=0.25),
        records.result("mute", False),
        evaluator_failures=(records.broken("Judge", "ValueError: bad"),),
    )
    assert complaints(case) == [
        ("y", "no"),
        ("graded", "score 0.25"),
        ("mute", "did not hold"),
        ("Judge (evaluator failed)", "ValueError: bad"),
    ]


@pytest.mark.parametrize(("tries", "name"), [(1, ""), (3, "after 3 tries")])
def test_a_failed_task_says_how_often_it_was_tried(records, tries, name):
    assert complaints(records.failure("a", "OSError: gone", tries=tries)) == [(name, "OSError: gone")]


def test_an_expectation_of_none_is_shown_and_none_at_all_is_not(records):
    assert [label for label, _ in values(records.case("a"))] == ["inputs", "got"]
    assert ("expected", None) in values(records.case("a", has_expected_output=True))
    assert [label for label, _ in values(records.failure("a"))] == ["inputs"]


def test_a_run_that_is_whole_has_no_problem(records):
    assert run_problems(records.report(records.case("a"))) == []


def test_what_is_wrong_with_a_run_as_a_whole_is_told(records):
    report = records.report(
        incomplete=Incomplete("interrupted", "interrupted"),
        unfinished=2,
        report_evaluator_failures=[records.broken("Curve", "ValueError: flat")],
    )
    assert run_problems(report) == [
        "INCOMPLETE: interrupted (2 attempts begun and given up)",
        "No cases ran: nothing was measured.",
        "Report evaluator 'Curve' failed: ValueError: flat",
    ]


@pytest.mark.parametrize(
    ("number", "others", "said"),
    [
        (1, [], "skipped in the only attempt: n/a"),
        (1_200, [], "skipped in all 1,200 attempts: n/a"),
        (1, ["failed"], "skipped in 1 attempt, and lost to a failure in 1 more: n/a"),
        (2, ["another's"], "skipped in all 2 attempts that it judges: n/a"),
    ],
)
def test_how_often_a_silent_evaluator_was_skipped_is_told(records, number, others, said):
    cases = [records.case(str(n), skipped=(records.skip("E", "n/a"),)) for n in range(number)]
    extra = {
        "failed": records.failure("lost", not_run=("E",)),
        "another's": records.case("other", records.result("ok", True)),
    }
    report = records.report(*cases, *(extra[each] for each in others))
    assert silences(report) == [("E", said)]


def test_a_skip_without_a_reason_is_told_without_one(records):
    assert silences(records.report(records.case("a", skipped=(records.skip("E", ""),)))) == [
        ("E", "skipped in the only attempt")
    ]


@pytest.mark.parametrize(
    ("reason", "lines"),
    [
        ("", ([""], 0)),
        ("one", (["one"], 0)),
        ("\none\n\ntwo\n", (["one", "", "two"], 0)),
        ("\n".join("x" * 20), (["x"] * 20, 0)),
        ("\n".join("x" * 21), (["x"] * 19, 2)),
    ],
)
def test_a_reason_has_lines_of_which_a_view_shows_so_many(reason, lines):
    assert reason_lines(reason) == lines


# ---------------------------------------------------------------------- tool calls


def line(records, *calls):
    return calls_line(records.case("a", trace=Trace(tool_calls=calls)))


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([ToolCall("now")], "now()"),
        ([ToolCall("add", {"a": 1, "b": "x"})], "add(a=1, b='x')"),
        ([ToolCall("a"), ToolCall("b", success=False)], "a(); b() failed"),
        ([ToolCall("b", success=False, error="no seats")], "b() failed: no seats"),
        ([ToolCall("b", {"x": [1, {"y": None}]}, output="left out")], "b(x=[1, {'y': None}])"),
        ([ToolCall("t", {"x": "y" * 500})], f"t(x='{'y' * 36}...)"),
        ([ToolCall("t", {"x": list(range(500))})], "t(x=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11...)"),
        ([ToolCall("t" * 500)], f"{'t' * 57}...()"),
        ([ToolCall("t", success=False, error="e" * 500)], f"t() failed: {'e' * 77}..."),
        ([ToolCall("t", success=False, error=ValueError("x"))], "t() failed: ValueError('x')"),
    ],
    ids=lambda value: None,
)
def test_a_call_is_its_name_its_arguments_and_whether_it_failed(records, calls, shown):
    assert line(records, *calls) == shown


def test_of_many_calls_the_first_are_named_and_the_rest_counted(records):
    shown = line(records, *(ToolCall(f"t{i}") for i in range(23)))
    assert shown.startswith("t0(); t1(); ")
    assert shown.endswith("t19(); 3 more calls")
    assert line(records, *(ToolCall("t") for _ in range(21))).endswith("; 1 more call")


def test_who_tells_of_no_tool_call_has_no_line(records):
    assert calls_line(records.case("a")) is None
    assert calls_line(records.failure("a")) is None
    assert calls_line(records.case("a", trace=Trace(llm_calls=[LLMCall(model="m")]))) is None


def test_an_attempt_that_failed_has_its_line_as_well(records):
    assert calls_line(records.failure("a", trace=Trace(tool_calls=[ToolCall("t")]))) == "t()"


class Breaks:
    def __repr__(self):
        raise RuntimeError


@given(st.lists(st.text(min_size=1), max_size=5), st.text() | st.binary() | st.builds(Breaks))
def test_whatever_was_called_the_line_is_short(records, names, value):
    shown = line(records, *(ToolCall(name, {name: value}, success=False, error=name) for name in names))
    assert len(shown or "") <= len(names) * 260


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([], "none"),
        ([{"name": "refund", "arguments": {"order_id": 201}}], "refund(order_id=201)"),
        ([{"name": "now"}, {"name": "b", "arguments": {"x": "y"}}], "now(); b(x='y')"),
        ([{"name": "now"}] * 22, "now(); " * 20 + "2 more calls"),
        (["refund"], "refund(...)"),
        ([{"tool": "x"}, 7], "{'tool': 'x'}; 7"),
    ],
)
def test_expected_calls_are_written_as_calls_are(calls, shown):
    assert repr(ExpectedCalls(calls)) == shown


def test_a_report_writes_expected_calls_and_calls_alike():
    def agent(inputs):
        return Trace(tool_calls=[ToolCall("refund", {"order_id": 201})])

    expected = [ToolCall("refund", {"order_id": 200}), "close"]
    case = Case(name="late", inputs="late", expected_tool_calls=expected)
    report = Dataset(name="shop", cases=[case], evaluators=[ToolCallsMatch()]).evaluate_sync(
        agent, progress=False
    )
    shown = report.render()
    assert "expected calls  refund(order_id=200); close(...)\n" in shown
    assert "called          refund(order_id=201)\n" in shown
    assert "expected calls `refund(order_id=200); close(...)`" in report_markdown(report)


# ---------------------------------------------------------------------- attempts that came to the same


def repeats(records, *reasons, of=None, case="chat", **fields):
    """Attempts at one case, each failed for its reason; `None` for one that passed."""
    return [
        records.case(
            f"{case} [{number}/{of or len(reasons)}]",
            records.result("ok", reason is None, reason),
            source_case_name=case,
            **({"output": "hello"} | fields),
        )
        for number, reason in enumerate(reasons, 1)
    ]


def names(attempts):
    return [name_of(group) for group in alike(attempts)]


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        (["no"] * 6, ["chat [1-6/6]"]),
        (["no", "no", "never", "no"], ["chat [1-2, 4/4]", "chat [3/4]"]),
        (["no", None, "no"], ["chat [1, 3/3]", "chat [2/3]"]),
        ([None, None], ["chat [1/2]", "chat [2/2]"]),
        (["a", "b"], ["chat [1/2]", "chat [2/2]"]),
        (
            ["no", None] * 5,
            ["chat [1/10] (and 4 more attempts like this)", *(f"chat [{n}/10]" for n in range(2, 11, 2))],
        ),
    ],
    ids=["all", "some", "apart", "passed", "different", "many gaps"],
)
def test_attempts_that_failed_in_the_same_way_are_together(records, reasons, shown):
    assert names(repeats(records, *reasons)) == shown


@pytest.mark.parametrize(
    "other",
    [
        {"output": "bye"},
        {"output": ["hello"]},
        {"output": "'hello'"},
        {"trace": Trace(tool_calls=[ToolCall("search")])},
        {"source_case_name": "another"},
        {"source_case_name": None},
    ],
    ids=["output", "type of output", "output as it is printed", "calls", "case", "not repeated"],
)
def test_attempts_that_differ_in_what_came_of_them_are_apart(records, other):
    (first,) = repeats(records, "no", of=2)
    fields = {"output": "hello", "source_case_name": "chat"} | other
    second = records.case("chat [2/2]", records.result("ok", False, "no"), **fields)
    assert [len(group) for group in alike([first, second])] == [1, 1]


def test_time_and_scores_do_not_tell_attempts_apart(records):
    first, second = repeats(records, "no", "no")
    second.task_duration = 9.0
    second.results = (*second.results, records.result("length", 3))
    assert names([first, second]) == ["chat [1-2/2]"]


def test_failed_tasks_are_alike_by_their_error(records):
    failures = [
        records.failure(f"a [{number}/3]", message, source_case_name="a")
        for number, message in enumerate(["E: x", "E: y", "E: x"], 1)
    ]
    assert names(failures) == ["a [1, 3/3]", "a [2/3]"]


def test_attempts_of_which_nothing_was_asserted_are_alike_by_what_was_said_instead(records):
    def unjudged(number, reason, score):
        return records.case(
            f"a [{number}/3]",
            records.result("length", score),
            skipped=(records.skip("trace", reason),),
            source_case_name="a",
            output="same",
        )

    assert names([unjudged(1, "no", 1), unjudged(2, "no", 1), unjudged(3, "no", 2)]) == [
        "a [1-2/3]",
        "a [3/3]",
    ]
    assert names([unjudged(1, "no", 1), unjudged(2, "other", 1)]) == ["a [1/3]", "a [2/3]"]


@pytest.mark.parametrize("title", ["chat", "chat [x/2]", f"chat [{'9' * 5000}/2]", "other [1/2]"])
def test_names_of_another_form_are_not_guessed_at(records, title):
    attempts = repeats(records, "no", "no")
    attempts[0].name = title
    assert names(attempts) == [f"{title} (and 1 more attempt like this)"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), max_size=20))
def test_every_attempt_is_in_one_group_and_cases_keep_their_order(records, tried):
    attempts = [
        records.case(
            f"{case} [{number}/20]",
            records.result("ok", reason is None, reason),
            source_case_name=case,
            output=1,
        )
        for number, (case, reason) in enumerate(tried, 1)
    ]
    groups = list(alike(attempts))
    assert sorted(id(record) for group in groups for record in group) == sorted(map(id, attempts))
    for group in groups:
        assert len({(record.source_case_name, record.results[0].reason) for record in group}) == 1
    seen = list(dict.fromkeys(group[0].source_case_name for group in groups))
    assert seen == list(dict.fromkeys(case for case, _ in tried))
