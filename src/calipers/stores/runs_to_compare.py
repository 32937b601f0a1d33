"""Stored runs as a comparison needs them: results, times and metrics of every attempt, and a digest of what each case is.

What attempts were given, and what they gave and did, is read a page at a time and not kept, so that the memory that a comparison takes does not
follow from how long the answers are. The numbers of the comparison are the same (`calipers.comparison.comparison.compare_many`).

A store keeps a hash of each case that was run (`StoredAttempt.case_hash`). A case that has one name and one such hash in all runs is the same in
all of them, and what it was given need not be read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from calipers.comparison.case_pairs import CaseContent, case_content
from calipers.comparison.evaluator_changes import KnownEvaluators
from calipers.data.record import ReportCase, name_results
from calipers.data.result import EvaluationResult
from calipers.data.result_names import Names
from calipers.report.report import Report

from .evaluator_slots import scored_places, shared_places
from .packing import Record, unpack
from .run_info import RunInfo
from .run_report import bare_report, not_all_judged, put_in, unjudged_by
from .store import Store

Heard = Callable[[int], None]
"""Hears how many more attempts were read."""

_EACH = 500
"""Attempts after which it is told how far the reading is."""


class RunToCompare(NamedTuple):
    """A run without what its attempts were given, gave and did."""

    info: RunInfo
    report: Report
    contents: Mapping[str, CaseContent]
    """By the name of the case."""
    positions: Mapping[str, int]
    """Of the attempts, by their names."""
    evaluators: KnownEvaluators
    shared_keys: list[str]
    """The keys that several of its evaluators give (`calipers.data.result_names`)."""


class LightRun(NamedTuple):
    """What one pass over a run found."""

    report: Report
    """With results, times and metrics alone."""
    positions: dict[str, int]
    """Of the attempts, by their names."""
    first: dict[str, tuple[int, bytes | None]]
    """By the name of the case: the position of the attempt that its content is read from, and the hash of the case."""
    shared_keys: list[str]
    """The keys that several of its evaluators give."""


def runs_to_compare(
    store: Store, runs: Sequence[RunInfo], *, hear: Heard = lambda _: None
) -> list[RunToCompare]:
    """Runs of a store, to be compared with each other.

    Args:
        store: that has them.
        runs: the baseline first.
        hear: called now and then with the number of attempts that were read since; each is read once, or twice.
    """
    found = [light_run(store, info, hear=hear) for info in runs]
    same = _same_everywhere([each.first for each in found])
    return [
        RunToCompare(
            info,
            read.report,
            _contents(store, info, read.first, same, hear),
            read.positions,
            store.known_evaluators(info.id),
            read.shared_keys,
        )
        for info, read in zip(runs, found, strict=True)
    ]


def _same_everywhere(firsts: Sequence[Mapping[str, tuple[int, bytes | None]]]) -> dict[str, bytes]:
    """The cases that all runs have under one name with one hash."""
    one, *others = firsts
    return {
        name: case_hash
        for name, (_, case_hash) in one.items()
        if case_hash is not None and all(name in other and other[name][1] == case_hash for other in others)
    }


def light_run(store: Store, info: RunInfo, *, hear: Heard = lambda _: None) -> LightRun:
    """A run without what its attempts were given, gave and did; `hear` as for `runs_to_compare`."""
    report = bare_report(info)
    names = Names(info.columns)
    shared, scored = shared_places(info.evaluators), scored_places(info.evaluators)
    known: dict[Any, EvaluationResult] = {}
    positions: dict[str, int] = {}
    first: dict[str, tuple[int, bytes | None]] = {}
    finished = set[str]()
    unjudged: dict[str, int] = {}
    count = 0
    for count, (attempt, cells) in enumerate(store.judged(info.id, parts=False), start=1):
        record = unpack(
            attempt, cells, info.evaluators, parts=False, shared=shared, scored=scored, names=names
        )
        for name in unjudged_by(record) if scored else ():
            unjudged[name] = unjudged.get(name, 0) + 1
        put_in(report, _lightened(record, known))
        positions[record.name] = attempt.position
        case = attempt.case_name
        # As in a report, where those that finished come first.
        if case not in first or (case not in finished and isinstance(record, ReportCase)):
            first[case] = (attempt.position, attempt.case_hash)
        if isinstance(record, ReportCase):
            finished.add(case)
        if count % _EACH == 0:
            hear(_EACH)
    hear(count % _EACH)
    if names.changes:
        name_results(report.cases, names)
    report.incomplete = report.incomplete or not_all_judged(report, unjudged)
    return LightRun(report, positions, first, names.shared)


def _lightened(record: Record, known: dict[Any, EvaluationResult]) -> Record:
    """A record without reasons and notes; what it spent on judges moves to its metrics. Results that are the same become one object."""
    if not isinstance(record, ReportCase):
        record.error_message = record.error_stacktrace = ""
        return record
    record.metrics = record.all_metrics
    record.results = tuple(_light(result, known) for result in record.results)
    record.evaluator_failures = tuple(
        msgspec.structs.replace(each, error_message="", error_stacktrace="", metadata=None)
        for each in record.evaluator_failures
    )
    record.skipped = tuple(msgspec.structs.replace(each, reason="", metadata=None) for each in record.skipped)
    return record


def _light(result: EvaluationResult, known: dict[Any, EvaluationResult]) -> EvaluationResult:
    if isinstance(result.value, bool | str):
        key = (
            *(result.name, result.key, result.value, result.evaluator, result.evaluator_version),
            *(id(result.source), result.verdict, result.score),
        )
        same = known.get(key)
        if same is not None:
            return same
        if len(known) < _MOST_KNOWN:
            known[key] = light = msgspec.structs.replace(result, reason=None, metadata=None)
            return light
    if result.reason is None and result.metadata is None:
        return result
    return msgspec.structs.replace(result, reason=None, metadata=None)


_MOST_KNOWN = 10_000
"""Results that are remembered, to be the same object for all attempts that have them."""


def _contents(
    store: Store,
    info: RunInfo,
    first: Mapping[str, tuple[int, bytes | None]],
    same: Mapping[str, bytes],
    hear: Heard,
) -> dict[str, CaseContent]:
    """The contents of the cases of a run."""
    found: dict[str, CaseContent] = {name: ((digest,), True) for name, digest in same.items()}
    wanted = {position: name for name, (position, _) in first.items() if name not in same}
    if not wanted:
        return found
    for count, attempt in enumerate(store.attempts(info.id, parts="given"), start=1):
        if attempt.position in wanted:
            record = unpack(attempt, (), info.evaluators, parts="given")
            found[wanted[attempt.position]] = case_content(record)
        if count % _EACH == 0:
            hear(_EACH)
    return found
