"""`GET /cases/{case}/history`: a case over the runs of its dataset.

A case has one name in all runs of its dataset, and mostly one place. So a run is asked for the attempts at the place that the case had in the
run before; only where others are found there, its attempts are searched for the name, as long as there is time.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.record import ReportCase
from calipers.data.spending import COST, JUDGE_COST
from calipers.errors import StoreTimeoutError
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.outcome import outcome_of
from calipers.views.transcript import rollout_transcript

from .attempt_parts import AttemptParts
from .case_answer import attempts_at, counts_of, find_case
from .case_id import case_id
from .deadline import current_deadline
from .refusal import Refusal
from .viewed_store import ViewedStore
from .wire import HistoryAnswer, HistoryPoint

MOST_RUNS: Final = 50
"""Runs of the dataset that are looked at: the newest."""
_SHOWN: Final = 200
"""Characters of an output."""
_FIRST: Final = 5
"""Runs in which the case is looked for, where none is known to have it."""
_MARKS: Final = {"passed": "p", "failed": "f", "error": "e", "skipped": "u"}


class _Found(NamedTuple):
    """The attempts at the case in one run."""

    info: RunInfo
    attempts: Sequence[AttemptParts]

    @property
    def positions(self) -> list[int]:
        return [parts.attempt.position for parts in self.attempts]


def history_answer(viewed: ViewedStore, case: str, *, dataset: str = "", run: str = "") -> HistoryAnswer:
    """A case over the runs of its dataset, the newest first.

    Args:
        viewed: the store.
        case: its id.
        dataset: the name of the dataset; default: that of the run.
        run: one that has the case.
    """
    if not dataset and not run:
        raise Refusal("bad_request", "a history needs the dataset of the case, or a run that has it")
    known: RunInfo | None = None
    places: list[int] = []
    if run:
        known, _, places = find_case(viewed, run, case)
        dataset = dataset or known.dataset_name or ""
    with viewed.reading() as store:
        runs = [info for info in store.runs(dataset_name=dataset) if info.damaged is None] if dataset else []
        if known is None:
            first = _first(viewed, store, case, runs[:_FIRST])
        else:
            first = _Found(known, _read(viewed, store, known, places))
            runs = runs or [known]
        if first is None or not first.attempts:
            raise Refusal(
                "not_found",
                f"the newest runs of the dataset {dataset!r} have no case of the id {case!r:.100}: name a run that has it",
            )
        found, left_out = _over_runs(viewed, store, runs[:MOST_RUNS], first)
    points = list(_points(found))
    return HistoryAnswer(
        id=case,
        name=first.attempts[0].attempt.case_name,
        points=points,
        summary=_summary([point.marks for point in points]),
        left_out=left_out + max(0, len(runs) - MOST_RUNS),
    )


def _first(viewed: ViewedStore, store: Store, case: str, runs: Sequence[RunInfo]) -> _Found | None:
    """The case in the first of some runs that has it."""
    for info in runs:
        positions = viewed.index(info.id).positions_of(case)
        attempts = _read(viewed, store, info, positions) if positions else []
        if attempts:
            return _Found(info, attempts)
    return None


def _over_runs(
    viewed: ViewedStore, store: Store, runs: Sequence[RunInfo], first: _Found
) -> tuple[list[_Found], int]:
    """The case in each of some runs that has it, and how many runs there was no time for."""
    name = first.attempts[0].attempt.case_name
    found: list[_Found] = []
    before = first
    for number, info in enumerate(runs):
        deadline = current_deadline()
        if deadline is not None and deadline.left < deadline.seconds / 2:
            return found, len(runs) - number
        try:
            attempts = (
                first.attempts
                if info.id == first.info.id
                else _in_run(viewed, store, info, name, before.positions)
            )
        except StoreTimeoutError:
            return found, len(runs) - number
        if attempts:
            before = _Found(info, attempts)
            found.append(before)
    return found, 0


def _in_run(
    viewed: ViewedStore, store: Store, info: RunInfo, name: str, near: Sequence[int]
) -> Sequence[AttemptParts]:
    """The attempts at a case in a run, looked for where it was in another one first."""
    wanted = case_id(name)
    attempts = _read(viewed, store, info, near)
    if len(attempts) == max(1, info.repeat) and all(
        case_id(each.attempt.case_name) == wanted for each in attempts
    ):
        return attempts
    positions = [attempt.position for attempt in store.attempts(info.id, name=name, parts=False)]
    return _read(viewed, store, info, positions) if positions else []


def _read(viewed: ViewedStore, store: Store, info: RunInfo, positions: Sequence[int]) -> list[AttemptParts]:
    return list(attempts_at(store, info, positions, counts_of(viewed, store, info)))


# ---------------------------------------------------------------------- points


def _points(found: Sequence[_Found]) -> Iterator[HistoryPoint]:
    """A point for each run, compared with the one before it, which stands after it."""
    for at, one in enumerate(found):
        before = found[at + 1] if at + 1 < len(found) else None
        first = one.attempts[0]
        costs = [cost for parts in one.attempts if (cost := _cost(parts)) is not None]
        times = [parts.record.task_duration for parts in one.attempts]
        yield HistoryPoint(
            run=one.info.id,
            run_name=one.info.name,
            started_at=one.info.started_at,
            commit=None if one.info.git is None else one.info.git.commit,
            marks="".join(_MARKS[outcome_of(parts.record)] for parts in one.attempts),
            seconds=sum(times) / len(times),
            cost=sum(costs) / len(costs) if costs else None,
            output=_output(first),
            changed_case=before is not None and _is_other_case(first, before.attempts[0]),
            changed_output=before is not None and first.part("output") != before.attempts[0].part("output"),
        )


def _cost(parts: AttemptParts) -> float | None:
    record = parts.record
    metrics = record.all_metrics if isinstance(record, ReportCase) else record.metrics
    known = [float(metrics[name]) for name in (COST, JUDGE_COST) if name in metrics]
    return sum(known) if known else None


def _is_other_case(one: AttemptParts, other: AttemptParts) -> bool:
    """Whether two attempts of one name were made at other cases."""
    hashes = one.attempt.case_hash, other.attempt.case_hash
    if None not in hashes:
        return hashes[0] != hashes[1]
    return any(one.part(name) != other.part(name) for name in ("input", "expected", "expected_calls"))


def _output(parts: AttemptParts) -> str:
    """The beginning of an output on one line; of a conversation, of its last answer."""
    if parts.attempt.failed:
        return " ".join(parts.error[:_SHOWN].split())
    raw = parts.part("output") or b""
    value: Any = raw[: 4 * _SHOWN].decode(errors="ignore")
    if raw.startswith(b'"'):
        value = msgspec.json.decode(raw)
    elif (talk := rollout_transcript(parts.talk)) is not None and talk.turns:
        value = talk.turns[-1].answered
    return " ".join(str(value)[:_SHOWN].split())


# ---------------------------------------------------------------------- in words


def _summary(marks: Sequence[str]) -> str:
    """How the case fares, given the marks of each run, the newest first."""
    states = ["unknown" if not set(each) & set("pfe") else _state(each) for each in marks]
    known = [state for state in states if state != "unknown"]
    if not known:
        return "was not judged"
    of = plural(len(known), "run")
    if set(known) == {"passed"}:
        return "passed in the only run" if len(known) == 1 else f"passed in all {of}"
    if set(known) == {"failed"}:
        return "did not pass in the only run" if len(known) == 1 else f"did not pass in any of {of}"
    flips = sum(one != other for one, other in pairwise(known))
    if flips > 1 or "mixed" in known:
        return f"unsteady: passed in {known.count('passed'):,} of {of}"
    since = known.index("failed" if known[0] == "passed" else "passed")
    word = "passes" if known[0] == "passed" else "fails"
    return f"{word} since the newest run" if since == 1 else f"{word} since {plural(since, 'run')}"


def _state(marks: str) -> str:
    judged = [mark for mark in marks if mark != "u"]
    if all(mark == "p" for mark in judged):
        return "passed"
    return "mixed" if "p" in judged else "failed"
