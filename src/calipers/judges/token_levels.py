"""Levels weighted by the probabilities of their tokens, as G-Eval does (Liu et al. 2023, arXiv 2303.16634).

A model that writes 4 may have been about to write 5. Where the provider reports the likeliest tokens, the level is the mean of all levels
among them, each weighted by its probability; the weights are scaled to add up to 1, since other tokens have a share, too.

The answer is JSON with a field `level` for each criterion, in the order of the schema. A level counts if the tokens spell out the answer and
one token alone holds the level. Some models write a number digit by digit: there `1` may be the beginning of `10`, and what it stands for
is known only where a level that begins so is seen as one token beside it. Where levels cannot be told, there is nothing to weigh (`None`), and
the level stands as it was written.
"""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from calipers.models.model_answer import Completion, Token

TOP: Final = 20
"""How many likely tokens to ask for; the most that providers give."""
_LEVEL: Final = re.compile(r'(?<!\\)"level"\s*:\s*(-?\d+)')
"""A level in the JSON of an answer. Inside of a text its quotes would be escaped."""


def weighted_levels(completion: Completion, allowed: Sequence[Collection[int]]) -> list[float] | None:
    """The expected level for each field `level` of an answer; `None` if the probabilities are not known.

    Args:
        completion: the answer.
        allowed: the levels of each field, in order.
    """
    tokens = completion.logprobs
    if not tokens:
        return None
    text = "".join(token.text for token in tokens)
    places = [(found.start(1), found[1]) for found in _LEVEL.finditer(text)]
    if len(places) != len(allowed):
        return None
    by_start = _by_start(tokens)
    found = [
        _expected(by_start.get(place), written, levels)
        for (place, written), levels in zip(places, allowed, strict=True)
    ]
    return None if any(each is None for each in found) else [each for each in found if each is not None]


def _by_start(tokens: tuple[Token, ...]) -> dict[int, Token]:
    """Each token by where what it says begins; a token may begin with a space."""
    found, place = {}, 0
    for token in tokens:
        found[place + len(token.text) - len(token.text.lstrip())] = token
        place += len(token.text)
    return found


def _expected(token: Token | None, written: str, levels: Collection[int]) -> float | None:
    if token is None or token.text.strip() != written or _level(written, levels) is None:
        return None
    likely: list[tuple[Any, float | None]] = [*token.top]
    if token.text not in [text for text, _ in likely]:  # under a schema it need not be among the likeliest
        likely.append((token.text, token.logprob))
    weights: dict[int, float] = {}
    for text, logprob in likely:
        if logprob is not None and (level := _level(text, levels)) is not None:
            weights[level] = weights.get(level, 0.0) + math.exp(logprob)
    longer = {level for level in levels for short in weights if _begins(short, level)}
    if longer and longer.isdisjoint(weights):
        return None
    total = sum(weights.values())
    return sum(level * weight for level, weight in weights.items()) / total if total else None


def _level(text: str, levels: Collection[int]) -> int | None:
    """The level that a token holds, and nothing else."""
    bare = text.strip()
    return int(bare) if re.fullmatch(r"-?\d+", bare) and int(bare) in levels else None


def _begins(short: int, level: int) -> bool:
    """Whether the digits of a level are only the first ones of another."""
    return short != level and str(level).startswith(str(short))
