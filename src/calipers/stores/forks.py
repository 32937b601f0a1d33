"""What becomes of open stores when their process forks.

Two processes that talk over one connection garble what both say, and a lock that a thread held at that moment is held for ever in
the child, which has no such thread. So every open store is told before the fork and after it, on both sides.

SQLite goes further: no connection may be carried over a fork, not even to be closed. A store in a file is closed before, and
opened again by the next who uses it.
"""

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What is told of forks."""

    def before_fork(self) -> None:
        """The process is about to fork: end what may not be in the middle of something."""

    def after_fork(self, *, is_child: bool) -> None:
        """The process has forked, and this is the parent or the child."""


_open: WeakSet[Forkable] = WeakSet()
_told: list[Forkable] = []
_forking = threading.RLock()
"""One fork at a time, and no store comes or goes meanwhile."""


def tell_of_forks(one: Forkable) -> None:
    """Tell it of every fork as long as it lives, or until `no_more_forks`."""
    with _forking:
        _open.add(one)


def no_more_forks(one: Forkable) -> None:
    """Tell it no more."""
    with _forking:
        _open.discard(one)


def _before() -> None:
    _forking.acquire()
    for one in list(_open):
        one.before_fork()
        _told.append(one)


def _after(*, is_child: bool) -> None:
    try:
        while _told:
            _told.pop().after_fork(is_child=is_child)
    finally:
        _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(is_child=False),
        after_in_child=lambda: _after(is_child=True),
    )
