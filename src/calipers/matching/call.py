"""One call against one call: whether they match, how similar they are, and where they differ.

Calls of different tools have nothing in common: similarity 0. The right tool earns one half, and its arguments the
other: their mean similarity, over the arguments that the mode asks about (`exact`: all of both calls; `subset`: the
expected; `superset`: the actual; `ignore`: none). The similarity is 1 exactly when the calls match.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calipers.data.trace import ToolCall

from .rules import ArgumentMode, CallOf, CallRules
from .showing import show
from calipers.matching.value_comparison import (
    JUST_BELOW_ONE,
    Difference,
    absence_accepted,
    child_path,
    differences,
    mean_of,
    missing,
    similarity,
    unexpected,
)

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
    """An actual call held against an expected one."""
    rules = CallRules() if rules is None else rules
    if rules.name_of(expected.name) != rules.name_of(actual.name):
        reason = f"expected a call of {show(expected.name)}, got one of {show(actual.name)}"
        wrong = Difference("", "different", expected.name, actual.name, reason)
        return CallComparison(expected, actual, 0.0, (wrong,))
    mode = rules.mode_of(expected)
    wanted, given = expected_arguments(expected, rules), actual_arguments(actual, rules)
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
