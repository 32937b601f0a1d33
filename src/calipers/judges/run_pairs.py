"""Two or more runs, judged pair by pair: which of them is better, and how sure that is.

Each two runs are compared at each case that both have (`calipers.comparison.case_pairs`), repeat with repeat, by a `Pairwise` judge in both orders. The
share of points of each two runs has an interval by case or cluster; three or more runs also get one scale (`calipers.stats.strengths`). What could not be
paired, and what could not be judged, is listed: it is never a tie.
"""

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

import msgspec

from calipers.comparison.case_pairs import PairBy, Pairing, RunCase, attempt_number, cases_of, pair_cases
from calipers.data.argument_checks import check_whole_number
from calipers.data.record import ReportCase
from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError, NotApplicableError
from calipers.process.interrupt import is_interrupt
from calipers.report.report import Report
from calipers.stats import OrderBias, PairJudgement, Strengths, measure_order_bias, strengths

from .pairwise import PairVerdict, Pairwise, context_of


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two answers to one case, and what came of them."""

    case: str
    """Its name in the first run."""
    repeat: int
    """Which attempt at it, from 1."""
    first: str
    second: str
    """The runs."""
    verdict: PairVerdict | None
    """`None`: there is none, and `problem` says why."""
    problem: str | None = None
    failed: bool = False
    """Whether the judge failed; without a verdict otherwise there was nothing to judge."""


class RunPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge of pairs says of some runs."""

    judge: str
    """What the judge is called."""
    runs: tuple[str, ...]
    strengths: Strengths | None
    """Shares of points and strengths, with the first run as the reference; `None` if nothing was judged."""
    order_bias: OrderBias | None
    """How far the judge went by the order; `None` with the strengths."""
    judged: tuple[JudgedPair, ...]
    pairings: tuple[tuple[str, str, Pairing], ...]
    """For each two runs, which cases they share and which not."""


class _Duel(msgspec.Struct, frozen=True, kw_only=True):
    case: str
    key: Hashable
    """The same for one case in all runs, whatever its name there."""
    cluster: Hashable
    first: str
    second: str
    one: ReportCase | None
    two: ReportCase | None
    repeat: int


async def judge_runs(
    judge: Pairwise,
    reports: Sequence[Report],
    *,
    labels: Sequence[str] | None = None,
    pair_by: PairBy = "content",
    max_concurrency: int = 10,
    confidence: float = 0.95,
) -> RunPairs:
    """Let a judge compare every two of some runs, case by case.

    Args:
        judge: whose rubric and model decide; its own baseline is not asked.
        reports: of the runs, at least two; the first is the reference.
        labels: what to call them; default: their names, which have to differ.
        pair_by: what makes two cases the same, their content or their name.
        max_concurrency: pairs that are judged at the same time.
        confidence: of the intervals.

    Raises:
        InvalidOptionError: there are fewer than two runs, or two with one label.
    """
    names = [report.name for report in reports] if labels is None else list(labels)
    if len(reports) < 2 or len(names) != len(reports) or len(set(names)) < len(names):
        raise InvalidOptionError(
            f"runs are compared two at a time, each with a name of its own: got {names!r} for {len(reports)} reports"
        )
    check_whole_number("max_concurrency", max_concurrency, at_least=1)
    await judge_model(judge)
    duels: list[_Duel] = []
    pairings: list[tuple[str, str, Pairing]] = []
    told = list(zip(names, reports, strict=True))
    for (first, old), (second, new) in combinations(told, 2):
        found, pairing = _duels(old, new, first, second, pair_by)
        duels += found
        pairings.append((first, second, pairing))
    places = asyncio.Semaphore(max_concurrency)
    judged = await asyncio.gather(*(_judged(judge, duel, places) for duel in duels))
    decided = [
        (duel, pair.verdict) for duel, pair in zip(duels, judged, strict=True) if pair.verdict is not None
    ]
    clusters: dict[Hashable, Hashable] = {duel.key: duel.cluster for duel in duels}
    return RunPairs(
        judge=judge.get_default_evaluation_name(),
        runs=tuple(names),
        strengths=strengths(
            [PairJudgement(duel.key, duel.first, duel.second, verdict.points) for duel, verdict in decided],
            clusters=clusters,
            confidence=confidence,
        ),
        order_bias=measure_order_bias(
            [(verdict.shown_first, verdict.shown_second) for _, verdict in decided],
            clusters=[duel.cluster for duel, _ in decided],
            confidence=confidence,
        ),
        judged=tuple(judged),
        pairings=tuple(pairings),
    )


async def judge_model(judge: Pairwise) -> None:
    """See that the judge has a model; its baseline does not matter here."""
    await super(Pairwise, judge).before_run()


def _duels(old: Report, new: Report, first: str, second: str, pair_by: PairBy) -> tuple[list[_Duel], Pairing]:
    pairs, pairing = pair_cases(cases_of(old), cases_of(new), by=pair_by)
    return [duel for before, after in pairs for duel in _of_case(before, after, first, second)], pairing


def _of_case(before: RunCase, after: RunCase, first: str, second: str) -> Iterator[_Duel]:
    """The attempts at one case in two runs, one with one; of different numbers of attempts, the further ones have no partner."""
    sides = [sorted(case.attempts, key=attempt_number) for case in (before, after)]
    key: Hashable = before.content if before.has_content else before.name
    for one, two in zip(*sides, strict=False):
        yield _Duel(
            case=before.name,
            key=key,
            cluster=before.cluster or key,
            first=first,
            second=second,
            one=one if isinstance(one, ReportCase) else None,
            two=two if isinstance(two, ReportCase) else None,
            repeat=attempt_number(one)[0],
        )


async def _judged(judge: Pairwise, duel: _Duel, places: asyncio.Semaphore) -> JudgedPair:
    verdict = problem = None
    failed = False
    if duel.one is None or duel.two is None:
        gone = [run for run, side in ((duel.first, duel.one), (duel.second, duel.two)) if side is None]
        problem = f"there is no answer: the task failed in {' and '.join(gone)}"
    else:
        async with places:
            try:
                verdict = await judge.compare(context_of(duel.one), context_of(duel.two), repeat=duel.repeat)
            except NotApplicableError as error:
                problem = str(error)
            except BaseException as error:
                if is_interrupt(error) or isinstance(error, asyncio.CancelledError):
                    raise
                problem, failed = describe_error(error)[1], True
    return JudgedPair(
        case=duel.case,
        repeat=duel.repeat,
        first=duel.first,
        second=duel.second,
        verdict=verdict,
        problem=problem,
        failed=failed,
    )
