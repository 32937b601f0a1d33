"""How long the work on one request may take, and whether it is still wanted.

The application gives every call a `Deadline`. Whatever the call reads from the store ends when it is over, or when the client has gone.
Work that takes long without the store asks `check_deadline()` now and then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from .refusal import Refusal


class OverdueError(Refusal):
    """The work on a request took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too_slow", f"this took longer than {seconds:g} s: ask for less, or try again")


class Deadline:
    """The end of the work on one request."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_cancelled = False
        """Whether the client has gone, or the server ends."""
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; 0 when it is over."""
        return 0.0 if self.is_cancelled else max(0.0, self._end - monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the work should end."""
        return self.is_cancelled or monotonic() >= self._end

    def cancel(self) -> None:
        """End the work as soon as it looks."""
        self.is_cancelled = True

    def check(self) -> None:
        """See that there is time left.

        Raises:
            OverdueError: there is none.
        """
        if self.is_over:
            raise OverdueError(self.seconds)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current_deadline() -> Deadline | None:
    """That of the request which is worked on; `None` outside of one."""
    return _current.get()


def check_deadline() -> None:
    """See that the request which is worked on has time left.

    Raises:
        OverdueError: it has none.
    """
    deadline = _current.get()
    if deadline is not None:
        deadline.check()


@contextmanager
def working_until(deadline: Deadline) -> Iterator[Deadline]:
    """A block whose work ends with the deadline."""
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)
