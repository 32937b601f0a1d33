# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Players of a user's own, and what comes of them."""

from collections.abc import Sequence
from typing import assert_type

from calipers.rollouts import (
    Attack,
    Budget,
    Environment,
    Graph,
    Message,
    Moderator,
    OnSuccess,
    Reply,
    RolloutTask,
    SimulatedUser,
    SoFar,
    StopCondition,
    Target,
    Tester,
    TextModerator,
    turn_seed,
)
from calipers.rollouts.environment import Problem


class Bot:
    def reply(self, messages: Sequence[Message]) -> Reply:
        return Reply(messages[-1].content, cost=0.1)


class AsyncBot:
    async def reply(self, messages: Sequence[Message]) -> str:
        return f"{len(messages)} {turn_seed()}"


class Asking:
    def next_attack(self, so_far: SoFar) -> Attack | None:
        return None if so_far.last is not None else Attack(so_far.goal, rewind=1)


class Length(TextModerator):
    def score_text(self, text: str) -> float:
        return len(text) / 100


class Patience(StopCondition):
    def reason(self, so_far: SoFar) -> str | None:
        return "enough" if so_far.turn > 3 else None


class NoBot:
    def reply(self, messages: int) -> int:
        return messages


targets: list[Target] = [Bot(), AsyncBot()]
testers: list[Tester] = [Asking(), SimulatedUser(done="booked")]
moderator: Moderator = Length()
not_a_target: Target = NoBot()  # type: ignore[assignment]

environment = Environment(
    Bot(), Asking(), moderator, goals=["a"], stop=[OnSuccess(), Budget(calls=3) | Patience()], success=0.7
)
assert_type(environment.rollout(0), Graph[str, str])
assert_type(environment.eval_rollout("goal"), Graph[str, str])
assert_type(environment.problem, Problem)
assert_type(RolloutTask(environment).name, str)


async def later() -> None:
    assert_type(await environment.eval_rollout_async(1, goal="a"), Graph[str, str])
    assert_type(await RolloutTask(environment)("a"), Graph[str, str])
