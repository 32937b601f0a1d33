"""A way to hold a program: inside bubblewrap or by resource limits alone, and as which user.

The system does not limit the processes of root, and counts those of anyone else by user. So a sandbox started by root
runs each program as a user of its own, with a number that nobody has. A sandbox started by a plain user shares the count
with everything that user runs; there the limit is set above what is running at the start.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from calipers.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from calipers.sandbox.limits import Limits
    from calipers.sandbox.outcome import Protection

__all__ = ["Confinement", "borrowed_user"]


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """One way to hold a program."""

    bubblewrap: str | None
    """Path of the bubblewrap program; None for resource limits alone."""
    own_user: bool
    """Whether each program runs as an unprivileged user of its own; takes root to start."""
    note: str
    """The sentence for `Outcome.protection_note`."""

    @property
    def protection(self) -> Protection:
        """The word for `Outcome.protection`."""
        return "limits" if self.bubblewrap is None else "bubblewrap"

    def process_limits(self, limits: Limits) -> dict[str, int | None]:
        """The limits to set in the program's process; None where nobody can tell what to set."""
        table: dict[str, int | None] = {**limits.for_process()}
        if self.own_user or os.geteuid() == 0:
            return table
        if self.bubblewrap and _kernel() >= (5, 14):
            # Counted within the user namespace, where the supervisor lives too.
            return table | {"RLIMIT_NPROC": limits.processes + 1}
        used = _tasks_of(os.getuid())
        return table | {"RLIMIT_NPROC": None if used is None else used + 1 + limits.processes}


def _kernel() -> tuple[int, ...]:
    numbers = platform.release().split("-", 1)[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _tasks_of(user: int) -> int | None:
    """How many processes and threads a user has; None where there is no /proc."""
    if not Path("/proc/self/task").exists():
        return None
    tasks = 0
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it may end meanwhile
            if process.name.isdigit() and process.stat().st_uid == user:
                tasks += sum(1 for _ in (process / "task").iterdir())
    return tasks


# Above the ranges that systems and containers hand out; then, for a container that maps few users, a range that
# distributions leave to local use.
_UNUSED = (range(0x7000_0000, 0x7FFF_FFFF), range(60_000, 61_184))

_borrowed: set[int] = set()
_borrowing = threading.Lock()


@contextlib.contextmanager
def borrowed_user() -> Iterator[int]:
    """A user number that no other program of this process has now."""
    numbers = _usable_numbers()
    with _borrowing:
        if len(numbers) <= len(_borrowed):
            raise SandboxError(f"all {len(numbers)} unprivileged users are taken: run fewer programs at once")
        user = numbers[secrets.randbelow(len(numbers))]
        while user in _borrowed:
            user = numbers[secrets.randbelow(len(numbers))]
        _borrowed.add(user)
    try:
        yield user
    finally:
        with _borrowing:
            _borrowed.discard(user)


def _usable_numbers() -> range:
    try:
        mapped = Path("/proc/self/uid_map").read_text(encoding="ascii")
    except OSError:
        return _UNUSED[0]
    for wanted in _UNUSED:
        for line in mapped.splitlines():
            first, _, count = map(int, line.split())
            if first <= wanted.start and wanted.stop <= first + count:
                return wanted
    raise SandboxError("this user namespace maps no user number that is free for unprivileged programs")
