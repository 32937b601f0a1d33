"""What a turn is: whether the target gave way in it, and what it was worth to the tester.

Success is judged by one of

- a number from 0 to 1, the threshold: the moderator's score of the response reaches it;
- a function whose parameters are named for what it needs: `goal`, `attack`, `response`, `turns` (all of the branch, this
  one last), `node` (this turn), `score` (the moderator's, of the response);
- an evaluator of any style, for which the goal is the inputs and the response the output. It asserts that the target
  *gave way*: what it passes is a success of the tester.

By default it is the threshold 0.5 where there is a moderator; without one success is not judged. Sync functions are called in
threads, like players (see `calipers.rollouts.players`); sync evaluators on the event loop, as in any run.

The reward is a function of the same names that gives a number; by default it is the score of the response, or 0 where
there is none.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.data.argument_checks import check_number, check_share
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import read_output
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.jsonable import safe_repr
from calipers.data.result import Skipped
from calipers.errors import InvalidOptionError, InvalidRolloutError, NotAnEvaluatorError

from .graph import Node
from .players import ask, is_blocking

NAMES: Final = ("goal", "attack", "response", "turns", "node", "score")
"""What a function that judges a turn may ask for."""


@dataclass(frozen=True)
class _Turn:
    """One turn, as its judges see it."""

    goal: str
    turns: Sequence[Node[Any, Any]]

    def value(self, name: str) -> Any:
        node = self.turns[-1]
        values = {"goal": self.goal, "turns": tuple(self.turns), "node": node, "score": node.response_score}
        return values[name] if name in values else getattr(node, name)


async def turn_succeeded(judge: Any, goal: str, turns: Sequence[Node[Any, Any]]) -> bool | None:
    """Whether the target gave way in the last of these turns; `None`: unknown."""
    turn = _Turn(goal, turns)
    node = turns[-1]
    if judge is None:
        return None
    if isinstance(judge, int | float):
        return None if node.response_score is None else node.response_score >= judge
    wanted = wanted_by(judge)
    if wanted is not None:
        said = await ask(judge, *(turn.value(name) for name in wanted), blocking=is_blocking(judge))
        if said is None or isinstance(said, bool):
            return said
        raise InvalidRolloutError(
            f"success=... must say True, False, or None for what cannot be told, got {safe_repr(said):.200}"
        )
    ctx: EvaluatorContext[Any, Any, Any] = EvaluatorContext(
        name=None,
        inputs=goal,
        metadata=None,
        expected_output=None,
        output=node.response,
        duration=node.duration or 0.0,
        _span_tree=None,
        attributes={},
        metrics={},
        trace=node.trace,
    )
    blocking = is_blocking(judge, unless_told=False)
    found = read_output(await ask(as_evaluator(judge).evaluate, ctx, blocking=blocking))
    if isinstance(found, Skipped):
        return None
    values = [each.value for each in found]
    if len(values) != 1 or not isinstance(values[0], bool):
        raise InvalidRolloutError(
            f"success=... must be an evaluator that gives one assertion, True or False, got {values!r:.200}"
        )
    return values[0]


async def reward_of(judge: Any, goal: str, turns: Sequence[Node[Any, Any]]) -> float:
    """What the last of these turns was worth."""
    if judge is None:
        return turns[-1].response_score or 0.0
    turn = _Turn(goal, turns)
    values = (turn.value(name) for name in wanted_by(judge) or ())
    said = await ask(judge, *values, blocking=is_blocking(judge))
    return float(check_number("what reward=... gives", said, error=InvalidRolloutError))


def wanted_by(judge: Any) -> list[str] | None:
    """What a function asks for, if it asks in the words of a turn; `None` if it does not, or is none."""
    if not callable(judge) or inspect.isclass(judge) or hasattr(judge, "evaluate"):
        return None
    try:
        parameters = inspect.signature(judge).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    names = [each.name for each in needed if each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}]
    return names if names and len(names) == len(needed) and set(names) <= set(NAMES) else None


def check_success(judge: Any) -> None:
    """Check who judges success; `None` leaves it to the default."""
    if judge is None or wanted_by(judge) is not None:
        return
    if isinstance(judge, int | float):
        check_share("success, as a threshold for the moderator's scores,", judge)
        return
    try:
        as_evaluator(judge)
    except NotAnEvaluatorError as error:
        raise NotAnEvaluatorError(
            f"success=... is a threshold from 0 to 1, a function with parameters among {', '.join(NAMES)}, or an evaluator, "
            f"got {safe_repr(judge):.200}. As an evaluator: {error}"
        ) from None


def check_reward(judge: Callable[..., Any] | None) -> None:
    """Check who gives rewards."""
    if judge is not None and wanted_by(judge) is None:
        raise InvalidOptionError(
            f"reward=... must be a function with parameters among {', '.join(NAMES)}, got {safe_repr(judge):.200}"
        )
