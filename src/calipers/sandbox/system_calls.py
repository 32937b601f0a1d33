"""The system calls that a program in the sandbox may not make, as a filter that the kernel runs on each call.

Refused are calls that hand out memory which no limit on a process counts: shared memory, files in memory, message queues,
pages given to a pipe, rings of io_uring, larger buffers of a pipe or a socket. Refused, too, are calls that make a new
namespace or mount a file system, such as a tmpfs of any size. The program gets the error EPERM, and may handle it. The
ordinary buffers of pipes and sockets remain; the limit on open files bounds their number.

`clone3` keeps its flags where a filter cannot read them, so it "does not exist": every C library then takes `clone`. Calls
of another architecture have other numbers, and are refused altogether.

The filter is a few dozen instructions of the classic Berkeley packet filter, written out here: a binding of libseccomp
would be a compiled dependency for a table of numbers that never change.
"""

from __future__ import annotations

import platform
import struct
import sys

_Line = tuple[int, int, int, int]
"""What to do, how many lines to skip if so and if not, and a number."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in what the kernel shows to the filter
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 16, 24, 32
_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_NOT_PERMITTED, _NO_SUCH_CALL = 1, 38  # errno
_NEW_NAMESPACES = 0x7E02_0000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
_OTHER_WIDTH = 0x4000_0000  # from here on, x86-64 has the numbers of its 32-bit variant

_EVERYWHERE = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "mount_setattr": 442,
    "io_uring_setup": 425,
    "memfd_secret": 447,
}
_REFUSED = {
    "x86_64": {
        "shmget": 29,
        "semget": 64,
        "msgget": 68,
        "pivot_root": 155,
        "mount": 165,
        "unshare": 272,
        "setns": 308,
        "mq_open": 240,
        "vmsplice": 278,
        "memfd_create": 319,
        **_EVERYWHERE,
    },
    "aarch64": {
        "shmget": 194,
        "semget": 190,
        "msgget": 186,
        "pivot_root": 41,
        "mount": 40,
        "unshare": 97,
        "setns": 268,
        "mq_open": 180,
        "vmsplice": 75,
        "memfd_create": 279,
        **_EVERYWHERE,
    },
}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_FCNTL = {"x86_64": 72, "aarch64": 25}
_PIPE_SIZE = 1031  # F_SETPIPE_SZ
_SETSOCKOPT = {"x86_64": 54, "aarch64": 208}
_OF_SOCKET = 1  # SOL_SOCKET
_BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE and SO_RCVBUFFORCE
_AUDIT_NUMBER = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}


def system_call_filter() -> bytes | None:
    """The filter for this machine, as the kernel and bubblewrap take it; None where we know no numbers."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _REFUSED or sys.maxsize < 1 << 32:
        return None
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_NUMBER[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _OTHER_WIDTH),
        (_RETURN, 0, 0, _FAIL | _NOT_PERMITTED),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _FAIL | _NO_SUCH_CALL),
    ]
    for number in _REFUSED[machine].values():
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL | _NOT_PERMITTED)]
    refused = (_RETURN, 0, 0, _FAIL | _NOT_PERMITTED)
    lines += _only(
        _CLONE[machine], [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), refused]
    )
    lines += _only(_FCNTL[machine], [(_LOAD, 0, 0, _SECOND_ARGUMENT), (_EQUAL, 0, 1, _PIPE_SIZE), refused])
    sizes = [line for size in _BUFFER_SIZES for line in ((_EQUAL, 0, 1, size), refused)]
    of_socket = [(_LOAD, 0, 0, _SECOND_ARGUMENT), (_EQUAL, 0, 1 + len(sizes), _OF_SOCKET)]
    lines += _only(_SETSOCKOPT[machine], [*of_socket, (_LOAD, 0, 0, _THIRD_ARGUMENT), *sizes])
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _only(number: int, lines: list[_Line]) -> list[_Line]:
    """Lines for one call, which look at its arguments; it is allowed after them."""
    return [(_EQUAL, 0, len(lines) + 1, number), *lines, (_RETURN, 0, 0, _ALLOW)]
