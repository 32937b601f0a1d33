"""Resuming a stored run: which one, whether it is the same run, and which attempts are done.

A run is the same if its dataset's name, its task, its repeats and its seed are. Otherwise its attempts would be of two
kinds: begin a new run, with `reuse=True` to take over what still holds. Cases and evaluators may have changed: new and changed
cases are run, those that are gone are left out, and a changed evaluator computes its own results again.

What changes while a run goes on, such as a global list to which the task appends, is the run's own doing: without the stop, its
later attempts would have seen it as well. So a process remembers what the task was when a run stopped, and goes on from there; what
has changed since then counts as usual.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
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

_MOST_REMEMBERED = 1000
"""Runs whose task is remembered as it was when they stopped."""
_GLOBAL = "global "
"""How the label of a part begins that is a global variable."""
_OF_GLOBALS = " when the run began (a fresh process or kernel has it so; a task that declares a version is not asked for its globals)"


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


class StoppedTasks:
    """What the tasks of this process's runs were when the runs stopped, where that is not what they were at the beginning."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Identity, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def note(self, run: str, began: AnyIdentity, now: AnyIdentity) -> None:
        """Remember what the task of a run is now that the run stops."""
        with self._lock:
            self._found.pop(run, None)
            if isinstance(began, Identity) and isinstance(now, Identity) and began.key != now.key:
                self._found[run] = (now, _changed(began.parts, now.parts))
                while len(self._found) > _MOST_REMEMBERED:
                    del self._found[next(iter(self._found))]

    def note_late(self, run: str, identify: Callable[[], AnyIdentity]) -> None:
        """Remember what a call changed that ended after its run: no more than what the run had changed by then, too."""
        with self._lock:
            if (found := self._found.get(run)) is None:
                return
            before, own = found
            now = identify()
            if isinstance(now, Identity) and _changed(before.parts, now.parts) <= own:
                self._found[run] = (now, own)

    def is_still(self, run: str, task: Identity) -> bool:
        """Whether the task is what it was when the run stopped."""
        found = self._found.get(run)
        return found is not None and found[0].key == task.key


stopped_tasks = StoppedTasks()
"""Those of this process."""


def find_run(store: Store, which: Any, setup: Setup) -> RunInfo | None:
    """The run to go on with; `None` if any will do and there is none.

    Raises:
        InvalidOptionError: `which` does not name a run.
        StoreError: there is no such run.
    """
    if which is True:
        for info in store.runs(dataset_name=setup.dataset_name):
            same = info.task_name == setup.task_name and info.dataset_name == plain(setup.dataset_name)
            same = same and info.shard == setup.options.get("shard")
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
    restored: list[str] = []
    for what, before, after in (
        ("the dataset", info.dataset_name, plain(setup.dataset_name)),
        ("the task", info.task_name, setup.task_name),
        ("repeat", info.repeat, setup.repeat),
        ("the shard", info.shard, setup.options.get("shard")),
        ("the seed", info.seed, info.seed if seed is None else seed),
    ):
        if before != after:
            found.append(f"{what} was {before!r} and is {after!r}")
    if not isinstance(task, Identity):
        notes.append(f"whether the task is the same could not be checked: {task.reason}")
    elif info.task_version is None:
        notes.append("whether the task is the same could not be checked: it was not known when the run began")
    elif info.task_version != task_version(task) or info.task_key not in {None, task.key}:
        parts = _parts(info)
        changes = "; ".join(differences(parts, task.parts)) or "its version"
        if stopped_tasks.is_still(info.id, task):
            notes.append(f"the task changed while the run went on, and counts as the same ({changes})")
        else:
            restored = _to_restore(parts, task.parts)
            found.append(f"the task changed ({changes})")
    elif info.task_key is None and info.task_version != task.key:
        notes.append("whether the task is the same could not be checked: no more than its version was kept")
    if found:
        way_out = f"{restored[0]}, or begin" if restored and len(found) == 1 else "Begin"
        why = f"run {info.id!r} cannot be resumed, since this is another run: {'; '.join(found)}. {way_out} a new run"
        raise RunChangedError(f"{why}, with reuse=True to take over what still holds", why=why)
    return notes


def changed_globals(store: Store, setup: Setup, task: AnyIdentity) -> list[str]:
    """A line if nothing but global variables tells the task from that of its last run: the task itself may have changed them."""
    for info in store.runs(dataset_name=setup.dataset_name):
        if info.task_name == setup.task_name and info.dataset_name == plain(setup.dataset_name):
            parts = _parts(info)
            changed = _changed(parts, task.parts)
            if not parts or not changed or not all(label.startswith(_GLOBAL) for label in changed):
                return []
            changes = "; ".join(differences(parts, task.parts))
            return [f"the task is another one than in run {info.id}, and is called again ({changes})"]
    return []


def task_at_beginning(info: RunInfo, task: AnyIdentity) -> AnyIdentity:
    """What the task of a run was when the run began, by which all its attempts are known; the task as it is now, if that is unknown."""
    if not isinstance(task, Identity) or info.task_key is None or info.task_key == task.key:
        return task
    return Identity(info.task_key, _parts(info), task.reads_name)


def _parts(info: RunInfo) -> dict[str, str]:
    """What is known of a run's task."""
    known: Any = info.parameters.get("task")
    parts = known.get("parts") if isinstance(known, dict) else None
    return parts if isinstance(parts, dict) else {}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """The labels of the parts that differ."""
    return frozenset(label for label in before.keys() | after.keys() if before.get(label) != after.get(label))


def _to_restore(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What to set as it was, if nothing else has changed: environment variables that a task reads, or global variables."""
    changed = sorted(_changed(before, after))
    for kind, more in ((VARIABLE, ""), (_GLOBAL, _OF_GLOBALS)):
        if changed and all(label.startswith(kind) for label in changed):
            return [f"Set {' and '.join(label.removeprefix(kind) for label in changed)} as it was{more}"]
    return []


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
