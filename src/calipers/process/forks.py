"""What becomes of open stores and event loops when their process forks.

Two processes that talk over one connection garble what both say, and a lock that a thread held at that moment is held forever in
the child, which has no such thread. So what is open is told before the fork and after it, on both sides.

A child must not even close what it inherited: closing tells the server, the file or the system, and so the parent. `keep_for_ever`
is for that.
"""

import os
import threading
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakValueDictionary


class Forkable(Protocol):
    """What is told of forks."""

    def before_fork(self) -> None:
        """The process is about to fork: end what may not be in the middle of something."""

    def after_fork(self, *, is_child: bool) -> None:
        """The process has forked, and this is the parent or the child."""


_open: WeakValueDictionary[int, Forkable] = WeakValueDictionary()
"""In the order in which they came, by their identity."""
_told: list[Forkable] = []
_inherited: list[Any] = []
_forking = threading.RLock()
"""One fork at a time, and nothing comes or goes meanwhile."""


def tell_of_forks(one: Forkable) -> None:
    """Tell it of every fork as long as it lives, or until `no_more_forks`."""
    with _forking:
        _open[id(one)] = one


def no_more_forks(one: Forkable) -> None:
    """Tell it no more."""
    with _forking:
        _open.pop(id(one), None)


def keep_for_ever(inherited: Any) -> None:
    """Never free an object, nor what it refers to, not even when this process ends: for what belongs to the parent."""
    _inherited.append(inherited)
    with suppress(ImportError):  # a Python without ctypes frees it at the very end
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


def _before() -> None:
    _forking.acquire()
    _told.extend(_open.values())
    with suppress(ImportError):
        import ctypes  # noqa: F401 - for the child: another thread may hold the lock of an import there forever
    _tell_all(lambda one: one.before_fork())


def _after(*, is_child: bool) -> None:
    _told.reverse()  # the last that was told before is the first that is told after
    try:
        _tell_all(lambda one: one.after_fork(is_child=is_child))
    finally:
        _told.clear()
        _forking.release()


def _tell_all(tell: Any) -> None:
    """Tell each of them, even if one fails; Python reports what is raised, and forks all the same."""
    errors: list[Exception] = []
    for one in _told:
        try:
            tell(one)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(is_child=False),
        after_in_child=lambda: _after(is_child=True),
    )
