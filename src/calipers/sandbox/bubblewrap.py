"""The bubblewrap command line: a file tree of its own with no network and no other processes in sight.

Inside, the root is read-only and holds /usr, the interpreter and the folders named to import from; /tmp and /dev/shm are
private, writable and of limited size. Version 0.7 of bubblewrap is the first with a limit on size.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["HOME", "wrap"]

HOME = "/tmp"  # noqa: S108 - a private one, made for each program

_NAMESPACES = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]


def wrap(
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

    With `root`, the command starts as root, stripped of all but the rights to become another user, to give that user
    its files and to end its processes. Anyone else needs a user namespace, which some systems forbid. `filter_file` is an
    open file with the filter of system calls.
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
