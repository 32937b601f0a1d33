"""What must hold for a whole path of calls: what comes before what, what never happens, how often, and what flows where.

A constraint may meet no call that it speaks of: "search before book" says nothing about a path without a booking. It
then holds, but was not *exercised*; counts (`Never`, `AtMost`, …) are always exercised.

`numbers_in` reads the numbers of a text, with signs, thousands separators, decimals, currencies and units. `3.42` holds neither 3 nor 42, `-5 °C` holds -5, and `1,234.50 EUR`, `1.234,50 €` and `1 234.5` all hold 1234.5. A number
that can be read in two ways, such as `1,234`, is both; `1,2,3` is three. Versions, digits inside a word and the parts of a
date, of a time of day or of a number in groups are not numbers: `2.1.3`, `AZ611`, `2024-05-01`, `12:30`, `123-45-6789`, `555-1234`. Two numbers
with a hyphen between them are a range (`3-5`, `500-1500`), unless they look like a telephone number: three digits and four, where the four
do not end in `00`, or the second begins with `0`. A unit of a few letters may stand right behind one (`420EUR`, `5kg`, `20%`),
and a currency right before it (`EUR420`). A hyphen behind a word or a number is not a sign.
"""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from calipers.data.argument_checks import check_whole_number, is_real_number
from calipers.data.trace import ToolCall
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, NotApplicableError

from .call import CallOf, CallRules, compare_calls, not_shown, show_call
from .value_comparison import matches

_CURRENCY = (
    "(?:[$€£¥₹]|AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|SAR|SEK|"
    "SGD|THB|TRY|TWD|USD|VND|ZAR)"
)
_NUMBER = re.compile(
    rf"""
    (?<![\w.'\u2019])(?!(?<=\d,)\d)                  # not within a word or a longer number
    (?P<sign>(?:(?<![\w)])[-+\u2212])?{_CURRENCY}?[ ]?(?:(?<=[$€£¥₹ ])[-+\u2212])?)
    (?P<digits>\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*(?:[ ]\d{{3}}(?!\d))*(?:[.,]\d+)?|[.]\d+)
    (?P<exponent>[eE][-+]?\d+)?
    (?![.,'\u2019]?\d)[^\W\d_]{{0,4}}(?!\w)             # a unit at most behind it
    """,
    re.VERBOSE,
)
_NUMBER_ALONE = re.compile(
    rf"\s*[-+\u2212]?{_CURRENCY}?\s?[-+\u2212]?[\d.,'\u2019_\u00a0\u202f ]*\d\s?(?:%|[^\W\d_]{{0,4}})\s*"
)
_DATE = re.compile(
    r"""
    (?<![\w/-])(?:\d{4}([-/])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4})
    (?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?[ ]?(?:Z|[-+]\d{2}:?\d{2})?)?(?![\w/-])
    """,
    re.VERBOSE,
)
_TIME = re.compile(
    r"(?<![\w:.,-])\d{1,2}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:[ ]?[ap]m\b)?(?![\w:]|[.,]\d)", re.IGNORECASE
)
_IN_GROUPS = re.compile(
    r"""
    (?<![\w-])(?:
        (?:[+]?\d{1,3}[ -])?\(\d{2,5}\)[ -]?\d+(?:[ -]\d+)+     # (555) 123-4567
        |[+]?\d+(?:-\d+){2,}                                     # 555-123-4567, 978-3-16-148410-0
        |[2-9]\d\d-\d{2}(?!00)\d{2}|\d+-0\d+                     # 555-1234
    )(?![\w-]|[.,]\d)
    """,
    re.VERBOSE,
)
_SEPARATORS = re.compile(r"[.,'\u2019_\u00a0\u202f ]")
_MINUS = "-\u2212"


def numbers_in(text: str) -> Iterator[float]:
    """Every number that a text may be read to hold."""
    text = without_codes(text)
    place = 0
    while (found := _NUMBER.search(text, place)) is not None:
        place = max(found.end("digits"), found.end("exponent"))
        negative = any(mark in found["sign"] for mark in _MINUS)
        for value in _readings(found["digits"]):
            number = float(value + (found["exponent"] or ""))
            if math.isfinite(number):
                yield -number if negative else number
        if " " in found["digits"]:  # several numbers, perhaps
            yield from (number for each in found["digits"].split(" ") for number in numbers_in(each))
        elif "," in found["digits"] and not any(_readings(found["digits"])):
            # A list, whose first number has the sign.
            first, *others = found["digits"].split(",")
            yield from numbers_in(found["sign"] + first)
            yield from (number for each in others for number in numbers_in(each))


def without_codes(text: str) -> str:
    """A text without digits that say no amount: dates, times of day, and numbers in groups, such as of telephones."""
    for pattern in (_DATE, _TIME, _IN_GROUPS):
        text = pattern.sub(";", text)
    return text


def is_number_text(text: str) -> bool:
    """Whether a text is a number alone, with a currency or a unit perhaps."""
    return _NUMBER_ALONE.fullmatch(text) is not None


def holds_number(text: str, number: Any) -> bool:
    """Whether a number stands in a text."""
    try:
        wanted = float(number)
    except (OverflowError, ValueError):
        return False
    return any(math.isclose(found, wanted, rel_tol=1e-12) for found in numbers_in(text))


def _readings(digits: str) -> Iterator[str]:
    """What digits with separators mean, as Python writes numbers."""
    groups, marks = _SEPARATORS.split(digits), _SEPARATORS.findall(digits)
    if not marks or digits.startswith("."):
        yield digits
        return
    if len(set(marks)) == 1 and _are_thousands(groups, marks[0]) and groups[0] != "0":
        yield "".join(groups)
    if marks[-1] not in ".," or marks.count(marks[-1]) > 1 or len(set(marks)) > 2:
        return
    whole = groups[:-1]
    if len(whole) == 1 or _are_thousands(whole, marks[0]):
        yield f"{''.join(whole)}.{groups[-1]}"


def _are_thousands(groups: list[str], mark: str) -> bool:
    """Whether groups of digits are one number: in threes, or as in India all but the last in twos (12,34,567)."""
    first, *inner, last = map(len, groups)
    if last != 3:
        return False
    return (first <= 3 and set(inner) <= {3}) or (mark == "," and first <= 2 and set(inner) == {2})


@dataclass(frozen=True)
class Step:
    """One call that a path may hold."""

    call: ToolCall

    def is_done_by(self, call: ToolCall, rules: CallRules) -> bool:
        """Whether a call does what the step asks for."""
        return compare_calls(self.call, call, rules).matched

    def __str__(self) -> str:
        return show_call(self.call)


def as_step(given: Any) -> Step:
    """A step made of a tool's name (any arguments will do), or of a call.

    Raises:
        InvalidOptionError: it is neither.
    """
    if isinstance(given, Step):
        return given
    if isinstance(given, ToolCall):
        return Step(given)
    if isinstance(given, str) and given:
        return Step(CallOf(given))
    raise InvalidOptionError(
        f"a step is the name of a tool, a ToolCall, or a group of steps, got {given!r:.200}"
    )


class Finding(NamedTuple):
    """What a constraint found."""

    violation: str | None
    """Why it does not hold; `None` if it does."""
    exercised: bool = True


class Constraint(ABC):
    """Something that must hold for a whole path. Subclass it to add your own."""

    @abstractmethod
    def check(self, calls: Sequence[ToolCall], rules: CallRules) -> Finding:
        """Whether it holds."""

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it names; empty for one that speaks of any call."""
        return frozenset()


@dataclass(frozen=True)
class Before(Constraint):
    """No call of `then` without a call of `first` earlier on."""

    first: str | ToolCall
    then: str | ToolCall

    def __post_init__(self) -> None:
        as_step(self.first)
        as_step(self.then)

    def check(self, calls: Sequence[ToolCall], rules: CallRules) -> Finding:
        """Whether something of `first` stands before the first of `then`."""
        first, then = as_step(self.first), as_step(self.then)
        for position, call in enumerate(calls):
            # In this order: a call that is both does not stand before itself.
            if then.is_done_by(call, rules):
                return Finding(f"{show_call(call)} (call {position + 1}) came before any {first}")
            if first.is_done_by(call, rules):
                return Finding(None, any(then.is_done_by(later, rules) for later in calls[position + 1 :]))
        return Finding(None, exercised=False)

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it names."""
        return frozenset({as_step(self.first).call.name, as_step(self.then).call.name})


@dataclass(frozen=True)
class _Count(Constraint):
    step: str | ToolCall
    times: int

    def __post_init__(self) -> None:
        as_step(self.step)
        check_whole_number("times", self.times, at_least=0)

    @abstractmethod
    def holds(self, count: int) -> bool:
        """Whether so many calls are right."""

    @property
    @abstractmethod
    def words(self) -> str:
        """How many calls are right."""

    def check(self, calls: Sequence[ToolCall], rules: CallRules) -> Finding:
        """Whether the calls are as many as they should be."""
        step = as_step(self.step)
        found = [position for position, call in enumerate(calls, 1) if step.is_done_by(call, rules)]
        if self.holds(len(found)):
            return Finding(None)
        where = f" (call{'s' if len(found) > 1 else ''} {', '.join(map(str, found[:10]))})" if found else ""
        return Finding(f"{step} was called {_times(len(found))}{where}, and should be called {self.words}")

    @property
    def tools(self) -> frozenset[str]:
        """The tool that it names."""
        return frozenset({as_step(self.step).call.name})


class AtMost(_Count):
    """Not more calls than this."""

    def holds(self, count: int) -> bool:
        """Whether so many calls are right."""
        return count <= self.times

    @property
    def words(self) -> str:
        """How many calls are right."""
        return f"at most {_times(self.times)}" if self.times else "never"


class AtLeast(_Count):
    """Not fewer calls than this."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.times:
            raise InvalidOptionError("AtLeast with 0 times holds for every path: Never forbids a call")

    def holds(self, count: int) -> bool:
        """Whether so many calls are right."""
        return count >= self.times

    @property
    def words(self) -> str:
        """How many calls are right."""
        return f"at least {_times(self.times)}"


class Exactly(_Count):
    """So many calls, neither more nor fewer."""

    def holds(self, count: int) -> bool:
        """Whether so many calls are right."""
        return count == self.times

    @property
    def words(self) -> str:
        """How many calls are right."""
        return f"exactly {_times(self.times)}"


def Never(step: str | ToolCall) -> AtMost:  # noqa: N802 - reads as a constraint, like its siblings
    """No such call at all."""
    return AtMost(step, 0)


@dataclass(frozen=True)
class Flow(Constraint):
    """An argument of one tool must come from what an earlier call of another gave back.

    A value comes from a result if it stands somewhere in it: as a value, or within a text, a number as a number (420.0 in
    "420 EUR", but not 42 in "3.42", 5 in "2024-01-05" or 30 in "12:30"); of a list or mapping, each part must. A text that is JSON is
    read as what it says. Give `by` to say it otherwise.
    """

    source: str | ToolCall
    """Whose result."""
    into: str | ToolCall
    """Which calls use it."""
    argument: str
    """As which argument; every such call must have it."""
    by: Callable[[Any, Any], bool] | None = None
    """Whether a value, the second argument, comes from a result, the first."""

    def __post_init__(self) -> None:
        as_step(self.source)
        as_step(self.into)
        if not isinstance(self.argument, str) or not self.argument:
            raise InvalidOptionError(f"argument is the name of an argument, got {self.argument!r}")

    def check(self, calls: Sequence[ToolCall], rules: CallRules) -> Finding:
        """Whether every value came from an earlier result."""
        source, into = as_step(self.source), as_step(self.into)
        comes_from = self.by or stands_in
        results: list[Any] = []
        exercised = False
        for position, call in enumerate(calls, 1):
            if into.is_done_by(call, rules):
                exercised = True
                if "arguments" in call.unknown:
                    raise NotApplicableError(not_shown(call, "arguments"))
                if self.argument not in call.arguments:
                    return Finding(f"{show_call(call)} (call {position}) has no argument {self.argument!r}")
                value = call.arguments[self.argument]
                if not any(comes_from(result, value) for result in results):
                    return Finding(
                        f"{self.argument}={show(value)} of {call.name} (call {position}) came from no earlier "
                        f"result of {source}"
                    )
            if call.success and source.is_done_by(call, rules):
                if "output" in call.unknown:
                    raise NotApplicableError(not_shown(call, "output"))
                results.append(call.output)
        return Finding(None, exercised)

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it names."""
        return frozenset({as_step(self.source).call.name, as_step(self.into).call.name})


def stands_in(result: Any, value: Any) -> bool:
    """Whether a value stands somewhere in a result; of a list or mapping, whether each of its parts does."""
    parts = list(_leaves(value))
    found = [inner for each in _leaves(result) for inner in (each, *_said_in(each))]
    return bool(parts) and all(any(_is_or_holds(each, part) for each in found) for part in parts)


def _said_in(text: Any) -> Iterator[Any]:
    """The single values of a text that is a JSON list or object."""
    if isinstance(text, str) and text.lstrip()[:1] in {"[", "{"}:
        with suppress(ValueError, RecursionError):
            yield from _leaves(json.loads(text))


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """The single values inside, at whatever depth."""
    if isinstance(value, Mapping):
        inside: Any = value.values()
    elif isinstance(value, list | tuple | AbstractSet):
        inside = value
    else:
        yield value
        return
    if depth < 50:  # deeper than any result; also where one contains itself
        for each in inside:
            yield from _leaves(each, depth + 1)


def _is_or_holds(found: Any, part: Any) -> bool:
    if matches(part, found):
        return True
    if part is None or isinstance(part, bool) or isinstance(found, bool):
        return False
    if isinstance(found, str):
        if is_real_number(part):
            return holds_number(found, part)
        text = str(part)
        if _PLAIN_NUMBER.fullmatch(text):
            if holds_number(found, text):
                return True
            found = without_codes(found)
        # As a word, or as a number of its own: "4" does not come from "40", nor "42" from "3.42".
        bounded = rf"(?<!\w)(?<!\d[.,])(?<!\d['\u2019]){re.escape(text)}(?!\w|[.,'\u2019]\d)"
        return bool(text) and re.search(bounded, found) is not None
    return (
        isinstance(part, str) and is_real_number(found) and is_number_text(part) and holds_number(part, found)
    )


_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?")
"""A text that says a number and nothing else; one that begins with further zeros is the name of something."""


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
