"""Cells that are stored in the row of their attempt.

Most attempts are judged when they are made, and most cells are a few characters: a row for each would cost several times
what it holds. Those that arrive with their attempt and are small stand in its row, as one JSON object by the place of
their evaluator: `{"0":true,"1":0.5}`. Cells that are added or replaced later, taken over from another run, or large have
rows of their own in the table `cells`. Where an evaluator has both, the row of its own is the later one and counts.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from calipers.errors import StoreDamagedError

from .blobs import LARGEST_INLINE
from .records import StoredAttempt, StoredCell

_read: Final = msgspec.json.Decoder(dict[int, msgspec.Raw]).decode


def split_cells(
    attempts: Sequence[StoredAttempt], cells: Sequence[StoredCell]
) -> tuple[list[str | None], list[StoredCell]]:
    """What stands in the row of each attempt, and the cells that need rows of their own."""
    if not cells:
        return [attempt.cells for attempt in attempts], []
    inside: dict[int, list[str]] = {attempt.position: [] for attempt in attempts if attempt.cells is None}
    outside: list[StoredCell] = []
    for cell in cells:
        known = inside.get(cell.position)
        if known is None or cell.origin is not None or len(cell.body) > LARGEST_INLINE:
            outside.append(cell)
        else:
            known.append(cell_in_row(cell.evaluator, cell.body))
    return [
        cells_in_row(texts) if (texts := inside.get(attempt.position)) else attempt.cells
        for attempt in attempts
    ], outside


def cell_in_row(place: int, body: str) -> str:
    """A cell as one of those in a row."""
    return f'"{place}":{body}'


def cells_in_row(texts: Iterable[str]) -> str:
    """Cells as they stand in a row."""
    return f"{{{','.join(texts)}}}"


def read_cells(text: str | None, position: int, run: str) -> dict[int, StoredCell]:
    """The cells in the row of an attempt, by the place of their evaluator."""
    if text is None:
        return {}
    try:
        found = _read(text)
    except msgspec.DecodeError as error:
        raise StoreDamagedError(
            f"the cells of attempt {position} of run {run!r} are damaged in the store: {error}"
        ) from error
    return {
        place: StoredCell(position=position, evaluator=place, body=str(body, "utf-8"), run=run)
        for place, body in found.items()
    }


def cells_of(attempt: StoredAttempt) -> Iterable[StoredCell]:
    """The cells that an attempt brings along to be stored in its row."""
    return read_cells(attempt.cells, attempt.position, attempt.run).values()
