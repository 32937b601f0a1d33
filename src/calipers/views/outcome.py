"""What came of one attempt, for the views that list attempts: its outcome, and who found fault with what.

An attempt has one outcome. An *error* is a task or an evaluator that did not finish, even where another evaluator
judged: something is broken, and the judgement is not whole. *Failed* says that everything finished and some assertion
did not hold, *skipped* that nothing was asserted.

The texts are as the report has them. Each view makes them safe in its own way.
"""

from typing import Any, Literal, TypeAlias, assert_never

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult
from calipers.report.report import Report
from calipers.stats.number_text import number, plural

from .calls import ExpectedCalls

LISTED = 20
"""Lines of a reason that is a list, such as the edit script of an agent's calls."""

Record: TypeAlias = ReportCase | ReportCaseFailure
Outcome: TypeAlias = Literal["passed", "failed", "error", "skipped"]


def outcome_of(record: Record) -> Outcome:
    """What came of an attempt, in one word."""
    if isinstance(record, ReportCaseFailure) or record.evaluator_failures:
        return "error"
    match record.passed:
        case True:
            return "passed"
        case False:
            return "failed"
        case None:
            return "skipped"
        case _:
            assert_never(record.passed)


def missed(report: Report) -> list[Record]:
    """The attempts that did not pass, as far as the report keeps them: failed tasks, then those that were judged so."""
    return [*report.failures, *(case for case in report.cases if case.passed is False)]


def count_missed(report: Report) -> int:
    """How many attempts did not pass, kept or not."""
    counts, rate = report.counts(), report.pass_rate(None)
    return sum(counts.failed_tasks.values()) if rate is None else rate.n_observations - counts.passed


def count_dropped(report: Report) -> int:
    """How many attempts the run made that the report does not keep."""
    return report.counts().attempts - len(report.cases) - len(report.failures)


def complaints(record: Record) -> list[tuple[str, str]]:
    """Who found fault, and why; the name is empty where the task itself failed at once."""
    if isinstance(record, ReportCaseFailure):
        tries = f"after {plural(record.tries, 'try', 'tries')}" if record.tries > 1 else ""
        return [(tries, record.error_message)]
    found = [(result.name, why(result)) for result in record.results if result.value is False]
    found += [(f"{each.name} (evaluator failed)", each.error_message) for each in record.evaluator_failures]
    return found


def why(result: EvaluationResult) -> str:
    """Why an assertion failed: its reason, or else the grade behind it, or else just that it failed."""
    if result.reason:
        return result.reason
    return "did not hold" if result.score is None else f"score {number(result.score)}"


def reason_lines(reason: str) -> tuple[list[str], int]:
    """The lines of a reason, and how many more there are than a view shows. Most reasons are one line."""
    lines = reason.strip("\n").split("\n")
    return (lines, 0) if len(lines) <= LISTED else (lines[: LISTED - 1], len(lines) - LISTED + 1)


def values(record: Record) -> list[tuple[str, Any]]:
    """What was tried, what was expected if anything was, and what came."""
    found = [("inputs", record.inputs)]
    if record.has_expected_output or record.expected_output is not None:
        found.append(("expected", record.expected_output))
    if record.expected_tool_calls is not None:
        found.append(("expected calls", ExpectedCalls(record.expected_tool_calls)))
    if isinstance(record, ReportCase):
        found.append(("got", record.output))
    return found


def silences(report: Report) -> list[tuple[str, str]]:
    """The evaluators that gave no result at all because they were skipped, and why: `skipped in all 7 attempts: ...`."""
    counts = report.counts()
    found: list[tuple[str, str]] = []
    for name, silence in counts.silent_evaluators.items():
        number = silence.attempts
        if silence.failed:
            where = f"{plural(number, 'attempt')}, and lost to a failure in {silence.failed:,} more"
        else:
            where = "the only attempt" if number == 1 else f"all {number:,} attempts"
            where += " that it judges" if number < counts.attempts else ""
        found.append((name, f"skipped in {where}" + (f": {silence.reason}" if silence.reason else "")))
    return found


def run_problems(report: Report) -> list[str]:
    """What is wrong with the run as a whole, whatever its attempts say."""
    found: list[str] = []
    if report.incomplete is not None:
        lost = f" ({plural(report.unfinished, 'attempt')} begun and given up)" if report.unfinished else ""
        found.append(f"INCOMPLETE: {report.incomplete}{lost}")
    if not report.counts().attempts:
        found.append("No cases ran: nothing was measured.")
    found += [
        f"Report evaluator {failure.name!r} failed: {failure.error_message}"
        for failure in report.report_evaluator_failures
    ]
    return found
