"""How `calipers run` keeps its runs: in which store, which earlier run it goes on with, and what it says about it."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError
from calipers.cli.selection import Selection
from calipers.cli.stored_runs import find_run, open_or_make, shown_store, store_file
from calipers.data.jsonable import plain
from calipers.data.reuse import Reuse
from calipers.errors import InvalidOptionError, StoreError
from calipers.report.report import Report
from calipers.report.shard import Shard
from calipers.run.dataset import Dataset
from calipers.stats.number_text import plural
from calipers.stores.redaction import redacted_parameters
from calipers.stores.run_info import RunInfo
from calipers.stores.sqlite import MemoryStore
from calipers.stores.store import Redact, Store

_PASSWORD = re.compile(r"(?<=://)([^/?#@:]*):[^/?#@]*@")
"""The name and the password in a URL: what is printed may be read by others."""


class Kept(NamedTuple):
    """Where one evaluation is kept."""

    store: Store | None
    resumed: RunInfo | None = None
    """The run that it goes on with."""


class Keeper:
    """Keeps the runs of one command."""

    def __init__(
        self,
        *,
        store: str | None = None,
        no_store: bool = False,
        redact: Sequence[str] = (),
        resume: str | None = None,
        rerun_failed: bool = False,
        reuse: bool = False,
    ) -> None:
        """A keeper; the arguments are the options of the command, and `resume` is empty where it names no run."""
        if no_store:
            if store is not None:
                raise InvalidOptionError("--store and --no-store exclude each other: remove one")
            given = {
                "--redact": redact or None,
                "--resume": resume,
                "--reuse": reuse or None,
            }
            if refused := [name for name, value in given.items() if value is not None]:
                needs = "needs" if len(refused) == 1 else "need"
                raise InvalidOptionError(f"{' and '.join(refused)} {needs} a store: remove --no-store")
        if rerun_failed and resume is None:
            raise InvalidOptionError(
                "--rerun-failed needs --resume: it says what to do with a run that is resumed"
            )
        self.given = store
        self.redact = redact
        self.is_wanted = not no_store
        self.resume = resume
        self.rerun_failed = rerun_failed
        self.reuse = reuse
        self.asked_for = resume
        """What the command line calls the run to resume."""
        self.store: Store | None = None
        self._folder = Path()
        self._began_anew = False
        self._overlooked: list[RunInfo] = []
        """Unfinished runs of the evaluation that have other names than the one asked for."""

    @contextmanager
    def opened(self, folder: Path, labels: Sequence[str]) -> Iterator[None]:
        """A block in which runs can be kept; a relative path counts from the folder."""
        if not self.is_wanted:
            yield
            return
        self._folder = folder
        with chdir(folder):
            store = open_or_make(self.given, redact=self.redact)
        with store:
            self.store = store
            if self.resume:
                self._check_resume(store, self.resume, labels)
            yield

    def _check_resume(self, store: Store, which: str, labels: Sequence[str]) -> None:
        try:
            info = find_run(store, which)
        except CommandError as error:
            if Path(which).exists() or ":" in which:
                raise CommandError(
                    f"--resume: {which!r} is not a run. Put --resume after the file to run, or write --resume=RUN",
                    USAGE,
                ) from error
            raise
        if len(labels) > 1:
            raise InvalidOptionError(
                f"--resume {which} resumes one run, and there are {len(labels)} evaluations: name one of them, such as "
                f"{labels[0]}, or give --resume without a run"
            )
        self.asked_for, self.resume = which, info.id

    # ------------------------------------------------------------------ before a run

    def keep(
        self,
        dataset: Dataset[Any, Any, Any],
        task_name: str,
        name: str | None,
        *,
        others: Collection[str] = (),
        selection: Selection | None = None,
        shard: Shard | None = None,
    ) -> Kept:
        """Where to keep an evaluation.

        Args:
            dataset: with the cases that are run.
            task_name: what the task is called.
            name: what the run is called; `None`: like the task, but a run to go on with may have any name.
            others: names of runs that belong to other evaluations of the command.
            selection: how the cases were chosen; a run to go on with must have the same.
            shard: which part of them is run; a run to go on with must be of the same.
        """
        store = self.store
        told = {} if selection is None else selection.told
        if store is None or self.resume is None:
            return Kept(store)
        if self.resume:
            found: RunInfo | None = store.run(self.resume)
        else:
            unfinished = [
                run
                for run in _unfinished(store, dataset.name, task_name)
                if run.name not in others and run.shard == (None if shard is None else str(shard))
            ]
            named = [run for run in unfinished if run.name == (name or task_name)]
            fitting = named or (unfinished if name is None else [])
            found = fitting[0] if fitting else None
            self._overlooked = [] if fitting else unfinished
        self._began_anew = found is None
        if found is not None:
            _check_total(found, dataset, shard)
            if selection is not None:
                _check_selection(found, told, getattr(store, "redact", ()))
        return Kept(store, found)

    def add(self, report: Report) -> None:
        """Keep a report that was finished when it came."""
        if self.store is not None and report.reuse is None:
            info = self.store.add_report(report)
            report.reuse = Reuse(run=info.id, attempts_made=info.attempts)

    def forget(self, report: Report) -> None:
        """Remove a run in which nothing happened."""
        if self.store is not None and self.resume is None and report.reuse is not None:
            self.store.delete_run(report.reuse.run)

    # ------------------------------------------------------------------ after it

    @property
    def where(self) -> str | None:
        """Where runs are kept; `None` if they are not, or are gone with the process."""
        store = self.store
        return None if store is None or isinstance(store, MemoryStore) else shown_store(store)

    @property
    def files(self) -> list[Path]:
        """The file of the store, if it is in one."""
        file = None if self.store is None else store_file(self.store)
        return [] if file is None else [self._folder / file]

    def lines(self, report: Report) -> Iterator[str]:
        """What was taken from earlier runs, and where this one is."""
        reuse = report.reuse
        if reuse is None or self.store is None:
            return
        if self._began_anew:
            yield _nothing_to_resume(self._overlooked, report.name)
        if self.reuse or (self.resume is not None and not self._began_anew):
            yield _taken(reuse)
            yield from (f"  - {note}" for note in reuse.notes)
        if self.where is not None:
            yield self._ways_to_see(reuse.run)

    def losses(self, report: Report) -> Iterator[str]:
        """What a resumed run had and has no more: --quiet does not hide it."""
        losses = [] if report.reuse is None or self.resume is None else report.reuse.losses
        yield from (f"Note: {each}" for each in losses)

    def way_to_resume(
        self, report: Report, *, targets: Sequence[str] = (), instead: str | None = None, by_id: bool = True
    ) -> str | None:
        """The command that goes on with a run that ended early; `None` if it is not kept.

        Args:
            report: of the run.
            targets: what the command was asked to run.
            instead: the one target that the run is of, where there were more.
            by_id: whether the command may name the run.
        """
        store = self.store
        if store is None or self.where is None or report.reuse is None:
            return None
        with suppress(StoreError):  # it may be the store that broke
            if store.run(report.reuse.run).status == "finished":
                return None  # what it lacks is not had by resuming it
        words = [_PASSWORD.sub(r"\1@", word) for word in _words() if not word.startswith("--resume")]
        if self.asked_for and self.asked_for in words:
            words.remove(self.asked_for)
        if instead is not None:
            words = [word for word in words if word not in targets]
            words.insert(1, instead)
        run = [report.reuse.run] if by_id else []
        return f"Go on with it: {shlex.join(['calipers', *words, '--resume', *run])}"

    def _ways_to_see(self, run: str) -> str:
        """Where a run is, and the commands that show it in a terminal and in a browser."""
        store = "" if self.given is None else f" {shlex.quote(self.where or '')}"
        return f"Kept in {self.where}: calipers show {run}{self._store_flag()}, or calipers view{store} --run {run}"

    def _store_flag(self) -> str:
        return "" if self.given is None else f" --store {shlex.quote(self.where or '')}"


def _words() -> list[str]:
    """What was written after `calipers`."""
    args: list[str] = click.get_current_context().find_root().obj.args
    return args


def _unfinished(store: Store, dataset_name: str | None, task_name: str) -> list[RunInfo]:
    """The unfinished runs of an evaluation that no process works on, newest first."""
    return [
        info
        for info in store.runs(dataset_name=dataset_name)
        if info.task_name == task_name
        and info.dataset_name == plain(dataset_name)
        and info.status != "finished"
        and (info.status != "running" or info.is_abandoned())
    ]


def _nothing_to_resume(overlooked: Sequence[RunInfo], name: str) -> str:
    if not overlooked:
        return "There was no unfinished run to go on with: this is a new one"
    some = ", ".join(f"{run.name!r} (--resume {run.id})" for run in overlooked[:3])
    more = f" and {len(overlooked) - 3} more" if len(overlooked) > 3 else ""
    return f"There was no unfinished run called {name!r}: this is a new one. Unfinished under other names: {some}{more}"


def _check_total(info: RunInfo, dataset: Dataset[Any, Any, Any], shard: Shard | None) -> None:
    """Refuse to go on with more or less than the run was of: it would become another run.

    Attempts at cases that are left out would be removed from it, and one that began as a part would end as the whole.
    """
    if isinstance(dataset.cases, list) and info.total is not None:
        cases = len(dataset.cases)
        total = info.repeat * (cases if shard is None else shard.count(cases))
        if total != info.total:
            raise StoreError(
                f"run {info.id!r} is of {info.total:,} attempts, and this would make it one of {total:,}: give the --filter, "
                "--tag, --limit and --shard that it was begun with, or begin a new run with --reuse"
            )


def _check_selection(info: RunInfo, told: dict[str, Any], hooks: Sequence[Redact]) -> None:
    """Refuse to go on with other cases than the run was of: as many of them would take the places of those it has."""
    if not info.keeps_settings:
        return  # of an earlier release, which kept no selection
    found = info.parameters.get("selection")
    before = found if isinstance(found, dict) else {}
    after = redacted_parameters({"selection": told}, hooks)["selection"] if told else {}
    # Of as many cases as before, a limit says nothing.
    names = ["filter", "tag"] if info.total is not None else ["filter", "tag", "limit"]
    if any(before.get(name) != after.get(name) for name in names):
        raise StoreError(
            f"run {info.id!r} was begun with {_flags(before)}, and this is with {_flags(after)}: give the same, or begin a "
            "new run with --reuse"
        )


def _flags(told: dict[str, Any]) -> str:
    words: list[str] = []
    for name, value in told.items():
        words += [
            f"--{name} {shlex.quote(str(one))}" for one in (value if isinstance(value, list) else [value])
        ]
    return " ".join(words) or "no --filter, --tag or --limit"


def _taken(reuse: Reuse) -> str:
    attempts = reuse.attempts_reused + reuse.attempts_made
    cells = reuse.cells_reused + reuse.cells_computed
    return (
        f"Not done again: {reuse.attempts_reused:,} of {plural(attempts, 'attempt')} and "
        f"{reuse.cells_reused:,} of {plural(cells, 'judgement')}"
    )
