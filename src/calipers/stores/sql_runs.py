"""The runs of a store in SQL: beginning, resuming, ending, finding and deleting them; and their evaluators.

The results of an evaluator that changed while its run was interrupted must not mix with those of its successor. It keeps its
place, which its cells name, and is marked as superseded; `SqlStore` leaves its cells out. If the evaluator comes back, they
count again.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from typing_extensions import override

from calipers.data.argument_checks import check_choice, check_whole_number
from calipers.data.budget import Side, Spent
from calipers.data.jsonable import plain
from calipers.errors import RunMissingError, StoreDamagedError, StoreError, StoreTimeoutError
from calipers.report.report import Report

from .redaction import redacted_ending, redacted_evaluator, redacted_metadata, redacted_parameters
from .run_info import (
    Owner,
    RunInfo,
    RunProgress,
    State,
    Status,
    StoredEvaluator,
    git_state,
    new_run_id,
    plain_spec,
    this_environment,
    this_process,
    timestamp,
)
from .run_report import Counted, ending_of
from .sql import Session, marks, safe_text, select_in
from .store import NameTakenError, Redact, Store

if TYPE_CHECKING:
    from calipers.gate.looks import Look

HIDDEN: Final = "copying"
"""The status of a run that is copied into the store, and is not whole yet: nothing finds it."""

_RUN = "no, status, ended_at, owner, heartbeat, generation, attempts, failures, info, ending, counted"

TOOK_TOO_LONG: Final = (
    "reading the store {!r} took longer than it may: ask for less, or try again when it is less busy"
)
"""What is said when the time to read is over."""

_BEYOND = "."
"""Separates the id that a place follows from its number."""
_DIGITS = 9
"""Digits of that number."""


class SqlRuns(Store):
    """The runs of a store in SQL."""

    def __init__(self, url: str, redact: Sequence[Redact] = ()) -> None:
        self.url = url
        self.redact = tuple(redact)
        self.read_only = False
        self.time_left: Callable[[], float] | None = None
        """Says how many seconds reading may still take; `None`: as long as it takes. What is read in several steps asks before each."""
        self._counts: dict[str, tuple[Counted, int]] = {}
        """Of runs in a store that is only read, which cannot keep them: what was counted, and at which change."""

    def check_time(self) -> None:
        """See that there is time left to read.

        Raises:
            StoreTimeoutError: there is none.
        """
        if self.time_left is not None and self.time_left() <= 0:
            raise StoreTimeoutError(TOOK_TOO_LONG.format(self.url))

    def share_counts(self, other: "SqlRuns") -> None:
        """Know what another store of the same runs counted, and tell it what this one counts."""
        self._counts = other._counts  # noqa: SLF001 - of the same class

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]:
        """A session for reading."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Session]:
        """A session in a transaction, which is committed when the block is left and rolled back if it raises."""

    def _counting_looks(self) -> AbstractContextManager[Session]:
        """A session for writing while no other process notes a look; by default, only one writes at a time anyway."""
        return self._writing()

    @override
    def begin_run(self, run: RunInfo) -> RunInfo:
        owner = this_process()
        ours = not run.id
        begun = msgspec.structs.replace(
            run,
            id=run.id or new_run_id(),
            status="running",
            started_at=run.started_at or timestamp(),
            environment=run.environment or (this_environment() if ours else {}),
            git=run.git or (git_state() if ours else None),
            owner=owner,
            heartbeat=timestamp(),
            parameters=redacted_parameters(plain(run.parameters), self.redact),
            metadata=redacted_metadata(plain(run.metadata), self.redact),
            evaluators=tuple(self._as_written(evaluator) for evaluator in run.evaluators),
            ended_at=None,
            ending=None,
            totals=None,
            generation=0,
            attempts=0,
            failures=0,
        )
        info = msgspec.structs.replace(begun, evaluators=())
        with self._writing() as db:
            if not ours and db.run("SELECT no FROM runs WHERE id = ?", (begun.id,)):
                raise StoreError(f"the store {self.url!r} has a run {begun.id!r} already")
            db.run(
                "INSERT INTO runs (id, place, name, dataset_name, status, owner, heartbeat, info) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    begun.id,
                    _newest(db, begun.id) if ours else begun.id,
                    safe_text(begun.name),
                    safe_text(begun.dataset_name),
                    begun.status,
                    to_json(owner),
                    begun.heartbeat,
                    to_json(plain(info)),
                ),
            )
            number = run_number(db, begun.id)
            insert_evaluators(db, number, 0, begun.evaluators)
        return begun

    @override
    def add_evaluators(
        self,
        run: str,
        evaluators: Sequence[StoredEvaluator],
        *,
        instead: bool = False,
        alone: bool = False,
        generation: int | None = None,
    ) -> list[int]:
        written = [self._as_written(evaluator) for evaluator in evaluators]
        with self._writing() as db:
            # An update that changes nothing locks the run against other writers.
            number = update_run(db, run, generation, "heartbeat = heartbeat")
            places, changed = place_evaluators(db, number, written, instead=instead, alone=alone)
            if changed:
                run_changed(db, run)
        return places

    @override
    def add_look(self, question: str, look: "Look", *, after: int) -> bool:
        with self._counting_looks() as db:
            ((count,),) = db.run("SELECT COUNT(*) FROM looks WHERE question = ?", (question,))
            if count != after:
                return False
            db.run("INSERT INTO looks (question, body) VALUES (?, ?)", (question, to_json(plain(look))))
        return True

    @override
    def looks(self, question: str | None = None) -> "list[Look]":
        from calipers.gate.looks import Look

        where, values = ("", []) if question is None else ("WHERE question = ?", [question])
        with self._reading() as db:
            rows = db.run(f"SELECT body FROM looks {where} ORDER BY no", values)  # noqa: S608 - our own words
        return [msgspec.json.decode(body, type=Look) for (body,) in rows]

    @override
    def supersede(self, run: str, places: Iterable[int], *, generation: int | None = None) -> None:
        with self._writing() as db:
            supersede(db, run_changed(db, run, generation), places)

    def _as_written(self, evaluator: StoredEvaluator) -> StoredEvaluator:
        """An evaluator as it is written."""
        return redacted_evaluator(_plain_evaluator(evaluator), self.redact)

    @override
    def beat(self, run: str, *, generation: int | None = None) -> None:
        with self._writing() as db:
            update_run(db, run, generation, "heartbeat = ?", (timestamp(),))

    @override
    def keep_spent(self, run: str, spent: Mapping[Side, Spent], *, generation: int | None = None) -> None:
        with self._writing() as db:
            update_run(db, run, generation, "spent = ?, heartbeat = ?", (to_json(spent), timestamp()))

    @override
    def spent(self, run: str) -> dict[Side, Spent]:
        with self._reading() as db:
            rows = db.run("SELECT spent FROM runs WHERE id = ?", (safe_text(run),))
        if not rows:
            raise unknown(run)
        return {} if rows[0][0] is None else msgspec.json.decode(rows[0][0], type=dict[Side, Spent])

    @override
    def resume_run(self, run: str) -> RunInfo:
        owner = this_process()
        with self._writing() as db:
            found = self._infos(db, "WHERE id = ?", (safe_text(run),))
            if not found:
                raise unknown(run)
            info = found[0]
            if info.status == "running" and not info.is_abandoned():
                who = "another thread of this process" if info.owner == owner else "another process"
                raise StoreError(
                    f"run {run!r} is being written by {who} (its last sign of life: {info.heartbeat}): wait for its end, "
                    "or stop it"
                )
            update_run(
                db,
                run,
                info.generation,
                "status = 'running', owner = ?, heartbeat = ?, ended_at = NULL, ending = NULL, generation = generation + 1",
                (to_json(owner), timestamp()),
            )
            return self._infos(db, "WHERE id = ?", (run,))[0]

    @override
    def finish_run(
        self,
        run: str,
        *,
        status: Status = "finished",
        report: Report | None = None,
        ended_at: str | None = None,
        generation: int | None = None,
    ) -> RunInfo:
        ending = None if report is None else to_json(redacted_ending(ending_of(report), self.redact))
        with self._writing() as db:
            what = "status = ?, ended_at = ?, ending = ?, heartbeat = NULL"
            update_run(db, run, generation, what, (status, ended_at or timestamp(), ending))
        return self._info(run)

    @override
    def delete_run(self, run: str, *, labels: bool = False) -> None:
        with self._writing() as db:
            number = run_number(db, run)
            ((count,),) = db.run("SELECT COUNT(*) FROM labels WHERE run = ?", (number,))
            if count and not labels:
                raise StoreError(
                    f"run {run!r} has labels of people ({count}), which would be lost with it: export them with `calipers label "
                    "--export`, then delete with labels=True"
                )
            remove_run(db, number)

    @override
    def runs(
        self,
        *,
        name: str | None = None,
        dataset_name: str | None = None,
        status: State | None = None,
        ids: Collection[str] | None = None,
        limit: int | None = None,
    ) -> list[RunInfo]:
        check_choice("status", status, get_args(State), or_none=True)
        check_whole_number("limit", limit, at_least=0, or_none=True)
        if status == "abandoned":
            marked = self.runs(name=name, dataset_name=dataset_name, status="running", ids=ids)
            return [info for info in marked if info.is_abandoned()][:limit]
        given = {"name": safe_text(name), "dataset_name": safe_text(dataset_name), "status": status}
        asked = {column: value for column, value in given.items() if value is not None}
        conditions = [f"{column} = ?" for column in asked]
        values: list[Any] = [*asked.values()]
        with self._reading() as db:
            if ids is not None:
                numbers = [number for (number,) in select_in(db, "SELECT no FROM runs WHERE id IN", (), ids)]
                conditions.append(f"no IN {marks(len(numbers))}" if numbers else "1 = 0")
                values += numbers
            where = " AND ".join(conditions)
            last = "" if limit is None else f"LIMIT {limit}"
            sql = f"{'WHERE ' * bool(where)}{where} ORDER BY place DESC {last}"
            return self._infos(db, sql, values, even_damaged=True)

    @override
    def progress(self) -> list[RunProgress]:
        with self._reading() as db:
            rows = db.run(
                "SELECT id, status, attempts, failures, generation, changes, counted IS NULL, owner, heartbeat FROM runs "
                "WHERE status <> ? ORDER BY place DESC",
                (HIDDEN,),
            )
        return [_progress(*row) for row in rows]

    @override
    def run(self, which: str) -> RunInfo:
        if not isinstance(which, str):
            raise RunMissingError(
                f"a run is named by its id, the beginning of its id, its name, or 'latest', got {which!r}"
            )
        wanted = safe_text(which)
        with self._reading() as db:
            found = self._infos(db, "WHERE id = ?", (wanted,))
            if not found and which == "latest":
                found = self._infos(db, "ORDER BY place DESC LIMIT 1", ())
                if not found:
                    raise RunMissingError(f"the store {self.url!r} has no runs yet")
            if not found and which:
                found = self._infos(db, "WHERE name = ? ORDER BY place DESC LIMIT 1", (wanted,))
            if not found and which:
                # Not LIKE: what was asked for may have its wildcards.
                found = self._infos(
                    db, "WHERE substr(id, 1, ?) = ? ORDER BY place DESC LIMIT 6", (len(which), wanted)
                )
        if not found:
            raise unknown(which)
        if len(found) > 1:
            raise RunMissingError(
                f"{which!r} is the beginning of several runs: {', '.join(info.id for info in found[:5])}"
                f"{', …' * (len(found) > 5)}; give more of the id"
            )
        return found[0]

    @override
    def _info(self, run: str) -> RunInfo:
        with self._reading() as db:
            found = self._infos(db, "WHERE id = ?", (safe_text(run),))
        if not found:
            raise unknown(run)
        return found[0]

    def _infos(
        self, db: Session, where: str, values: Sequence[Any], *, even_damaged: bool = False
    ) -> list[RunInfo]:
        visible = f"(SELECT * FROM runs WHERE status <> '{HIDDEN}') AS runs"  # noqa: S608 - our own words
        rows = db.run(f"SELECT {_RUN}, id, name, dataset_name FROM {visible} {where}", values)  # noqa: S608
        evaluators: dict[int, list[tuple[int, str]]] = {row[0]: [] for row in rows}
        sql = "SELECT run, place, body FROM evaluators WHERE run IN"
        for number, place, body in sorted(select_in(db, sql, (), evaluators)):
            evaluators[number].append((place, body))
        found: list[RunInfo] = []
        for *row, run, name, dataset_name in rows:
            try:
                found.append(_run_info(row, evaluators[row[0]]))
            except ValueError as error:  # of msgspec, among others
                said = f"run {run!r} is damaged in the store: {error}; `calipers prune --run {run} --yes` removes it"
                if not even_damaged:
                    raise StoreDamagedError(said) from error
                found.append(
                    RunInfo(id=run, name=name, dataset_name=dataset_name, status="failed", damaged=said)
                )
        return found

    @override
    def revision(self, run: str, *, judging: bool = True) -> str:
        of_run = "SELECT no, generation, changes, status FROM runs WHERE id = ?"
        with self._reading() as db:
            rows = db.run(of_run, (safe_text(run),))
            if not rows:
                raise unknown(run)
            number, *parts = rows[0]
            if not judging:
                return "-".join(map(str, parts))
            said = db.run(
                "SELECT body FROM labels WHERE run = ? ORDER BY position, question, person", (number,)
            )
            passports = db.run("SELECT COUNT(*), MAX(no) FROM passports")[0]
        if said:
            parts.append(
                hashlib.blake2b("".join(body for (body,) in said).encode(), digest_size=8).hexdigest()
            )
        return "-".join(str(part) for part in (*parts, *(number for number in passports if number)))

    @override
    def changes(self, run: str) -> int:
        with self._reading() as db:
            rows = db.run("SELECT changes FROM runs WHERE id = ?", (safe_text(run),))
        if not rows:
            raise unknown(run)
        return int(rows[0][0])

    # ------------------------------------------------------------------ what was counted

    @override
    def _read_counted(self, run: str) -> tuple[Counted | None, int]:
        with self._reading() as db:
            rows = db.run("SELECT counted, changes FROM runs WHERE id = ?", (run,))
        if not rows:
            raise unknown(run)
        counted, changes = rows[0]
        kept, at = self._counts.get(run, (None, -1))
        return (kept if at == changes else _counted(counted)), changes

    def keep_shared_counts(self) -> None:
        """Write what stores that are only read have counted and shared with this one."""
        for run, (counted, changes) in list(self._counts.items()):
            self._keep_counted(run, counted, changes)
            self._counts.pop(run, None)

    @override
    def _keep_counted(self, run: str, counted: Counted, changes: int) -> None:
        if self.read_only:
            self._counts[run] = (counted, changes)
            return
        with self._writing() as db:
            db.run(
                "UPDATE runs SET counted = ? WHERE id = ? AND changes = ?",
                (to_json(plain(counted)), run, changes),
            )


# ---------------------------------------------------------------------- rows


def run_number(db: Session, run: str) -> int:
    """The number of a run in the tables."""
    rows = db.run("SELECT no FROM runs WHERE id = ? AND status <> ?", (safe_text(run), HIDDEN))
    if not rows:
        raise unknown(run)
    return int(rows[0][0])


def remove_run(db: Session, number: int) -> None:
    """Remove all rows of a run."""
    for table in ("cells", "attempts", "evaluators", "blob_uses", "labels", "index_parts"):
        db.run(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608 - fixed names
    db.run("DELETE FROM runs WHERE no = ?", (number,))


def _newest(db: Session, run: str) -> str:
    """The place of a new run, after all others: its id or, if the clock was set back, a place beyond theirs."""
    last = db.run("SELECT MAX(place) FROM runs")[0][0]
    if last is None or run > last:
        return run
    before, _, count = last.rpartition(_BEYOND)
    if not before or len(count) != _DIGITS or not count.isdecimal():
        before, count = last, "0"
    return f"{before}{_BEYOND}{int(count) + 1:0{_DIGITS}d}"


def run_changed(db: Session, run: str, generation: int | None = None) -> int:
    """Drop the counts of a run, and return its number."""
    return update_run(db, run, generation, "changes = changes + 1, counted = NULL")


def update_run(db: Session, run: str, generation: int | None, what: str, values: Sequence[Any] = ()) -> int:
    """Update the row of a run, if it is still of the generation, and return its number."""
    where, wanted = of_generation(run, generation)
    rows = db.run(f"UPDATE runs SET {what} WHERE {where} RETURNING no", [*values, *wanted])  # noqa: S608 - our own words
    if not rows:
        raise not_written(db, run)
    return int(rows[0][0])


def of_generation(run: str, generation: int | None) -> tuple[str, list[Any]]:
    """The condition that finds a run of that generation; `None`: of any."""
    wanted = safe_text(run)
    return ("id = ?", [wanted]) if generation is None else ("id = ? AND generation = ?", [wanted, generation])


def not_written(db: Session, run: str) -> StoreError:
    """The error of a run that was not there, or not ours any more."""
    if not db.run("SELECT no FROM runs WHERE id = ?", (safe_text(run),)):
        return unknown(run)
    return StoreError(
        f"run {run!r} was taken over by another process, which goes on with it; what this one has not stored yet is not "
        "added to it"
    )


def unknown(run: str) -> StoreError:
    """The error of a run that is not there."""
    return RunMissingError(f"the store has no run {run!r}: `calipers runs` lists those it has")


def to_json(data: Any) -> str:
    """Plain data, or a record of it, as text."""
    return msgspec.json.encode(data).decode()


def _plain_evaluator(evaluator: StoredEvaluator) -> StoredEvaluator:
    spec = msgspec.structs.replace(plain_spec(evaluator.spec), name=plain(evaluator.spec.name))
    return msgspec.structs.replace(evaluator, spec=spec, name=plain(evaluator.name))


def _counted(text: str | None) -> Counted | None:
    """The counts of a run; `None` if there are none, or they cannot be read."""
    try:
        return None if text is None else msgspec.json.decode(text, type=Counted)
    except ValueError:
        return None


def _progress(
    run: str,
    status: Status,
    attempts: int,
    failures: int,
    generation: int,
    changes: int,
    is_uncounted: bool,
    owner: str | None,
    heartbeat: str | None,
) -> RunProgress:
    return RunProgress(
        id=run,
        status=status,
        attempts=attempts,
        failures=failures,
        revision=f"{generation}-{changes}-{status}{'' if is_uncounted else '-counted'}",
        owner=None if owner is None or status != "running" else msgspec.json.decode(owner, type=Owner),
        heartbeat=heartbeat,
    )


def _run_info(row: Sequence[Any], evaluators: Sequence[tuple[int, str]]) -> RunInfo:
    _, status, ended_at, owner, heartbeat, generation, attempts, failures, info, ending, counted = row
    found = msgspec.json.decode(info, type=RunInfo)
    if [place for place, _ in evaluators] != list(range(len(evaluators))):
        # Cells name evaluators by place, so a gap would shift all that follow.
        raise ValueError("an evaluator is missing")
    kept = _counted(counted)
    return msgspec.structs.replace(
        found,
        status=status,
        ended_at=ended_at,
        owner=None if owner is None else msgspec.json.decode(owner, type=Owner),
        heartbeat=heartbeat,
        generation=generation,
        attempts=attempts,
        failures=failures,
        evaluators=tuple(msgspec.json.decode(body, type=StoredEvaluator) for _, body in evaluators),
        ending=None if ending is None else msgspec.json.decode(ending),
        totals=None if kept is None else kept.totals,
    )


# ---------------------------------------------------------------------- evaluators


def insert_evaluators(db: Session, number: int, first: int, evaluators: Sequence[StoredEvaluator]) -> None:
    """Write new evaluators of a run, in neighbouring places."""
    db.insert(
        "evaluators",
        {
            "run": [number] * len(evaluators),
            "place": range(first, first + len(evaluators)),
            "identity": [evaluator.identity for evaluator in evaluators],
            "body": [to_json(evaluator) for evaluator in evaluators],
        },
    )


def place_evaluators(
    db: Session, number: int, evaluators: Sequence[StoredEvaluator], *, instead: bool, alone: bool
) -> tuple[list[int], bool]:
    """Find or make the places of evaluators, and say whether anything was written; see `Store.add_evaluators`."""
    last = db.run("SELECT MAX(place) FROM evaluators WHERE run = ?", (number,))[0][0]
    first = 0 if last is None else int(last) + 1
    changed = instead and _supersede(db, number, evaluators)
    taken = {one.name for _, one in _stored(db, number)} if alone else set()
    known: dict[str, int] = {}
    new: list[StoredEvaluator] = []
    for evaluator in evaluators:
        body = to_json(evaluator)
        if body in known:
            continue
        place = _place(db, number, evaluator)
        if place is None and not evaluator.added:
            place = _place(db, number, msgspec.structs.replace(evaluator, added=True))
        if place is None and (instead or alone) and evaluator.identity is not None:
            place = _place(db, number, msgspec.structs.replace(evaluator, superseded=True))
            if place is not None:
                _write(db, number, place, evaluator)
                changed = True
        if place is None:
            if evaluator.name in taken:
                raise NameTakenError(
                    f"the run has another evaluator {evaluator.name!r}: give this one another name"
                )
            place = first + len(new)
            new.append(evaluator)
        known[body] = place
    insert_evaluators(db, number, first, new)
    return [known[to_json(evaluator)] for evaluator in evaluators], changed or bool(new)


def superseded_places(db: Session, number: int) -> frozenset[int]:
    """The places of superseded evaluators."""
    # The text may also stand elsewhere in a body, so the few that match are read.
    sql = "SELECT place, body FROM evaluators WHERE run = ? AND body LIKE ?"
    rows = db.run(sql, (number, '%"superseded":true%'))
    return frozenset(
        int(place) for place, body in rows if msgspec.json.decode(body, type=StoredEvaluator).superseded
    )


def supersede(db: Session, number: int, places: Iterable[int]) -> None:
    """Mark the evaluators in some places as superseded."""
    wanted = set(places)
    for place, one in _stored(db, number):
        if place in wanted:
            _write(db, number, place, msgspec.structs.replace(one, superseded=True))


def _supersede(db: Session, number: int, evaluators: Sequence[StoredEvaluator]) -> bool:
    """Supersede the shared evaluators with the names of these, unless they are certainly the same."""
    wanted = {evaluator.name: evaluator for evaluator in evaluators}
    marked = False
    for place, one in _stored(db, number):
        successor = wanted.get(one.name) if one.shared else None
        if successor is not None and one.added and one.identity == successor.identity is not None:
            _write(db, number, place, successor)  # it is one of the run's own now
            marked = True
        elif successor is not None and (one.identity is None or one.identity != successor.identity):
            _write(db, number, place, msgspec.structs.replace(one, superseded=True))
            marked = True
    return marked


def _stored(db: Session, number: int) -> list[tuple[int, StoredEvaluator]]:
    """The evaluators of a run that are not superseded, with their places."""
    rows = db.run("SELECT place, body FROM evaluators WHERE run = ?", (number,))
    found = ((int(place), msgspec.json.decode(body, type=StoredEvaluator)) for place, body in rows)
    return [(place, one) for place, one in found if not one.superseded]


def _write(db: Session, number: int, place: int, evaluator: StoredEvaluator) -> None:
    db.run("UPDATE evaluators SET body = ? WHERE run = ? AND place = ?", (to_json(evaluator), number, place))


def _place(db: Session, number: int, evaluator: StoredEvaluator) -> int | None:
    """The place that an evaluator has in a run; `None` if it is not there."""
    # No MIN(place): SQLite would go through all places in their order, rather than use the index.
    sql = "SELECT place FROM evaluators WHERE run = ? AND body = ? AND identity"
    known = [] if evaluator.identity is None else [evaluator.identity]
    rows = db.run(f"{sql} {'= ?' if known else 'IS NULL'}", [number, to_json(evaluator), *known])
    return min((int(place) for (place,) in rows), default=None)
