r"""A report as JUnit XML, which CI servers read: one test case per attempt.

| in the file | means |
|---|---|
| `failure` | everything finished, and some assertion did not hold; the text has the reasons |
| `error` | the task or an evaluator did not finish; the text has the tracebacks |
| `skipped` | nothing was asserted: never a pass |
| `time` | seconds the task took; for the suite, seconds the run took |
| `system-out` | inputs, expected output, output or conversation, scores, labels and metrics |
| `properties` | seed, pass rate, what each evaluator found, the pass rate of each tag, and what the caller noted, as numbers or JSON; of a test case: its tags |

An attempt has one outcome, and an error comes before a failure. A run that ended early, that tried nothing, or whose
report evaluators failed has one test case more, which is an error: a server that looks at test cases alone must not
show it as passed. Attempts that the report does not keep are one test case together.

It is the dialect that Jenkins and Maven's Surefire share. Times of day are in UTC without a zone, as Ant writes them.
Characters that XML cannot hold, and those that cannot be seen, are shown as escapes such as `\x1b`.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import number, plural

from .outcome import (
    Outcome,
    Record,
    complaints,
    count_dropped,
    count_missed,
    missed,
    outcome_of,
    run_problems,
)
from .text import fit, fit_value
from .transcript import seen

_NAME, _MESSAGE, _VALUE = 300, 500, 2_000
"""Cells of a name, of a one-line message and of a value."""
_LINES = 200
"""Lines of a reason or a traceback, the last of which tell most."""
_LINE = 2_000
"""Cells of one of them."""

_ELEMENTS: dict[Outcome, str] = {"failed": "failure", "error": "error", "skipped": "skipped"}


def report_junit(report: Report) -> str:
    """The report as JUnit XML."""
    report = report.with_totals()
    suite = ET.Element("testsuite", name=fit(report.dataset_name or report.name, _NAME))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report):
        ET.SubElement(properties, "property", name=fit(name, _NAME), value=fit(value, _VALUE))
    records: list[Record] = [*report.cases, *report.failures]
    for record in records:
        suite.append(_test_case(record, classname=fit(report.name, _NAME)))
    if dropped := count_dropped(report):
        suite.append(_dropped(report, dropped, classname=fit(report.name, _NAME)))
    if problems := run_problems(report):
        suite.append(_whole_run(problems, classname=fit(report.name, _NAME)))
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
    }
    attributes = {key: str(count) for key, count in counts.items()}
    if report.duration is not None or report.keeps_all:
        took = sum(record.task_duration for record in records) if report.duration is None else report.duration
        attributes["time"] = _seconds(took)
    for key, value in attributes.items():
        suite.set(key, value)
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    if began := _timestamp(report.started_at):
        suite.set("timestamp", began)
    suites = ET.Element("testsuites", {"name": fit(report.name, _NAME), **attributes})
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _test_case(record: Record, *, classname: str) -> ET.Element:
    case = ET.Element(
        "testcase", classname=classname, name=fit(record.name, _NAME), time=_seconds(record.task_duration)
    )
    if record.tags:
        properties = ET.SubElement(case, "properties")
        for tag in record.tags:
            ET.SubElement(properties, "property", name="tag", value=fit(tag, _NAME))
    outcome = outcome_of(record)
    if outcome == "failed" and record.fault is not None:
        said = f"did not pass under the fault {record.fault}, which counts apart: {_message(record)}"
        found = ET.SubElement(case, "skipped", message=said, type="fault")
        found.text = _lines(_why(record))
    elif outcome in _ELEMENTS:
        found = ET.SubElement(case, _ELEMENTS[outcome], message=_message(record), type=_type(record))
        found.text = _lines(_why(record))
    ET.SubElement(case, "system-out").text = _lines(_seen(record))
    if record.teardown_failure is not None:
        said = f"clean-up failed (the judgement stands): {record.teardown_failure.error_message}"
        ET.SubElement(case, "system-err").text = _lines([said, record.teardown_failure.error_stacktrace])
    return case


def _dropped(report: Report, count: int, *, classname: str) -> ET.Element:
    """One test case for all attempts that were made and not kept: what they came to, together."""
    name = f"{plural(count, 'attempt')} that the report does not keep"
    case = ET.Element("testcase", classname=classname, name=name, time=_seconds(0))
    if lost := count_missed(report) - len(missed(report)):
        ET.SubElement(case, "failure", message=f"{lost:,} of them did not pass", type="assertion")
    elif not report.counts().passed:
        ET.SubElement(case, "skipped", message="nothing was asserted", type="skipped")
    return case


def _whole_run(problems: list[str], *, classname: str) -> ET.Element:
    case = ET.Element("testcase", classname=classname, name="the run as a whole", time=_seconds(0))
    error = ET.SubElement(case, "error", message=fit(problems[0], _MESSAGE), type="run")
    error.text = _lines(problems)
    return case


def _message(record: Record) -> str:
    """One line that says what is wrong: the first complaint, and how many there are."""
    if record.passed is None:
        return "nothing was asserted"
    found = complaints(record)
    name, why = found[0]
    more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
    return fit(": ".join(part for part in (name, why) if part), _MESSAGE) + more


def _type(record: Record) -> str:
    if isinstance(record, ReportCaseFailure):
        return fit(record.error_type, _NAME)
    broken = record.evaluator_failures
    return fit(broken[0].error_type, _NAME) if broken else "skipped" if record.passed is None else "assertion"


def _why(record: Record) -> Iterator[str]:
    """Every complaint, and the traceback of what did not finish."""
    for name, why in complaints(record):
        yield ": ".join(part for part in (name, why) if part)
    if isinstance(record, ReportCaseFailure):
        yield record.error_stacktrace
        return
    for failure in record.evaluator_failures:
        yield failure.error_stacktrace
    if record.passed is None:
        for skip in record.skipped:
            yield f"{skip.name} skipped: {skip.reason}"


def _seen(record: Record) -> Iterator[str]:
    found, talk = seen(record)
    for label, value in found:
        yield f"{label}: {fit_value(value, _VALUE)}"
    yield from talk
    if isinstance(record, ReportCase):
        for result in record.results:
            if not isinstance(result.value, bool):
                shown = result.value if isinstance(result.value, str) else number(result.value)
                yield f"{result.name}: {shown}"
        for name, metric in record.all_metrics.items():
            yield f"metric {name}: {number(metric)}"


def _lines(texts: Iterable[str]) -> str:
    """Texts below each other, each line safe; of many lines, the last."""
    lines = [line for text in texts for line in text.splitlines()]
    if len(lines) > _LINES:
        lines = [f"… {len(lines) - _LINES:,} lines left out", *lines[-_LINES:]]
    return "\n".join(fit(line, _LINE) for line in lines)


# ---------------------------------------------------------------------- properties


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    if report.seed is not None:
        yield "seed", str(report.seed)
    yield "repeat", str(report.repeat)
    yield "attempts", str(report.counts().attempts)
    yield "passed", str(report.counts().passed)
    if report.incomplete is not None:
        yield "incomplete", str(report.incomplete)
    yield from _estimate("pass_rate", report.pass_rate(None))
    for name, summary in report.summaries().items():
        yield from _estimate(f"result.{name}", summary.estimate)
        for label, count in (summary.labels or {}).items():
            yield f"result.{name}.{label}", str(count)
    for tag, part in report.slices().items():
        yield from _estimate(f"slice.{tag}", part.pass_rate)
        if part.pass_rate is not None:
            yield f"slice.{tag}.cases", str(part.pass_rate.n_units)
    for name, value in (report.metadata or {}).items():
        yield f"metadata.{name}", msgspec.json.encode(plain(value)).decode()


def _estimate(name: str, estimate: Estimate | None) -> Iterator[tuple[str, str]]:
    """A number and the ends of its interval, to more digits than they deserve and fewer than machines differ in."""
    if estimate is not None:
        yield name, f"{estimate.value:.10g}"
        if estimate.interval is not None:
            yield f"{name}.low", f"{estimate.interval.low:.10g}"
            yield f"{name}.high", f"{estimate.interval.high:.10g}"


def _seconds(value: float) -> str:
    return f"{max(value, 0.0):.6f}"


def _timestamp(started_at: str | None) -> str | None:
    """The beginning of the run in UTC, without a zone; `None` if it is not known."""
    try:
        began = datetime.fromisoformat(started_at or "")
    except ValueError:
        return None
    return began.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if began.tzinfo else None
