"""What a conformance check found: each way in which an object breaks its contract, and what to do about it."""

from collections.abc import Sequence

import msgspec

from calipers.data.result import describe_error
from calipers.errors import CalipersError

_PLACES = 5
"""Contexts that a message names."""


class Finding(msgspec.Struct, frozen=True):
    """One way in which an evaluator, a plugin, an adapter, a store or a player breaks the contract."""

    rule: str
    """The rule that is broken, in a word."""
    problem: str
    """What happened."""
    where: tuple[str, ...] = ()
    """The contexts it happened on."""
    advice: str = ""
    """What to do about it."""

    def __str__(self) -> str:
        more = f" and {len(self.where) - _PLACES} more" if len(self.where) > _PLACES else ""
        on = f" (on {', '.join(self.where[:_PLACES])}{more})" if self.where else ""
        return f"{self.rule}: {self.problem}{on}\n    {self.advice}"


class ConformanceError(CalipersError, AssertionError):
    """An evaluator, a plugin, an adapter, a store or a player breaks the contract; `findings` lists every way it does."""

    def __init__(self, name: str, findings: Sequence[Finding], what: str = "an evaluator") -> None:
        self.findings = tuple(findings)
        lines = "\n".join(f"- {finding}" for finding in findings)
        super().__init__(f"{name} breaks the contract of {what}:\n{lines}")


def error_text(error: BaseException) -> str:
    """`Type: text` of an error."""
    return describe_error(error)[1]
