"""`RolloutTask`: rollouts as a task, so that they run over a dataset, with repeats, reports, pytest and the command line.

What a case gives as its inputs is a goal (a text), a seed (a whole number: the environment draws a goal by it), or both, as
`{"goal": …, "seed": …}`. Where it gives no seed, that of the attempt is used, which follows from the run's seed, the case's
name and the repeat: so repeats differ, and the same run gives the same rollouts again.

The output is the `Graph`, and all its turns are the trace of the attempt (see `conversation`). The attempt counts `turns`,
and `cost` where it is known. A rollout that fails is a failed attempt, never one without success; its turns so far are the
trace of the failure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.data.attempt import current_attempt, increment_eval_metric
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidCaseError, InvalidOptionError, RolloutError
from calipers.run.evaluation import draw_seed

from .environment import Environment
from .graph import Graph
from .rollout_outcome import calls_of, cost_of
from .targets import name_of

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
        return name_of(self.environment.target)

    async def __call__(self, inputs: Any) -> Graph[str, str]:
        """The rollout.

        Raises:
            InvalidCaseError: the inputs are neither a goal nor a seed.
            RolloutError: a player failed.
        """
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
    """The goal and the seed that a case gives; `None` for what it does not.

    Raises:
        InvalidCaseError: it gives neither.
    """
    goal: Any
    seed: Any
    if isinstance(inputs, Mapping) and inputs and set(inputs) <= _KEYS:
        goal, seed = inputs.get("goal"), inputs.get("seed")
    else:
        goal, seed = (inputs, None) if isinstance(inputs, str) else (None, inputs)
    is_goal = goal is None or (isinstance(goal, str) and bool(goal.strip()))
    is_seed = seed is None or (isinstance(seed, int) and not isinstance(seed, bool))
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
