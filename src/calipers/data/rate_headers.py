"""What providers say in the headers of an answer about how much is left: of requests, of tokens, and when there is all of it again.

| provider | headers | when it is full |
|---|---|---|
| OpenAI, Azure, Groq and their kin | `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` | a duration, `6m0s`, or seconds |
| Anthropic | `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}` | a date |

What is missing, negative (Azure sends -1 for what it does not count) or no number is not told.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .retry_after import seconds_in

_OPENAI = ("requests", "tokens")
_ANTHROPIC = ("requests", "tokens", "input-tokens", "output-tokens")


class Allowance(NamedTuple):
    """What a server says is left of something it limits."""

    kind: str
    """What it is: `requests`, `tokens`, `input-tokens`, `output-tokens`."""
    limit: float
    """How much there can be at once."""
    left: float
    """How much there is."""
    full_in: float
    """Seconds until there is all of it again."""


def allowances_in(headers: Mapping[str, str]) -> list[Allowance]:
    """What an answer tells; empty if it tells nothing. Names are looked up as they are, so the mapping decides about their case."""
    return list(_found(headers))


def _found(headers: Mapping[str, str]) -> Iterator[Allowance]:
    for kind in _OPENAI:
        names = (f"x-ratelimit-{part}-{kind}" for part in ("limit", "remaining", "reset"))
        if (told := _allowance(kind, *map(headers.get, names))) is not None:
            yield told
    for kind in _ANTHROPIC:
        names = (f"anthropic-ratelimit-{kind}-{part}" for part in ("limit", "remaining", "reset"))
        if (told := _allowance(kind, *map(headers.get, names))) is not None:
            yield told


def _allowance(kind: str, limit: str | None, left: str | None, reset: str | None) -> Allowance | None:
    if limit is None or left is None or reset is None:
        return None
    most, rest, full_in = _number(limit), _number(left), seconds_in(reset)
    if most is None or rest is None or full_in is None or most <= 0:
        return None
    return Allowance(kind, most, min(rest, most), full_in)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None
