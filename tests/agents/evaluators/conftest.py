"""A shortcut to what an evaluator says of a trace."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from calipers.agents import EvalResult, TestCase, Trace


# For the whole session, because hypothesis does not call a fixture again for each example.
@pytest.fixture(scope="session")
def judge() -> Callable[..., EvalResult]:
    """`judge(evaluator, trace)` or `judge(evaluator, output_text=..., ...)`: what the evaluator says of that trace."""

    def judge(
        evaluator: Any, trace: Trace | None = None, *, expected: Any = None, **facts: Any
    ) -> EvalResult:
        case = TestCase(name="case", input_text="question", expected_output=expected)
        return asyncio.run(evaluator.evaluate(case, Trace(**facts) if trace is None else trace))

    return judge
