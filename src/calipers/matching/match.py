"""How well a list of calls fits the expected one.

Precision, recall and F1 count full matches: of the actual calls, of the expected, of both. The score is graded: each
pair earns its similarity, out of what the mode asks for, and it is 1 exactly when the match passes.

| mode | score |
|---|---|
| `exact`, `unordered` | twice the similarities, divided by the expected and the actual calls |
| `in_order`, `superset` | the similarities, divided by the expected calls |
| `contiguous` | the similarities, divided by the expected calls and the interruptions between them |
| `subset` | the similarities, divided by the actual calls; 0 if there are none |
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from typing_extensions import Unpack

from calipers.data.trace import CallLike, ToolCall, Trace
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, InvalidTraceError

from .call import MatchKeywords, MatchOptions, expected_arguments, left_out, require_arguments
from .edits import Edit, edits_of, script_text
from .matcher_data import read_call
from .pairing import Pair, Pairing, pair_calls
from .value_comparison import JUST_BELOW_ONE


@dataclass(frozen=True, repr=False)
class CallsMatch:
    """How well the calls of an agent fit those expected. An evaluator may return it: an assertion with a score."""

    expected: tuple[ToolCall, ...]
    """The expected calls."""
    actual: tuple[ToolCall, ...]
    """The actual calls that count."""
    left_out: tuple[ToolCall, ...]
    """The actual calls that do not: failed or retried ones, where the options say so."""
    pairing: Pairing
    """Which call goes with which."""
    options: MatchOptions
    """How the calls were matched."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The calls that go together, fully or in part, in expected order; where the order counts, in their places."""
        return self.pairing.pairs

    @property
    def out_of_order(self) -> tuple[Pair, ...]:
        """Calls that match, but not in their places; only where the order counts."""
        return self.pairing.out_of_order

    @property
    def missing(self) -> tuple[ToolCall, ...]:
        """The expected calls without a partner."""
        return tuple(self.expected[index] for index in self.pairing.missing)

    @property
    def extra(self) -> tuple[ToolCall, ...]:
        """The actual calls without a partner."""
        return tuple(self.actual[index] for index in self.pairing.extra)

    @cached_property
    def matched(self) -> int:
        """How many expected calls were made; where the order counts, in their places."""
        return sum(pair.matched for pair in self.pairs)

    @cached_property
    def passed(self) -> bool:
        """Whether the calls are what the mode asks for."""
        some_made = bool(self.actual) or not self.expected
        all_made = some_made if self.options.missing_allowed else self.matched == len(self.expected)
        no_more = self.options.extra_allowed or self.matched == len(self.actual)
        return all_made and no_more and (self.options.mode != "contiguous" or not self._interruptions)

    @property
    def precision(self) -> float | None:
        """The share of the actual calls that were expected; `None` if there are none."""
        return self.matched / len(self.actual) if self.actual else None

    @property
    def recall(self) -> float | None:
        """The share of the expected calls that were made; `None` if there are none."""
        return self.matched / len(self.expected) if self.expected else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; `None` if there are no calls at all."""
        calls = len(self.expected) + len(self.actual)
        return 2 * self.matched / calls if calls else None

    @cached_property
    def score(self) -> float:
        """From 0 to 1, with credit for calls that fit in part; 1 exactly when the match passes."""
        if self.passed:
            return 1.0
        earned = math.fsum(pair.comparison.similarity for pair in self.pairs)
        if self.options.mode == "subset":
            share = earned / len(self.actual) if self.actual else 0.0
        elif self.options.mode == "contiguous":
            share = earned / (len(self.expected) + self._interruptions)
        elif self.options.extra_allowed:
            share = earned / len(self.expected)
        else:
            share = 2 * earned / (len(self.expected) + len(self.actual))
        return min(share, JUST_BELOW_ONE)

    @property
    def _interruptions(self) -> int:
        """How many times other calls stand between the pairs."""
        return sum(right.actual_index - left.actual_index > 1 for left, right in pairwise(self.pairs))

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """What to do to the actual calls, one by one, to get the expected ones."""
        return tuple(edits_of(self.pairing, self.expected, self.actual, self.options))

    def edit_script(self, *, limit: int | None = 40) -> str:
        """The edits as text, at most so many (`None` for all); calls in a row that need no edit are folded."""
        return script_text(self.edits, limit)

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        asked = len(self.actual) if self.options.mode == "subset" else len(self.expected)
        whose = "actual" if self.options.mode == "subset" else "expected"
        counts = {
            "different": len(self.pairs) - self.matched,
            "out of order": len(self.out_of_order),
            "missing": 0 if self.options.missing_allowed else len(self.missing),
            "unexpected": sum(edit.kind == "remove" for edit in self.edits),
        }
        parts = [f"{self.matched} of {asked} {whose} calls matched"] if asked else []
        if self.expected and not self.actual and self.options.missing_allowed:
            parts = [f"no calls, and at least one of {len(self.expected)} was expected"]
        parts += [f"{count} {word}" for word, count in counts.items() if count]
        if self.left_out:
            parts.append(f"{len(self.left_out)} failed left out")
        return f"{', '.join(parts) or 'no calls, as expected'} (mode {self.options.mode!r})"

    @property
    def reason(self) -> str:
        """The headline; below it the edit script, unless the match passes."""
        return self.headline if self.passed else f"{self.headline}\n{self.edit_script()}"

    @property
    def metadata(self) -> dict[str, Any]:
        """The numbers, for a report."""
        found = {"matched": self.matched, "expected": len(self.expected), "actual": len(self.actual)}
        shares = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**found, **{name: share for name, share in shares.items() if share is not None}}

    def __repr__(self) -> str:
        return f"CallsMatch(passed={self.passed}, score={self.score:.3f}: {self.headline})"

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'failed'} with score {self.score:.3f}: {self.reason}"


def match_calls(
    expected: Iterable[CallLike],
    actual: Iterable[CallLike] | Trace,
    options: MatchOptions | None = None,
    **keywords: Unpack[MatchKeywords],
) -> CallsMatch:
    """How well actual calls fit the expected ones.

    Args:
        expected: the calls that should be made; their arguments may hold matchers.
        actual: the calls that were made, or a trace with them.
        options: how to match; the default is the same calls with the same arguments in the same order.
        keywords: fields of `MatchOptions`, in place of what the options say.

    Raises:
        InvalidOptionError: an option is out of its range, or nothing is expected in a mode that allows everything.
        InvalidTraceError: something is not a call, or an expected argument contains itself.
        NotApplicableError: what counts of a call is unknown, since its recording does not show it.
    """
    options = replace(options or MatchOptions(), **keywords)
    wanted = as_expected_calls(expected)
    made = as_actual_calls(actual)
    if not wanted and options.extra_allowed:
        raise InvalidOptionError(
            f"no calls are expected, and mode {options.mode!r} allows any others, so every agent would pass: "
            "use 'exact' to say that no tool may be called"
        )
    uncounted = left_out(made, options, failed=options.failed, retried=options.retried)
    counted = tuple(call for index, call in enumerate(made) if index not in uncounted)
    _require_arguments(wanted, counted, options)
    try:
        pairing = pair_calls(wanted, counted, options)
    except RecursionError as error:
        raise InvalidTraceError(
            "arguments contain themselves, or are nested too deeply to compare"
        ) from error
    return CallsMatch(
        expected=wanted,
        actual=counted,
        left_out=tuple(made[index] for index in sorted(uncounted)),
        pairing=pairing,
        options=options,
    )


def _require_arguments(
    wanted: Sequence[ToolCall], counted: Sequence[ToolCall], options: MatchOptions
) -> None:
    dark = [call for call in counted if "arguments" in call.unknown]
    for call in wanted if dark else ():
        for actual in dark:
            if options.name_of(call.name) == options.name_of(actual.name):
                require_arguments(actual, expected_arguments(call, options), options.mode_of(call))


def as_expected_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Expected calls in any of their forms, as tool calls.

    Raises:
        InvalidTraceError: one is no call, or the whole is no list.
        InvalidOptionError: a matcher is not valid.
    """
    return _as_calls(calls, "expected", read_call)


def as_actual_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Actual calls in any of their forms, or those of a trace, as tool calls.

    Raises:
        InvalidTraceError: one is no call, or the whole is no list.
    """
    return _as_calls(calls.tool_calls if isinstance(calls, Trace) else calls, "actual", _read_actual)


def _as_calls(calls: Any, which: str, read: Callable[[Any], ToolCall]) -> tuple[ToolCall, ...]:
    if isinstance(calls, str | Mapping | ToolCall) or not isinstance(calls, Iterable):
        raise InvalidTraceError(f"the {which} calls must be a list of calls, got {show(calls)}")
    found: list[ToolCall] = []
    for index, call in enumerate(calls):
        try:
            found.append(call if isinstance(call, ToolCall) else read(call))
        except (InvalidTraceError, InvalidOptionError) as error:
            raise type(error)(f"{which} call {index}: {error}") from error
    return tuple(found)


def _read_actual(call: Any) -> ToolCall:
    if isinstance(call, str):
        return ToolCall(call)
    if not isinstance(call, Mapping):
        raise InvalidTraceError(
            f"give a ToolCall, a mapping with name and arguments, or the name of a tool, got {show(call)}"
        )
    try:
        return ToolCall(**call)
    except TypeError as error:
        raise InvalidTraceError(f"{show(call)} is no tool call: {error}") from error
