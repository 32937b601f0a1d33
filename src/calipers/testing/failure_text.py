"""Why an attempt did not pass, as lines of text for the failure of a test.

Every line is made safe to show, and long values are cut. The expectation and the output are shown beside each other if
both are short, else as a diff. A traceback is shown once.
"""

import difflib
import pprint
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.stats.number_text import number, plural
from calipers.views.outcome import Record, alike, calls_line, name_of, reason_lines
from calipers.views.text import fit, fit_value

_WIDTH = 100
"""Cells of a line."""
_REASON = 600
"""Cells of a reason, which is often a sentence and sometimes a speech."""
_LINE = 200
"""Cells of a line of a reason that has several, and of the tool calls."""
_SHORT = 60
"""Characters of a value that is read at a glance: two such values need no diff."""
_NAMES = 3
"""Evaluators that the first line names."""
_DIFF_LINES = 40
_DIFF_INPUT = 100_000
"""Characters of a value beyond which no diff is made: finding one takes more than linear time."""
_TRACEBACK_LINES = 16
"""The last lines of a traceback, which are the ones that tell."""
_PACKAGE = str(Path(__file__).parents[1])


def attempts_lines(records: Sequence[Record], *, most: int = 5, shown: set[str] | None = None) -> list[str]:
    """Why each of the attempts did not pass, for the first few of them; equal ones are shown once.

    Args:
        records: the attempts.
        most: how many to show.
        shown: tracebacks that were shown before, to which these are added.
    """
    lines: list[str] = []
    shown = set() if shown is None else shown
    left = len(records)
    for group in islice(alike(records), most):
        lines += attempt_lines(group[0], name=name_of(group), shown=shown)
        left -= len(group)
    if left:
        lines.append(f"… and {plural(left, 'more attempt')}")
    return lines


def attempt_lines(record: Record, *, name: str | None = None, shown: set[str] | None = None) -> list[str]:
    """What was tried, the output, and which evaluators it did not pass. The first line is a summary.

    Args:
        record: the attempt.
        name: what to call it; default: its name.
        shown: tracebacks that were shown before, to which these are added.
    """
    shown = set() if shown is None else shown
    name = fit(name or record.name, _WIDTH)
    inputs = f"inputs    {fit_value(record.inputs, _WIDTH)}"
    calls = calls_line(record)
    called = [] if calls is None else [f"called    {fit(calls, _LINE)}"]
    if isinstance(record, ReportCaseFailure):
        tries = f" after {plural(record.tries, 'try', 'tries')}" if record.tries > 1 else ""
        return [
            f"{name}: the task failed{tries}: {fit(record.error_message, _REASON)}",
            *_indented([inputs, *called, *_indented(_own_traceback(record.error_stacktrace, shown))]),
        ]
    return [
        f"{name}: {_essence(record)}",
        *_indented([inputs, *_values(record), *called, *_judgements(record, shown)]),
    ]


def _essence(record: ReportCase) -> str:
    if record.passed is not False:
        return "passed" if record.passed else "nothing was asserted"
    names = [result.name for result in record.results if result.value is False]
    names += [f"{failure.name} (failed)" for failure in record.evaluator_failures]
    shown = [fit(name, _WIDTH // 2) for name in names[:_NAMES]]
    more = [f"{len(names) - _NAMES:,} more"] if len(names) > _NAMES else []
    return f"did not pass {', '.join(shown + more)}"


def _values(record: ReportCase) -> list[str]:
    """The output, beside what was expected if anything was."""
    got = f"got       {fit_value(record.output, _WIDTH)}"
    if not record.has_expected_output and record.expected_output is None:
        return [got]
    difference = diff_lines(record.expected_output, record.output)
    if difference:
        return ["expected (-) and got (+):", *_indented(difference)]
    return [f"expected  {fit_value(record.expected_output, _WIDTH)}", got]


def _judgements(record: ReportCase, shown: set[str]) -> Iterator[str]:
    for result in record.results:
        if result.value is False:
            graded = "" if result.score is None else f"score {number(result.score)}"
            yield from _told(result.name, result.reason or graded)
    for failure in record.evaluator_failures:
        yield from _told(f"{failure.name}: the evaluator failed", failure.error_message)
        yield from _indented(_own_traceback(failure.error_stacktrace, shown))
    if record.passed is None:
        for skip in record.skipped:
            yield from _told(f"{skip.name}: skipped", skip.reason)
        for result in record.results:
            yield fit(
                f"{result.name}: {result.kind} {result.value!r}, which passes or fails nothing", _REASON
            )


def _told(who: str, reason: str) -> list[str]:
    """`who: reason`; a reason of several lines stands below."""
    listed, left = reason_lines(reason)
    if len(listed) == 1:
        return [fit(": ".join(filter(None, [who, reason])), _REASON)]
    more = [f"… ({plural(left, 'more line')})"] if left else []
    return [f"{fit(who, _WIDTH)}:", *_indented([*(fit(line, _LINE) for line in listed), *more])]


def diff_lines(expected: Any, output: Any) -> list[str]:
    """The lines in which two values differ, as in a unified diff; none where both are short, equal or huge."""
    before, after = _text(expected), _text(output)
    short = max(len(before), len(after)) <= _SHORT and "\n" not in before + after
    if short or before == after or max(len(before), len(after)) > _DIFF_INPUT:
        return []
    # The first two lines would name files.
    found = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=2)
    shown = [fit(line, _WIDTH) for line in list(found)[2:]]
    if len(shown) > _DIFF_LINES:
        return [*shown[:_DIFF_LINES], f"… and {plural(len(shown) - _DIFF_LINES, 'more line')}"]
    return shown


def _text(value: Any) -> str:
    """A text as it is, anything else spread over lines as Python would print it."""
    if isinstance(value, str):
        return value
    text = safe_repr(value)
    if len(text) <= _SHORT or len(text) > _DIFF_INPUT:
        return text
    try:
        return pprint.pformat(value, width=80, sort_dicts=False)
    except Exception:  # printing looks closer at a value than its repr does
        return text


def _own_traceback(stack: str, shown: set[str]) -> list[str]:
    """The end of a traceback, without the frames of this package: the mistake is not there. One that was shown is not shown again."""
    kept: list[str] = []
    ours = False
    for line in stack.splitlines():
        if line.startswith('  File "'):
            ours = line.startswith(f'  File "{_PACKAGE}')
        elif not line.startswith("    "):
            ours = False
        if not ours:
            kept.append(line)
    # The first line says that a traceback follows, and the last is the message, which has been shown.
    lines = [fit(line, _WIDTH) for line in kept[1:-1][-_TRACEBACK_LINES:]]
    text = "\n".join(lines)
    if text in shown:
        return ["(same traceback as in an earlier failure)"]
    shown.update({text} - {""})
    return lines


def _indented(lines: Sequence[str] | Iterator[str], by: int = 2) -> list[str]:
    return [" " * by + line for line in lines]
