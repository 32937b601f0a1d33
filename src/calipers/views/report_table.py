"""The tables of a report, as data: which columns they have, and a cell of each row for each of them.

To add a column to the table of evaluators, add an entry to `EVALUATOR_COLUMNS`. A table shows no column that has nothing to say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from calipers.report.passport import Standing
from calipers.report.summary import Summary
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text

from .line import Tone


class Named(NamedTuple):
    """What a row is about."""

    name: str
    suffix: str = ""


class Measured(NamedTuple):
    """A rate or a mean."""

    estimate: Estimate
    is_rate: bool
    scores_of: Summary | None = None
    """The summary whose scores a mean is over, for views that draw them."""


class Labels(NamedTuple):
    """How often each label was given, the most frequent first."""

    counts: Mapping[str, int]


class Missing(NamedTuple):
    """What stands where a result would."""

    text: str
    lost: bool
    """Whether something failed."""


class Count(NamedTuple):
    """A number of attempts or cases; `None` is shown as nothing."""

    number: int | None
    tone: Tone = "plain"
    is_problem: bool = False
    """Whether it counts what should not happen: then 0 is no news, and the column is shown only where there is any."""

    @property
    def shown(self) -> str:
        """The number, or nothing where there is no news."""
        return "" if self.number is None or (self.is_problem and not self.number) else f"{self.number:,}"


Cell: TypeAlias = Named | Measured | Labels | Missing | Count | str
ColumnKind: TypeAlias = Literal["name", "text", "result", "count"]
"""What the cells of a column are: `Named`; our own words; `Measured`, `Labels` or `Missing`; `Count`."""


class Subject(NamedTuple):
    """What one row of the table of evaluators is about: a summary, or the grades behind its assertions."""

    title: str
    summary: Summary
    graded: Estimate | None = None
    standing: Standing | None = None
    """Whether the judge has a passport; `None` if it is no judge, or no store was asked."""


class TagRate(NamedTuple):
    """What one row of the table of tags is about."""

    tag: str
    rate: Estimate


SubjectT = TypeVar("SubjectT")


@dataclass(frozen=True)
class ReportColumn(Generic[SubjectT]):
    """A column of a table of the report."""

    title: str
    kind: ColumnKind
    cell: Callable[[SubjectT], Cell]
    """The cell of a row."""
    rank: int = 0
    """Where room is short, columns of the highest rank are left out first."""
    extra: bool = False
    """Shown only where there is plenty of room."""
    where_any: bool = False
    """Shown only where some row has something in it."""


@dataclass(frozen=True)
class Table:
    """A table: the columns it has, and a cell of each row for each of them."""

    columns: Sequence[ReportColumn[Any]]
    rows: Sequence[Sequence[Cell]]
    confidence: float
    """Of the intervals."""
    note: str | None = None
    """What the table leaves out."""

    @property
    def interval_title(self) -> str:
        """`95 % interval`."""
        return f"{confidence_text(self.confidence)} interval"

    @property
    def measured(self) -> list[Measured]:
        """All rates and means in it."""
        return [cell for row in self.rows for cell in row if isinstance(cell, Measured)]


def _name(subject: Subject) -> Named:
    return Named(subject.title, "" if subject.graded is None else ", graded")


def _kind(subject: Subject) -> str:
    if subject.graded is not None:
        return "score"
    return subject.summary.kind if subject.summary.count else ""


def _result(subject: Subject) -> Cell:
    summary = subject.summary
    if subject.graded is not None:
        return Measured(subject.graded, is_rate=False, scores_of=summary)
    if summary.labels:
        return Labels(summary.labels)
    if summary.estimate is not None:
        is_rate = summary.kind == "assertion"
        return Measured(summary.estimate, is_rate, None if is_rate else summary)
    lost_to_tasks = summary.task_failures and not summary.failures and not summary.skipped
    text = "not judged: all its tasks failed" if lost_to_tasks else "no result"
    return Missing(text, bool(summary.failures or summary.task_failures))


def _n(subject: Subject) -> Count:
    """What a number is over: for a rate also the attempts that count as not passed because something failed."""
    estimate = subject.graded or subject.summary.estimate
    return Count(subject.summary.count if estimate is None else estimate.n_observations)


def _passport(subject: Subject) -> str:
    """Whether a judge has a passport, and how well it agrees with people by it."""
    standing = subject.standing
    if standing is None or subject.graded is not None:
        return ""
    passport = standing.passport
    if passport is None:
        return "of another judge" if standing.other is not None else "none"
    kappa = passport.measured.get("kappa")
    agrees = "" if kappa is None else f"kappa {kappa.value:.2f}, "
    return f"{agrees}{passport.at[:10]}"


def _count_of(field: str, tone: Tone) -> Callable[[Subject], Cell]:
    def count(subject: Subject) -> Count:
        return Count(None if subject.graded else getattr(subject.summary, field), tone, is_problem=True)

    return count


EVALUATOR_COLUMNS = (
    ReportColumn("Evaluator", "name", _name),
    ReportColumn("Kind", "text", _kind, rank=6, extra=True, where_any=True),
    ReportColumn("Result", "result", _result),
    ReportColumn("n", "count", _n, rank=1),
    ReportColumn("Passport", "text", _passport, rank=4, where_any=True),
    ReportColumn("errors", "count", _count_of("failures", "bad"), rank=2, where_any=True),
    ReportColumn("skipped", "count", _count_of("skipped", "warn"), rank=5, extra=True, where_any=True),
    ReportColumn(
        "task failed", "count", _count_of("task_failures", "bad"), rank=3, extra=True, where_any=True
    ),
)
"""The columns of the table of evaluators, for every view."""


TAG_COLUMNS = (
    ReportColumn[TagRate]("Tag", "name", lambda one: Named(one.tag)),
    ReportColumn[TagRate]("Passed", "result", lambda one: Measured(one.rate, is_rate=True)),
    ReportColumn[TagRate]("cases", "count", lambda one: Count(one.rate.n_units), rank=1),
)
"""The columns of the table of tags, for every view."""


def make_table(
    columns: Sequence[ReportColumn[SubjectT]],
    subjects: Sequence[SubjectT],
    confidence: float,
    note: str | None = None,
) -> Table:
    """One row for each subject, without the columns that have nothing to show."""
    found = [(column, [column.cell(subject) for subject in subjects]) for column in columns]
    kept = [
        (column, cells) for column, cells in found if not (column.where_any and all(map(_is_empty, cells)))
    ]
    rows = [[cells[place] for _, cells in kept] for place in range(len(subjects))]
    return Table([column for column, _ in kept], rows, confidence, note)


def _is_empty(cell: Cell) -> bool:
    return not cell if isinstance(cell, str) else isinstance(cell, Count) and not cell.shown
