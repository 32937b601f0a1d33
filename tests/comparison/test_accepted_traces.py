"""What is accepted of a run, and what a run does otherwise."""

import re
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison.accepted_traces import AcceptedTraces, accept_traces
from calipers.comparison.drift import check_drift
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.errors import InvalidOptionError
from calipers.report.report import Report

values = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.text(max_size=2)
    | st.lists(st.integers(0, 1), max_size=2)
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["find", "buy", "cancel"]),
    st.dictionaries(st.sampled_from(["x", "y"]), values, max_size=2),
    output=values,
    error=st.none() | st.just("down"),
)
call_lists = st.lists(calls, max_size=5)
runs = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.tuples(call_lists, values), min_size=1, max_size=3),
    min_size=1,
)


def attempt(case, calls, output="done", *, number=1, of=1, passed=True, inputs=None, **fields):
    said = EvaluationResult(name="ok", value=passed, source=EvaluatorSpec("ok"), evaluator="ok")
    results = () if passed is None else (said,)
    trace = fields.pop("trace", Trace(turns=[Turn(tool_call=call) for call in calls], records_calls=True))
    return ReportCase(
        name=case if of == 1 else f"{case} [{number}/{of}]",
        source_case_name=None if of == 1 else case,
        inputs=case if inputs is None else inputs,
        metadata=None,
        expected_output=None,
        output=output,
        metrics={},
        attributes={},
        results=results,
        task_duration=1.0,
        total_duration=1.0,
        trace=trace,
        **fields,
    )


def report(*attempts):
    return Report(name="run", cases=list(attempts), failures=[])


def run_of(cases):
    return report(
        *(
            attempt(name, calls, output, number=number, of=len(tries))
            for name, tries in cases.items()
            for number, (calls, output) in enumerate(tries, start=1)
        )
    )


def accepted(*attempts, **options):
    return accept_traces(report(*attempts), **options).accepted


def words(before, after, **options):
    """What is said of the only attempt of a run against what was accepted of another."""
    (case,) = check_drift(report(after), accepted(*before, **options)).cases
    return [change.words for change in case.attempts[0].changes]


@given(runs, st.booleans(), st.booleans())
def test_a_run_never_drifts_from_what_was_accepted_of_it(cases, outputs, answers):
    run = run_of(cases)
    found = check_drift(run, accept_traces(run, outputs=outputs, answers=answers).accepted)
    assert {case.state for case in found.cases} == {"follows"}
    assert found.follows.value == 1


@given(runs, st.randoms())
def test_accepting_again_or_in_another_order_changes_nothing(cases, random):
    run = run_of(cases)
    once = accept_traces(run).accepted
    random.shuffle(run.cases)
    again = accept_traces(run).accepted
    for add in (False, True):
        assert once.updated(again, add=add) == once == AcceptedTraces().updated(again, add=add)


@given(runs, runs)
def test_what_is_added_is_the_same_in_either_order_and_both_runs_follow_it(one, two):
    first, second = (accept_traces(run_of(cases)).accepted for cases in (one, two))
    both = first.updated(second, add=True)
    assert both == second.updated(first, add=True)
    for cases in (one, two):
        assert check_drift(run_of(cases), both).state == "follows"


@given(call_lists.filter(bool), st.data())
def test_any_change_of_one_step_is_told(steps, data):
    place = data.draw(st.integers(0, len(steps) - 1))
    old = steps[place]
    changed = data.draw(
        st.sampled_from(
            [
                [],
                [old, old],
                [ToolCall("escalate")],
                [ToolCall(old.name, {**old.arguments, "z": 1})],
                [ToolCall(old.name, {**old.arguments, "x": "other"})],
            ]
        )
    )
    new = [*steps[:place], *changed, *steps[place + 1 :]]
    (case,) = check_drift(report(attempt("a", new)), accepted(attempt("a", steps))).cases
    assert case.state == "drifted"
    assert all(change.words for change in case.attempts[0].changes)


FIND = ToolCall("find", {"order": "17"})
REFUND = ToolCall("refund", {"amount": 40})


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([FIND, FIND, REFUND], ["calls find twice instead of once, before refund"]),
        ([FIND, ToolCall("refund", {"amount": 45})], ["refund: argument amount 40 became 45"]),
        ([FIND, REFUND, ToolCall("escalate")], ["new tool escalate"]),
        (
            [ToolCall("escalate"), FIND, ToolCall("escalate"), REFUND],
            ["new tool escalate, twice, before find"],
        ),
        ([FIND], ["no longer calls refund"]),
        ([REFUND, FIND], ["calls find at another place"]),
        ([FIND, ToolCall("refund", {"amount": 40, "note": "x"})], ["refund: argument note 'x' is new"]),
        ([FIND, ToolCall("refund")], ["refund: argument amount 40 is gone"]),
        ([], ["no longer calls find", "no longer calls refund"]),
    ],
)
def test_drift_is_told_in_words(steps, said):
    assert words([attempt("a", [FIND, REFUND])], attempt("a", steps)) == said


def test_the_nearest_of_several_accepted_traces_is_told():
    ways = [
        attempt("a", [FIND, REFUND], number=1, of=2),
        attempt("a", [ToolCall("escalate")], number=2, of=2),
    ]
    assert words(ways, attempt("a", [ToolCall("escalate"), FIND])) == ["also calls find"]


def random_calls(count, seed):
    draw = Random(seed)
    return [ToolCall(f"tool {draw.randrange(5)}", {"x": draw.random()}) for _ in range(count)]


def test_of_traces_that_are_too_long_to_be_aligned_it_is_told_where_they_part():
    before, after = random_calls(5_000, 1), random_calls(5_000, 2)
    same = [FIND] * 12
    (said,) = words([attempt("a", [*same, *before])], attempt("a", [*same, *after]))
    assert re.match(r"at step 13, 'tool \d'\(x=0\.\d+\) became 'tool \d'\(x=0\.\d+\); ", said)
    assert said.endswith("the traces are too long to compare what follows")
    longer = [*same, before[0], *after]
    ways = [attempt("a", [*same, *before], number=1, of=2), attempt("a", [*before], number=2, of=2)]
    assert words(ways, attempt("a", longer))[0].startswith("at step 14, ")


def test_one_long_trace_does_not_keep_the_others_from_being_compared():
    long, other = random_calls(2_000, 1), random_calls(2_000, 2)
    run = [attempt("a", other), *(attempt(name, [FIND]) for name in "bcd")]
    known = accepted(attempt("a", long), *(attempt(name, [FIND, REFUND]) for name in "bcd"))
    drift = check_drift(report(*run), known)
    assert [case.attempts[0].changes[0].of for case in drift.cases] == ["steps", "calls", "calls", "calls"]


def test_true_is_not_the_number_one_and_one_is_also_a_float():
    before = [attempt("a", [ToolCall("refund", {"amount": 1})])]
    assert words(before, attempt("a", [ToolCall("refund", {"amount": True})])) == [
        "refund: argument amount 1 became True"
    ]
    assert words(before, attempt("a", [ToolCall("refund", {"amount": 1.0})])) == []


def test_the_output_counts_unless_it_is_left_out():
    before, after = [attempt("a", [FIND], {"n": 1})], attempt("a", [FIND], {"n": 2})
    assert words(before, after) == ["output.n 1 became 2"]
    assert words(before, after, outputs=False) == []


def test_what_models_answer_counts_only_where_it_is_accepted():
    def asked(text):
        turns = [Turn(llm_call=LLMCall(model="m", output_text=text)), Turn(tool_call=FIND)]
        return attempt("a", [], trace=Trace(turns=turns))

    assert words([asked("I look")], asked("let me see")) == []
    assert words([asked("I look")], asked("let me see"), answers=True) == [
        "an answer of the model 'I look' became 'let me see'"
    ]
    silent = check_drift(report(attempt("a", [FIND])), accepted(asked("I look"), answers=True))
    assert silent.cases[0].attempts[0].why == "it does not record all that is accepted"


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (None, "it has no trace"),
        (Trace(), "its calls are not recorded"),
        (Trace(tool_calls=[FIND], recorded_tools=["find"]), "it does not record all that is accepted"),
        (
            Trace(tool_calls=[FIND, ToolCall("refund", unknown=["arguments"])]),
            "the arguments of a call are not recorded",
        ),
    ],
)
def test_what_is_unknown_neither_follows_nor_drifted(trace, why):
    found = check_drift(report(attempt("a", [], trace=trace)), accepted(attempt("a", [FIND, REFUND])))
    assert (found.state, found.follows) == ("unknown", None)
    assert found.cases[0].attempts[0].why == why


def test_a_failed_task_drifted_unless_the_connection_failed():
    known = accepted(attempt("a", [FIND]))
    fields = dict.fromkeys(("inputs", "metadata", "expected_output")) | {"inputs": "a"}
    for infrastructure, state in ((False, "drifted"), (True, "unknown")):
        failure = ReportCaseFailure(
            name="a", error_type="E", error_message="E: no", infrastructure=infrastructure, **fields
        )
        assert check_drift(Report(name="run", cases=[], failures=[failure]), known).state == state


def test_only_attempts_that_passed_are_accepted_and_the_others_are_listed():
    run = report(
        attempt("failed", [FIND], passed=False),
        attempt("silent", [FIND], passed=None),
        attempt("untraced", [], trace=None),
        attempt("unrecorded", [], trace=Trace()),
        attempt("good", [FIND]),
    )
    found = accept_traces(run)
    assert [case.name for case in found.accepted.cases] == ["good"]
    assert {each.case: each.why for each in found.refused} == {
        "failed": "it did not pass",
        "silent": "nothing was asserted of it",
        "untraced": "it has no trace",
        "unrecorded": "its calls are not recorded",
    }
    assert set(found.without) == {"failed", "silent", "untraced", "unrecorded"}
    anyway = accept_traces(run, only_passed=False)
    assert [case.name for case in anyway.accepted.cases] == ["failed", "good", "silent"]


def test_the_attempts_that_went_one_way_are_counted():
    tries = [
        attempt("a", steps, number=n, of=3) for n, steps in enumerate(([FIND], [REFUND], [FIND]), start=1)
    ]
    (case,) = accepted(*tries).cases
    assert sorted((trace.steps[0].call, trace.attempts) for trace in case.traces) == [
        ("find", 2),
        ("refund", 1),
    ]


def test_other_cases_stay_and_the_same_ones_are_replaced_or_added_to():
    old = accepted(attempt("a", [FIND]), attempt("b", [FIND]))
    new = accepted(attempt("b", [REFUND]))
    assert [(case.name, len(case.traces)) for case in old.updated(new).cases] == [("a", 1), ("b", 1)]
    assert [(case.name, len(case.traces)) for case in old.updated(new, add=True).cases] == [
        ("a", 1),
        ("b", 2),
    ]


def test_a_case_is_known_by_its_inputs_and_renamed_ones_are_found():
    known = accepted(attempt("a", [FIND], inputs=1), attempt("b", [FIND], inputs=2))
    run = report(
        attempt("new name", [FIND], inputs=1), attempt("b", [FIND], inputs=3), attempt("c", [], inputs=4)
    )
    found = check_drift(run, known)
    assert {case.case: case.state for case in found.cases} == {
        "new name": "follows",
        "b": "other inputs",
        "c": "not accepted",
    }
    assert found.not_run == ("b",)


def test_secrets_are_neither_accepted_nor_drift():
    def signed(key):
        call = ToolCall("login", {"api_key": key})
        return attempt("a", [call], f"used {key}", trace=Trace(tool_calls=[call], keep_secrets=True))

    known = accepted(signed("first-secret"))
    assert "first-secret" not in repr(known)
    assert check_drift(report(signed("second-secret")), known).state == "follows"


def test_a_step_whose_arguments_were_removed_by_hand_accepts_any():
    known = accepted(attempt("a", [REFUND]))
    (trace,) = known.cases[0].traces
    free = msgspec.structs.replace(trace, steps=(msgspec.structs.replace(trace.steps[0], arguments=None),))
    case = msgspec.structs.replace(known.cases[0], traces=(free,))
    run = report(attempt("a", [ToolCall("refund", {"amount": 1})]))
    assert check_drift(run, AcceptedTraces(cases=(case,))).state == "follows"


def test_the_share_of_cases_has_an_interval_and_each_case_counts_once():
    known = accepted(attempt("a", [FIND]), attempt("b", [FIND]))
    run = run_of({"a": [([FIND], "done")] * 3, "b": [([FIND], "done"), ([], "done")]})
    found = check_drift(run, known)
    assert found.follows.value == pytest.approx((1 + 0.5) / 2)
    assert found.follows.interval is not None
    assert found.follows.n_units == 2


def test_a_case_that_the_run_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(InvalidOptionError, match="did you mean 'refund'"):
        accept_traces(report(attempt("refund", [FIND])), cases=["refnd"])
