"""JSON text as data, with the place of everything in it.

JSON is strict: `NaN`, numbers too large for a float and repeated keys are problems, although Python's own parser accepts them.
Places are looked for only when there is a problem to report.
"""

import json
import math
import re
import sys
from bisect import bisect_left
from typing import Any, NamedTuple

from .problem import ABSENT, Problems, Steps

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """A value inside an object or array, and where it begins."""

    step: Any
    key: int
    value: int


def parse_json(text: str, problems: Problems) -> Any:
    """The data, or `ABSENT` if the text is not JSON; what is wrong is added to the problems.

    Of a repeated key, the last value is taken, so that other problems can be found too.
    """
    faults: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            faults.append("duplicate")
        return found

    def read_float(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            faults.append(digits)
        return number

    try:
        data = json.loads(
            text, object_pairs_hook=read_object, parse_float=read_float, parse_constant=read_float
        )
    except json.JSONDecodeError as error:
        line = (problems.line or 1) + error.lineno - 1
        problems.add_at(line, error.colno, f"not JSON: {_about_syntax(text, error)}")
        return ABSENT
    except RecursionError:
        problems.add((), "nested too deeply to be read")
        return ABSENT
    except ValueError as error:  # an integer of more digits than Python converts
        _report_integer(text, str(error), problems)
        return ABSENT
    places = JSONPlaces(text, first_line=problems.line or 1)
    problems.locate = places.locate
    if faults:
        places.report_faults(problems)
    return data


def _about_syntax(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong at a place that Python's parser refused."""
    # Some versions of Python stop at a comma that should not be there, and others after it.
    at = error.pos + len(text[error.pos :]) - len(text[error.pos :].lstrip(", \t\r\n"))
    before, here = text[:at].rstrip(), text[at : at + 1]
    if not text.strip():
        return "the text is empty"
    if not here:
        return "it ends too early"
    if here in "]}" and before.endswith(","):
        return f"there is a comma, and nothing after it but {here!r}"
    if error.msg.startswith("Extra data"):
        return "it ends here, and more follows"
    return f"{error.msg[0].lower()}{error.msg[1:]}"


def _report_integer(text: str, message: str, problems: Problems) -> None:
    """Add that the text has an integer of more digits than Python converts, with its place."""
    found = re.search(rf"-?\d{{{sys.get_int_max_str_digits() + 1},}}", re.sub(_TEXT, _blank, text))
    if found is None:
        problems.add((), message)
        return
    at = found.start()
    line = (problems.line or 1) + text.count("\n", 0, at)
    digits = len(found[0].lstrip("-"))
    problems.add_at(
        line, at - text.rfind("\n", 0, at), f"an integer of {digits} digits is too long to be read"
    )


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


class JSONPlaces:
    """Finds where a value stands in a text that is known to be JSON."""

    def __init__(self, text: str, *, first_line: int = 1) -> None:
        self._text = text
        self._first_line = first_line
        self._members: dict[int, list[_Member]] = {}
        self._breaks: list[int] | None = None

    def locate(self, steps: Steps, of_key: bool) -> tuple[int, int]:
        """Line and column of what stands at the end of the steps, or of the last step that is there."""
        offset = key = self._skip_space(0)
        for step in steps:
            member = next((m for m in reversed(self._inside(offset)) if m.step == step), None)
            if member is None:
                break
            key, offset = member.key, member.value
        return self._line_and_column(key if of_key else offset)

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        if self._breaks is None:
            self._breaks = [found.start() for found in re.finditer("\n", self._text)]
        line = bisect_left(self._breaks, offset)
        return self._first_line + line, offset - (self._breaks[line - 1] if line else -1)

    def report_faults(self, problems: Problems) -> None:
        """Add repeated keys and numbers that are not JSON."""
        waiting: list[tuple[Steps, int]] = [((), self._skip_space(0))]
        while waiting:
            steps, offset = waiting.pop()
            if self._text[offset] in "[{":
                inside = self._inside(offset)
                seen = set[Any]()
                for member in inside:
                    if member.step in seen:
                        problems.add((*steps, member.step), "the key is there twice", of_key=True)
                    seen.add(member.step)
                waiting.extend(((*steps, m.step), m.value) for m in reversed(inside))
            elif self._text[offset] != '"':
                number, end = _DECODER.raw_decode(self._text, offset)
                if isinstance(number, float) and not math.isfinite(number):
                    problems.add(steps, f"{self._text[offset:end]} is not a JSON number")

    def _inside(self, offset: int) -> list[_Member]:
        """The members of the object or array that begins there; none for any other value."""
        found = self._members.get(offset)
        if found is None:
            found = self._members[offset] = self._read(offset)
        return found

    def _read(self, offset: int) -> list[_Member]:
        text = self._text
        if text[offset] not in "[{":
            return []
        is_object = text[offset] == "{"
        found: list[_Member] = []
        at = self._skip_space(offset + 1)
        while text[at] not in "]}":
            key, step = at, len(found)
            if is_object:
                step, at = _DECODER.raw_decode(text, at)
                at = self._skip_space(self._skip_space(at) + 1)
            found.append(_Member(step, key, at))
            _, at = _DECODER.raw_decode(text, at)
            at = self._skip_space(at)
            if text[at] == ",":
                at = self._skip_space(at + 1)
        return found

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        assert found is not None
        return found.end()
