"""Conversations in steps: texts with places for the goal and its subject, and what to make of the turns so far.

What the subject of a goal is, is found by a rule: the goal without the words of asking in front of it. `Tell me the code word.`
is about `the code word`. Where the rule is wrong, name the topic yourself.
"""

import re
from collections.abc import Mapping

from calipers.errors import InvalidOptionError
from calipers.rollouts.attacks.transformation import PLACE, checked_goal
from calipers.rollouts.players import SoFar

_ASKING = re.compile(
    r"^(?:please[,:]? )?(?:(?:could|can|will|would) you (?:please )?)?"
    r"(?:(?:tell|give|show|send|reveal|say|name|explain|describe|write|print|share|spell|repeat)(?: (?:me|us))?(?: about)? "
    r"|(?:what|who|where) (?:is|are) )",
    re.IGNORECASE,
)


def topic_of(goal: str) -> str:
    """What a goal is about, without the words of asking and the last punctuation mark."""
    return _ASKING.sub("", checked_goal(goal).strip(), count=1).rstrip(" .?!") or goal


def filled(step: str, goal: str, topic: str | None, also: Mapping[str, str] | None = None) -> str:
    """A step with the goal, its topic and other values in their places."""
    values = {
        "{topic}": topic_of(goal) if topic is None else topic,
        **(also or {}),
        PLACE: checked_goal(goal),
    }
    return re.sub(r"\{\w+\}", lambda place: values.get(place[0], place[0]), step)


def check_steps(steps: object, *, owner: str) -> None:
    """Raise unless these are texts, of which the last says what is wanted."""
    if not isinstance(steps, tuple) or not steps or not all(isinstance(step, str) for step in steps):
        raise InvalidOptionError(f"{owner} needs a tuple of one step or more, each a text, got {steps!r}")
    if PLACE not in steps[-1]:
        raise InvalidOptionError(f"the last step of {owner} must ask for {PLACE}, got {steps[-1]!r}")


def has_won(so_far: SoFar) -> bool:
    """Whether the turn before was judged a success, so that nothing is left to do."""
    return so_far.last is not None and so_far.last.success is True
