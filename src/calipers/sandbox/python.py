"""The sandbox: running Python code that a language model wrote.

A program runs in a child process that ends together with everything it started: when it is done, at a limit, when the
awaiting task is cancelled, and if this process dies.

With bubblewrap the program has no network, a read-only root without the caller's files, and cannot see other processes.
Without bubblewrap there are only resource limits, an empty environment and a fresh folder: the program can reach the
network, read what its user may read, and write where that user may write. Every outcome says which of the two it was, and
`require_isolation` refuses the second.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from calipers.data.argument_checks import check_text
from calipers.errors import SandboxError
from calipers.process.loop import run_sync
from calipers.sandbox.child import Ending, hold
from calipers.sandbox.confinement import Confinement
from calipers.sandbox.program import DEFAULT_LIMITS, Limits, Outcome, StoppedBy
from calipers.sandbox.system_calls import system_call_filter


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """How to run programs: `Sandbox(require_isolation=True).run_sync("print(1)")`."""

    bubblewrap: str | None = "bwrap"
    """Name or path of the bubblewrap program; None does without it."""
    packages: tuple[str | Path, ...] = ()
    """Folders that the program may import from, beside the standard library, such as a site-packages."""
    require_isolation: bool = False
    """Whether to raise `SandboxError` without bubblewrap, instead of running with limits alone."""

    async def run(self, code: str, *, stdin: str = "", limits: Limits = DEFAULT_LIMITS) -> Outcome:
        """Runs a program to its end. Whatever it does, once started, is in the outcome.

        Raises:
            TypeError: `code` or `stdin` is not a str.
            SandboxError: the program could not be started, or not as `require_isolation` asks.
        """
        check_text("code", code, or_empty=True, error=TypeError)
        check_text("stdin", stdin, or_empty=True, error=TypeError)
        if sys.platform == "win32":
            raise SandboxError("the sandbox needs a POSIX system: on Windows, run it in WSL")
        packages = [str(folder) for folder in self.packages]
        for folder in packages:
            if not os.path.isabs(folder) or not Path(folder).is_dir():  # noqa: ASYNC240, PTH117
                raise SandboxError(
                    f"packages names {folder!r}: expected the absolute path of an existing folder"
                )
        confinement = await _best_confinement(self.bubblewrap)
        if self.require_isolation and confinement.protection != "bubblewrap":
            raise SandboxError(f"isolation is required and there is none here: {confinement.note}")
        try:
            ending = await hold(confinement, code, stdin=stdin, limits=limits, packages=packages)
        except OSError as error:
            raise SandboxError(f"the program could not be started: {error}") from error
        if not ending.started:
            said = ending.stderr.decode("utf-8", "replace").strip()
            silence = (
                f"no sign of life after {ending.seconds:.0f} s" if ending.abandoned else "its supervisor died"
            )
            raise SandboxError(f"the program could not be started: {said or silence}")
        return _outcome(ending, limits=limits, confinement=confinement)

    def run_sync(self, code: str, *, stdin: str = "", limits: Limits = DEFAULT_LIMITS) -> Outcome:
        """`run` for callers that cannot await; inside a running event loop it blocks that loop."""
        return run_sync(lambda: self.run(code, stdin=stdin, limits=limits))


async def run_python(
    code: str, *, stdin: str = "", limits: Limits = DEFAULT_LIMITS, require_isolation: bool = False
) -> Outcome:
    """Runs a Python program with the best protection there is here; see `Sandbox.run`."""
    return await Sandbox(require_isolation=require_isolation).run(code, stdin=stdin, limits=limits)


def run_python_sync(
    code: str, *, stdin: str = "", limits: Limits = DEFAULT_LIMITS, require_isolation: bool = False
) -> Outcome:
    """`run_python` for callers that cannot await."""
    return Sandbox(require_isolation=require_isolation).run_sync(code, stdin=stdin, limits=limits)


_LIMIT_NAMES = {
    "RLIMIT_AS": "memory",
    "RLIMIT_CORE": "core files",
    "RLIMIT_CPU": "processor time",
    "RLIMIT_FSIZE": "file size",
    "RLIMIT_NOFILE": "open files",
    "RLIMIT_NPROC": "processes",
    "SECCOMP": "shared memory and mounted file systems",
}


def _outcome(ending: Ending, *, limits: Limits, confinement: Confinement) -> Outcome:
    code = ending.report.exit_code if ending.report else None
    missing = {*ending.unset, *(() if system_call_filter() else ("SECCOMP",))}
    unset = ", ".join(_LIMIT_NAMES[name] for name in _LIMIT_NAMES if name in missing)
    return Outcome(
        exit_code=code if code is not None and code >= 0 else None,
        stdout=ending.stdout.decode("utf-8", "replace"),
        stderr=ending.stderr.decode("utf-8", "replace"),
        stopped_by=_stopped_by(ending, code, limits),
        signal=-code if code is not None and code < 0 else None,
        duration=ending.report.seconds if ending.report else ending.seconds,
        cpu_seconds=ending.report.cpu_seconds if ending.report else None,
        output_truncated=ending.overflowed,
        protection=confinement.protection,
        protection_note=confinement.note + (f"; this system could not limit: {unset}" if unset else ""),
    )


def _stopped_by(ending: Ending, code: int | None, limits: Limits) -> StoppedBy | None:
    if ending.overflowed:
        return "output"
    if ending.report is None:
        return "time" if ending.abandoned else "unknown"
    if ending.report.timed_out:
        return "time"
    # The system counts in whole ticks, so the sum may fall a little short of the limit.
    if code in {-signal.SIGXCPU, -signal.SIGKILL} and ending.report.cpu_seconds > limits.cpu_limit - 0.5:
        return "cpu"
    last_words = ending.stderr.rstrip().rpartition(b"\n")[2]
    if code == 1 and last_words.startswith(b"MemoryError"):
        return "memory"
    return None


# ---------------------------------------------------------------------- the best confinement on this machine

# What a program may count on: the standard library can be read, its own text too, and its folder can be written.
_TRIAL = "import json\nopen(__file__).close()\nopen('trial', 'w').close()\n"
_TRIAL_LIMITS = Limits(seconds=30)

_ISOLATED = (
    "bubblewrap: no network, read-only root, private /tmp of limited size, no inherited environment, "
    "own process namespace"
)
_LIMITED = "resource limits only, with network and readable files open"

_found: dict[tuple[object, ...], Confinement] = {}
_finding = threading.Lock()


async def _best_confinement(bubblewrap: str | None) -> Confinement:
    """The best confinement here, found without blocking the event loop.

    Only a try tells: bubblewrap may be installed and forbidden (many containers allow no namespaces), and an interpreter
    in root's home cannot be read by an unprivileged user. So a small program runs in each, once in a process.
    """
    known = _found.get(_key(bubblewrap))
    return await asyncio.to_thread(_find_once, bubblewrap) if known is None else known


def _find_once(bubblewrap: str | None) -> Confinement:
    key = _key(bubblewrap)
    with _finding:
        if key not in _found:
            _found[key] = _find(bubblewrap)
        return _found[key]


def _key(bubblewrap: str | None) -> tuple[object, ...]:
    path = None if bubblewrap is None else shutil.which(bubblewrap)
    return bubblewrap, path, os.geteuid(), tempfile.gettempdir(), _ignores_children()


def _ignores_children() -> bool:
    """Whether this process ignores SIGCHLD; bubblewrap would inherit that, and wait for its child forever."""
    return signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN


def _find(bubblewrap: str | None) -> Confinement:
    root = os.geteuid() == 0
    path = None if bubblewrap is None else shutil.which(bubblewrap)
    if path is not None and _ignores_children():
        reason = "bubblewrap would wait forever, because this process ignores SIGCHLD"
    elif path is not None:
        isolated = Confinement(bubblewrap=path, own_user=root, note=_ISOLATED)
        failure = _try(isolated)
        if failure is None:
            return isolated
        reason = f"bubblewrap is installed but could not start here: {failure}"
    elif bubblewrap is None:
        reason = "bubblewrap was not asked for"
    else:
        reason = f"bubblewrap is not installed (no program {bubblewrap!r} on the PATH)"
    if sys.platform != "linux":
        reason += "; on this system a process that leaves the program's process group is not found again"
    if root:
        note = f"{_LIMITED}, as an unprivileged user of its own: {reason}"
        unprivileged = Confinement(bubblewrap=None, own_user=True, note=note)
        failure = _try(unprivileged)
        if failure is None:
            return unprivileged
        reason += (
            f"; ran as the invoking user, root, whose processes the system does not count, because an unprivileged "
            f"user could not start the interpreter, which others may not be allowed to read: {failure}"
        )
    else:
        reason += "; ran as the invoking user"
    return Confinement(bubblewrap=None, own_user=False, note=f"{_LIMITED}: {reason}")


def _try(confinement: Confinement) -> str | None:
    """Why a small program does not run in this confinement; None if it does."""
    try:
        ending = asyncio.run(hold(confinement, _TRIAL, stdin="", limits=_TRIAL_LIMITS, packages=()))
    except (OSError, SandboxError) as error:
        return str(error)
    if ending.report is not None and ending.started and ending.report.exit_code == 0:
        return None
    said = ending.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else "it ended without a word"
