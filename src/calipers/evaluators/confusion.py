"""The confusion matrix of a report: expected labels against predicted ones.

Labels are compared as text: `True` is the label "True", 1 and 1.0 are "1", an enum is its value. `None` is a label of its
own, "(none)". Numbers sort before text.

An attempt without an expected label is left out. One that lost its prediction (the task failed, the evaluator failed, the
output is not a label) counts as unanswered, and as wrong: a crash never raises the accuracy.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from calipers.data.evaluator_output import read_scalar
from calipers.errors import InvalidOutputError
from calipers.report.analysis import ConfusionMatrix
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stats import rate

from .attempt_values import Missing, Place, Sample, Source, attempts, in_words


class _Pair(NamedTuple):
    """The expected and the predicted label of an attempt."""

    expected: str
    predicted: str | Missing


@dataclass(kw_only=True)
class ConfusionMatrixEvaluator(ReportEvaluator):
    """Counts expected labels against predicted ones.

    `ConfusionMatrixEvaluator()` compares outputs with expected outputs;
    `ConfusionMatrixEvaluator(predicted_from="labels", predicted_key="tone")` what an evaluator labelled.
    """

    predicted_from: Place = "output"
    """Where the predicted label is found."""
    predicted_key: str | None = None
    """Which part of it; `None` for all of it."""
    expected_from: Place = "expected_output"
    """Where the expected label is found."""
    expected_key: str | None = None
    """Which part of it; `None` for all of it."""
    title: str = "Confusion matrix"
    """What the analysis is called."""

    def __post_init__(self) -> None:
        self._sources()

    def evaluate(self, ctx: ReportEvaluatorContext) -> ConfusionMatrix:
        """The matrix, with its accuracy."""
        predicted, expected = self._sources()
        sample: Sample[_Pair] = Sample()
        for record, truth, answer in zip(
            attempts(ctx.report), expected.read_all(ctx.report), predicted.read_all(ctx.report), strict=True
        ):
            wanted, given = _label(truth, expected), _label(answer, predicted)
            if isinstance(wanted, Missing):
                sample.add(record, wanted)
            elif isinstance(given, Missing) and not given.lost:
                sample.add(record, given)
            else:
                sample.add(record, _Pair(wanted, given))
        return self._matrix(sample)

    def _sources(self) -> tuple[Source, Source]:
        return (
            Source("predicted", self.predicted_from, self.predicted_key),
            Source("expected", self.expected_from, self.expected_key),
        )

    def _matrix(self, sample: Sample[_Pair]) -> ConfusionMatrix:
        pairs = sample.values
        met = {pair.expected for pair in pairs} | {p.predicted for p in pairs if isinstance(p.predicted, str)}
        labels = sorted(met, key=_order)
        counts = Counter(pairs)
        lost = [(p.expected, p.predicted) for p in pairs if isinstance(p.predicted, Missing)]
        unanswered = Counter(expected for expected, _ in lost)
        why = in_words(Counter(missing.reason for _, missing in lost))
        right: list[tuple[float, int]] = [(pair.expected == pair.predicted, 1) for pair in pairs]
        accuracy = rate(right, clusters=sample.groups) if len(lost) < len(pairs) else None
        return ConfusionMatrix(
            title=self.title,
            note=sample.note(
                f"{len(lost)} of {len(pairs)} attempts gave no prediction: {why}" if lost else None
            ),
            class_labels=labels,
            matrix=[[counts[_Pair(wanted, given)] for given in labels] for wanted in labels],
            unanswered=[unanswered[label] for label in labels],
            accuracy=accuracy.value if accuracy else None,
            accuracy_interval=accuracy.interval if accuracy else None,
            n=len(pairs),
        )


def _label(value: Any, source: Source) -> str | Missing:
    """The value as a label."""
    if isinstance(value, Missing):
        return value
    if value is None:
        return "(none)"
    try:
        label = read_scalar(value)
    except InvalidOutputError:
        return Missing(f"whose {source.words} is of type {type(value).__name__}, not a label", lost=True)
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _order(label: str) -> tuple[bool, float, str]:
    """Numbers by size, before text by its letters."""
    is_number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", label) is not None
    return (not is_number, float(label) if is_number else 0.0, label)
