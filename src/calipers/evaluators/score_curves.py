"""A score of each attempt beside the truth about it: what precision-recall, ROC and calibration start from.

The truth is yes or no. A bool says so itself. Of any other value, `positive_label` names the one that means yes, and all
others mean no: the text "negative" is never taken for a yes because it is not empty. A truth of `None` is unknown, and
the attempt is left out; so is one without a score, whatever the reason: inventing a zero would be a guess. A truth that is
neither yes nor no leaves the attempt out, too; where no attempt has one that is, the evaluator asks how to read it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from calipers.data.evaluator_output import read_scalar
from calipers.data.result import Scalar
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluator

from calipers.evaluators.sample import Sample
from calipers.evaluators.value_text import show
from calipers.evaluators.attempt_values import Missing, Place, Source, attempts

PointT = TypeVar("PointT")


class Scored(NamedTuple):
    """One attempt's score, and the truth about it."""

    score: float
    positive: bool
    truth: Scalar
    """The value that was read as positive or negative."""


@dataclass
class ScoredReportEvaluator(ReportEvaluator):
    """Base of the report evaluators that hold a score against the truth."""

    score_key: str | None = None
    """Which score; may be left out only where `score_from` is a single value, such as the output."""
    score_from: Place = field(default="scores", kw_only=True)
    """Where the score is found."""
    positive_from: Place = field(default="expected_output", kw_only=True)
    """Where the truth is found."""
    positive_key: str | None = field(default=None, kw_only=True)
    """Which part of it; `None` for all of it."""
    positive_label: Scalar | None = field(default=None, kw_only=True)
    """The value that counts as positive; `None` if the truth is True or False."""

    def __post_init__(self) -> None:
        self._sources()

    def sample(self, report: Report) -> Sample[Scored]:
        """The scored attempts of the report.

        Raises:
            InvalidOptionError: no truth is True or False, some are something else, and no `positive_label` was given.
        """
        score, truth = self._sources()
        sample: Sample[Scored] = Sample()
        unread: list[InvalidOptionError] = []
        known = 0
        for record, value, wanted in zip(
            attempts(report), score.read_all(report), truth.read_all(report), strict=True
        ):
            fact: Scalar | Missing
            try:
                fact = self._truth(wanted, truth, record.name)
                known += not isinstance(fact, Missing)
            except InvalidOptionError as error:
                unread.append(error)
                fact = Missing(f"whose {truth.words} is neither yes nor no")
            number = _number(value, score)
            if isinstance(fact, Missing):
                sample.add(record, fact)
            elif isinstance(number, Missing):
                sample.add(record, number)
            else:
                sample.add(record, Scored(number, self._is_positive(fact), fact))
        if unread and not known:
            raise unread[0]
        return sample

    def missing_class(self, sample: Sample[Scored]) -> str | None:
        """A remark on a sample without positives or without negatives; `None` if both are there."""
        if len({scored.positive for scored in sample.values}) != 1:
            return None
        only = "negative" if sample.values[0].positive else "positive"
        seen = ", ".join(sorted({repr(scored.truth) for scored in sample.values})[:5])
        return f"no attempt is {only}; the values of the {self._sources()[1].words} are: {seen}"

    def _sources(self) -> tuple[Source, Source]:
        return (
            Source("score", self.score_from, self.score_key),
            Source("positive", self.positive_from, self.positive_key),
        )

    def _truth(self, value: Any, source: Source, name: str) -> Scalar | Missing:
        if isinstance(value, Missing):
            return value
        if value is None:
            return Missing(f"whose {source.words} is None")
        try:
            fact = read_scalar(value)
        except InvalidOutputError:
            raise InvalidOptionError(
                f"the {source.words} of {name!r} is {show(value)}, which is not a single value: name the part to look "
                "at with positive_key"
            ) from None
        if self.positive_label is None and not isinstance(fact, bool):
            raise InvalidOptionError(
                f"the {source.words} of {name!r} is {show(value)}, which is neither True nor False: name the value that "
                "counts as positive with positive_label"
            )
        return fact

    def _is_positive(self, fact: Scalar) -> bool:
        wanted = True if self.positive_label is None else read_scalar(self.positive_label)
        return fact == wanted and isinstance(fact, bool) == isinstance(wanted, bool)


def _number(value: Any, source: Source) -> float | Missing:
    """The value as a finite number."""
    if isinstance(value, Missing):
        return value
    try:
        number = read_scalar(value)
    except InvalidOutputError:
        return Missing(f"whose {source.words} is not a finite number")
    if isinstance(number, bool | str):
        return Missing(f"whose {source.words} is of type {type(value).__name__}, not a number")
    return float(number)


def thinned(points: Sequence[PointT], n_points: int) -> list[PointT]:
    """At most that many of the points, evenly spaced, both ends kept."""
    if len(points) <= n_points:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (n_points - 1))] for i in range(n_points)]
