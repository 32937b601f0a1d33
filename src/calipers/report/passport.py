"""A judge's passport: what was measured of a judge, when, and of which judge exactly.

A passport belongs to an identity: the judge's code, prompts, model and parameters. A judge whose prompt or model changed is another judge
and has none. What a judge is *called* is no part of it.

Every number comes with what it was measured on. What was not measured is absent, and `unmeasured` says why: no number is made up.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from calipers.identity.fingerprint import differences, identity_of
from calipers.stats import Interval

Trait: TypeAlias = Literal[
    "base_rate",
    "judged_rate",
    "agreement",
    "kappa",
    "sensitivity",
    "specificity",
    "self_consistency",
    "order_bias",
    "length_bias",
    "self_preference",
    "injections_through",
    "cost",
]
"""What can be measured of a judge; `TRAITS` says what each means."""

TRAITS: Final[dict[Trait, str]] = {
    "base_rate": "people pass",
    "judged_rate": "the judge passes",
    "agreement": "judge and people say the same",
    "kappa": "kappa, agreement beyond chance",
    "sensitivity": "of what people pass, it passes",
    "specificity": "of what people fail, it fails",
    "self_consistency": "asked again, it says the same",
    "order_bias": "points to what is shown first",
    "length_bias": "passes longer answers more often",
    "self_preference": "passes its own model more often",
    "injections_through": "injections that get through",
    "cost": "US dollars a judgement",
}
"""Each trait in words, in the order in which a passport shows them."""
assert set(TRAITS) == set(get_args(Trait))

_IGNORED: Final = "parameter evaluation_name"
"""The part of an identity that only says what a judge is called."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a passport."""

    value: float
    interval: Interval | None = None
    """Where the true value may lie; `None` when the data cannot tell."""
    n: int
    """What it was measured on: labelled attempts, or pairs, injections or judgements."""


class Passport(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of a judge."""

    judge: str
    """What it was called."""
    identity: str
    """Which judge: `passport_identity` of its parts."""
    parts: dict[str, str] = {}
    """What the identity was made of, so that a difference can be named."""
    model: str | None = None
    """The model that it asks; `None` if that is not known."""
    at: str
    """When: ISO 8601, UTC."""
    labels: int
    """Attempts that people had labelled, and that it gave a verdict on."""
    unjudged: int = 0
    """Labelled attempts that it gave no verdict on: it failed, or skipped them."""
    repeats: int = 1
    """How often it was asked about each."""
    measured: dict[Trait, Measurement] = {}
    """By trait; what was not measured is not there."""
    unmeasured: dict[Trait, str] = {}
    """Why the others are not there."""

    def age(self, now: datetime | None = None) -> float:
        """Days since the check."""
        then = datetime.fromisoformat(self.at)
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        return ((now or datetime.now(UTC)) - then).total_seconds() / 86400


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a judge of a run has a passport."""

    passport: Passport | None = None
    """The newest of this very judge; `None` if it has none."""
    other: Passport | None = None
    """Without one: the newest of a judge of the same name, which differs."""
    changes: tuple[str, ...] = ()
    """What differs between that one and this; empty if there is none."""
    unknown: str | None = None
    """Why the identity of the judge cannot be known, so that no passport can be its own; `None` if it is known."""


def passport_identity(parts: Mapping[str, str]) -> str:
    """The identity by which a judge's passports are kept: that of its parts, without what it is called."""
    return identity_of({label: part for label, part in parts.items() if label != _IGNORED}).key


def standing_of(
    name: str, parts: Mapping[str, str], passports: list[Passport], *, unknown: str | None = None
) -> Standing:
    """Whether a judge has a passport.

    Args:
        name: what the judge is called.
        parts: of its identity.
        passports: all that there are, the newest first.
        unknown: why its identity cannot be known.
    """
    if unknown is not None:
        return Standing(unknown=unknown)
    identity = passport_identity(parts)
    own = next((each for each in passports if each.identity == identity), None)
    if own is not None:
        return Standing(passport=own)
    other = next((each for each in passports if each.judge == name), None)
    if other is None:
        return Standing()
    changes = (line for line in differences(other.parts, parts) if not line.startswith(_IGNORED))
    return Standing(other=other, changes=tuple(changes))
