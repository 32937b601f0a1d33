"""Contexts built by hand, and a shortcut to what an evaluator says about one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.spans import SpanNode, SpanTree


class Attempt(NamedTuple):
    case: Case
    seed: int = 0


ABSENT = object()


def _context(output: Any, expected: Any = ABSENT, *, duration: float = 0.0, spans: Any = ()) -> Any:
    given = {} if expected is ABSENT else {"expected_output": expected}
    case = Case(name="case", inputs="question", **given)
    nodes = [
        SpanNode(name, trace_id=1, span_id=number, start_ns=number, end_ns=number + 1)
        for number, name in enumerate(spans, 1)
    ]
    return EvaluatorContext(
        name=case.name,
        inputs=case.inputs,
        metadata=None,
        expected_output=case.expected_output,
        output=output,
        duration=duration,
        _span_tree=SpanTree(nodes),
        attributes={},
        metrics={},
        _attempt=Attempt(case),
    )


# For the whole session, because hypothesis does not call a fixture again for each example.
@pytest.fixture(scope="session")
def context() -> Callable[..., Any]:
    """`context(output, expected, ...)`: one attempt."""
    return _context


@pytest.fixture(scope="session")
def judge() -> Callable[..., Any]:
    """`judge(evaluator, output, expected, ...)`: what the evaluator says about that attempt."""

    def judge(evaluator: Any, output: Any, expected: Any = ABSENT, **more: Any) -> Any:
        return evaluator.evaluate_sync(_context(output, expected, **more))

    return judge
