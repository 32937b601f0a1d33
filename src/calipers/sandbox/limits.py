"""What a program in the sandbox may use.

Every limit except `seconds` and `output_bytes` holds for each process alone: a program with four processes may use four
times the memory. Where the program can live on after meeting a limit (a file too large, a process too many) it gets the
error that the system gives, and may handle it.
"""

from __future__ import annotations

import math

import msgspec

from calipers.data.argument_checks import check_number, check_whole_number

__all__ = ["DEFAULT_LIMITS", "Limits"]

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
