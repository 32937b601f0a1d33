"""Assertions about reports, for tests: `assert_passed`, `assert_rate`, `assert_mean`.

Each raises an `AssertionError` that shows the numbers with their interval and the attempts behind them: inputs, expected and
actual output, and the reasons of the evaluators. Nothing vacuous passes: a report without attempts, an attempt without an
assertion and a run that ended early fail all of them.
"""

from typing import Literal, TypeVar, overload

from calipers.comparison.case_pairs import cases_of
from calipers.comparison.columns import Columns, passes
from calipers.data.argument_checks import check_number, check_share, check_whole_number, did_you_mean
from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import Kind
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats import Estimate, rate
from calipers.stats.number_text import METHODS, confidence_text, mean_text, number, percent, plural, rate_text
from calipers.testing.failure_text import attempts_lines
from calipers.views.outcome import Record, silences
from calipers.views.text import fit

ReportT = TypeVar("ReportT", bound=Report)
_NAME = 100
"""Cells of a name."""
_SILENT = 10
"""Evaluators without a result that are named."""
_KINDS: dict[Kind, str] = {
    "assertion": "an assertion, which has a rate: use assert_rate",
    "score": "a score, which has a mean: use assert_mean",
    "label": "a label, which has neither a rate nor a mean: add an evaluator that returns True or False",
}
"""What a result is that was taken for one of another kind."""


@overload
def assert_passed(outcome: ReportT, *, min_pass: int | None = None) -> ReportT: ...
@overload
def assert_passed(
    outcome: ReportCase[InputsT, OutputT, MetadataT] | ReportCaseFailure[InputsT, OutputT, MetadataT],
    *,
    min_pass: int | None = None,
) -> ReportCase[InputsT, OutputT, MetadataT]: ...
def assert_passed(
    outcome: Report | ReportCase | ReportCaseFailure, *, min_pass: int | None = None
) -> Report | ReportCase | ReportCaseFailure:
    """Every attempt passed: its task finished, its evaluators finished, and all that was asserted held.

    Args:
        outcome: a report, or one attempt of it.
        min_pass: how many attempts at each case must pass, for reports with repeats; default: all.

    Returns:
        The same. An attempt that passed has an output: `assert_passed(evaluate_case(agent)).output`.
    """
    __tracebackhide__ = True
    if isinstance(outcome, Report):
        _check_complete(outcome)
        if outcome.totals is not None:
            _check_totals(outcome, min_pass)
            return outcome
        records = _records(outcome)
    elif isinstance(outcome, ReportCase | ReportCaseFailure):
        records = [outcome]
    else:
        raise InvalidOptionError(f"assert_passed takes a Report or one of its attempts, got {outcome!r:.200}")
    text = missing_passes(records, min_pass=min_pass)
    if text is not None:
        raise AssertionError(text)
    return outcome


def _check_totals(report: Report, min_pass: int | None) -> None:
    """`assert_passed` for a report that keeps only attempts that did not pass."""
    __tracebackhide__ = True
    if min_pass is not None:
        raise InvalidOptionError("min_pass needs every attempt: run with keep='all'")
    counts = report.counts()
    faulty = report.under_faults()
    passed = counts.passed + (0 if faulty is None else faulty.passed)
    if not 0 < passed == counts.attempts:
        problem = f"{passed:,} of {plural(counts.attempts, 'attempt')} passed"
        raise AssertionError("\n".join([problem, *attempts_lines(_records(report)), *_silent(report)]))


def missing_passes(
    records: list[Record], *, min_pass: int | None = None, shown: set[str] | None = None
) -> str | None:
    """Why too few attempts at some case passed; `None` if enough did. Tracebacks in `shown` are not shown again."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        by_case.setdefault(record.source_case_name or record.name, []).append(record)
    if not by_case:
        return "no attempt was made: nothing can have passed"
    repeat = max(map(len, by_case.values()))
    check_whole_number("min_pass", min_pass, at_least=1, at_most=repeat, or_none=True)
    short: dict[str, list[Record]] = {}
    for case, attempts in by_case.items():
        missed = [record for record in attempts if record.passed is not True]
        if len(attempts) - len(missed) < (len(attempts) if min_pass is None else min_pass):
            short[case] = missed
    if not short:
        return None
    missing = [record for missed in short.values() for record in missed]
    lines = attempts_lines(missing, shown=shown)
    if len(by_case) > 1:
        asked = "" if min_pass is None else f" {min_pass} of {repeat} attempts"
        lines = [f"{len(short):,} of {plural(len(by_case), 'case')} did not pass{asked}:", *lines]
    elif repeat > 1:
        need = repeat if min_pass is None else min_pass
        (case,) = by_case
        passed = f"{repeat - len(missing):,} of {repeat:,} attempts passed"
        lines = [f"{fit(case, _NAME)}: {passed}, and {need:,} should have:", *lines]
    if all(record.passed is None for record in missing):
        skipped = any(isinstance(record, ReportCase) and record.skipped for record in missing)
        lines.append(
            "An attempt passes by what is asserted of it, and the evaluators above were skipped, for the reasons given."
            if skipped
            else "An attempt passes by what is asserted of it: add an evaluator that returns True or False."
        )
    return "\n".join(lines)


def assert_rate(
    report: Report,
    evaluator: str | None = None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    whole_interval: bool = False,
    confidence: float = 0.95,
) -> None:
    """The share of cases that passed is within bounds.

    A crash helps with neither bound: where the task or the evaluator failed, `at_least` counts it as not passed, and `at_most`
    as passed.

    Args:
        report: of a run.
        evaluator: judge by the assertion of this name; default: by the whole attempt.
        at_least: the lowest rate allowed, from 0 to 1.
        at_most: the highest rate allowed, from 0 to 1: for what should be rare.
        whole_interval: whether the whole interval must be within the bounds, not only the measured rate.
        confidence: of the interval.
    """
    __tracebackhide__ = True
    bounds = _Bounds("rate", at_least, at_most, whole_interval)
    _check_complete(report)
    if evaluator is None:
        what, estimate = "pass rate", report.pass_rate(None, confidence=confidence)
    else:
        what, estimate = evaluator, _column(report, evaluator, "assertion", confidence).estimate
    if estimate is None:
        nothing = f"{fit(what, _NAME)}: there is no rate, because nothing was asserted"
        raise AssertionError("\n".join([nothing, *_silent(report, evaluator)]))
    problem = bounds.problem(estimate)
    if problem is not None:
        missed = [record for record in _records(report) if _missed(record, evaluator)]
        raise AssertionError(_message(what, problem, missed if at_least is not None else []))
    if at_most is not None:
        problem = _lost_problem(report, evaluator, _Bounds("rate", None, at_most, whole_interval), confidence)
        if problem is not None:
            raise AssertionError(_message(what, problem, []))


def assert_mean(
    report: Report,
    evaluator: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    whole_interval: bool = False,
    confidence: float = 0.95,
) -> None:
    """The mean of a score over the cases is within bounds.

    A failed task or evaluator has no score, so none may have failed: the mean would be about the others alone.

    Args:
        report: of a run.
        evaluator: the name of the score.
        at_least: the lowest mean allowed.
        at_most: the highest mean allowed.
        whole_interval: whether the whole interval must be within the bounds, not only the measured mean.
        confidence: of the interval.
    """
    __tracebackhide__ = True
    bounds = _Bounds("mean", at_least, at_most, whole_interval)
    _check_complete(report)
    summary = _column(report, evaluator, "score", confidence)
    lost = summary.failures + summary.task_failures
    if lost:
        missed = [record for record in _records(report) if record.passed is False]
        hidden = f"{plural(lost, 'attempt')} got no score, and a mean of the others would hide that"
        raise AssertionError(_message(evaluator, hidden, missed))
    if summary.estimate is None:
        raise AssertionError(f"{fit(evaluator, _NAME)}: there is no mean of these scores")
    problem = bounds.problem(summary.estimate)
    if problem is not None:
        raise AssertionError(_message(evaluator, problem, []))


def _lost_problem(report: Report, evaluator: str | None, bounds: "_Bounds", confidence: float) -> str | None:
    """How the rate breaks a bound from above where attempts that did not finish count as passed; `None` if it keeps to it."""
    report = report.without_faults()
    if evaluator is None:
        counts = report.counts()
        lost = sum(counts.failed_tasks.values()) + sum(counts.failed_evaluators.values())
    else:
        summary = _column(report, evaluator, "assertion", confidence)
        lost = summary.failures + summary.task_failures
    if not lost:
        return None
    if report.totals is not None and report.totals.counts.attempts != len(_records(report)):
        return f"{plural(lost, 'failure')} may hide what should be rare, and the report does not keep every attempt: run with keep='all'"
    columns = Columns(cases_of(report))
    values = [
        (case, passes(case, lost=1.0))
        if evaluator is None
        else (case, columns.scores(case, (evaluator, "assertion"), lost=1.0))
        for case in columns.cases
    ]
    judged = [(case, found) for case, found in values if found]
    names = [case.cluster for case, _ in judged]
    strict = rate(
        [(sum(found), len(found)) for _, found in judged],
        clusters=[place if name is None else name for place, name in enumerate(names)]
        if any(names)
        else None,
        confidence=confidence,
    )
    assert strict is not None
    problem = bounds.problem(strict)
    return None if problem is None else f"with what did not finish counted against it, {problem}"


def _column(report: Report, name: str, kind: Kind, confidence: float) -> Summary:
    """The summary of the results of one name and kind."""
    __tracebackhide__ = True
    columns = list(report.summaries(confidence=confidence).values())
    for column in columns:
        if (column.name, column.kind) == (name, kind):
            return column
    for column in columns:
        if column.name == name:
            raise InvalidOptionError(f"{name!r} is {_KINDS[column.kind]}")
    names = [column.name for column in columns if column.kind == kind]
    there = f"; there are {', '.join(map(repr, names))}" if names else f"; the report has no {kind}"
    raise InvalidOptionError(f"no {kind} is called {name!r}{did_you_mean(name, names) or there}")


class _Bounds:
    """What an estimate must keep to, and the sentence about one that does not."""

    def __init__(
        self, kind: Literal["rate", "mean"], low: float | None, high: float | None, whole_interval: bool
    ) -> None:
        if low is None and high is None:
            raise InvalidOptionError("give at_least= or at_most=: without a bound everything would pass")
        for name, bound in (("at_least", low), ("at_most", high)):
            if kind == "rate":
                check_share(name, bound, or_none=True)
            else:
                check_number(name, bound, or_none=True)
        self.kind = kind
        self.low = low
        self.high = high
        self.whole_interval = whole_interval

    def problem(self, estimate: Estimate) -> str | None:
        """How the estimate breaks a bound, with its interval; `None` if it keeps to both."""
        value, interval = estimate.value, estimate.interval
        lowest, highest = value, value
        if self.whole_interval:
            if interval is None:
                return f"{self._shown(estimate)}, which has no interval: too few cases to tell"
            lowest, highest = interval.low, interval.high
        if self.low is not None and not lowest >= self.low:
            bound, asked, kept = self.low, "at least", value >= self.low
        elif self.high is not None and not highest <= self.high:
            bound, asked, kept = self.high, "at most", value <= self.high
        else:
            return None
        whole = "the whole interval" if self.whole_interval else "it"
        sentence = f"{self._shown(estimate)}; {whole} should be {asked} {self._number(bound)}"
        if kept:
            return f"{sentence} (as the {self.kind} itself is: more cases would narrow the interval)"
        if interval is not None and interval.low <= bound <= interval.high:
            return f"{sentence}, which the interval includes: more cases would tell"
        return sentence

    def _number(self, value: float) -> str:
        return percent(value) if self.kind == "rate" else number(value)

    def _shown(self, estimate: Estimate) -> str:
        write = rate_text if self.kind == "rate" else mean_text
        value, ends = write(estimate.value, estimate.interval)
        over = plural(estimate.n_units, "case")
        if estimate.n_observations != estimate.n_units:
            over = f"{plural(estimate.n_observations, 'attempt')} at {over}"
        if estimate.interval is None:
            return f"{value} over {over}"
        how = f"{confidence_text(estimate.interval.confidence)} {METHODS[estimate.interval.method]}"
        return f"{value} {ends} over {over} ({how} interval)"


def _check_complete(report: Report) -> None:
    __tracebackhide__ = True
    if not isinstance(report, Report):
        raise InvalidOptionError(f"this takes a Report, got {report!r:.200}")
    if report.incomplete is not None:
        raise AssertionError(f"the run is incomplete: {fit(str(report.incomplete), 3 * _NAME)}")


def _silent(report: Report, evaluator: str | None = None) -> list[str]:
    """The evaluators that were skipped throughout, and why; or one of them."""
    found = [(name, why) for name, why in silences(report) if evaluator in {None, name}]
    lines = [f"  {fit(name, _NAME)}: {fit(why, 6 * _NAME)}" for name, why in found[:_SILENT]]
    return lines + ([f"  … and {len(found) - _SILENT:,} more"] if len(found) > _SILENT else [])


def _records(report: Report) -> list[Record]:
    return [*report.cases, *report.failures]


def _missed(record: Record, assertion: str | None) -> bool:
    """Whether an attempt lowers the rate of the assertion, or of attempts that passed."""
    if assertion is None or isinstance(record, ReportCaseFailure):
        return record.passed is False
    held = record.assertions.get(assertion)
    return held.value is False if held else bool(record.evaluator_failures)


def _message(what: str, problem: str, records: list[Record]) -> str:
    lines = [f"{fit(what, _NAME)}: {problem}"]
    if records:
        lines += [f"{plural(len(records), 'attempt')} did not pass:", *attempts_lines(records)]
    return "\n".join(lines)
