"""Looks at one agent by one policy: each has its part of the doubt, so that all of them together err as rarely as one.

An INCONCLUSIVE verdict asks for more cases, and to judge again with them is another chance to be wrong. So the doubt of a policy is
shared: the first look has four fifths of it, the second a tenth, and every later one half of what the one before had. The parts
add up to the whole, however many looks there are (Bonferroni's inequality), whether later runs hold the cases of earlier ones or not.

A look is a verdict on a kept run that is not anytime-valid. Judging the same attempts again by the same labels is the same look.
Looks share a question if policy, dataset, and names and task versions of the run and its baseline are the same. A PASS answers the
question, and the next look is a first one.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from .policy import Policy
from .verdict import Outcome

FIRST_SHARE = 0.8


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict on a kept run."""

    run: str
    """The id of the run."""
    attempts: int
    """Attempts that it had, and lines of labels that the policy names: judging with more of either is another look."""
    number: int
    """Of the look at its question, from 1."""
    outcome: Outcome


def share_of(number: int) -> float:
    """The part of the doubt that a look has."""
    return FIRST_SHARE if number == 1 else (1 - FIRST_SHARE) / 2 ** (number - 1)


def confidence_at(confidence: float, number: int) -> float:
    """The confidence of the intervals at a look, where that of the policy is for all looks together."""
    return 1 - (1 - confidence) * share_of(number)


def number_of(earlier: Sequence[Look], run: str, attempts: int) -> int:
    """The number of a look at a run, after these looks at the same question."""
    for look in earlier:
        if (look.run, look.attempts) == (run, attempts):
            return look.number
    return 1 if not earlier or earlier[-1].outcome == "PASS" else earlier[-1].number + 1


def question_of(policy: Policy, *sides: tuple[str | None, ...]) -> str:
    """What a question is known by: the policy, and what tells the run and its baseline from other agents."""
    return blake2b(msgspec.json.encode([policy, sides], order="sorted"), digest_size=16).hexdigest()
