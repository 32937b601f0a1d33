"""Why a result was computed or taken over, in words, from what the runs of a store keep."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from calipers.data.record import ReportCase
from calipers.errors import StoreError
from calipers.identity.callables import LIFECYCLE
from calipers.identity.fingerprint import differences

from .attempt_notes import attempt_notes, cell_notes
from .packing import evaluator_of, facts_of, setting_of, unpack
from .run_info import RunInfo, StoredEvaluator
from .store import Store
from .store_url import open_store
from .stored_attempt import StoredAttempt, StoredCell

if TYPE_CHECKING:
    from os import PathLike

_EARLIER_RUNS = 50
"""How many earlier runs to compare with at most."""


def why(store: "str | PathLike[str] | Store", run: str, case: str, evaluator: str) -> str:
    """Why a result of a stored run was computed or taken over: a few lines of text.

    Args:
        store: a store, or the URL or path of one.
        run: its id, the beginning of its id, its name, or "latest".
        case: the name of a case, or of one of its repeats.
        evaluator: the name of an evaluator in that run, or of a result, such as a key of a mapping.

    Raises:
        StoreError: there is no such store, run, case or evaluator.
    """
    opened = store if isinstance(store, Store) else open_store(store, existing=True)
    try:
        return "\n".join(_lines(opened, opened.run(run), case, evaluator))
    finally:
        if opened is not store:
            opened.close()


def whose_results(store: Store, info: RunInfo, case: str) -> dict[str, list[str]]:
    """The names of the results of a case, each with the evaluators that gave it."""
    found: dict[str, list[str]] = {}
    positions = [attempt.position for attempt in store.attempts(info.id, name=case, parts=False)]
    names = store.names(info)
    for attempt, cells in store.judged_at(info.id, positions):
        record = unpack(attempt, cells, info.evaluators, parts=False, names=names)
        for result in record.results if isinstance(record, ReportCase) else ():
            owners = found.setdefault(result.name, [])
            if result.evaluator not in owners:
                owners.append(result.evaluator)
    return found


def _lines(store: Store, info: RunInfo, case: str, name: str) -> Iterator[str]:
    positions = [attempt.position for attempt in store.attempts(info.id, name=case, parts=False)]
    if not positions:
        raise StoreError(f"run {info.id!r} has no attempt of a case {case!r}")
    owners = [name]
    known = dict.fromkeys(one.name for one in info.evaluators)
    if name not in known:
        shown = whose_results(store, info, case)
        owners = shown.get(name, [])
        if not owners:
            names = ", ".join(map(repr, known | shown)) or "none"
            raise StoreError(f"run {info.id!r} has no evaluator {name!r}; there are: {names}")
        yield f"{name} is a result of {' and '.join(owners)}"
    for attempt, cells in store.judged_at(info.id, positions):
        yield f"{attempt.name}:"
        yield f"  attempt: {_attempt_reason(store, info, attempt)}"
        for owner in owners:
            yield from _reasons(store, info, attempt, cells, owner)


def _reasons(
    store: Store, info: RunInfo, attempt: StoredAttempt, cells: Sequence[StoredCell], evaluator: str
) -> Iterator[str]:
    """Why an evaluator judged an attempt, or did not."""
    if attempt.failed:
        yield f"  {evaluator}: not asked, since the task failed"
        return
    mine = [cell for cell in cells if evaluator_of(cell, info.evaluators).name == evaluator]
    if not mine:
        added = any(one.name == evaluator and one.added and not one.superseded for one in info.evaluators)
        reason = "yet: score the run with it again" if added else "since it does not judge this case"
        yield f"  {evaluator}: not asked{' ' if added else ', '}{reason}"
    for cell in mine:
        yield f"  {evaluator}: {_cell_reason(store, info, attempt, cell)}"


# ---------------------------------------------------------------------- attempts


def _attempt_reason(store: Store, info: RunInfo, attempt: StoredAttempt) -> str:
    if attempt.origin is not None:
        return f"taken over from run {attempt.origin}: case, task and repeat are the same"
    if attempt.key is None:
        unknown = _task_of(info).get("unknown")
        reason = (
            f"the task's identity is unknown: {unknown}" if unknown else "the task's identity was not known"
        )
        if attempt.case_hash is None:
            reason = "the case's content has no form"
        elif attempt_notes(attempt.output).code == {}:
            reason = "the code in what its case holds cannot be known"
        return f"made in this run; {reason}"
    if not info.parameters.get("reuse"):
        return "made in this run; it was not asked to reuse anything"
    found = _earlier_attempt(store, info, attempt)
    if found is None:
        return "made in this run; no earlier run of this dataset has a case of that name"
    earlier, then = found
    changes = _changes(info, attempt, earlier, then)
    return f"made in this run; since run {earlier.id}, {'; '.join(changes)}"


def _changes(info: RunInfo, attempt: StoredAttempt, earlier: RunInfo, then: StoredAttempt) -> list[str]:
    """What is different from an earlier attempt of the case."""
    changes: list[str] = []
    if attempt.case_hash != then.case_hash:
        before, after = (msgspec.json.decode(one.given) for one in (then, attempt))
        parts = [
            name
            for name in ("inputs", "expected_output", "expected_tool_calls", "metadata")
            if before.get(name) != after.get(name)
        ]
        changes.append(f"the case changed ({', '.join(parts) or 'its content'})")
    held = [attempt_notes(one.output).code or {} for one in (then, attempt)]
    if code := differences(*held):
        changes.append(f"code in what the case holds changed ({'; '.join(code)})")
    keys = {info.task_key, earlier.task_key} - {None}
    if info.task_version != earlier.task_version or len(keys) > 1:
        parts = differences(_task_of(earlier).get("parts", {}), _task_of(info).get("parts", {}))
        changes.append(f"the task changed ({'; '.join(parts) or 'its version'})")
    outputs = [attempt_notes(one.output).output_code for one in (then, attempt)]
    if outputs[0] is not None and not changes:
        code = differences(outputs[0], outputs[1] or {})
        if code or not outputs[0]:
            what = "; ".join(code) or "the same now"
            changes.append(f"the code of its output changed, or cannot be found ({what})")
    if then.failed:
        changes.append("nothing can be reused: the task failed there")
    return changes or _beside_content(info, attempt, earlier, then)


def _beside_content(
    info: RunInfo, attempt: StoredAttempt, earlier: RunInfo, then: StoredAttempt
) -> list[str]:
    """Changes beside the content of the case and the task."""
    changes: list[str] = []
    notes = attempt_notes(then.output)
    if notes.seed is not None and notes.seed != info.draw_seed:
        changes.append(
            f"the seed was {notes.seed} and is {info.draw_seed}, and the task or an evaluator asks for it "
            f"(the same seed: --seed {notes.seed})"
        )
    if notes.case is not None and notes.case != attempt_notes(attempt.output).case:
        before, after = (_setting(one) for one in (then, attempt))
        parts = [name for name in before if before[name] != after[name]]
        what = " and ".join(parts) if parts else "something that has no form"
        changes.append(f"{what} of the case changed, and the task looks at its case")
    if then.key != attempt.key:
        changes.append("its place among cases of the same content changed")
    if not changes and (notes.rich or notes.rich_attributes):
        changes.append(
            "an evaluator is new or changed, and the store has plain data of what the task returned"
        )
    if not changes and any(label.startswith(LIFECYCLE) for label in _task_of(info).get("parts", {})):
        changes.append(
            "an evaluator is new or changed, and the lifecycle prepares for it only in a new attempt"
        )
    return changes or [f"nothing changed, but the attempt of run {earlier.id} could not be taken over"]


def _setting(attempt: StoredAttempt) -> dict[str, Any]:
    """What a case says beside its content."""
    tags, timeout = setting_of(attempt)
    return {"name": attempt.name, "tags": tags, "cluster": facts_of(attempt).cluster, "timeout": timeout}


def _task_of(info: RunInfo) -> dict[str, Any]:
    found = info.parameters.get("task")
    return found if isinstance(found, dict) else {}


def _earlier_runs(store: Store, info: RunInfo) -> Iterator[RunInfo]:
    """The runs of the same dataset before this one, newest first."""
    others = [
        one for one in store.runs(dataset_name=info.dataset_name) if one.dataset_name == info.dataset_name
    ]
    place = next((place for place, one in enumerate(others) if one.id == info.id), len(others))
    yield from others[place + 1 :][:_EARLIER_RUNS]


def _earlier_attempt(
    store: Store, info: RunInfo, attempt: StoredAttempt
) -> tuple[RunInfo, StoredAttempt] | None:
    for earlier in _earlier_runs(store, info):
        for then in store.attempts(earlier.id, name=attempt.case_name):
            if then.repeat == attempt.repeat:
                return earlier, then
    return None


# ---------------------------------------------------------------------- cells


def _cell_reason(store: Store, info: RunInfo, attempt: StoredAttempt, cell: StoredCell) -> str:
    mine = evaluator_of(cell, info.evaluators)
    plain = "; it was given plain data" if cell_notes(cell.body).as_plain else ""
    if cell.origin is not None:
        return f"taken over from run {cell.origin}: the evaluator and the attempt are the same{plain}"
    if mine.added:
        return f"computed when the run was scored again, which added this evaluator{plain}"
    if mine.unknown is not None:
        return f"computed in this run{plain}; its identity is unknown: {mine.unknown}"
    others = [one for one in info.evaluators if one.superseded and one.name == mine.name]
    if others and attempt.origin is None:
        changes = _differences(others[-1], mine)
        return f"computed in this run{plain}; it was resumed with another evaluator of that name: {changes}"
    if attempt.origin is None and info.parameters.get("reuse"):
        return f"computed in this run{plain}; the attempt is new"
    if attempt.origin is None:
        return f"computed in this run{plain}; it was not asked to reuse anything"
    found = _earlier_evaluator(store, info, attempt, mine)
    if found is None:
        where = "an evaluator of that name" if mine.shared else "an evaluator of that name on this case"
        return f"computed in this run{plain}; no earlier run of this dataset has {where}"
    earlier, then = found
    if then.identity != mine.identity:
        return f"computed in this run{plain}; since run {earlier.id}, {_differences(then, mine)}"
    return f"computed in this run{plain}; {_looked(attempt, cell)}"


def _differences(then: StoredEvaluator, now: StoredEvaluator) -> str:
    if then.identity is None:
        return "its identity was not known then"
    return "; ".join(differences(then.parts, now.parts)) or "something changed that the store hides"


def _looked(attempt: StoredAttempt, cell: StoredCell) -> str:
    """Why the result of an unchanged evaluator no longer held."""
    notes = cell_notes(cell.body)
    if notes.after is not None:
        return "it looks at the results of evaluators before it, and those were computed"
    if notes.seed is not None:
        return "it asks for the seed, which is another one"
    if attempt_notes(attempt.output).output_code is not None:
        return "the code of the output changed, or it had failed, or the case had another name"
    return "it had failed, the case had another name, or this attempt had not been judged by it"


def _earlier_evaluator(
    store: Store, info: RunInfo, attempt: StoredAttempt, mine: StoredEvaluator
) -> tuple[RunInfo, StoredEvaluator] | None:
    for earlier in _earlier_runs(store, info):
        named = [then for then in earlier.evaluators if then.name == mine.name]
        if named and not all(one.shared for one in (mine, *named)):
            # Each case may bring another evaluator of the name.
            known = store.known_evaluators(earlier.id)
            own = known.own.get(attempt.case_name, {}).get(mine.name)
            named = [then for then in named if then.shared or then is own or then == own]
        if named:
            return earlier, named[0]
    return None
