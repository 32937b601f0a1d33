"""Hooks around a case: set up before the task, adjust the context before the evaluators, clean up after them.

Order: `setup`, the task, `prepare_context`, the evaluators, `teardown`. A new object is made for every attempt. Hooks
may be sync or async and run on the event loop's thread. If `setup` or `prepare_context` fails, the attempt is recorded
as a failure, and `teardown` still runs. If `teardown` fails, the record keeps its judgements and says so.

`RunHooks` are told when a run and its attempts begin and end; unlike a lifecycle, they cannot change what happens.
"""

from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeAlias, runtime_checkable

from calipers.data.case import Case
from calipers.data.context import EvaluatorContext, InputsT, MetadataT, OutputT
from calipers.data.record import ReportCase, ReportCaseFailure


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

RunHook: TypeAlias = Literal["on_suite_start", "on_test_start", "on_test_end", "on_suite_end"]
"""What `RunHooks` can be told: a run begins, an attempt begins or ends, the run is over."""


@runtime_checkable
class RunHooks(Protocol):
    """Told when a run and its attempts begin and end, such as a `calipers.plugins.PluginManager`."""

    def listens(self, *hooks: RunHook) -> bool:
        """Whether any of these has a listener."""
        ...

    async def dispatch(self, hook: RunHook, **details: Any) -> None:
        """Tell the listeners. It raises only what ends the run as well: Ctrl-C, and a cancellation."""
        ...
