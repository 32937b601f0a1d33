"""Contexts for tests: `make_context` in one line, and ready ones to try an evaluator on.

A context made here has a real case and a real attempt behind it, as in a run: `expected_output=None` states an
expectation, leaving it out states none, and `ctx.case` and `ctx.seed` are there. A trace given as the output gives
both trace and output text. To change the expectation of a context, make a new one.
"""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from calipers.data.attempt import Attempt
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext, InputsT, MetadataT, OutputT
from calipers.data.evaluator_output import read_scalar
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationReason, EvaluationResult, EvaluatorSpec, Scalar
from calipers.data.trace import CallLike, LLMCall, ToolCall, Trace
from calipers.errors import SpanTreeRecordingError
from calipers.process.loop import run_sync
from calipers.run.task import settle
from calipers.scoring.evaluator_plan import make_plan
from calipers.scoring.scoring import Scoring
from calipers.spans import SpanNode, SpanTree

_ABSENT: Final[Any] = object()
"""Stands for an argument that was not given, since `None` can be one."""

_NOTHING: Final[Any] = None
"""A default of any type."""

EarlierResults: TypeAlias = (
    Mapping[str, Scalar | EvaluationReason | EvaluationResult] | Iterable[EvaluationResult]
)
"""What evaluators said before: values by name, or results."""


def make_context(
    output: OutputT = _ABSENT,
    *,
    inputs: InputsT = _NOTHING,
    expected_output: OutputT | None = _ABSENT,
    expected_tool_calls: Iterable[CallLike] | None = None,
    metadata: MetadataT | None = None,
    name: str = "case",
    duration: float = 0.0,
    metrics: Mapping[str, int | float] | None = None,
    attributes: Mapping[str, Any] | None = None,
    trace: Trace | None = None,
    span_tree: SpanTree | None = None,
    results: EarlierResults = (),
    seed: int = 0,
) -> EvaluatorContext[InputsT, OutputT, MetadataT]:
    """A context as a run would make it, with everything that is not given left empty.

    Args:
        output: what the task returned; default: the text of the trace, else `None`.
        inputs: what the task was given.
        expected_output: what the case expects; left out, it expects nothing, while `None` expects `None`.
        expected_tool_calls: the tools that should be called; left out, the case says nothing about calls.
        metadata: of the case.
        name: of the case.
        duration: how long the task took, in seconds.
        metrics: what the task counted.
        attributes: what the task noted.
        trace: what the agent did.
        span_tree: the spans of the attempt; without it, reading `ctx.span_tree` raises, as where none were recorded.
        results: what evaluators said before, such as `{"Contains": True}` or the `results` of a record.
        seed: of the run; `ctx.seed` follows from it and the name.
    """
    stated: dict[str, Any] = {} if expected_output is _ABSENT else {"expected_output": expected_output}
    attempt = Attempt(
        Case(name=name, inputs=inputs, metadata=metadata, expected_tool_calls=expected_tool_calls, **stated),
        inputs,
        name,
        name,
        1,
        seed,
        dict(metrics or {}),
        dict(attributes or {}),
        duration=duration,
        spans=_no_spans() if span_tree is None else span_tree,
    )
    if output is _ABSENT:
        settle(attempt, trace)
    else:
        settle(attempt, output)
        attempt.trace = attempt.trace if trace is None else trace
    ctx = Scoring().context(attempt)
    ctx._earlier = _earlier(results)  # noqa: SLF001 - here the test says what earlier evaluators said
    return ctx


def evaluate_one(
    evaluator: Any, ctx: EvaluatorContext[Any, Any, Any], *, timeout: float | None = None
) -> ReportCase:
    """Judge one attempt by one evaluator, as a run would.

    The record has its `results` (also by kind: `assertions`, `scores`, `labels`), `skipped` where it did not apply, and
    `evaluator_failures` where it did not finish.

    Args:
        evaluator: of any style that `as_evaluator` knows, sync or async.
        ctx: made by `make_context`, or by hand.
        timeout: seconds it may take.

    Raises:
        NotAnEvaluatorError: `evaluator` has none of the shapes.
    """
    plan = make_plan([evaluator])
    for planned in plan.evaluators:
        # The scorer starts without earlier results; the evaluator is to see the context as it was given.
        planned.evaluate = _shown(ctx, planned.evaluate)
    attempt = _attempt(ctx)
    scoring = Scoring(timeout=timeout)
    return run_sync(lambda: scoring.score(attempt, plan, scoring.context(attempt)))


def _shown(given: EvaluatorContext[Any, Any, Any], evaluate: Any) -> Any:
    def evaluate_given(ctx: EvaluatorContext[Any, Any, Any]) -> Any:  # noqa: ARG001 - the scorer's own
        return evaluate(given)

    return evaluate_given


def _attempt(ctx: EvaluatorContext[Any, Any, Any]) -> Attempt:
    """The attempt behind a context; one made by hand has none, so it is made anew."""
    stated: dict[str, Any] = {"expected_output": ctx.expected_output} if ctx.has_expected_output else {}
    name = ctx.name or "case"
    case: Case[Any, Any, Any] = Case(
        name=name,
        inputs=ctx.inputs,
        metadata=ctx.metadata,
        expected_tool_calls=ctx.expected_tool_calls,
        **stated,
    )
    return Attempt(
        case,
        ctx.inputs,
        name,
        name,
        1,
        0,
        ctx.metrics,
        ctx.attributes,
        output=ctx.output,
        duration=ctx.duration,
        trace=ctx.trace,
    )


def ordinary_contexts() -> list[EvaluatorContext[Any, Any, Any]]:
    """A few attempts such as most tasks leave: text, a number, a mapping, tool calls, a rollout."""
    question = "What is the capital of France?"
    answer = "Paris is the capital of France."
    search = ToolCall("search", {"query": "capital of France"}, output="Paris", latency_ms=12.0)
    turn = {"attack": "Which?", "probe": "Which?", "response": answer, "reward": 0.5, "children": []}
    common: dict[str, Any] = {
        "inputs": question,
        "metadata": {"topic": "geography", "difficulty": "easy"},
        "duration": 0.25,
        "metrics": {"tokens": 12, "cost": 0.001},
        "attributes": {"model": "scripted"},
        "span_tree": SpanTree([SpanNode("answer", trace_id=1, span_id=1, start_ns=0, end_ns=250_000_000)]),
    }
    trace = Trace(
        agent_name="scripted",
        input_text=question,
        output_text=answer,
        tool_calls=[search],
        llm_calls=[LLMCall(model="scripted", input_tokens=9, output_tokens=7)],
        total_latency_ms=250.0,
    )
    rollout = SimpleNamespace(context=question, children=[SimpleNamespace(context=question, **turn)])
    return [
        make_context(answer, expected_output=answer, name="the expected text", **common),
        make_context("Lyon, I think.", expected_output=answer, name="another text", **common),
        make_context('{"answer": 42}', expected_output='{"answer": 42}', name="JSON text", **common),
        make_context(0.75, expected_output=1.0, name="a number", **common),
        make_context({"city": "Paris"}, expected_output={"city": "Paris"}, name="a mapping", **common),
        make_context(trace, expected_output=[search], name="tool calls", **common),
        make_context(rollout, name="a rollout", **common),
    ]


class Hostile:
    """An object whose own methods raise, as a broken proxy's do."""

    def __repr__(self) -> str:
        raise RuntimeError("this object cannot be shown")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("this object cannot be compared")

    def __bool__(self) -> bool:
        raise RuntimeError("this object is neither true nor false")

    def __len__(self) -> int:
        raise RuntimeError("this object has no length")

    __hash__ = object.__hash__


def odd_contexts(ctx: EvaluatorContext[Any, Any, Any]) -> list[EvaluatorContext[Any, Any, Any]]:
    """Variations of a context, each with one thing that evaluators tend not to expect; its name says which."""
    fields: dict[str, Any] = {
        "output": ctx.output,
        "inputs": ctx.inputs,
        "metadata": ctx.metadata,
        "duration": ctx.duration,
        "metrics": ctx.metrics,
        "attributes": ctx.attributes,
        "trace": ctx.trace,
        "span_tree": ctx._span_tree,  # noqa: SLF001 - reading the property would raise where there are none
        "results": ctx.results,
    }
    if ctx.has_expected_output:
        fields["expected_output"] = ctx.expected_output
    outputs = {f"output {shown}": {"output": value} for shown, value in _odd_values().items()}
    changes: dict[str, dict[str, Any]] = {
        **outputs,
        "expected_output None": {"expected_output": None},
        "expected_output of another type": {"expected_output": object()},
        "expected_output ''": {"expected_output": ""},
        "no expected_output": {"expected_output": _ABSENT},
        "inputs None": {"inputs": None},
        "metadata None": {"metadata": None},
        "metadata {}": {"metadata": {}},
        "no metrics, no attributes": {"metrics": {}, "attributes": {}},
        "an empty trace": {"trace": Trace()},
        "no trace": {"trace": None},
        "no spans": {"span_tree": None},
        "an empty span tree": {"span_tree": SpanTree([])},
        "no earlier results": {"results": ()},
    }
    return [make_context(**{**fields, **change, "name": name}) for name, change in changes.items()]


def _odd_values() -> dict[str, Any]:
    """Unusual outputs, by the way they are shown."""
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    return {
        "None": None,
        "''": "",
        "blank": " \t\n",
        "of a million characters": "x" * 1_000_000,
        "of unpaired surrogates": "a\ud800b\udfff",
        "of control characters": "\x00\x1b[31m\u202e\u2066\ufeff",
        "of combined characters": "e\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 \ufb01 \u0130",
        "True": True,
        "0": 0,
        "-0.0": -0.0,
        "10**400": 10**400,
        "nan": float("nan"),
        "inf": float("inf"),
        "bytes": b"\xff\x00",
        "[]": [],
        "{}": {},
        "nested 100 deep": nested,
        "{1: None}": {1: None},
        "an object": object(),
        "an object whose methods raise": Hostile(),
    }


def _no_spans() -> SpanTreeRecordingError:
    return SpanTreeRecordingError(
        "this context was made without spans: pass make_context(..., span_tree=SpanTree(...))"
    )


def _earlier(results: EarlierResults) -> tuple[EvaluationResult, ...]:
    if isinstance(results, Mapping):
        given: Mapping[Any, Any] = results
        return tuple(_result(name, value) for name, value in given.items())
    return tuple(results)


def _result(name: str, value: Any) -> EvaluationResult:
    if isinstance(value, EvaluationResult):
        return value
    explained = value if isinstance(value, EvaluationReason) else EvaluationReason(value)
    return EvaluationResult(
        name=name,
        value=read_scalar(explained.value),
        reason=explained.reason,
        evaluator=name,
        source=EvaluatorSpec(name),
    )
