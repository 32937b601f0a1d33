"""What an evaluator may look at."""

import numpy as np
import pytest

from calipers import (
    Case,
    Dataset,
    EvaluatorContext,
    ToolCall,
    Trace,
    current_attempt,
    increment_eval_metric,
    set_eval_attribute,
)
from calipers.errors import SpanTreeRecordingError
from calipers.spans import SpanTree

CALL = ToolCall("search", {"q": "x"})
FIELDS = {
    "name": "test",
    "inputs": "input",
    "metadata": None,
    "expected_output": "expected",
    "output": "expected",
    "duration": 0.1,
    "_span_tree": None,
    "attributes": {},
    "metrics": {},
}


def context(**fields):
    return EvaluatorContext(**{**FIELDS, **fields})


def seen_in_a_run(task, look, **case):
    """What `look` says of the context of the only attempt of a run."""
    seen = []

    def evaluator(ctx):
        seen.append(look(ctx))
        return True

    Dataset(cases=[Case(name="c", **{"inputs": 1, **case})], evaluators=[evaluator]).evaluate_sync(
        task, progress=False, seed=7
    )
    return seen[0]


# ---------------------------------------------------------------------- built by hand


@pytest.mark.parametrize("missing", FIELDS)
def test_a_context_built_by_hand_states_all_nine_fields(missing):
    with pytest.raises(TypeError, match=missing):
        EvaluatorContext(**{name: value for name, value in FIELDS.items() if name != missing})


def test_a_context_can_be_changed_and_judged_again():
    ctx = context()
    assert ctx.output == ctx.expected_output
    ctx.output = "different"
    assert ctx.output != ctx.expected_output


def test_a_context_can_be_typed():
    ctx = EvaluatorContext[str, str, dict](**FIELDS)
    assert ctx.output == "expected"
    assert type(ctx) is EvaluatorContext


def test_a_context_built_by_hand_has_no_case_no_seed_and_no_earlier_results():
    ctx = context()
    assert (ctx.case, ctx.seed, ctx.results, ctx.trace, ctx.tool_calls) == (None, None, {}, None, None)


def test_without_a_case_an_expected_output_of_none_is_no_expectation():
    assert context().has_expected_output is True
    assert context(expected_output=None).has_expected_output is False


def test_the_inputs_as_text():
    assert context(inputs="hi").input_text == "hi"
    assert context(inputs={"q": 1}).input_text == "{'q': 1}"


# ---------------------------------------------------------------------- spans


def test_spans_that_were_not_recorded_raise_and_say_what_to_do():
    with pytest.raises(SpanTreeRecordingError, match="pass a SpanTree"):
        _ = context().span_tree
    with pytest.raises(SpanTreeRecordingError, match=r"^install this$"):
        _ = context(_span_tree=SpanTreeRecordingError("install this")).span_tree


def test_one_recording_error_serves_a_whole_run_without_gathering_tracebacks():
    shared = SpanTreeRecordingError("none")
    ctx = context(_span_tree=shared)
    for _ in range(3):
        with pytest.raises(SpanTreeRecordingError):
            _ = ctx.span_tree
    assert shared.__traceback__ is None


def test_a_tree_that_was_recorded_is_given():
    tree = SpanTree([])
    assert context(_span_tree=tree).span_tree is tree


# ---------------------------------------------------------------------- tool calls


class Answer:
    def __init__(self, tool_calls):
        self.tool_calls = tool_calls


@pytest.mark.parametrize(
    ("fields", "calls"),
    [
        ({"trace": Trace(tool_calls=(CALL,))}, [CALL]),
        ({"trace": Trace(tool_calls=[])}, []),
        ({"trace": Trace(records_calls=True)}, []),
        ({"trace": Trace(tool_calls=[]), "output": [CALL]}, []),
        # Where nothing shows that calls were recorded, what the output tells counts, and otherwise nothing is known.
        ({"trace": Trace()}, None),
        ({"trace": Trace(records_calls=False)}, None),
        ({"trace": Trace(), "output": [CALL]}, [CALL]),
        ({"output": [CALL, CALL]}, [CALL, CALL]),
        ({"output": (CALL,)}, [CALL]),
        ({"output": {"tool_calls": [CALL]}}, [CALL]),
        ({"output": {"tool_calls": []}}, []),
        ({"output": Answer((CALL,))}, [CALL]),
        ({"output": Answer([])}, []),
        ({"output": Answer(None)}, None),
        ({"output": Answer(["search"])}, None),
        ({"output": {"tool_calls": "search"}}, None),
        ({"output": [CALL, "search"]}, None),
        ({"output": "search"}, None),
        ({"output": None}, None),
        # An empty list says "no tools" only to a case that speaks of tools.
        ({"output": []}, None),
        ({"output": [], "expected_output": []}, None),
        ({"output": [], "expected_output": [CALL]}, []),
        ({"output": [], "expected_output": np.array([1, 2])}, None),
        ({"output": np.array([1, 2])}, None),
    ],
)
def test_tool_calls_come_from_the_trace_or_from_an_output_that_lists_them(fields, calls):
    assert context(**fields).tool_calls == calls


def test_the_list_of_tool_calls_is_the_readers_own():
    trace = Trace(tool_calls=[CALL])
    context(trace=trace).tool_calls.clear()
    assert list(trace.tool_calls) == [CALL]


# ---------------------------------------------------------------------- in a run


def test_in_a_run_the_context_tells_what_the_case_says_and_the_task_did():
    def task(inputs):
        increment_eval_metric("calls", 2)
        increment_eval_metric("calls", 3)
        set_eval_attribute("cached", True)
        return inputs + 1

    found = seen_in_a_run(
        task,
        lambda ctx: (
            ctx.name,
            ctx.inputs,
            ctx.metadata,
            ctx.expected_output,
            ctx.output,
            ctx.metrics,
            ctx.attributes,
        ),
        inputs=1,
        metadata={"m": 1},
        expected_output=2,
    )
    assert found == ("c", 1, {"m": 1}, 2, 2, {"calls": 5}, {"cached": True})


@pytest.mark.parametrize(
    ("case", "stated"), [({}, False), ({"expected_output": None}, True), ({"expected_output": 0}, True)]
)
def test_in_a_run_an_expectation_is_one_that_the_case_states(case, stated):
    assert seen_in_a_run(lambda inputs: inputs, lambda ctx: ctx.has_expected_output, **case) is stated


def test_in_a_run_the_case_is_there():
    assert seen_in_a_run(lambda inputs: inputs, lambda ctx: ctx.case) == Case(name="c", inputs=1)


def test_in_a_run_the_task_and_its_evaluators_see_the_same_seed():
    seeds = []
    seed = seen_in_a_run(lambda inputs: seeds.append(current_attempt().seed), lambda ctx: ctx.seed)
    assert seeds == [seed]


def test_what_one_evaluator_does_to_the_context_does_not_change_what_the_report_keeps():
    def meddle(ctx):
        ctx.output = "meddled"
        return True

    dataset = Dataset(cases=[Case(inputs="said")], evaluators=[meddle])
    assert dataset.evaluate_sync(lambda inputs: inputs, progress=False).cases[0].output == "said"


# ---------------------------------------------------------------------- earlier results: rule 5


def test_results_hold_every_judgement_made_so_far_by_its_final_name():
    seen = []

    def look(name, answer):
        def evaluate(ctx):
            seen.append({key: result.value for key, result in ctx.results.items()})
            return answer

        evaluate.name = name
        return evaluate

    def broken(output):
        raise ValueError

    case = Case(inputs=1, evaluators=[look("own", True)])
    evaluators = [
        look("a", {"x": 1, "y": {"z": "deep"}}),
        broken,
        look("b", {}),
        look("own", 0.5),
        look("last", True),
    ]
    Dataset(cases=[case], evaluators=evaluators).evaluate_sync(lambda inputs: inputs, progress=False)
    assert seen == [
        {},
        {"own_2": True},
        {"own_2": True, "x": 1, "y.z": "deep"},
        {"own_2": True, "x": 1, "y.z": "deep"},
        {"own_2": True, "x": 1, "y.z": "deep", "own": 0.5},
    ]


def test_results_of_one_attempt_are_not_seen_by_another():
    def first(output):
        return True

    def second(results, output):
        return len(results) == 1

    dataset = Dataset(cases=[Case(inputs=i) for i in range(30)], evaluators=[first, second])
    assert dataset.evaluate_sync(lambda inputs: inputs, progress=False, repeat=2).pass_rate().value == 1
