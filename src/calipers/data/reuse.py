"""What is known of an attempt from an earlier run, and how much of a run came from there.

A *cell* is what one evaluator said of one attempt. An attempt is recalled with those of its cells that still hold; the
evaluators that have none are asked, and no others.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, SkippedEvaluation


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What one evaluator said of one attempt."""

    results: tuple[EvaluationResult, ...] = ()
    failures: tuple[EvaluatorFailure, ...] = ()
    skipped: tuple[SkippedEvaluation, ...] = ()
    saw_results: bool = False
    """Whether the evaluator looked at what others had said before it: then it holds only while theirs do."""


class Recalled(msgspec.Struct, kw_only=True):
    """An attempt that need not be made again."""

    record: ReportCase | ReportCaseFailure
    """What came of it, without results; inputs, metadata and expectation are those of the present case."""
    cells: Mapping[str, Cell] = {}
    """What still holds of what was said of it, by the evaluator's name in this run."""
    spans: Any = None
    """A `SpanTree`, or the error that says why there is none."""
    origin: str = ""
    """The run that called the task."""
    source: Any = None
    """The journal's own note of where it was found."""


class Reuse(msgspec.Struct, kw_only=True):
    """How much of a run was taken from a store, and how much was done."""

    run: str
    """The id of the run in the store."""
    attempts_reused: int = 0
    """Attempts that were stored already, so that the task was not called."""
    attempts_made: int = 0
    """Attempts for which the task was called."""
    cells_reused: int = 0
    """Judgements that were stored already. A cell is what one evaluator said of one attempt."""
    cells_computed: int = 0
    """Judgements that were made."""
    agent_cost_reused: float = 0.0
    """US dollars that the reused attempts had cost, as far as is known: paid then, and not in this run."""
    judge_cost_reused: float = 0.0
    """The same of the reused judgements."""
    judged_as_plain: int = 0
    """Attempts judged by their output as plain data, since the object that the task returned could not be made again."""
    notes: list[str] = []
    """What was different from the stored run, and what could not be known."""
    losses: list[str] = []
    """Those of the notes that say what the stored run had and this one has no more."""
