"""The report of a stored run, and what its attempts say together.

Attempts are read as a stream and counted one by one, so that a run of any length fits into memory. They are counted in
the order of a report in memory, finished ones first, so that both say the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from calipers.data.human_label import HumanLabel
from calipers.data.record import ReportCase
from calipers.data.result import EvaluatorSpec
from calipers.data.result_names import Names
from calipers.errors import StoreError
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.report.shard import Shard, ShardFacts, as_shard
from calipers.report.summary import Tally, Totals
from calipers.run.runner import KEPT_FAILED

from .evaluator_slots import scored_places, shared_places
from .packing import NOT_JUDGED, Record, unpack
from .run_info import RunInfo, StoredEvaluator, columns_of, plain_spec
from .stored_attempt import StoredAttempt, StoredCell

Judged: TypeAlias = Iterator[tuple[StoredAttempt, list[StoredCell]]]
"""Attempts with their cells."""

_DIGESTS: Final = 2**128
"""The digest of all cases is the sum of theirs."""
KEEPS: Final = ("all", "failed", "none")
"""Which attempts a report from a store may hold."""


class Counted(msgspec.Struct, kw_only=True):
    """The counts of a run: made when they are first asked for, then kept with it."""

    version: Literal[6] = 6
    """Counts of other versions are made again."""
    totals: Totals
    not_passed: list[int]
    """The positions of the first attempts that did not pass, as many as a report keeps."""
    unjudged: dict[str, int]
    """By evaluator that was added by scoring: the finished attempts that it has yet to judge."""
    shared_keys: list[str] = []
    """The keys that several evaluators give; see `calipers.data.result_names`."""
    cases: str | None = None
    """The same for runs over the same cases, in any order; `None` if the content of some case is not known."""


def count(judged: Callable[[bool], Judged], evaluators: Sequence[StoredEvaluator]) -> Counted:
    """Count attempts; `judged` gives those that failed (True) or did not (False)."""
    tally = Tally()
    names, changes = Names(columns_of(evaluators)), 0
    lost: list[int] = []
    shared, scored = shared_places(evaluators), scored_places(evaluators)
    lacking: Counter[str] = Counter()
    content: int | None = 0
    for failed in (False, True):
        found = 0
        for attempt, cells in judged(failed):
            record = unpack(
                attempt, cells, evaluators, parts=False, shared=shared, scored=scored, names=names
            )
            if names.changes != changes:
                tally.rename(names)
                changes = names.changes
            tally.add(record)
            if attempt.repeat == 1 and content is not None:
                known = attempt.case_hash
                content = None if known is None else (content + int.from_bytes(known)) % _DIGESTS
            for name in unjudged_by(record) if scored else ():
                lacking[name] += 1
            if found < KEPT_FAILED and record.passed is False:
                lost.append(attempt.position)
                found += 1
    return Counted(
        totals=tally.totals(),
        not_passed=sorted(lost)[:KEPT_FAILED],
        unjudged=dict(lacking),
        shared_keys=names.shared,
        cases=None if content is None else f"{content:032x}",
    )


def unjudged_by(record: Record) -> list[str]:
    """The evaluators that were added by scoring and have yet to judge an attempt."""
    failures = record.evaluator_failures if isinstance(record, ReportCase) else ()
    return [failure.name for failure in failures if failure.error_type == NOT_JUDGED]


def not_all_judged(report: Report, unjudged: Mapping[str, int]) -> Incomplete | None:
    """That some evaluators have yet to judge some attempts of a report; `unjudged` says how many each; `None`: they have not."""
    if not unjudged:
        return None
    counts = report.counts()
    finished = counts.attempts - sum(counts.failed_tasks.values())
    lacking = [
        f"evaluator {name} has judged {finished - count:,} of {finished:,} attempts"
        for name, count in unjudged.items()
    ]
    who = "it" if len(lacking) == 1 else "them"
    reason = f"not all is judged: {'; '.join(lacking)}; score the run with {who} again"
    return Incomplete("not_scored", reason)


def ending_of(report: Report) -> dict[str, Any]:
    """What a report says besides its attempts, as plain data."""
    bare = msgspec.structs.replace(report, cases=[], failures=[], totals=None, passports={}).to_dict()
    if report.incomplete is not None and report.incomplete.kind == "not_scored":
        bare["incomplete"] = None  # it is counted anew whenever the report is read
    return {key: value for key, value in bare.items() if key not in {"cases", "failures", "totals"}}


def bare_report(run: RunInfo) -> Report:
    """The report of a run without its attempts."""
    if run.ending is not None:
        return Report.from_dict({**run.ending, "cases": [], "failures": []})
    if run.status == "finished":
        incomplete = None if run.total in {None, run.attempts} else Incomplete("ended", "ended")
    elif run.status == "running" and not run.is_abandoned():
        incomplete = Incomplete("running", "still running")
    else:
        kind: Literal["abandoned", "interrupted", "failed"] = (
            "abandoned" if run.status == "running" else run.status
        )
        incomplete = Incomplete(kind, kind)
    shard = as_shard(run.shard)
    return Report(
        name=run.name,
        cases=[],
        shard=None if shard is None else _facts_of_killed(run, shard),
        dataset_name=run.dataset_name,
        metadata=run.metadata,
        repeat=run.repeat,
        seed=run.seed,
        started_at=run.started_at,
        incomplete=incomplete and incomplete.after(run.attempts, run.total),
    )


def _facts_of_killed(run: RunInfo, shard: Shard) -> ShardFacts:
    """What is known of a shard that did not say how it ended."""
    shared = [one for one in run.evaluators if one.shared and not (one.added or one.superseded)]
    return ShardFacts(
        shard=shard,
        task=run.task_key,
        evaluators=dict.fromkeys(one.name for one in shared),
        not_analysed=None,
    )


def labels_at(record: Record, run: str, position: int) -> list[HumanLabel]:
    """What people said of an attempt, as it is stored with the run that has it now."""
    return [msgspec.structs.replace(label, run=run, position=position) for label in record.human_labels]


def put_in(report: Report, record: Record) -> None:
    """Add an attempt to a report."""
    if isinstance(record, ReportCase):
        report.cases.append(record)
    else:
        report.failures.append(record)


class EvaluatorsInRecords:
    """The evaluators that the records of a report name, which a report does not list itself."""

    def __init__(self) -> None:
        self._evaluators: list[StoredEvaluator] = []
        self._places: dict[bytes, int] = {}
        self._by_name: dict[str, int] = {}
        self._finished = 0
        self._judged: Counter[str] = Counter()

    def evaluators(self) -> tuple[StoredEvaluator, ...]:
        """The evaluators so far. One that judged every finished attempt is shared by all cases."""
        specs: dict[str, set[bytes]] = {}
        for one in self._evaluators:
            if one.spec != EvaluatorSpec(one.name):  # else no result says more of it
                specs.setdefault(one.name, set()).add(msgspec.json.encode(one.spec))
        shared = {
            name
            for name, count in self._judged.items()
            if count == self._finished and len(specs.get(name, ())) <= 1
        }
        return tuple(msgspec.structs.replace(one, shared=one.name in shared) for one in self._evaluators)

    def of(self, record: Record) -> list[int]:
        """The places of a record's evaluators, in the order they ran as far as the record says."""
        if not isinstance(record, ReportCase):
            return [self._of_name(name) for name in record.not_run]
        self._finished += 1
        places: dict[str, int] = {}
        for result in record.results:
            if result.evaluator not in places:
                version = result.evaluator_version
                places[result.evaluator] = self._place(result.evaluator, result.source, version)
        for failure in record.evaluator_failures:
            if failure.name not in places:
                places[failure.name] = self._place(failure.name, failure.source, None)
        for skip in record.skipped:
            if skip.evaluator not in places:
                places[skip.evaluator] = self._of_name(skip.evaluator)
        self._judged.update(places.keys())
        return list(places.values())

    def _of_name(self, name: str) -> int:
        """The place of the first evaluator of that name; one without results has only its name."""
        found = self._by_name.get(name)
        return self._place(name, EvaluatorSpec(name), None) if found is None else found

    def _place(self, name: str, spec: EvaluatorSpec, version: str | None) -> int:
        evaluator = StoredEvaluator(name=name, spec=plain_spec(spec), version=version, shared=False)
        key = msgspec.json.encode(evaluator)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._evaluators)
            self._evaluators.append(evaluator)
            self._by_name.setdefault(name, place)
        return place


def check_whole(report: Report) -> None:
    """Refuse a report that does not hold every attempt of its run, since its numbers would change."""
    held = len(report.cases) + len(report.failures)
    try:
        made = report.counts().attempts
    except ValueError as error:
        raise StoreError(f"the report cannot be counted, so it cannot be stored: {error}") from error
    if held != made:
        raise StoreError(
            f"the report holds {held} of its {made} attempts, and only these would be stored: run with keep='all', or "
            "with store="
        )
