"""What report evaluators find: claims about a whole report, as data.

Every analysis has a `title`, and a `note` that says what a reader of the numbers must know: what could not be measured
and why, what was left out. `None` stands for a number that could not be measured; there is no NaN in an analysis.
Each kind is stored under its `type`, so that a report reads back as what it was.

Numbers are over attempts: where cases are repeated, every attempt counts. Their intervals know that attempts at one
case, or at cases of one cluster, are not independent.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from calipers.data.jsonable import plain, safe_repr
from calipers.data.redaction import masked
from calipers.errors import InvalidOutputError
from calipers.stats import CalibrationBin, Estimate, Interval, PrecisionRecallPoint, RocPoint

_T = TypeVar("_T")

Cell: TypeAlias = bool | int | float | str | None
"""What a table may hold."""


EvaluatorChange: TypeAlias = Literal["added", "replaced", "dropped", "judged_again"]
"""What happened to an evaluator when its run was scored again."""

_CHANGES: dict[EvaluatorChange, str] = {
    "added": "was added",
    "replaced": "was replaced",
    "dropped": "was dropped",
    "judged_again": "judged again",
}
_COUNTED: Any = msgspec.UNSET
"""Instead of a number: it follows from the others."""


class _Titled(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """What all analyses have."""

    title: str
    description: str | None = None
    """What it is about, for a reader who meets it for the first time."""
    note: str | None = None
    """What a reader must know: what was left out, and why a number is `None`."""
    outdated: dict[str, EvaluatorChange] = {}
    """Evaluators of the run that changed after the analysis was made, by name."""

    @property
    def type(self) -> str:
        """Which kind of analysis it is, as stored reports say it."""
        return str(self.__struct_config__.tag)

    @property
    def remarks(self) -> list[str]:
        """Description, note and later changes, as far as there are any, to be shown with it."""
        changes = "; ".join(
            f"made before evaluator {name} {_CHANGES[change]}" for name, change in self.outdated.items()
        )
        return [remark for remark in (self.description, self.note, changes) if remark]


class ConfusionMatrix(_Titled, kw_only=True, frozen=True, tag="confusion_matrix"):
    """How often each expected label was met with each predicted one.

    `ConfusionMatrix(title=..., class_labels=..., matrix=...)` counts `n` and the accuracy itself.
    """

    class_labels: list[str]
    """Every label expected or predicted, sorted."""
    matrix: list[list[int]]
    """`matrix[i][j]`: attempts where label i was expected and label j predicted."""
    unanswered: list[int] = _COUNTED
    """Attempts where label i was expected and none predicted: the task or the evaluator failed, or gave no label.
    Left out: there were none."""
    accuracy: float | None = _COUNTED
    """The share of attempts on the diagonal, the unanswered counting as wrong; `None` if nothing was predicted."""
    accuracy_interval: Interval | None = None
    n: int = _COUNTED
    """Attempts in the matrix or unanswered."""

    def __post_init__(self) -> None:
        size = len(self.class_labels)
        if self.unanswered is _COUNTED:
            msgspec.structs.force_setattr(self, "unanswered", [0] * size)
        if [len(self.unanswered), *map(len, self.matrix)] != [size] * (size + 1):
            raise InvalidOutputError(
                f"a confusion matrix of {size} labels needs {size} rows of {size} counts and {size} unanswered, got "
                f"rows of {[len(row) for row in self.matrix]} and {len(self.unanswered)} unanswered"
            )
        if self.n is _COUNTED:
            msgspec.structs.force_setattr(self, "n", sum(map(sum, self.matrix)) + sum(self.unanswered))
        if self.accuracy is _COUNTED:
            right = sum(self.matrix[label][label] for label in range(size))
            share = right / self.n if any(map(any, self.matrix)) else None
            msgspec.structs.force_setattr(self, "accuracy", share)


class PrecisionRecall(_Titled, kw_only=True, frozen=True, tag="precision_recall"):
    """Precision and recall at every threshold of a score."""

    points: list[PrecisionRecallPoint]
    """From the highest threshold down, recall rising; thinned out for display, both ends kept."""
    average_precision: float | None
    """Over all thresholds, thinned out or not; `None` if either class is missing."""
    n_positive: int
    n_negative: int


class RocCurve(_Titled, kw_only=True, frozen=True, tag="roc_curve"):
    """True against false positives at every threshold of a score."""

    points: list[RocPoint]
    """From (0, 0) to (1, 1); thinned out for display, both ends kept."""
    auc: float | None
    """The chance that a positive outscores a negative, over all thresholds; `None` if either class is missing."""
    n_positive: int
    n_negative: int


class CalibrationCurve(_Titled, kw_only=True, frozen=True, tag="calibration_curve"):
    """Predicted probabilities against what happened."""

    bins: list[CalibrationBin]
    """From 0 to 1, empty ones included."""
    brier: float | None
    """Mean squared distance of prediction and outcome, lower is better; `None` without predictions."""
    brier_interval: Interval | None = None
    ece: float | None
    """Expected calibration error over these bins; `None` without predictions."""
    n_positive: int
    n_negative: int


class ScalarResult(_Titled, kw_only=True, frozen=True, tag="scalar"):
    """One number about the whole report."""

    value: float | None
    """`None` if it could not be measured; the note says why."""
    unit: str | None = None
    interval: Interval | None = None


class JudgeCorrection(_Titled, kw_only=True, frozen=True, tag="judge_correction"):
    """What a judge says, and what people would say, by their labels of some cases."""

    judge: str
    """The name of the judge's column."""
    judged: Estimate
    """The judge alone: the rate of an assertion, or the mean of a score."""
    value: float | None
    """The judge's mean, corrected by the labels; `None` if they do not allow it, and the note says why."""
    interval: Interval | None = None
    """Where the mean may lie that people would give."""
    method: Literal["prediction-powered", "stratified", "labels alone", "rogan-gladen"] | None = None
    """How it was corrected; `stratified`: by labels drawn in strata; `labels alone`: it was not, and the value is the labels' own. `None` with the value."""
    people: Estimate | None = None
    """What people gave to the labelled cases; without an interval where these were not drawn at random. `None` without labels of
    cases of the run."""
    labels: int
    """Cases with a label of people."""
    agreement: float | None = None
    """The share of them on which judge and people say the same; `None` for scores, and without labels."""
    kappa: float | None = None
    """Cohen's kappa; `None` where it is not defined."""
    is_rate: bool
    """Whether the mean is a share of cases."""


class FaultEffect(msgspec.Struct, kw_only=True, frozen=True):
    """What a fault of tools does to an agent. Only attempts that it struck are counted, each with the clean attempt at its case."""

    fault: str
    attempts: int
    """Attempts at cases under this fault."""
    struck: int
    """Those in which it changed what the agent saw of a call."""
    cases: int
    """Cases with an attempt that was struck, and a clean one."""
    calls: int
    """Calls of tools that it could have struck, in all attempts."""
    strikes: int
    """Calls that it struck."""
    misses: int
    """Calls that were to be struck, and whose result it could not change."""
    success: Estimate | None
    """The pass rate of struck attempts; `None`: none was struck, or nothing asserts."""
    clean: Estimate | None
    """The pass rate of those clean attempts at the same cases that the fault would have struck, by the calls that they made."""
    difference: float | None
    """Success minus the clean pass rate, case by case, over the cases that have both; `None`: no case has both."""
    difference_interval: Interval | None
    recovery: Estimate | None
    """Of struck attempts whose clean attempt passed, the share that passes; `None`: there was no such attempt."""
    called_again: Estimate | None = None
    """The share of struck attempts in which every tool that was struck gave a good result later; in the others the agent ended without.
    `None`: it was not measured, as of a latency, after which the result itself comes."""
    harm: Estimate | None
    """The share of struck attempts in which harm was done; `None`: it was not measured."""


class FaultTolerance(_Titled, kw_only=True, frozen=True, tag="fault_tolerance"):
    """What an agent makes of tools that go wrong, fault by fault."""

    effects: list[FaultEffect]


class TableResult(_Titled, kw_only=True, frozen=True, tag="table"):
    """Rows of plain values about the whole report."""

    columns: list[str]
    rows: list[list[Cell]]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise InvalidOutputError(
                    f"row {number} of the table {self.title!r} has {len(row)} cells for "
                    f"{len(self.columns)} columns: use None for an empty cell"
                )


class PlotPoint(msgspec.Struct, kw_only=True, frozen=True):
    """One point of a line."""

    x: float
    y: float
    interval: Interval | None = None
    """Where the true y may lie; `None` when the data cannot tell."""
    n: int | None = None
    """What it was measured on; `None`: the line does not say."""


class PlotLine(msgspec.Struct, kw_only=True, frozen=True):
    """Points from left to right, with a name."""

    name: str
    points: list[PlotPoint]


class LinePlot(_Titled, kw_only=True, frozen=True, tag="line_plot"):
    """How a number goes with another, such as a score with the turn: one line or several, each with its band."""

    x_label: str
    y_label: str
    lines: list[PlotLine]
    stepped: bool = False
    """Whether y stays as it is until the next point, as in a survival curve, where lines would slope."""
    rates: bool = False
    """Whether y is a share from 0 to 1, to be shown in percent."""

    def __post_init__(self) -> None:
        for line in self.lines:
            places = [point.x for point in line.points]
            if any(a >= b for a, b in pairwise(places)):
                raise InvalidOutputError(
                    f"the points of the line {line.name!r} must go from left to right, got x = {places}"
                )
            if self.rates and not all(0 <= point.y <= 1 for point in line.points):
                raise InvalidOutputError(f"the line {line.name!r} of a plot of rates leaves [0, 1]")


class TreeNode(msgspec.Struct, kw_only=True, frozen=True):
    """One step in a tree of what was tried."""

    depth: int
    """From 1; a node follows the nearest one before it whose depth is smaller by one."""
    tone: Literal["good", "bad", "unknown"]
    label: str
    """What the step was, in a word or two."""
    outcome: str
    """What came of it, in a word or two."""
    text: str
    """What was done, or said, on a line."""
    answer: str = ""
    """What came back, on a line."""


class TreePlot(_Titled, kw_only=True, frozen=True, tag="tree_plot"):
    """What was tried, step by step, and what was tried instead."""

    nodes: list[TreeNode]
    """Each before those that follow it."""
    left_out: int = 0
    """Steps that there were beyond these."""

    def __post_init__(self) -> None:
        depths = [0, *(node.depth for node in self.nodes)]
        for number, (before, depth) in enumerate(pairwise(depths), 1):
            if not 1 <= depth <= before + 1:
                raise InvalidOutputError(
                    f"node {number} of the tree {self.title!r} has depth {depth} after {before}: it follows nothing"
                )


class Aggregate(_Titled, kw_only=True, frozen=True, tag="aggregate"):
    """What a rollout metric makes of all rollouts together, in its own words."""

    data: Any
    """Plain JSON data."""


Analysis: TypeAlias = (
    ConfusionMatrix
    | PrecisionRecall
    | RocCurve
    | CalibrationCurve
    | JudgeCorrection
    | FaultTolerance
    | ScalarResult
    | TableResult
    | LinePlot
    | TreePlot
    | Aggregate
)
"""Whatever a report evaluator may find."""

_KINDS: tuple[type[Any], ...] = get_args(Analysis)


def checked(found: Any, *, keep_secrets: bool = False) -> Analysis:
    """The analysis as it will be stored: plain values, numpy scalars included, no NaN and no secrets.

    A NaN or an infinity in the free-form data of an `Aggregate` becomes `None`, and its note says where.

    Raises:
        InvalidOutputError: this is no analysis, or a part of it has the wrong type or is not finite.
    """
    if type(found) not in _KINDS:
        raise InvalidOutputError(
            f"returned {safe_repr(found):.200}, which is no analysis: return one of "
            f"{', '.join(kind.__name__ for kind in _KINDS)} (from calipers.report.analysis), or a list of them"
        )
    lost: list[str] = []
    fields = _finite(found, "", lost)
    if lost and type(found) is not Aggregate:
        raise InvalidOutputError(
            f"{found.title!r} is not finite at {', '.join(lost)}: use None for what could not be measured"
        )
    stored = plain(fields) if keep_secrets else masked(plain(fields))
    if lost:
        where = f"None stands for a number that is not finite at {', '.join(lost)}"
        stored["note"] = where if found.note is None else f"{found.note}; {where}"
    try:
        valid: Analysis = msgspec.convert({**stored, "type": type(found).__struct_config__.tag}, Analysis)
    except msgspec.ValidationError as error:
        raise InvalidOutputError(f"{type(found).__name__} {found.title!r} is not valid: {error}") from error
    return valid


def _finite(value: Any, path: str, lost: list[str]) -> Any:
    """The value with `None` for every float that is not finite; `lost` collects where they were."""
    if isinstance(value, float) and not math.isfinite(value):
        lost.append(path or "data")
        return None
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {
            key: _finite(item, f"{path}.{key}" if path else str(key), lost) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_finite(item, f"{path}[{index}]", lost) for index, item in enumerate(value)]
    return value


def some(points: Sequence[_T], most: int) -> list[_T]:
    """Both ends of a line and points evenly between them."""
    if len(points) <= most:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (most - 1))] for i in range(most)]
