"""A check that authors run on their own store: `check_store(MyStore())`.

It writes a few small runs into the store, reads them back, and raises one error that lists everything it found. The runs
are called `calipers-check`, and are deleted afterwards, as are the passports and answers of models; others are left alone.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import msgspec

from calipers.data.human_label import HumanLabel
from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.errors import StoreError
from calipers.report.report import Report
from calipers.stores.evaluator_slots import EvaluatorSlots
from calipers.stores.packing import Record, pack, unpack
from calipers.stores.run_info import RunInfo, StoredEvaluator
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredCell
from calipers.stores.stored_passport import StoredPassport
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: dict[str, str] = {
    "runs": "a run is found by its id, the beginning of its id, its name, or as the latest; newest first",
    "whole": "give back what was appended, attempt by attempt, with every cell",
    "once": "an attempt that is appended again replaces the one at its position, with its cells",
    "atomic": "append all of a batch or, where it raises a StoreError, nothing of it",
    "columns": "cells of stored attempts replace those of the same evaluator, and no others",
    "superseded": "leave the cells of evaluators out that are superseded, and keep them: an evaluator may come back",
    "pages": "read in the order of positions, whatever the order in which attempts came",
    "find": "take the newest attempt of a key, and cells that were said of that very output",
    "large values": "keep what a run still uses, however many runs shared it",
    "counts": "keep totals with the run until something is appended, and then count anew",
    "labels": "keep what people said by run, position, question and person, and lose none of it unasked",
    "passports": "give back the passports of a judge, the newest first",
    "model answers": "keep the first answer of a key, and remove those that are older than asked for",
    "threads": "let any thread call any method: one lock per connection does",
}
"""What to do about a finding, by its rule."""

NAME = "calipers-check"
"""What the runs of the check are called."""

_EVALUATORS = (
    StoredEvaluator(name="Right", spec=EvaluatorSpec("Right"), identity="right-1"),
    StoredEvaluator(
        name="Close", spec=EvaluatorSpec("Close", {"scale": 2.0}), version="7", identity="close-1"
    ),
    StoredEvaluator(name="Vague", spec=EvaluatorSpec("Vague")),
)


def check_store(store: Store) -> None:
    """Check that a store keeps the contract of `calipers.stores.Store`.

    Args:
        store: open, and writable.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    findings: list[Finding] = []
    for rule, check in _CHECKS:
        try:
            check(store)
        except Exception as error:
            problem = str(error) if isinstance(error, _Broken) else f"it raised {error_text(error)}"
            findings.append(Finding(rule, problem, advice=ADVICE[rule]))
    for info in store.runs(name=NAME):
        store.delete_run(info.id, labels=True)
    store.remove_passports(NAME)
    store.remove_model_answers(keys=[_key(NAME), _key(f"{NAME} 2")])
    if findings:
        raise ConformanceError(type(store).__name__, findings, "a store")


class _Broken(Exception):  # noqa: N818 - it never leaves this module
    """The store broke a promise of the contract."""


def _expect(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise _Broken(f"{what}: expected {safe_repr(expected):.300}, got {safe_repr(found):.300}")


def _refuses(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except StoreError:
        return
    raise _Broken(f"{what} should raise a StoreError")


# ---------------------------------------------------------------------- material


def record(position: int, *, output: Any = None, failed: bool = False) -> Record:
    """A small record, judged by three evaluators."""
    name = f"case {position}"
    if failed:
        return ReportCaseFailure(
            name=name,
            inputs={"n": position},
            metadata=None,
            expected_output=None,
            error_type="ValueError",
            error_message="ValueError: no",
            not_run=("Right", "Close", "Vague"),
        )

    def result(place: int, value: Any, **more: Any) -> EvaluationResult:
        evaluator = _EVALUATORS[place]
        return EvaluationResult(
            name=evaluator.name,
            value=value,
            evaluator=evaluator.name,
            source=evaluator.spec,
            evaluator_version=evaluator.version,
            **more,
        )

    return ReportCase(
        name=name,
        inputs={"n": position, "text": "Grüße\0 \U0001f600"},
        metadata=None,
        expected_output=2**70,
        output=2 * position if output is None else output,
        metrics={"tokens": position},
        attributes={},
        results=(result(0, position % 3 != 0), result(1, 0.5, reason="half"), result(2, "so-so")),
        task_duration=0.25,
        total_duration=0.5,
        has_expected_output=True,
    )


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _begin(store: Store, **more: Any) -> RunInfo:
    return store.begin_run(RunInfo(name=NAME, evaluators=_EVALUATORS, **more))


def _append(store: Store, run: RunInfo, records: dict[int, Record], **more: Any) -> None:
    slots = EvaluatorSlots(run.evaluators)
    packed = [pack(one, position, slots, **more) for position, one in records.items()]
    store.append(run.id, [attempt for attempt, _ in packed], [cell for _, cells in packed for cell in cells])


def _records(store: Store, run: RunInfo) -> dict[int, Record]:
    return {
        attempt.position: unpack(attempt, cells, run.evaluators) for attempt, cells in store.judged(run.id)
    }


def _cell(position: int, evaluator: int, body: str) -> StoredCell:
    return StoredCell(position=position, evaluator=evaluator, body=body)


# ---------------------------------------------------------------------- checks


def _check_runs(store: Store) -> None:
    first = _begin(store, metadata={"who": "us"}, seed=0, total=2)
    second = _begin(store, dataset_name="others")
    _expect(first.id != second.id, True, "ids that differ")
    for which in (second.id, second.id[:-1], NAME):
        _expect(store.run(which).id, second.id, f"run({which!r})")
    _refuses(lambda: store.run(first.id[:4]), "the beginning of two ids")
    for unknown in ("", "no such run", "%"):
        _refuses(lambda unknown=unknown: store.run(unknown), f"run({unknown!r})")  # type: ignore[misc]
    _expect([info.id for info in store.runs(name=NAME)][:2], [second.id, first.id], "runs, newest first")
    _expect([info.id for info in store.runs(name=NAME, limit=1)], [second.id], "runs with a limit")
    _expect([i.id for i in store.runs(name=NAME, dataset_name="others")], [second.id], "runs of a dataset")
    found = store.run(first.id)
    _expect((found.metadata, found.seed, found.total), ({"who": "us"}, 0, 2), "what was noted of a run")
    _expect(found.evaluators, _EVALUATORS, "evaluators of a run")
    _expect((found.status, found.is_abandoned()), ("running", False), "a run that has begun")
    places = store.add_evaluators(first.id, [_EVALUATORS[1], _EVALUATORS[0], _new_evaluator()])
    _expect(places, [1, 0, 3], "places of evaluators that are there, there, and new")
    _expect(len(store.run(first.id).evaluators), 4, "evaluators after one was added")
    elsewhere = _begin(store, id=f"{first.id}-elsewhere", started_at="2020-01-01T00:00:00+00:00")
    told = (elsewhere.id, elsewhere.git, elsewhere.environment)
    _expect(told, (f"{first.id}-elsewhere", None, {}), "a run that was made elsewhere")
    _refuses(lambda: _begin(store, id=elsewhere.id), "a second run of one id")
    _begin(store, id="99991231-235959999-aaaaaa")
    _begin(store)
    newest = _begin(store)
    found_as = (store.run("latest").id, store.run(NAME).id, store.runs(limit=1)[0].id)
    _expect(found_as, (newest.id,) * 3, "the newest run, after one that was made by a clock that was ahead")
    ended = store.finish_run(elsewhere.id, ended_at="2020-01-02T00:00:00+00:00").ended_at
    _expect(ended, "2020-01-02T00:00:00+00:00", "when it ended")
    _check_owners(store)


def _check_owners(store: Store) -> None:
    run = _begin(store)
    _refuses(lambda: store.resume_run(run.id), "resuming a run that is being written")
    mine: dict[str, Any] = {"generation": run.generation}
    attempt, cells = pack(record(0), 0, EvaluatorSlots(run.evaluators))
    store.append(run.id, [attempt], cells, **mine)
    store.beat(run.id, **mine)
    store.finish_run(run.id, status="interrupted", **mine)
    successor = store.resume_run(run.id)
    _expect(successor.generation > run.generation, True, "a run that is resumed is of a later generation")
    for what, call in (
        ("append", lambda: store.append(run.id, [attempt], cells, **mine)),
        ("remove_attempts", lambda: store.remove_attempts(run.id, [0], **mine)),
        ("add_evaluators", lambda: store.add_evaluators(run.id, [_new_evaluator()], **mine)),
        ("supersede", lambda: store.supersede(run.id, [0], **mine)),
        ("beat", lambda: store.beat(run.id, **mine)),
        ("finish_run", lambda: store.finish_run(run.id, **mine)),
    ):
        _refuses(call, f"{what} for an earlier generation")
    found = store.run(run.id)
    told = (found.attempts, len(found.evaluators), found.status)
    _expect(told, (1, len(_EVALUATORS), "running"), "a run whose earlier owner came back")
    store.append(run.id, [attempt], cells, generation=successor.generation)


def _new_evaluator() -> StoredEvaluator:
    return StoredEvaluator(name="Late", spec=EvaluatorSpec("Late", {"odd": [None, "é"]}), shared=False)


def _check_whole(store: Store) -> None:
    run = _begin(store)
    given = {0: record(0), 2: record(2, failed=True), 5: record(5, output={"long": "x" * 5000, "π": [None]})}
    _append(store, run, given)
    _expect(_records(store, run), given, "records that come back")
    info = store.run(run.id)
    _expect((info.attempts, info.failures), (3, 1), "attempts and failures of a run")
    _expect(store.done(run.id), [range(1), range(2, 3), range(5, 6)], "positions that are done")
    report = Report(name=NAME, cases=[given[0], given[5]], failures=[given[2]], seed=0)  # type: ignore[list-item]
    kept = store.run(store.add_report(report).id)
    back = store.report(kept.id)
    _expect((back.cases, back.failures), (report.cases, report.failures), "a report that comes back")
    _expect((kept.status, back.incomplete), ("finished", None), "a report that was stored")


def _check_once(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {0: record(0), 1: record(1)})
    _append(store, run, {1: record(1), 2: record(2)})
    _expect(_records(store, run), {n: record(n) for n in range(3)}, "attempts that were appended twice")
    _append(store, run, {1: record(1, failed=True)})
    info = store.run(run.id)
    _expect((info.attempts, info.failures), (3, 1), "counts after an attempt was replaced")
    _expect(list(store.cells(run.id))[-1].position, 2, "cells of an attempt that was replaced are gone")
    _expect(len(list(store.cells(run.id))), 6, "cells after an attempt was replaced")
    store.remove_attempts(run.id, [1, 7])
    info = store.run(run.id)
    _expect((info.attempts, info.failures), (2, 0), "counts after an attempt was removed")


def _check_atomic(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {0: record(0)})
    attempt, cells = pack(record(1), 1, EvaluatorSlots(run.evaluators))
    _refuses(lambda: store.append(run.id, [attempt], [*cells, _cell(1, 99, "true")]), "an unknown evaluator")
    _refuses(lambda: store.append(run.id, [attempt], [*cells, _cell(8, 0, "true")]), "an unknown attempt")
    _refuses(lambda: store.append("no such run", [attempt], cells), "an unknown run")
    _expect(store.done(run.id), [range(1)], "nothing of a batch that was refused")
    _expect(_records(store, run), {0: record(0)}, "what was stored before")


def _check_columns(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {n: record(n) for n in range(3)})
    store.append(run.id, cells=[_cell(n, 0, "false") for n in range(3)])
    store.append(run.id, cells=[_cell(2, 0, "true")])
    column = [(cell.position, cell.body) for cell in store.cells(run.id, evaluator=0)]
    _expect(column, [(0, "false"), (1, "false"), (2, "true")], "a column that was judged again")
    others = [cell for cell in store.cells(run.id, after=0) if cell.evaluator != 0]
    _expect(len(others), 4, "cells of the other columns")
    attempt, _ = pack(record(3), 3, EvaluatorSlots(run.evaluators))
    attempt.cells = '{"0":true,"2":"so-so"}'
    store.append(run.id, [attempt])
    found = [(cell.evaluator, cell.body) for cell in store.cells(run.id, after=2)]
    _expect(sorted(found), [(0, "true"), (2, '"so-so"')], "the cells that an attempt holds")
    _check_successors(store)


def _check_successors(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {0: record(0)})
    changed = msgspec.structs.replace(_EVALUATORS[1], identity="close-2")

    def column() -> list[str]:
        return sorted(run.evaluators[cell.evaluator].name for cell in store.cells(run.id))

    _refuses(lambda: store.add_evaluators(run.id, [changed], alone=True), "a name that is taken")
    _expect(len(store.run(run.id).evaluators), 3, "evaluators after one was refused")
    _expect(store.add_evaluators(run.id, [changed], instead=True), [3], "the place of a successor")
    superseded = [one.superseded for one in store.run(run.id).evaluators]
    _expect(superseded, [False, True, False, False], "which evaluators are superseded")
    _expect(column(), ["Right", "Vague"], "cells without those of a superseded evaluator")
    _expect(
        store.add_evaluators(run.id, [_EVALUATORS[1]], instead=True), [1], "the place of one that is back"
    )
    _expect(column(), ["Close", "Right", "Vague"], "cells after their evaluator came back")
    (place,) = store.add_evaluators(run.id, [_EVALUATORS[2]], instead=True)
    _expect(place > 3, True, "one that cannot be known is not taken for the same")


def _check_superseded(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {n: record(n) for n in range(3)})
    store.supersede(run.id, [0])
    info = store.run(run.id)
    _expect([one.superseded for one in info.evaluators], [True, False, False], "what is superseded")
    _expect(info.columns, [one.name for one in _EVALUATORS[1:]], "the columns that are left")
    _expect(list(store.cells(run.id, evaluator=0)), [], "cells of an evaluator that is superseded")
    _expect(any(store.cells(run.id, evaluator=1)), True, "cells of another one")
    names = {result.evaluator for case in store.report(run.id).cases for result in case.results}
    _expect(_EVALUATORS[0].name in names, False, "a report without it")


def _check_pages(store: Store) -> None:
    run = _begin(store)
    many = 1205
    _append(store, run, {n: record(n, failed=n % 4 == 0) for n in reversed(range(many))})
    positions = [attempt.position for attempt in store.attempts(run.id)]
    _expect(positions, list(range(many)), "attempts in order")
    rest = [attempt.position for attempt in store.attempts(run.id, after=1200, parts=False)]
    _expect(rest, [1201, 1202, 1203, 1204], "attempts after a position")
    _expect([a.position for a in store.attempts(run.id, name="case 7")], [7], "attempts by name")
    failed = [attempt.position for attempt in store.attempts(run.id, failed=True)]
    _expect(failed, list(range(0, many, 4)), "attempts that failed")
    some = [attempt.position for attempt, _ in store.judged_at(run.id, [900, 3])]
    _expect(some, [3, 900], "attempts at positions, in order")
    bare = [attempt.trace for attempt, _ in store.judged_at(run.id, [3], traces=False)]
    _expect(bare, [None], "attempts at positions, without traces")
    counts = {len(cells) for _, cells in store.judged(run.id, failed=False, parts=False)}
    _expect(counts, {3}, "cells of each attempt")
    ordered = all(a.position < b.position for (a, _), (b, _) in pairwise(store.judged(run.id)))
    _expect(ordered, True, "attempts with cells in order")


def _check_find(store: Store) -> None:
    key, other = _key("one"), _key("other")
    old, new, copy = (_begin(store) for _ in range(3))
    _append(store, old, {0: record(0, output="old")}, key=key)
    _append(store, new, {4: record(4, output="new")}, key=key)
    _append(store, new, {5: record(5, failed=True)}, key=other)
    known = store.find([key, other, _key("unknown")])
    _expect(list(known), [key], "keys that are known")
    _expect((known[key].attempt.run, known[key].attempt.position), (new.id, 4), "the newest attempt")
    _expect(
        sorted(known[key].cells), ["close-1", "right-1"], "cells by identity, without those that have none"
    )
    _expect(store.find([other], failed=True)[other].attempt.failed, True, "failed attempts, when asked for")
    attempt, _ = pack(record(0, output="old"), 9, EvaluatorSlots(copy.evaluators), key=key, origin=old.id)
    store.append(copy.id, [attempt], [_cell(9, 0, "false")])
    taken = store.find([key])[key]
    _expect(
        (taken.attempt.run, taken.origin), (copy.id, old.id), "an attempt that was taken over, and from where"
    )
    found = {identity: cell.run for identity, cell in taken.cells.items()}
    _expect(found, {"right-1": copy.id, "close-1": old.id}, "cells of one output only, the newest of each")
    _append(store, old, {0: record(0, output="made again")}, key=key)
    found = {identity: cell.run for identity, cell in store.find([key])[key].cells.items()}
    _expect(found, {"right-1": copy.id}, "cells of an attempt whose original was made again")


def _check_large(store: Store) -> None:
    first, second = _begin(store), _begin(store)
    long = [f"line {n} of a long text" for n in range(2000)]
    given = {n: record(n, output=long) for n in range(3)}
    _append(store, first, given)
    _append(store, second, given)
    store.append(second.id, cells=[_cell(0, 2, msgspec.json.encode("y" * 9000).decode())])
    store.delete_run(first.id)
    store.prune()
    back = _records(store, second)
    _expect([back[n] for n in (1, 2)], [given[1], given[2]], "large values that two runs shared")
    _expect(next(iter(store.cells(second.id, evaluator=2))).body[:3], '"yy', "a large cell")
    _refuses(lambda: store.run(first.id), "a run that was deleted")


def _check_counts(store: Store) -> None:
    run = _begin(store)
    _append(store, run, {n: record(n, failed=n == 4) for n in range(6)})
    totals = store.totals(run.id)
    report = store.report(run.id)
    _expect(report.incomplete is None, False, "a run that goes on is not complete")
    _expect(totals.counts, report.counts(), "counts")
    _expect(totals.summaries, report.summaries(), "summaries")
    _expect(store.run(run.id).totals, totals, "totals that are kept with the run")
    failed = store.report(run.id, keep="failed")
    _expect([case.name for case in failed.cases], ["case 0", "case 3"], "attempts that did not pass")
    _expect((len(failed.failures), failed.totals), (1, totals), "the rest of such a report")
    _append(store, run, {6: record(6)})
    _expect(store.totals(run.id).counts.attempts, 7, "totals after another attempt")
    store.finish_run(run.id, report=Report(name=NAME, cases=[], seed=3, duration=1.5))
    done = store.report(run.id, keep="none")
    _expect((done.seed, done.duration, done.cases, done.incomplete), (3, 1.5, [], None), "what a report said")
    resumed = store.resume_run(run.id)
    _expect(
        (resumed.status, resumed.ending, resumed.ended_at),
        ("running", None, None),
        "a run that goes on again",
    )
    store.finish_run(run.id, status="interrupted")
    _expect(store.run(run.id).status, "interrupted", "the status of a run that was interrupted")


def _check_labels(store: Store) -> None:
    run, other = _begin(store), _begin(store)
    for each in (run, other):
        _append(store, each, {n: record(n) for n in range(3)})
    before = store.totals(run.id)

    def label(value: Any, *, position: int = 0, of: RunInfo = run, **more: Any) -> HumanLabel:
        known = {"question": "polite?", "person": "ann", "note": "Grüße\0 \U0001f600", **more}
        return HumanLabel(
            run=of.id, position=position, case=f"case {position}", value=value, at=f"at {position}", **known
        )

    given = [
        label(value=True, probability=0.25, seed=0, about="abc"),
        label(4.5, person="bob"),
        label("so-so", question="tone", note=""),
        label(value=False, position=2),
        label(value=True, of=other),
    ]
    store.add_labels([])
    store.add_labels(given[::-1])
    _expect(store.labels(run=run.id), [given[0], given[1], given[2], given[3]], "labels of a run, in order")
    _expect(store.labels(run=other.id), [given[4]], "labels of another run")
    _expect(store.labels(run=run.id, question="polite?", person="ann"), [given[0], given[3]], "a person's")
    _expect(store.labels(run=run.id, question="no such"), [], "labels of a question that no one was asked")
    again = label(value=False)
    store.add_labels([again])
    _expect(store.labels(run=run.id, person="ann", question="polite?"), [again, given[3]], "a new answer")
    missing = label(value=True, position=7)
    _refuses(lambda: store.add_labels([label(1.0), missing]), "a label of an attempt that is not there")
    _expect(store.labels(run=run.id)[0], again, "nothing of a batch of labels that was refused")
    _expect(store.totals(run.id), before, "totals of a run that was labelled")
    gone = [store.remove_label(run.id, 2, question="polite?", person="ann") for _ in range(2)]
    _expect(gone, [True, False], "a label that was removed, and one that was not there")
    _append(store, run, {0: record(0, output="made again")})
    _expect(len(store.labels(run=run.id)), 3, "labels of an attempt that was made again")
    _refuses(lambda: store.delete_run(run.id), "deleting a run that people labelled")
    _expect(store.run(run.id).id, run.id, "a run whose deletion was refused")
    store.delete_run(run.id, labels=True)
    _expect(store.labels(run=other.id), [given[4]], "labels of another run, after one was deleted")
    _refuses(lambda: store.labels(run=run.id), "labels of a run that was deleted")


def _check_passports(store: Store) -> None:
    def passport(day: int, **body: Any) -> StoredPassport:
        return StoredPassport(identity=NAME, at=f"2026-01-0{day}T00:00:00+00:00", format=2, body=body)

    first = passport(1, agreement={"kappa": 0.5}, n=[1, None, "é"])
    third, second = passport(3), passport(2, x=1)
    for one in (first, third, second, second):
        store.add_passport(one)
    _expect(store.passports(NAME), [third, second, second, first], "the passports of a judge")
    _expect(store.passports(f"{NAME} 2"), [], "the passports of a judge that was never checked")
    _expect(first in store.passports(), True, "all passports")
    _expect(store.remove_passports(NAME), 4, "passports that were removed")
    _expect(store.passports(NAME), [], "passports after they were removed")


def _check_model_answers(store: Store) -> None:
    first, second = _key(NAME), _key(f"{NAME} 2")
    store.keep_model_answer(first, b"\x00\xff one")
    store.keep_model_answer(first, b"another")
    store.keep_model_answer(second, b"")
    _expect(store.model_answer(first), b"\x00\xff one", "an answer that was kept twice")
    _expect(store.model_answer(second), b"", "an empty answer")
    _expect(store.model_answer(_key("never asked")), None, "an answer that is not known")
    both = [first, second]
    old = store.remove_model_answers(before="2020-01-01T00:00:00+00:00", keys=both)
    _expect(old, 0, "answers that are older than any")
    _expect(store.remove_model_answers(keys=[first]), 1, "answers of a key that were removed")
    _expect(store.remove_model_answers(before="9999", keys=both), 1, "answers that were removed by age")
    _expect([store.model_answer(key) for key in both], [None, None], "answers after they were removed")


def _check_indexes(store: Store) -> None:
    run, other = _begin(store), _begin(store)
    changes = store.changes(run.id)
    first = {("numbers", 0): b"\x00\xff", ("numbers", 1): b"", ("x" * 300, 7): b"one"}
    store.add_index_parts(run.id, "a", first)
    store.add_index_parts(run.id, "b", {("numbers", 0): b"of b"})
    store.add_index_parts(other.id, "a", {("numbers", 0): b"of another run"})
    store.add_index_parts(run.id, "a", {("numbers", 1): b"again"})
    _expect(store.index_builds(run.id), ["a", "b"], "the builds of a run")
    _expect(store.index_parts(run.id, "a", "numbers"), {0: b"\x00\xff", 1: b"again"}, "parts of an index")
    _expect(store.index_parts(run.id, "a", "numbers", [1, 5]), {1: b"again"}, "some parts of an index")
    _expect(store.index_parts(run.id, "b", "x" * 300), {}, "parts that are not there")
    store.remove_index(run.id, but="b")
    _expect(store.index_builds(run.id), ["b"], "builds after all but one were removed")
    _expect(store.changes(run.id), changes, "how often a run with an index was changed")
    _append(store, run, {0: record(0)})
    _expect(store.changes(run.id) > changes, True, "that a run was changed")
    store.delete_run(run.id)
    _refuses(lambda: store.index_parts(run.id, "b", "numbers"), "parts of a run that was deleted")
    _refuses(lambda: store.add_index_parts(run.id, "b", {("numbers", 0): b""}), "an index of no run")
    _expect(store.index_parts(other.id, "a", "numbers"), {0: b"of another run"}, "the index of another run")
    store.remove_index(other.id)
    _expect(store.index_builds(other.id), [], "builds after all were removed")


def _check_threads(store: Store) -> None:
    runs = [_begin(store), _begin(store)]
    errors: list[BaseException] = []

    def write(run: RunInfo) -> None:
        try:
            for start in range(0, 60, 10):
                _append(store, run, {n: record(n) for n in range(start, start + 10)})
                _expect(len(list(store.attempts(run.id))) > start, True, "what a writer reads of its own")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        _again(errors[0])
    for run in runs:
        _expect(_records(store, run), {n: record(n) for n in range(60)}, "what two threads wrote")


def _again(error: BaseException) -> NoReturn:
    raise error


_CHECKS: Sequence[tuple[str, Callable[[Store], None]]] = (
    ("runs", _check_runs),
    ("whole", _check_whole),
    ("once", _check_once),
    ("atomic", _check_atomic),
    ("columns", _check_columns),
    ("superseded", _check_superseded),
    ("pages", _check_pages),
    ("find", _check_find),
    ("large values", _check_large),
    ("counts", _check_counts),
    ("labels", _check_labels),
    ("passports", _check_passports),
    ("model answers", _check_model_answers),
    ("indexes", _check_indexes),
    ("threads", _check_threads),
)
