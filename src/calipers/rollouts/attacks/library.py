"""The library: one of each transformation, under its name, in an order that stays."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from calipers.errors import InvalidOptionError

from .disguise import FullWidth, Leetspeak, LookAlikes, RightToLeft, SpelledOut, ZeroWidth
from .encoding import Backwards, Base64, Hex, Morse, PigLatin, Rot13
from .hiding import ErrandList, MadeUpLanguage, PayloadSplitting
from .transformation import Direct, Transformation
from .wording import (
    AuthorityClaim,
    FewShot,
    Fiction,
    FormatForcing,
    Hypothetical,
    PrefixInjection,
    RefusalSuppression,
    RolePlay,
    SystemImitation,
)

ATTACKS: Mapping[str, Transformation] = MappingProxyType(
    {
        attack.label: attack
        for attack in (
            Direct(),
            Base64(),
            Hex(),
            Rot13(),
            Morse(),
            Backwards(),
            PigLatin(),
            Leetspeak(),
            LookAlikes(),
            ZeroWidth(),
            RightToLeft(),
            FullWidth(),
            SpelledOut(),
            PayloadSplitting(),
            MadeUpLanguage(),
            ErrandList(),
            RolePlay(),
            Fiction(),
            Hypothetical(),
            AuthorityClaim(),
            SystemImitation(),
            PrefixInjection(),
            RefusalSuppression(),
            FormatForcing(),
            FewShot(),
        )
    }
)
"""Every transformation of the library by its name; the plain request is the first."""


def as_attacks(attacks: Collection[Transformation | str] | None) -> tuple[Transformation, ...]:
    """The transformations that are meant: values as they are, names from the library, `None` for all of it.

    Raises:
        InvalidOptionError: an unknown name, two of the same name, or none at all.
    """
    if attacks is None:
        return tuple(ATTACKS.values())
    if isinstance(attacks, str | Transformation):
        raise InvalidOptionError(f"attacks are given as a list, even a single one: [{attacks!r}]")
    if not isinstance(attacks, Collection):
        raise InvalidOptionError(f"attacks are given as a list of transformations and names, got {attacks!r}")
    found = tuple(map(_as_attack, attacks))
    if not found:
        raise InvalidOptionError("no attacks are given: leave attacks= out for the whole library, ATTACKS")
    labels = [attack.label for attack in found]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InvalidOptionError(f"two attacks are called {twice[0]!r}: results could not be told apart")
    return found


def _as_attack(attack: object) -> Transformation:
    if isinstance(attack, Transformation):
        return attack
    if isinstance(attack, str) and attack in ATTACKS:
        return ATTACKS[attack]
    names = ", ".join(ATTACKS)
    raise InvalidOptionError(f"no attack {attack!r}: pass a Transformation, or one of the names {names}")
