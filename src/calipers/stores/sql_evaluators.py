"""The evaluators of a run in SQL: their places, and which of them others have taken the place of.

An evaluator that changed while its run was interrupted has results in the store that must not stand in one column with
those of its successor. It keeps its place, which its cells name, and is marked as superseded; `SqlStore` leaves its
cells out of whatever it reads of the run. If it comes back, they count again.
"""

from collections.abc import Iterable, Sequence

import msgspec

from .run_info import StoredEvaluator
from .sql import Session
from .store import NameTakenError


def insert_evaluators(db: Session, number: int, first: int, evaluators: Sequence[StoredEvaluator]) -> None:
    """Write evaluators that are new in their run, in neighbouring places."""
    db.insert(
        "evaluators",
        {
            "run": [number] * len(evaluators),
            "place": range(first, first + len(evaluators)),
            "identity": [evaluator.identity for evaluator in evaluators],
            "body": [_body(evaluator) for evaluator in evaluators],
        },
    )


def place_evaluators(
    db: Session, number: int, evaluators: Sequence[StoredEvaluator], *, instead: bool, alone: bool
) -> tuple[list[int], bool]:
    """Find or make the places of evaluators; returns them, and whether anything was written.

    Args:
        db: in a transaction that holds the run.
        number: of the run.
        evaluators: as they are to be written.
        instead: see `Store.add_evaluators`.
        alone: see `Store.add_evaluators`.
    """
    last = db.run("SELECT MAX(place) FROM evaluators WHERE run = ?", (number,))[0][0]
    first = 0 if last is None else int(last) + 1
    changed = instead and _supersede(db, number, evaluators)
    taken = {one.name for _, one in _stored(db, number)} if alone else set()
    known: dict[str, int] = {}
    new: list[StoredEvaluator] = []
    for evaluator in evaluators:
        body = _body(evaluator)
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
    return [known[_body(evaluator)] for evaluator in evaluators], changed or bool(new)


def superseded_places(db: Session, number: int) -> frozenset[int]:
    """The places of the evaluators whose cells count no more."""
    # The text may stand elsewhere in the body, too; those are few.
    sql = "SELECT place, body FROM evaluators WHERE run = ? AND body LIKE ?"
    rows = db.run(sql, (number, '%"superseded":true%'))
    return frozenset(
        int(place) for place, body in rows if msgspec.json.decode(body, type=StoredEvaluator).superseded
    )


def supersede(db: Session, number: int, places: Iterable[int]) -> None:
    """Mark the evaluators in some places."""
    wanted = set(places)
    for place, one in _stored(db, number):
        if place in wanted:
            _write(db, number, place, msgspec.structs.replace(one, superseded=True))


def _supersede(db: Session, number: int, evaluators: Sequence[StoredEvaluator]) -> bool:
    """Mark the shared evaluators that have the names of these, and are not certainly the same."""
    wanted = {evaluator.name: evaluator for evaluator in evaluators}
    marked = False
    for place, one in _stored(db, number):
        successor = wanted.get(one.name) if one.shared else None
        if successor is not None and one.added and one.identity == successor.identity is not None:
            _write(db, number, place, successor)  # from now on, it is one of the run's own
            marked = True
        elif successor is not None and (one.identity is None or one.identity != successor.identity):
            _write(db, number, place, msgspec.structs.replace(one, superseded=True))
            marked = True
    return marked


def _stored(db: Session, number: int) -> list[tuple[int, StoredEvaluator]]:
    """The evaluators of a run that are not superseded, with their places."""
    rows = db.run("SELECT place, body FROM evaluators WHERE run = ?", (number,))
    found = [(int(place), msgspec.json.decode(body, type=StoredEvaluator)) for place, body in rows]
    return [(place, one) for place, one in found if not one.superseded]


def _write(db: Session, number: int, place: int, evaluator: StoredEvaluator) -> None:
    db.run("UPDATE evaluators SET body = ? WHERE run = ? AND place = ?", (_body(evaluator), number, place))


def _place(db: Session, number: int, evaluator: StoredEvaluator) -> int | None:
    """The place that an evaluator has in a run; `None` if it is not there."""
    # No MIN(place): SQLite would go through all places in their order, rather than use the index.
    sql = "SELECT place FROM evaluators WHERE run = ? AND body = ? AND identity"
    body = _body(evaluator)
    if evaluator.identity is None:
        rows = db.run(f"{sql} IS NULL", (number, body))
    else:
        rows = db.run(f"{sql} = ?", (number, body, evaluator.identity))
    return min((int(place) for (place,) in rows), default=None)


def _body(evaluator: StoredEvaluator) -> str:
    return msgspec.json.encode(evaluator).decode()
