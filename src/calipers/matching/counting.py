"""Which of the calls that an agent made count: those whose tool failed, and those that it then made again, may not."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from calipers.data.trace import ToolCall

from .call import actual_arguments
from .rules import CallRules
from calipers.matching.value_comparison import matches

Counted: TypeAlias = Literal["count", "skip"]
"""Whether such calls count, or are left out."""


def left_out(calls: Sequence[ToolCall], rules: CallRules, *, failed: Counted, retried: Counted) -> set[int]:
    """The positions of the calls that do not count."""
    failures = {index for index, call in enumerate(calls) if not call.success}
    if failed == "skip" or not failures or retried == "count":
        return failures if failed == "skip" else set()
    found: set[int] = set()
    following: dict[str, ToolCall] = {}
    for index in range(len(calls) - 1, -1, -1):
        call = calls[index]
        later = following.get(rules.name_of(call.name))
        if index in failures and later is not None:
            # As the rules see them: a retry may well carry another request id.
            again = matches(actual_arguments(call, rules), actual_arguments(later, rules))
            found |= {index} if again else set()
        following[rules.name_of(call.name)] = call
    return found
