"""A run that is kept, for people to look at: its report, its state in a sentence, and what it has of one case."""

from collections.abc import Iterator, Sequence

from calipers.data.case import similar_names
from calipers.report.report import Report
from calipers.stores.packing import unpack
from calipers.stores.panel import scored_places
from calipers.stores.records import StoredAttempt, StoredCell
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.text import visible

from .details import attempt_lines
from .exits import USAGE
from .message import CommandError

MOST_IN_MEMORY = 20_000
"""Attempts up to which a report is read whole; of a longer run only those that did not pass are, unless all are asked for."""


def report_of(store: Store, info: RunInfo, *, whole: bool) -> Report:
    """The report of a run; of a very long one only what did not pass, with the totals of all, unless it has to be whole."""
    keep = "all" if whole or info.attempts <= MOST_IN_MEMORY else "failed"
    return store.report(info.id, keep=keep)


def state(info: RunInfo) -> str:
    """What became of a run, in one word: `abandoned` if it is marked as running and nobody runs it."""
    if info.damaged is not None:
        return "damaged"
    return "abandoned" if info.is_abandoned() else info.status


def case_lines(store: Store, info: RunInfo, name: str) -> Iterator[str]:
    """All that is kept of the attempts at a case, each with where it comes from.

    Raises:
        CommandError: the run has no such case.
    """
    scored = scored_places(info.evaluators)
    attempts = _attempts_at(store, info, name)
    names = store.names(info)
    for number, (attempt, cells) in enumerate(attempts):
        if number:
            yield ""
        yield from attempt_lines(unpack(attempt, cells, info.evaluators, scored=scored, names=names))
        yield ""
        yield "Where it comes from"
        yield from (f"    {visible(line)}" for line in _origins(info, attempt, cells))


def _attempts_at(store: Store, info: RunInfo, name: str) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
    check_case(store, info, name)
    positions = [attempt.position for attempt in store.attempts(info.id, name=name, parts=False)]
    return store.judged_at(info.id, positions)


def check_case(store: Store, info: RunInfo, name: str) -> None:
    """Refuse a case that the run does not have.

    Raises:
        CommandError: it says which one may have been meant.
    """
    if next(iter(store.attempts(info.id, name=name, parts=False)), None) is not None:
        return
    names = dict.fromkeys(attempt.case_name for attempt in store.attempts(info.id, parts=False))
    raise unknown("case", name, list(names), info)


def unknown(what: str, name: str, names: Sequence[str], info: RunInfo) -> CommandError:
    """The error of a name that nothing in the run has."""
    near = similar_names(name, names)
    some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else some if names else "it has none"
    return CommandError(f"no {what} of the run {info.id} is called {name!r}; {hint}", USAGE)


def _origins(info: RunInfo, attempt: StoredAttempt, cells: Sequence[StoredCell]) -> Iterator[str]:
    """Which run called the task, and which ones asked the evaluators."""
    yield f"attempt: made in run {attempt.origin or info.id}{'' if attempt.origin is None else ', and taken over'}"
    runs: dict[str, list[str]] = {}
    for cell in cells:
        runs.setdefault(cell.origin or info.id, []).append(info.evaluators[cell.evaluator].name)
    for run, names in runs.items():
        yield f"{', '.join(names)}: judged in run {run}{'' if run == info.id else ', and taken over'}"
