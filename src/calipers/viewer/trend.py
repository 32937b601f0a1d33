"""`GET /trend`: the pass rate, or an evaluator's mean, over the runs of a dataset, and where two of them cannot be compared.

Two neighbours can be compared if they tried the same cases and were judged by the same evaluators, as far as the store knows: it keeps a
digest of all cases with the counts of a run, and the identity of every evaluator.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from calipers.data.argument_checks import did_you_mean
from calipers.identity.fingerprint import differences
from calipers.report.summary import Summary
from calipers.stats import Estimate
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo, StoredEvaluator
from calipers.stores.run_report import Counted

from .refusal import Refusal
from .run_counter import RunCounter
from .run_rows import run_row
from .viewed_store import ViewedStore
from .wire import TrendAnswer, TrendPoint

MOST: Final = 1000
"""Points of one answer: the newest runs."""
_CHANGES: Final = 2
"""Differences of an evaluator that are named."""


def trend_answer(viewed: ViewedStore, *, dataset: str, evaluator: str = "", limit: int = 200) -> TrendAnswer:
    """The runs of a dataset, the oldest first."""
    if not 1 <= limit <= MOST:
        raise Refusal("bad_request", f"limit must be between 1 and {MOST}, got {limit}")
    counter = viewed.kept(RunCounter)
    with viewed.reading() as store:
        infos = [
            info for info in reversed(store.runs(dataset_name=dataset, limit=limit)) if info.damaged is None
        ]
        if not infos:
            names = {info.dataset_name for info in store.runs() if info.dataset_name is not None}
            near = did_you_mean(dataset, names)
            raise Refusal("not_found", f"no run of this store is of a dataset {dataset!r:.200}{near}")
        wanted = {info.id for info in infos}
        progress = [run for run in store.progress() if run.id in wanted]
        counts = dict.fromkeys(wanted) | {
            run.id: store.kept_counts(run.id) or counter.of(run) for run in progress
        }
    counter.want(viewed, [run for run in progress if counts[run.id] is None or run.status == "running"])
    columns = _columns(counts.values())
    if evaluator and evaluator not in columns:
        raise Refusal(
            "not_found",
            f"no run of {dataset!r} has a column {evaluator!r:.200}{did_you_mean(evaluator, columns)}",
        )
    breaks = [[], *(list(_breaks(*pair, counts, evaluator)) for pair in pairwise(infos))]
    return TrendAnswer(
        dataset=dataset,
        evaluator=evaluator or None,
        evaluators=[name for name, summary in columns.items() if summary.kind != "label"],
        is_rate=not evaluator or columns[evaluator].kind == "assertion",
        points=[
            _point(info, counts[info.id], evaluator, found) for info, found in zip(infos, breaks, strict=True)
        ],
    )


def _columns(counts: Iterable[Counted | None]) -> dict[str, Summary]:
    """The columns of all runs, by name; of several of one name that of the newest run."""
    found: dict[str, Summary] = {}
    for counted in counts:
        if counted is not None:
            found |= counted.totals.summaries
    return found


def _point(info: RunInfo, counted: Counted | None, evaluator: str, breaks: Sequence[str]) -> TrendPoint:
    row = run_row(info, totals=None if counted is None else counted.totals)
    return TrendPoint(
        run=row.id,
        name=row.name,
        started_at=row.started_at,
        state=row.state,
        commit=row.commit,
        dirty=row.dirty,
        task_version=row.task_version,
        estimate=_estimate(counted, evaluator),
        cost=row.cost,
        break_before=list(breaks),
    )


def _estimate(counted: Counted | None, evaluator: str) -> Estimate | None:
    if counted is None:
        return None
    if not evaluator:
        return counted.totals.pass_rate
    summary = counted.totals.summaries.get(evaluator)
    return None if summary is None else summary.estimate


# ---------------------------------------------------------------------- what cannot be compared


def _breaks(
    before: RunInfo, after: RunInfo, counts: Mapping[str, Counted | None], evaluator: str
) -> Iterator[str]:
    """Why a run and the one before it cannot be compared, in words."""
    old, new = counts[before.id], counts[after.id]
    if _is_part(after):
        yield f"only {after.attempts:,} of {plural(after.total or 0, 'attempt')} were made"
    elif _is_part(before):
        yield "the run before is not whole"
    elif old is not None and new is not None:
        yield from _other_cases(old, new)
    earlier, later = _judges(before, old, evaluator), _judges(after, new, evaluator)
    for name in dict.fromkeys([*earlier, *later]):
        if name not in later:
            yield f"the evaluator {name} is gone"
        elif name not in earlier:
            yield f"the evaluator {name} is new"
        elif _differ(earlier[name], later[name]):
            how = differences(earlier[name].parts, later[name].parts)[:_CHANGES]
            yield f"the evaluator {name} changed{': ' * bool(how)}{'; '.join(how)}"


def _differ(one: StoredEvaluator, other: StoredEvaluator) -> bool:
    """Whether two evaluators are known to be different ones."""
    return None not in (one.identity, other.identity) and one.identity != other.identity


def _is_part(info: RunInfo) -> bool:
    """Whether a run is over, or abandoned, without all of its attempts."""
    return info.total is not None and info.attempts < info.total


def _other_cases(old: Counted, new: Counted) -> Iterator[str]:
    before, after = old.totals.counts.cases, new.totals.counts.cases
    if before != after:
        yield f"{plural(after, 'case')}, and {before:,} before"
    elif old.cases is not None and new.cases is not None and old.cases != new.cases:
        yield "other cases, or changed ones"


def _judges(info: RunInfo, counted: Counted | None, evaluator: str) -> dict[str, StoredEvaluator]:
    """The evaluators behind a column, or behind the pass rate: those that assert something, as far as that is known."""
    summaries = {} if counted is None else counted.totals.summaries
    if evaluator:
        wanted = {summaries[evaluator].evaluator} if evaluator in summaries else set[str]()
    else:
        wanted = {each.evaluator for each in summaries.values() if each.kind == "assertion"}
    return {one.name: one for one in info.evaluators if not one.superseded and one.name in wanted}
