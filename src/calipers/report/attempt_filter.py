r"""Which attempts are meant, in one line: `status:failed tag:refund cost>0.01 "late"`.

A filter is a row of terms, and an attempt has to meet all of them. `parse_filter` reads one; `AttemptFilter.matches` asks about one attempt.
The viewer, the command line and the API all read this grammar, and nothing else.

| term | meets it |
|---|---|
| `late`, `"order 17"` | what was asked, said, answered or raised, or a reason that an evaluator gave, has this in it |
| `status:failed` | `passed`, `failed` (an assertion did not hold), `errored` (the task did not finish), `unjudged` |
| `is:errored` | the task or an evaluator did not finish; also `labelled` (by people), `flaky` (some attempts at the case passed, others not), `new` (the run it is compared with lacks the case) |
| `has:trace` | it has a `trace`, a `sound`, or its case says what is `expected` |
| `tag:refund`, `tool:search` | the case has the tag; the tool was called |
| `eval.Correct:failed` | what the result of this name says: `passed`, `failed`, `errored`, `skipped` |
| `score.f1<0.6`, `metric.retries>2` | a number of an evaluator, or of the task |
| `label.tone:rude`, `label."Is it polite?":true` | the label of an evaluator, or what people answered to a question |
| `meta.lang:de`, `meta.age>30` | a field of the metadata |
| `cost>0.01`, `duration>2s`, `tokens>5000` | dollars, seconds (also `ms`, `min`), tokens in and out; `input_tokens`, `output_tokens`, `requests` |
| `time>2026-11-01` | when it began: a date, or a moment in ISO 8601; without a zone, UTC; `time:2026-11-01` is all of that day |
| `agent:`, `model:`, `case:`, `cluster:`, `error:` | names: of the agent, its model, the case, its cluster, the type of the error |
| `rep:2` | which attempt at its case it is, from 1 |
| `group:1f3a5c7e9b0d` | failures that are alike, by the id that the viewer shows |
| `text:`, `input:`, `output:` | all of what the bare words search, or a part of it |
| `flip:worse`, `judge.tone:disagrees` | only where two things are compared: `flip` is `worse`, `better`, `moved` or `any`; a judge `agrees` or `disagrees` with people |

`-` before a term turns it round. `tag:(refund OR late)` is met by either. A text is the same in capitals; `*` at its end stands for any
ending, alone for any text, and `~` before it means that it stands anywhere: `error:Time*`, `case:"order 1"*`, `input:~refund`. `text:` always means anywhere. In quotes a text
stands for itself; `\"` and `\\` are a quote and a backslash. Numbers and times compare by `:`, `>`, `>=`, `<` and `<=`.

**What is not known of an attempt meets neither a term nor its opposite**: where no cost was measured, `cost>1` and `-cost>1` both leave the attempt out.
What an attempt is known not to have, such as a tag, is another thing: `-tag:refund` keeps it.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from calipers.data.argument_checks import did_you_mean
from calipers.errors import FilterError, InvalidOptionError

from .attempt_fields import FIELDS, Beside, Kind, Record, Unsure, beside

Operator: TypeAlias = Literal[":", "~", "<", "<=", ">", ">="]


class Askable(Protocol):
    """What has to be known of a field to read its terms."""

    @property
    def kind(self) -> Kind:
        """How its values are compared."""
        ...

    @property
    def is_keyed(self) -> bool:
        """Whether a dot and a key belong to its name."""
        ...

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it can have, where these are few words; else none."""
        ...


class Wanted(msgspec.Struct, frozen=True):
    """A value that a term names."""

    text: str
    is_beginning: bool = False
    """Whether anything may follow it."""

    def __str__(self) -> str:
        is_bare = re.fullmatch(_BARE_VALUE, self.text) and self.text != _OR and not self.text.endswith("*")
        text = self.text if is_bare or (self.is_beginning and not self.text) else _quoted(self.text)
        return text + "*" * self.is_beginning


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

    def matches(self, record: Record, known: Beside | datetime | None = None) -> bool | None:
        """Whether an attempt meets it; `None`: that is not known."""
        return self.is_met_by(self.values_in(record, known))

    def is_met_by(self, found: Sequence[Any] | None, fields: Mapping[str, Askable] = FIELDS) -> bool | None:
        """Whether values that an attempt, or another thing of other fields, has in the field meet it; `None`: that is not known."""
        if found is None:
            return None
        kind = fields[self.field].kind
        unsure = False
        for each in found:
            for value in self.values:
                if _meets(each, self.operator, value, kind):
                    if not isinstance(each, Unsure):
                        return not self.is_negated
                    unsure = True
        return None if unsure else self.is_negated

    def values_in(self, record: Record, known: Beside | datetime | None = None) -> Sequence[Any] | None:
        """What an attempt has in the field; `None`: that is not known."""
        return FIELDS[self.field].read(record, self.key, beside(known))

    def __str__(self) -> str:
        shown = [str(value) for value in self.values]
        value = shown[0] if len(shown) == 1 else f"({f' {_OR} '.join(shown)})"
        sign = ":~" if self.operator == "~" else self.operator
        return f"{'-' * self.is_negated}{field_text(self.field, self.key)}{sign}{value}"


class AttemptFilter(msgspec.Struct, frozen=True):
    """Terms, all of which an attempt has to meet. One without terms lets every attempt through."""

    terms: tuple[Term, ...] = ()

    def matches(self, record: Record, known: Beside | datetime | None = None) -> bool:
        """Whether an attempt is known to meet all terms.

        Args:
            record: the attempt.
            known: when it began, or what else is known beside the record; `None`: nothing.
        """
        return all(term.matches(record, known) for term in self.terms)

    def without(self, *fields: str) -> "AttemptFilter":
        """The same without the terms of some fields."""
        return AttemptFilter(tuple(term for term in self.terms if term.field not in fields))

    def only(self, *fields: str) -> "AttemptFilter":
        """Only the terms of some fields."""
        return AttemptFilter(tuple(term for term in self.terms if term.field in fields))

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


# ---------------------------------------------------------------------- values

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ":": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _meets(value: Any, sign: Operator, wanted: Wanted, kind: Kind) -> bool:
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


def _number(text: str, kind: Kind) -> float | None:
    found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) ?(ms|s|min|h)?", text)
    if found is None or (found[2] and kind != "seconds"):
        return None
    return float(found[1]) * (_UNITS[found[2]] if found[2] else 1)


def number_in(wanted: Wanted, kind: Kind) -> float | None:
    """The number that a term names, of a field of some kind; `None` if it names none."""
    return _number(wanted.text, kind)


def time_range(wanted: Wanted) -> tuple[datetime, datetime]:
    """The first and the last moment that a time names: those of a day, or twice the same."""
    moment, day = _moment(wanted.text), _day(wanted.text)
    assert moment is not None  # or the filter would have been refused
    return moment, moment if day is None else moment + timedelta(days=1, microseconds=-1)


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


class PlacedTerm(NamedTuple):
    """A term, and where it stands in its filter."""

    term: Term
    start: int
    end: int


def parse_filter(text: str) -> AttemptFilter:
    """The filter that a text describes; an empty one lets every attempt through.

    Raises:
        FilterError: it is not a filter; the message says where, and which fields there are.
    """
    return AttemptFilter(tuple(placed.term for placed in parse_terms(text)))


def parse_terms(text: str, fields: Mapping[str, Askable] = FIELDS) -> list[PlacedTerm]:
    """The terms that a text describes, with their places.

    Args:
        text: the filter.
        fields: what can be asked for; default: what attempts have.

    Raises:
        FilterError: it is not a filter; the message says where, and which fields there are.
    """
    if not isinstance(text, str):
        raise FilterError(f"a filter must be a text, got {text!r:.200}")
    terms: list[PlacedTerm] = []
    place = len(text) - len(text.lstrip())
    while place < len(text):
        term, end = _read_term(text, place, fields)
        if end < len(text) and not text[end].isspace():
            raise _wrong(text, end, f"{text[end]!r} stands where a space should be")
        terms.append(PlacedTerm(term, place, end))
        place = end + len(text[end:]) - len(text[end:].lstrip())
    return terms


def without_comparison(wanted: AttemptFilter, *, also: Iterable[str] = ()) -> AttemptFilter:
    """The filter, where nothing is compared.

    Args:
        wanted: the filter.
        also: words of `is` that cannot be known here.

    Raises:
        FilterError: it has a term that means something only where two things are compared.
    """
    for term in wanted.terms:
        compares = FIELDS[term.field].compares
        if compares or (term.field == "is" and any(value.text in also for value in term.values)):
            what = "a judge and people are" if term.field == "judge" else "two runs are"
            raise FilterError(
                f"filter {str(wanted)!r:.300}: {str(term)!r} means something only where {what} compared: leave it out here"
            )
    return wanted


def field_text(field: str, key: str) -> str:
    """How a field is written: `tag`, `meta.lang` or `meta."two words"`."""
    if not key:
        return field
    return f"{field}.{key if re.fullmatch(_BARE_KEY, key) else _quoted(key)}"


def value_text(value: Any) -> str:
    """A value of a field as it is shown, and as a filter writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def term_of(field: str, key: str, value: Any) -> str:
    """The term that finds a value of a field."""
    return str(Term(field=field, key=key, values=(Wanted(value_text(value)),)))


def term_without(field: str, key: str) -> str:
    """The term that finds what has no value of a field."""
    return str(Term(field=field, key=key, values=(Wanted("", is_beginning=True),), is_negated=True))


def field_named(text: str, *, why: str) -> Term:
    """A field by its name alone, such as `tag` or `meta.lang`, as a term without values, which can be asked for `values_in`.

    Raises:
        InvalidOptionError: there is no such field; `why` says what it was to be.
    """
    found = _FIELD.fullmatch(f"{text}:")
    if found is None:
        raise InvalidOptionError(f"{why} {text!r} is no name of a field; known are {_known(FIELDS)}")
    name, key = _checked_field(text, found, 0, FIELDS)
    return Term(field=name, key=key, values=())


def _read_term(text: str, place: int, fields: Mapping[str, Askable]) -> tuple[Term, int]:
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
    name, key = _checked_field(text, found, place, fields)
    sign: Any = found[4].removeprefix(":") or ":"
    sign = ":" if sign == "=" else sign
    values, end = _read_values(text, found.end())
    term = Term(field=name, key=key, operator=sign, values=tuple(values), is_negated=is_negated)
    _check_values(text, start, term, fields[name])
    return term, end


def _checked_field(
    text: str, found: re.Match[str], place: int, fields: Mapping[str, Askable]
) -> tuple[str, str]:
    name = found[1]
    key = found[3] or ("" if found[2] is None else _unescaped(found[2]))
    if name not in fields:
        hint = did_you_mean(name, fields)
        raise _wrong(
            text,
            place,
            f"unknown field {name!r}{hint}; known are {_known(fields)}. A text with such a sign is written in quotes",
        )
    if fields[name].is_keyed != bool(key):
        way = f"{name}.NAME" if fields[name].is_keyed else f"{name} alone"
        raise _wrong(text, place, f"{found[0]!r} has to be {way}")
    return name, key


def _known(fields: Mapping[str, Askable]) -> str:
    return ", ".join(f"{name}.NAME" if each.is_keyed else name for name, each in fields.items())


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
        is_beginning = text.startswith("*", found.end())
        return Wanted(_unescaped(found[1]), is_beginning), found.end() + is_beginning
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


def _check_values(text: str, place: int, term: Term, field: Askable) -> None:
    """Refuse values that the field cannot have, and signs that do not fit it."""
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


def _wrong(text: str, place: int, what: str) -> FilterError:
    return FilterError(f"filter {text!r:.300}, character {place + 1}: {what}", place)


def all_of(filters: Iterable[str]) -> AttemptFilter:
    """One filter of several texts, all of which an attempt has to meet."""
    return AttemptFilter(tuple(term for text in filters for term in parse_filter(text).terms))
