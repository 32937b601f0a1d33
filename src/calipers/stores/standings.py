"""Which judges of a run have a passport, and the passports that a store keeps."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from calipers.errors import StoreError
from calipers.report.passport import Passport, Standing, standing_of

from .run_info import StoredEvaluator
from .stored_passport import StoredPassport

FORMAT: Final = 1
"""The version of the layout of a passport's body."""


class KeepsPassports(Protocol):
    """The part of a store that this is about."""

    def add_passport(self, passport: StoredPassport) -> None:
        """Keep a passport."""

    def passports(self, identity: str | None = None) -> list[StoredPassport]:
        """The passports, the newest first."""
        ...


def keep_passport(store: KeepsPassports, passport: Passport) -> None:
    """Keep a passport in a store, beside the earlier ones of the same judge."""
    body = msgspec.to_builtins(passport)
    store.add_passport(StoredPassport(identity=passport.identity, at=passport.at, format=FORMAT, body=body))


def read_passports(store: KeepsPassports, identity: str | None = None) -> list[Passport]:
    """The passports of a store, the newest first; those of a later release are left out.

    Raises:
        StoreError: one of them cannot be read.
    """
    found = []
    for stored in store.passports(identity):
        if stored.format > FORMAT:
            continue
        try:
            found.append(msgspec.convert(stored.body, Passport))
        except msgspec.ValidationError as error:
            raise StoreError(
                f"the passport of {stored.at} cannot be read: {error}; remove_passports({stored.identity!r}) of the store "
                "removes it, and `calipers judge check` makes another"
            ) from error
    return found


def standings(store: KeepsPassports, evaluators: Sequence[StoredEvaluator]) -> dict[str, Standing]:
    """By name, whether each judge among the evaluators of a run has a passport."""
    judges = [each for each in evaluators if each.is_judge and not each.superseded]
    if not judges:
        return {}
    passports = read_passports(store)
    return {
        each.name: standing_of(each.name, each.parts, passports, unknown=_unknown(each)) for each in judges
    }


def _unknown(evaluator: StoredEvaluator) -> str | None:
    if evaluator.identity is not None:
        return None
    return evaluator.unknown or "its code is not known"
