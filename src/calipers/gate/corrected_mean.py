"""What people would say of all cases: the mean of a judge, corrected by people's labels of some.

Three estimates, by where the labels come from (`calipers.stats.judge`):

- *Cases of this run*: prediction-powered. Nothing is assumed about the judge, but the labelled cases have to be drawn at random from
  all cases of the run, those included whose task failed. Labels of what the judge failed, or of what looked odd, correct nothing. So
  the labels are refused if the judge thinks otherwise of the labelled cases than a random draw would explain.
- *Cases of this run, drawn in strata* (`calipers.gate.label_choice`): each was drawn with a known probability, where a label teaches most. The mean
  of each stratum is weighted by its size (`calipers.stats.stratified_mean`). Labels of cases drawn at random count with them, since
  within a stratum they are drawn at random as well. A case whose every task failed counts as such, and no one has to label it.
- *Other cases*, with what the judge said of them: Rogan and Gladen's. The judge has to err on those cases as it does on these, and
  what it said must not be why they were labelled. Labels of which the judge passed none, or all, are refused.

The case is the unit: attempts, labels of several people, and labels of several attempts at a case, are averaged. Cases in clusters are refused, since neither
estimate knows of clusters.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, comb, fsum, isfinite
from typing import Literal, NamedTuple, TypeAlias

from calipers.comparison.columns import ColumnKey, Columns
from calipers.data.human_label import Rating
from calipers.errors import InvalidOptionError
from calipers.stats import (
    Estimate,
    Interval,
    prediction_powered,
    rogan_gladen,
    stratified_mean,
    weighted_kappa,
    weighted_rate,
)
from calipers.stats.distributions import normal_quantile
from calipers.stats.number_text import plural

from .agreement_rules import Ratings
from .claims import Claim
from .human_labels import DrawnCase, Labelled, ReadRun, read_labels, yes_or_no
from .label_choice import WITHOUT_TASK, CaseStratum, strata_of
from .measure import Level
from .policy import HumanAgreement, Rules
from .run_rules import undecided
from .verdict import Finding, Unit, limit_words, quantity

Way: TypeAlias = Literal["prediction-powered", "stratified", "labels alone", "rogan-gladen"]
"""How a mean was corrected."""
_IMPROBABLE = 0.001
"""The chance, under a random draw, below which labelled cases are taken for chosen ones."""


class NotValid(NamedTuple):
    """Why labels cannot correct a judge."""

    said: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """The mean that people would give, as something to hold against a limit."""

    people: list[float]
    """What people gave to the labelled cases."""
    judged: list[float]
    """What the judge gave to the same."""
    others: list[float]
    """What the judge gave to cases of the run without a label: all of them, where the labels are of other cases."""
    from_elsewhere: bool
    """Whether the labels are of other cases."""
    strata: list[CaseStratum] | None = None
    """The stratum of each labelled case, and then of each other one, where they were drawn in strata; `None`: all alike."""
    settled: tuple[float, ...] = ()
    """What cases count as that no one has to label, where there are strata: their tasks failed."""

    @property
    def n(self) -> int:
        """Labelled cases."""
        return len(self.people)

    @property
    def weights(self) -> list[float]:
        """How many cases each labelled one stands for."""
        if self.strata is None:
            return [1.0] * self.n
        sizes, drawn = Counter(self.strata), Counter(self.strata[: self.n])
        return [sizes[each] / drawn[each] for each in self.strata[: self.n]]

    @property
    def labelled(self) -> Estimate | None:
        """The mean of the labels themselves, without an interval where they were not drawn at random; `None` without labels."""
        if not self.n:
            return None
        binary = all(label in {0, 1} for label in self.people)
        level = Level(cases=[[label] for label in self.people], is_rate=binary)
        at_random = self.strata is None and not self.from_elsewhere
        interval = level.interval(0.95) if at_random else None
        return Estimate(fsum(self.people) / self.n, interval, self.n, self.n)

    @property
    def judge(self) -> list[float]:
        """What the judge gave to the cases of the run."""
        return self.others if self.from_elsewhere else [*self.judged, *self.others, *self.settled]

    @property
    def holds_if(self) -> str:
        """What has to be so for the value to hold, in words."""
        if self.from_elsewhere:
            return "the judge errs on the labelled cases as on these, and what it said is not why they were labelled"
        if self.strata is not None:
            return "the labelled cases were those that were drawn, whatever they looked like"
        return "the labelled cases were drawn at random from all cases of the run"

    @property
    def uses_judge(self) -> bool:
        """Whether what the judge said enters the value; it does not where it would make the interval no narrower."""
        return self.found(0.95)[2] != "labels alone"

    @property
    def value(self) -> float | None:
        """The corrected mean; `None` if the judge is no better than guessing."""
        return self.found(0.95)[0]

    def interval(self, confidence: float) -> Interval | None:
        """Where the mean may lie that people would give."""
        return self.found(confidence)[1]

    def found(self, confidence: float) -> tuple[float | None, Interval | None, Way]:
        """The corrected mean, its interval and how they were made."""
        if self.from_elsewhere:
            pairs = list(zip(self.people, self.judged, strict=True))
            by = rogan_gladen(
                fsum(self.others),
                len(self.others),
                true_passes=pairs.count((1.0, 1.0)),
                passed_by_people=self.people.count(1.0),
                true_failures=pairs.count((0.0, 0.0)),
                failed_by_people=self.people.count(0.0),
                confidence=confidence,
            )
            return (None, None, "rogan-gladen") if by is None else (by.value, by.interval, "rogan-gladen")
        if self.strata is not None:
            strata = [*self.strata, *[WITHOUT_TASK] * len(self.settled)]
            labels = dict(enumerate(self.people)) | dict(enumerate(self.settled, len(self.strata)))
            drawn = stratified_mean(strata, labels, confidence=confidence)
            return (
                (None, None, "stratified") if drawn is None else (drawn.value, drawn.interval, "stratified")
            )
        found = prediction_powered(self.people, self.judged, self.others, confidence=confidence)
        if found is None:
            return None, None, "prediction-powered"
        if found.tuning:
            return found.value, found.interval, "prediction-powered"
        binary = all(label in {0, 1} for label in self.people)
        alone = Level(cases=[[label] for label in self.people], is_rate=binary)
        return found.value, alone.interval(confidence), "labels alone"

    def needed(self, limit: float, confidence: float) -> int | None:
        """Labels that would tell the mean from the limit, four times in five, if the interval narrows with their root."""
        value, interval, _ = self.found(confidence)
        if value is None or interval is None or abs(value - limit) < 1e-9:
            return None
        z = -normal_quantile((1 - confidence) / 2)
        reach = interval.width / 2 * (1 + normal_quantile(0.8) / z)
        return ceil(self.n * (reach / (value - limit)) ** 2)


def corrected(labelled: Labelled, run: Columns, key: ColumnKey, *, lost: float = 0.0) -> Corrected | NotValid:
    """What is needed to correct a column of a run, or why its labels do not allow it.

    Args:
        labelled: what people said.
        run: the run that was judged.
        key: of the judge's column: assertions or scores.
        lost: what an assertion counts as that was not made, since something failed.
    """
    if labelled.stale is not None:
        return NotValid(
            f"the labels are of another judge ({labelled.stale})", "label cases that this judge has judged"
        )
    if any(case.cluster is not None for case in run.cases):
        return NotValid(
            "cases come in clusters, of which the correction knows nothing",
            "hold the judge to kappa or share instead",
        )
    means = {
        case.name: fsum(values) / len(values)
        for case in run.cases
        if (values := run.scores(case, key, lost=lost))
    }
    kind = key[1]
    if labelled.by_case is None:
        if kind != "assertion":
            return NotValid(
                "the labels are of other cases, which corrects what passes or not, and these are scores",
                "label cases of this run",
            )
        found = Corrected(
            people=[_number(each, kind) for each in labelled.human],
            judged=[_number(each, kind) for each in labelled.judge],
            others=list(means.values()),
            from_elsewhere=True,
        )
    else:
        people = {
            name: [fsum(_number(each, kind) for each in said) / len(said) for said in labels]
            for name, labels in labelled.by_case.items()
            if name in means
        }
        if labelled.drawn:
            means_of = {name: fsum(each) / len(each) for name, each in people.items()}
            in_strata = _in_strata(means_of, labelled.drawn, run, key, lost=lost)
            if isinstance(in_strata, Corrected) or labelled.uneven:
                return in_strata
        found = Corrected(
            people=[fsum(labels) / len(labels) for labels in people.values()],
            judged=[means[name] for name in people],
            others=[value for name, value in means.items() if name not in people],
            from_elsewhere=False,
        )
    return _why_not(found) or found


def _in_strata(
    people: dict[str, float], drawn: Sequence[DrawnCase], run: Columns, key: ColumnKey, *, lost: float
) -> Corrected | NotValid:
    """What corrects a column by labels of cases that were drawn in strata."""
    found = strata_of(run, key)
    chances: dict[tuple[CaseStratum, int], set[float]] = {}
    for case, probability, draw in drawn:
        if case in found.by_case and draw is not None:
            chances.setdefault((found.by_case[case], draw), set()).add(probability)
    if any(len(some) > 1 for some in chances.values()):
        return NotValid(
            "the labelled cases were drawn by other verdicts than this judge gives",
            "draw again: `calipers label RUN --next N`",
        )
    settled = [lost for name in found.without_task if name not in people]
    strata = found.joined(list(people))
    others = [name for name in found.by_case if name not in people and found.by_case[name] != WITHOUT_TASK]
    have = {strata[name].verdict for name in people}
    lacking = Counter(strata[name].verdict for name in others if strata[name].verdict not in have)
    if lacking:
        verdict, size = lacking.most_common(1)[0]
        return NotValid(
            f"no label is of the {plural(size, 'case')} in the stratum {verdict!r}",
            "`calipers label RUN --next N` draws from every stratum",
        )
    return Corrected(
        people=list(people.values()),
        judged=[found.means[name] for name in people],
        others=[found.means[name] for name in others],
        from_elsewhere=False,
        strata=[strata[name] for name in (*people, *others)],
        settled=tuple(settled),
    )


def corrected_parts(
    subject: str, wanted: HumanAgreement, rules: Rules, run: Columns, key: ColumnKey, read_run: ReadRun | None
) -> Iterator[Finding | Claim | str]:
    """The levels that the rules ask for, as people would see them, and a note on what they rest on."""
    labelled = read_labels(wanted, key[0], run, read_run)
    if labelled.left_out is not None:
        yield f"{subject}: {labelled.left_out}"
    unit: Unit = "rate" if key[1] == "assertion" else "number"
    for limit, above in ((rules.at_least, True), (rules.at_most, False)):
        if limit is None:
            continue
        rule = f"{'at least' if above else 'at most'} {limit_words(limit, unit)}, as people would say"
        found = corrected(labelled, run, key, lost=0.0 if above else 1.0)
        if isinstance(found, NotValid):
            yield undecided(subject, rule, found.said, found.advice)
            continue
        yield _basis(subject, found, labelled, unit)
        yield Claim(
            subject=subject,
            rule=rule,
            measure=found,
            limit=limit,
            above=above,
            unit=unit,
            noun="label",
            most=None if found.from_elsewhere else found.n + len(found.others),
        )


def agreement_of(labelled: Labelled, found: Corrected | NotValid) -> tuple[float | None, float | None]:
    """The share of cases that judge and people agree on, and their kappa; `None` for what is not defined.

    Cases that were drawn in strata count for as many as they stand for.
    """
    if isinstance(found, Corrected) and found.strata is not None:
        judge, people = ([value >= 0.5 for value in part] for part in (found.judged, found.people))
        same = [one == other for one, other in zip(judge, people, strict=True)]
        rate, kappa = (
            weighted_rate(same, found.weights),
            weighted_kappa(judge, people, found.weights),
        )
        return (None if rate is None else rate.value), (None if kappa is None else kappa.value)
    share = Ratings(judge=labelled.judge, human=labelled.human, by="share")
    return share.value, replace(share, by="kappa").value


def _basis(subject: str, found: Corrected, labelled: Labelled, unit: Unit) -> str:
    """What the judge alone says, how well it agrees, whether it is used, and what has to be so for the value to hold."""
    share = agreement_of(labelled, found)[0] if unit == "rate" else None
    alone = quantity(fsum(found.judge) / len(found.judge), unit)
    agree = (
        ""
        if share is None
        else f", and agrees with people on {quantity(share, 'rate')} of {plural(found.n, 'label')}"
    )
    what = "rate" if unit == "rate" else "mean"
    own = f"the {what} held against the limit is no correction but the labels' own, since the judge makes it no more certain; it"
    basis = "the correction" if found.uses_judge else own
    return (
        f"{subject}: the judge alone says {alone} on {plural(len(found.judge), 'case')}{agree}; "
        f"{basis} holds if {found.holds_if}"
    )


def _why_not(found: Corrected) -> NotValid | None:
    if not found.n:
        return NotValid(
            "no case that the judge judged has a label of people", "draw some cases at random and label them"
        )
    passed = fsum(found.judged)
    if found.from_elsewhere and passed in {0, found.n}:
        only = "passed" if passed else "failed"
        return NotValid(
            f"all {plural(found.n, 'label')} are of cases that the judge {only}, which says nothing of the others",
            f"label cases that the judge {'failed' if passed else 'passed'}, too, without looking at what it said",
        )
    if found.from_elsewhere and len(set(found.people)) == 1:
        word = "good" if found.people[0] else "bad"
        return NotValid(
            f"people call all labelled cases {word}, so how the judge errs on others is not known",
            "label cases of both kinds",
        )
    if not found.from_elsewhere and _chance(found.judged, found.others) < _IMPROBABLE:
        one, other = (f"{fsum(part) / len(part):.3g}" for part in (found.judged, found.others))
        return NotValid(
            f"the labelled cases were not drawn at random: the judge gives them {one} on average, and the others {other}",
            "draw the cases to label at random from all cases of the run, whatever the judge said of them",
        )
    return None


def _chance(drawn: Sequence[float], left: Sequence[float]) -> float:
    """The chance that a random draw holds so many, or so few, of the cases above the mean (Fisher's exact test)."""
    both = [*drawn, *left]
    mean = fsum(both) / len(both)
    high, seen = (sum(value > mean for value in part) for part in (both, drawn))
    size = len(drawn)
    ways = [comb(high, count) * comb(len(both) - high, size - count) for count in range(min(high, size) + 1)]
    total = sum(ways)
    return min(1.0, 2 * min(sum(ways[: seen + 1]) / total, sum(ways[seen:]) / total))


def _number(label: Rating, kind: str) -> float:
    """A label as the number that the judge would give."""
    if kind == "assertion":
        return float(yes_or_no(label))
    try:
        value = float(label)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InvalidOptionError(f"the label {label!r} is no number: write one where the judge gives scores")
    return value
