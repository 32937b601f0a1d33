"""Conversations as inputs: what a search over an `Environment` tries.

The inputs of a trial say who talks to the target:

| inputs | the tester |
|---|---|
| `{"goal": ..., "says": [...]}` | says these texts, one after the other |
| `{"goal": ..., "attack": "base64"}` | asks for the goal once, by an attack of the library; names joined by `+` make a row |
| `{"goal": ..., "strategy": "escalation"}` | a strategy of `calipers.rollouts.strategies` |
| `{"goal": ..., "seed": ...}` | that of the environment |

All may have a `seed`; without one, the seed of the attempt is used. The output is the `Graph`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.data.argument_checks import check_texts, is_whole_number
from calipers.data.attempt import current_attempt
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidCaseError, InvalidOptionError, RolloutError
from calipers.rollouts.attacks.library import ATTACKS
from calipers.rollouts.attacks.transformation import Chain
from calipers.rollouts.environment import Environment
from calipers.rollouts.graph import Graph
from calipers.rollouts.players import player_name
from calipers.rollouts.rollout_task import count_rollout
from calipers.rollouts.strategies import STRATEGIES, EachAttack
from calipers.rollouts.testers import ScriptedTester
from calipers.run.evaluation import draw_seed

CONVERSATION_KEYS: Final = frozenset({"goal", "says", "attack", "strategy", "seed"})
"""What the inputs of a conversation may have."""
_TESTERS = ("says", "attack", "strategy")


@dataclass(frozen=True)
class ConversationTask:
    """One conversation for each trial, with the tester that its inputs name."""

    environment: Environment

    is_async = True
    """It is awaited."""

    def __post_init__(self) -> None:
        if not isinstance(self.environment, Environment):
            raise InvalidOptionError(
                f"a ConversationTask rolls out an Environment, got {safe_repr(self.environment):.200}"
            )

    @property
    def name(self) -> str:
        """What to call it in reports: the target's name."""
        return player_name(self.environment.target)

    async def __call__(self, inputs: Any) -> Graph[str, str]:
        """The conversation."""
        goal, seed, tester = read_conversation(inputs)
        if seed is None:
            attempt = current_attempt(None)
            seed = draw_seed() if attempt is None else attempt.seed
        try:
            graph = await self.environment.eval_rollout_async(seed, goal=goal, tester=tester)
        except RolloutError as error:
            if error.graph is not None:
                count_rollout(error.graph)
            raise
        count_rollout(graph)
        return graph


def read_conversation(inputs: Any) -> tuple[str | None, int | None, Any]:
    """The goal, the seed and the tester that inputs name; `None` for what they leave out.

    Raises:
        InvalidCaseError: these are no inputs of a conversation.
    """
    if isinstance(inputs, str):
        return inputs, None, None
    if not isinstance(inputs, Mapping) or not inputs or not set(inputs) <= CONVERSATION_KEYS:
        raise InvalidCaseError(
            "the inputs of a conversation are a goal, or a mapping with some of "
            f"{', '.join(sorted(CONVERSATION_KEYS))}, got {safe_repr(inputs):.200}"
        )
    goal, seed = inputs.get("goal"), inputs.get("seed")
    named = [key for key in _TESTERS if inputs.get(key) is not None]
    if len(named) > 1:
        raise InvalidCaseError(f"who talks to the target: {' or '.join(named)}? Give one of them")
    if (goal is not None and not isinstance(goal, str)) or (seed is not None and not is_whole_number(seed)):
        raise InvalidCaseError(
            f"the goal of a conversation is a text, and its seed a whole number, got {safe_repr(inputs):.200}"
        )
    if not named:
        return goal, seed, None
    value = inputs[named[0]]
    if named[0] == "says":
        if not check_texts("says", value, or_empty=True, error=InvalidCaseError):
            raise InvalidCaseError("says of a conversation has at least one text, got none")
        return goal, seed, ScriptedTester(list(value))
    if named[0] == "strategy":
        if value not in STRATEGIES:
            raise InvalidCaseError(f"no strategy {value!r}: there are {', '.join(STRATEGIES)}")
        return goal, seed, STRATEGIES[value]
    return goal, seed, EachAttack([attack_called(value)])


def attack_called(name: Any) -> Any:
    """The attack of the library with this name; names joined by `+` make a row.

    Raises:
        InvalidCaseError: there is none.
    """
    parts = str(name).split("+")
    for part in parts:
        if part not in ATTACKS:
            raise InvalidCaseError(f"no attack {part!r}: there are {', '.join(ATTACKS)}")
    steps = [ATTACKS[part] for part in parts]
    return steps[0] if len(steps) == 1 else Chain(*steps)
