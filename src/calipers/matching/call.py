"""One call against one call: whether they match, how similar they are, and where they differ.

Calls of different tools have nothing in common: similarity 0. The right tool earns one half, and its arguments the
other: their mean similarity, over the arguments that the mode asks about (`exact`: all of both calls; `subset`: the
expected; `superset`: the actual; `ignore`: none). The similarity is 1 exactly when the calls match.

`CallRules` say what makes one call equal to another; `MatchOptions` add what is asked of a list of calls. Rules that differ by
tool are mappings from the tool's name, where `"*"` stands for every tool that is not named. Names in the rules are compared like
the names of calls.

| arguments | an expected argument may be missing | other arguments may be given |
|---|---|---|
| `exact` | no | no |
| `subset` (the expected are among the actual) | no | yes |
| `superset` (the actual are among the expected) | yes | no |
| `ignore` | the arguments do not count | |

The modes speak of the arguments themselves; a mapping inside an argument is compared whole, unless it is given as
`Includes`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from calipers.data.argument_checks import check_choice
from calipers.data.trace import ToolCall
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, NotApplicableError

from .value_comparison import (
    JUST_BELOW_ONE,
    Difference,
    absence_accepted,
    as_matcher,
    child_path,
    differences,
    matches,
    mean_of,
    missing,
    similarity,
    unexpected,
)

ArgumentMode: TypeAlias = Literal["exact", "subset", "superset", "ignore"]
"""Which arguments may be missing, and which may be added."""
Names: TypeAlias = Literal["exact", "ignore_case"] | Mapping[str, str] | Callable[[str], str]
"""How names of tools are compared: as they are, without case, by aliases (`{"alias": "name"}`), or by a function of the
name whose results are compared."""

EVERY_TOOL = "*"

_T = TypeVar("_T")


class CallOf(ToolCall):
    """A call of a tool with whatever arguments: what the bare name of a tool means where a call is expected."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallOf) and self.name == other.name

    __hash__ = ToolCall.__hash__

    def __repr__(self) -> str:
        return f"CallOf({self.name!r})"

    def plain_data(self) -> str:
        """The bare name, which is read as the same again; without it, a record would expect a call without arguments."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class CallRules:
    """What makes one call equal to another. The default: the same name, and the same arguments."""

    arguments: ArgumentMode | Mapping[str, ArgumentMode] = "exact"
    """Which arguments may be missing or added: one mode, or a mode for each tool (`exact` for those not named)."""
    ignore: Collection[str] | Mapping[str, Collection[str]] = ()
    """Arguments that never count, of all tools or by tool."""
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By tool, what an argument is when it is left out."""
    compare: Mapping[str, Mapping[str, Callable[[Any], Any]]] = field(default_factory=dict)
    """By tool and argument, a function that turns an expected value into a matcher:
    `{"search": {"query": Text}}`, `{"pay": {"amount": lambda value: Approx(value, abs_tol=0.01)}}`."""
    names: Names = "exact"
    """How the names of tools are compared."""

    def __post_init__(self) -> None:
        modes = self.arguments.values() if isinstance(self.arguments, Mapping) else [self.arguments]
        for mode in modes:
            if mode not in get_args(ArgumentMode):
                raise InvalidOptionError(
                    f"arguments must be one of {', '.join(get_args(ArgumentMode))}, or one of these by tool, "
                    f"got {self.arguments!r}"
                )
        by_tool = self.ignore.values() if isinstance(self.ignore, Mapping) else [self.ignore]
        for keys in by_tool:
            if isinstance(keys, str) or not isinstance(keys, Collection):
                raise InvalidOptionError(
                    f"ignore lists the names of arguments, as in ['id'], got {self.ignore!r}"
                )
        for name in ("defaults", "compare"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) or not all(
                isinstance(each, Mapping) for each in given.values()
            ):
                raise InvalidOptionError(
                    f"{name} is a mapping from tools to mappings from arguments, got {given!r}"
                )
        for function in (how for by_argument in self.compare.values() for how in by_argument.values()):
            if not callable(function):
                raise InvalidOptionError(
                    f"compare holds functions that turn an expected value into a matcher, got {function!r}"
                )
        if not (
            self.names in {"exact", "ignore_case"} if isinstance(self.names, str) else _is_names(self.names)
        ):
            raise InvalidOptionError(
                f"names must be 'exact', 'ignore_case', a mapping of aliases or a function of the name, "
                f"got {self.names!r}"
            )

    @property
    def take_arguments_as_they_are(self) -> bool:
        """Whether no argument is left out, filled in or compared in a way of its own."""
        return not (self.ignore or self.defaults or self.compare)

    def name_of(self, tool: str) -> str:
        """The name by which a tool is compared."""
        if self.names == "exact":
            return tool
        if self.names == "ignore_case":
            return tool.casefold()
        if isinstance(self.names, Mapping):
            return self.names.get(tool, tool)
        return self.names(tool)

    def mode_for(self, tool: str) -> ArgumentMode:
        """The mode for a tool's arguments."""
        if isinstance(self.arguments, Mapping):
            return self._by_tool(self.arguments, tool) or "exact"
        return self.arguments

    def mode_of(self, expected: ToolCall) -> ArgumentMode:
        """The mode for the arguments of an expected call."""
        return "ignore" if isinstance(expected, CallOf) else self.mode_for(expected.name)

    def ignored_for(self, tool: str) -> frozenset[str]:
        """The arguments of a tool that do not count."""
        if isinstance(self.ignore, Mapping):
            return frozenset(self._by_tool(self.ignore, tool) or ())
        return frozenset(self.ignore)

    def defaults_for(self, tool: str) -> Mapping[str, Any]:
        """What a tool's arguments are when they are left out."""
        return self._by_tool(self.defaults, tool) or {}

    def expected_value(self, tool: str, argument: str, value: Any) -> Any:
        """An expected value, as the rules say it is to be compared. `None` and a matcher stay what they are."""
        how = (self._by_tool(self.compare, tool) or {}).get(argument)
        return value if how is None or value is None or as_matcher(value) else how(value)

    def _by_tool(self, rules: Mapping[str, _T], tool: str) -> _T | None:
        if not rules:
            return None
        if tool in rules:
            return rules[tool]
        name = self.name_of(tool)
        for key, rule in rules.items():
            if key != EVERY_TOOL and self.name_of(key) == name:
                return rule
        return rules.get(EVERY_TOOL)


def _is_names(names: Any) -> bool:
    if isinstance(names, Mapping):
        return all(isinstance(part, str) for pair in names.items() for part in pair)
    return callable(names)


_PLAIN_NAME = re.compile(r"[\w.:/-]+", re.ASCII)

SAME_TOOL = 0.5
"""What the right tool alone is worth."""


@dataclass(frozen=True, slots=True)
class CallComparison:
    """An actual call held against an expected one."""

    expected: ToolCall
    actual: ToolCall
    similarity: float
    """From 0 to 1, and 1 exactly when the calls match."""
    differences: tuple[Difference, ...]
    """Every difference; empty when the calls match."""

    @property
    def matched(self) -> bool:
        """Whether the calls match."""
        return self.similarity == 1.0

    def __str__(self) -> str:
        call = show_call(self.actual)
        return f"{call} matches" if self.matched else f"{call}: {'; '.join(map(str, self.differences))}"


def compare_calls(expected: ToolCall, actual: ToolCall, rules: CallRules | None = None) -> CallComparison:
    """An actual call held against an expected one.

    Raises:
        NotApplicableError: the arguments of the actual call count, and are unknown.
    """
    rules = CallRules() if rules is None else rules
    if rules.name_of(expected.name) != rules.name_of(actual.name):
        reason = f"expected a call of {show(expected.name)}, got one of {show(actual.name)}"
        wrong = Difference("", "different", expected.name, actual.name, reason)
        return CallComparison(expected, actual, 0.0, (wrong,))
    mode = rules.mode_of(expected)
    wanted, given = expected_arguments(expected, rules), actual_arguments(actual, rules)
    require_arguments(actual, wanted, mode)
    score = arguments_similarity(wanted, given, mode)
    found = () if score == 1.0 else tuple(_argument_differences(wanted, given, mode))
    return CallComparison(expected, actual, score, found)


def expected_arguments(call: ToolCall, rules: CallRules) -> Mapping[str, Any]:
    """The arguments of an expected call that count, as they are to be compared."""
    if rules.take_arguments_as_they_are:
        return call.arguments
    tool, ignored = call.name, rules.ignored_for(call.name)
    found = {
        name: rules.expected_value(tool, name, value)
        for name, value in call.arguments.items()
        if name not in ignored
    }
    # What a subset leaves out does not count, whatever its default.
    if rules.mode_for(tool) != "subset":
        _fill(
            found, {k: rules.expected_value(tool, k, v) for k, v in rules.defaults_for(tool).items()}, ignored
        )
    return found


def actual_arguments(call: ToolCall, rules: CallRules) -> Mapping[str, Any]:
    """The arguments of an actual call that count."""
    if rules.take_arguments_as_they_are:
        return call.arguments
    ignored = rules.ignored_for(call.name)
    found = {name: value for name, value in call.arguments.items() if name not in ignored}
    if rules.mode_for(call.name) != "superset":
        _fill(found, rules.defaults_for(call.name), ignored)
    return found


def require_arguments(actual: ToolCall, wanted: Mapping[str, Any], mode: ArgumentMode) -> None:
    """Refuse to compare arguments that a recording does not show.

    Raises:
        NotApplicableError: they count, and are unknown.
    """
    if "arguments" in actual.unknown and mode != "ignore" and (wanted or mode != "subset"):
        raise NotApplicableError(not_shown(actual, "arguments"))


def not_shown(call: ToolCall, what: str) -> str:
    """Why nothing can be claimed about a part of a call."""
    return f"the recording does not show the {what} of the call of {call.name!r}"


def arguments_similarity(expected: Mapping[str, Any], actual: Mapping[str, Any], mode: ArgumentMode) -> float:
    """The similarity of two calls of one tool, by their arguments."""
    names = _names_that_count(expected, actual, mode)
    if not names:
        return 1.0
    share = mean_of((_argument_similarity(name, expected, actual) for name in names), len(names))
    return 1.0 if share == 1.0 else min(SAME_TOOL + (1 - SAME_TOOL) * share, JUST_BELOW_ONE)


def show_call(call: ToolCall, longest: int = 200) -> str:
    """The call as one would write it, shortened."""
    name = call.name if _PLAIN_NAME.fullmatch(call.name) else show(call.name)
    if isinstance(call, CallOf):
        return f"{name}(…)"
    text = (
        f"{name}({', '.join(f'{_plain_name(key)}={show(value)}' for key, value in call.arguments.items())})"
    )
    return text if len(text) <= longest else f"{text[: longest - 2]}…)"


def _plain_name(key: Any) -> str:
    return key if isinstance(key, str) and key.isidentifier() else show(key)


def _fill(arguments: dict[str, Any], defaults: Mapping[str, Any], ignored: frozenset[str]) -> None:
    for name, value in defaults.items():
        if name not in arguments and name not in ignored:
            arguments[name] = value


def _names_that_count(
    expected: Mapping[str, Any], actual: Mapping[str, Any], mode: ArgumentMode
) -> list[str]:
    if mode == "ignore":
        return []
    if mode == "subset":
        return list(expected)
    if mode == "superset":
        return list(actual)
    return [*expected, *(name for name in actual if name not in expected)]


def _argument_similarity(name: str, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    if name not in expected:
        return 0.0
    if name not in actual:
        return 1.0 if absence_accepted(expected[name]) else 0.0
    return similarity(expected[name], actual[name])


def _argument_differences(
    expected: Mapping[str, Any], actual: Mapping[str, Any], mode: ArgumentMode
) -> Iterator[Difference]:
    for name in _names_that_count(expected, actual, mode):
        place = child_path("", name)
        if name not in expected:
            yield unexpected(place, actual[name])
        elif name in actual:
            yield from differences(expected[name], actual[name], place)
        elif not absence_accepted(expected[name]):
            yield missing(place, expected[name])


# ---------------------------------------------------------------------- lists of calls

Counted: TypeAlias = Literal["count", "skip"]
"""Whether such calls count, or are left out."""
Mode: TypeAlias = Literal["exact", "contiguous", "in_order", "subsequence", "unordered", "superset", "subset"]
"""Whether the order counts, and what may be missing or added."""


@dataclass(frozen=True, kw_only=True)
class MatchOptions(CallRules):
    """How lists of calls are matched: the rules for one call, and what is asked of all of them.

    | mode | order counts | expected calls may be missing | other calls may be made |
    |---|---|---|---|
    | `exact` | yes | no | no |
    | `contiguous` | yes | no | before the first and after the last of them |
    | `in_order`, also `subsequence` | yes | no | anywhere |
    | `unordered` | no | no | no |
    | `superset` (the actual calls are one) | no | no | yes |
    | `subset` (the actual calls are one) | no | yes, but not all of them | no |

    `subset` and `superset` speak of the actual calls. For arguments it is the other way round, as everywhere in the field:
    `arguments="subset"` says that the expected arguments are among those given. What passes in one mode passes in the weaker
    ones: `exact` ⇒ `contiguous` ⇒ `in_order` ⇒ `superset`, and `exact` ⇒ `unordered` ⇒ `subset` and `superset`.
    """

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
    """The positions of the calls that do not count.

    Raises:
        NotApplicableError: calls that failed do not count, and of one it is unknown whether it did.
    """
    if "skip" in {failed, retried}:
        for call in calls:
            if "success" in call.unknown:
                raise NotApplicableError(not_shown(call, "success"))
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
            again = "arguments" not in {*call.unknown, *later.unknown} and matches(
                actual_arguments(call, rules), actual_arguments(later, rules)
            )
            found |= {index} if again else set()
        following[rules.name_of(call.name)] = call
    return found
