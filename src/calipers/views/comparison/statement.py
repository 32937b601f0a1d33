"""What a comparison says, in sentences that a busy reader gets right.

Each sentence says what is known, how well, and where nothing is known what would help:

    better by 4.1 points, 95 % interval 1.2 to 7.0
    no difference larger than 1.8 points either way
    cannot tell: between 6.2 points worse and 9.9 points better; about 380 more cases would show 3 points

*Points* are hundredths: of a pass rate, or of a score from 0 to 1. *Significant* is not used: some take it for
important, and others for true.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import floor, log10

import msgspec

from calipers.comparison.change import Change, LabelChange, Outcome
from calipers.comparison.comparison import Comparison
from calipers.comparison.conclusion import Conclusion, ConclusionOutcome
from calipers.comparison.flips import Flip
from calipers.data.argument_checks import check_whole_number
from calipers.stats import Interval
from calipers.stats.number_text import confidence_text, number, percent, plural, rate_text, seconds
from calipers.views.text import fit

COST = re.compile(r"(?:^|[^a-z])(?:costs?|price|usd|eur|dollars?|cents?)(?:$|[^a-z])")
"""Words in the name of a metric that is money."""
_COUNTED = re.compile(r"(?:^|[^a-z])tokens?(?:$|[^a-z])")

_ROUNDING = 1e-9
"""A smaller difference of shares is what sums are rounded by."""
_LABEL = 35
"""Cells of the name of a run in a row that names a pair."""
_NAMED = 3
"""Evaluators that a sentence names."""

MARKS: dict[Outcome, tuple[str, str, str]] = {
    "better": ("▲", "+", "green"),
    "worse": ("▼", "-", "red"),
    "higher": ("•", "*", ""),
    "lower": ("•", "*", ""),
    "same": ("=", "=", "dim"),
    "identical": ("=", "=", "dim"),
    "unclear": ("?", "?", "yellow"),
}
"""For each outcome a mark, the same in ASCII, and its style in a terminal. Arrows mean better and worse, and nothing else."""


def check_max_flips(max_flips: int | None) -> None:
    """Refuse a limit that is not a whole number from 0, or `None` for no limit."""
    check_whole_number("max_flips", max_flips, at_least=0, or_none=True)


def sentence(change: Change) -> str:
    """What is known of a change."""
    level = _level(change)
    match change.outcome:
        case "better" | "worse" | "higher" | "lower":
            return _certain(change, level)
        case "same":
            assert change.interval is not None
            largest = max(abs(change.interval.low), abs(change.interval.high))
            return f"no difference larger than {amount(change, largest)} either way"
        case "identical":
            return f"the same in every one of {plural(change.candidate_cases, 'case')}"
        case "unclear":
            return _unclear(change, level)


LEAD_MARKS: dict[ConclusionOutcome, tuple[str, str, str]] = {
    "better": MARKS["better"],
    "worse": MARKS["worse"],
    "same": MARKS["same"],
    "unclear": MARKS["unclear"],
    "incomparable": MARKS["unclear"],
    "nothing": MARKS["unclear"],
}
"""For each conclusion a mark, the same in ASCII, and its style in a terminal."""

_OUTCOMES: dict[ConclusionOutcome, str] = {
    "better": "Better",
    "worse": "Worse",
    "same": "No difference worth seeing",
    "unclear": "Cannot tell which is better",
    "incomparable": "Cannot tell which is better: the runs were not judged by the same evaluators",
    "nothing": "Cannot tell which is better: the runs have no evaluator in common",
}


_ON_OTHER_LOOP = (
    "Cannot tell which is better: attempts failed on another event loop, which says nothing about the agents"
)


def lead(comparison: Comparison, *, show: Callable[[str], str] = str) -> tuple[str, ...]:
    """What a comparison comes to, by how much, and what to do: three lines; two where nothing was compared.

    Args:
        comparison: of two runs.
        show: makes the name of an evaluator safe to show.
    """
    found = comparison.conclusion
    changes = [*([comparison.pass_rate] if comparison.pass_rate else []), *comparison.evaluators]
    change = next((each for each in changes if each.name == found.change), None)
    first = _ON_OTHER_LOOP if found.advice == "leave the other loop" else _OUTCOMES[found.outcome]
    if change is None:
        return first, _advice(found, None, show)
    name = "Pass rate" if change.kind == "pass rate" else show(change.name)
    values = f"{value_text(change, change.baseline)} → {value_text(change, change.candidate)}"
    return first, f"{name} {values}: {extent(change)}", _advice(found, change, show)


def extent(change: Change) -> str:
    """By how much two runs differ, with the interval and the number of cases: `better by 4.1 points, 95 % interval 1.2 to 7.0, on 100 cases`."""
    interval = change.interval
    counts = {change.baseline_cases, change.candidate_cases}
    on = (
        plural(counts.pop(), "case")
        if len(counts) == 1
        else (f"{change.baseline_cases:,} and {plural(change.candidate_cases, 'case')}")
    )
    if interval is None:
        if change.outcome == "identical":
            return f"the same in every one of {on}"
        return _no_interval(change)
    level = _level(change)
    if interval.low > 0 or interval.high < 0:
        seen = f"{word_for(change, change.difference)} by {amount(change, change.difference)}"
        return f"{seen}, {level} interval {_ends(change)}, on {on}"
    low, high = _end(change, interval.low), _end(change, interval.high)
    return f"between {low} and {high}, {level} interval, on {on}"


def _advice(found: Conclusion, change: Change | None, show: Callable[[str], str]) -> str:
    """What to do next, in a sentence."""
    flipped = "the case that broke" if found.broken == 1 else f"the {found.broken:,} cases that broke"
    look = f"; look at {flipped} first" if found.broken else ""
    again = (
        f"make {plural(found.unanswered, 'attempt')} again that got no answer (calipers run --resume RUN --rerun-failed)"
        if found.unanswered
        else ""
    )
    if again:
        again += f", and look at {flipped}" if found.broken else ""
        look = f"; {again} first"
    match found.advice:
        case "take the candidate":
            return f"Take the candidate{look}"
        case "weigh":
            return f"Decide what matters more: {named([show(name) for name in found.worse])} got worse{look}"
        case "keep the baseline":
            return f"Keep the baseline{look}"
        case "choose freely":
            return f"Take the cheaper or simpler one{look}"
        case "confirm":
            where = "with new attempts" if _about_these(change) else "on new cases"
            return f"Compare this alone, {where}: among all that was compared it may be luck"
        case "judge alike":
            return "Judge both runs with the same evaluators, and compare again (calipers score)"
        case "answer first":
            return f"Before you decide, {again}"
        case "leave the other loop":
            return (
                "Make a new client inside the task, or for one event loop only, make these attempts again (calipers run --resume RUN), "
                "and compare again"
            )
        case "share evaluators":
            return "Judge both runs with the same evaluators, and compare again"
        case "add cases":
            if found.more_cases is not None and change is not None:
                where = "" if change.paired else " on each side"
                more = plural(_about(found.more_cases), "case")
                return f"Add about {more}{where} to see a difference of {_smallest(change)}{look}"
            where = " in new clusters" if change is not None and change.clusters is not None else ""
            return f"Add cases{where}: these are too few to exclude luck{look}"
        case "add attempts":
            if change is not None and change.attempted_once:
                return f"{_ATTEMPT_TWICE}{look}"
            if found.attempts is not None and change is not None:
                many = plural(_about(found.attempts), "attempt")
                return f"Make about {many} at each case, in both runs, to see a difference of {_smallest(change)}{look}"
            return f"Make more attempts at each case, in both runs: these are too few to exclude luck{look}"


_ATTEMPT_TWICE = (
    "Attempt each case at least twice in both runs (calipers run --repeat 5), or ask about cases like these"
)


def _about_these(change: Change | None) -> bool:
    return change is not None and change.population == "these-cases"


def named(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def amount(change: Change, value: float) -> str:
    """The size of a difference, without its sign: `4.1 points`, `12.0 %`, `0.25`."""
    size = _size(change, value)
    return f"{size} points" if change.scale == "points" else size


def difference_text(change: Change) -> tuple[str, str]:
    """The difference and its interval with their signs, for a table: `+4.1`, `[+1.2, +7.0]`."""
    if change.interval is None:
        return _signed(change, change.difference), ""
    return (
        _signed(change, change.difference),
        f"[{_signed(change, change.interval.low)}, {_signed(change, change.interval.high)}]",
    )


def value_text(change: Change, value: float) -> str:
    """A mean of one of the runs."""
    if change.kind == "duration":
        return seconds(value)
    if change.kind in {"pass rate", "assertion"}:
        return percent(value)
    return number(float(f"{value:.4g}"))


def p_text(p_value: float | None) -> str:
    """A p-value to three digits; never 0."""
    if p_value is None:
        return ""
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.3g}"


def word_for(change: Change, value: float) -> str:
    """The word for a difference in the direction of `value`: better, longer, costlier, lower."""
    rises = value > 0
    if change.kind == "duration":
        return "longer" if rises else "shorter"
    if change.better is None:
        return "higher" if rises else "lower"
    good = rises == (change.better == "higher")
    if change.kind == "metric":
        name = change.name.lower()
        if COST.search(name):
            return "cheaper" if good else "costlier"
        if _COUNTED.search(name):
            return "fewer" if good else "more"
        return "lower, which is better," if good else "higher, which is worse,"
    return "better" if good else "worse"


def p_values_text(change: Change) -> str:
    """The p-values of a change, with the one-sided one: `p 0.125 (adjusted 0.25, one-sided 0.0625)`."""
    if change.p_value is None:
        return ""
    others = []
    if change.adjusted_p is not None and change.adjusted_p != change.p_value:
        others.append(f"adjusted {p_text(change.adjusted_p)}")
    if change.one_sided_p is not None and change.p_value < 1:
        others.append(f"one-sided {p_text(change.one_sided_p)}")
    return f"p {p_text(change.p_value)}" + (f" ({', '.join(others)})" if others else "")


def flip_text(flip: Flip) -> str:
    """What became of the attempts at a case: `3/3 → 0/3`."""
    return (
        f"{flip.baseline_passed}/{flip.baseline_attempts} → {flip.candidate_passed}/{flip.candidate_attempts}"
    )


def flip_counts(flips: Sequence[Flip]) -> str:
    """How many cases broke, how many are fixed, and how many moved as far as luck would move them."""
    count = Counter(flip.way for flip in flips)
    moved = f", {count['moved']:,} moved" if count["moved"] else ""
    return f"{count['broken']:,} broken, {count['fixed']:,} fixed{moved}"


def flip_notes(comparison: Comparison) -> list[str]:
    """How many of the flips may be luck, as far as that can be known."""
    once = [flip for flip in comparison.flips if flip.basis == "other flips"]
    notes = []
    if len(once) < len(comparison.flips):
        notes.append(
            "By luck: how often a case that did not change would differ that much between two runs; more repeats make it smaller "
            f"for real changes. Above {percent(1 - comparison.confidence)}, a case is neither broken nor fixed: it moved."
        )
    if once:
        notes.append(
            f"Of cases that were attempted once, luck breaks about as many as it fixes: {'; '.join(_by_luck(once))}. Repeats "
            "(calipers run --repeat 5) would tell which."
        )
    return notes


def _by_luck(flips: Sequence[Flip]) -> Iterator[str]:
    """How many of the broken, and of the fixed, may be luck."""
    for way in ("broken", "fixed"):
        noise = [flip.noise for flip in flips if flip.way == way]
        most = round(sum(noise))
        if len(noise) == 1:
            yield f"the one that is {way} may be luck"
        elif noise and most >= len(noise):
            yield f"all {len(noise):,} {way} may be luck"
        elif noise:
            yield f"at most about {most:,} of the {len(noise):,} {way} are luck"


def label_text(change: LabelChange) -> str:
    """How many labels changed."""
    if change.changed is None:
        return "no case has a label in both"
    moved = round(change.changed.value * change.cases)
    value, ends = rate_text(change.changed.value, change.changed.interval)
    return f"another label in {moved:,} of {plural(change.cases, 'case')}: {value} {ends}".rstrip()


def lost_text(change: Change) -> str:
    """That evaluators did not finish, which never counts as a gain; empty where all did, or a score only lacks them."""
    if not (change.baseline_lost or change.candidate_lost):
        return ""
    counts = f"{plural(change.baseline_lost, 'attempt')} of the baseline and {change.candidate_lost:,} of the candidate"
    against = "count as not passed" if change.better == "higher" else "count as 1, since less is better"
    meaning = against if change.kind == "assertion" else "have no score"
    text = f"its evaluator did not finish on {counts}, which {meaning}"
    if change.judged_difference is None:
        return text
    return f"{text}; without them the difference is {_signed(change, change.judged_difference)} points"


def summary_lines(comparison: Comparison) -> list[str]:
    """The facts under the title: the cases, and how they were compared."""
    pairing = comparison.pairing
    if comparison.paired:
        cases = f"{plural(pairing.pairs, 'case')} in both"
        facts = [cases + (f", {pairing.renamed:,} of them renamed" if pairing.renamed else "")]
    else:
        facts = [
            f"{comparison.baseline.cases:,} and {plural(comparison.candidate.cases, 'case')}, none the same"
        ]
    if comparison.baseline.attempts > comparison.baseline.cases:
        facts.append(f"{plural(comparison.baseline.attempts, 'attempt')} of the baseline")
    if comparison.candidate.attempts > comparison.candidate.cases:
        facts.append(f"{plural(comparison.candidate.attempts, 'attempt')} of the candidate")
    facts += [
        f"{plural(side.failed, 'failed task')} in {side.label}"
        for side in (comparison.baseline, comparison.candidate)
        if side.failed
    ]
    return [*facts, about_text(comparison)]


def notes(comparison: Comparison) -> list[str]:
    """What to know before believing the comparison."""
    found = list(comparison.warnings)
    if comparison.pass_rate is not None and comparison.pass_rate.warning is not None:
        found.append(comparison.pass_rate.warning)
    for names, side in ((comparison.baseline_only, "candidate"), (comparison.candidate_only, "baseline")):
        if names:
            found.append(f"the {side} lacks {', '.join(names)}")
    return found


def differing_cases(comparison: Comparison) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The cases that changed, and those that bring other evaluators, each with what differs."""
    changed = [(case.name, f"another {' and '.join(case.parts)}") for case in comparison.pairing.changed]
    return changed, [(each.case, str(each)) for each in comparison.changed_evaluators]


def about_text(comparison: Comparison) -> str:
    """Which question a comparison answers."""
    return "about these cases" if comparison.population == "these-cases" else "about cases like these"


def headlines(comparisons: Sequence[Comparison]) -> list[Change]:
    """The pass rates of several pairs, each with the names of both."""
    return [
        msgspec.structs.replace(
            each.pass_rate,
            name=" against ".join(fit(side.label, _LABEL) for side in (each.candidate, each.baseline)),
        )
        for each in comparisons
        if each.pass_rate is not None
    ]


def footnote(comparison: Comparison) -> str:
    """What the p-values and intervals are."""
    level = confidence_text(comparison.confidence)
    unit = "case" if comparison.paired else "case, on either side"
    adjusted = {
        "holm": "adjusted by Holm for all that is compared together",
        "bh": "adjusted by Benjamini and Hochberg for all that is compared together",
        "none": "not adjusted for being many",
    }[comparison.correction]
    together = (
        f" Intervals of the pass rate hold for all {comparison.at_once} pairs together, and so do those of each evaluator."
        if comparison.at_once > 1
        else ""
    )
    if comparison.population == "these-cases":
        question = (
            "The question is whether these cases changed, and no others: only the noise between attempts at a case counts, and more "
            "attempts make it smaller."
        )
    else:
        question = (
            "The question is whether cases like these changed, of which these are a sample. "
            f"The unit is the {unit}: attempts at it are averaged first."
        )
    changes = [comparison.pass_rate, *comparison.evaluators]
    kinds = dict.fromkeys(
        _spread_between(change, change.interval)
        for change in changes
        if change and change.interval and change.interval.approximate
    )
    approximate = (
        f" Those of {' and of '.join(kinds)} are approximate: they go by the spread that was seen."
        if kinds
        else ""
    )
    return (
        f"{question} [low, high] is a {level} interval of the difference.{approximate} "
        f"p is the chance of a difference as large, either way, where nothing changed; {adjusted}.{together}"
    )


def _spread_between(change: Change, interval: Interval) -> str:
    """What an approximate interval is of."""
    if interval.method.startswith("clustered"):
        return "cases in clusters"
    return "scores" if change.kind == "score" else "repeated attempts"


def times_note(comparison: Comparison, *, show: Callable[[str], str] = str) -> str | None:
    """What was measured, where times were compared; `show` makes the name of a run safe to show."""
    if not any(change.kind == "duration" for change in comparison.measures):
        return None
    sides = (comparison.baseline, comparison.candidate)
    flights = [f"{each.in_flight:,.3g} in {show(each.label)}" for each in sides if each.in_flight is not None]
    told = f" Tasks in flight at once, on average: {', '.join(flights)}." if flights else ""
    return (
        "A task's time runs from its call to its end, and waiting in the client and at the service is part of it. These are two runs "
        f"at two moments: no number of cases averages out how busy everything was, so times have no p-value.{told}"
    )


def _certain(change: Change, level: str) -> str:
    text = f"{word_for(change, change.difference)} by {amount(change, change.difference)}"
    if change.interval is None:
        return f"{text} in every one of {plural(change.candidate_cases, 'case')}"
    text += f", {level} interval {_ends(change)}"
    if max(abs(change.interval.low), abs(change.interval.high)) <= change.smallest:
        text += f": less than the {_smallest(change)} worth seeing"
    return text


def _unclear(change: Change, level: str) -> str:
    interval = change.interval
    if interval is None:
        return f"cannot tell: {_no_interval(change)}"
    if interval.low > 0 or interval.high < 0:
        seen = f"{word_for(change, change.difference)} by {amount(change, change.difference)}, {level} interval {_ends(change)}"
        if change.p_value is not None and change.p_value <= 1 - interval.confidence:
            return f"perhaps {seen}: alone it would count, among all that was compared it may be luck"
        return f"cannot tell: seen {seen}, but {_few(change)} to exclude luck (p {p_text(change.p_value)})"
    between = f"between {_end(change, interval.low)} and {_end(change, interval.high)}"
    return f"cannot tell: {between}{_more(change)}"


def _few(change: Change) -> str:
    """What there is too little of."""
    if _about_these(change):
        return "these attempts are too few"
    if change.clusters is None:
        return f"{plural(change.candidate_cases, 'case')} are too few"
    worth = change.clusters if change.equal_clusters is None else round(change.equal_clusters)
    if worth == change.clusters:
        return f"{plural(change.clusters, 'cluster')} are too few"
    return (
        f"{plural(change.clusters, 'cluster')} of unequal sizes, worth about {worth} equal ones, are too few"
    )


def _no_interval(change: Change) -> str:
    if change.attempted_once:
        some = plural(change.attempted_once, "case")
        was = "was" if change.attempted_once == 1 else "were"
        return f"{some} of {change.candidate_cases:,} {was} attempted once in one of the runs, which shows no noise"
    if _about_these(change) and change.difference:
        seen = f"{word_for(change, change.difference)} by {amount(change, change.difference)}"
        return f"{seen}, and no two attempts at a case differ, so the noise is not known"
    if min(change.baseline_cases, change.candidate_cases) == 1 or change.clusters == 1:
        one = "cluster" if change.clusters == 1 else "case"
        return f"one {one} shows no spread, so no interval can be made"
    cases = plural(change.candidate_cases, "case")
    if change.difference == 0 and change.lost_cases:
        return f"the same where both runs have it, on {cases}; {plural(change.lost_cases, 'case')} lost it to something that failed"
    if change.difference == 0:
        return f"no difference was seen, and the {cases} allow no interval"
    seen = f"{word_for(change, change.difference)} by {amount(change, change.difference)}"
    return f"{seen}, and the {cases} allow no interval"


def _more(change: Change) -> str:
    """How many more cases, or attempts, would help."""
    if _about_these(change):
        if change.needed_attempts is None:
            return "; more attempts at each case would narrow it"
        return f"; about {plural(_about(change.needed_attempts), 'attempt')} at each case would show {_smallest(change)}"
    have = min(change.baseline_cases, change.candidate_cases)
    if change.needed_cases is None or change.needed_cases <= have:
        return "; more cases would narrow it"
    where = "" if change.paired else " on each side"
    more = _about(change.needed_cases - have)
    return f"; about {plural(more, 'more case')}{where} would show {_smallest(change)}"


def _about(count: int) -> int:
    """A count to two digits, rounded up: it is no better known."""
    step = int(10 ** max(0, floor(log10(count)) - 1))
    return -(-count // step) * step


def _smallest(change: Change) -> str:
    if change.scale == "number":
        return amount(change, change.smallest)
    size = f"{100 * change.smallest:.3g}"
    if change.scale == "relative":
        return f"{size} %"
    return f"{size} {'point' if size == '1' else 'points'}"


def _ends(change: Change) -> str:
    """The ends of an interval on one side of 0, as sizes: `1.2 to 7.0`."""
    assert change.interval is not None
    low, high = sorted((abs(change.interval.low), abs(change.interval.high)))
    return f"{_size(change, low)} to {_size(change, high)}"


def _end(change: Change, value: float) -> str:
    """An end of an interval around 0: `1.2 points worse`."""
    if value == 0:
        return "no difference"
    return f"{amount(change, value)} {word_for(change, value)}".rstrip(",")


def _signed(change: Change, value: float) -> str:
    if abs(value) < _ROUNDING and change.scale != "number":
        value = 0.0
    shown = _size(change, value)
    return shown if not value else f"{'+' if value > 0 else '-'}{shown}"


def _size(change: Change, value: float) -> str:
    """The size of a difference; points stand without their unit."""
    size = abs(value)
    if change.scale == "number":
        return number(float(f"{size:.3g}"))
    shown = _decimal(100 * size)
    return shown if change.scale == "points" else f"{shown} %"


def _decimal(value: float) -> str:
    """One decimal; more where the value would look like 0."""
    decimals = 1
    while value and float(f"{value:.{decimals}f}") == 0 and decimals < 6:
        decimals += 1
    return f"{value:,.{decimals}f}"


def _level(change: Change) -> str:
    return "" if change.interval is None else confidence_text(change.interval.confidence)
