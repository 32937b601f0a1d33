"""The top of a report in the terminal: what was run, what went wrong with the run, and the share of cases that passed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import METHODS, confidence_text, plural, rate_text, seconds

from .outcome import silences
from .page import Page

if TYPE_CHECKING:
    from rich.text import Text


_LOUD = "bold red"
_NOTED = 8
"""Entries of the run's metadata that are shown."""
_SILENT = 10
"""Evaluators without a result that are named."""


def title(page: Page, report: Report) -> "Iterator[Text]":
    """What was run, on what, how much and for how long."""
    of = () if report.dataset_name is None else (" on ", (page.fit(report.dataset_name, 200), "bold"))
    yield page.line((page.fit(report.name, 200), "bold"), *of)
    counts = report.counts()
    facts = [plural(counts.cases, "case")]
    if report.repeat > 1:
        facts.append(plural(counts.attempts, "attempt"))
    if report.duration is not None:
        facts.append(seconds(report.duration, micro=page.glyph("µ", "u")))
    facts.append(f"seed {report.seed}")
    yield from page.facts(facts, style="dim")
    if report.metadata:
        noted = list(report.metadata.items())
        pairs = [f"{page.fit(str(key), 30)}: {page.fit_value(value, 60)}" for key, value in noted[:_NOTED]]
        if len(noted) > _NOTED:
            pairs.append(f"{page.ellipsis} and {len(noted) - _NOTED:,} more")
        yield from page.facts(pairs, style="dim")


def alerts(page: Page, report: Report) -> "Iterator[Text]":
    """What keeps the numbers below from saying all: an early end, tasks and evaluators that did not finish."""
    if report.incomplete is not None:
        lost = f" ({plural(report.unfinished, 'attempt')} begun and given up)" if report.unfinished else ""
        yield page.line(
            ("INCOMPLETE: ", _LOUD), (page.fit(str(report.incomplete), 3 * page.width) + lost, "red")
        )
    if report.stopping is not None:
        yield page.line(
            ("A rule could end this run: ", "bold"),
            f"{page.fit(str(report.stopping), 3 * page.width)}. The intervals below do not allow for that; those of "
            "`calipers gate` do.",
        )
    counts = report.counts()
    if not counts.attempts:
        yield page.line(("No cases ran: nothing was measured.", _LOUD))
    if failed := sum(counts.failed_tasks.values()):
        yield page.line(
            (f"{failed:,} of {plural(counts.attempts, 'task')} failed", _LOUD),
            (f" and {_counts(failed)} as not passed: {_most_common(page, counts.failed_tasks)}", "red"),
        )
    if broken := sum(counts.failed_evaluators.values()):
        yield page.line(
            (plural(broken, "evaluator failure"), _LOUD),
            (f" {_counts(broken)} as not passed: {_most_common(page, counts.failed_evaluators)}", "red"),
        )


def headline(page: Page, report: Report, *, confidence: float) -> "Iterator[Text]":
    """The share of cases that passed, with its interval; under repeats also of one that passes ever, and always."""
    rate = report.pass_rate(None, confidence=confidence)
    counts = report.counts()
    if rate is None:
        if counts.attempts > sum(counts.failed_tasks.values()):
            yield page.line(("No pass rate: nothing was asserted.", "bold"))
        elif counts.attempts:
            yield page.line(("No task finished: nothing was measured.", _LOUD))
        return
    passed = counts.passed
    if rate.n_observations == rate.n_units:
        what = f"Passed {passed:,} of {plural(rate.n_units, 'case')}"
    else:
        what = (
            f"Passed {passed:,} of {plural(rate.n_observations, 'attempt')} at {plural(rate.n_units, 'case')}"
        )
    yield from _claim(page, what, rate)
    left_out = counts.attempts - rate.n_observations
    if left_out:
        yield page.line((f"Left out: {plural(left_out, 'attempt')} of which nothing was asserted.", "dim"))
    if report.repeat > 1 and counts.attempts == len(report.cases) + len(report.failures):
        yield from _repeats(page, report, confidence=confidence)
    yield from readings(page, report, confidence=confidence)


def readings(page: Page, report: Report, *, confidence: float) -> "Iterator[Text]":
    """What the pass rate is where attempts without an answer do not count against the agent; nothing if there are none."""
    found = report.infrastructure(confidence=confidence)
    if found is None:
        return
    yield page.line(
        (plural(found.count, "attempt"), "bold yellow"),
        f" got no answer for a time-out, a connection or a server: {_most_common(page, found.failures)}.",
    )
    for name, estimate, meaning in (
        ("without them", found.without, "" if found.without else "nothing is left"),
        ("at most", found.at_most, "if all of them had passed"),
    ):
        value, ends = ("", "") if estimate is None else rate_text(estimate.value, estimate.interval)
        text = f"{name:<12}  {value:>7}  {ends:<14}  {meaning}" if estimate else f"{name:<12}  {meaning}"
        yield page.line(f"  {text.rstrip()}")
    again = "with a store," if report.reuse is None else "resume the run, and"
    yield page.line(
        (f"  The rate above counts them as not passed; {again} rerun_failed makes them again.", "dim")
    )


def silent(page: Page, report: Report) -> "Iterator[Text]":
    """The evaluators that gave no result at all because they were skipped, with the commonest reason."""
    found = silences(report)
    for name, why in found[:_SILENT]:
        yield page.line((page.fit(name, 60), "bold yellow"), f": {page.fit(why, 3 * page.width)}")
    if len(found) > _SILENT:
        more = plural(len(found) - _SILENT, "more evaluator")
        yield page.line((f"{page.ellipsis} and {more} that gave no result", "yellow"))


def _claim(page: Page, what: str, rate: Estimate) -> "Iterator[Text]":
    value, ends = rate_text(rate.value, rate.interval)
    style = "bold green" if rate.value == 1 else "bold yellow" if rate.value else _LOUD
    if rate.interval is None:
        how = "no interval: one cluster of cases" if rate.n_clusters == 1 else "no interval"
    else:
        method = METHODS[rate.interval.method].partition(" with ")[0]
        how = f"{confidence_text(rate.interval.confidence)} {method} interval"
    if rate.n_clusters is not None and rate.n_clusters > 1:
        how += f", {rate.n_clusters:,} clusters"
    number = f"{value}  {ends}".rstrip()
    if len(what) + len(number) + len(how) + 6 <= page.width:
        yield page.line((what, "bold"), "   ", (number, style), "   ", (how, "dim"))
        return
    if len(what) + len(number) + 3 <= page.width:
        yield page.line((what, "bold"), "   ", (number, style))
    else:
        yield page.line((what, "bold"))
        yield page.line((number, style))
    yield page.line((how, "dim"))


def _repeats(page: Page, report: Report, *, confidence: float) -> "Iterator[Text]":
    k = report.repeat
    try:
        any_of = report.pass_at_k(k, None, confidence=confidence)
        all_of = report.pass_hat_k(k, None, confidence=confidence)
    except ValueError:  # some case has fewer attempts that something was asserted of
        yield page.line((f"No pass@{k} and pass^{k}: not every case has {k} attempts.", "dim"))
        return
    for name, estimate, meaning in (
        (f"pass@{k}", any_of, f"at least one of {k} attempts passes"),
        (f"pass^{k}", all_of, f"all {k} attempts pass"),
    ):
        if estimate is not None:
            value, ends = rate_text(estimate.value, estimate.interval)
            line = page.line("  ", (name, "bold"), f"  {value:>7}  {ends:<14}")
            if line.cell_len + 2 + len(meaning) <= page.width:
                line.append(f"  {meaning}", "dim")
                yield line
            else:
                yield line
                yield page.line((f"    {meaning}", "dim"))


def _counts(number: int) -> str:
    return "counts" if number == 1 else "count"


def _most_common(page: Page, counted: Mapping[str, int], most: int = 3) -> str:
    """`Judge (4), Tone (1)`: which, and how often."""
    counts = Counter(counted).most_common()
    shown = [f"{page.fit(name, 40)} ({count:,})" for name, count in counts[:most]]
    if len(counts) > most:
        shown.append(f"and {len(counts) - most:,} more")
    return ", ".join(shown)
