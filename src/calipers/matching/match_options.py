"""What is asked of a whole list of calls.

| mode | order counts | expected calls may be missing | other calls may be made |
|---|---|---|---|
| `exact` | yes | no | no |
| `contiguous` | yes | no | before the first and after the last of them |
| `in_order`, also `subsequence` | yes | no | anywhere |
| `unordered` | no | no | no |
| `superset` (the actual calls are one) | no | no | yes |
| `subset` (the actual calls are one) | no | yes, but not all of them | no |

`subset` and `superset` speak of the actual calls. For arguments it is the other way round, as everywhere in the field:
`arguments="subset"` says that the expected arguments are one of those given.

Whatever passes in one mode passes in the weaker ones: `exact` ⇒ `contiguous` ⇒ `in_order` ⇒ `superset`, and `exact` ⇒
`unordered` ⇒ `subset` and `superset`.

Calls whose tool failed, and those that the agent then made again, may be left out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from calipers.data.argument_checks import check_choice
from calipers.data.trace import ToolCall

from .call import ArgumentMode, CallRules, Names, actual_arguments
from .value_comparison import matches

Counted: TypeAlias = Literal["count", "skip"]
"""Whether such calls count, or are left out."""
Mode: TypeAlias = Literal["exact", "contiguous", "in_order", "subsequence", "unordered", "superset", "subset"]
"""Whether the order counts, and what may be missing or added."""


@dataclass(frozen=True, kw_only=True)
class MatchOptions(CallRules):
    """How lists of calls are matched: the rules for one call, and what is asked of all of them."""

    mode: Mode = "exact"
    """Whether the order counts, and what may be missing or added."""
    failed: Counted = "count"
    """Whether actual calls that failed count, or are left out."""
    retried: Counted = "count"
    """Whether a failed call counts when the next call of its tool repeats it, or is left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("mode", Mode), ("failed", Counted), ("retried", Counted)):
            check_choice(name, getattr(self, name), get_args(kind))

    @property
    def order_counts(self) -> bool:
        """Whether the calls must come in the expected order."""
        return self.mode in {"exact", "contiguous", "in_order", "subsequence"}

    @property
    def missing_allowed(self) -> bool:
        """Whether some of the expected calls may be missing."""
        return self.mode == "subset"

    @property
    def extra_allowed(self) -> bool:
        """Whether other calls may be made, somewhere at least."""
        return self.mode in {"contiguous", "in_order", "subsequence", "superset"}


class MatchKeywords(TypedDict, total=False):
    """The fields of `MatchOptions`, as keywords."""

    mode: Mode
    arguments: ArgumentMode | Mapping[str, ArgumentMode]
    ignore: Collection[str] | Mapping[str, Collection[str]]
    defaults: Mapping[str, Mapping[str, Any]]
    compare: Mapping[str, Mapping[str, Callable[[Any], Any]]]
    names: Names
    failed: Counted
    retried: Counted


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
