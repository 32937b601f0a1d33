"""Two or more reports side by side: what changed, and is it noise.

Of two reports, the first is the baseline and the other the candidate; of more, every two are compared. Cases are paired by what they are (see
`calipers.comparison.case_pairs`); where no case is the same, the runs are compared as runs over different cases, which is valid and
sees less.

P-values are adjusted within four families, each over all pairs of runs together: the pass rate, which is the one question
most comparisons are made for; the pass rates of single tags; the evaluators; metrics. Where several pairs are compared, the
intervals of the pass rate hold for all of them together, and so do those of each evaluator (Bonferroni); others are not adjusted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import fsum
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from calipers.data.argument_checks import check_choice, check_share, is_whole_number
from calipers.data.jsonable import plain, safe_repr
from calipers.data.record import ReportCaseFailure
from calipers.errors import InvalidOptionError, ReportFormatError
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import plural
from calipers.stats.p_values import benjamini_hochberg, holm
from calipers.stats.sample import check_confidence

from .case_pairs import (
    CaseContent,
    PairBy,
    Pairing,
    Record,
    cases_of,
    check_report,
    named_alike,
    pair_cases,
    without_faults,
)
from .change import Change, LabelChange, Population, decided
from .columns import Columns
from .conclusion import Conclusion, conclude
from .evaluator_changes import ChangedEvaluator, EvaluatorChanges, KnownEvaluators
from .flips import Flip
from .missing_results import unanswered
from .questions import Questions

FORMAT_VERSION = 1
"""The version of `to_dict`."""

Correction: TypeAlias = Literal["holm", "bh", "none"]
"""How p-values are adjusted for being many: by Holm, by Benjamini and Hochberg, or not at all."""

_CROWDED = 2.0
"""Tasks in flight from which on some wait for others."""
_MORE = 1.25
"""How many times as many tasks in flight make times incomparable."""

_ADJUST: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs compared."""

    label: str
    """What it is called in the comparison."""
    name: str
    """The report's own name."""
    dataset_name: str | None = None
    run: str | None = None
    """Its id in a store; `None` if it is in none."""
    started_at: str | None = None
    cases: int
    attempts: int
    failed: int
    """Attempts whose task did not finish."""
    unanswered: int = 0
    """Attempts that got no answer because of a time-out, a connection or a server, and count as not passed."""
    answered: Estimate | None = None
    """The pass rate without them; `None` if there are none, or nothing is left."""
    on_other_loop: int = 0
    """Attempts that ended in an `OtherLoopError`, and so say nothing of the agent."""
    incomplete: str | None = None
    """Why the run ended early."""
    could_stop: bool = False
    """Whether a rule could end it early (`stop_when`), so that it was looked at many times."""
    sought: bool = False
    """Whether a search chose its cases to find failures."""
    reused: int = 0
    """Attempts that were taken over from earlier runs instead of being made."""
    in_flight: float | None = None
    """Tasks that were under way at once, on average; `None` if it is not known, as of a run that took over attempts."""
    recorded: bool = False
    """Whether no run of Calipers made its attempts, as of recorded traces."""
    under_faults: int = 0
    """Further attempts, under faults of the agent's tools: of these only the slice of each fault speaks."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate against a baseline."""

    baseline: Side
    candidate: Side
    confidence: float
    correction: Correction
    population: Population = "cases-like-these"
    """Which question it answers: whether all the cases that these are a sample of changed, or whether these did."""
    paired: bool
    """Whether the same cases were compared; if not, no case is the same in both."""
    at_once: int = 1
    """Pairs of runs that were compared at once, for which p-values are adjusted and intervals of the pass rate hold together."""
    pairing: Pairing
    conclusion: Conclusion
    """What it comes to, and what to do."""
    pass_rate: Change | None = None
    """The headline; `None` if one of them asserts nothing."""
    slices: tuple[Change, ...] = ()
    """The pass rate over the cases with one tag, by the name of the tag: the 12 tags with the most cases that both have."""
    evaluators: tuple[Change, ...] = ()
    """Each column of assertions or scores that both have."""
    measures: tuple[Change, ...] = ()
    """How long the tasks took, and each metric that both have."""
    labels: tuple[LabelChange, ...] = ()
    flips: tuple[Flip, ...] = ()
    """Cases that pass in one run only: the broken, the fixed, then those that moved; of each way first those that noise explains least."""
    baseline_only: tuple[str, ...] = ()
    """Columns that the candidate lacks."""
    candidate_only: tuple[str, ...] = ()
    """Columns that the baseline lacks."""
    changed_evaluators: tuple[ChangedEvaluator, ...] = ()
    """Cases that are left out of a column, or of the pass rate, since they are judged by other evaluators in each run."""
    warnings: tuple[str, ...] = ()
    """What a reader has to know before believing any of it."""

    def change(self, evaluator: str | None = None) -> Change | None:
        """The change of an evaluator's column, or of the pass rate; `None` for labels, and for what one of the runs lacks.

        Raises:
            InvalidOptionError: neither run has such a column, or it could not be compared; `warnings` says why.
        """
        if evaluator is None:
            return self.pass_rate
        found = next((change for change in self.evaluators if change.name == evaluator), None)
        others = {*self.baseline_only, *self.candidate_only, *(label.name for label in self.labels)}
        if found is None and evaluator not in others:
            there = ", ".join(repr(change.name) for change in self.evaluators) or "none"
            raise InvalidOptionError(
                f"no column {evaluator!r} was compared; there are {there} in `evaluators`, and times and metrics in `measures`"
            )
        return found

    def __repr__(self) -> str:
        # Short, as that of a report: the whole would be thousands of characters in a log or a notebook.
        cases = "1 case" if self.pairing.pairs == 1 else f"{self.pairing.pairs:,} cases"
        return (
            f"Comparison({self.candidate.label!r} against {self.baseline.label!r}, {self.conclusion.outcome}, "
            f"{cases} in both)"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from calipers.views.notebook import comparison_cell

        return comparison_cell(self)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON data, with a version. `from_dict` reads it back."""
        data: dict[str, Any] = plain(msgspec.to_builtins(self))
        return {"calipers_comparison": FORMAT_VERSION, **data}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Comparison":
        """A comparison from what `to_dict` gave.

        Raises:
            ReportFormatError: the data is no comparison, or one of a later version.
        """
        version = data.get("calipers_comparison") if isinstance(data, Mapping) else None
        if not is_whole_number(version, at_least=1):
            raise ReportFormatError(
                f"this is no comparison: it has no 'calipers_comparison' version, got {safe_repr(data):.200}"
            )
        if version > FORMAT_VERSION:
            raise ReportFormatError(
                f"the comparison has format version {version}, and this release reads up to {FORMAT_VERSION}: "
                "install a newer calipers"
            )
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise ReportFormatError(f"the comparison is damaged: {error}") from error


def compare_reports(
    baseline: Report,
    candidate: Report,
    *,
    confidence: float = 0.95,
    evaluators: Collection[str] | None = None,
    correction: Correction = "holm",
    smallest: float = 0.03,
    smallest_relative: float = 0.1,
    lower_is_better: Collection[str] = (),
    pair_by: PairBy = "content",
    population: Population = "cases-like-these",
    labels: tuple[str, str] | None = None,
    changed_evaluators: Mapping[str, str] | EvaluatorChanges | None = None,
) -> Comparison:
    """What changed from the baseline to the candidate, and how far it may be noise.

    Args:
        baseline: the report to compare with; it has to keep every attempt.
        candidate: the new one.
        confidence: of the intervals; a p-value counts below 1 minus this.
        evaluators: names of the columns to compare; default: all.
        correction: how p-values are adjusted for being many: `holm`, `bh` or `none`.
        smallest: the smallest difference worth seeing of rates, and of scores from 0 to 1: 0.03 is 3 points. It decides
            what `same` means, and how many cases are needed.
        smallest_relative: the same of everything else, as a share of the baseline: 0.1 is a tenth of its mean.
        lower_is_better: names of scores and metrics of which less is good; times, costs and tokens are known to be such.
        pair_by: what makes two cases the same; `name` vouches for the names, whatever the content.
        population: `cases-like-these`, of which these are a sample, or `these-cases` and no others: then only the noise between
            attempts at a case counts, and each case has to be attempted at least twice in both runs.
        labels: what to call the two; default: their names.
        changed_evaluators: evaluators that are known to differ beyond what the reports show: those of every case, by
            name with what differs, or as a store knows them.

    Raises:
        InvalidOptionError: an option out of its range, an evaluator that neither has, or a report without all attempts.
    """
    questions = Questions(
        confidence=confidence,
        evaluators=None if evaluators is None else frozenset(evaluators),
        smallest=smallest,
        smallest_relative=smallest_relative,
        lower_is_better=frozenset(lower_is_better),
        population=population,
    )
    runs = _Runs([baseline, candidate], labels, questions, pair_by, correction)
    return runs.settled([runs.compare(0, 1, changed_evaluators)])[0]


def compare_many(
    reports: Sequence[Report],
    *,
    confidence: float = 0.95,
    evaluators: Collection[str] | None = None,
    correction: Correction = "holm",
    smallest: float = 0.03,
    smallest_relative: float = 0.1,
    lower_is_better: Collection[str] = (),
    pair_by: PairBy = "content",
    population: Population = "cases-like-these",
    labels: Sequence[str] | None = None,
    known_evaluators: Sequence[KnownEvaluators | None] | None = None,
    against_first: bool = False,
    contents: Sequence[Mapping[str, CaseContent]] | None = None,
) -> list[Comparison]:
    """Every two reports, with all p-values adjusted together, and intervals that hold together.

    Those against the first report come first. `calipers.comparison.ranks` says which places the reports have. All options but
    the last three are those of `compare_reports`; `known_evaluators` is what a store knows of the evaluators of each report
    (`Store.known_evaluators`), and with `against_first` the others are compared with the first report only. `contents` says what the
    cases of each report hold, by name, where it was read without that (`calipers.stores.runs_to_compare`); flips then do not tell what their attempts gave.

    Raises:
        InvalidOptionError: fewer than two reports, and as for `compare_reports`.
    """
    if known_evaluators is not None and len(known_evaluators) != len(reports):
        raise InvalidOptionError(
            f"known_evaluators needs one entry per report: got {len(reports)} and {len(known_evaluators)} entries"
        )
    places = [
        (one, two)
        for one in range(1 if against_first else len(reports))
        for two in range(one + 1, len(reports))
    ]
    questions = Questions(
        confidence=confidence,
        evaluators=None if evaluators is None else frozenset(evaluators),
        smallest=smallest,
        smallest_relative=smallest_relative,
        lower_is_better=frozenset(lower_is_better),
        population=population,
        at_once=len(places),
        tells_flips=contents is None,
    )
    runs = _Runs(reports, labels, questions, pair_by, correction, contents)
    found: list[Comparison] = []
    for one, two in places:
        known = (None, None) if known_evaluators is None else (known_evaluators[one], known_evaluators[two])
        changes = None if known[0] is None or known[1] is None else EvaluatorChanges(known[0], known[1])
        found.append(runs.compare(one, two, changes))
    return runs.settled(found)


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """The places that a run may have, by its pass rate; 1 is the best."""

    label: str
    best: int
    worst: int

    @property
    def text(self) -> str:
        """`2`, or `1 to 3`."""
        return str(self.best) if self.best == self.worst else f"{self.best} to {self.worst}"


def ranks(comparisons: Sequence[Comparison]) -> list[Rank]:
    """The places of all runs, the best first; empty unless every two of at least three were compared by their pass rates.

    The intervals of all pairs hold together, so whatever follows from them holds at the same confidence: a run has at best the
    place after all that are certainly better, and at worst the one before all that are certainly worse (Mogstad, Romano, Shaikh &
    Wilhelm, "Inference for Ranks", 2024). Where two runs were not judged alike, neither is certainly better.

    Args:
        comparisons: from `compare_many`.
    """
    labels = list(
        dict.fromkeys(side.label for each in comparisons for side in (each.baseline, each.candidate))
    )
    pairs = {frozenset((each.baseline.label, each.candidate.label)) for each in comparisons}
    if len(labels) < 3 or 2 * len(pairs) != len(labels) * (len(labels) - 1):
        return []
    if any(each.pass_rate is None for each in comparisons):
        return []
    better, worse = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0)
    for each in comparisons:
        one, two = each.baseline.label, each.candidate.label
        change = each.pass_rate
        if change is None or change.warning is not None or change.interval is None:
            continue
        if change.interval.low > 0:
            better[one], worse[two] = better[one] + 1, worse[two] + 1
        elif change.interval.high < 0:
            better[two], worse[one] = better[two] + 1, worse[one] + 1
    found = [Rank(label=label, best=1 + better[label], worst=len(labels) - worse[label]) for label in labels]
    return sorted(found, key=lambda rank: (rank.best, rank.worst))


class _Runs:
    """Reports that are compared with each other."""

    def __init__(
        self,
        reports: Sequence[Report],
        labels: Sequence[str] | None,
        questions: Questions,
        pair_by: PairBy,
        correction: Correction,
        contents: Sequence[Mapping[str, CaseContent]] | None = None,
    ) -> None:
        _check(reports, questions, correction, labels)
        self.reports = reports
        self.titles = _unique([report.name for report in reports] if labels is None else labels)
        self.questions = questions
        self.pair_by: PairBy = pair_by
        self.correction: Correction = correction
        held = [None] * len(reports) if contents is None else contents
        named = named_alike(reports)
        cases = [cases_of(report, content) for report, content in zip(named, held, strict=True)]
        self.sides = [Columns(without_faults(each)) for each in cases]
        self.under_faults = [Columns(case for case in each if case.fault is not None) for each in cases]
        questions.check_names(self.sides)

    def compare(self, one: int, two: int, changes: Mapping[str, str] | EvaluatorChanges | None) -> Comparison:
        """The report in one place as the baseline of that in another; p-values are not adjusted yet."""
        first, second = self.sides[one], self.sides[two]
        pairs, pairing = pair_cases(first.cases, second.cases, by=self.pair_by)
        if self.questions.population == "these-cases" and not pairs:
            raise _nothing_in_common(self.titles[one], self.titles[two])
        faulty = self.under_faults[one], self.under_faults[two]
        faulty_pairs, _ = pair_cases(faulty[0].cases, faulty[1].cases, by=self.pair_by)
        found = self.questions.ask(first, second, pairs, changes, under_faults=(*faulty, faulty_pairs))
        answers = msgspec.structs.asdict(found)
        problems = answers.pop("problems")
        comparison = Comparison(
            baseline=_side(self.titles[one], self.reports[one], first, faulty[0]),
            candidate=_side(self.titles[two], self.reports[two], second, faulty[1]),
            confidence=self.questions.confidence,
            correction=self.correction,
            population=self.questions.population,
            paired=bool(pairing.pairs),
            at_once=self.questions.at_once,
            pairing=pairing,
            conclusion=Conclusion(outcome="nothing", advice="share evaluators"),  # until all are settled
            **answers,
        )
        warnings = (*_warnings(comparison), *problems)
        return _doubted(msgspec.structs.replace(comparison, warnings=warnings))

    def settled(self, found: Sequence[Comparison]) -> list[Comparison]:
        """The comparisons with adjusted p-values, and what each comes to."""
        return [
            msgspec.structs.replace(each, conclusion=_concluded(each))
            for each in _adjusted(found, self.correction)
        ]


def check_comparisons(comparisons: object) -> None:
    """Refuse a single comparison, or anything else, where a list of them is shown."""
    if isinstance(comparisons, Comparison):
        raise InvalidOptionError(
            f"this takes a list of comparisons, got the one of {comparisons.candidate.label!r}: write [comparison]"
        )
    if not isinstance(comparisons, Sequence) or not all(isinstance(each, Comparison) for each in comparisons):
        raise InvalidOptionError(
            f"this takes a list of comparisons, such as compare_many(...) or [compare_reports(...)], got {safe_repr(comparisons):.200}"
        )


def _doubted(found: Comparison) -> Comparison:
    """The comparison, in which nothing counts where attempts say nothing of the agent."""
    parts = [
        f"{side.on_other_loop:,} of {side.attempts:,} attempts of {side.label}"
        for side in (found.baseline, found.candidate)
        if side.on_other_loop
    ]
    if not parts:
        return found
    why = f"{' and '.join(parts)} failed for a client or lock of another event loop, which says nothing about the agent"

    def doubt(change: Change) -> Change:
        warning = why if change.warning is None else f"{change.warning}; {why}"
        return msgspec.structs.replace(change, warning=warning)

    return msgspec.structs.replace(
        found,
        pass_rate=None if found.pass_rate is None else doubt(found.pass_rate),
        slices=tuple(map(doubt, found.slices)),
        evaluators=tuple(map(doubt, found.evaluators)),
        warnings=found.warnings if found.pass_rate is not None else (why, *found.warnings),
    )


def _adjusted(comparisons: Sequence[Comparison], correction: Correction) -> list[Comparison]:
    """The comparisons with adjusted p-values and the outcomes that follow, each family over all of them."""
    found = list(comparisons)
    for family in ("pass_rate", "slices", "evaluators", "measures"):
        groups = [_listed(getattr(comparison, family)) for comparison in found]
        known = [change.p_value for group in groups for change in group if change.p_value is not None]
        adjusted = iter(_ADJUST[correction](known))
        for place, group in enumerate(groups):
            settled = tuple(
                decided(
                    change,
                    None if change.p_value is None else next(adjusted),
                    confidence=found[place].confidence,
                )
                for change in group
            )
            value = next(iter(settled), None) if family == "pass_rate" else settled
            found[place] = msgspec.structs.replace(found[place], **{family: value})
    return found


def _concluded(found: Comparison) -> Conclusion:
    sides = (found.baseline, found.candidate)
    return conclude(
        found.pass_rate,
        found.evaluators,
        broken=sum(flip.way == "broken" for flip in found.flips),
        unanswered=sum(side.unanswered for side in sides),
        on_other_loop=sum(side.on_other_loop for side in sides),
    )


def _listed(part: Change | tuple[Change, ...] | None) -> tuple[Change, ...]:
    if part is None:
        return ()
    return (part,) if isinstance(part, Change) else part


def _side(label: str, report: Report, columns: Columns, under_faults: Columns) -> Side:
    records = [record for case in columns.cases for record in case.attempts]
    faulty = [record for case in under_faults.cases for record in case.attempts]
    outage = report.infrastructure()
    return Side(
        label=label,
        name=report.name,
        dataset_name=report.dataset_name,
        run=None if report.reuse is None else report.reuse.run,
        started_at=report.started_at,
        cases=len(columns.cases),
        attempts=len(records),
        failed=sum(isinstance(record, ReportCaseFailure) for record in records),
        unanswered=0 if outage is None else outage.count,
        answered=None if outage is None else outage.without,
        on_other_loop=sum(record.on_other_loop for record in records),
        incomplete=None if report.incomplete is None else str(report.incomplete),
        could_stop=report.stopping is not None,
        sought=report.sought,
        reused=0 if report.reuse is None else report.reuse.attempts_reused,
        in_flight=_in_flight(report, [*records, *faulty]),
        recorded=report.seed is None,
        under_faults=len(faulty),
    )


def _in_flight(report: Report, records: Sequence[Record]) -> float | None:
    """Tasks under way at once, on average: the time in all of them, over the time that the run took."""
    if not report.duration or (report.reuse is not None and report.reuse.attempts_reused):
        return None
    return fsum(record.task_duration for record in records) / report.duration


def _warnings(found: Comparison) -> list[str]:
    """What a reader has to know before believing the comparison."""
    sides = (found.baseline, found.candidate)
    warnings = [_unanswered(side) for side in sides if side.unanswered]
    warnings += [
        f"{side.label} is incomplete: {side.incomplete}" for side in sides if side.incomplete is not None
    ]
    warnings += [
        f"{side.label} could be stopped early by a rule: such a run ends where it looks good or bad, and intervals and p-values "
        "take no account of it; `calipers gate` does"
        for side in sides
        if side.could_stop
    ]
    warnings += [
        f"a search chose the cases of {side.label} to find failures: their rates do not tell how often a system fails"
        for side in sides
        if side.sought
    ]
    warnings += [
        f"{side.failed:,} of {side.attempts:,} attempts of {side.label} failed: scores, times and metrics are of the others only, "
        "which may be the easy ones"
        for side in sides
        if side.failed and (found.measures or found.baseline_only or found.candidate_only)
    ]
    warnings += map(_under_faults, (side for side in sides if side.under_faults))
    one, two = found.baseline.in_flight, found.candidate.in_flight
    if one and two and any(each.kind == "duration" for each in found.measures):
        low, high = sorted((one, two))
        if high >= _CROWDED and high > _MORE * low:
            warnings.append(
                f"{found.baseline.label} had {one:,.3g} tasks in flight at once and {found.candidate.label} {two:,.3g}: tasks that wait for "
                "each other take longer, so the times do not compare the agents"
            )
    if found.baseline.run is not None and found.baseline.run == found.candidate.run:
        warnings.append("both are the same run, so nothing can differ")
    warnings += [
        f"{side.label} took over {side.reused:,} of its attempts from earlier runs; those that the other has, too, cannot differ"
        for side in sides
        if side.reused
    ]
    pairing = found.pairing
    if not found.paired:
        warnings.append(
            "no case is the same in both, so they are compared as runs over different cases, which shows less"
        )
    if pairing.changed:
        many = len(pairing.changed) > 1
        out = "left out" if found.paired else "not paired"
        warnings.append(
            f"{len(pairing.changed):,} {'cases have' if many else 'case has'} the same name and another content, and "
            f"{'are' if many else 'is'} {out}"
        )
    if found.paired and (pairing.baseline_only or pairing.candidate_only):
        parts = [
            f"{len(names):,} only in {side.label}"
            for names, side in (
                (pairing.baseline_only, found.baseline),
                (pairing.candidate_only, found.candidate),
            )
            if names
        ]
        shared = "case" if pairing.pairs == 1 else f"{pairing.pairs:,} cases"
        warnings.append(f"compared on the {shared} that both have; {' and '.join(parts)}")
    if apart := {each.case for each in found.changed_evaluators}:
        many = len(apart) > 1
        warnings.append(
            f"{len(apart):,} {'cases are' if many else 'case is'} judged by another evaluator in each run, and left out of what that "
            "evaluator decides"
        )
    return warnings


def _unanswered(side: Side) -> str:
    whose = f" of {side.label}"
    return unanswered(side.unanswered, side.answered, side.attempts, whose=whose, recorded=side.recorded)


def _under_faults(side: Side) -> str:
    are = "is" if side.under_faults == 1 else "are"
    return (
        f"{plural(side.under_faults, 'attempt')} of {side.label} under faults of tools {are} compared by the tags of their faults "
        "alone, and in nothing else"
    )


def _nothing_in_common(baseline: str, candidate: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"{baseline!r} and {candidate!r} have no case in common, so nothing can be said of these cases: run both on the same cases, "
        "pair them by name, or ask about cases like these"
    )


def _unique(labels: Sequence[str]) -> list[str]:
    """The labels, with their place where several are the same."""
    counts = Counter(labels)
    return [
        label if counts[label] == 1 else f"{label} #{place}" for place, label in enumerate(labels, start=1)
    ]


def _check(
    reports: Sequence[Report], questions: Questions, correction: str, labels: Sequence[str] | None
) -> None:
    check_confidence(questions.confidence)
    if len(reports) < 2:
        raise InvalidOptionError(f"a comparison needs a baseline and a candidate, got {len(reports)} reports")
    for report in reports:
        check_report(report, "what is compared")
    check_choice("correction", correction, get_args(Correction))
    check_choice("population", questions.population, get_args(Population))
    if labels is not None and len(labels) != len(reports):
        raise InvalidOptionError(f"every report needs its label: got {len(reports)} and {len(labels)} labels")
    check_share("smallest", questions.smallest, or_one=False)
    check_share("smallest_relative", questions.smallest_relative, or_one=False)
