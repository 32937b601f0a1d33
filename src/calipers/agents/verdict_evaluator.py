"""`BaseEvaluator`: the base class of evaluators that give a verdict on a trace.

A subclass implements `_evaluate(test_case, trace)`. `evaluate` is what others call: it measures the time and catches
what goes wrong, so it always gives an `EvalResult`. An evaluator that crashed, or gave no proper result, gives the
verdict ERROR with the error's type and message. ERROR is never a pass: a report counts it as an evaluator failure.
"""

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from calipers.data.case import Case
from calipers.data.evaluator_output import read_output
from calipers.data.result import EvalResult, EvalVerdict, describe_error
from calipers.data.trace import Trace
from calipers.errors import InvalidOutputError

from calipers.agents.test_case import TestCase, as_test_case


class BaseEvaluator(ABC):
    """An evaluator that gives a verdict on what an agent did."""

    name: str
    """What its results are called."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def evaluate(self, test_case: TestCase | Case[Any, Any, Any], trace: Trace) -> EvalResult:
        """The verdict on a trace, with the time it took under `duration_ms`; a crash gives the verdict ERROR."""
        return await self._captured(lambda: self._evaluate(as_test_case(test_case), trace))

    @abstractmethod
    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        """The verdict on a trace. An ordinary function will do, too."""

    async def _captured(self, judge: Callable[[], Any]) -> EvalResult:
        """What a function says, checked and timed; if it crashes, the verdict ERROR."""
        start = perf_counter()
        try:
            found = judge()
            result = _checked(await found if inspect.isawaitable(found) else found)
        except (Exception, SystemExit) as error:
            kind, message, _ = describe_error(error)
            name = getattr(self, "name", type(self).__name__)  # a subclass may forget to set it
            result = EvalResult(name, EvalVerdict.ERROR, 0.0, message, {"error_type": kind}, error=error)
        metadata = {"duration_ms": (perf_counter() - start) * 1000, **result.metadata}
        return dataclasses.replace(result, verdict=EvalVerdict(result.verdict), metadata=metadata)


def _checked(result: Any) -> EvalResult:
    """The result if it is a proper one.

    Raises:
        InvalidOutputError: it is none, or its verdict, score or metadata is none.
    """
    if not isinstance(result, EvalResult):
        raise InvalidOutputError(f"_evaluate must return an EvalResult, got {result!r:.200}")
    if not isinstance(result.metadata, Mapping):
        raise InvalidOutputError(f"the metadata of a result must be a dict, got {result.metadata!r:.200}")
    if result.verdict != EvalVerdict.ERROR:
        read_output(result)
    return result
