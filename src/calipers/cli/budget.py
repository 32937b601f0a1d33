"""The options by which a command is given a budget: `--max-cost`, `--max-tokens`, `--max-calls` and `--max-time`."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from calipers.data.budget import SIDES, Budget, Unit
from calipers.errors import InvalidOptionError

_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(h|min|m|s)?\s*")
_SECONDS: Final[Mapping[str, float]] = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0, "": 1.0}
_TIMES: Final[Mapping[str, float]] = {"k": 1e3, "m": 1e6, "b": 1e9}
"""What a letter behind a number of tokens or calls stands for."""

_OF: Final = "for the agent and its judges together; agent=… or judges=… limits one of them. Repeatable."


class Time(click.types.FloatParamType):
    """A time, as a number of seconds or as `1h30m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The seconds."""
        text = str(value).strip().lower()
        pieces = list(_PIECE.finditer(text))
        is_whole = bool(pieces) and "".join(piece[0] for piece in pieces) == text
        units = [piece[2] or "" for piece in pieces]
        if not is_whole or ("" in units and len(units) > 1):
            return self.fail(
                f"{value!r} is not a time: write seconds, or a time such as 45m or 1h30m", param, ctx
            )
        total = math.fsum(float(piece[1]) * _SECONDS[unit] for piece, unit in zip(pieces, units, strict=True))
        return total if total > 0 else self.fail(f"{value!r} is no time", param, ctx)


BUDGET_OPTIONS: Final[Sequence[Callable[[Any], Any]]] = (
    click.option(
        "--max-cost",
        metavar="[WHO=]DOLLARS",
        multiple=True,
        help=f"End the run when this much was spent on models, in US dollars, {_OF}",
    ),
    click.option(
        "--max-tokens",
        metavar="[WHO=]N",
        multiple=True,
        help=f"End the run when models have read and written so many tokens, such as 500k or 2M, {_OF}",
    ),
    click.option(
        "--max-calls",
        metavar="[WHO=]N",
        multiple=True,
        help=f"End the run after so many calls of models, {_OF}",
    ),
    click.option(
        "--max-time",
        metavar="TIME",
        type=Time(),
        help="End the run after this time: seconds, or a time such as 45m or 1h30m.",
    ),
)


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
