"""The difference between two runs in one column, with its interval, its p-value and what they allow to say.

The unit is the case, with its attempts averaged first, or the cluster of cases. The difference is the candidate minus the
baseline; for times and metrics it is relative: 0.1 says a tenth more.

| what                    | on the same cases                               | on different cases          |
|-------------------------|-------------------------------------------------|-----------------------------|
| pass rates, assertions  | Newcombe, or t under repeats and clusters       | Newcombe                    |
| scores                  | t of the differences                            | Welch                       |
| how long a task takes   | t of the differences of logarithms              | Welch of the logarithms     |
| metrics, such as cost   | ratio of the totals, by Fieller; t of the differences where that is open | Welch, of logarithms if positive |

Times spread by factors, and a user waits for one answer: the logarithm asks how much slower a typical case got, and one
case that hung does not drown the others. A bill is a sum: the ratio of totals asks how much larger it got, and the one case that
costs as much as all others has to count.

All this asks about cases like these, of which these are a sample. Where only these cases are asked about (`population`), the variance is
that between attempts at a case (`calipers.stats.difference`), for times and amounts that of their logarithms.

The p-value on the same cases is McNemar's (mid-p), or that of the sign-flip test, exact where no more than 28 cases or clusters differ,
since a t test of a handful of cases is surer than they allow; with more it is that of the t test. Clusters of which a few hold most of the
cases tell no more than those few do, however many there are: there the sign-flip test draws its signs.

Labels have no mean: of them it is counted from which label to which the cases went (`LabelChange`).

The *outcome* is `better` or `worse` only if the interval excludes 0 and the adjusted p-value says the same: where many
columns are compared, an interval alone is lucky too often. `same` is a finding, not the lack of one: the whole interval is
within the smallest difference worth seeing. Everything else is `unclear`. Where it is not known which direction is good, it is
`higher` or `lower`. Times are, too, and have no p-value: all times of a run share its moment, its concurrency and how busy the
service was, and one run on each side cannot tell these from the agent. `identical` is said of scores that are equal in every case, for which no interval is known, and where none was lost.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil, exp, expm1, fsum, log, sqrt
from typing import Literal, TypeAlias

import msgspec

from calipers.stats.clusters import cluster_degrees, clustered_variance, independent_groups
from calipers.stats.difference import (
    Difference,
    compare_paired,
    compare_these,
    compare_unpaired,
    growth_of_these,
    without_rounding,
)
from calipers.stats.distributions import normal_quantile
from calipers.stats.estimate import Estimate, rate
from calipers.stats.interval import Interval
from calipers.stats.p_values import permutation_test
from calipers.stats.power import cases_needed
from calipers.stats.ratio import ratio_of_totals
from calipers.stats.sample import Moments
from calipers.stats.variance import VarianceComponents

from .case_pairs import Pair
from .columns import Columns

ChangeKind: TypeAlias = Literal["pass rate", "assertion", "score", "duration", "metric"]
Scale: TypeAlias = Literal["points", "number", "relative"]
"""How a difference is counted: of values from 0 to 1, of other numbers, or as a share of the baseline."""
Direction: TypeAlias = Literal["higher", "lower"]
"""Which of two values is the better one."""
Outcome: TypeAlias = Literal["better", "worse", "higher", "lower", "same", "identical", "unclear"]
"""What is known of a difference; the module says when."""

Population: TypeAlias = Literal["cases-like-these", "these-cases"]
"""What a question is about: all the cases that these are a sample of, or these cases and no others."""

Cases: TypeAlias = Sequence[Sequence[float]]
"""For every case, the numbers of its attempts."""
Clusters: TypeAlias = Sequence[Hashable] | None

_COUNTED = 28
"""Cases or clusters that differ, up to which `permutation_test` counts every choice of signs."""
_FLIPS_DRAWN = 2_000_000
"""Signs to draw at most, so that a comparison of many clusters stays quick."""

_AWAY = 2.5
"""Added to logarithms, so that those of 1 and e are not taken for a fail and a pass."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One column in two runs."""

    name: str
    kind: ChangeKind
    scale: Scale
    better: Direction | None
    """Which direction is the good one; `None` if that is not known."""
    paired: bool
    """Whether the same cases were compared."""
    baseline: float
    """The baseline's mean over the cases compared; of durations the geometric mean, in seconds."""
    candidate: float
    difference: float
    """The candidate minus the baseline; with the scale `relative`, as a share of the baseline."""
    interval: Interval | None = None
    """Of the difference; `None` if the data cannot tell."""
    p_value: float | None = None
    """How likely so large a difference, either way, is between two runs of the same thing; `None` if it is not known."""
    one_sided_p: float | None = None
    """The same for a difference in this direction only, for a question that was settled before looking."""
    adjusted_p: float | None = None
    """The p-value, adjusted for all that was asked together."""
    test: str | None = None
    """The test that the p-values are of."""
    baseline_cases: int
    """Cases compared."""
    candidate_cases: int
    """Cases compared; if paired, the same ones."""
    clusters: int | None = None
    """Clusters of paired cases; `None` if none were declared."""
    equal_clusters: float | None = None
    """How many equally large clusters these are worth: two large ones among many small ones are worth little more than two."""
    smallest: float
    """The smallest difference worth seeing, on the scale of the difference."""
    needed_cases: int | None = None
    """Cases that would show the smallest difference worth seeing in 4 of 5 comparisons; `None` if it is not known."""
    population: Population = "cases-like-these"
    """What the interval and the p-values are about."""
    needed_attempts: int | None = None
    """Attempts at each case that would show it on these cases; `None` if it is not known, or cases like these are asked about."""
    attempted_once: int = 0
    """Where these cases are asked about: those with a single attempt in one of the runs, which shows no noise."""
    baseline_lost: int = 0
    """Attempts on which the evaluator did not finish: an assertion counts them as not passed (where lower is better, as
    1, so that they are no gain), a score leaves them out."""
    candidate_lost: int = 0
    judged_difference: float | None = None
    """The difference without these attempts; `None` if there are none."""
    lost_cases: int = 0
    """Cases of both runs that lack a score, time or metric, or some attempts' of it, in either, since something crashed. What
    is left may be equal; the runs are not."""
    warning: str | None = None
    """Why the two columns may not mean the same, or say nothing of the agents."""
    outcome: Outcome = "unclear"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare: the numbers of both runs, and what they mean."""

    name: str
    kind: ChangeKind
    baseline: Cases
    candidate: Cases
    paired: bool
    baseline_clusters: Clusters = None
    candidate_clusters: Clusters = None
    better: Direction | None = "higher"
    smallest: float
    """The smallest difference worth seeing, of values from 0 to 1."""
    smallest_relative: float
    """The same of all others, as a share of the baseline."""
    confidence: float = 0.95
    population: Population = "cases-like-these"
    baseline_lost: int = 0
    candidate_lost: int = 0
    lost_cases: int = 0
    warning: str | None = None


def change_of(question: Question) -> Change | None:
    """The difference that a question asks for, not adjusted yet; `None` if a side has no case."""
    if not question.baseline or not question.candidate:
        return None
    if question.kind in {"duration", "metric"}:
        return _growth_of_these(question) if _only_these(question) else _relative(question)
    difference = _difference(question, question.candidate, question.baseline)
    values = [value for cases in (question.baseline, question.candidate) for case in cases for value in case]
    shares = min(values) >= 0 and max(values) <= 1
    if question.kind != "score" and difference.interval is not None:  # t knows no bounds, and rates have them
        within = _moved(difference.interval, lambda end: min(max(end, -1.0), 1.0))
        difference = msgspec.structs.replace(difference, interval=within)
    smallest = question.smallest if shares else question.smallest_relative * abs(difference.second)
    needed = None
    if not _only_these(question):
        needed = _needed(
            question, question.candidate, question.baseline, smallest, rates=question.kind != "score"
        )
    change = _change(
        question,
        difference,
        scale="points" if shares else "number",
        smallest=smallest,
        needed=needed,
    )
    return _with_attempts(change, question, difference, smallest)


class LabelMove(msgspec.Struct, frozen=True):
    """Cases that have one label in the baseline and one in the candidate."""

    baseline: str
    candidate: str
    cases: int


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """One column of labels in two runs over the same cases. A case that is repeated has the label it is given most often."""

    name: str
    cases: int
    """Cases with a label in both."""
    moves: tuple[LabelMove, ...]
    """How many went from which label to which, those that stayed included; most frequent first."""
    changed: Estimate | None
    """The share of cases whose label is another one now."""
    warning: str | None = None


def label_change(
    name: str,
    pairs: Iterable[Pair],
    baseline: Columns,
    candidate: Columns,
    *,
    confidence: float,
    warning: str | None = None,
) -> LabelChange | None:
    """Where the labels of a column went; `None` if no case has one in both."""
    moves: Counter[tuple[str, str]] = Counter()
    changed: list[tuple[float, int]] = []
    clusters: list[str | None] = []
    for one, two in pairs:
        before, after = baseline.labels(one, name), candidate.labels(two, name)
        if before and after:
            move = _usual(before), _usual(after)
            moves[move] += 1
            changed.append((float(move[0] != move[1]), 1))
            clusters.append(one.cluster if one.cluster is not None else two.cluster)
    if not moves:
        return None
    return LabelChange(
        name=name,
        cases=moves.total(),
        moves=tuple(LabelMove(*labels, count) for labels, count in moves.most_common()),
        changed=rate(changed, clusters=clusters_of(clusters), confidence=confidence),
        warning=warning,
    )


def decided(change: Change, adjusted_p: float | None, *, confidence: float) -> Change:
    """The change with its adjusted p-value, and the outcome that both allow."""
    return msgspec.structs.replace(
        change, adjusted_p=adjusted_p, outcome=_outcome(change, adjusted_p, 1 - confidence)
    )


def _outcome(change: Change, adjusted_p: float | None, level: float) -> Outcome:
    interval = change.interval
    if change.kind == "duration" and interval is not None and (interval.low > 0 or interval.high < 0):
        return "higher" if change.difference > 0 else "lower"
    certain = adjusted_p is not None and adjusted_p <= level
    if interval is None:
        if change.difference == 0 and (change.p_value == 1 or change.kind == "duration"):
            return "unclear" if change.lost_cases else "identical"
        return _side(change) if certain and change.difference else "unclear"
    if certain and (interval.low > 0 or interval.high < 0):
        return _side(change)
    within = -change.smallest <= interval.low and interval.high <= change.smallest
    return "same" if within else "unclear"


def _side(change: Change) -> Outcome:
    direction: Direction = "higher" if change.difference > 0 else "lower"
    if change.better is None:
        return direction
    return "better" if direction == change.better else "worse"


def _change(
    question: Question,
    found: Difference,
    *,
    scale: Scale,
    smallest: float,
    needed: int | None,
    means: tuple[float, float] | None = None,
) -> Change:
    candidate, baseline = (found.first, found.second) if means is None else means
    if question.kind == "duration":
        found = msgspec.structs.replace(found, p_value=None, test=None)
    halved = found.test not in {None, "fisher"}  # Fisher's two sides are not alike
    return Change(
        name=question.name,
        kind=question.kind,
        scale=scale,
        better=question.better,
        paired=question.paired,
        baseline=baseline,
        candidate=candidate,
        difference=found.value,
        interval=found.interval,
        p_value=found.p_value,
        one_sided_p=found.p_value / 2 if halved and found.p_value is not None else None,
        test=found.test,
        baseline_cases=found.n_second,
        candidate_cases=found.n_first,
        clusters=found.n_clusters,
        equal_clusters=_equal_clusters(question) if found.n_clusters else None,
        smallest=smallest,
        needed_cases=needed,
        population=question.population,
        attempted_once=_attempted_once(question) if _only_these(question) else 0,
        baseline_lost=question.baseline_lost,
        candidate_lost=question.candidate_lost,
        lost_cases=question.lost_cases,
        warning=question.warning,
    )


def _equal_clusters(question: Question) -> float | None:
    clusters = question.baseline_clusters
    return None if clusters is None else independent_groups(Counter(clusters).values())


def _difference(question: Question, candidate: Cases, baseline: Cases) -> Difference:
    """The candidate's cases minus the baseline's."""
    if _only_these(question):
        these = compare_these(candidate, baseline, confidence=question.confidence)
        assert these is not None
        return these
    if question.paired:
        clusters = question.baseline_clusters
        found = compare_paired(candidate, baseline, clusters=clusters, confidence=question.confidence)
        assert found is not None
        return _by_signs(found, candidate, baseline, clusters)
    unpaired = compare_unpaired(
        candidate,
        baseline,
        first_clusters=question.candidate_clusters,
        second_clusters=question.baseline_clusters,
        confidence=question.confidence,
    )
    assert unpaired is not None
    return unpaired


def _by_signs(found: Difference, candidate: Cases, baseline: Cases, clusters: Clusters) -> Difference:
    """The difference with the p-value of the sign-flip test, where cases or clusters tell too little for that of the t test."""
    if found.test not in {"paired-t", "clustered-t"}:
        return found
    moving = sum(change != 0 for change in without_rounding(_means(candidate), _means(baseline))[0])
    units = min(moving, found.n_clusters or moving)
    few_large = clusters is not None and cluster_degrees(Counter(clusters).values()) <= _COUNTED
    if units > _COUNTED and not few_large:
        return found
    draws = min(10_000, max(1000, _FLIPS_DRAWN // max(1, units)))
    test = permutation_test(candidate, baseline, seed=0, clusters=clusters, resamples=draws)
    if test is None or not (test.exact or few_large):
        return found
    return msgspec.structs.replace(found, p_value=test.p_value, test="sign-flip")


def _relative(question: Question) -> Change:
    """The change of a time or an amount, as a share of the baseline."""
    candidate, baseline = _means(question.candidate), _means(question.baseline)
    positive = min(*candidate, *baseline) > 0
    if positive and (question.kind == "duration" or not question.paired):
        return _of_logarithms(question, candidate, baseline)
    found = _difference(question, question.candidate, question.baseline)
    if question.paired and not any(without_rounding(candidate, baseline)[0]):
        found = msgspec.structs.replace(found, interval=None)  # amounts of 0 and 1 are no passes
    totals = min(*candidate, *baseline) >= 0 and fsum(baseline) > 0
    if question.paired and totals and (bill := _of_totals(question, found, candidate, baseline)) is not None:
        return bill
    smallest = question.smallest_relative * abs(found.second)
    needed = _needed(question, question.candidate, question.baseline, smallest)
    return _change(question, found, scale="number", smallest=smallest, needed=needed)


def _of_logarithms(question: Question, candidate: list[float], baseline: list[float]) -> Change:
    """How much more the typical case takes: a ratio of geometric means."""
    logs = [[log(value) + _AWAY] for value in candidate], [[log(value) + _AWAY] for value in baseline]
    found = _difference(question, *logs)
    needed = _needed(question, *logs, log(1 + question.smallest_relative))
    ends = found.interval
    interval = None if ends is None else _moved(ends, expm1)
    relative = msgspec.structs.replace(found, value=expm1(found.value), interval=interval)
    return _change(
        question,
        relative,
        scale="relative",
        smallest=question.smallest_relative,
        needed=needed,
        means=(exp(found.first - _AWAY), exp(found.second - _AWAY)),
    )


def _of_totals(
    question: Question, found: Difference, candidate: list[float], baseline: list[float]
) -> Change | None:
    """How much larger the bill is: a ratio of totals, whose test of 1 is that of the difference found.

    `None` where a few cases make up so much of the baseline's bill that no finite ratio is excluded.
    """
    groups = question.baseline_clusters or range(len(baseline))
    tops, bottoms = _totals(candidate, groups), _totals(baseline, groups)
    ratio = ratio_of_totals(tops, bottoms, confidence=question.confidence)
    assert ratio is not None
    assert ratio.value is not None
    interval = None
    if ratio.low is not None and ratio.high is not None:
        interval = Interval(ratio.low - 1, ratio.high - 1, question.confidence, "fieller")
    elif found.interval is not None:
        return None
    relative = msgspec.structs.replace(found, value=ratio.value - 1, interval=interval)
    smallest = question.smallest_relative * found.second
    needed = _needed(question, question.candidate, question.baseline, smallest)
    return _change(question, relative, scale="relative", smallest=question.smallest_relative, needed=needed)


def _totals(values: list[float], groups: Sequence[Hashable]) -> list[float]:
    found: dict[Hashable, float] = {}
    for group, value in zip(groups, values, strict=True):
        found[group] = found.get(group, 0.0) + value
    return list(found.values())


def _growth_of_these(question: Question) -> Change:
    """The change of a time or an amount on these cases: of the typical case for times, of the total for amounts."""
    totals = min(*_means(question.candidate), *_means(question.baseline)) >= 0
    found = None
    if totals:
        found = growth_of_these(
            question.candidate,
            question.baseline,
            by_case=question.kind == "duration",
            confidence=question.confidence,
        )
    if found is None:
        found = _difference(question, question.candidate, question.baseline)
        smallest = question.smallest_relative * abs(found.second)
        return _with_attempts(
            _change(question, found, scale="number", smallest=smallest, needed=None),
            question,
            found,
            smallest,
        )
    interval = None if found.interval is None else _moved(found.interval, expm1)
    change = _change(
        question,
        msgspec.structs.replace(found, value=expm1(found.value), interval=interval),
        scale="relative",
        smallest=question.smallest_relative,
        needed=None,
        means=(exp(found.first), exp(found.second)),
    )
    return _with_attempts(change, question, found, log(1 + question.smallest_relative))


def _only_these(question: Question) -> bool:
    return question.population == "these-cases"


def _attempted_once(question: Question) -> int:
    pairs = zip(question.candidate, question.baseline, strict=True)
    return sum(min(len(one), len(two)) < 2 for one, two in pairs)


def _with_attempts(change: Change, question: Question, found: Difference, effect: float) -> Change:
    """The change with the attempts at each case that would show an effect four times in five."""
    interval = found.interval
    if not _only_these(question) or interval is None or not effect > 0:
        return change
    have = min(map(len, (*question.candidate, *question.baseline)))
    sure = normal_quantile((1 + interval.confidence) / 2)
    error = interval.width / 2 / sure
    needed = have * ((sure + normal_quantile(0.8)) * error / effect) ** 2
    return msgspec.structs.replace(change, needed_attempts=max(2, ceil(needed)) if needed < 1e5 else None)


def _moved(interval: Interval, to: Callable[[float], float]) -> Interval:
    return msgspec.structs.replace(interval, low=to(interval.low), high=to(interval.high))


def _needed(
    question: Question, candidate: Cases, baseline: Cases, effect: float, *, rates: bool = False
) -> int | None:
    """Cases, on each side, that show the effect with a chance of 80 %; `None` where no spread is known."""
    one, two = _means(candidate), _means(baseline)
    if question.paired:
        differences, equal = without_rounding(one, two)
        spread = 0.0 if equal else _spread(differences, question.baseline_clusters)
    else:
        spread = _spread(one, question.candidate_clusters) + _spread(two, question.baseline_clusters)
    if spread == 0 and rates:
        # None of n cases differed, so some 1 in n + 2 may (Laplace's rule of succession).
        spread = 1 / (min(len(one), len(two)) + 2)
    if spread > 0 and effect > 0 and sqrt(spread) < 1e5 * effect:
        return cases_needed(effect, VarianceComponents(spread, 0.0), confidence=question.confidence)
    return None


def clusters_of(names: Sequence[str | None]) -> list[Hashable] | None:
    """The cluster of each case, where any names one; a case that names none stands alone."""
    if not any(name is not None for name in names):
        return None
    return [place if name is None else name for place, name in enumerate(names)]


def _spread(values: list[float], clusters: Clusters) -> float:
    """The variance of one case, with what clusters add; that they take something away is luck of a few."""
    alone = Moments.of(values).variance or 0.0
    together = None if clusters is None else clustered_variance(values, clusters)
    return max(alone, len(values) * (together or 0.0))


def _means(cases: Cases) -> list[float]:
    return [fsum(case) / len(case) for case in cases]


def _usual(labels: list[str]) -> str:
    """The commonest label; of equally common ones the first given."""
    return labels[0] if len(labels) == 1 else Counter(labels).most_common(1)[0][0]
