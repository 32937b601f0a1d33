"""The store that a command reads or writes, and the runs in it by the names that people give them.

`--store` names it, else the variable `CALIPERS_STORE`, else the project's file, else it is `.calipers/runs.db` in the current
folder. Commands that only read never make one: a mistyped path must not become an empty store.

A name stands for the newest run of that name. A command that runs a whole folder gives all its runs one name. If these are of
several datasets, the name is refused as ambiguous: a gate on one must not pass over the others. So are runs of one dataset that
one process made without a name.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from calipers.cli.address import load_object
from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError, near_path, note
from calipers.data.case import similar_names
from calipers.errors import CalipersError, StoreError, StoreMissingError
from calipers.files.project import find_project
from calipers.report.report import Report
from calipers.stores.default_store import DEFAULT, VARIABLE, default_address
from calipers.stores.redaction import hide_keys
from calipers.stores.run_info import RunInfo
from calipers.stores.sqlite import MemoryStore, SqliteStore
from calipers.stores.store import Redact, Store
from calipers.stores.store_url import open_store

_LOOKED_AT: Final = 1000
"""Attempts whose cases a shell offers."""
_OFFERED: Final = 50
"""The newest runs, which a shell offers and a mistyped id is compared with."""
MOST_IN_MEMORY: Final = 20_000
"""Attempts up to which a report is read whole; of a longer run only those that did not pass are, unless all are asked for."""
_TOLD: Final = 5
"""Runs that a message about a name lists."""


def store_address(given: str | None) -> str:
    """What `--store` says, or what holds without it."""
    if given is not None:
        return given
    return default_address()


def open_kept(given: str | None, *, redact: Sequence[str] = (), can_lack_values: bool = False) -> Store:
    """The store to read from, or to change, which has to be there; `can_lack_values`: see `Store.can_lack_values`."""
    with opening(given) as address:
        found = open_store(address, existing=True, redact=hooks_at(redact))
    found.can_lack_values = can_lack_values
    return found


@contextmanager
def opening(given: str | None, *, way: str = "give --store URL") -> Iterator[str]:
    """A block that opens a store which has to be there, with its address; errors say what named it."""
    address = store_address(given)
    if address == DEFAULT and not Path(DEFAULT).exists():
        raise CommandError(
            f"there is no store {DEFAULT!r} in this folder: `calipers run` makes one; {way} to use another",
            USAGE,
        )
    try:
        yield address
    except StoreMissingError as error:
        raise CommandError(f"{error}{_named_by(given)}", USAGE) from error
    except StoreError as error:
        raise CommandError(f"{error}{_named_by(given)}") from error


def _named_by(given: str | None) -> str:
    """What named the store, where the command line did not."""
    if given is not None:
        return ""
    if os.environ.get(VARIABLE):
        return f" ({VARIABLE} names it)"
    project = find_project()
    return f" ({near_path(str(project.file))} names it)" if project.store is not None else ""


def note_settings() -> None:
    """Say which file the settings of the project are from, if there is one."""
    project = find_project()
    if project.file is not None:
        note(f"Settings: {near_path(str(project.file))}")


def open_or_make(given: str | None, *, redact: Sequence[str] = ()) -> Store:
    """The store to keep runs in, made if it is not there."""
    hooks = hooks_at(redact)
    try:
        store = open_store(store_address(given), redact=hooks)
        _hide_from_git(store)
    except (StoreError, OSError) as error:
        raise CommandError(
            f"{error}{_named_by(given)}. --store URL names another place for the runs, and --no-store keeps none"
        ) from error
    return store


def hooks_at(addresses: Sequence[str]) -> list[Redact]:
    """What hides the fields that the project's file names, and the functions at these addresses, in order."""
    fields = find_project().redact
    hooks: list[Redact] = [hide_keys(*fields)] if fields else []
    for address in addresses:
        found = load_object(address)
        some = found if isinstance(found, list | tuple) else [found]
        if not some or not all(callable(hook) for hook in some):
            raise CommandError(
                f"--redact {address}: it has to be a function that takes a value and returns what of it may be kept, or a list "
                f"of such functions, got {found!r:.100}",
                USAGE,
            )
        hooks += some
    return hooks


def _hide_from_git(store: Store) -> None:
    """What agents were asked and said is not committed by accident."""
    file = store_file(store)
    if file is not None and file.parent.name == Path(DEFAULT).parent.name:
        ignore = file.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")


def store_file(store: Store) -> Path | None:
    """The file that a store is in; `None` if it is in none."""
    return store.path if isinstance(store, SqliteStore) and not isinstance(store, MemoryStore) else None


def shown_store(store: Store) -> str:
    """Where a store is, as short as it can be said from here."""
    file = store_file(store)
    return store.url if file is None else near_path(str(file))


def find_run(store: Store, which: str, *, dataset: str | None = None, concludes: bool = False) -> RunInfo:
    """The run of an id, the beginning of one, a name, or `latest`.

    Args:
        store: that has it.
        which: what it is called.
        dataset: the name of its dataset; `None` if that is not told.
        concludes: whether the command draws conclusions from the run, and so has `--dataset`. Then `latest` is ambiguous, too,
            where its process made runs of other datasets, and so is a run without a name whose process made another of its
            dataset.
    """
    try:
        info = store.run(which)
    except StoreError as error:
        raise _no_run(store, which, error) from error
    if which != info.id:
        meant = _meant(store, which, info, dataset, concludes=concludes)
        of = _newest_of_each(meant)
        if dataset is not None:
            of = [each for each in of if each.dataset_name == dataset] or of
        if len(of) > 1:
            raise _ambiguous(which, of, dataset, concludes=concludes)
        info = store.run(of[0].id) if of else info
        twins = _twins(meant, info) if concludes else []
        if twins:
            raise _same_dataset(which, [info, *twins])
    if dataset is not None and info.dataset_name != dataset:
        raise CommandError(f"the run {which!r} ({info.id}) is {run_of(info)}, not of {dataset!r}", USAGE)
    return info


def _meant(
    store: Store, which: str, info: RunInfo, dataset: str | None, *, concludes: bool
) -> Sequence[RunInfo]:
    """The runs that something other than an id may mean, newest first; none if it is the beginning of an id."""
    if which != "latest":
        return store.runs(name=which)
    if dataset is not None:
        return store.runs(dataset_name=dataset, limit=_OFFERED)
    if not concludes or info.owner is None:
        return ()
    return [each for each in store.runs(limit=_OFFERED) if each.owner == info.owner]


def _twins(runs: Iterable[RunInfo], info: RunInfo) -> list[RunInfo]:
    """Other runs of its dataset by the same process, where none was given a name: all have the names of their tasks."""
    if info.owner is None or info.name != info.task_name:
        return []
    return [
        each
        for each in runs
        if each.id != info.id
        and each.owner == info.owner
        and each.dataset_name == info.dataset_name
        and each.name == each.task_name
    ]


def run_of(info: RunInfo) -> str:
    """What a run is of, in words."""
    if info.dataset_name is not None:
        return f"of the dataset {info.dataset_name!r}"
    return f"of a dataset without a name, with the task {info.task_name!r}"


def subject(dataset_name: str | None, task_name: str | None) -> tuple[str | None, str | None]:
    """What tells runs of one name apart: the dataset; the task, where the dataset has no name."""
    return dataset_name, task_name if dataset_name is None else None


def _newest_of_each(runs: Iterable[RunInfo]) -> list[RunInfo]:
    """The first run of every dataset."""
    found: dict[tuple[str | None, str | None], RunInfo] = {}
    for info in runs:
        found.setdefault(subject(info.dataset_name, info.task_name), info)
    return list(found.values())


def _ambiguous(which: str, of: Sequence[RunInfo], dataset: str | None, *, concludes: bool) -> CommandError:
    what = "one of several runs that one process made" if which == "latest" else "the name of several runs"
    none = "" if dataset is None else f", none of them of {dataset!r}"
    some = "; ".join(f"{info.id} {run_of(info)}" for info in of[:_TOLD])
    more = f"; and {len(of) - _TOLD} more" if len(of) > _TOLD else ""
    option = ", or say --dataset NAME" if concludes else ""
    return CommandError(f"{which!r} is {what}{none}: {some}{more}. Name one by its id{option}", USAGE)


def _same_dataset(which: str, runs: Sequence[RunInfo]) -> CommandError:
    some = "; ".join(f"{info.id} with the task {info.task_name!r}" for info in runs[:_TOLD])
    more = f"; and {len(runs) - _TOLD} more" if len(runs) > _TOLD else ""
    of = "one dataset" if runs[0].dataset_name is None else f"the dataset {runs[0].dataset_name!r}"
    return CommandError(
        f"{which!r} is one of several runs of {of} that one process made: {some}{more}. Name one by its id, or run each by itself "
        "with a --name of its own",
        USAGE,
    )


def _no_run(store: Store, which: str, error: StoreError) -> CommandError:
    newest = store.runs(limit=_OFFERED)
    if not newest:
        return CommandError(f"the store {shown_store(store)!r} has no runs yet", USAGE)
    if any(info.id.startswith(which) for info in newest) and which:
        return CommandError(str(error), USAGE)
    names = list(dict.fromkeys(name for info in newest for name in ("latest", info.id, info.name)))
    near = get_close_matches(which, names, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`calipers runs` lists those it has"
    return CommandError(f"the store {shown_store(store)!r} has no run {which!r}; {hint}", USAGE)


def report_of(store: Store, info: RunInfo, *, whole: bool) -> Report:
    """The report of a run; of a very long one only what did not pass, with the totals of all, unless it has to be whole."""
    keep = "all" if whole or info.attempts <= MOST_IN_MEMORY else "failed"
    return store.report(info.id, keep=keep)


def state(info: RunInfo) -> str:
    """What became of a run, in one word: `abandoned` if it is marked as running and no process runs it."""
    if info.damaged is not None:
        return "damaged"
    return "abandoned" if info.is_abandoned() else info.status


def check_case(store: Store, info: RunInfo, name: str) -> None:
    """Refuse a case that the run does not have."""
    if next(iter(store.attempts(info.id, name=name, parts=False)), None) is not None:
        return
    names = dict.fromkeys(attempt.case_name for attempt in store.attempts(info.id, parts=False))
    raise unknown_in_run("case", name, list(names), info)


def unknown_in_run(what: str, name: str, names: Sequence[str], info: RunInfo) -> CommandError:
    """The error of a name that nothing in the run has."""
    near = similar_names(name, names)
    some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else some if names else "it has none"
    return CommandError(f"no {what} of the run {info.id} is called {name!r}; {hint}", USAGE)


def run_ids(given: str | None, start: str) -> dict[str, str]:
    """The newest runs whose ids begin so, each with what it is; none where there is no store."""
    with suppress(CalipersError, CommandError, OSError), open_kept(given) as store:
        found = [info for info in store.runs(limit=_OFFERED) if info.id.startswith(start)]
        return {info.id: f"{info.name} ({info.status})" for info in found}
    return {}


def names_in(given: Mapping[str, Any], what: Literal["case", "evaluator"], start: str) -> list[str]:
    """Some of the names in the run that a command line names, for a shell to offer; empty where anything goes wrong."""
    with suppress(CalipersError, CommandError, OSError), open_kept(given.get("store")) as store:
        info = store.run(given.get("run") or "latest")
        if what == "evaluator":
            names: Iterable[str] = (each.name for each in info.evaluators)
        else:
            names = (each.case_name for each in store.attempts(info.id, parts=False))
        return list(dict.fromkeys(name for name in islice(names, _LOOKED_AT) if name.startswith(start)))
    return []
