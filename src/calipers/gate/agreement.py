"""What a policy asks of a judge by people's labels, as claims to be decided and findings where the labels tell nothing."""

from collections.abc import Iterator
from math import fsum

from calipers.comparison.case_pairs import RunCase
from calipers.comparison.columns import ColumnKey, Columns

from .claims import Claim
from .corrected import Corrected, NotValid, agreement_of, corrected
from .policy import HumanAgreement, Policy, Rules
from .ratings import Labelled, Ratings, ReadRun, read_labels
from .verdict import Finding, Unit
from .wording import limit_words, plural, quantity


def agreement_parts(
    name: str, rules: Rules, run: Columns, read_run: ReadRun | None
) -> Iterator[Finding | Claim | str]:
    """How well the judge has to agree, by kappa and by share, and a note on lines without a label; nothing, if the rules do not say.

    Raises:
        InvalidOptionError: nobody can find the labelled run, the judge would be compared with itself, or a label is neither yes nor
            no where the judge says true or false.
        DatasetFileError: a line of the file cannot be read.
        OSError: the file cannot be read.
    """
    wanted = rules.agreement
    if wanted is None or wanted.kappa is wanted.share is None:
        return
    labelled = read_labels(wanted, name, run, read_run)
    judge, human, stale = labelled.judge, labelled.human, labelled.stale
    if labelled.left_out is not None:
        yield f"{name}: {labelled.left_out}"
    if wanted.kappa is not None:
        ratings = Ratings(judge=judge, human=human, by="kappa")
        yield _agreed(name, ratings, wanted.kappa, stale, ratings.why_open(wanted.human))
    if wanted.share is not None:
        ratings = Ratings(judge=judge, human=human, by="share")
        yield _agreed(name, ratings, wanted.share, stale, ratings.why_open(wanted.human))


def corrected_parts(
    subject: str, wanted: HumanAgreement, rules: Rules, run: Columns, key: ColumnKey, read_run: ReadRun | None
) -> Iterator[Finding | Claim | str]:
    """The levels that the rules ask for, as people would see them, and a note on what they rest on.

    Raises:
        InvalidOptionError: nobody can find the labelled run, or a label is not what the judge gives.
        DatasetFileError: a line of the file cannot be read, or names what the run does not have.
        OSError: the file cannot be read.
    """
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
            yield Finding(
                subject=subject, rule=rule, outcome="INCONCLUSIVE", said=found.said, advice=found.advice
            )
            continue
        yield _basis(subject, found, labelled, unit)
        yield Claim(
            subject=subject, rule=rule, measure=found, limit=limit, above=above, unit=unit, noun="label"
        )


def _basis(subject: str, found: Corrected, labelled: Labelled, unit: Unit) -> str:
    """What the judge alone says, how well it agrees, whether it is used, and what has to be so for the value to hold."""
    share = agreement_of(labelled)[0] or 0.0
    alone = quantity(fsum(found.judge) / len(found.judge), unit)
    agree = f", and agrees with people on {quantity(share, 'rate')} of {plural(found.n, 'label')}"
    what = "rate" if unit == "rate" else "mean"
    own = f"the {what} held against the limit is no correction but the labels' own, since the judge makes it no more certain; it"
    told = "the correction" if found.uses_judge else own
    return (
        f"{subject}: the judge alone says {alone} on {plural(len(found.judge), 'case')}{agree if unit == 'rate' else ''}; "
        f"{told} holds if {found.holds_if}"
    )


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
        said, advice = empty
        return Finding(subject=name, rule=rule, outcome="INCONCLUSIVE", said=said, advice=advice)
    return Claim(subject=name, rule=rule, measure=ratings, limit=limit, unit=unit, noun="label")


class Agreements:
    """The agreements that a policy asks for, while a run goes on: labels do not change, and the judge may be another one.

    Args:
        policy: what the run has to meet.
        read_run: finds a run by what the policy calls it.

    Raises:
        InvalidOptionError: nobody can find a labelled run, or a judge would be compared with itself.
        DatasetFileError: a line of a file of labels cannot be read, or lacks a rating.
        OSError: a file of labels cannot be read.
    """

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
