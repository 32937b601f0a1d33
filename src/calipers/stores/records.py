"""What a store keeps of one attempt: the attempt itself, and a cell for each evaluator that judged it.

An attempt is stored without its results, so that a changed evaluator replaces its own cells and nothing else. It is in
four parts, each the text of a JSON object: `facts` (durations, metrics, the error's type: what summaries need), `given`
(inputs, metadata, expectation), `output` (output, attributes, traceback) and `trace`. Large parts are kept once, by the
hash of their content, however many attempts and runs hold them; see `blobs`.

A cell is the text of a bare JSON value where the evaluator said no more than that (`true`, `0.5`, `"even"`), and
otherwise of an object with its results, failures and skips. Every object carries the version of its layout as `format`.

JSON, not a binary form: any tool that opens the database can read it, integers of any size fit, and encoding is a small
part of what a stored attempt costs.
"""

from typing import TypeAlias

import msgspec

FORMAT = 1
"""The version of the parts' layout. A release reads its own and every earlier one."""

Position: TypeAlias = int
"""The place of an attempt in its run, from 0."""


class StoredAttempt(msgspec.Struct, kw_only=True, gc=False):
    """One attempt, without its results."""

    position: Position
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
    """What it is found by in later runs: a hash of the case's content, the task's version and the repeat. `None` if
    the task's version cannot be known, so that it is never reused."""
    case_hash: bytes | None = None
    """A hash of the case's content, by which two runs tell that a case has changed."""
    origin: str | None = None
    """The id of the run that called the task, if this one took the attempt over; `None`: this one did."""
    facts: str
    given: str
    output: str
    trace: str | None = None
    cells: str | None = None
    """What evaluators said of it and stands in its row; see `row_cells`. Only on the way in: a store gives cells apart."""
    run: str = ""
    """The id of its run; filled in by the store when it is read."""

    @property
    def case_name(self) -> str:
        """The case's name, whether it is repeated or not."""
        return self.name if self.source_case_name is None else self.source_case_name


class StoredCell(msgspec.Struct, kw_only=True, gc=False):
    """What one evaluator said of one attempt."""

    position: Position
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
    """What a store knows about the attempt of one key: the newest one, and what was said of that very output."""

    attempt: StoredAttempt
    origin: str
    """The id of the run that called the task; other runs may have taken the attempt over from it."""
    cells: dict[str, StoredCell]
    """By the identity of the evaluator; those without identity are left out."""
