"""Rollouts as a task, so that they run over a dataset, with repeats, reports, pytest and the command line.

**`RolloutTask`** runs an environment. The inputs of a case are a goal (a text), a seed (a whole number, by which the environment
draws a goal), or both, as `{"goal": …, "seed": …}`. Without a seed, that of the attempt is used: repeats differ, and the same run
gives the same rollouts again. The attempt counts `turns`, and `cost` where it is known. A rollout that fails is a failed
attempt, with the turns so far as its trace.

**`ScriptedTask`** is a chat agent that answers the scripted user of a case with `turns`. `Dataset.evaluate` makes one of any task
where a case has turns. The task has any shape that `as_target` takes. A function may also have a parameter `state`: a dict that
is new in each conversation and kept from turn to turn. The whole script is said, whatever the answers are. A case with inputs
goes to the task as it is.

The output of both is the `Graph`, and all its turns are the trace of the attempt (see `conversation`).
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from calipers.data.argument_checks import is_whole_number
from calipers.data.attempt import current_attempt, increment_eval_metric, running_attempt
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidCaseError, InvalidOptionError, RolloutError, TaskContractError
from calipers.process.loop import run_sync
from calipers.run.evaluation import draw_seed
from calipers.run.task import Task, as_task

from .environment import Environment
from .graph import Graph
from .players import Message, is_async, player_name
from .rollout_outcome import calls_of, cost_of
from .targets import as_target
from .testers import ScriptedTester

_KEYS = {"goal", "seed"}


@dataclass(frozen=True)
class RolloutTask:
    """One rollout for each attempt.

    ```python
    dataset = Dataset(cases=[Case(inputs="get the code word")], evaluators=[...])
    report = dataset.evaluate_sync(RolloutTask(environment), repeat=10)
    ```
    """

    environment: Environment

    is_async = True
    """It is awaited."""

    def __post_init__(self) -> None:
        if not isinstance(self.environment, Environment):
            raise InvalidOptionError(
                "a RolloutTask rolls out an environment: RolloutTask(Environment(target, tester, moderator)), got "
                f"{safe_repr(self.environment):.200}"
            )

    @property
    def name(self) -> str:
        """What to call it in reports: the target's name."""
        return player_name(self.environment.target)

    async def __call__(self, inputs: Any) -> Graph[str, str]:
        """The rollout."""
        goal, seed = read_inputs(inputs)
        if seed is None:
            attempt = current_attempt(None)
            seed = draw_seed() if attempt is None else attempt.seed
        try:
            graph = await self.environment.eval_rollout_async(seed, goal=goal)
        except RolloutError as error:
            if error.graph is not None:
                count_rollout(error.graph)
            raise
        count_rollout(graph)
        return graph


def read_inputs(inputs: Any) -> tuple[str | None, int | None]:
    """The goal and the seed that a case gives; `None` for what it does not."""
    goal: Any
    seed: Any
    if isinstance(inputs, Mapping) and inputs and set(inputs) <= _KEYS:
        goal, seed = inputs.get("goal"), inputs.get("seed")
    else:
        goal, seed = (inputs, None) if isinstance(inputs, str) else (None, inputs)
    is_goal = goal is None or (isinstance(goal, str) and bool(goal.strip()))
    is_seed = seed is None or is_whole_number(seed)
    if not is_goal or not is_seed or (goal is None and seed is None):
        raise InvalidCaseError(
            "the inputs of a rollout are a goal (a text), a seed (a whole number), or {'goal': ..., 'seed': ...}, "
            f"got {safe_repr(inputs):.200}"
        )
    return goal, seed


def count_rollout(graph: Graph[Any, Any]) -> None:
    """Count the turns and the cost of a rollout as metrics of the attempt."""
    increment_eval_metric("turns", calls_of(graph))
    if (cost := cost_of(graph)) is not None:
        increment_eval_metric("cost", cost)


_STATE = "state"


@dataclass(frozen=True)
class ScriptedTask:
    """A task that answers cases with turns, and any other case as before."""

    task: Any

    @property
    def name(self) -> str:
        """What to call it in reports: the task's name."""
        return player_name(self.task) if self._plain is None else self._plain.name

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
