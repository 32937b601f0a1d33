"""The memory of a process that serves a viewer: free blocks go back to the system.

Columns of a long run take megabytes each, and live as long as a request. glibc would keep blocks of that size for later in the heap of each
thread: on a run of a million results, a hundred megabytes were measured.
"""

import sys
from contextlib import suppress
from typing import Final

_MMAP_THRESHOLD: Final = -3
"""`M_MMAP_THRESHOLD` of mallopt(3)."""
_LARGE: Final = 1 << 17
"""Bytes of a block from which on it is given back at once."""


def give_back_large_blocks() -> None:
    """Have large blocks given back as soon as they are free. Only where glibc manages the memory; for the whole process."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # another library than glibc
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)
