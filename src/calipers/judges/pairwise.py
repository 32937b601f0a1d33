"""`Pairwise`: a model says which of two answers is better, and is asked twice, so that the order does not decide.

A judge tends to prefer the answer that it is shown first, or second. So each pair is shown in both orders, and the *points* of the candidate are 1
if it wins in both, 0 if it loses in both, and 0.5 otherwise: a verdict that changes with the order is a tie, and so is one that is a tie in one order
only. What both orders said is kept with each result, so that the report can tell how far the judge goes by the position
(`calipers.stats.measure_order_bias`).

The other side is the *baseline*: an earlier report, which the candidate's cases are looked up in. Cases are the same if their content is, as in a
comparison (`calipers.comparison.case_pairs`); of repeated cases, repeat is compared with repeat. A case that the baseline does not have, has with other
content, or failed at is skipped with the reason.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import msgspec

from calipers.comparison.case_pairs import RunCase, attempt_number, case_content, cases_of, check_report
from calipers.data.argument_checks import check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationReason, EvaluatorSpec, Skipped
from calipers.errors import InvalidOptionError, NotApplicableError
from calipers.identity.fingerprint import digest
from calipers.identity.value_bytes import written
from calipers.report.analysis import Cell, TableResult
from calipers.report.report import Report
from calipers.stats import Estimate, OrderBias, mean, measure_order_bias
from calipers.stats.number_text import plural

from .exhibits import Part, exhibits_of
from .fence import Exhibit
from .judge import REASON, ModelJudge, object_of
from .prompt import prompt_named

Outcome: TypeAlias = Literal["win", "tie", "loss"]
"""What became of the candidate."""

BETTER: Final = "The better answer does more for the person who asked: it is right, answers all that was asked, and is clear. Length is no merit."
"""The rule of a judge that was given none."""
ORDERS: Final = "orders"
"""The key of what both orders said, in the metadata of a result."""
_WINNER: Final = {
    "type": "string",
    "enum": ["first", "second", "tie"],
    "description": "Which answer is better.",
}
_SIDED: Final[tuple[Part, ...]] = ("output", "tool_calls", "conversation", "context")
"""What each of the two answers has of its own."""


class PairVerdict(msgspec.Struct, frozen=True):
    """What a judge says of two answers, in both orders."""

    shown_first: float
    """The points of the candidate when it was shown first: 1, 0.5 or 0."""
    shown_second: float
    """Its points when it was shown second."""
    reasons: tuple[str, str]
    """Why, in the same order."""

    @property
    def points(self) -> float:
        """1 for a win in both orders, 0 for a loss in both, else 0.5."""
        return self.shown_first if self.shown_first == self.shown_second else 0.5

    @property
    def outcome(self) -> Outcome:
        """The points in a word."""
        return get_args(Outcome)[round(2 - 2 * self.points)]  # type: ignore[no-any-return]

    @property
    def reason(self) -> str:
        """Why, in words; both reasons where the orders disagree."""
        if self.shown_first == self.shown_second:
            return self.reasons[0]
        words = {1.0: "a win", 0.5: "a tie", 0.0: "a loss"}
        return (
            f"a tie, since the verdict changed with the order: {words[self.shown_first]} if shown first ({self.reasons[0]}), "
            f"{words[self.shown_second]} if shown second ({self.reasons[1]})"
        )


@dataclass
class Pairwise(ModelJudge):
    """A model finds the output better than that of a baseline: `win`, `tie` or `loss`, and 1, 0.5 or 0 points."""

    rubric: str = BETTER
    """What makes one answer better than another, in words for the model."""
    baseline: Any = field(default=None, kw_only=True, compare=False)
    """The other side: the path of a report file, the id or name of a kept run, or a `Report`."""
    include_input: bool = field(default=True, kw_only=True)
    """Whether the judge sees the inputs."""

    prompts: ClassVar = ("pairwise",)
    score_range: ClassVar = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("rubric", self.rubric)
        if self.baseline is not None and not isinstance(self.baseline, Report):
            check_text("baseline", self.baseline)
        if not any(getattr(self, f"include_{part}") for part in _SIDED):
            raise InvalidOptionError("Pairwise with include_output=False would be shown neither answer")

    def get_evaluator_version(self) -> str | None:
        """As for every judge, with a digest of the baseline's answers: another baseline is another question."""
        told = super().get_evaluator_version()
        return told if self.baseline is None else f"{told}, baseline {self._loaded().digest}"

    def as_spec(self) -> EvaluatorSpec:
        """As for every judge, with a report told by its name."""
        spec = super().as_spec()
        if isinstance(self.baseline, Report):
            spec = msgspec.structs.replace(spec, arguments={**spec.arguments, "baseline": self.baseline.name})
        return spec

    async def before_run(self) -> None:
        """See that there are a model and a baseline.

        Raises:
            InvalidOptionError: one of them is missing.
            ReportFormatError: the file of the baseline is no report.
        """
        await super().before_run()
        self._loaded()

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """The outcome as a label, and the points as a score."""
        other = self._loaded().answer_to(ctx)
        if isinstance(other, Skipped):
            return other
        verdict = await self.compare(ctx, context_of(other))
        name = self.get_default_evaluation_name()
        orders = {ORDERS: [verdict.shown_first, verdict.shown_second]}
        return {
            name: EvaluationReason(verdict.outcome, verdict.reason, orders),
            f"{name}_score": verdict.points,
        }

    async def compare(
        self, candidate: EvaluatorContext, other: EvaluatorContext, *, repeat: int | None = None
    ) -> PairVerdict:
        """Which of two attempts at one case is better, asked in both orders at the same time.

        Raises:
            NotApplicableError: one of them lacks what is to be shown.
            ModelError: there is no verdict.
        """
        own: list[Part] = [part for part in self.parts() if part in _SIDED]
        shared = _shown(candidate, [part for part in self.parts() if part not in own])
        one, two = _shown(candidate, own), _shown(other, own)
        instruction = prompt_named("pairwise").filled({"rubric": self.rubric.strip()})
        asked = [
            self.ask(
                candidate,
                instruction,
                object_of(reason=REASON, winner=_WINNER),
                exhibits=[*shared, *_placed("first", first), *_placed("second", second)],
                repeat=repeat,
            )
            for first, second in ((one, two), (two, one))
        ]
        straight, turned = (answer.data for answer in await asyncio.gather(*asked))
        return PairVerdict(
            {"first": 1.0, "tie": 0.5, "second": 0.0}[straight["winner"]],
            {"first": 0.0, "tie": 0.5, "second": 1.0}[turned["winner"]],
            (straight["reason"], turned["reason"]),
        )

    def analyse_report(self, report: Report, name: str) -> TableResult | None:
        """The share of points with its interval, and how far the judge went by the order; `None` if it judged nothing."""
        found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        clusters: dict[str, str] = {}
        skipped = 0
        for case in report.cases:
            unit = case.source_case_name or case.name
            skipped += any(skip.name == name for skip in case.skipped)
            for result in case.results:
                if result.evaluator == name and result.metadata and ORDERS in result.metadata:
                    found[unit].append(tuple(result.metadata[ORDERS]))
                    clusters[unit] = case.cluster or unit
        if not found:
            return None
        note = (
            f"{plural(skipped, 'attempt')} could not be paired: see why they were skipped"
            if skipped
            else None
        )
        units = list(found)
        points = [[_points(pair) for pair in found[unit]] for unit in units]
        share = mean(points, bounds=(0.0, 1.0), clusters=[clusters[unit] for unit in units])
        bias = measure_order_bias(
            [pair for unit in units for pair in found[unit]],
            clusters=[clusters[unit] for unit in units for _ in found[unit]],
        )
        assert share is not None
        assert bias is not None
        return TableResult(
            title=name, note=note, columns=COLUMNS, rows=[*_win_rows(share, points), *bias_rows(bias)]
        )

    def _loaded(self) -> "Baseline":
        """The baseline, read once."""
        if self.baseline is None:
            raise InvalidOptionError(
                'Pairwise has nothing to compare with: give it baseline="report.json", or the id or name of a kept run'
            )
        own = vars(self)
        known: Baseline | None = own.get("_baseline")
        if known is None or known.given is not self.baseline:
            known = own["_baseline"] = Baseline(self.baseline)
        return known


class Baseline:
    """The answers of an earlier run, by the case."""

    def __init__(self, given: Any) -> None:
        """Takes a report, or what names one.

        Raises:
            InvalidOptionError: there is no such run or file.
        """
        self.given = given
        if isinstance(given, str):
            from calipers.stores.default_store import report_named

            given = report_named(given)
        check_report(given, "baseline")
        self.report: Report = given
        self._named = {case.name: case for case in cases_of(given)}
        self._alike: defaultdict[tuple[bytes, ...], list[RunCase]] = defaultdict(list)
        for case in self._named.values():
            if case.has_content:
                self._alike[case.content].append(case)
        told = [
            [case.name, *(part.hex() for part in case.content), *(_told(each) for each in case.attempts)]
            for case in self._named.values()
        ]
        self.digest = digest(written(told))[:12]
        """Of its cases and answers."""

    def answer_to(self, ctx: EvaluatorContext) -> ReportCase | Skipped:
        """Its attempt at the case of a context, the same repeat of it; or why there is none."""
        content, has_content = case_content(ctx)
        named = self._named.get(ctx.name or "")
        if named is not None and named.content == content:
            case = named
        elif has_content and self._alike.get(content):
            case = self._alike[content][0]
        elif named is not None:
            return Skipped(f"the baseline {self.report.name!r} has a case of this name with another content")
        else:
            return Skipped(f"the baseline {self.report.name!r} does not have this case")
        attempts = sorted(case.attempts, key=attempt_number)
        found = attempts[((ctx.repeat_index or 1) - 1) % len(attempts)]
        if isinstance(found, ReportCase):
            return found
        return Skipped(f"the baseline {self.report.name!r} failed at this case: {found.error_message:.200}")


def context_of(record: ReportCase) -> EvaluatorContext:
    """An attempt in a report, as its evaluators saw it."""
    return EvaluatorContext(
        name=record.source_case_name or record.name,
        inputs=record.inputs,
        metadata=record.metadata,
        expected_output=record.expected_output,
        output=record.output,
        duration=record.task_duration,
        _span_tree=None,
        attributes=record.attributes,
        metrics=record.metrics,
        trace=record.trace,
    )


COLUMNS: Final = ["", "value", "low", "high", "on"]
"""Of a table of estimates."""


def _win_rows(share: Estimate, points: Sequence[Sequence[float]]) -> list[list[Cell]]:
    counts = [sum(each == worth for case in points for each in case) for worth in (1.0, 0.5, 0.0)]
    told = f"{counts[0]:,} won, {counts[1]:,} tied, {counts[2]:,} lost"
    return [
        estimate_row(
            "share of points against the baseline", share, f"{plural(share.n_units, 'case')}: {told}"
        )
    ]


def bias_rows(bias: OrderBias) -> list[list[Cell]]:
    """How far a judge of pairs went by the order, as rows of a table."""
    lean = {
        "first": "prefers what it is shown first",
        "second": "prefers what it is shown second",
        None: "no bias seen",
    }
    pairs = plural(bias.n_pairs, "pair")
    return [
        estimate_row(
            "verdict followed the position", bias.followed, f"{pairs}, {bias.conflicts:,} with a conflict"
        ),
        estimate_row(
            "points of what was shown first", bias.first_share, f"0.5 is even: {lean[bias.favours]}"
        ),
    ]


def estimate_row(what: str, estimate: Estimate, on: str) -> list[Cell]:
    """An estimate as a row: name, value, both ends of the interval, and what it is made of."""
    interval = estimate.interval
    ends: list[Cell] = [None, None] if interval is None else [_short(interval.low), _short(interval.high)]
    return [what, _short(estimate.value), *ends, on]


def _short(value: float) -> float:
    return round(value, 3)


def _points(orders: tuple[float, float]) -> float:
    return PairVerdict(*orders, ("", "")).points


def _told(record: Any) -> Any:
    return plain(record.output) if isinstance(record, ReportCase) else None


def _shown(ctx: EvaluatorContext, parts: Sequence[Part]) -> list[Exhibit]:
    found = exhibits_of(ctx, parts)
    if isinstance(found, Skipped):
        raise NotApplicableError(found.reason)
    return found


def _placed(place: str, exhibits: Sequence[Exhibit]) -> list[Exhibit]:
    return [msgspec.structs.replace(each, name=f"{place} answer: {each.name}") for each in exhibits]
