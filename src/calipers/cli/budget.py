"""Reads the options that give a command a budget: `--max-cost`, `--max-tokens`, `--max-calls` and `--max-time`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.data.budget import SIDES, Budget, Unit
from calipers.errors import InvalidOptionError

_TIMES: Final[Mapping[str, float]] = {"k": 1e3, "m": 1e6, "b": 1e9}
"""What a letter behind a number of tokens or calls stands for."""


def read_budget(
    *,
    cost: Sequence[str] = (),
    tokens: Sequence[str] = (),
    calls: Sequence[str] = (),
    seconds: float | None = None,
) -> Budget | None:
    """The budget that the options state; `None` if they state none.

    Raises:
        InvalidOptionError: one of them cannot be read, or is given twice.
    """
    parts: dict[str, dict[str, Any]] = {"": {}, **{side: {} for side in SIDES}}
    given: dict[Unit, Sequence[str]] = {"cost": cost, "tokens": tokens, "calls": calls}
    for unit, texts in given.items():
        for text in texts:
            who, _, amount = text.rpartition("=")
            if who not in parts:
                raise InvalidOptionError(
                    f"--max-{unit} {text}: write {' or '.join(f'{side}=…' for side in SIDES)}, or a number alone"
                )
            if unit in parts[who]:
                raise InvalidOptionError(f"--max-{unit} {text}: it is given twice")
            parts[who][unit] = _amount(unit, amount, text)
    nested: dict[str, Any] = {side: Budget(**parts[side]) for side in SIDES if parts[side]}
    if not parts[""] and not nested and seconds is None:
        return None
    return Budget(**parts[""], **nested, seconds=seconds)


def _amount(unit: Unit, amount: str, text: str) -> float | int:
    number = amount.strip().lower().replace(",", "").removeprefix("$" if unit == "cost" else "")
    times = 1.0
    if unit != "cost" and number[-1:] in _TIMES:
        number, times = number[:-1], _TIMES[number[-1]]
    try:
        found = float(number) * times
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf or (unit != "cost" and found != round(found)):
        what = "an amount of US dollars" if unit == "cost" else "a whole number from 1"
        raise InvalidOptionError(f"--max-{unit} must be {what}, got {text!r}")
    return found if unit == "cost" else round(found)
