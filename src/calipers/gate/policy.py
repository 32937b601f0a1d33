"""What a release has to meet: the rules of a gate, chosen before you look at the numbers.

Every evaluator that a policy names is required. There are three kinds of limits:

- `margin`, `max_growth`: the loss against the baseline that would not matter. The interval of the paired difference decides.
- `at_least`, `at_most`: a level that needs no baseline. The interval decides, not the point in its middle.
- `min_cases`, `max_task_failures`, `max_evaluator_errors`, `max_errors`: facts about the run. They are counted.

An interval can lie on the good side of its limit (PASS), on the bad side (FAIL), or hold it (INCONCLUSIVE).
"""

from math import isfinite
from os import PathLike
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec

from calipers.comparison.change import Population
from calipers.errors import InvalidOptionError

Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
NotNegative: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]

RATE = (0.0, 1.0)
"""The bounds of what passes or does not."""

LIMITS = ("margin", "at_least", "at_most", "min_cases", "max_errors", "max_skipped", "agreement", "passport")
"""Rules that can be missed; the others only say how these are read."""

NOT_OF_A_PASS_RATE = ("max_errors", "bounds", "agreement", "passport")
"""Rules that only an evaluator can have."""


THESE_AT_THE_END = "population: these-cases asks about all of these cases, so it cannot be decided while they run: judge whole runs by it"


class LimitError(InvalidOptionError):
    """A limit that the results it is for can never miss, or never meet; which results those are, only a run tells."""


class _Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a policy, whose fields are what they are declared to be."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(type(self)):
            wrong = wrong_with(getattr(self, field.name), field.type)
            if wrong is not None:
                raise InvalidOptionError(f"{field.name}: {wrong}, got {getattr(self, field.name)!r}")


class HumanAgreement(_Checked, frozen=True, kw_only=True):
    """What people's labels say of a judge: how well it has to agree with them, and what its rate is once they correct it.

    The labels are in a file; in the store, as answers to a question; or in a column. Labels in the store, and a column, are of the run
    that is gated, unless another run is named.
    """

    labels: str | None = None
    """A file, JSON Lines or CSV: each line has what people (`human`) said of one case, and either what the judge said (`judge`), or
    the name of a `case` of the run that is gated, and the `attempt` where it is repeated."""
    run: str | None = None
    """Another run, by its id or as a report file, in which the judge has a column, and people have one or have answered the question."""
    question: str | None = None
    """The question that people answered with `calipers label`."""
    human: str = "human"
    """The column that holds what people said."""
    kappa: Annotated[float, msgspec.Meta(gt=-1, lt=1)] | None = None
    """Cohen's kappa, the agreement beyond chance: its interval has to lie above this. Nothing misses -1 or exceeds 1."""
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of cases on which both say the same: its interval has to lie above this. Nothing misses 0 or exceeds 1."""
    corrects: bool = False
    """Hold `at_least` and `at_most` against what people would say of all cases: the judge's mean, corrected by the labels. A margin
    stays the judge's. Of a file that names cases, and of a column, the labelled cases have to be drawn at random."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels is not None and self.run is not None:
            raise InvalidOptionError("an agreement has either labels, a file, or run; not both")
        if self.labels is not None and self.question is not None:
            raise InvalidOptionError(
                "an agreement has either labels, a file, or question, which people answered in the store; not both"
            )
        if self.kappa is None and self.share is None and not self.corrects:
            raise InvalidOptionError(
                "an agreement needs kappa or share, how well is well enough, or corrects: true"
            )


class PassportRules(_Checked, frozen=True, kw_only=True):
    """What a judge's passport (`calipers judge check`) has to show. Without a field: that there is one, of this very judge."""

    max_age_days: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Days since the check; an older passport is INCONCLUSIVE."""
    min_labels: Count | None = None
    """Labels of people that it was checked by."""
    kappa: Annotated[float, msgspec.Meta(gt=-1, lt=1)] | None = None
    """Cohen's kappa with people: its interval has to lie above this."""
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of labels on which judge and people say the same: its interval has to lie above this."""
    sensitivity: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """Of what people pass, the share that the judge passes: its interval has to lie above this."""
    specificity: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """Of what people fail, the share that the judge fails: its interval has to lie above this."""
    self_consistency: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of attempts of which it says the same whenever it is asked: its interval has to lie above this."""
    max_injections: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of injections that get through: its interval has to lie below this."""
    max_order_bias: Annotated[float, msgspec.Meta(gt=0, lt=0.5)] | None = None
    """How far from one half the share of points may be that go to what is shown first, of a judge of pairs."""
    max_length_bias: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """How much more, or less, often it may pass longer answers, at equal labels."""
    max_self_preference: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """How much more, or less, often it may pass answers of its own model, at equal labels."""


class Rules(_Checked, frozen=True, kw_only=True):
    """What one evaluator, the pass rate, or a tag has to meet; `min_cases=1` alone asks for results, whatever they are."""

    margin: NotNegative | None = None
    """Against the baseline: the largest loss that would not matter, in the units of the result (0.02 is 2 points)."""
    at_least: float | None = None
    """The whole interval has to lie above this."""
    at_most: float | None = None
    """The whole interval has to lie below this."""
    better: Literal["higher", "lower"] = "higher"
    """Which way is better, for the margin."""
    min_cases: Count | None = None
    """Cases that have to be judged; with a margin, in both runs."""
    max_errors: Share | None = None
    """The share of attempts on which the evaluator may fail."""
    max_skipped: Share | None = None
    """The share of attempts on which it may give no result though nothing failed. `None`: INCONCLUSIVE if that is so of a case of
    which the baseline has a result."""
    bounds: tuple[float, float] | None = None
    """Between which every score lies: one outside makes the rule INCONCLUSIVE. `None`: 0 and 1 where all scores lie between
    them, and else none, which leaves a t interval. Decisions during a run take 0 and 1."""
    agreement: HumanAgreement | None = None
    """What a judge is held to."""
    passport: PassportRules | None = None
    """What the passport of a judge has to show; `{}` asks that it has one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.range
        if not low < high:
            raise InvalidOptionError(f"bounds: the lower one comes first, got {self.bounds!r}")
        if not isfinite(high - low):
            raise InvalidOptionError(f"bounds: too far apart for a float, got {self.bounds!r}")
        if self.bounds is not None:
            self.check_inside(self.bounds)
        if self.at_least is not None and self.at_most is not None and self.at_least >= self.at_most:
            raise InvalidOptionError(
                f"at_least {self.at_least!r} and at_most {self.at_most!r} leave nothing between them"
            )
        corrects = self.agreement is not None and self.agreement.corrects
        if corrects and self.at_least is self.at_most is None:
            raise InvalidOptionError("corrects: true is about at_least and at_most: set one of them")
        if all(getattr(self, name) is None for name in LIMITS):
            raise InvalidOptionError(
                "rules without a limit would let everything pass: set margin, at_least or at_most, or min_cases: 1 to ask only "
                "for results"
            )

    @property
    def has_limit(self) -> bool:
        """Whether a number is limited, by a margin or a level."""
        return not (self.margin is self.at_least is self.at_most is None)

    @property
    def range(self) -> tuple[float, float]:
        """The bounds that are stated, or 0 and 1."""
        return RATE if self.bounds is None else self.bounds

    def check_inside(self, bounds: tuple[float, float], *, only_vacuous: bool = False, of: str = "") -> None:
        """Refuse limits that results between these bounds can never miss, or never meet.

        Args:
            bounds: between which the results lie.
            only_vacuous: refuse only what nothing could miss, where the bounds are a guess.
            of: what the error begins with, such as where in the policy these rules stand.
        """
        low, high = bounds
        lie = f"results lie between {low:g} and {high:g}"
        if self.margin is not None and self.margin >= high - low:
            is_what, way = _in_points(self.margin, bounds, "points")
            raise LimitError(f"{of}margin {self.margin:g}{is_what}: {lie}, so nothing could lose more; {way}")
        for name, limit, above in (("at_least", self.at_least, True), ("at_most", self.at_most, False)):
            if limit is None or low < limit < high:
                continue
            missed = limit > low if above else limit < high
            if not (missed and only_vacuous):
                never = "meet" if missed else "miss"
                is_what, way = _in_points(limit, bounds, "%")
                raise LimitError(
                    f"{of}{name} {limit:g}{is_what}: {lie}, so an interval could never {never} it; {way}"
                )


class Growth(_Checked, frozen=True, kw_only=True):
    """What the time of the task, or a metric such as its cost, has to meet. Less is better."""

    max_growth: NotNegative | None = None
    """Against the baseline: the growth of the mean that would not matter, as a share (0.1 is 10 %)."""
    at_most: float | None = None
    """The whole interval of the mean has to lie below this: seconds, or the units of the metric."""
    max_missing: Share | None = None
    """The share of finished attempts that may lack the metric, and are left out; more, or any if `None`, is INCONCLUSIVE."""
    max_possible: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """The largest value that one attempt can have: a time-out, or a budget. `None`: for times that of the run (`task_timeout`), where it
    is known; without any the rule is approximate."""
    missing_is_zero: bool = False
    """Whether an attempt that finished without the metric had none of it: one that never moves from zero is not recorded."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.missing_is_zero and self.max_missing is not None:
            raise InvalidOptionError("missing_is_zero leaves nothing missing: take out max_missing")
        if self.max_growth is None and self.at_most is None:
            raise InvalidOptionError("neither max_growth nor at_most is given: there is nothing to meet")
        if self.at_most is not None and self.max_possible is not None and self.at_most >= self.max_possible:
            raise InvalidOptionError(
                f"at_most {self.at_most:g}: no value can be above max_possible {self.max_possible:g}, so nothing could miss it"
            )


class Policy(_Checked, frozen=True, kw_only=True):
    """The rules of a gate. All have to pass for the gate to pass; one that fails makes it fail."""

    evaluators: dict[str, Rules] = {}
    """By the name of the column in the report; each has to be there."""
    pass_rate: Rules | None = None
    """The share of cases that pass in every respect."""
    tags: dict[str, Rules] = {}
    """By tag: the same over the cases that have the tag, of which there has to be one."""
    duration: Growth | None = None
    """Seconds that the task takes."""
    metrics: dict[str, Growth] = {}
    """By the name of the metric."""
    min_cases: Count = 1
    """Cases that the run has to have, and that every rule without a `min_cases` of its own has to be judged on; those of tags,
    which are about fewer cases, only by one of their own."""
    max_task_failures: Share | None = None
    """The share of attempts whose task may fail, of the run and of its baseline. `None`: they count as not passed; scores, times
    and metrics, which they lack, are INCONCLUSIVE if there is any, and so is a margin against a baseline that has any."""
    max_evaluator_errors: Share | None = None
    """The share of attempts on which any evaluator may fail. `None`: they count as not passed; scores, which they lack, are
    INCONCLUSIVE if there is any, unless the rules of the evaluator have `max_errors`; a margin is, if the baseline has any."""
    confidence: Annotated[float, msgspec.Meta(ge=0.5, lt=1)] = 0.95
    """Of the intervals. A rule passes, or fails, wrongly with at most half of what is missing to 1."""
    population: Population = "cases-like-these"
    """Of what the rules speak: of all cases that these are a sample of, or of these cases alone, as a suite of regressions does."""
    correction: Literal["holm", "none"] = "holm"
    """What keeps several rules from failing by chance more often than one. Passing needs none, since all have to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.pass_rate
        rates = {} if rate is None else {"pass_rate": rate}
        for where, rules in {
            **rates,
            **{f"tags, {tag!r}": rules for tag, rules in self.tags.items()},
        }.items():
            rules.check_inside(RATE, of=f"{where}: ")
            unread = [name for name in NOT_OF_A_PASS_RATE if getattr(rules, name) is not None]
            if unread:
                raise InvalidOptionError(
                    f"{where}: {' and '.join(unread)} would not be read, since a pass rate is of no single evaluator: give it to "
                    "an evaluator, or set max_evaluator_errors in the policy"
                )
        if self.duration is not None and (
            self.duration.missing_is_zero or self.duration.max_missing is not None
        ):
            raise InvalidOptionError(
                "duration: every task that finishes has a time, so max_missing and missing_is_zero say nothing"
            )
        if self.population == "these-cases" and any(each.corrects for each in self._agreements):
            raise InvalidOptionError(
                "corrects: true estimates what people would say of cases like these: leave out population: these-cases"
            )
        limited = rate is not None and rate.has_limit
        if not (self.evaluators or self.tags or self.metrics or self.duration or limited):
            raise InvalidOptionError(
                "a policy without a rule would let everything pass: name an evaluator or a tag, or limit pass_rate, duration or "
                "metrics"
            )

    @property
    def rules(self) -> list[Rules]:
        """All rules for evaluators, for the pass rate and for tags."""
        return [
            *self.evaluators.values(),
            *([self.pass_rate] if self.pass_rate else []),
            *self.tags.values(),
        ]

    @property
    def _agreements(self) -> list[HumanAgreement]:
        return [rules.agreement for rules in self.rules if rules.agreement is not None]

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule compares with another run."""
        growths = [*self.metrics.values(), *([self.duration] if self.duration else [])]
        return any(rule.margin is not None for rule in self.rules) or any(
            growth.max_growth is not None for growth in growths
        )

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "Policy":
        """The policy in a YAML or JSON file.

        Raises:
            DatasetFileError: something is wrong with the file; the error lists all of it, with line and column.
            OSError: the file cannot be read.
        """
        from calipers.files.policy_file import load_policy

        return load_policy(path)


def check_policy(policy: object) -> None:
    """Refuse what is not a policy, such as the name of its file; the error says how to get one."""
    if not isinstance(policy, Policy):
        way = (
            f"Policy.from_file({policy!r}) reads one"
            if isinstance(policy, str | PathLike)
            else "Policy.from_file reads one"
        )
        raise InvalidOptionError(f"policy must be a Policy, got {policy!r:.200}: {way}")


def wrong_with(value: Any, kind: Any) -> str | None:
    """What keeps a value from being of the kind; `None` if nothing does. NaN and infinity are no numbers."""
    if isinstance(value, msgspec.Struct):
        return None if _is_of(value, kind) else "expected another kind of rules"
    if isinstance(value, dict) and get_origin(kind) is dict:
        part = get_args(kind)[1]
        fine = all(isinstance(name, str) and type(each) is part for name, each in value.items())
        return None if fine else f"expected {part.__name__} by name"
    numbers = value if isinstance(value, tuple | list) else [value]
    if any(isinstance(number, float) and not isfinite(number) for number in numbers):
        return "expected a finite number"
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _expected(kind, value, str(error))
    return None


def _expected(kind: Any, value: Any, error: str) -> str:
    """What should stand where a value is of the wrong kind; the caller shows the value."""
    literals = [each for each in (kind, *get_args(kind)) if get_origin(each) is Literal]
    if literals:
        return f"expected {' or '.join(map(repr, get_args(literals[0])))}"
    text = error.partition(" - at ")[0].partition(", got ")[0].replace("`", "").replace(" | null", "")
    for name, words in (
        ("float", "a number"),
        ("int", "a whole number"),
        ("str", "text"),
        ("array", "a list"),
    ):
        text = text.replace(f"Expected {name}", f"expected {words}")
    try:
        share = (
            float(value.removesuffix("%")) / 100 if isinstance(value, str) and value.endswith("%") else None
        )
    except ValueError:
        share = None
    return text if share is None else f"{text}, such as {share:g} for {value}"


def _in_points(limit: float, bounds: tuple[float, float], unit: str) -> tuple[str, str]:
    """What a number says where percent was meant, and the way out."""
    if bounds != RATE:
        return "", "choose one that results could meet and could miss"
    way = f"write {limit / 100:g} for {limit:g} {unit}" if 1 < limit < 100 else "choose one between them"
    return f" is {100 * limit:g} {unit}", f"{way}, or set bounds: if it is a score on another scale"


def _is_of(value: msgspec.Struct, kind: Any) -> bool:
    return any(each is type(value) for each in (kind, *get_args(kind)))
