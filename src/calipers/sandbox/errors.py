"""The error of a sandbox that cannot be built here."""

from __future__ import annotations

from calipers.errors import CalipersError

__all__ = ["SandboxError"]


class SandboxError(CalipersError, RuntimeError):
    """A program could not be run as asked: no isolation here, no interpreter to start, a system without fork.

    What the program itself does wrong is never raised: it is in the `Outcome`.
    """
