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
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from calipers.data.argument_checks import check_choice

from calipers.matching.counting import Counted
from calipers.matching.rules import ArgumentMode, CallRules, Names

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
