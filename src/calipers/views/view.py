"""A view of your own: it makes something of a report that Calipers has no format for.

It is one of two things:

- a function of a report that returns the content of a file, as text or as bytes. Calipers writes it, whole or not at
  all, also to standard output;
- an object with `write(report, path)` that does all of it: it may make a folder of files, or send the report somewhere.
  The path is text, and never standard output.

Neither is async. Whatever a view raises is a `ViewError`, which names the view; only Ctrl-C goes through.
"""

import inspect
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, Protocol, TypeAlias, TypeGuard

from calipers.data.jsonable import safe_repr
from calipers.data.result import describe_error
from calipers.errors import ViewError
from calipers.process.interrupt import is_interrupt
from calipers.report.report import Report


class ReportWriter(Protocol):
    """A view that does all of the writing."""

    def write(self, report: Report, path: str, /) -> Any:
        """Write the report; the return value is ignored."""
        ...


View: TypeAlias = Callable[[Report], str | bytes] | ReportWriter
"""A view of your own."""


def is_view(value: Any) -> TypeGuard[View]:
    """Whether it has one of the two shapes. A class with `write` is not a view; an object of it is."""
    return writes_itself(value) or (callable(value) and not hasattr(value, "write"))


def writes_itself(view: Any) -> TypeGuard[ReportWriter]:
    """Whether it is an object with `write`."""
    return callable(getattr(view, "write", None)) and not inspect.isclass(view)


def use_view(name: str, view: View, report: Report, path: str) -> bytes | None:
    """The content that a view makes of a report; `None` if the view has written it to the path.

    What a view prints goes to standard error, since the report may be written to standard output.
    """
    if writes_itself(view):
        _call(name, lambda: view.write(report, path))
        return None
    assert callable(view)
    content = _call(name, lambda: view(report))
    if isinstance(content, str):
        # What no encoding can hold is shown as an escape, as in the formats of Calipers.
        return content.encode("utf-8", "backslashreplace")
    if isinstance(content, bytes):
        return content
    raise ViewError(f"the view {name!r} must return text or bytes, got {safe_repr(content):.200}")


def _call(name: str, use: Callable[[], Any]) -> Any:
    try:
        with redirect_stdout(sys.stderr):
            returned = use()
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise ViewError(f"the view {name!r} failed: {describe_error(error)[1]}") from error
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ViewError(f"the view {name!r} is async: make it an ordinary function")
    return returned
