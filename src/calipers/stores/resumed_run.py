"""Resuming a stored run: which one, whether it is the same run, and which attempts are done.

A run is the same if its dataset's name, its task, its repeats and its seed are. Otherwise its attempts would be of two
kinds: begin a new run, with `reuse=True` to take over what still holds. Cases and evaluators may have changed: new and changed
cases are run, those that are gone are left out, and a changed evaluator computes its own results again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from calipers.data.jsonable import plain
from calipers.errors import InvalidOptionError, RunChangedError
from calipers.identity.code import VARIABLE
from calipers.identity.fingerprint import AnyIdentity, Identity, differences
from calipers.run.work import Setup, Work

from .packing import facts_of
from .run_info import RunInfo, StoredEvaluator
from .store import Store

BEHIND = 1 << 40
"""Attempts whose place is taken are stored from this position on, behind all others."""


class DoneAttempts:
    """The stored attempts of a run, to be taken one by one.

    An attempt is taken for a case of the same content, whatever its name. One that is not taken, and whose name another attempt
    has by now, is outdated: it would be counted beside its successor. The successor takes its place once no case to come can
    take it.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._positions: dict[tuple[bytes, int], list[int]] = {}
        self._named: dict[str, tuple[int, ...]] = {}
        self._left: set[int] = set()
        self._formless: set[int] = set()
        self._outdated: set[int] = set()
        self._kept: dict[int, int] = {}
        self.all_seen = False
        """Whether no more work is to come."""
        self.replaced = 0
        """Attempts of changed cases that were replaced."""
        for attempt in store.attempts(run, parts=False):
            self._left.add(attempt.position)
            self._named[attempt.name] = (*self._named.get(attempt.name, ()), attempt.position)
            if attempt.case_hash is not None:
                self._positions.setdefault((attempt.case_hash, attempt.repeat), []).append(attempt.position)
            else:
                self._formless.add(attempt.position)
        self._used = set(self._left)
        self._behind = max([BEHIND - 1, *(position for position in self._used if position >= BEHIND)]) + 1

    def take(self, work: Work) -> int | None:
        """The place of a stored attempt for the work, if possible its own; each is given once."""
        if work.case_key is None:
            return None
        positions = self._positions.get((work.case_key, work.repeat_index))
        if not positions:
            return None
        found = work.position if work.position in positions else positions[0]
        positions.remove(found)
        self._left.discard(found)
        return found

    def keep_place(self, work: Work, place: int) -> None:
        """Note that a taken attempt has to be made again, and is stored where it was."""
        self._kept[work.position] = place

    def finished(self, work: Work) -> None:
        """Note that there is an attempt for the work: others of its name are outdated unless they are taken."""
        self._outdated.update(place for place in self._named.get(work.name, ()) if place in self._left)

    def place(self, work: Work) -> int:
        """Where to store a new attempt: in the place of its predecessor, else in its own, or behind all others."""
        kept = self._kept.pop(work.position, None)
        if kept is not None:
            return kept
        for place in self._named.get(work.name, ()):
            if place in self._left and (self.all_seen or place in self._formless):
                self._left.discard(place)
                self.replaced += place not in self._formless
                return place
        if work.position not in self._used:
            return work.position
        self._behind += 1
        return self._behind - 1

    def outdated(self) -> list[int]:
        """The places of attempts that have a successor and were not taken."""
        return sorted(self._outdated & self._left)

    def left(self) -> list[int]:
        """The places of attempts that were not taken."""
        return sorted(self._left)


def find_run(store: Store, which: Any, setup: Setup) -> RunInfo | None:
    """The run to go on with; `None` if any will do and there is none.

    Raises:
        InvalidOptionError: `which` does not name a run.
        StoreError: there is no such run.
    """
    if which is True:
        for info in store.runs(dataset_name=setup.dataset_name):
            same = info.task_name == setup.task_name and info.dataset_name == plain(setup.dataset_name)
            if same and info.status != "finished" and (info.status != "running" or info.is_abandoned()):
                return info
        return None
    if not isinstance(which, str) or not which:
        raise InvalidOptionError(
            f"resume must be the id of a run, 'latest', or True for the newest that did not finish, got {which!r}"
        )
    return store.run(which)


def check_same(info: RunInfo, setup: Setup, task: AnyIdentity, *, seed: int | None) -> list[str]:
    """Refuse to go on with another run; returns what could not be checked.

    Raises:
        StoreError: it is another run; the message names every difference.
    """
    found: list[str] = []
    notes: list[str] = []
    variables: list[str] = []
    for what, before, after in (
        ("the dataset", info.dataset_name, plain(setup.dataset_name)),
        ("the task", info.task_name, setup.task_name),
        ("repeat", info.repeat, setup.repeat),
        ("the seed", info.seed, info.seed if seed is None else seed),
    ):
        if before != after:
            found.append(f"{what} was {before!r} and is {after!r}")
    known: Any = info.parameters.get("task")
    then = known if isinstance(known, dict) else {}
    if not isinstance(task, Identity):
        notes.append(f"whether the task is the same could not be checked: {task.reason}")
    elif info.task_version is None:
        notes.append("whether the task is the same could not be checked: it was not known when the run began")
    elif info.task_version != task_version(task) or info.task_key not in {None, task.key}:
        parts = then.get("parts")
        parts = parts if isinstance(parts, dict) else {}
        changes = differences(parts, task.parts)
        variables = _changed_variables(parts, task.parts)
        found.append(f"the task changed ({'; '.join(changes) or 'its version'})")
    elif info.task_key is None and info.task_version != task.key:
        notes.append("whether the task is the same could not be checked: no more than its version was kept")
    if found:
        only_these = bool(variables) and len(found) == 1
        way_out = f"Set {' and '.join(variables)} as it was, or begin" if only_these else "Begin"
        why = f"run {info.id!r} cannot be resumed, since this is another run: {'; '.join(found)}. {way_out} a new run"
        raise RunChangedError(f"{why}, with reuse=True to take over what still holds", why=why)
    return notes


def _changed_variables(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The environment variables that a task reads and that have changed, if nothing else has."""
    changed = sorted(label for label in before.keys() | after.keys() if before.get(label) != after.get(label))
    if not all(label.startswith(VARIABLE) for label in changed):
        return []
    return [label.removeprefix(VARIABLE) for label in changed]


def task_version(task: AnyIdentity) -> str | None:
    """The version that a task is stored under: the declared one, else its identity; `None` if unknown."""
    return task.parts.get("version", task.key) if isinstance(task, Identity) else None


def last_evaluators(store: Store, info: RunInfo) -> Sequence[StoredEvaluator]:
    """The evaluators of a run when it last went on, without those that were gone by then."""
    first = next(store.attempts(info.id, parts=False), None)
    places = None if first is None else facts_of(first).evaluators
    active = [evaluator for evaluator in info.evaluators if not evaluator.superseded]
    if places is None:
        return active
    return [*(info.evaluators[place] for place in places), *(one for one in active if one.added)]


def with_evaluators(store: Store, info: RunInfo, shared: Sequence[StoredEvaluator]) -> RunInfo:
    """A stored run whose own evaluators are these from now on; those added by scoring stay."""
    store.add_evaluators(info.id, shared, instead=True, generation=info.generation)
    names = {evaluator.name for evaluator in shared}
    found = store.run(info.id)
    gone = [
        place
        for place, one in enumerate(found.evaluators)
        if one.shared and not one.added and not one.superseded and one.name not in names
    ]
    if gone:
        store.supersede(info.id, gone, generation=info.generation)
    # Only the evaluators: if the run was taken over meanwhile, its generation is not ours.
    return msgspec.structs.replace(info, evaluators=store.run(info.id).evaluators)


def changed_evaluators(
    before: Sequence[StoredEvaluator], after: Sequence[StoredEvaluator]
) -> tuple[list[str], list[str]]:
    """What became of the shared evaluators, one line for each that is not the same; and the lines about losses."""
    old = {evaluator.name: evaluator for evaluator in before if evaluator.shared}
    new = {evaluator.name: evaluator for evaluator in after}
    notes: list[str] = []
    losses: list[str] = []
    for name in [*old, *(name for name in new if name not in old)]:
        then, now = old.get(name), new.get(name)
        if now is None and then is not None and then.added:
            continue
        if now is None:
            losses.append(f"evaluator {name} is gone: its results are left out")
            notes.append(losses[-1])
        elif then is None:
            notes.append(f"evaluator {name} is new")
        elif now.unknown is not None:
            notes.append(f"evaluator {name} is computed again, since its identity is unknown: {now.unknown}")
        elif then.identity != now.identity:
            changes = "; ".join(differences(then.parts, now.parts)) or "its identity was not known"
            notes.append(f"evaluator {name} is computed again: {changes}")
    return notes, losses
