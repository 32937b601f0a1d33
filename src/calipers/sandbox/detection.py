"""The best confinement that this machine allows, found by running a small program in each and kept for the process.

Only a try tells: bubblewrap may be installed and forbidden (many containers allow no namespaces), and an interpreter in
root's home cannot be read by an unprivileged user.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading

from calipers.errors import SandboxError
from calipers.sandbox.child import hold
from calipers.sandbox.confinement import Confinement
from calipers.sandbox.program import Limits

__all__ = ["best_confinement", "best_confinement_async"]

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


async def best_confinement_async(bubblewrap: str | None) -> Confinement:
    """`best_confinement` without blocking the event loop."""
    known = _found.get(_key(bubblewrap))
    return await asyncio.to_thread(best_confinement, bubblewrap) if known is None else known


def best_confinement(bubblewrap: str | None) -> Confinement:
    """The best confinement here, given the name or path of bubblewrap; with None it is not looked for."""
    key = _key(bubblewrap)
    with _finding:
        if key not in _found:
            _found[key] = _find(bubblewrap)
        return _found[key]


def _key(bubblewrap: str | None) -> tuple[object, ...]:
    path = None if bubblewrap is None else shutil.which(bubblewrap)
    return bubblewrap, path, os.geteuid(), tempfile.gettempdir(), _ignores_children()


def _ignores_children() -> bool:
    """Whether this process ignores SIGCHLD, which bubblewrap would inherit and then wait for its own child forever."""
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
