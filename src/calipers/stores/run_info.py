"""What a store knows of a run besides its attempts: what was run, on what, by which process, and how far it came.

A run that is marked as running may have died. A run without a heartbeat for `SILENT_SECONDS`, or whose process is gone from
this machine, is *abandoned* and may be taken over.

Of a run, a store keeps what explains a difference between two runs (Python, system, versions), and no name of a person or a machine:
the owner's host is kept as a hash, which is enough to tell whether it is this one.
"""

import hashlib
import os
import platform
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.result import EvaluatorSpec
from calipers.report.summary import Totals

Status: TypeAlias = Literal["running", "finished", "interrupted", "failed"]
"""`interrupted` runs ended early on purpose, `failed` ones by an error."""

State: TypeAlias = Literal["running", "finished", "interrupted", "failed", "abandoned"]
"""What can be asked for: an `abandoned` run is marked as running, and no process runs it any more."""

_counting = threading.Lock()
_last_moment = 0
"""The millisecond in the last id that this process made."""

SILENT_SECONDS = 60.0
"""Seconds without a heartbeat after which a run counts as abandoned."""


class StoredEvaluator(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluator of a stored run. Cells name it by its place in `RunInfo.evaluators`."""

    name: str
    """What it is called in the run."""
    spec: EvaluatorSpec
    """Its type and arguments."""
    version: str | None = None
    """The version that it declares."""
    identity: str | None = None
    """A hash of its code, arguments and version; `None` if unknown, so that its results are never reused."""
    shared: bool = True
    """Whether it judges every attempt; False: it belongs to single cases."""
    parts: dict[str, str] = {}
    """What its identity was made of, by label, so that a difference can be named; see `calipers.identity`."""
    unknown: str | None = None
    """Why its identity is unknown; `None` if it is known, or was not asked for."""
    added: bool = False
    """Whether it was added by scoring stored attempts."""
    superseded: bool = False
    """Whether its results no longer count: another one took its place, or it was dropped."""
    is_judge: bool = False
    """Whether it asks a model, so that a passport says how far to believe it."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The process that writes a run."""

    pid: int
    host: str
    """A hash of the machine's name."""
    token: str | None = None
    """Drawn by the process, since process numbers are used again, and in a container are often the same."""


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that the working directory was at."""

    commit: str
    dirty: bool
    """Whether files differed from the commit."""


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a stored run has come: what can be asked for all runs at once, again and again."""

    id: str
    status: Status
    attempts: int
    """Attempts stored so far."""
    failures: int
    """Attempts whose task did not finish."""
    revision: str
    """Changes with every write to the run, its counts included; a sign of life is none."""
    owner: Owner | None = None
    heartbeat: str | None = None

    @property
    def state(self) -> State:
        """What became of the run: `abandoned` if it is marked as running and no process runs it any more."""
        return "abandoned" if _is_abandoned(self) else self.status


class RunInfo(msgspec.Struct, kw_only=True):
    """A stored run without its attempts. A new one needs no more than a name; `begin_run` fills in the rest."""

    name: str
    """What was run: the experiment's name, else the task's."""
    id: str = ""
    """Made by the store, unless the run was made elsewhere. It begins with the time; `Store.runs` has the order."""
    dataset_name: str | None = None
    task_name: str | None = None
    task_version: str | None = None
    """What the task declares, else its identity; `None` if unknown."""
    task_key: str | None = None
    """The identity of the task, with all that it is bound to; `None` if unknown or not kept."""
    parameters: dict[str, Any] = {}
    """What the run was asked to do, as plain data: limits, timeouts, models."""
    repeat: int = 1
    seed: int | None = 0
    """`None` if no run of Calipers made the attempts, as of recorded traces: none can be made again."""
    total: int | None = None
    """Attempts to make; `None` if the length of the dataset is unknown."""
    keeps_settings: bool = False
    """Whether tags and timeouts of cases are stored; False for runs that were made elsewhere and may have some."""
    metadata: dict[str, Any] | None = None
    """What the caller noted about the run."""
    environment: dict[str, str] = {}
    """Versions of Python, Calipers and the system."""
    git: GitState | None = None
    """`None` outside a repository."""
    evaluators: tuple[StoredEvaluator, ...] = ()
    """All it ever had, since cells name them by their place; `columns` are those of its report."""
    status: Status = "running"
    started_at: str = ""
    """ISO 8601, UTC."""
    ended_at: str | None = None
    owner: Owner | None = None
    """The process that writes it; `None` for runs that were stored when they were over."""
    heartbeat: str | None = None
    """The owner's last sign of life: ISO 8601, UTC."""
    generation: int = 0
    """How often the run was resumed. A writer of an earlier generation is refused, since the run was taken over."""
    attempts: int = 0
    """Attempts stored so far."""
    failures: int = 0
    """Attempts whose task did not finish."""
    ending: dict[str, Any] | None = None
    """The report without its attempts, as `Report.to_dict` has it; `None` while the run is not over."""
    damaged: str | None = None
    """Why it cannot be read, in a list of runs; `None` if it can."""
    totals: Totals | None = None
    """What all attempts say together; `None` until `Store.totals` counts it."""

    @property
    def draw_seed(self) -> int:
        """What draws about its attempts begin with, such as those of evaluators."""
        return self.seed or 0

    @property
    def shard(self) -> str | None:
        """Which part of a run it is, such as `3/8`; `None` if it is a whole one."""
        found = self.parameters.get("shard")
        return found if isinstance(found, str) else None

    @property
    def columns(self) -> list[str]:
        """The names of the evaluators in its report, each once."""
        return columns_of(self.evaluators)

    def is_abandoned(self, *, now: datetime | None = None) -> bool:
        """Whether it is marked as running, and no process runs it any more."""
        return _is_abandoned(self, now)


def _is_abandoned(run: RunInfo | RunProgress, now: datetime | None = None) -> bool:
    if run.status != "running":
        return False
    if run.owner is None or run.heartbeat is None:
        return True
    if run.owner.host == this_host() and not _is_alive(run.owner.pid):
        return True
    silent = (now or datetime.now(UTC)) - datetime.fromisoformat(run.heartbeat)
    return silent.total_seconds() > SILENT_SECONDS


def plain_spec(spec: EvaluatorSpec) -> EvaluatorSpec:
    """The source of an evaluator as plain data, as it is stored."""
    return msgspec.structs.replace(spec, arguments=plain(spec.arguments))


def columns_of(evaluators: Iterable[StoredEvaluator]) -> list[str]:
    """The names of the evaluators in the report of their run, each once."""
    return list(dict.fromkeys(one.name for one in evaluators if not one.superseded))


def new_run_id() -> str:
    """An id for a run that begins now: `20261116-013359123-7f3a9c`, the time in UTC and six random digits.

    Two runs that one process begins within a millisecond get ids a millisecond apart, so that they sort too.
    """
    global _last_moment  # noqa: PLW0603 - it is a fact about the process
    with _counting:
        at = _last_moment = max(_last_moment + 1, time.time_ns() // 1_000_000)
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y%m%d-%H%M%S}{at % 1000:03d}-{secrets.token_hex(3)}"


def timestamp() -> str:
    """Now, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat()


def this_process() -> Owner:
    """This process as an owner of runs."""
    return Owner(pid=os.getpid(), host=this_host(), token=process_token())


@cache
def process_token() -> str:
    """Tells this process from others that had its number."""
    return secrets.token_hex(4)


@cache
def this_host() -> str:
    """A hash of this machine's name."""
    return hashlib.blake2b(socket.gethostname().encode("utf-8", "replace"), digest_size=8).hexdigest()


@cache
def this_environment() -> dict[str, str]:
    """What explains a difference between two runs: Python, system, versions."""
    try:
        own = version("calipers")
    except PackageNotFoundError:
        own = "unknown"
    return {
        "calipers": own,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def git_state() -> GitState | None:
    """The commit of the working directory; `None` where there is none, or git does not answer within two seconds."""
    with git_asked() as answer:
        return answer()


@contextmanager
def git_asked() -> Iterator[Callable[[], GitState | None]]:
    """Ask git; the block can do other things before it takes the answer."""
    words = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty")
    try:
        here = Path.cwd()
        if "GIT_DIR" not in os.environ and not any(
            (folder / ".git").exists() for folder in (here, *here.parents)
        ):
            process = None  # asking git would take as long as storing hundreds of attempts
        else:
            process = subprocess.Popen(  # noqa: S603 - fixed words, no shell
                ["git", "--no-optional-locks", *words],  # noqa: S607 - the user's own git
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
            )
    except OSError:
        process = None
    if process is None:
        yield lambda: None
        return
    with process:
        try:
            yield lambda: _git_answer(process)
        finally:
            if process.poll() is None:
                process.kill()


def _git_answer(process: "subprocess.Popen[bytes]") -> GitState | None:
    try:
        out, _ = process.communicate(timeout=2)
    except (OSError, subprocess.SubprocessError):
        return None
    if process.returncode != 0:
        return None
    lines = out.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return None
    return GitState(commit=commit, dirty=any(not line.startswith("#") for line in lines))


def _is_alive(pid: int) -> bool:
    """Whether a process runs, and is not a zombie.

    `os.kill(pid, 0)` would ask the same on POSIX systems; on Windows it ends the process.
    """
    import psutil

    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # it is there, and another user's
        return True
