"""Evaluators of spoken requests: were the calls that the agent made those that were expected?

All of them give calls to expectations in the best way there is (`calipers.matching`), and differ in what counts as the
same call:

| evaluator | tool names | arguments |
|---|---|---|
| `ExactEvaluator` | the same | the same; more of them with `ignore_extra_args` |
| `FuzzyEvaluator` | upper and lower case are the same | those expected must be there; case and spacing of texts do not count |
| `SubsetEvaluator` | the same | as `ExactEvaluator`, but only some of the expected calls must be made |
| `SemanticEvaluator` | the same | texts are compared by meaning; those that say opposite things, or other numbers, differ |

Calls that were not expected are ignored unless you ask for them. Where no call is expected at all, every call is one too many.

What is expected may be written in any way that `run` takes: as calls, as plain data, or as the bare name of a tool, for any
arguments. In a `Dataset`, the `expected_tool_calls` of a case win over its expected output, and the calls that the attempt
recorded (`tool_calls`) count where the output holds none. A case that expects something other than calls, and an attempt whose
calls are unknown, are skipped; called by hand, an evaluator raises `NotApplicableError`. An argument that is missing is not
`None`. The score is the mean similarity of the expected calls to those that were made, 1 where they match; an extra call that is
not ignored counts as one more, with 0.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, Literal

from calipers.data.argument_checks import check_function, check_share, check_whole_number
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError, NotApplicableError
from calipers.matching import (
    CallComparison,
    CallOf,
    CallRules,
    Check,
    Matcher,
    Similar,
    Text,
    Trajectory,
    compare_calls,
)
from calipers.matching.assignment import best_pairs
from calipers.models import embeddings

from .contrast import contrast
from .expectation import expected_calls, made_calls
from .result import EvalResult, ToolCallMatch


@dataclass(frozen=True)
class ExactEvaluator:
    """The expected calls were made, with exactly these names and arguments."""

    _: KW_ONLY
    match_order: bool = False
    """Whether the calls must come in the expected order; others may come between, if those are ignored."""
    ignore_extra_args: bool = False
    """Whether a call may have more arguments than expected."""
    ignore_extra_calls: bool | None = None
    """Whether there may be more calls than expected; default: yes, unless none are expected."""

    def evaluate(
        self,
        expected: Any,
        actual: Any,
        tool_calls: Sequence[ToolCall] | None = None,
        expected_tool_calls: Sequence[ToolCall] | None = None,
    ) -> EvalResult:
        """Compare the calls."""
        expected, actual = _both(expected, actual, tool_calls, expected_tool_calls)
        rules = _rules(self.ignore_extra_args)
        return _compared(expected, expected, actual, rules, self.match_order, self.ignore_extra_calls)


@dataclass(frozen=True)
class FuzzyEvaluator:
    """The expected calls were made, give or take case, spacing, extra arguments and, where allowed, misspelling."""

    _: KW_ONLY
    minimum: float = 1.0
    """How similar texts must be, above 0 and up to 1; below 1, misspelt words pass (`calipers[text]`)."""
    match_order: bool = False
    """Whether the calls must come in the expected order."""
    ignore_extra_args: bool = True
    """Whether a call may have more arguments than expected."""
    ignore_extra_calls: bool | None = None
    """Whether there may be more calls than expected; default: yes, unless none are expected."""

    def __post_init__(self) -> None:
        check_share("minimum", self.minimum, or_zero=False)

    def evaluate(
        self,
        expected: Any,
        actual: Any,
        tool_calls: Sequence[ToolCall] | None = None,
        expected_tool_calls: Sequence[ToolCall] | None = None,
    ) -> EvalResult:
        """Compare the calls."""
        expected, actual = _both(expected, actual, tool_calls, expected_tool_calls)
        rules = _rules(self.ignore_extra_args, names="ignore_case")
        wanted = [_with_texts(call, self._matcher) for call in expected]
        return _compared(expected, wanted, actual, rules, self.match_order, self.ignore_extra_calls)

    def _matcher(self, value: str) -> Any:
        return Text(value) if self.minimum == 1.0 else Similar(value, minimum=self.minimum, ignore_case=True)


@dataclass(frozen=True)
class SubsetEvaluator:
    """At least some of the expected calls were made."""

    at_least: int = 1
    """How many."""
    _: KW_ONLY
    match_order: bool = False
    """Whether those must come in the expected order."""
    ignore_extra_args: bool = True
    """Whether a call may have more arguments than expected."""

    def __post_init__(self) -> None:
        check_whole_number("at_least", self.at_least, at_least=1)

    def evaluate(
        self,
        expected: Any,
        actual: Any,
        tool_calls: Sequence[ToolCall] | None = None,
        expected_tool_calls: Sequence[ToolCall] | None = None,
    ) -> EvalResult:
        """Compare the calls.

        Raises:
            NotApplicableError: fewer calls are expected than should be made.
        """
        expected, actual = _both(expected, actual, tool_calls, expected_tool_calls)
        if len(expected) < self.at_least:
            raise NotApplicableError(
                f"{len(expected)} calls are expected, of which {self.at_least} can never be made"
            )
        rules = _rules(self.ignore_extra_args)
        result = _compared(expected, expected, actual, rules, self.match_order, ignore_extra_calls=True)
        result.passed = sum(match.matched for match in result.matches) >= self.at_least
        return result


Judge = Callable[[str, str], bool | float | Awaitable[bool | float]]
"""Whether two texts mean the same, the expected one first: a bool, or a number from 0 to 1."""


@dataclass(frozen=True)
class SemanticEvaluator:
    """The expected calls were made, with arguments that mean the same.

    Without a judge, texts mean the same if their embeddings are similar and they do not differ in numbers, days, negations or
    opposites (`contrast`). That is quick and needs no key, but an embedding knows what a text is about, not what it says: "cheap"
    and "expensive", or "Anna calls Bob" and "Bob calls Anna", may pass. Where that matters, give a judge that asks a model.
    """

    judge: Judge | None = None
    """Says whether two texts mean the same, and alone decides; default: embeddings (`calipers[embeddings]`), with a guard."""
    _: KW_ONLY
    threshold: float = 0.7
    """The similarity from which on texts mean the same."""
    match_order: bool = False
    """Whether the calls must come in the expected order."""
    ignore_extra_args: bool = False
    """Whether a call may have more arguments than expected."""
    ignore_extra_calls: bool | None = None
    """Whether there may be more calls than expected; default: yes, unless none are expected."""

    def __post_init__(self) -> None:
        check_share("threshold", self.threshold, or_zero=False)
        check_function("judge", self.judge, or_none=True)

    async def evaluate(
        self,
        expected: Any,
        actual: Any,
        tool_calls: Sequence[ToolCall] | None = None,
        expected_tool_calls: Sequence[ToolCall] | None = None,
    ) -> EvalResult:
        """Compare the calls. Every two texts that could be compared are judged once."""
        expected, actual = _both(expected, actual, tool_calls, expected_tool_calls)
        known: dict[tuple[str, str], Any] = {}
        different: dict[tuple[str, str], str] = {}
        for pair in _text_pairs(expected, actual):
            if pair in known:
                continue
            if self.judge is None and (why := contrast(*pair)) is not None:
                known[pair], different[pair] = False, why
                continue
            found = (self.judge or _similarity)(*pair)
            known[pair] = await found if inspect.isawaitable(found) else found

        def matcher(value: str) -> _SameMeaning:
            return _SameMeaning(value, minimum=self.threshold, known=known, different=different)

        rules = _rules(self.ignore_extra_args)
        wanted_calls = [_with_texts(call, matcher) for call in expected]
        return _compared(expected, wanted_calls, actual, rules, self.match_order, self.ignore_extra_calls)


@dataclass(frozen=True, repr=False, kw_only=True)
class _SameMeaning(Matcher):
    """A text that was judged to mean the same as this one."""

    value: str = field(kw_only=False)
    minimum: float
    known: Mapping[tuple[str, str], Any]
    """What was judged of this text and others."""
    different: Mapping[tuple[str, str], str]
    """What two texts say differently."""

    def similarity(self, actual: Any) -> float:
        """1 for the same text, or one that means the same."""
        if not isinstance(actual, str):
            return 0.0
        if actual == self.value:
            return 1.0

        def judge(text: str) -> Any:
            return self.known[self.value, text]

        return Check(judge, minimum=self.minimum).similarity(actual)

    def why_not(self, actual: Any) -> str:
        """The text that was expected, and how similar this one is to it."""
        if not isinstance(actual, str):
            return f"expected a text that means {self.value!r}, got {actual!r:.200}"
        expected = f"expected what means {self.value!r:.200}, got {actual!r:.200}"
        if (self.value, actual) in self.different:
            return f"{expected}: {self.different[self.value, actual]}"
        found = self.known[self.value, actual]
        if isinstance(found, bool):
            return f"{expected}, which the judge says it does not"
        return f"{expected} with similarity {float(found):.3f}: at least {self.minimum:g} was expected"


def _both(
    expected: Any,
    actual: Any,
    recorded: Sequence[ToolCall] | None,
    expected_of_case: Sequence[ToolCall] | None,
) -> tuple[list[ToolCall], list[ToolCall]]:
    """The calls that were expected, and those that were made."""
    wanted = expected if expected_of_case is None else expected_of_case
    try:
        return expected_calls(wanted), made_calls(actual, recorded)
    except InvalidOptionError as error:
        raise NotApplicableError(str(error)) from error


@cache
def _rules(ignore_extra_args: bool, names: Literal["exact", "ignore_case"] = "exact") -> CallRules:
    return CallRules(arguments="subset" if ignore_extra_args else "exact", names=names)


def _similarity(wanted: str, given: str) -> float:
    return max(0.0, embeddings.similarity(wanted, given))


def _compared(
    expected: Sequence[ToolCall],
    wanted: Sequence[ToolCall],
    actual: Sequence[ToolCall],
    rules: CallRules,
    match_order: bool,
    ignore_extra_calls: bool | None,
) -> EvalResult:
    """The judgement on calls held against `wanted`, which is `expected` as it is to be compared."""
    given = _in_order(wanted, actual, rules) if match_order else _in_any_order(wanted, actual, rules)
    matches: list[ToolCallMatch] = []
    earned = 0.0
    for number, call in enumerate(expected):
        if number not in given:
            matches.append(ToolCallMatch(call, details=_why_none(call, actual, match_order)))
            continue
        position, compared = given[number]
        earned += compared.similarity
        details = "\n".join(map(str, compared.differences))
        matches.append(ToolCallMatch(call, actual[position], compared.matched, details))
    if not (expected if ignore_extra_calls is None else ignore_extra_calls):
        used = {position for position, _ in given.values()}
        matches += [
            ToolCallMatch(_NOTHING, call, details=f"Unexpected extra tool call: {call.name}")
            for position, call in enumerate(actual)
            if position not in used
        ]
    passed = all(match.matched for match in matches)
    score = 1.0 if passed else earned / len(matches)
    return EvalResult(passed, list(expected), list(actual), matches, score)


_NOTHING = ToolCall("(none)")
"""Stands for the expectation of a call that was not expected."""


def _in_any_order(
    wanted: Sequence[ToolCall], actual: Sequence[ToolCall], rules: CallRules
) -> dict[int, tuple[int, CallComparison]]:
    """By expected call, the position of the call it is given, and how they compare."""
    table = [[compare_calls(call, other, rules) for other in actual] for call in wanted]
    pairs = best_pairs([[compared.similarity for compared in row] for row in table])
    return {row: (column, table[row][column]) for row, column in pairs}


def _in_order(
    wanted: Sequence[ToolCall], actual: Sequence[ToolCall], rules: CallRules
) -> dict[int, tuple[int, CallComparison]]:
    if not wanted:
        return {}
    steps = Trajectory(wanted, rules=rules).match(actual).steps
    return {
        number: (step.position, step.comparison)
        for number, step in enumerate(steps)
        if step.position is not None and step.comparison is not None
    }


def _why_none(call: ToolCall, actual: Sequence[ToolCall], match_order: bool) -> str:
    if not actual:
        return "no tool was called"
    of_that_tool = sum(other.name == call.name for other in actual)
    if not of_that_tool:
        return f"{call.name} was not called"
    where = " at this place in the order" if match_order else ""
    return f"no further call of {call.name}{where}"


def _with_texts(call: ToolCall, matcher: Callable[[str], Any]) -> ToolCall:
    """The call with a matcher in place of every text among its arguments, at any depth."""

    def put(value: Any) -> Any:
        if isinstance(value, str):
            return matcher(value)
        if isinstance(value, dict):
            return {key: put(each) for key, each in value.items()}
        return [put(each) for each in value] if isinstance(value, list | tuple) else value

    if isinstance(call, CallOf):
        return call
    return ToolCall(call.name, {key: put(value) for key, value in call.arguments.items()})


def _text_pairs(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> "list[tuple[str, str]]":
    """Every text of an expected call with every text of a call of the same tool."""
    return [
        (wanted, given)
        for call in expected
        for other in actual
        if call.name == other.name
        for wanted in _texts(call.arguments)
        for given in _texts(other.arguments)
        if wanted != given
    ]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inside for text in _texts(each)]
