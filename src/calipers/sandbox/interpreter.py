"""The Python that runs the program: the one that runs Calipers, without its virtual environment.

The program sees the standard library and nothing else unless `Sandbox.packages` names folders to import from. A
virtual environment is a folder of links to a base installation, so the base is what runs.
"""

from __future__ import annotations

import inspect
import os
import sys

from calipers.errors import SandboxError
from calipers.sandbox import launcher

__all__ = ["base_folders", "command"]


def command(control: int, job_file: int) -> list[str]:
    """The command line of the supervisor, which finds its two files under these numbers."""
    # -I: no environment, no user packages, no current folder on the path. -S: no packages at all, and a faster start.
    # -B: leaves no compiled files behind.
    flags = ["-I", "-S", "-B", "-X", "utf8"]
    return [_executable(), *flags, "-c", f"{inspect.getsource(launcher)}\nmain({control}, {job_file})\n"]


def base_folders() -> list[str]:
    """The folders that hold the interpreter and its standard library, as real paths."""
    candidates = [sys.base_prefix, sys.base_exec_prefix, os.path.dirname(_executable())]  # noqa: PTH120
    return sorted({os.path.realpath(folder) for folder in candidates})


def _executable() -> str:
    # In a virtual environment made of copies, sys.executable is a copy that a sandbox could not see.
    executable = getattr(sys, "_base_executable", None) or sys.executable
    if not executable:
        raise SandboxError(
            "sys.executable is empty: this Python is embedded, and has no interpreter to start"
        )
    return os.path.realpath(executable)
