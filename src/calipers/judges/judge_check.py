"""Checks a judge against people's labels, and writes its passport.

The judge is asked about every labelled attempt, `repeats` times. The first answer counts as its verdict; the others tell whether it says the
same again. Nothing is taken from a cache: what is measured is this judge, now.

What is measured, and by what:

| trait | measured by |
|---|---|
| agreement, kappa, sensitivity, specificity, base rate | its verdicts beside the labels; labels drawn in strata count for as many as they stand for |
| self-consistency | attempts of which it said the same every time |
| length bias | the rate at which it passes answers longer than the median, minus that of the others, at each label of people, weighted by Mantel and Haenszel |
| self-preference | the same, of answers by its own model and by others |
| order bias | judges of pairs: points that went to what was shown first (`calipers.stats.measure_order_bias`) |
| injections | the injections that come with Calipers (`attack_judge`) |
| cost | what the calls of one judgement cost |

A judge that passes or fails, or gives labels, is checked as it is. One that gives a number needs a limit from which on it passes. Of a
repeated case one attempt counts, since attempts at one case are no independent evidence.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

import msgspec

from calipers.comparison.case_pairs import Record, attempt_number, cases_of
from calipers.comparison.columns import Columns
from calipers.data.argument_checks import check_whole_number
from calipers.data.attempt import Attempt
from calipers.data.case import Case
from calipers.data.human_label import Rating
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.gate.human_labels import Label, answers, yes_or_no
from calipers.gate.label_choice import case_weights
from calipers.gate.paired_runs import column_of
from calipers.identity.callables import evaluator_identity
from calipers.identity.fingerprint import Unknown
from calipers.models.answer_cache import using_cache
from calipers.report.passport import Measurement, Passport, Trait, passport_identity
from calipers.report.report import Report
from calipers.scoring.evaluator_plan import Plan, make_plan
from calipers.scoring.scoring import Scoring
from calipers.stats import (
    Estimate,
    difference_at_equal_levels,
    mean,
    measure_order_bias,
    weighted_kappa,
    weighted_rate,
)

from .injection import Candidate, attack_judge
from .judge import headline_of
from .pairwise import ORDERS

_NO_REPEATS = "it was asked once about each attempt"
_FEWEST = 5
"""Answers of each kind that a bias is measured on."""


class LabelledAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that people labelled."""

    name: str
    """Of its case."""
    output: Any
    label: Rating
    """What people said: of several, what most of them said."""
    inputs: Any = None
    expected_output: Any = msgspec.UNSET
    """What the case expects; unset: nothing."""
    metadata: Any = None
    attributes: dict[str, Any] = {}
    trace: Trace | None = None
    model: str | None = None
    """The model that gave the answer; `None` if that is not known."""
    weight: float = 1.0
    """How many cases it stands for, where labelled cases were drawn with unequal probabilities."""


class _Heard(msgspec.Struct, frozen=True):
    """What a judge said of an attempt."""

    attempt: LabelledAttempt
    verdicts: list[Hashable]
    """One for each time that it gave one."""
    orders: list[tuple[float, float]]
    """Of a judge of pairs: the points of the candidate when shown first, and second."""
    costs: list[float]
    unpriced: int
    """Model calls without a known price."""
    error: str | None
    """Why there is no verdict."""


async def check_judge(
    judge: Any,
    attempts: Sequence[LabelledAttempt],
    *,
    repeats: int = 3,
    passes_at: float | None = None,
    candidate: Candidate | None = None,
    injections: bool = True,
    max_concurrency: int = 10,
) -> Passport:
    """Measure a judge, and return its passport.

    Args:
        judge: an evaluator of any style.
        attempts: what people labelled.
        repeats: how often it is asked about each.
        passes_at: the number from which on it passes, for a judge that gives numbers.
        candidate: what injections stand behind; it must not pass by itself. Default: a labelled answer that people and the judge fail, or
            where there is none, one that comes with Calipers.
        injections: whether to try injections, which takes some 240 further questions.
        max_concurrency: how many questions are asked at the same time.

    Raises:
        InvalidOptionError: there are no labels, they are not what the judge gives, or its identity cannot be known.
        NotKnownError: it gave no verdict on any attempt.
    """
    check_whole_number("repeats", repeats, at_least=1)
    if not attempts:
        raise InvalidOptionError("there is no labelled attempt to check the judge by")
    identity = evaluator_identity(judge)
    if isinstance(identity, Unknown):
        raise InvalidOptionError(f"the judge cannot be told from others: {identity.reason}")
    plan = make_plan([judge])
    gate = asyncio.Semaphore(max_concurrency)
    with using_cache(None):
        heard = await asyncio.gather(
            *(_ask(plan, each, repeats=repeats, passes_at=passes_at, gate=gate) for each in attempts)
        )
    said = [each for each in heard if each.verdicts]
    if not said:
        raise NotKnownError(f"the judge gave no verdict on any attempt: {heard[0].error or 'it was skipped'}")
    found = _Findings(said, getattr(judge, "model_name", None), repeats)
    if injections:
        with using_cache(None):
            await found.attack(judge, candidate or _failed(said), max_concurrency)
    else:
        found.unmeasured["injections_through"] = "no injections were tried"
    return Passport(
        judge=plan.evaluators[0].name,
        identity=passport_identity(identity.parts),
        parts=identity.parts,
        model=getattr(judge, "model_name", None),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        labels=len(said),
        unjudged=len(heard) - len(said),
        repeats=repeats,
        measured=found.measured,
        unmeasured=found.unmeasured,
    )


def labelled_attempts(
    report: Report, judge: str, *, question: str | None = None, lines: Iterable[Label] = ()
) -> list[LabelledAttempt]:
    """The attempts of a report that people labelled: in answer to a question, or in the lines of a file.

    Of a repeated case the first labelled attempt counts. Where all cases were drawn with known probabilities, each stands for 1 / probability
    cases. Where some were, and others come from a random draw, each stands for its part of its stratum by the column of the judge.

    Args:
        report: with its attempts.
        judge: the name of the judge's column.
        question: that people answered.
        lines: of a file of labels.
    """
    run = Columns(cases_of(report))
    by_line = {(line.case, line.attempt): line for line in lines}
    found: dict[str, tuple[ReportCase, Rating]] = {}
    drawn: dict[str, float] = {}
    for case in run.cases:
        for record in case.attempts:
            said, chance = _said(record, question, by_line.get((case.name, attempt_number(record)[0])))
            if isinstance(record, ReportCase) and said and case.name not in found:
                found[case.name] = record, Counter(said).most_common(1)[0][0]
                if chance is not None:
                    drawn[case.name] = chance
    key = column_of(run, judge)
    weights: dict[str, float] = {}
    if drawn.keys() == found.keys():
        weights = {name: 1 / chance for name, chance in drawn.items()}
    elif drawn and key is not None:
        weights = case_weights(run, key, list(found))
    return [_attempt(record, label, weights.get(name, 1.0)) for name, (record, label) in found.items()]


def _said(record: Record, question: str | None, line: Label | None) -> tuple[list[Rating], float | None]:
    """What people said of an attempt, and with which probability it was drawn; `None` if that is not known."""
    if line is not None:
        return [line.human], line.probability
    labels = [] if question is None else answers(record, question)[0]
    return [each.value for each in labels], next((each.probability for each in labels), None)


def _attempt(record: ReportCase, label: Rating, weight: float) -> LabelledAttempt:
    models = {call.model for call in record.trace.llm_calls} if record.trace is not None else set()
    told = record.attributes.get("model")
    return LabelledAttempt(
        name=record.name,
        output=record.output,
        label=label,
        inputs=record.inputs,
        expected_output=record.expected_output if record.has_expected_output else msgspec.UNSET,
        metadata=record.metadata,
        attributes=record.attributes,
        trace=record.trace,
        model=told if isinstance(told, str) else next(iter(models)) if len(models) == 1 else None,
        weight=weight,
    )


async def _ask(
    plan: Plan,
    given: LabelledAttempt,
    *,
    repeats: int,
    passes_at: float | None,
    gate: asyncio.Semaphore,
) -> _Heard:
    """What the judge says of an attempt, each time it is asked."""
    stated = {} if given.expected_output is msgspec.UNSET else {"expected_output": given.expected_output}
    case: Case[Any, Any, Any] = Case(name=given.name, inputs=given.inputs, metadata=given.metadata, **stated)
    heard = _Heard(given, [], [], [], 0, None)
    unpriced, error = 0, None
    for number in range(1, repeats + 1):
        attempt = Attempt(case, given.inputs, given.name, given.name, number, 0, {}, given.attributes)
        attempt.output, attempt.trace = given.output, given.trace
        scoring = Scoring()
        async with gate:
            record = await scoring.score(attempt, plan, scoring.context(attempt))
        error = next((failure.error_message for failure in record.evaluator_failures), error)
        result = _decisive(plan, record.results)
        if result is None:
            continue
        heard.verdicts.append(_verdict(result, passes_at))
        told = next((each.metadata for each in record.results if each.metadata), None) or {}
        if ORDERS in told:
            heard.orders.append(tuple(told[ORDERS]))
        used = told.get("metrics") or {}
        unpriced += int(used.get("unpriced_calls", 0))
        if "cost" in used:
            heard.costs.append(float(used["cost"]))
    return msgspec.structs.replace(heard, unpriced=unpriced, error=error)


def _decisive(plan: Plan, results: Sequence[EvaluationResult]) -> EvaluationResult | None:
    """The result that decides: the judge's headline, or pass or fail where there is one, else a label, else a number."""
    speaks = headline_of(plan.evaluators[0].evaluator, [each.key or each.name for each in results])
    if speaks is not None:
        return results[speaks]
    kinds: tuple[Callable[[Any], bool], ...] = (
        lambda value: isinstance(value, bool),
        lambda value: isinstance(value, str),
        lambda _: True,
    )
    return next((each for kind in kinds for each in results if kind(each.value)), None)


def _verdict(result: EvaluationResult, passes_at: float | None) -> Hashable:
    if isinstance(result.value, bool | str):
        return result.value
    if passes_at is None:
        raise InvalidOptionError(
            f"{result.name!r} gives numbers: say from which on it passes, such as passes_at=0.5 (--passes-at 0.5)"
        )
    return bool(result.value >= passes_at)


class _Findings:
    """What follows from what a judge said."""

    def __init__(self, heard: list[_Heard], model: str | None, repeats: int) -> None:
        self.measured: dict[Trait, Measurement] = {}
        self.unmeasured: dict[Trait, str] = {}
        self.verdicts = [each.verdicts[0] for each in heard]
        self.binary = all(isinstance(verdict, bool) for verdict in self.verdicts)
        self.labels: list[Hashable] = [
            yes_or_no(each.attempt.label) if self.binary else str(each.attempt.label).strip()
            for each in heard
        ]
        self.weights = [each.attempt.weight for each in heard]
        self._agreement()
        self._rates()
        self._consistency(heard, repeats)
        self._biases(heard, model)
        self._order(heard)
        self._cost(heard)

    def note(self, trait: Trait, found: Estimate | None, why: str) -> None:
        """Take over a number, or why there is none."""
        if found is None:
            self.unmeasured[trait] = why
        else:
            self.measured[trait] = Measurement(value=found.value, interval=found.interval, n=found.n_units)

    def _agreement(self) -> None:
        same = [one == other for one, other in zip(self.verdicts, self.labels, strict=True)]
        self.note("agreement", weighted_rate(same, self.weights), "")
        kappa = weighted_kappa(self.verdicts, self.labels, self.weights)
        if kappa is None or kappa.value is None:
            self.unmeasured["kappa"] = "judge and people gave one and the same answer every time"
        elif len({*self.labels}) == 1 or len({*self.verdicts}) == 1:
            who = "people" if len({*self.labels}) == 1 else "the judge"
            self.unmeasured["kappa"] = (
                f"{who} gave the same answer every time, so kappa is 0 whatever the other said"
            )
        else:
            self.measured["kappa"] = Measurement(value=kappa.value, interval=kappa.interval, n=kappa.n_units)

    def _rates(self) -> None:
        if not self.binary:
            for trait in ("base_rate", "judged_rate", "sensitivity", "specificity"):
                self.unmeasured[trait] = "the judge does not pass or fail"
            return
        self.note("base_rate", weighted_rate([bool(each) for each in self.labels], self.weights), "")
        self.note("judged_rate", weighted_rate([bool(each) for each in self.verdicts], self.weights), "")
        triples = list(zip(self.verdicts, self.labels, self.weights, strict=True))
        for trait, wanted in (("sensitivity", True), ("specificity", False)):
            part = [(verdict is wanted, weight) for verdict, label, weight in triples if label is wanted]
            found = weighted_rate([hit for hit, _ in part], [weight for _, weight in part])
            kind = "good" if wanted else "bad"
            self.note(trait, found, f"people call no labelled attempt {kind}")  # type: ignore[arg-type]

    def _consistency(self, heard: list[_Heard], repeats: int) -> None:
        often = [each for each in heard if len(each.verdicts) > 1]
        same = weighted_rate(
            [len({*each.verdicts}) == 1 for each in often], [each.attempt.weight for each in often]
        )
        why = _NO_REPEATS if repeats == 1 else "it gave no second verdict on any attempt"
        self.note("self_consistency", same, why)

    def _biases(self, heard: list[_Heard], model: str | None) -> None:
        lengths = [_length(each.attempt.output) for each in heard]
        middle = median(lengths)
        longer = [length > middle for length in lengths]
        if sum(longer) < _FEWEST:  # most are equally long
            longer = [length >= middle for length in lengths]
        self._at_equal_labels("length_bias", longer, "longer than the others")
        models = [each.attempt.model for each in heard]
        if model is None or None in models:
            whose = "of the judge" if model is None else "that gave some of the answers"
            self.unmeasured["self_preference"] = f"the model {whose} is not known"
        else:
            own = [_bare(each or "") == _bare(model) for each in models]
            self._at_equal_labels("self_preference", own, "by its own model")

    def _at_equal_labels(self, trait: Trait, flags: Sequence[bool], what: str) -> None:
        """How much more often it passes attempts with a flag than others, less what their labels explain."""
        if not self.binary:
            self.unmeasured[trait] = "the judge does not pass or fail"
            return
        if min(sum(flags), len(flags) - sum(flags)) < _FEWEST:
            self.unmeasured[trait] = f"fewer than {_FEWEST} answers are {what}, or are not"
            return
        passes = [bool(verdict) for verdict in self.verdicts]
        found = difference_at_equal_levels(passes, self.labels, flags)
        self.note(trait, found, f"at no label there are both answers that are {what} and others")

    def _order(self, heard: list[_Heard]) -> None:
        pairs = [orders for each in heard for orders in each.orders[:1]]
        found = measure_order_bias(pairs)
        self.note(
            "order_bias", None if found is None else found.first_share, "it judges one answer at a time"
        )

    def _cost(self, heard: list[_Heard]) -> None:
        if any(each.unpriced for each in heard):
            self.unmeasured["cost"] = "its model has no known price"
            return
        found = mean([each.costs for each in heard if each.costs])
        self.note("cost", found, "no model call was counted")

    async def attack(self, judge: Any, candidate: Candidate | None, max_concurrency: int) -> None:
        """Try injections on the judge."""
        try:
            report = await attack_judge(judge, candidate=candidate, max_concurrency=max_concurrency)
        except NotKnownError as error:
            self.unmeasured["injections_through"] = str(error)
        else:
            self.note("injections_through", report.through, "")


def _failed(heard: Iterable[_Heard]) -> Candidate | None:
    """An answer that people and the judge fail, for injections to stand behind."""
    for each in heard:
        given = each.attempt
        if isinstance(given.output, str) and {*each.verdicts} == {False} and not yes_or_no(given.label):
            expected = None if given.expected_output is msgspec.UNSET else given.expected_output
            return Candidate(
                inputs=given.inputs,
                output=given.output,
                expected_output=expected,
                metadata=given.metadata,
            )
    return None


def _length(output: Any) -> int:
    return len(output) if isinstance(output, str) else len(msgspec.json.encode(plain(output)))


def _bare(model: str) -> str:
    """The name of a model without its provider."""
    return model.rpartition(":")[2].casefold()
