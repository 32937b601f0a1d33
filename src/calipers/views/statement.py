"""What a report says, as data: headline, tables, alerts and notes. The terminal, HTML and Markdown views draw it.

Every sentence of these views is decided here and every column in `report_table`, so that a report says the same wherever it is
read. A `Line` is made of parts. Our own words are plain parts. Text of others has a limit, and each view cuts it and makes it
safe in its own way.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from calipers.data.budget import BudgetUse
from calipers.data.evaluator import Expectation
from calipers.data.jsonable import safe_repr
from calipers.data.spending import BESIDE_COSTS, UNPRICED
from calipers.errors import OtherLoopError
from calipers.report.analysis import JudgeCorrection
from calipers.report.cost import Cost
from calipers.report.report import Report
from calipers.report.summary import Summary, UnderFaults
from calipers.scoring.scoring import TASK
from calipers.stats import Estimate, Interval
from calipers.stats.number_text import (
    METHODS,
    amount_of,
    confidence_text,
    dollars,
    mean_text,
    number,
    plural,
    rate_text,
    seconds,
)
from calipers.stats.sample import values_for_quantile

from .line import Line, Measure, Part, Tone
from .outcome import count_dropped, silences
from .report_table import (
    EVALUATOR_COLUMNS,
    TAG_COLUMNS,
    Measured,
    ReportColumn,
    Subject,
    Table,
    TagRate,
    make_table,
)

if TYPE_CHECKING:
    from .outcome import Record

_SILENT = 10
"""Evaluators without a result that are named."""
_JUDGES = 5
"""Evaluators whose cost is named: the dearest."""
_TAGS = 12
"""Tags that are shown: those with the most attempts."""
_IN_SHORT: dict[str, str] = {"effective-wilson": "Wilson", "clustered-wilson": "Wilson"}
"""Methods of intervals whose names are shorter in the headline."""
_A_HICCUP = 0.5
"""Seconds: an evaluator that blocked the event loop once, for less than this, is not noted. The machine was busy."""

_EXPECTED: dict[Expectation, tuple[str, str]] = {
    "expected_output": (
        "an expected output",
        "EqualsExpected(), or a function with a parameter expected_output",
    ),
    "expected_tool_calls": ("expected tool calls", "ToolCallsMatch()"),
}
"""What a case may expect, and an evaluator that reads it."""

# ---------------------------------------------------------------------- headline


class Reading(NamedTuple):
    """A further reading of the pass rate."""

    name: str
    estimate: Estimate | None
    """`None` if nothing is left to count."""
    meaning: str


class Unanswered(NamedTuple):
    """What the pass rate is where attempts without an answer do not count against the agent."""

    lead: Line
    readings: list[Reading]
    advice: str

    @property
    def lines(self) -> list[Line]:
        """All of it, a line for each reading."""
        rows = [(Part(f"  {_reading_text(reading)}"),) for reading in self.readings]
        return [self.lead, *rows, (Part(f"  {self.advice}", "quiet"),)]


class Headline(NamedTuple):
    """The share of cases that passed."""

    what: str
    """`Passed 37 of 40 cases`."""
    rate: Estimate
    how: str
    """How the interval was made."""
    left_out: str | None
    """How many attempts have no assertion; `None` if all have one."""
    readings: list[Reading]
    """With repeats pass@k and pass^k; the rate under faults where cases were tried under faults, too."""
    no_repeats: str | None
    """Why there is no pass@k though cases were repeated."""
    unanswered: Unanswered | None

    @property
    def tone(self) -> Literal["good", "mixed", "bad"]:
        """How good the rate is."""
        return "good" if self.rate.value == 1 else "mixed" if self.rate.value else "bad"

    @property
    def number(self) -> str:
        """The rate and its interval: `92.5 %  [80.1, 97.4]`."""
        return _rate_of(self.rate)


# ---------------------------------------------------------------------- the statement


@dataclass(frozen=True)
class Statement:
    """What a report says. Each part is computed when a view first asks for it."""

    report: Report
    confidence: float = 0.95
    """Of the intervals."""
    columns: tuple[ReportColumn[Subject], ...] = EVALUATOR_COLUMNS
    """Of the table of evaluators."""

    @cached_property
    def rate(self) -> Estimate | None:
        """The share of cases that passed; `None` if nothing was asserted."""
        return self.report.pass_rate(None, confidence=self.confidence)

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """One for each column of results."""
        return self.report.summaries(confidence=self.confidence)

    @cached_property
    def facts(self) -> list[str]:
        """How much was run, for how long, with which seed."""
        counts, report = self.report.counts(), self.report
        facts = [plural(counts.cases, "case")]
        faulty = report.under_faults()
        if report.repeat > 1 or faulty is not None:
            facts.append(plural(counts.attempts, "attempt"))
        if faulty is not None:
            facts[-1] += f", {faulty.attempts:,} of them under faults"
        if report.duration is not None:
            facts.append(seconds(report.duration))
        return facts if report.seed is None else [*facts, f"seed {report.seed}"]

    @cached_property
    def alerts(self) -> list[Line]:
        """What the numbers do not show: an early end, tasks and evaluators that did not finish."""
        return list(_alerts(self.report))

    @cached_property
    def headline(self) -> Headline | None:
        """The share of cases that passed; `None` if nothing was asserted."""
        rate = self.rate
        return None if rate is None else _headline(self.report, rate, self.confidence)

    @cached_property
    def corrected(self) -> list[Line]:
        """What people would say, by their labels of some cases: a line for each judge that could be corrected."""
        found = (each for each in self.report.analyses if isinstance(each, JudgeCorrection))
        return [_corrected(each) for each in found if each.value is not None]

    @cached_property
    def no_headline(self) -> Line | None:
        """Why there is no pass rate; `None` if there is one, or if nothing was tried."""
        counts = self.report.counts()
        if self.rate is not None or not counts.attempts:
            return None
        if not counts.cases:
            faulty = self.report.under_faults(confidence=self.confidence)
            assert faulty is not None
            said = "" if faulty.pass_rate is None else f" Under faults: {_rate_of(faulty.pass_rate, ' ')}."
            return Part("No pass rate: every attempt was made under a fault of tools.", "strong"), Part(said)
        if counts.attempts > sum(counts.failed_tasks.values()):
            return (Part("No pass rate: nothing was asserted.", "strong"),)
        return (Part("No task finished: nothing was measured.", "alert"),)

    @cached_property
    def silent(self) -> list[Line]:
        """The evaluators that gave no result at all because they were skipped, with the commonest reason."""
        found = silences(self.report)
        lines: list[Line] = [
            (Part(name, "caution", cells=60), Part(": "), Part(why, rows=3)) for name, why in found[:_SILENT]
        ]
        if len(found) > _SILENT:
            more = plural(len(found) - _SILENT, "more evaluator")
            lines.append((Part(f"… and {more} that gave no result", "warn"),))
        return lines

    @cached_property
    def evaluators(self) -> Table:
        """One row for each summary, and one for its grades where they say more."""
        subjects: list[Subject] = []
        for title, summary in self.summaries.items():
            standing = self.report.passports.get(summary.evaluator)
            subjects.append(Subject(title, summary, standing=standing))
            if summary.graded is not None:
                subjects.append(Subject(title, summary, summary.graded))
        return make_table(self.columns, subjects, self.confidence)

    @cached_property
    def tags(self) -> Table:
        """One row for each tag of which anything was asserted, as many as a reader looks at."""
        slices = self.report.slices(confidence=self.confidence).values()
        rated = [TagRate(one.tag, one.pass_rate) for one in slices if one.pass_rate is not None]
        more = plural(len(rated) - _TAGS, "more tag")
        note = f"… and {more} with fewer attempts, which the JSON report has" if len(rated) > _TAGS else None
        return make_table(TAG_COLUMNS, rated[:_TAGS], self.confidence, note)

    @cached_property
    def times(self) -> Measure | None:
        """How long the tasks took; `None` if none finished."""
        return _times(self.report)

    @cached_property
    def costs(self) -> list[Measure]:
        """What the agent and its judges cost, apart, as far as anything is known of that; and what became of the budget and of limits."""
        return [*_costs(self.report, self.confidence), *_budget(self.report), *_limits(self.report)]

    @cached_property
    def metrics(self) -> Measure | None:
        """The means of the metrics that the tasks recorded, except of those that `costs` tell; `None` if there are none."""
        return _metrics(self.report)

    @cached_property
    def warnings(self) -> list[Line]:
        """Failures that are not the agent's, and what did not change a judgement and still needs attention."""
        return [(Part("Note: ", "caution"), *line) for line in _warnings(self.report)]

    @cached_property
    def footnotes(self) -> list[Line]:
        """What the intervals mean and how they were made, and what graded rows are."""
        return list(_footnotes(self.report, self.rate, self.summaries, self.confidence))

    def scores(self, measured: Measured) -> list[float]:
        """The scores that a mean is over; empty where the report keeps only some of them, which could mislead."""
        summary = measured.scores_of
        if summary is None or count_dropped(self.report):
            return []
        results = (each for case in self.report.cases for each in case.results if each.name == summary.name)
        if summary.kind == "assertion":
            return [each.score for each in results if each.kind == summary.kind and each.score is not None]
        return [float(each.value) for each in results if not isinstance(each.value, bool | str)]


# ---------------------------------------------------------------------- sentences


def _alerts(report: Report) -> Iterator[Line]:
    if report.incomplete is not None:
        lost = f" ({plural(report.unfinished, 'attempt')} begun and given up)" if report.unfinished else ""
        yield Part("INCOMPLETE: ", "alert"), Part(str(report.incomplete), "bad", rows=3), Part(lost, "bad")
    if report.budget is not None and (claim := _claim(report, report.budget)) is not None:
        yield claim
    if report.sought:
        yield (
            Part("A search chose these cases", "strong"),
            Part(" to find failures: their rates and intervals do not tell how often the system fails."),
        )
    if report.stopping is not None:
        yield (
            Part("A rule could end this run: ", "strong"),
            Part(str(report.stopping), rows=3),
            Part(". The intervals below do not allow for that; those of `calipers gate` do."),
        )
    counts, faulty = report.counts(), report.under_faults()
    if not counts.attempts:
        yield (Part("No cases ran: nothing was measured.", "alert"),)
    under = UnderFaults(attempts=0, passed=0, pass_rate=None) if faulty is None else faulty
    tasks = Counter(counts.failed_tasks) - Counter(under.failed_tasks)
    evaluators = Counter(counts.failed_evaluators) - Counter(under.failed_evaluators)
    yield from _lost(tasks, counts.attempts - under.attempts, evaluators)
    yield from _lost(under.failed_tasks, under.attempts, under.failed_evaluators, where=" under faults")


def _claim(report: Report, use: BudgetUse) -> Line | None:
    """What a run that ended at its budget can still claim; `None` if it did not, or nothing was measured."""
    if report.incomplete is None or report.incomplete.kind != "budget" or report.pass_rate(None) is None:
        return None
    if report.sought:
        return None
    if use.in_random_order:
        said = "The cases were begun in a random order, so the numbers below hold for the whole dataset, with wider intervals than those of a whole run."
    else:
        said = "The cases were begun in the order of the dataset: the numbers below are about its first part alone."
    if report.unfinished:
        said += " Attempts that were given up are not counted; they may be the longer ones."
    return (Part(said, "plain"),)


def _lost(
    tasks: Mapping[str, int], attempts: int, evaluators: Mapping[str, int], *, where: str = ""
) -> Iterator[Line]:
    """That tasks and evaluators did not finish, and how that counts."""
    there = " there" if where else ""
    if failed := sum(tasks.values()):
        yield (
            Part(f"{failed:,} of {plural(attempts, 'task')}{where} failed", "alert"),
            Part(f" and {_counts(failed)} as not passed{there}: ", "bad"),
            *_most_common(tasks, "bad"),
        )
    if broken := sum(evaluators.values()):
        yield (
            Part(f"{plural(broken, 'evaluator failure')}{where}", "alert"),
            Part(f" {_counts(broken)} as not passed{there}: ", "bad"),
            *_most_common(evaluators, "bad"),
        )


def _counts(found: int) -> str:
    return "counts" if found == 1 else "count"


def _most_common(counted: Mapping[str, int], tone: Tone = "plain", most: int = 3) -> Iterator[Part]:
    """`Judge (4), Tone (1)`: which, and how often."""
    counts = Counter(counted).most_common()
    for place, (name, count) in enumerate(counts[:most]):
        if place:
            yield Part(", ", tone)
        yield Part(name, tone, cells=40)
        yield Part(f" ({count:,})", tone)
    if len(counts) > most:
        yield Part(f", and {len(counts) - most:,} more", tone)


def _headline(report: Report, rate: Estimate, confidence: float) -> Headline:
    counts, faulty = report.counts(), report.under_faults(confidence=confidence)
    over = f"{plural(rate.n_observations, 'attempt')} at " if rate.n_observations != rate.n_units else ""
    left_out = counts.attempts - rate.n_observations - (0 if faulty is None else faulty.attempts)
    are_counted = report.totals is not None and report.totals.repeats is not None
    has_repeats = report.repeat > 1 and (are_counted or not count_dropped(report))
    repeats = _repeats(report, confidence) if has_repeats else []
    k = report.repeat
    return Headline(
        what=f"Passed {counts.passed:,} of {over}{plural(rate.n_units, 'case')}"
        + ("" if faulty is None else " without faults"),
        rate=rate,
        how=_how(rate),
        left_out=f"Left out: {plural(left_out, 'attempt')} of which nothing was asserted."
        if left_out
        else None,
        readings=[*(repeats or []), *_under_faults(faulty)],
        no_repeats=f"No pass@{k} and pass^{k}: not every case has {k} attempts." if repeats is None else None,
        unanswered=_unanswered(report, confidence),
    )


def _corrected(found: JudgeCorrection) -> Line:
    assert found.value is not None
    text = rate_text if found.is_rate else mean_text
    value = "  ".join(text(found.value, found.interval)).rstrip()
    judged = text(found.judged.value, None)[0]
    people = "" if found.people is None else f", the labels alone {text(found.people.value, None)[0]}"
    how = "by the labels alone" if found.method == "labels alone" else "corrected"
    return (
        Part(found.judge, "strong", cells=60),
        Part(f", {how} by {plural(found.labels, 'label')}: " if how == "corrected" else f", {how}: "),
        Part(value, "strong"),
        Part(f"; the judge says {judged}{people}", "quiet"),
    )


def _how(rate: Estimate) -> str:
    if rate.interval is None:
        how = "no interval: one cluster of cases" if rate.n_clusters == 1 else "no interval"
    else:
        method = _IN_SHORT.get(rate.interval.method) or METHODS[rate.interval.method]
        approximate = "approximate " if rate.interval.approximate else ""
        how = f"{approximate}{confidence_text(rate.interval.confidence)} {method} interval"
    if rate.n_clusters is not None and rate.n_clusters > 1:
        how += f", {rate.n_clusters:,} clusters"
    return how


def _under_faults(found: UnderFaults | None) -> Iterator[Reading]:
    """The rate of the attempts under faults, which the headline does not count."""
    if found is not None and found.pass_rate is not None:
        of = plural(found.pass_rate.n_observations, "attempt")
        yield Reading(
            "under faults", found.pass_rate, f"{found.passed:,} of {of}, whether struck or not; counted apart"
        )


def _rate_of(rate: Estimate, between: str = "  ") -> str:
    return between.join(rate_text(rate.value, rate.interval)).rstrip()


def _repeats(report: Report, confidence: float) -> list[Reading] | None:
    """pass@k and pass^k; `None` if some case has fewer attempts with an assertion."""
    k = report.repeat
    try:
        any_of = report.pass_at_k(k, None, confidence=confidence)
        all_of = report.pass_hat_k(k, None, confidence=confidence)
    except ValueError:
        return None
    found = [
        Reading(f"pass@{k}", any_of, f"at least one of {k} attempts passes"),
        Reading(f"pass^{k}", all_of, f"all {k} attempts pass"),
    ]
    return [reading for reading in found if reading.estimate is not None]


def _unanswered(report: Report, confidence: float) -> Unanswered | None:
    found = report.infrastructure(confidence=confidence)
    if found is None:
        return None
    again = (
        "with a store, rerun_failed makes"
        if report.reuse is None
        else "resume the run with --rerun-failed (rerun_failed=True) to make"
    )
    them = "it" if found.count == 1 else "them"
    return Unanswered(
        lead=(
            Part(plural(found.count, "attempt"), "caution"),
            Part(" got no answer because of a time-out, a connection or a server: "),
            *_most_common(found.failures),
            Part("."),
        ),
        readings=[
            Reading(f"without {them}", found.without, "" if found.without else "nothing is left"),
            Reading(
                "at most",
                found.at_most,
                "if it had passed" if found.count == 1 else "if all of them had passed",
            ),
        ],
        advice=f"The rate above counts {them} as not passed; "
        + (
            f"score the run again to have {them} judged." if report.seed is None else f"{again} {them} again."
        ),
    )


def _reading_text(reading: Reading) -> str:
    if reading.estimate is None:
        return f"{reading.name:<12}  {reading.meaning}".rstrip()
    value, ends = rate_text(reading.estimate.value, reading.estimate.interval)
    return f"{reading.name:<12}  {value:>7}  {ends:<14}  {reading.meaning}".rstrip()


# ---------------------------------------------------------------------- notes


def _times(report: Report) -> Measure | None:
    times = report.durations(None)
    if times is None or not times.longest:  # a message history tells no times
        return None
    facts = [_quantile("p50", times.p50, times.p50_interval)]
    short: list[str] = []
    for name, value, ends, level in (
        ("p90", times.p90, times.p90_interval, 0.9),
        ("p99", times.p99, times.p99_interval, 0.99),
    ):
        if None in ends:
            short.append(f"{name} needs {values_for_quantile(level)} cases")
        else:
            facts.append(_quantile(name, value, ends))
    facts += [f"longest {seconds(times.longest)}", *short[:1]]
    faulty = report.under_faults()
    clean = report.counts().attempts - (0 if faulty is None else faulty.attempts)
    if times.count < clean:
        facts.append("(finished tasks)")
    return Measure("Task time", [(Part(fact),) for fact in facts])


def _quantile(name: str, value: float, ends: tuple[float | None, float | None]) -> str:
    """`p90 1.2 s [1.1 s, 1.5 s]`; without the brackets where the interval lacks an end."""
    low, high = ends
    shown = f"{name} {seconds(value)}"
    return shown if low is None or high is None else f"{shown} [{seconds(low)}, {seconds(high)}]"


_MONEY = frozenset({*UNPRICED, *BESIDE_COSTS})
"""Metrics that stand with the costs."""


def _costs(report: Report, confidence: float) -> Iterator[Measure]:
    totals = report.totals
    if totals is not None and totals.costs is None and not report.keeps_all:
        return
    costs, reused = report.costs(confidence=confidence), report.reuse
    if costs.agent is not None:
        before = 0.0 if reused is None else reused.agent_cost_reused
        yield Measure("Cost", list(_cost(costs.agent, before, _each(report))))
    if costs.judges is not None:
        before = 0.0 if reused is None else reused.judge_cost_reused
        facts = list(_cost(costs.judges, before, _each(report)))
        dearest = sorted(costs.by_judge.items(), key=lambda item: -(item[1].total or 0.0))
        if len(dearest) > 1:
            facts += [(Part(name, cells=40), Part(f" {_total(one)}")) for name, one in dearest[:_JUDGES]]
        yield Measure("Judging", facts)


def _budget(report: Report) -> Iterator[Measure]:
    """How much of each limit was spent: `$4.93 of $5.00`, `judges $0.40 of $1.00`, `12 min of 1 h`."""
    use = report.budget
    if use is None:
        return
    facts: list[Line] = []
    for limit in use.budget.limits:
        whose = "" if limit.side is None else f"{limit.side} "
        facts.append((Part(f"{whose}{amount_of(limit.unit, use.spent(limit), limit.most)}"),))
    if use.budget.seconds is not None:
        facts.append((Part(f"{seconds(use.seconds)} of {seconds(use.budget.seconds)}"),))
    yield Measure("Budget", facts)


def _each(report: Report) -> str:
    """What a mean is of: where cases are repeated, all attempts at them would cost a multiple of it."""
    return "an attempt" if report.repeat > 1 else "a case"


def _limits(report: Report) -> Iterator[Measure]:
    """How fast the calls of each limit went, and what held them up: `openai 1,204 calls (3 refused), at 52/s of 60/s, waited 3 min`."""
    facts: list[Line] = []
    for use in report.limits:
        held = [
            f"{count:,} {what}"
            for count, what in (
                (use.refused, "refused"),
                (use.overloaded, "timed out or overloaded"),
                (use.failed, "failed"),
            )
            if count
        ]
        said = f" {plural(use.calls, 'call')}" + (f" ({', '.join(held)})" if held else "")
        rates = [point.rate for point in use.points if point.rate is not None]
        if use.at_most is not None:
            said += f", {use.at_most:,} at most in flight"
        else:
            said += f", up to {use.most_in_flight:,} in flight"
        if rates:
            said += f", {rate_text_of(rates)}"
        if use.longest_pause >= 1:
            said += f", a pause of {seconds(use.longest_pause)}"
        facts.append((Part(use.name, cells=40), Part(said)))
    if facts:
        yield Measure("Limits", facts)


def rate_text_of(rates: Sequence[float]) -> str:
    """How many calls a second a limit allowed: `at 52/s`, or from the least to the most."""
    low, high = min(rates), max(rates)
    if high <= 1.2 * low:
        return f"{number(rates[-1])}/s allowed"
    return f"{number(low)} to {number(high)}/s allowed, {number(rates[-1])}/s at the end"


def _cost(cost: Cost, before: float, each: str) -> Iterator[Line]:
    """`$0.43 in all`, `$0.0107 a case [$0.0098, $0.0116]`, `$0.20 of it paid before`; `at least $0.43 in all: 2 calls without a known price`."""
    unpriced = f"{plural(cost.unpriced_calls, 'call')} without a known price"
    if cost.total is None:
        yield (Part(f"unknown: {unpriced}"),)
        return
    yield (Part(f"{_total(cost)} in all" + (f": {unpriced}" if cost.unpriced_calls else "")),)
    if cost.per_case is not None:
        ends = cost.per_case.interval
        if cost.unpriced_calls:  # where the mean lies is not known, only what it is at least
            yield (Part(f"at least {dollars(cost.per_case.value)} {each}"),)
        else:
            shown = "" if ends is None else f" [{dollars(max(ends.low, 0.0))}, {dollars(ends.high)}]"
            yield (Part(f"{dollars(cost.per_case.value)} {each}{shown}"),)
    if before := before + cost.paid_before:
        yield (Part(f"{dollars(before)} of it paid before"),)


def _total(cost: Cost) -> str:
    if cost.total is None:
        return "unknown"
    return f"{'at least ' if cost.unpriced_calls else ''}{dollars(cost.total)}"


def _metrics(report: Report) -> Measure | None:
    means = {} if report.totals is not None and report.totals.metrics is None else report.metrics()
    facts: list[Line] = [
        (Part(name, cells=40), Part(f" {number(mean.value)}"))
        for name, mean in means.items()
        if mean is not None and name not in _MONEY
    ]
    return (
        Measure("Metrics", [*facts, (Part(f"(means per {_each(report).split()[-1]})"),)]) if facts else None
    )


def _warnings(report: Report) -> Iterator[Line]:
    if lost := _on_another_loop(report):
        least = "" if report.keeps_all else "at least "
        text = (
            f"{least}{plural(lost, 'attempt')} failed for a client or lock that was first used on another event loop. That says "
            "nothing about the agent. Such a client keeps connections of both loops, and later calls on the right loop may fail as well: make "
            "a new one, inside the task or for one loop only, and run again; resuming a kept run makes only these attempts"
        )
        yield (Part(text),)
    for name, blocked in report.blocked.items():
        if blocked.count == 1 and blocked.longest < _A_HICCUP:
            continue
        times = "once" if blocked.count == 1 else f"{blocked.count:,} times"
        what = f" blocked the event loop {times}, longest {seconds(blocked.longest)}: "
        if name == TASK:
            cure = "await what it waits for, or make it an ordinary function, which runs in threads"
            yield (Part(f"the async task{what}{cure}"),)
        else:
            cure = (
                "await what it waits for, or call it with asyncio.to_thread"
                if blocked.is_async
                else "make it async, or pass evaluator_timeout=... to run it in a thread"
            )
            yield Part("evaluator "), Part(safe_repr(name), cells=60), Part(what + cure)
    for expected, count in report.unread_expectations.items():
        what, cure = _EXPECTED[expected]
        state = "states" if count == 1 else "state"
        yield (Part(f"{plural(count, 'case')} {state} {what} that no evaluator compares: add {cure}"),)
    if broken := report.counts().failed_teardowns:
        yield _teardown(report, broken)


def _on_another_loop(report: Report) -> int:
    """The attempts whose task or evaluators used what belongs to another event loop."""
    judged = sum(case.on_other_loop for case in report.cases)
    return report.counts().failed_tasks.get(OtherLoopError.__name__, 0) + judged


def _teardown(report: Report, broken: int) -> Line:
    text = f"clean-up failed after {plural(broken, 'attempt')} (the judgements stand)"
    records: list[Record] = [*report.cases, *report.failures]
    for record in records:
        if (failure := record.teardown_failure) is not None:
            first = (Part(record.name, cells=60), Part(": "), Part(failure.error_message, rows=2))
            return (Part(f"{text}; the first was "), *first)
    return (Part(text),)


def _footnotes(
    report: Report, rate: Estimate | None, summaries: Mapping[str, Summary], confidence: float
) -> Iterator[Line]:
    faulty = report.under_faults(confidence=confidence)
    under = None if faulty is None else faulty.pass_rate
    rates = [
        rate,
        under,
        *(summary.estimate for summary in summaries.values() if summary.kind == "assertion"),
    ]
    means = [each.estimate if each.kind == "score" else each.graded for each in summaries.values()]
    methods = dict.fromkeys(METHODS[found.method] for found in _intervals([*rates, *means]))
    if methods:
        level = confidence_text(confidence)
        text = (
            f"[low, high] is a {level} interval ({'; '.join(methods)}): with fresh cases of "
            f"the same kind, {level} of such intervals would contain the true value."
        )
        of = {"scores": means, "rates of cases in clusters": rates}
        approximate = [what for what, found in of.items() if any(x.approximate for x in _intervals(found))]
        if approximate:
            text += f" Those of {' and of '.join(approximate)} are approximate: they go by the spread that was seen."
        if report.repeat > 1:
            text += " Repeats measure the same cases better; only more cases tell more about new ones."
        yield (Part(text, "quiet"),)
    equal = [
        name
        for name, summary in summaries.items()
        if (found := summary.estimate)
        and summary.kind == "score"
        and not found.interval
        and found.n_units > 1
    ]
    if equal:
        text = (
            ": the cases do not differ, and without the smallest and the largest possible score that says nothing of other cases. "
            "Give the evaluator a score_range, such as (0, 10)."
        )
        names = Part(", ".join(equal), "quiet", rows=2)
        yield Part("No interval for ", "quiet"), names, Part(text, "quiet")
    for name, summary in summaries.items():
        if summary.unsure_task_failures and summary.kind == "assertion" and summary.estimate:
            yield _unsure(name, summary)
    if any(summary.graded is not None for summary in summaries.values()):
        lost = any(summary.failures or summary.task_failures for summary in summaries.values())
        text = "A graded row is the mean of the scores behind a verdict, over the n attempts that have one"
        yield (Part(text + ("; a failed task or evaluator gives none." if lost else "."), "quiet"),)


def _unsure(name: str, summary: Summary) -> Line:
    """That failed tasks count against an evaluator which might have skipped them."""
    failed = plural(summary.unsure_task_failures, "attempt")
    text = (
        f" skips some cases; whether it would have judged {failed} whose task failed is not known, and the rate counts these as not "
        "passed. A comparison leaves out those that it skipped in the other run."
    )
    return Part(name, "quiet", cells=60), Part(text, "quiet")


def _intervals(estimates: Iterable[Estimate | None]) -> list[Interval]:
    return [found.interval for found in estimates if found is not None and found.interval is not None]
