"""How well a judge agrees with people, as a policy asks for it: claims to be decided, and findings where the labels show nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Literal

from calipers.comparison.case_pairs import RunCase
from calipers.comparison.columns import Columns
from calipers.stats import Interval, VarianceComponents, cases_needed, clopper_pearson, cohen_kappa
from calipers.stats.bounded import cases_to_clear
from calipers.stats.distributions import student_t_quantile
from calipers.stats.number_text import first_few, plural

from .claims import Claim
from .human_labels import ReadRun, read_labels
from .policy import Policy, Rules
from .run_rules import undecided
from .verdict import Finding, Unit, limit_words


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The agreement of a judge with people."""

    judge: list[str]
    human: list[str]
    by: Literal["kappa", "share"]

    @property
    def n(self) -> int:
        """Cases that both rated."""
        return len(self.judge)

    @property
    def same(self) -> int:
        """Cases on which both say the same."""
        return sum(a == b for a, b in zip(self.judge, self.human, strict=True))

    @property
    def value(self) -> float | None:
        """Kappa, or the share; `None` if it is not defined."""
        if not self.n:
            return None
        if self.by == "share":
            return self.same / self.n
        found = cohen_kappa(self.judge, self.human)
        return None if found is None else found.value

    def interval(self, confidence: float) -> Interval | None:
        """Of kappa, or of the share."""
        if self.by == "share":
            return clopper_pearson(self.same, self.n, confidence=confidence)
        found = cohen_kappa(self.judge, self.human, confidence=confidence) if self.n else None
        return None if found is None else found.interval

    def why_open(self, human: str) -> tuple[str, str] | None:
        """Why these ratings (of `human`, the column of people) show nothing, and what to do; `None` if they show something.

        Where one side gave the same answer every time, kappa is 0 or undefined however well both agree.
        """
        if not self.n:
            return (
                f"there is no case with both a rating of the judge and one of people ({human!r})",
                "label some cases that the judge has judged: 50 of each kind are a beginning",
            )
        judge, people = set(self.judge), set(self.human)
        if len(judge) > 1 < len(people) and not judge & people:
            return (
                f"the judge says {_named(judge)} and people say {_named(people)}: no answer is in common",
                "write both in the same words",
            )
        if self.by == "kappa" and (len(people) == 1 or len(judge) == 1):
            who, said = ("people", people) if len(people) == 1 else ("the judge", judge)
            all_alike = f"{who} said {_named(said)} of all {plural(self.n, 'case')}"
            return (
                f"{all_alike}, which leaves kappa undefined, or 0 whatever the other says (both agree on {self.same:,})",
                "label cases of another kind, too, some that are good and some that are not; or set share instead of kappa",
            )
        return None

    def needed(self, limit: float, confidence: float) -> int | None:
        """Labels that would tell the agreement from the limit."""
        interval, value = self.interval(confidence), self.value
        if interval is None or value is None or abs(value - limit) < 1e-9:
            return None
        if self.by == "share":
            return _labels_to_clear(value, limit, confidence)
        found = cohen_kappa(self.judge, self.human)
        if interval.method == "clopper-pearson" and found is not None:  # no label disagrees
            share = 1 - (1 - limit) * found.chance_disagreement
            return _labels_to_clear(1.0, max(0.0, share), confidence)
        # The lower end is that of log(1 - kappa), unless it is cut off at -1; the upper one about the value and its error times t.
        apart = 1 - value
        reach = apart * log((1 - interval.low) / apart) if interval.low > -1 else interval.high - value
        error, distance = reach / -student_t_quantile((1 - confidence) / 2, self.n - 1), limit - value
        if value > limit:
            error, distance = error / apart, log((1 - limit) / apart)
        try:
            return cases_needed(distance, VarianceComponents(self.n * error**2, 0.0), confidence=confidence)
        except ValueError:  # the distance is too small beside the spread for any plan
            return None


def agreement_parts(
    name: str, rules: Rules, run: Columns, read_run: ReadRun | None
) -> Iterator[Finding | Claim | str]:
    """How well the judge has to agree, by kappa and by share, and a note on lines without a label."""
    wanted = rules.agreement
    if wanted is None or wanted.kappa is wanted.share is None:
        return
    labelled = read_labels(wanted, name, run, read_run)
    judge, human, stale = labelled.judge, labelled.human, labelled.stale
    if labelled.left_out is not None:
        yield f"{name}: {labelled.left_out}"
    if labelled.uneven:
        yield undecided(
            name,
            "agreement with people",
            "the labelled cases were drawn where the judge is likely to err, so it agrees less on them than on all",
            "ask for its passport instead (passport: {kappa: …}), which weighs them, or label cases drawn at random",
        )
        return
    if wanted.kappa is not None:
        ratings = Ratings(judge=judge, human=human, by="kappa")
        yield _agreed(name, ratings, wanted.kappa, stale, ratings.why_open(wanted.question or wanted.human))
    if wanted.share is not None:
        ratings = Ratings(judge=judge, human=human, by="share")
        yield _agreed(name, ratings, wanted.share, stale, ratings.why_open(wanted.question or wanted.human))


class Agreements:
    """The agreements that a policy asks for, while a run goes on: labels do not change, and the judge may be another one."""

    def __init__(self, policy: Policy, read_run: ReadRun | None) -> None:
        self.policy = policy
        self.read_run = read_run
        wanted = (rules.agreement for rules in policy.evaluators.values())
        self._may_change = any(each is not None and each.run is not None for each in wanted)
        self._is_stale = False
        self._cases: list[RunCase] = []
        parts = self._read()
        self._claims = [part for part in parts if isinstance(part, Claim)]
        self.count = len(parts)
        """Claims that have their part of the doubt, whether or not the labels tell anything."""
        self.hold = all(
            isinstance(part, Claim) and part.holds(part.measure.interval(policy.confidence)) for part in parts
        )
        """Whether the labels show every agreement that is asked for."""

    def failing(self, confidence: float) -> Claim | None:
        """A claim that fails at a confidence, whatever the run brings; `None` if there is none."""
        failed = (claim for claim in self._claims if claim.fails(claim.measure.interval(confidence)))
        return next(failed, None)

    def add(self, case: RunCase) -> None:
        """Take in one more case of the run."""
        if self._may_change and not self._is_stale:
            self._cases.append(case)

    def are_of_these_judges(self) -> bool:
        """Whether the labelled runs have the judges of this run; another judge stays another one."""
        if self._may_change and not self._is_stale:
            self._is_stale = sum(isinstance(part, Claim) for part in self._read()) < len(self._claims)
        return not self._is_stale

    def _read(self) -> list[Finding | Claim]:
        run, named = Columns(self._cases), self.policy.evaluators.items()
        return [
            part
            for name, rules in named
            for part in agreement_parts(name, rules, run, self.read_run)
            if not isinstance(part, str)
        ]


def _agreed(
    name: str, ratings: Ratings, limit: float, stale: str | None, empty: tuple[str, str] | None
) -> Finding | Claim:
    unit: Unit = "number" if ratings.by == "kappa" else "rate"
    what = "kappa with people" if ratings.by == "kappa" else "agreement with people"
    rule = f"{what} at least {limit_words(limit, unit)}"
    if stale is not None:
        said = f"the agreement was measured with another judge ({stale})"
        empty = said, "label cases that this judge has judged"
    if empty is not None:
        return undecided(name, rule, *empty)
    return Claim(subject=name, rule=rule, measure=ratings, limit=limit, unit=unit, noun="label")


def _labels_to_clear(share: float, limit: float, confidence: float) -> int | None:
    """Labels after which the interval of a share lies on its side of the limit, four times in five."""
    shape = [(1.0, share), (0.0, 1 - share)]
    if share < limit:
        shape, limit = [(1 - value, part) for value, part in shape], 1 - limit
    return cases_to_clear(shape, limit, confidence=confidence)


def _named(categories: set[str]) -> str:
    return first_few(sorted(map(repr, categories)))
