"""Why the viewer's server does not do what a request asks: a code for programs, a message for people, and the status of the answer.

A call raises a `Refusal`, or any error of Calipers. `refusal_of` gives every error its place among the codes.
"""

from typing import Final, Literal, TypeAlias

from calipers.errors import (
    CalipersError,
    FilterError,
    InvalidOptionError,
    NotKnownError,
    RunMissingError,
    StoreError,
    StoreMissingError,
    StoreTimeoutError,
    StoreUnavailableError,
)

from .wire import Problem, ProblemAnswer

Code: TypeAlias = Literal[
    "not_found",
    "bad_request",
    "bad_filter",
    "forbidden",
    "signed_out",
    "wrong_host",
    "too_many",
    "not_allowed",
    "gone",
    "conflict",
    "read_only",
    "too_large",
    "too_slow",
    "busy",
    "store",
    "failed",
]

STATUS: Final[dict[Code, int]] = {
    "not_found": 404,
    "bad_request": 400,
    "bad_filter": 400,
    "forbidden": 403,
    "signed_out": 401,
    "wrong_host": 400,
    "too_many": 429,
    "not_allowed": 405,
    "gone": 410,
    "conflict": 409,
    "read_only": 403,
    "too_large": 413,
    "too_slow": 503,
    "busy": 503,
    "store": 500,
    "failed": 500,
}
"""The status of an answer, by what the problem is."""


class Refusal(CalipersError):  # noqa: N818 - it is a normal answer, too
    """A request that is not answered as it was meant."""

    def __init__(self, code: Code, message: str, at: int | None = None, *, etag: str | None = None) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        """What happened, and what to do."""
        self.at = at
        """Where in a filter, in characters from 0."""
        self.etag = etag
        """Of a conflict: what is there now."""

    @property
    def status(self) -> int:
        """The status of the answer."""
        return STATUS[self.code]

    @property
    def answer(self) -> ProblemAnswer:
        """The body of the answer."""
        return ProblemAnswer(error=Problem(code=self.code, message=self.message, at=self.at, etag=self.etag))


_CODES: Final[tuple[tuple[type[CalipersError], Code], ...]] = (
    (FilterError, "bad_filter"),
    (InvalidOptionError, "bad_request"),
    (NotKnownError, "not_found"),
    (RunMissingError, "not_found"),
    (StoreMissingError, "gone"),
    (StoreTimeoutError, "too_slow"),
    (StoreUnavailableError, "busy"),
    (StoreError, "store"),
)
"""Errors with their codes; the first that fits counts."""


def refusal_of(error: BaseException) -> Refusal:
    """An error as a refusal."""
    if isinstance(error, Refusal):
        return error
    for kind, code in _CODES:
        if isinstance(error, kind):
            return Refusal(code, str(error), error.at if isinstance(error, FilterError) else None)
    if isinstance(error, CalipersError):
        return Refusal("failed", str(error))
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return Refusal(
        "failed", f"the server failed ({said:.300}): the terminal of `calipers view` has the traceback"
    )
