"""`ScriptedTask`: a chat agent that answers the scripted user of a case with `turns`.

`Dataset.evaluate` makes one of any task where a case may have turns, so there is no need to name it. The task has any shape
that `as_target` takes: a function with a parameter `messages` is given the conversation so far as chat APIs take it. A
function may also have a parameter `state`: a dict that is new in each conversation and kept from turn to turn. A case with
inputs goes to the task as it is.

The output is the `Graph` of the conversation, and all its turns are the trace of the attempt. The whole script is said,
whatever the answers are. An agent that fails in a turn fails the attempt; the turns before it are in the trace.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from calipers.data.attempt import running_attempt
from calipers.errors import TaskContractError
from calipers.process.loop import run_sync
from calipers.run.task import Task, as_task

from .calling import is_async
from .environment import Environment
from .graph import Graph
from .players import Message
from .rollout_task import count_rollout
from .targets import as_target, name_of
from .testers import ScriptedTester

_STATE = "state"


@dataclass(frozen=True)
class ScriptedTask:
    """A task that answers cases with turns, and any other case as before."""

    task: Any

    @property
    def name(self) -> str:
        """What to call it in reports: the task's name."""
        return name_of(self.task) if self._plain is None else self._plain.name

    @property
    def is_async(self) -> bool:
        """Whether it is awaited: if the task is."""
        return is_async(self.task.reply) if self._plain is None else self._plain.is_async

    @cached_property
    def _plain(self) -> Task | None:
        """The task for cases without turns; `None` if it answers conversations only."""
        return None if hasattr(self.task, "reply") else as_task(self._with_state())

    @cached_property
    def _keeps_state(self) -> bool:
        try:
            return not hasattr(self.task, "reply") and _STATE in inspect.signature(self.task).parameters
        except (TypeError, ValueError):
            return False

    def _with_state(self) -> Any:
        """The task, with the state of a new conversation bound to it, if it keeps one."""
        return partial(self.task, **{_STATE: {}}) if self._keeps_state else self.task

    def __call__(self, inputs: Any) -> Any:
        """The conversation, or what the task makes of a case without turns; or something to await it by."""
        attempt = running_attempt()
        if attempt is not None and attempt.case.turns:
            talk = partial(self._talk, list(inputs), attempt.repeat_index)
            return talk() if self.is_async else run_sync(talk)
        if self._plain is None:
            raise TaskContractError(
                f"{self.name} answers conversations, and this case has inputs instead of turns: give it turns=[...]"
            )
        return self.task(inputs, **{_STATE: {}}) if self._keeps_state else self._plain.function(inputs)

    async def _talk(self, texts: list[str], repeat: int) -> Graph[str, str]:
        target = _Direct(as_target(self._with_state()), self.name)
        environment = Environment(target, ScriptedTester(texts), depth=len(texts))
        graph = await environment.eval_rollout_async(repeat, goal=texts[0])
        graph.metadata["tester"] = "user"
        count_rollout(graph)
        return graph


@dataclass(frozen=True)
class _Direct:
    """A target that is called where the task runs: in the thread of a sync task, on the event loop of an async one."""

    target: Any
    name: str

    blocking: ClassVar[bool] = False

    def reply(self, messages: Sequence[Message]) -> Any:
        return self.target.reply(messages)
