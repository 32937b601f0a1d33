# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Matching tool calls, as a type checker sees it."""

from typing import Any, assert_type

from calipers import ToolCall, Trace
from calipers.matching import (
    Approx,
    CallRules,
    CallsMatch,
    Edit,
    Matcher,
    MatchOptions,
    Pair,
    Text,
    compare_calls,
    match_calls,
    read_matcher,
)


class Even(Matcher):
    def similarity(self, actual: Any) -> float:
        return float(actual % 2 == 0)


expected = [ToolCall("roll", {"n": Even(), "by": lambda who: who == "Ada"})]
match = match_calls(expected, [ToolCall("roll", {"n": 4})], mode="in_order", arguments={"roll": "subset"})
assert_type(match, CallsMatch)
assert_type(match.passed, bool)
assert_type(match.score, float)
assert_type(match.precision, float | None)
assert_type(match.pairs, tuple[Pair, ...])
assert_type(match.edits, tuple[Edit, ...])
assert_type(match.reason, str)
assert_type(compare_calls(expected[0], expected[0]).matched, bool)

match_calls(["search", {"name": "book", "arguments": {"to": "LA"}}], Trace(tool_calls=[ToolCall("search")]))
match_calls(expected, expected, MatchOptions(mode="unordered"), ignore=["id"], names={"alias": "name"})
match_calls(
    expected, expected, compare={"pay": {"to": Text, "amount": lambda value: Approx(value, abs_tol=1)}}
)
rules: CallRules = MatchOptions(defaults={"weather": {"unit": "celsius"}})
read_matcher({"regex": "^a"})

match_calls(expected, expected, mode="strict")  # type: ignore[arg-type]
match_calls(expected, expected, ordered=True)  # type: ignore[call-arg]
match_calls(5, expected)  # type: ignore[arg-type]
CallRules(arguments="some")  # type: ignore[arg-type]
