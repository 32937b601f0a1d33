r"""Which attempts are meant, in one line: `status:failed tag:refund cost>0.01 "late"`.

A filter is a row of terms, and an attempt has to meet all of them. `parse_filter` reads one; `AttemptFilter.matches` asks about one attempt.

| term | meets it |
|---|---|
| `late`, `"order 17"` | what was asked, said, answered or raised has this in it |
| `status:failed` | `passed`, `failed` (an assertion did not hold), `errored` (the task did not finish), `unjudged` |
| `tag:refund`, `tool:search` | the case has the tag; the tool was called |
| `eval.Correct:failed` | what the result of this name says: `passed`, `failed`, `errored`, `skipped` |
| `score.f1<0.6`, `metric.retries>2` | a number of an evaluator, or of the task |
| `meta.lang:de`, `meta.age>30` | a field of the metadata |
| `cost>0.01`, `duration>2s`, `tokens>5000` | dollars, seconds (also `ms`, `min`), tokens in and out; `input_tokens`, `output_tokens`, `requests` |
| `time>2026-11-01` | when it began: a date, or a moment in ISO 8601; without a zone, UTC; `time:2026-11-01` is all of that day |
| `agent:`, `model:`, `case:`, `error:` | names: of the agent, its model, the case, the type of the error |
| `text:`, `input:`, `output:` | all of what the bare words search, or a part of it |

`-` before a term turns it round. `tag:(refund OR late)` is met by either. A text is the same in capitals; `*` at its end stands for any
ending, alone for any text, and `~` before it means that it stands anywhere: `error:Time*`, `input:~refund`. `text:` always means anywhere. In quotes a text
stands for itself; `\"` and `\\` are a quote and a backslash. Numbers and times compare by `:`, `>`, `>=`, `<` and `<=`.

**What is not known of an attempt meets neither a term nor its opposite**: where no cost was measured, `cost>1` and `-cost>1` both leave the attempt out.
What an attempt is known not to have, such as a tag, is another thing: `-tag:refund` keeps it.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.argument_checks import did_you_mean
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import kind_of
from calipers.data.spending import COST, INPUT_TOKENS, OUTPUT_TOKENS
from calipers.errors import InvalidOptionError

Record: TypeAlias = ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]
Operator: TypeAlias = Literal[":", "~", "<", "<=", ">", ">="]
_Kind: TypeAlias = Literal["word", "name", "text", "number", "seconds", "time", "any"]

STATUSES: Final = ("passed", "failed", "errored", "unjudged")
"""What can have come of an attempt."""
JUDGEMENTS: Final = ("passed", "failed", "errored", "skipped")
"""What an evaluator can say of one."""


class Wanted(msgspec.Struct, frozen=True):
    """A value that a term names."""

    text: str
    is_beginning: bool = False
    """Whether anything may follow it."""

    def __str__(self) -> str:
        if self.is_beginning:
            return f"{self.text}*"
        is_bare = re.fullmatch(_BARE_VALUE, self.text) and self.text != _OR and not self.text.endswith("*")
        return self.text if is_bare else _quoted(self.text)


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One condition. `str(term)` is how it is written."""

    field: str
    """Such as `tag`; `text` for a bare word."""
    key: str = ""
    """What stands after the dot, such as the name of an evaluator."""
    operator: Operator = ":"
    values: tuple[Wanted, ...]
    """Any of them will do."""
    is_negated: bool = False

    def matches(self, record: Record, at: datetime | None = None) -> bool | None:
        """Whether an attempt meets it; `None`: that is not known."""
        found = self.values_in(record, at)
        if found is None:
            return None
        kind = FIELDS[self.field].kind
        met = any(_meets(each, self.operator, value, kind) for each in found for value in self.values)
        return met != self.is_negated

    def values_in(self, record: Record, at: datetime | None = None) -> Sequence[Any] | None:
        """What an attempt has in the field; `None`: that is not known."""
        return FIELDS[self.field].read(record, self.key, at)

    def __str__(self) -> str:
        shown = [str(value) for value in self.values]
        value = shown[0] if len(shown) == 1 else f"({f' {_OR} '.join(shown)})"
        key = self.key if re.fullmatch(_BARE_KEY, self.key) else _quoted(self.key)
        sign = ":~" if self.operator == "~" else self.operator
        return f"{'-' * self.is_negated}{self.field}{f'.{key}' if self.key else ''}{sign}{value}"


class AttemptFilter(msgspec.Struct, frozen=True):
    """Terms, all of which an attempt has to meet. One without terms lets every attempt through."""

    terms: tuple[Term, ...] = ()

    def matches(self, record: Record, at: datetime | None = None) -> bool:
        """Whether an attempt is known to meet all terms.

        Args:
            record: the attempt.
            at: when it began; `None`: not known.
        """
        return all(term.matches(record, at) for term in self.terms)

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


# ---------------------------------------------------------------------- what can be asked for


class Field(NamedTuple):
    """Something that a term can ask about."""

    kind: _Kind
    """How values are compared: `word` is one of `choices`, `any` a text or a number."""
    read: Callable[[Record, str, datetime | None], Sequence[Any] | None]
    """Its values in an attempt, by the key and the time; `None`: not known."""
    is_keyed: bool = False
    """Whether a dot and a key belong to its name."""
    choices: tuple[str, ...] = ()


def status_of(record: Record) -> str:
    """What came of an attempt: one of `STATUSES`."""
    if isinstance(record, ReportCaseFailure):
        return "errored"
    return "unjudged" if record.passed is None else "passed" if record.passed else "failed"


def _judgements(record: Record, name: str) -> list[str] | None:
    if isinstance(record, ReportCaseFailure):
        return None
    found = [
        "passed" if result.value else "failed"
        for result in record.results
        if name in {result.name, result.evaluator} and isinstance(result.value, bool)
    ]
    found += ["errored" for failure in record.evaluator_failures if failure.name == name]
    found += ["skipped" for skip in record.skipped if name in {skip.name, skip.key_of}]
    return found or None


def _scores(record: Record, name: str) -> list[Any] | None:
    results = record.results if isinstance(record, ReportCase) else ()
    return [each.value for each in results if each.name == name and kind_of(each.value) == "score"] or None


def metric_of(record: Record, name: str) -> int | float | None:
    """A number that was measured of an attempt: a metric, or what its trace adds up to; `None` if it was not measured."""
    if name in record.metrics:
        return record.metrics[name]
    trace = record.trace
    if trace is None:
        return None
    if name == COST:
        return trace.total_cost
    if name in {INPUT_TOKENS, OUTPUT_TOKENS} and trace.tokens_measured:
        return trace.total_input_tokens if name == INPUT_TOKENS else trace.total_output_tokens
    return len(trace.llm_calls) if name == "requests" and trace.llm_calls else None


def _metric(name: str) -> Callable[[Record, str, datetime | None], list[int | float] | None]:
    return lambda record, _key, _at: _listed(metric_of(record, name))


def _tokens(record: Record) -> int | float | None:
    parts = [metric_of(record, name) for name in (INPUT_TOKENS, OUTPUT_TOKENS)]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _listed(value: Any) -> list[Any] | None:
    return None if value is None else [value]


def _tools(record: Record) -> list[str] | None:
    trace = record.trace
    return [call.name for call in trace.tool_calls] if trace is not None and trace.calls_known else None


def _metadata(record: Record, key: str) -> list[Any]:
    value = record.metadata.get(key) if isinstance(record.metadata, Mapping) else None
    listed = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return [each for each in listed if isinstance(each, str | int | float)]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(plain(value)).decode()


def _input_texts(record: Record) -> list[str]:
    trace = record.trace
    asked = [turn.content for turn in trace.turns if turn.turn_type == "user_message"] if trace else []
    return [_as_text(record.inputs), *asked]


def _output_texts(record: Record) -> list[str]:
    trace = record.trace
    said = [turn.content for turn in trace.turns if turn.turn_type == "agent_message"] if trace else []
    return [*said, *([_as_text(record.output)] if isinstance(record, ReportCase) else [])]


def _texts(record: Record) -> list[str]:
    raised = [record.error_message] if isinstance(record, ReportCaseFailure) else []
    return [*_input_texts(record), *_output_texts(record), *raised]


FIELDS: Final[Mapping[str, Field]] = {
    "status": Field("word", lambda record, _key, _at: [status_of(record)], choices=STATUSES),
    "tag": Field("name", lambda record, _key, _at: [*record.tags, *(record.trace.tags if record.trace else ())]),
    "tool": Field("name", lambda record, _key, _at: _tools(record)),
    "eval": Field("word", lambda record, key, _at: _judgements(record, key), is_keyed=True, choices=JUDGEMENTS),
    "score": Field("number", lambda record, key, _at: _scores(record, key), is_keyed=True),
    "metric": Field("number", lambda record, key, _at: _listed(metric_of(record, key)), is_keyed=True),
    "meta": Field("any", lambda record, key, _at: _metadata(record, key), is_keyed=True),
    "cost": Field("number", _metric(COST)),
    "duration": Field("seconds", lambda record, _key, _at: _listed(record.task_duration or None)),
    "tokens": Field("number", lambda record, _key, _at: _listed(_tokens(record))),
    "input_tokens": Field("number", _metric(INPUT_TOKENS)),
    "output_tokens": Field("number", _metric(OUTPUT_TOKENS)),
    "requests": Field("number", _metric("requests")),
    "time": Field("time", lambda _record, _key, at: _listed(at)),
    "agent": Field("name", lambda record, _key, _at: _listed(record.trace.agent_name or None) if record.trace else None),
    "model": Field("name", lambda record, _key, _at: _listed(record.trace.model) if record.trace else None),
    "case": Field("name", lambda record, _key, _at: [record.source_case_name or record.name]),
    "error": Field(
        "name", lambda record, _key, _at: [record.error_type] if isinstance(record, ReportCaseFailure) else []
    ),
    "text": Field("text", lambda record, _key, _at: _texts(record)),
    "input": Field("name", lambda record, _key, _at: _input_texts(record)),
    "output": Field("name", lambda record, _key, _at: _output_texts(record)),
}  # fmt: skip
"""What a term can ask about, by its name."""

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ":": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _meets(value: Any, sign: Operator, wanted: Wanted, kind: _Kind) -> bool:
    """Whether one value of an attempt is what a term wants."""
    if kind == "time":
        moment = _moment(wanted.text)
        if sign == ":" and (day := _day(wanted.text)) is not None:
            return bool(value.astimezone(UTC).date() == day)
        return moment is not None and _COMPARE[sign](value, moment)
    if kind in {"number", "seconds"} or sign not in {":", "~"}:
        number = _number(wanted.text, kind)
        return isinstance(value, int | float) and number is not None and _COMPARE[sign](value, number)
    if kind == "any" and isinstance(value, int | float) and not isinstance(value, bool):
        number = _number(wanted.text, kind)
        if number is not None:
            return bool(value == number)
    told = (str(value).lower() if isinstance(value, bool) else str(value)).casefold()
    text = wanted.text.casefold()
    if sign == "~" or kind == "text":
        return text in told
    return told.startswith(text) if wanted.is_beginning else told == text


_UNITS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


def _number(text: str, kind: _Kind) -> float | None:
    found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) ?(ms|s|min|h)?", text)
    if found is None or (found[2] and kind != "seconds"):
        return None
    return float(found[1]) * (_UNITS[found[2]] if found[2] else 1)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _moment(text: str) -> datetime | None:
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return None
    return told.replace(tzinfo=UTC) if told.tzinfo is None else told


# ---------------------------------------------------------------------- reading

_OR: Final = "OR"
_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_BARE_KEY: Final = r"[^\s:<>=~\"()]+"
_BARE_VALUE: Final = r"[^\s\"()<>=~][^\s\"()]*"
_FIELD: Final = re.compile(
    rf"([A-Za-z_]\w*)(?:\.(?:{_QUOTED}|({_BARE_KEY})))?(:?(?:[<>]=?|=|~)|:)", re.DOTALL
)
_VALUE: Final = re.compile(rf"{_QUOTED}|({_BARE_VALUE})", re.DOTALL)
_WORD: Final = re.compile(rf"{_QUOTED}|([^\s\"]+)", re.DOTALL)


def parse_filter(text: str) -> AttemptFilter:
    """The filter that a text describes; an empty one lets every attempt through.

    Raises:
        InvalidOptionError: it is none; the message says where, and which fields there are.
    """
    if not isinstance(text, str):
        raise InvalidOptionError(f"a filter must be a text, got {text!r:.200}")
    terms: list[Term] = []
    place = len(text) - len(text.lstrip())
    while place < len(text):
        term, end = _read_term(text, place)
        if end < len(text) and not text[end].isspace():
            raise _wrong(text, end, f"{text[end]!r} stands where a space should be")
        terms.append(term)
        place = end + len(text[end:]) - len(text[end:].lstrip())
    return AttemptFilter(tuple(terms))


def field_named(text: str, *, why: str) -> Term:
    """A field by its name alone, such as `tag` or `meta.lang`, as a term without values, which can be asked for `values_in`.

    Raises:
        InvalidOptionError: there is no such field; `why` says what it was to be.
    """
    found = _FIELD.fullmatch(f"{text}:")
    if found is None:
        raise InvalidOptionError(f"{why} {text!r} is no name of a field; known are {_known()}")
    name, key = _checked_field(text, found, 0)
    return Term(field=name, key=key, values=())


def _read_term(text: str, place: int) -> tuple[Term, int]:
    """A term, and where it ends."""
    start = place
    is_negated = text[place] == "-" and place + 1 < len(text) and not text[place + 1].isspace()
    place += is_negated
    found = _FIELD.match(text, place)
    if found is None:
        word = _WORD.match(text, place)
        if word is None:
            raise _wrong(text, place, "a quote is opened and not closed")
        if word[2] == _OR:
            raise _wrong(text, place, f"{_OR} stands between values of one field: tag:(refund {_OR} late)")
        value = Wanted(word[2]) if word[1] is None else Wanted(_unescaped(word[1]))
        if not value.text:
            raise _wrong(text, place, "there is nothing between the quotes")
        return Term(field="text", values=(value,), is_negated=is_negated), word.end()
    name, key = _checked_field(text, found, place)
    sign: Any = found[4].removeprefix(":") or ":"
    sign = ":" if sign == "=" else sign
    values, end = _read_values(text, found.end())
    term = Term(field=name, key=key, operator=sign, values=tuple(values), is_negated=is_negated)
    _check_values(text, start, term)
    return term, end


def _checked_field(text: str, found: re.Match[str], place: int) -> tuple[str, str]:
    name = found[1]
    key = found[3] or ("" if found[2] is None else _unescaped(found[2]))
    if name not in FIELDS:
        hint = did_you_mean(name, FIELDS)
        raise _wrong(
            text,
            place,
            f"unknown field {name!r}{hint}; known are {_known()}. A text with such a sign is written in quotes",
        )
    if FIELDS[name].is_keyed != bool(key):
        way = f"{name}.NAME" if FIELDS[name].is_keyed else f"{name} alone"
        raise _wrong(text, place, f"{found[0]!r} has to be {way}")
    return name, key


def _known() -> str:
    return ", ".join(f"{name}.NAME" if each.is_keyed else name for name, each in FIELDS.items())


def _read_values(text: str, place: int) -> tuple[list[Wanted], int]:
    """The values of a term, and where they end."""
    if not text.startswith("(", place):
        value, end = _read_value(text, place)
        return [value], end
    values: list[Wanted] = []
    inside = place + 1
    while True:
        inside = _after_spaces(text, inside)
        value, inside = _read_value(text, inside)
        values.append(value)
        inside = _after_spaces(text, inside)
        if text.startswith(")", inside):
            return values, inside + 1
        if not re.match(rf"{_OR}\s", text[inside:]):
            raise _wrong(text, inside, f"expected {_OR} or a closing parenthesis")
        inside += len(_OR)


def _read_value(text: str, place: int) -> tuple[Wanted, int]:
    found = _VALUE.match(text, place)
    if found is None or found[2] == _OR:
        raise _wrong(text, place, "expected a value; one with other signs is written in quotes")
    if found[1] is not None:
        return Wanted(_unescaped(found[1])), found.end()
    is_beginning = found[2].endswith("*")
    return Wanted(found[2].removesuffix("*"), is_beginning), found.end()


def _after_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def _check_values(text: str, place: int, term: Term) -> None:
    """Refuse values that the field cannot have, and signs that do not fit it."""
    field = FIELDS[term.field]
    is_comparison = term.operator not in {":", "~"}
    if (is_comparison and field.kind in {"word", "name", "text"}) or (
        term.operator == "~" and field.kind not in {"name", "text", "any"}
    ):
        sign = ":~" if term.operator == "~" else term.operator
        raise _wrong(text, place, f"{term.field!r} cannot be compared by {sign!r}")
    for value in term.values:
        if field.choices and (value.text not in field.choices or value.is_beginning):
            hint = did_you_mean(value.text, field.choices)
            raise _wrong(
                text, place, f"{term.field!r} is one of {', '.join(field.choices)}, got {value.text!r}{hint}"
            )
        if field.kind == "time" and (_moment(value.text) is None or value.is_beginning):
            raise _wrong(
                text,
                place,
                f"{value.text!r} is no date or moment in ISO 8601, such as 2026-11-01 or 2026-11-01T12:00",
            )
        wants_number = field.kind in {"number", "seconds"} or is_comparison
        if (
            field.kind != "time"
            and wants_number
            and (_number(value.text, field.kind) is None or value.is_beginning)
        ):
            raise _wrong(text, place, f"{str(value)!r} is no number")


def _wrong(text: str, place: int, what: str) -> InvalidOptionError:
    return InvalidOptionError(f"filter {text!r:.300}, character {place + 1}: {what}")


def all_of(filters: Iterable[str]) -> AttemptFilter:
    """One filter of several texts, all of which an attempt has to meet."""
    return AttemptFilter(tuple(term for text in filters for term in parse_filter(text).terms))
