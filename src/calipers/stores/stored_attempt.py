"""What a store keeps of one attempt: the attempt itself, and a cell for each evaluator that judged it.

An attempt is stored without its results, so that a changed evaluator replaces its own cells and nothing else. It is in
four parts, each the text of a JSON object: `facts` (durations, metrics, the error's type: what summaries need), `given`
(inputs, metadata, expectation), `output` (output, attributes, traceback) and `trace`. Large parts are kept once, by the
hash of their content, however many attempts and runs hold them; see `blobs`.

A cell is the text of a bare JSON value where the evaluator said no more than that (`true`, `0.5`, `"even"`), and
otherwise of an object with its results, failures and skips. Every object carries the version of its layout as `format`.

Most attempts are judged when they are made, and most cells are a few characters: a row for each would cost several times
what it holds. So small cells that arrive with their attempt stand in its row, as one JSON object by the place of their
evaluator: `{"0":true,"1":0.5}`. Cells that are large, taken over from another run, or added or replaced later have rows of
their own in the table `cells`. Where an evaluator has both, the row of its own is the later one and counts.

JSON, not a binary form: any tool that opens the database can read it, integers of any size fit, and encoding is a small
part of what a stored attempt costs.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from calipers.errors import StoreDamagedError

from .blobs import LARGEST_INLINE

Parts: TypeAlias = bool | Literal["given"]
"""Which parts of attempts are read besides the facts: all, none, or what they were given."""

Part: TypeAlias = Literal["given", "output", "trace"]
"""A part that may be large."""

FORMAT = 1
"""The version of the parts' layout. A release reads its own and every earlier one."""


class StoredAttempt(msgspec.Struct, kw_only=True, gc=False):
    """One attempt, without its results."""

    position: int
    """Its place in the run, from 0; the order of the report."""
    name: str
    """Unique in the run: the case's name, with `[i/n]` when the case is repeated."""
    source_case_name: str | None = None
    """The case's name without the repeat; `None` when nothing is repeated."""
    repeat: int = 1
    """Which repeat, from 1."""
    failed: bool = False
    """Whether its task did not finish."""
    key: bytes | None = None
    """What later runs find it by: a hash of case, task and repeat; `None` if the task is unknown, so it is never reused."""
    case_hash: bytes | None = None
    """A hash of the case's content: another one means that the case has changed."""
    origin: str | None = None
    """The id of the run that called the task, if this one took the attempt over; `None`: this one did."""
    facts: str
    given: str
    output: str
    trace: str | None = None
    cells: str | None = None
    """The cells in its row. Only on the way in: a store returns cells separately."""
    run: str = ""
    """The id of its run; filled in by the store when it is read."""
    unread: str | None = None
    """Why a large part of it cannot be read where it was moved to: what it is shown as instead must not be judged. `None`: it is
    whole."""

    @property
    def case_name(self) -> str:
        """The case's name, whether it is repeated or not."""
        return self.name if self.source_case_name is None else self.source_case_name


def leave_out(attempt: StoredAttempt, part: Part, why: str) -> None:
    """Put a text in the place of a part that cannot be read now. A trace has none: it would say that nothing was called."""
    attempt.unread = why
    if part == "trace":
        attempt.trace = None
        return
    said = {"inputs": why} if part == "given" else {"output": why, "error_message": why}
    setattr(attempt, part, msgspec.json.encode({"format": FORMAT, **said}).decode())


class StoredCell(msgspec.Struct, kw_only=True, gc=False):
    """What one evaluator said of one attempt."""

    position: int
    evaluator: int
    """Its place in the run's `evaluators`."""
    body: str
    origin: str | None = None
    """The id of the run from which it was taken over; `None`: it was computed in this one."""
    run: str = ""
    """The id of its run; filled in by the store when it is read."""
    case_name: str | None = None
    """The name of the case in its run; filled in where a cell is found apart from the attempt of its run."""


class Known(msgspec.Struct, kw_only=True):
    """What a store knows about the attempt of one key: the newest attempt, and the cells for that very output."""

    attempt: StoredAttempt
    origin: str
    """The id of the run that called the task; other runs may have taken the attempt over from it."""
    cells: dict[str, StoredCell]
    """By the identity of the evaluator; those without identity are left out."""


# ---------------------------------------------------------------------- cells in the row of their attempt

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
            known.append(f'"{cell.evaluator}":{cell.body}')
    return [
        f"{{{','.join(texts)}}}" if (texts := inside.get(attempt.position)) else attempt.cells
        for attempt in attempts
    ], outside


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
    """The cells to be stored in the row of an attempt."""
    return read_cells(attempt.cells, attempt.position, attempt.run).values()
