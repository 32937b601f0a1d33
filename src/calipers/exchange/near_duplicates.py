"""Requests that say the same: exactly, or nearly.

Two requests are the same where they differ in white space, capitals and the forms of letters alone (NFKC). They are nearly the same where
the cosine of their vectors (`calipers.models.embeddings`) is at least a threshold.

Which one stays does not depend on chance: requests are looked at in an order of preference, and one stays unless it is a duplicate of
one that stayed before. It is then listed as a duplicate of the first such one. So two that stay are never near each other; two that
are left out for a third may be further apart than the threshold.

Vectors take a kilobyte each. They are compared block by block: there is never a table of all with all.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from calipers.data.argument_checks import check_number
from calipers.models.embeddings import embed

_BLOCK = 512
_KEPT = 8192
"""Vectors that are compared at once: this many of a block with so many that stayed."""
_ROUNDING = 1e-5
"""By how much the cosine of equal vectors may lie below 1, in single precision."""


class NearOne(NamedTuple):
    """That a request is a near duplicate."""

    of: int
    """The place of the request that stays."""
    similarity: float
    """The cosine of the two."""


def same_text(text: str) -> str:
    """What equal requests have in common: the text without differences of white space, capitals and forms of letters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Vectors:
    """The vectors of requests, a kilobyte each, by the order in which they were added.

    Raises:
        MissingExtraError: wordllama is not installed.
    """

    def __init__(self) -> None:
        embed([])
        self._rows = bytearray()

    def add(self, text: str) -> None:
        """Add the vector of a request."""
        import numpy as np

        row = np.asarray(embed([text])[0], dtype=np.float32)
        size = float(np.linalg.norm(row))
        self._rows += (row / size if size else row).tobytes()

    def near(self, order: Sequence[int], threshold: float, *, settled: int = 0) -> dict[int, NearOne]:
        """The requests that are near one that comes before them in the order and stays, by their places.

        Args:
            order: the places of all requests, the most preferred first.
            threshold: the least cosine of two that are nearly the same, above 0 and at most 1.
            settled: how many of the first ones stay whatever they are near.
        """
        import numpy as np

        check_number("near", threshold, above=0, at_most=1)
        if not order:
            return {}
        rows = np.frombuffer(self._rows, dtype=np.float32).reshape(len(order), -1)[np.asarray(order)]
        found: dict[int, NearOne] = {}
        kept = list(order[:settled])
        for start in range(settled, len(order), _BLOCK):
            block = rows[start : start + _BLOCK].copy()
            left = _not_near_to(
                rows[: len(kept)], kept, block, order[start : start + _BLOCK], threshold, found
            )
            stays = _apart(block, left, order[start : start + _BLOCK], threshold, found)
            # What stays moves to the front, where everything was looked at before.
            rows[len(kept) : len(kept) + len(stays)] = block[stays]
            kept += [order[start + each] for each in stays]
        return found


def _not_near_to(
    rows: Any,
    kept: Sequence[int],
    block: Any,
    places: Sequence[int],
    threshold: float,
    found: dict[int, NearOne],
) -> list[int]:
    """Those of a block that are near none of the ones that stayed before."""
    left = list(range(len(block)))
    for start in range(0, len(kept), _KEPT):
        if not left:
            break
        cosines = block[left] @ rows[start : start + _KEPT].T
        hits = cosines >= threshold - _ROUNDING
        first, has_any = hits.argmax(axis=1), hits.any(axis=1)
        for row, each in enumerate(left):
            if has_any[row]:
                found[places[each]] = NearOne(
                    kept[start + int(first[row])], _cosine(cosines[row, first[row]])
                )
        left = [each for row, each in enumerate(left) if not has_any[row]]
    return left


def _apart(
    block: Any, left: Sequence[int], places: Sequence[int], threshold: float, found: dict[int, NearOne]
) -> list[int]:
    """Those of a block that are not near an earlier one of it that stays."""
    some = block[list(left)]
    cosines = some @ some.T
    hits = cosines >= threshold - _ROUNDING
    stays: dict[int, None] = {}
    for row, each in enumerate(left):
        near = next((other for other in hits[row, :row].nonzero()[0].tolist() if other in stays), None)
        if near is None:
            stays[row] = None
        else:
            found[places[each]] = NearOne(places[left[near]], _cosine(cosines[row, near]))
    return [left[row] for row in stays]


def _cosine(value: Any) -> float:
    return round(min(1.0, float(value)), 4)
