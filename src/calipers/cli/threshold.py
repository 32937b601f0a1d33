"""How good is good enough: `--fail-under 0.9` for the pass rate, `--fail-under NAME=0.9` for one evaluator.

The estimate is compared, not an end of its interval: a rate of an assertion, a mean of a score. What was not measured
does not meet a threshold.
"""

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Estimate


class Threshold(NamedTuple):
    """The least that will do."""

    evaluator: str | None
    """The column of the report; `None` for the pass rate."""
    minimum: float


class Finding(NamedTuple):
    """A threshold, and what a report has to say to it."""

    threshold: Threshold
    estimate: Estimate | None
    """`None` if it was not measured."""

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        if self.estimate is None:
            return False
        value, minimum = self.estimate.value, self.threshold.minimum
        return value >= minimum or math.isclose(value, minimum, rel_tol=1e-12)

    def __str__(self) -> str:
        evaluator, minimum = self.threshold
        what = "the pass rate" if evaluator is None else evaluator
        if self.estimate is None:
            return f"{what} should be at least {minimum:g} and was not measured"
        return f"{what} is {self.estimate.value:.6g}, which is {'not ' if self.met else ''}below {minimum:g}"


def parse_threshold(text: str) -> Threshold:
    """`0.9`, `90%`, or either of them after `NAME=`.

    Raises:
        InvalidOptionError: the text is none of these, or a pass rate that cannot be.
    """
    name, equals, number = text.rpartition("=")
    try:
        minimum = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        minimum = math.nan
    if not math.isfinite(minimum) or (equals and not name):
        raise InvalidOptionError(f"--fail-under must be a number or NAME=number, got {text!r}")
    if not equals and not 0 <= minimum <= 1:
        raise InvalidOptionError(
            f"--fail-under {text}: a pass rate is from 0 to 1; write 0.9 or 90%, or NAME=number for a score"
        )
    return Threshold(name if equals else None, minimum)


def compare(thresholds: Sequence[Threshold], report: Report) -> list[Finding]:
    """What a report says to the thresholds that concern it.

    Raises:
        InvalidOptionError: an evaluator gives labels, of which there is no mean.
    """
    summaries = report.summaries()
    found: list[Finding] = []
    for threshold in thresholds:
        if threshold.evaluator is None:
            found.append(Finding(threshold, report.pass_rate(None)))
        elif (summary := summaries.get(threshold.evaluator)) is not None:
            if summary.kind == "label":
                raise InvalidOptionError(
                    f"--fail-under {threshold.evaluator}=...: it gives labels, which have no rate to compare"
                )
            found.append(Finding(threshold, summary.estimate))
    return found


def unknown(thresholds: Sequence[Threshold], reports: Sequence[Report]) -> list[str]:
    """For each threshold whose evaluator no report knows, a message with the names there are."""
    names = list(dict.fromkeys(name for report in reports for name in report.summaries()))
    messages: list[str] = []
    for evaluator, minimum in thresholds:
        if evaluator is not None and evaluator not in names:
            near = get_close_matches(evaluator, names, n=1)
            there = f"there are {', '.join(map(repr, names))}" if names else "there are no results"
            hint = f"did you mean {near[0]!r}? T{there[1:]}." if near else there
            messages.append(f"--fail-under {evaluator}={minimum:g}: no evaluator is called so; {hint}")
    return messages
