"""Before a run: how many cases and repeats would show a difference, what that costs, and what a given number can show.

A plan needs a spread: how much the difference between two runs varies from case to case. The best source is a pilot of both
ways over the same cases; then one pilot, and a guess how alike the two ways are; then nothing but rates. Where cases were
attempted several times, the spread has two parts, and the plan can say what repeats would save; where they were attempted once,
it cannot, and plans for as many attempts as the pilot had.

How alike two ways are concerns the true means of cases; the noise of single attempts is never shared. One pilot that
attempted each case once does not show how much of its spread is noise, so unless a correlation is given, the plan takes the two to
share nothing, which may ask for too many cases, and not for too few.

Cases in clusters resemble each other, so they tell less than as many that are independent. Their spread is that of a clustered
comparison, and the plan counts clusters, each of as many cases as in the pilot: more cases help where they come from more
clusters.

A plan is for an *effect*, the true difference that a comparison is to find, or for the *margin* of a gate, the largest loss that would
be shipped. A gate has a wider interval than a comparison (`calipers.stats.bounded`), so the same number takes more cases as a margin.
An agent that is as good as its baseline then passes with the chance `power`, at the first of the looks that share the doubt
(`calipers.gate.looks`).
"""

from collections.abc import Sequence
from math import ceil, fsum
from typing import Literal, NamedTuple

import msgspec

from calipers.comparison.case_pairs import RunCase, cases_of, check_report, pair_cases, without_faults
from calipers.comparison.change import clusters_of
from calipers.comparison.columns import PASS_RATE, ColumnKey, Columns, passes
from calipers.data.argument_checks import check_number, check_share, check_whole_number
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import BESIDE_COSTS, JUDGE_COST
from calipers.errors import InvalidOptionError
from calipers.gate.looks import confidence_at
from calipers.report.report import Report
from calipers.stats import (
    Moments,
    VarianceComponents,
    paired_components,
    spread_of_difference,
    spread_of_paired_rates,
    spread_of_pilot,
    variance_components,
)
from calipers.stats.clusters import clustered_variance
from calipers.stats.power import ComparisonDesign, GateDesign, RateDesign

REPEATS = (1, 2, 3, 5, 10)
"""Attempts at each case for which a plan is made, unless others are asked for."""
_USUAL_CORRELATION = 0.5
"""Between two ways from case to case: from 0.3 to 0.7 between language models (Miller, "Adding Error Bars to Evals", 2024)."""
_COSTS = ("cost", "price", "usd", "eur", "token")
"""What a metric is called that costs something."""


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One way to find the effect."""

    repeats: int
    """Attempts at each case."""
    cases: int
    calls: int
    """Task calls of one run."""
    seconds: float | None = None
    """How long one run takes at the pace of the pilot; `None` without a pilot."""
    costs: dict[str, float] = {}
    """What one run costs, by the metrics of the pilot."""


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of cases can show."""

    cases: int
    repeats: int
    effect: float
    """The smallest true difference that shows with the power of the plan, or the smallest margin that is passed with it."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How large a comparison has to be."""

    subject: str
    """What is compared: the name of an evaluator, or `pass rate`."""
    unit: Literal["rate", "number"]
    """Whether an effect of 0.03 is 3 points."""
    effect: float | None
    """The true difference worth finding; `None` for a gate, or where only `reaches` are asked for."""
    margin: float | None = None
    """The margin of the gate that is planned; `None` for a comparison."""
    power: float
    """The chance to find the effect, or to pass the gate with no difference."""
    confidence: float
    """Of the interval that will judge it; of a gate's at the first look."""
    spread: VarianceComponents
    """Of the difference between two runs, from case to case and within cases; with what clusters add."""
    source: str
    """Where the spread comes from, in words."""
    knows_repeats: bool
    """Whether it is known what repeats would save."""
    clusters: int | None = None
    """Clusters of the pilot; `None` if its cases name none."""
    design_effect: float | None = None
    """How many times as large clusters make the variance of the pilot's mean, at least 1; `None` without clusters."""
    rows: tuple[PlanRow, ...] = ()
    """Ways to find the effect; none without one."""
    reaches: tuple[Reach, ...] = ()
    """What the cases that there are can show."""
    repeats_enough: int | None = None
    """Attempts at each of the cases that there are that would do; `None` if no number would, or it is not known."""
    unpriced_calls: int = 0
    """Model calls of the pilot without a known price: with these, the costs are lower bounds."""


def plan_from_pilot(
    pilot: Report,
    *,
    baseline: Report | None = None,
    evaluator: str | None = None,
    effect: float | None = None,
    margin: float | None = None,
    cases: int | None = None,
    repeats: Sequence[int] = REPEATS,
    power: float = 0.8,
    confidence: float = 0.95,
    correlation: float | None = None,
    lower_is_better: bool = False,
) -> Plan:
    """A plan from a run that was made, or from two over the same cases.

    Args:
        pilot: a run of what is to be measured.
        baseline: a run of what it will be compared with, over the same cases; without it, that is taken to spread alike.
        evaluator: whose results will be compared; default: the pass rate.
        effect: the true difference worth finding: 0.03 is 3 points of a rate.
        margin: plan a gate with this margin instead; scores lie between 0 and 1 if all of the pilot do, else anywhere.
        cases: the cases that there are; default: those of the pilot.
        repeats: attempts at each case to plan for.
        power: the chance to find the effect, or that an agent as good as its baseline passes the gate.
        confidence: of the interval that will judge it.
        correlation: how alike the two ways are from case to case, where there is one pilot: 0 not at all, 1 completely. It is that
            of the cases' true means where the pilot repeated cases, and else that of single attempts, noise included. Default:
            0.5 where it repeated them, and else 0, the cautious end.
        lower_is_better: less is good, as of leaks: an assertion that a crash kept from being made counts as 1, as in a gate.

    Raises:
        InvalidOptionError: the pilot has no such evaluator, or shows no spread; or effect and margin are both given.
    """
    check_report(pilot, "the pilot")
    if baseline is not None:
        check_report(baseline, "the baseline")
    _check_options(effect=effect, cases=cases, power=power, confidence=confidence, correlation=correlation)
    columns = _columns(pilot)
    key = _column(columns, evaluator)
    lost = 1.0 if lower_is_better else 0.0
    found = [(each, case.cluster) for case in columns.cases if (each := _values(columns, case, key, lost))]
    measured = [each for each, _ in found]
    if baseline is None:
        groups = _Groups.of(list(map(_mean, measured)), [cluster for _, cluster in found])
        spread, source = _of_one(measured, correlation, groups)
        known = any(len(each) > 1 for each in measured)
    else:
        spread, source, known, groups = _of_two(columns, _columns(baseline), key, lost)
    if effect is not None and (key is None or key[1] == "assertion" or _is_share(measured)):
        _check_points(effect)
    if spread is None or spread.between + spread.within == 0:
        raise _no_spread(measured, correlation=None if baseline is not None else correlation)
    return _plan(
        subject=evaluator or PASS_RATE,
        unit="number" if key is not None and key[1] == "score" else "rate",
        effect=effect,
        margin=margin,
        is_bounded=_is_share(measured),
        cases=cases or len(measured),
        repeats=repeats if known else (max(map(len, measured)),),
        power=power,
        confidence=confidence,
        spread=spread,
        source=source,
        known=known,
        groups=groups,
        price=_Price(_pace(pilot), _costs(pilot), _unpriced(pilot)),
    )


def plan_from_rate(
    rate: float,
    *,
    effect: float | None = None,
    margin: float | None = None,
    flips: float | None = None,
    cases: int | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
) -> Plan:
    """A plan from a guess: the pass rate that is expected.

    Args:
        rate: the pass rate of one of the two.
        effect: the true difference worth finding; the other's rate is the first plus this. Below 0 it is a loss.
        margin: plan a gate with this margin instead; the other's rate is the same.
        flips: the share of cases that only one of them passes; default: as if they had nothing in common, which is the
            cautious end.
        cases: the cases that there are.
        power: the chance to find the effect, or that an agent as good as its baseline passes the gate.
        confidence: of the interval that will judge it.

    Raises:
        InvalidOptionError: rates that cannot be, or not one of effect and margin.
    """
    if (effect is None) == (margin is None):
        raise InvalidOptionError(
            f"a plan from a rate needs either an effect or the margin of a gate, got {effect!r} and {margin!r}"
        )
    _check_options(effect=effect, cases=cases, power=power, confidence=confidence, flips=flips)
    difference = 0.0 if effect is None else effect
    _check_points(difference)
    other = rate + difference
    check_share("rate", rate, or_one=False)
    if not 0 <= other <= 1:
        end, way = ("above 1", "a loss: effect") if difference > 0 else ("below 0", "a gain: effect")
        raise InvalidOptionError(
            f"the rate {rate:g} and the effect {difference:g} make {other:.4g}, and no rate is {end}: plan for {way} "
            f"{-difference:g}, or for a smaller effect"
        )
    share = rate * (1 - other) + other * (1 - rate) if flips is None else flips
    if not (abs(difference) <= share <= 1 and share > 0):
        raise InvalidOptionError(
            f"the share of cases that flip must be more than 0 and lie between the effect, {abs(difference)!r}, and 1, got {flips!r}"
        )
    said = "a guess: none of what one passes tells what the other does" if flips is None else "a guess"
    return _plan(
        subject=PASS_RATE,
        unit="rate",
        effect=effect,
        margin=margin,
        is_bounded=True,
        cases=cases,
        repeats=(1,),
        power=power,
        confidence=confidence,
        spread=spread_of_paired_rates((share + difference) / 2, (share - difference) / 2),
        source=f"{said}; {100 * share:.3g} % of the cases flip",
        known=False,
        price=_Price(None, {}, 0),
    )


def _plan(
    *,
    subject: str,
    unit: Literal["rate", "number"],
    effect: float | None,
    margin: float | None,
    is_bounded: bool,
    cases: int | None,
    repeats: Sequence[int],
    power: float,
    confidence: float,
    spread: VarianceComponents,
    source: str,
    known: bool,
    groups: "_Groups | None" = None,
    price: "_Price",
) -> Plan:
    rows: list[PlanRow] = []
    reaches: list[Reach] = []
    enough: int | None = None
    size = 1.0 if groups is None else groups.size
    units = VarianceComponents(spread.between / size, spread.within / size)
    there = None if cases is None else int(cases / size)
    if groups is not None and there is not None and there < 2:
        raise InvalidOptionError(
            f"{cases} cases in clusters of about {size:.3g} are fewer than two clusters, which show nothing: plan for more"
        )
    wanted = effect if margin is None else margin
    passes_or_not = unit == "rate" and groups is None and tuple(repeats) == (1,)
    kind = RateDesign if passes_or_not else ComparisonDesign
    design: ComparisonDesign = kind(spread=units, power=power, confidence=confidence)
    if margin is not None:
        _check_margin(margin, effect)
        design = ComparisonDesign(spread=units, power=power, confidence=confidence_at(confidence, 1))
        if is_bounded:
            design = GateDesign(
                spread=units, power=power, confidence=design.confidence, is_clustered=groups is not None
            )
    try:
        for each in repeats:
            counted = each if known else 1  # an unknown spread is that of as many attempts as the pilot had
            if wanted is not None:
                n = ceil(design.units(wanted, counted) * size)
                calls = n * each
                took = None if price.seconds is None else price.seconds * calls
                paid = {name: cost * calls for name, cost in price.costs.items()}
                rows.append(PlanRow(repeats=each, cases=n, calls=calls, seconds=took, costs=paid))
            if cases is not None and there is not None:
                reaches.append(Reach(cases=cases, repeats=each, effect=design.reach(there, counted)))
        if known and wanted is not None and there is not None:
            enough = design.repeats(wanted, there)
    except ValueError as error:
        raise InvalidOptionError(str(error)) from error
    return Plan(
        subject=subject,
        unit=unit,
        effect=effect,
        margin=margin,
        power=power,
        confidence=design.confidence,
        spread=spread,
        source=source,
        knows_repeats=known,
        clusters=None if groups is None else groups.count,
        design_effect=None if groups is None else groups.design_effect,
        rows=tuple(rows),
        reaches=tuple(reaches),
        repeats_enough=enough,
        unpriced_calls=price.unpriced_calls,
    )


class _Price(NamedTuple):
    """What an attempt takes, as the pilot tells."""

    seconds: float | None
    costs: dict[str, float]
    """By metric."""
    unpriced_calls: int
    """Model calls of the whole pilot without a known price."""


class _Groups(msgspec.Struct, frozen=True):
    """The clusters of a pilot, and what they add to its spread."""

    count: int
    size: float
    """Cases in one, on average."""
    design_effect: float
    added: float
    """To the variance of one case: so much more would as many independent cases vary whose mean is as uncertain."""

    @classmethod
    def of(cls, values: Sequence[float], names: Sequence[str | None]) -> "_Groups | None":
        """Of cases with these values; `None` if no case names a cluster. One that names none stands alone."""
        clusters = clusters_of(names)
        if clusters is None:
            return None
        count = len(set(clusters))
        clustered = clustered_variance(values, clusters)
        alone = Moments.of(values).variance
        if clustered is None or alone is None:
            raise InvalidOptionError(
                f"all {len(values)} cases that can be planned from are in one cluster, {names[0]!r}: how clusters differ is not "
                "known; a pilot needs several"
            )
        n = len(values)
        # A smaller variance than that of independent cases is luck of few clusters, and no reason to plan for less.
        added = max(0.0, clustered * n - alone)
        return cls(count, n / count, 1 + added / alone if alone else 1.0, added)

    def widen(self, spread: VarianceComponents) -> VarianceComponents:
        """A spread with what the clusters add; it lies between cases, where repeats do not reach."""
        return VarianceComponents(spread.between + self.added, spread.within)

    def words(self) -> str:
        """That there are clusters, and what they cost."""
        return (
            f"; cases in {self.count:,} clusters of about {self.size:.3g}, design effect {self.design_effect:.3g}: more cases "
            "help if they come from more clusters"
        )


def _of_one(
    cases: Sequence[Sequence[float]], correlation: float | None, groups: _Groups | None
) -> tuple[VarianceComponents | None, str]:
    """The spread of a difference, from one run."""
    alone = variance_components(cases)
    knows_noise = alone is not None
    if alone is None:
        variance = Moments.of(list(map(_mean, cases))).variance if len(cases) > 1 else None
        alone = None if variance is None else VarianceComponents(variance, 0.0)
    if alone is None:
        return None, ""
    if groups is not None:
        alone = groups.widen(alone)
    shared = correlation if correlation is not None else _USUAL_CORRELATION if knows_noise else 0.0
    try:
        spread = spread_of_difference(alone, correlation=shared)
    except ValueError as error:
        raise InvalidOptionError(str(error)) from error
    source = (
        "one pilot with one attempt at each case, which does not tell noise from what the cases are like; so both ways are taken "
        "to have nothing in common (correlation 0), which is the cautious end: a pilot with --repeat 2, a second one, or "
        "--correlation would tell"
        if correlation is None and not knows_noise
        else f"one pilot, and a guess that both ways correlate by {shared:g} from case to case"
    )
    return spread, source + ("" if groups is None else groups.words())


def _columns(report: Report) -> Columns:
    """What a report has of its cases as they are, under no fault of tools."""
    return Columns(without_faults(cases_of(report)))


def _of_two(
    columns: Columns, old: Columns, key: ColumnKey | None, lost: float
) -> tuple[VarianceComponents | None, str, bool, _Groups | None]:
    """The spread of the difference between two runs over the same cases, whether it has two parts, and its clusters."""
    if key is not None and key not in old.by_key:
        raise InvalidOptionError(f"the baseline has no result of {key[0]!r}")
    pairs, _ = pair_cases(old.cases, columns.cases)
    both = [
        (new, before, case.cluster)
        for earlier, case in pairs
        if (new := _values(columns, case, key, lost)) and (before := _values(old, earlier, key, lost))
    ]
    first, second = [new for new, _, _ in both], [before for _, before, _ in both]
    if len(both) < 2:
        raise InvalidOptionError("the two pilots share fewer than two cases that were judged in both")
    source = f"two pilots over the same {len(both):,} cases"
    differences = [_mean(new) - _mean(before) for new, before, _ in both]
    groups = _Groups.of(differences, [cluster for _, _, cluster in both])
    parts = paired_components(first, second)
    spread = spread_of_pilot(first, second) if parts is None else parts
    if groups is not None and spread is not None:
        spread, source = groups.widen(spread), source + groups.words()
    return spread, source, parts is not None, groups


def _no_spread(cases: Sequence[Sequence[float]], *, correlation: float | None) -> InvalidOptionError:
    """The error where nothing varies."""
    if correlation == 1 and len({_mean(each) for each in cases}) > 1:
        return InvalidOptionError(
            "correlation 1 says that the two differ by the same in every case, which leaves no spread to plan for: "
            "give one below 1"
        )
    return InvalidOptionError(
        f"the pilot shows no spread ({len(cases)} cases, all alike): nothing can be planned from it; "
        "give rates instead, or a larger pilot"
    )


def _is_share(cases: Sequence[Sequence[float]]) -> bool:
    """Whether all values lie between 0 and 1, so that none differ by more than 1."""
    return all(0 <= value <= 1 for values in cases for value in values)


def _check_options(*, cases: int | None, power: float, confidence: float, **numbers: float | None) -> None:
    """Refuse options that are not numbers; whether they make a plan together is seen later."""
    check_whole_number("cases", cases, at_least=2, or_none=True)
    for name, value in {"power": power, "confidence": confidence}.items():
        check_share(name, value, or_zero=False, or_one=False)
    for name, number in numbers.items():
        check_number(name, number, or_none=True)


def _check_points(effect: float) -> None:
    """Refuse an effect that no two rates can differ by, such as 5 for 5 points."""
    if abs(effect) >= 1:
        size = abs(effect)
        way = f"write {effect / 100:g} for {effect:g} points" if 1 < size < 100 else "choose a smaller one"
        raise InvalidOptionError(
            f"effect {effect:g} is {100 * effect:g} points: results lie between 0 and 1, so nothing differs by as much; {way}"
        )


def _check_margin(margin: float, effect: float | None) -> None:
    if effect is not None:
        raise InvalidOptionError(
            f"plan for an effect or for the margin of a gate, not both: got {effect!r} and {margin!r}"
        )
    check_number("margin", margin, above=0)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _column(columns: Columns, name: str | None) -> ColumnKey | None:
    if name is None:
        if not columns.asserts:
            there = ", ".join(dict.fromkeys(repr(each) for each, _ in columns.by_key)) or "none"
            raise InvalidOptionError(f"the pilot asserts nothing: name an evaluator; there are {there}")
        return None
    found = [key for key in columns.by_key if key[0] == name]
    if len(found) > 1:
        kinds = " and ".join(kind for _, kind in found)
        raise InvalidOptionError(
            f"{name!r} gives results of several kinds in the pilot, {kinds}: each alone leaves cases out; let it give one, "
            "such as 0.0 instead of False"
        )
    if found and found[0][1] != "label":
        return found[0]
    there = ", ".join(dict.fromkeys(repr(each) for each, kind in columns.by_key if kind != "label")) or "none"
    raise InvalidOptionError(f"the pilot has no assertion or score of {name!r}; there are {there}")


def _values(columns: Columns, case: RunCase, key: ColumnKey | None, lost: float) -> list[float]:
    """The numbers of a case; an assertion that a crash kept from being made counts as what is given."""
    return passes(case, lost=lost) if key is None else columns.scores(case, key, lost=lost)


def _pace(pilot: Report) -> float | None:
    """Seconds for each attempt: of the whole run, which made several at once, or else of the task alone."""
    attempts = len(pilot.cases) + len(pilot.failures)
    if pilot.duration and attempts:
        return pilot.duration / attempts
    found = pilot.durations(None)
    return None if found is None else found.mean


def _unpriced(pilot: Report) -> int:
    """How many model calls, of the agent and of its judges, have no known price."""
    paid = pilot.costs()
    return sum(each.unpriced_calls for each in (paid.agent, paid.judges) if each is not None)


def _costs(pilot: Report) -> dict[str, float]:
    """What an attempt costs, by each metric that is a cost: the agent's, and that of its judges."""
    found: dict[str, list[float]] = {}
    records: list[ReportCase | ReportCaseFailure] = [*pilot.cases, *pilot.failures]
    for record in records:
        metrics = record.all_metrics if isinstance(record, ReportCase) else record.metrics
        for name, value in metrics.items():
            if name not in BESIDE_COSTS and any(word in name.lower() for word in _COSTS):
                found.setdefault(name, []).append(float(value))
    if JUDGE_COST in found:  # where no model was asked, judging cost nothing
        found[JUDGE_COST] += [0.0] * (len(records) - len(found[JUDGE_COST]))
    return {name: fsum(values) / len(values) for name, values in found.items()}
