"""How a program in the sandbox ended, and what held it.

`stopped_by` names a limit only where that limit is known to be the cause. Too much memory is known in one way: the
program's last words are an uncaught MemoryError. A program that dies of a signal nobody here sent (a crash, the
system's own out-of-memory killer) has `signal` set and `stopped_by` None.
"""

from __future__ import annotations

import signal as signals
from typing import Literal, TypeAlias, assert_never

import msgspec

__all__ = ["Outcome", "Protection", "StoppedBy"]

Protection: TypeAlias = Literal["bubblewrap", "limits"]
"""`bubblewrap`: isolated from network, files and processes. `limits`: resource limits and a clean folder, no isolation."""

StoppedBy: TypeAlias = Literal["time", "cpu", "memory", "output", "unknown"]
"""The limit that ended a program; `unknown`: its supervisor was killed, so nobody saw how it ended."""


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
    """The signal that ended it, whoever sent it; None if none did."""
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
