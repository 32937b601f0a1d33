"""Evaluators that check for JSON, and for JSON that complies with a schema.

JSON is strict here: `NaN` and `Infinity` are not JSON, though Python's parser takes them. Of a repeated key the last one
counts. Text must be JSON as a whole: JSON inside a sentence or a Markdown code block is not.
"""

import json
import math
from contextlib import suppress
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from typing import Any

import msgspec

from calipers.data.argument_checks import check_flag
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import shorten, show, show_typed
from calipers.errors import InvalidOptionError, MissingExtraError

from .equality import as_mapping

_VIOLATIONS_SHOWN = 3


@dataclass
class IsJSON(Evaluator):
    """The output is text, or UTF-8 bytes, that is valid JSON. Data that is already parsed fails."""

    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it is JSON; otherwise the reason says where it stops being so."""
        if not isinstance(ctx.output, str | bytes):
            return EvaluationReason(
                value=False, reason=f"expected JSON as text, got {show_typed(ctx.output)}"
            )
        try:
            parse_json(ctx.output)
        except ValueError as error:
            return EvaluationReason(value=False, reason=str(error))
        return EvaluationReason(value=True)


@dataclass
class MatchesJSONSchema(Evaluator):
    """The output complies with a JSON Schema, of draft 2020-12 unless its `$schema` names another.

    Text is parsed as JSON first; anything else is taken as data: dicts, lists, numbers, and records by their fields.
    References must lead to places within the schema: nothing is fetched, neither from the network nor from files.
    """

    schema: dict[str, Any]
    """The schema as data. An empty one accepts everything and is refused."""
    check_formats: bool = field(default=True, kw_only=True)
    """Whether `format` is a condition (those that are known: email, date, uri and so on) or only a remark."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        if not isinstance(self.schema, dict) or not self.schema:
            raise InvalidOptionError(
                f"MatchesJSONSchema needs a schema as a non-empty dict, got {self.schema!r}"
            )
        check_schema(self.schema, check_formats=self.check_formats)

    def __getstate__(self) -> dict[str, Any]:
        # The compiled schema cannot be pickled, and is made again when needed.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it complies; otherwise the reason counts the violations and shows the first few, each with its path.

        Raises:
            InvalidOptionError: the schema is not valid, or refers to another one.
            MissingExtraError: jsonschema-rs is not installed.
        """
        validator = self._validator
        try:
            data = parse_json(ctx.output) if isinstance(ctx.output, str | bytes) else as_json(ctx.output)
            violations = list(validator.iter_errors(data))
        except ValueError as error:
            return EvaluationReason(value=False, reason=str(error))
        if not violations:
            return EvaluationReason(value=True)
        return EvaluationReason(value=False, reason=describe_violations(violations))

    def violations(self, data: Any) -> list[Any]:
        """All violations in JSON data, as jsonschema-rs gives them; raises as `evaluate` does."""
        return list(self._validator.iter_errors(data))

    @cached_property
    def _validator(self) -> Any:
        return _compiled(self.schema, self.check_formats)


def check_schema(schema: dict[str, Any], *, check_formats: bool) -> None:
    """Refuse a schema that cannot be used, before anything is run; without jsonschema-rs, only a run can tell."""
    check_flag("check_formats", check_formats)
    with suppress(MissingExtraError):
        _compiled(schema, check_formats)


def _compiled(schema: dict[str, Any], check_formats: bool) -> Any:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingExtraError.of("MatchesJSONSchema", "schema") from error
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=check_formats, retriever=_refuse_to_fetch)
    except ValueError as error:
        problem = getattr(error, "message", None) or str(error)
        raise InvalidOptionError(f"the JSON schema {show(schema)} is not valid: {problem}") from error


def parse_json(text: str | bytes) -> Any:
    """The data in JSON text. Numbers too large for Python's parser become `Decimal`.

    Raises:
        ValueError: it is not JSON; the message shows the place.
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_read_int, parse_float=_read_float)
    except json.JSONDecodeError as error:
        raise ValueError(_locate(error)) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not JSON: the bytes are not UTF-8 at position {error.start}") from None
    except RecursionError:
        raise ValueError("not readable as JSON: it is nested too deeply") from None


def as_json(value: Any) -> Any:
    """A Python value as the data that JSON could hold: records become dicts, tuples lists, dates text.

    Raises:
        ValueError: it holds what JSON cannot.
    """
    try:
        data = msgspec.to_builtins(
            value, str_keys=True, builtin_types=(bytes, bytearray, Decimal), enc_hook=_unwrap
        )
        json.dumps(data, allow_nan=False, default=_accept_decimal)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(f"expected data that JSON can hold, got {show_typed(value)}: {error}") from error
    return data


def _unwrap(value: Any) -> Any:
    """What msgspec does not know: pydantic-like models, subclasses of the JSON types, and arrays."""
    plain: Any
    for plain in (str, int, float, list, tuple):
        if isinstance(value, plain):
            return plain(value)
    mapping = as_mapping(value)
    if mapping is not None:
        return dict(mapping)
    if callable(to_list := getattr(value, "tolist", None)):  # numpy arrays and scalars
        return to_list()
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _accept_decimal(value: Any) -> float:
    if isinstance(value, Decimal) and value.is_finite():
        return 0.0  # only whether it can be written matters here
    raise TypeError(f"{show_typed(value)} is not a JSON value")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"not JSON: {name} is not a JSON value")


def _read_int(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:  # Python limits how many digits it converts
        return Decimal(digits)


def _read_float(digits: str) -> float | Decimal:
    number = float(digits)
    return number if math.isfinite(number) else Decimal(digits)


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"nothing is fetched: put the schema of {uri!r} under $defs and refer to it there")


def _locate(error: json.JSONDecodeError) -> str:
    text = error.doc
    if not text.strip():
        return "not JSON: the text is empty"
    near = text[max(0, error.pos - 20) : error.pos + 20]
    hint = "; the text is a Markdown code block" if text.lstrip().startswith("```") else ""
    return f"not JSON: {error.msg} at line {error.lineno} column {error.colno}, near {near!r}{hint}"


def describe_violations(violations: list[Any]) -> str:
    """How many violations there are, and the first few, each with its path."""
    shown = "; ".join(map(describe_violation, violations[:_VIOLATIONS_SHOWN]))
    more = len(violations) - _VIOLATIONS_SHOWN
    count = f"{len(violations)} violation{'s' if len(violations) > 1 else ''}"
    return f"{count}: {shown}" + (f"; and {more} more" if more > 0 else "")


def describe_violation(violation: Any) -> str:
    """One violation, with its path."""
    return f"{_path(violation.instance_path)}: {shorten(violation.message)}"


def _path(steps: list[str | int]) -> str:
    return "$" + "".join(
        f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in steps
    )
