"""A way to hold a program: inside bubblewrap or by resource limits alone, and as which user.

The system does not limit the processes of root, and counts those of other users by user. So a sandbox started by root
runs each program as a user of its own. A sandbox started by another user sets the limit above what that user runs at the
start.

Inside bubblewrap there is no network, and other processes cannot be seen. The root is read-only and holds /usr, the
interpreter and the folders named to import from; /tmp and /dev/shm are private, writable and of limited size, which needs
bubblewrap 0.7.
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
    from collections.abc import Iterable, Iterator, Mapping

    from calipers.sandbox.program import Limits, Protection


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
        """The limits to set in the program's process; None where the right number is unknown."""
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
    """A user number that no other program of this process is using."""
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


# ---------------------------------------------------------------------- the command line of bubblewrap

HOME = "/tmp"  # noqa: S108 - a private one, made for each program

_NAMESPACES = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]


def bubblewrap_command(
    command: list[str],
    *,
    bubblewrap: str,
    readable: Iterable[str],
    folder_bytes: int,
    environment: Mapping[str, str],
    root: bool,
    filter_file: int | None = None,
) -> list[str]:
    """The command line that runs `command` in bubblewrap with the `readable` folders at their own paths.

    With `root`, the command starts as root, with only the rights to become another user, to give that user its files and
    to end its processes. Other users need a user namespace, which some systems forbid. `filter_file` is an open file with
    the filter of system calls.
    """
    writable = ["--perms", "1777", "--size", str(folder_bytes), "--tmpfs"]
    # As the first process of its namespace, the supervisor inherits every orphan and cannot be killed from within; and
    # bubblewrap ends only when the whole namespace has.
    arguments = [bubblewrap, "--die-with-parent", "--new-session", "--as-pid-1", *_NAMESPACES]
    arguments += [] if root else ["--unshare-user"]
    arguments += ["--ro-bind", "/usr", "/usr", *_system_links()]
    arguments += ["--proc", "/proc", "--dev", "/dev", *writable, "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    arguments += [*writable, HOME]
    for folder in sorted(set(readable)):
        if not Path(folder).is_relative_to("/usr"):
            arguments += _read_only(folder)
    arguments += ["--remount-ro", "/", "--chdir", HOME, "--hostname", "sandbox", "--clearenv"]
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    arguments += ["--cap-drop", "ALL"]
    for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_KILL") if root else ():
        arguments += ["--cap-add", capability]
    arguments += [] if filter_file is None else ["--seccomp", str(filter_file)]
    return [*arguments, "--", *command]


def _system_links() -> list[str]:
    """The folders beside /usr that programs and the dynamic linker look into, as this system has them."""
    arguments = []
    for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(path):  # noqa: PTH114
            arguments += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        elif os.path.isdir(path):  # noqa: PTH112
            arguments += ["--ro-bind", path, path]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        arguments += ["--ro-bind-try", path, path]
    return arguments


def _read_only(folder: str) -> list[str]:
    # The same path inside as outside: a shared libpython is found by the path built into the interpreter, and at any
    # other place the system's own may be loaded in its stead. Folders above it that bubblewrap makes by itself would be
    # closed to every user but root.
    above = [str(parent) for parent in reversed(Path(folder).parents)][1:]
    made = [argument for parent in above for argument in ("--perms", "0755", "--dir", parent)]
    return [*made, "--ro-bind", folder, folder]
