"""Assertions about what an agent did, for tests: `assert_trace(trace)`, one claim after the other.

    assert_trace(trace).has_tool("search").has_tools_in_order("search", "book").lacks_tool("cancel").contains("booked")

Each claim raises an `AssertionError` that shows what there was instead, and returns the same object for the next. Nothing
vacuous holds: a limit on time or tokens fails if nothing was measured, claims about text fail without an output, and
`lacks_tool` fails if calls of the tool would not be in the trace.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Self

from calipers.data.context import NO_TOOL_CALLS, not_recorded
from calipers.data.jsonable import safe_repr
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import plural
from calipers.views.text import fit

_SHOWN = 10
"""Calls that a message lists."""
_TEXT = 200
"""Cells of a text in a message."""


def assert_trace(trace: Trace) -> "TraceAssertions":
    """Claims about a trace, to be chained."""
    if not isinstance(trace, Trace):
        raise InvalidOptionError(f"assert_trace takes a Trace, got {safe_repr(trace):.200}")
    return TraceAssertions(trace)


class TraceAssertions:
    """What `assert_trace` returns: each method is a claim about the trace, and returns the same object."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    # ------------------------------------------------------------------ tools

    def has_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, times: int | None = None
    ) -> Self:
        """The agent called the tool, with these arguments among its own if any are given; `times`: exactly so often."""
        __tracebackhide__ = True
        if times == 0:
            self._sees(name)
        calls = [call for call in self.trace.tool_calls if call.name == name]
        if arguments is not None:
            calls = [call for call in calls if _has(call, arguments)]
        said = name if arguments is None else f"{name} with {safe_repr(dict(arguments))}"
        if times is None and not calls:
            self._fail(f"expected a call of {said}", self._calls())
        if times is not None and len(calls) != times:
            self._fail(f"expected {plural(times, 'call')} of {said}, got {len(calls)}", self._calls())
        return self

    def lacks_tool(self, *names: str) -> Self:
        """The agent called none of these tools."""
        __tracebackhide__ = True
        _some("lacks_tool", names)
        if found := sorted({call.name for call in self.trace.tool_calls} & set(names)):
            self._fail(f"expected no call of {', '.join(found)}", self._calls())
        self._sees(*names)
        return self

    def has_tools_in_order(self, *names: str) -> Self:
        """The agent called these tools one after the other; others may come between them."""
        __tracebackhide__ = True
        _some("has_tools_in_order", names)
        made = iter(call.name for call in self.trace.tool_calls)
        for name in names:
            if name not in made:  # reads on from where the last one was found
                self._fail(
                    f"expected {' → '.join(names)}, and {name} does not come in its turn", self._calls()
                )
        return self

    def has_tool_calls(self, at_least: int = 1, at_most: int | None = None) -> Self:
        """The agent called tools, at least and at most so often."""
        __tracebackhide__ = True
        self._count("tool call", len(self.trace.tool_calls), at_least, at_most, self._calls())
        return self

    def has_no_failed_tool(self) -> Self:
        """Tools were called, and each of them succeeded."""
        __tracebackhide__ = True
        self.has_tool_calls()
        failed = [
            f"{call.name}: {call.error or 'failed'}" for call in self.trace.tool_calls if not call.success
        ]
        if failed:
            self._fail("expected every tool to succeed", failed)
        return self

    # ------------------------------------------------------------------ models

    def has_llm_calls(self, at_least: int = 1, at_most: int | None = None) -> Self:
        """The agent asked a model, at least and at most so often."""
        __tracebackhide__ = True
        models = [call.model for call in self.trace.llm_calls]
        self._count("request to a model", len(models), at_least, at_most, models)
        return self

    def used_at_most(self, tokens: int) -> Self:
        """Input and output together took at most so many tokens."""
        __tracebackhide__ = True
        if not self.trace.tokens_measured:
            self._fail(f"expected at most {plural(tokens, 'token')}, and no tokens were counted", ())
        used = (self.trace.total_input_tokens or 0) + (self.trace.total_output_tokens or 0)
        if used > tokens:
            self._fail(f"expected at most {plural(tokens, 'token')}, got {used:,}", ())
        return self

    def took_at_most(self, milliseconds: float) -> Self:
        """The calls took at most so long."""
        __tracebackhide__ = True
        if not self.trace.latency_measured:
            self._fail(f"expected at most {milliseconds:,} ms, and no time was measured", ())
        if (self.trace.total_latency_ms or 0) > milliseconds:
            self._fail(f"expected at most {milliseconds:,} ms, got {self.trace.total_latency_ms:,}", ())
        return self

    # ------------------------------------------------------------------ what it said

    def has_output(self) -> Self:
        """The agent said something."""
        __tracebackhide__ = True
        if not self.trace.output_text.strip():
            self._fail("expected an output, got none", self._calls())
        return self

    def contains(self, *texts: str) -> Self:
        """The output contains each of these."""
        __tracebackhide__ = True
        _some("contains", texts)
        self.has_output()
        if missing := [text for text in texts if text not in self.trace.output_text]:
            self._fail(f"expected the output to contain {safe_repr(missing)}", self._output())
        return self

    def lacks(self, *texts: str) -> Self:
        """There is an output, and it contains none of these."""
        __tracebackhide__ = True
        _some("lacks", texts)
        self.has_output()
        if found := [text for text in texts if text in self.trace.output_text]:
            self._fail(f"expected the output not to contain {safe_repr(found)}", self._output())
        return self

    def matches(self, pattern: str) -> Self:
        """The regular expression matches somewhere in the output."""
        __tracebackhide__ = True
        self.has_output()
        if re.search(pattern, self.trace.output_text) is None:
            self._fail(f"expected the output to match {pattern!r}", self._output())
        return self

    def is_json(self) -> Self:
        """The output is JSON."""
        __tracebackhide__ = True
        self.has_output()
        try:
            json.loads(self.trace.output_text)
        except ValueError as error:
            self._fail(f"expected JSON ({error})", self._output())
        return self

    # ------------------------------------------------------------------ saying what is wrong

    def _count(self, what: str, found: int, at_least: int, at_most: int | None, shown: Iterable[str]) -> None:
        __tracebackhide__ = True
        if found < at_least:
            self._fail(f"expected at least {plural(at_least, what)}, got {found}", shown)
        if at_most is not None and found > at_most:
            self._fail(f"expected at most {plural(at_most, what)}, got {found}", shown)

    def _calls(self) -> list[str]:
        calls = [f"called {call.name}({safe_repr(call.arguments)})" for call in self.trace.tool_calls]
        return calls or ["called no tool"]

    def _sees(self, *names: str) -> None:
        """Fail if calls of these tools would not be in the trace."""
        __tracebackhide__ = True
        if not self.trace.calls_known:
            self._fail(NO_TOOL_CALLS, ())
        if unseen := self.trace.unrecorded(names):
            self._fail(not_recorded(unseen), self._calls())

    def _output(self) -> list[str]:
        return [f"got {safe_repr(self.trace.output_text)}"]

    def _fail(self, problem: str, shown: Iterable[str]) -> None:
        __tracebackhide__ = True
        lines = [fit(line, _TEXT) for line in shown]
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise AssertionError("\n  ".join([problem, *lines[:_SHOWN], *more]))


def _has(call: ToolCall, arguments: Mapping[str, Any]) -> bool:
    given = call.arguments
    return all(name in given and given[name] == value for name, value in arguments.items())


def _some(claim: str, named: tuple[str, ...]) -> None:
    """Refuse a claim about nothing, or about an empty text: it would always hold."""
    if not named or not all(named):
        raise InvalidOptionError(f"{claim} needs something to look for, got {named!r}")
