"""The bottom of a report in the terminal: times, metrics, what to look after, and what the intervals mean."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from calipers.data.evaluator import Expectation
from calipers.errors import OtherLoopError
from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.scoring.scoring import TASK
from calipers.stats.number_text import METHODS, confidence_text, number, plural, seconds
from calipers.stats.quantiles import values_for_quantile

from .page import Page

if TYPE_CHECKING:
    from rich.text import Text

    from calipers.stats.interval import Method

    from .outcome import Record


_A_HICCUP = 0.5
"""Holding the event loop once, and for fewer seconds than this, is a busy machine's doing."""

_EXPECTED: dict[Expectation, tuple[str, str]] = {
    "expected_output": (
        "an expected output",
        "EqualsExpected(), or a function with a parameter expected_output",
    ),
    "expected_tool_calls": ("expected tool calls", "ToolCallsMatch()"),
}
"""What a case may expect, and an evaluator that reads it."""


def measures(page: Page, report: Report, *, durations: bool = True) -> "Iterator[Text]":
    """How long the tasks took, and the metrics they recorded."""
    times = report.durations(None) if durations else None
    if times is not None:
        micro = page.glyph("µ", "u")
        facts = [_quantile("p50", times.p50, times.p50_interval, micro)]
        short: list[str] = []
        for name, value, ends, level in (
            ("p90", times.p90, times.p90_interval, 0.9),
            ("p99", times.p99, times.p99_interval, 0.99),
        ):
            if None in ends:
                short.append(f"{name} needs {values_for_quantile(level)} cases")
            else:
                facts.append(_quantile(name, value, ends, micro))
        facts += [f"longest {seconds(times.longest, micro=micro)}", *short[:1]]
        if times.count < report.counts().attempts:
            facts.append("(finished tasks)")
        yield from page.facts(facts, head="Task time  ")
    means = {} if report.totals is not None and report.totals.metrics is None else report.metrics()
    if any(means.values()):
        facts = [
            f"{page.fit(name, 40)} {number(mean.value)}" for name, mean in means.items() if mean is not None
        ]
        yield from page.facts([*facts, "(means per case)"], head="Metrics    ")


def _quantile(name: str, value: float, ends: tuple[float | None, float | None], micro: str) -> str:
    """`p90 1.2 s [1.1 s, 1.5 s]`; without the brackets where the interval lacks an end."""
    low, high = ends
    shown = f"{name} {seconds(value, micro=micro)}"
    if low is None or high is None:
        return shown
    return f"{shown} [{seconds(low, micro=micro)}, {seconds(high, micro=micro)}]"


def warnings(page: Page, report: Report) -> "Iterator[Text]":
    """Failures that are not the agent's, and what did not change a judgement and still wants attention."""
    if lost := _on_another_loop(report):
        text = (
            f"{'' if report.keeps_all else 'at least '}{plural(lost, 'attempt')} failed for a client or lock that was first used on another event loop. That says "
            "nothing about the agent. Such a client keeps connections of both loops, and later calls on the right loop may fail as well: make "
            "a new one, inside the task or for one loop only, and run again; resuming a kept run makes only these attempts"
        )
        yield page.line(("Note: ", "bold yellow"), text)
    for name, blocked in report.blocked.items():
        if blocked.count == 1 and blocked.longest < _A_HICCUP:
            continue
        times = "once" if blocked.count == 1 else f"{blocked.count:,} times"
        longest = seconds(blocked.longest, micro=page.glyph("µ", "u"))
        if name == TASK:
            who, cure = (
                "the async task",
                "await what it waits for, or make it an ordinary function, which runs in threads",
            )
        else:
            who = f"evaluator {page.fit_value(name, 60)}"
            cure = (
                "await what it waits for, or call it with asyncio.to_thread"
                if blocked.is_async
                else "make it async, or pass evaluator_timeout=... to run it in a thread"
            )
        text = f"{who} blocked the event loop {times}, longest {longest}: {cure}"
        yield page.line(("Note: ", "bold yellow"), text)
    for expected, count in report.unread_expectations.items():
        yield page.line(("Note: ", "bold yellow"), _unread(expected, count))
    if broken := report.counts().failed_teardowns:
        yield page.line(("Note: ", "bold yellow"), _teardown(page, report, broken))


def _on_another_loop(report: Report) -> int:
    """The attempts whose task or evaluators used what belongs to another event loop."""
    judged = sum(case.on_other_loop for case in report.cases)
    return report.counts().failed_tasks.get(OtherLoopError.__name__, 0) + judged


def _unread(expected: Expectation, count: int) -> str:
    what, cure = _EXPECTED[expected]
    state = "states" if count == 1 else "state"
    return f"{plural(count, 'case')} {state} {what} that no evaluator compares: add {cure}"


def _teardown(page: Page, report: Report, broken: int) -> str:
    text = f"clean-up failed after {plural(broken, 'attempt')} (the judgements stand)"
    records: list[Record] = [*report.cases, *report.failures]
    for record in records:
        if (failure := record.teardown_failure) is not None:
            shown = f"{page.fit(record.name, 60)}: {page.fit(failure.error_message, 2 * page.width)}"
            return f"{text}; the first was {shown}"
    return text


def footnote(
    page: Page, report: Report, summaries: Mapping[str, Summary], *, confidence: float
) -> "Iterator[Text]":
    """What the intervals mean and how they were made, and what graded rows are; nothing where there is none."""
    estimates = [report.pass_rate(None, confidence=confidence)]
    for summary in summaries.values():
        estimates += [summary.estimate, summary.graded]
    methods: dict[Method, None] = {}
    for estimate in estimates:
        if estimate is not None and estimate.interval is not None:
            methods[estimate.interval.method] = None
    if methods:
        scored = any(_is_scored(summary) for summary in summaries.values())
        yield page.line((_intervals(report, methods, confidence, scored=scored), "dim"))
    if (why := without_interval(summaries)) is not None:
        yield page.line((why, "dim"))
    if any(summary.graded is not None for summary in summaries.values()):
        lost = any(summary.failures or summary.task_failures for summary in summaries.values())
        text = "A graded row is the mean of the scores behind a verdict, over the n attempts that have one"
        yield page.line((text + ("; a failed task or evaluator gives none." if lost else "."), "dim"))


def without_interval(summaries: Mapping[str, Summary]) -> str | None:
    """Why scores that are all equal have no interval, and what to do; `None` where there are none."""
    names = [
        name
        for name, summary in summaries.items()
        if (found := summary.estimate)
        and summary.kind == "score"
        and not found.interval
        and found.n_units > 1
    ]
    if not names:
        return None
    return (
        f"No interval for {', '.join(names)}: the cases do not differ, and without the smallest and the largest possible score "
        "that says nothing of other cases. Give the evaluator a score_range, such as (0, 10)."
    )


def _is_scored(summary: Summary) -> bool:
    """Whether a column shows a mean of scores with its interval."""
    mean = summary.estimate if summary.kind == "score" else summary.graded
    return mean is not None and mean.interval is not None


def _intervals(report: Report, methods: "Iterable[Method]", confidence: float, *, scored: bool) -> str:
    level = confidence_text(confidence)
    text = (
        f"[low, high] is a {level} interval ({'; '.join(METHODS[method] for method in methods)}): with fresh cases of "
        f"the same kind, {level} of such intervals would contain the true value."
    )
    if scored:
        text += " Those of scores are approximate: they go by the spread that was seen."
    if report.repeat > 1:
        text += " Repeats measure the same cases better; only more cases tell more about new ones."
    return text
