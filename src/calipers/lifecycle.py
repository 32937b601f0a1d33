"""Hooks around a case: set up before the task, adjust the context before the evaluators, clean up after them.

Order: `setup`, the task, `prepare_context`, the evaluators, `teardown`. A new object is made for every attempt. Hooks
may be sync or async and run on the event loop's thread. If `setup` or `prepare_context` fails, the attempt is recorded
as a failure, and `teardown` still runs. If `teardown` fails, the record keeps its judgements and says so.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeAlias

from .case import Case
from .context import EvaluatorContext, InputsT, MetadataT, OutputT
from .record import ReportCase, ReportCaseFailure


class CaseLifecycle(Generic[InputsT, OutputT, MetadataT]):
    """Hooks of one attempt. Override those you need; any of them may be `async`."""

    def __init__(self, case: Case[InputsT, OutputT, MetadataT]) -> None:
        self.case = case

    def setup(self) -> Any:
        """Called before the task."""

    def prepare_context(self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]) -> Any:
        """Called after the task; returns the context that the evaluators see."""
        return ctx

    def teardown(self, result: ReportCase | ReportCaseFailure | None) -> Any:
        """Called last, with the record of the attempt; `None` if the run was interrupted."""


LifecycleFactory: TypeAlias = Callable[[Case[Any, Any, Any]], CaseLifecycle[Any, Any, Any]]
"""A `CaseLifecycle` subclass, or any function of a case that makes one."""
