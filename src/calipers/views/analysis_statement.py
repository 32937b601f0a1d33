"""What an analysis says, as data: its facts, and the rows of its table. The terminal and the HTML view draw it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from calipers.data.argument_checks import is_number
from calipers.report.analysis import (
    CalibrationCurve,
    ConfusionMatrix,
    FaultTolerance,
    JudgeCorrection,
    LinePlot,
    PlotPoint,
    PrecisionRecall,
    RocCurve,
    TableResult,
    some,
)
from calipers.stats import Estimate, Interval
from calipers.stats.number_text import mean_text, number, percent, plural, rate_text

_NOT_MEASURED = "not measured"

Curve: TypeAlias = PrecisionRecall | RocCurve | CalibrationCurve


class Rows(NamedTuple):
    """A table of texts."""

    heads: list[str]
    rows: list[list[str]]


def measured_text(value: float | None, interval: Interval | None = None, unit: str = "") -> str:
    """A number with its interval: `0.82  [0.71, 0.93]`."""
    if value is None:
        return _NOT_MEASURED
    text, ends = mean_text(value, interval)
    return f"{text}{unit}  {ends}".rstrip()


# ---------------------------------------------------------------------- curves


def curve_numbers(analysis: Curve) -> list[str]:
    """What a curve comes to: `AUC 0.91`."""
    match analysis:
        case PrecisionRecall():
            return [f"average precision {measured_text(analysis.average_precision)}"]
        case RocCurve():
            return [f"AUC {measured_text(analysis.auc)}"]
        case CalibrationCurve():
            brier = measured_text(analysis.brier, analysis.brier_interval)
            return [f"Brier score {brier}", f"calibration error {measured_text(analysis.ece)}"]


def curve_facts(analysis: Curve) -> list[str]:
    """What a curve comes to, and over how much."""
    counts = [f"{analysis.n_positive:,} positive", f"{analysis.n_negative:,} negative"]
    return [*curve_numbers(analysis), *counts]


def curve_rows(analysis: Curve, most: int) -> Rows:
    """At most so many points of a curve; all bins of a calibration that hold something."""
    match analysis:
        case PrecisionRecall():
            return Rows(
                ["threshold", "precision", "recall"],
                [
                    [number(point.threshold), percent(point.precision), percent(point.recall)]
                    for point in some(analysis.points, most)
                ],
            )
        case RocCurve():
            return Rows(
                ["threshold", "false pos.", "true pos."],
                [
                    [
                        "above all" if point.threshold is None else number(point.threshold),
                        percent(point.false_positive_rate),
                        percent(point.true_positive_rate),
                    ]
                    for point in some(analysis.points, most)
                ],
            )
        case CalibrationCurve():
            rows = [
                [
                    f"{number(100 * found.low)} - {number(100 * found.high)} %",
                    percent(found.mean_predicted),
                    *rate_text(found.observed_rate, found.interval),
                    f"{found.n:,}",
                ]
                for found in analysis.bins
                if found.mean_predicted is not None and found.observed_rate is not None
            ]
            return Rows(["bin", "predicted", "observed", "interval", "n"], rows)


# ---------------------------------------------------------------------- matrices and tables


def accuracy_facts(analysis: ConfusionMatrix) -> list[str]:
    """The accuracy and the number behind it; nothing if it was not measured."""
    if analysis.accuracy is None:
        return []
    value, ends = rate_text(analysis.accuracy, analysis.accuracy_interval)
    return [f"accuracy {value}  {ends}".rstrip(), f"n = {analysis.n:,}"]


def mistakes(analysis: ConfusionMatrix) -> tuple[str, Rows]:
    """How many kinds of mistake there are, and the pairs of labels that were mistaken, the most frequent first."""
    labels = analysis.class_labels
    wrong = [
        (count, labels[i], labels[j])
        for i, row in enumerate(analysis.matrix)
        for j, count in enumerate(row)
        if count and i != j
    ]
    wrong += [(count, labels[i], "(unanswered)") for i, count in enumerate(analysis.unanswered) if count]
    wrong.sort(key=lambda found: -found[0])
    rows = [[f"{count:,}", expected, got] for count, expected, got in wrong]
    lead = f"{plural(len(labels), 'label')}, {plural(len(wrong), 'kind')} of mistake"
    return lead, Rows(["mistaken", "expected", "predicted"], rows)


def correction_rows(analysis: JudgeCorrection) -> list[tuple[str, str, str, str]]:
    """For each source: its value, its interval and what it rests on."""
    text = rate_text if analysis.is_rate else mean_text
    judged, labels = analysis.judged, plural(analysis.labels, "label")
    rows = [("judge", *text(judged.value, judged.interval), plural(judged.n_units, "case"))]
    if analysis.value is None:
        rows.append(("corrected", _NOT_MEASURED, "", labels))
    else:
        own = analysis.method == "labels alone"
        on = labels if own else f"{plural(judged.n_units, 'case')} and {labels}"
        rows.append(("labels alone" if own else "corrected", *text(analysis.value, analysis.interval), on))
    if analysis.people is not None and analysis.method != "labels alone":
        people = analysis.people
        rows.append(("people", *text(people.value, people.interval), labels))
    if analysis.agreement is not None:
        kappa = "" if analysis.kappa is None else f", kappa {analysis.kappa:.2f}"
        rows.append(("agreement", percent(analysis.agreement), "", f"{labels}{kappa}"))
    return rows


FAULT_HEADS = ("fault", "struck", "success %", "change", "recovery %", "called again %", "harm %")


def fault_rows(analysis: FaultTolerance) -> list[tuple[str, ...]]:
    """For each fault: the attempts that it struck, and what became of them, each number with its interval."""
    rows: list[tuple[str, ...]] = []
    for effect in analysis.effects:
        change = "" if effect.struck == 0 else _NOT_MEASURED
        if effect.difference is not None:
            change = _points(effect.difference, effect.difference_interval)
        rates = (effect.success, effect.recovery, effect.called_again, effect.harm)
        success, recovery, again, harm = (_rate_cell(each, is_struck=effect.struck > 0) for each in rates)
        struck = f"{effect.struck:,} of {effect.attempts:,}"
        rows.append((effect.fault, struck, success, change, recovery, again, harm))
    return rows


def _rate_cell(found: Estimate | None, *, is_struck: bool) -> str:
    if found is None:
        return _NOT_MEASURED if is_struck else ""
    ends = (
        ""
        if found.interval is None
        else f" [{100 * found.interval.low:.0f}, {100 * found.interval.high:.0f}]"
    )
    return f"{100 * found.value:.0f}{ends}"


def _points(value: float, interval: Interval | None) -> str:
    ends = "" if interval is None else f" [{100 * interval.low:+.0f}, {100 * interval.high:+.0f}]"
    return f"{100 * value:+.0f}{ends}"


def numeric_columns(analysis: TableResult) -> list[bool]:
    """Of each column of a table, whether it holds numbers and nothing else."""
    return [
        bool(analysis.rows) and all(is_number(row[i]) or row[i] is None for row in analysis.rows)
        for i in range(len(analysis.columns))
    ]


def cell_text(cell: Any) -> str:
    """A cell of a table; text of others is as it is."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return number(cell) if is_number(cell) else str(cell)


def aggregate_rows(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What a rollout metric says of all rollouts, a row per entry; an object of plain values gives a row for each of them."""
    rows: list[tuple[str, Any]] = []
    for key, value in data.items():
        if isinstance(value, Mapping) and not any(isinstance(v, Mapping | list) for v in value.values()):
            rows += [(f"{key}.{name}", inner) for name, inner in value.items()] or [(key, value)]
        else:
            rows.append((str(key), value))
    return rows


# ---------------------------------------------------------------------- lines


def point_cells(analysis: LinePlot, point: PlotPoint) -> tuple[str, str, str, str]:
    """A point of a line: x, y, the interval of y, and the number behind it."""
    value, ends = (rate_text if analysis.rates else mean_text)(point.y, point.interval)
    return number(point.x), value, ends, "" if point.n is None else f"{point.n:,}"


def span(analysis: LinePlot) -> tuple[float, float]:
    """The lowest and the highest y to show; 0 and 1 for rates."""
    if analysis.rates:
        return 0.0, 1.0
    points = [point for line in analysis.lines for point in line.points]
    shown = [point.y for point in points]
    for point in points:
        if point.interval is not None:
            shown += [point.interval.low, point.interval.high]
    return min(shown, default=0.0), max(shown, default=1.0)
