"""What came of attempts, for the views that list them: the outcome, who found fault with what, and the tool calls in short.

Attempts at one case that came to the same are shown once: neither passed, they gave the same output after the same tool calls,
and the same was said about them. Times, scores and labels do not count.

An attempt has one outcome. An *error* is a task or an evaluator that did not finish, even where another evaluator
judged: something is broken, and the judgement is not whole. *Failed* says that everything finished and some assertion
did not hold, *skipped* that nothing was asserted.

The texts are as the report has them. Each view makes them safe in its own way.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, assert_never

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import ToolCall
from calipers.report.complaints import complaints_of
from calipers.report.report import Report
from calipers.stats.number_text import plural

from .text import held_text

LISTED = 20
"""Lines of a reason that is a list, such as the edit script of an agent's calls."""

Record: TypeAlias = ReportCase | ReportCaseFailure
RecordT = TypeVar("RecordT", ReportCase, ReportCaseFailure, Record)
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
    """The attempts that did not pass, as far as the report keeps them: failed tasks, then those that were judged so.

    Those under faults of tools come last.
    """
    found: list[Record] = [*report.failures, *(case for case in report.cases if case.passed is False)]
    return faults_last(found)


def faults_last(records: Iterable[RecordT]) -> list[RecordT]:
    """The attempts in their order, those under faults of tools after all others."""
    return sorted(records, key=lambda record: record.fault is not None)


def count_missed(report: Report) -> int:
    """How many attempts did not pass, under faults of tools or not, kept or not."""
    counts, faulty = report.counts(), report.under_faults()
    rated = [(report.pass_rate(None), counts.passed)]
    if faulty is not None:
        rated.append((faulty.pass_rate, faulty.passed))
    missed = [rate.n_observations - passed for rate, passed in rated if rate is not None]
    return sum(missed) if missed else sum(counts.failed_tasks.values())


def count_dropped(report: Report) -> int:
    """How many attempts the run made that the report does not keep."""
    return report.counts().attempts - len(report.cases) - len(report.failures)


def complaints(record: Record) -> list[tuple[str, str]]:
    """The evaluators that did not pass it, and why; the name is empty where the task failed at once."""
    if isinstance(record, ReportCaseFailure):
        tries = f"after {plural(record.tries, 'try', 'tries')}" if record.tries > 1 else ""
        return [(tries, record.error_message)]
    return [
        (f"{each.evaluator} (evaluator failed)" if each.did_not_finish else each.evaluator, each.why)
        for each in complaints_of(record)
    ]


def reason_lines(reason: str) -> tuple[list[str], int]:
    """The lines of a reason, and how many more there are than a view shows. Most reasons are one line."""
    lines = reason.strip("\n").split("\n")
    return (lines, 0) if len(lines) <= LISTED else (lines[: LISTED - 1], len(lines) - LISTED + 1)


def values(record: Record, *, output: bool = True) -> list[tuple[str, Any]]:
    """What was tried, what was expected if anything was, and what came unless it is not wanted."""
    found = [("inputs", record.inputs)]
    if record.has_expected_output or record.expected_output is not None:
        found.append(("expected", record.expected_output))
    if record.expected_tool_calls is not None:
        found.append(("expected calls", ExpectedCalls(record.expected_tool_calls)))
    if output and isinstance(record, ReportCase):
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


# ---------------------------------------------------------------------- tool calls


_CALLS = 20
"""Calls that are named; of the rest, only the number."""
_NAME, _ARGUMENT, _ERROR = 60, 40, 80
"""Characters of a tool's name, of the value of an argument, and of an error."""


def calls_line(record: ReportCase | ReportCaseFailure) -> str | None:
    """`search(q='x'); book(flight='SK3') failed: no seats`; `None` if the attempt tells of no tool call."""
    if record.trace is None or not record.trace.tool_calls:
        return None
    calls = record.trace.tool_calls
    shown = [call_text(call) for call in calls[:_CALLS]]
    if len(calls) > _CALLS:
        shown.append(f"{plural(len(calls) - _CALLS, 'more call')}")
    return "; ".join(shown)


class ExpectedCalls:
    """The tool calls that a case expects, in the notation of `calls_line`, whichever view prints them.

    Args:
        calls: as a record has them: plain data, or whatever a file held.
    """

    def __init__(self, calls: Sequence[Any]) -> None:
        self.calls = calls

    def __repr__(self) -> str:
        if not self.calls:
            return "none"
        shown = [_expected(call) for call in self.calls[:_CALLS]]
        if len(self.calls) > _CALLS:
            shown.append(plural(len(self.calls) - _CALLS, "more call"))
        return "; ".join(shown)


def _expected(call: Any) -> str:
    """An expected call; a bare name is a call with any arguments, and what is neither is shown as it is."""
    if (name := held_text(call)) is not None:
        return f"{_cut(name, _NAME)}(...)"
    if isinstance(call, Mapping) and (name := held_text(call.get("name"))) is not None:
        arguments = call.get("arguments")
        return _called(name, arguments if isinstance(arguments, Mapping) else {})
    return _short(call)


def _called(name: str, arguments: Mapping[Any, Any]) -> str:
    given = ", ".join(f"{_cut(each, _NAME)}={_short(value)}" for each, value in arguments.items())
    return f"{_cut(name, _NAME)}({given})"


def call_text(call: ToolCall) -> str:
    """One call: `search(q='x')`, or `book(flight='SK3') failed: no seats`."""
    called = _called(call.name, call.arguments)
    if call.success:
        return called
    return f"{called} failed: {_cut(call.error, _ERROR)}" if call.error else f"{called} failed"


def _short(value: Any) -> str:
    # The repr of a large text would be made only to be thrown away.
    text = held_text(value)
    return _cut(safe_repr(value if text is None else text[: _ARGUMENT + 1]), _ARGUMENT)


def _cut(text: Any, most: int) -> str:
    held = held_text(text)
    whole = safe_repr(text) if held is None else held
    return whole if len(whole) <= most else whole[: most - 3] + "..."


# ---------------------------------------------------------------------- attempts that came to the same


_REPEAT = re.compile(r" \[([0-9]{1,9})/([0-9]{1,9})\]")
"""What is added to the name of a case for each of its attempts."""
_RANGES = 4
"""Ranges of attempts that a name holds; more would not be read."""


def alike(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The attempts case by case, those together that came to the same; whatever passed stands alone."""
    by_case: dict[str | int, list[Record]] = {}
    for position, record in enumerate(records):
        name = record.source_case_name
        by_case.setdefault(position if name is None else name, []).append(record)
    for attempts in by_case.values():
        groups: dict[Hashable, list[Record]] = {}
        for record in attempts:
            alone = len(attempts) == 1 or record.passed
            groups.setdefault(id(record) if alone else _came_to(record), []).append(record)
        yield from groups.values()


def name_of(group: Sequence[Record]) -> str:
    """The name of attempts that came to the same: `chat [1-3, 6/6]`."""
    first = group[0].name
    if len(group) == 1:
        return first
    case = group[0].source_case_name or first
    found = [_REPEAT.fullmatch(record.name.removeprefix(case)) for record in group]
    numbers = sorted(int(match[1]) for match in found if match)
    ranges = list(_ranges(numbers))
    if found[0] is None or len(numbers) < len(group) or len(ranges) > _RANGES:
        return f"{first} (and {plural(len(group) - 1, 'more attempt')} like this)"
    return f"{case} [{', '.join(ranges)}/{found[0][2]}]"


def _came_to(record: Record) -> Hashable:
    said: list[Hashable] = [record.passed, *complaints(record), calls_line(record)]
    if isinstance(record, ReportCase):
        text = held_text(record.output)
        said.append((safe_repr(record.output),) if text is None else text)
        if record.passed is None:
            said += [(skip.name, skip.reason) for skip in record.skipped]
            said += [(result.name, result.value) for result in record.results]
    return tuple(said)


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """`1-3`, `6` for 1, 2, 3, 6."""
    start = 0
    for at, high in enumerate(numbers):
        if at + 1 == len(numbers) or numbers[at + 1] != high + 1:
            low = numbers[start]
            yield f"{low}" if low == high else f"{low}-{high}"
            start = at + 1
