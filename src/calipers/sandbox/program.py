"""A program in the sandbox: its limits, how it ended, and what held it.

Every limit except `seconds` and `output_bytes` holds for each process alone: a program with four processes may use four
times the memory. A program that meets a limit on files or processes gets the error of the system, and may handle it.

`stopped_by` names a limit only if it is known to be the cause. Too much memory is known by an uncaught MemoryError as the
program's last words. A program that dies of a signal that was not sent from here (a crash, the system's out-of-memory
killer) has `signal` set and `stopped_by` None.
"""

from __future__ import annotations

import math
import signal as signals
from typing import Literal, TypeAlias, assert_never

import msgspec

from calipers.data.argument_checks import check_number, check_whole_number

_LONGEST = 10**8 - 1
"""Seconds; beyond, the system's timers overflow."""
_LARGEST = (1 << 62) - 1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run: `Limits(seconds=2, memory_bytes=256 << 20)`."""

    seconds: float = 5.0
    """Time on the clock, from the program's first line; the start of the interpreter is not counted."""
    cpu_seconds: int | None = None
    """Processor time of one process; None allows a second more than `seconds`, so that the clock decides first."""
    memory_bytes: int = 512 << 20
    """Address space of one process."""
    processes: int = 32
    """Processes and threads alive at once, the program itself included."""
    file_bytes: int = 1 << 20
    """Size of any one file it writes."""
    folder_bytes: int = 16 << 20
    """Size of all files together, in each of its writable folders; only bubblewrap can hold a program to it."""
    output_bytes: int = 64 << 10
    """What is kept of stdout, and as much of stderr; a program that writes more is stopped."""
    open_files: int = 64
    """Files, pipes and sockets open at once, the three standard ones included."""

    def __post_init__(self) -> None:
        check_number("Limits(seconds=...)", self.seconds, above=0, at_most=_LONGEST, of="seconds")
        for name in self.__struct_fields__[1:]:
            value = getattr(self, name)
            or_none = name == "cpu_seconds"
            check_whole_number(f"Limits({name}=...)", value, at_least=1, at_most=_LARGEST, or_none=or_none)

    @property
    def cpu_limit(self) -> int:
        """`cpu_seconds`, or what it stands for when None."""
        return math.ceil(self.seconds) + 1 if self.cpu_seconds is None else self.cpu_seconds

    def for_process(self) -> dict[str, int]:
        """The limits that the system enforces on a process, by their names in the `resource` module."""
        return {
            "RLIMIT_CPU": self.cpu_limit,
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }


DEFAULT_LIMITS = Limits()


Protection: TypeAlias = Literal["bubblewrap", "limits"]
"""`bubblewrap`: isolated from network, files and processes. `limits`: resource limits and a clean folder, no isolation."""

StoppedBy: TypeAlias = Literal["time", "cpu", "memory", "output", "unknown"]
"""The limit that ended a program; `unknown`: its supervisor was killed and could not report."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one run."""

    exit_code: int | None
    """The program's own exit code; None if a signal ended it or its end was not seen."""
    stdout: str
    """What it printed, undecodable bytes replaced by U+FFFD."""
    stderr: str
    """The same for stderr, the traceback of an uncaught exception included."""
    stopped_by: StoppedBy | None
    """The limit that ended it; None if it ended for another reason."""
    signal: int | None
    """The signal that ended it; None if none did."""
    duration: float
    """Seconds on the clock from the program's first line to its end; from the interpreter's start if that was not seen."""
    cpu_seconds: float | None
    """Processor time of the program and of the children it waited for; None if its end was not seen."""
    output_truncated: bool
    """Whether stdout or stderr went past `Limits.output_bytes` and is cut there."""
    protection: Protection
    """What held the program."""
    protection_note: str
    """One sentence on what held the program, what did not, and why."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself, with exit code 0 and all its output kept."""
        return self.exit_code == 0 and self.stopped_by is None

    @property
    def summary(self) -> str:
        """How it ended, in a few words."""
        match self.stopped_by:
            case "time":
                return f"stopped after {self.duration:.3g} s: the time limit"
            case "cpu":
                return "stopped by the limit on processor time"
            case "memory":
                return "ran out of the memory it was allowed"
            case "output":
                return "stopped for printing more than the output limit"
            case "unknown":
                return "ended unseen: its supervisor was killed"
            case None:
                return (
                    f"exit code {self.exit_code}"
                    if self.signal is None
                    else f"killed by {_name(self.signal)}"
                )
            case never:
                assert_never(never)


def _name(number: int) -> str:
    try:
        return f"signal {number} ({signals.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
