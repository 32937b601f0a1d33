"""Values in dataset files: the types they must have, `Any` or whatever pydantic can validate, and what a format can hold.

A value without a declared type is read as it stands. Typed values from YAML, JSON, JSON Lines and Parquet files are validated
strictly, as JSON is: `"2"` and `true` are not integers, whatever a model's own settings say; but a date may be written as
text, a list becomes the tuple that a type asks for, and an integer is a float. A CSV cell is text, so it is converted to what
the type needs: a number, a date, a boolean; or strict JSON, for a list or a model.

Without a type, JSON holds `None`, booleans, integers, finite floats, text, lists, and dicts whose keys are text; YAML also
holds all floats, and keys that are numbers. Any other value would come back as something else (a tuple as a list), and is
refused: state its type, and it is written in a form that the type brings back.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_origin

from calipers.errors import InvalidOptionError

from .problem import Problems, Steps

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


class ValueType:
    """A type in files: how values are read from text and data, and written."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation

    @property
    def is_any(self) -> bool:
        """Whether any value will do, as for a type variable that was not filled."""
        return self.annotation in {Any, object} or isinstance(self.annotation, TypeVar)

    @cached_property
    def adapter(self) -> "TypeAdapter[Any]":
        """Validates and dumps values.

        Raises:
            InvalidOptionError: pydantic cannot make one for this type.
        """
        from pydantic import PydanticUserError, TypeAdapter

        try:
            return TypeAdapter(Any if self.is_any else self.annotation)
        except (PydanticUserError, NameError, TypeError) as error:
            raise InvalidOptionError(
                f"values of type {self.annotation!r} cannot be validated: {error}"
            ) from error

    def read(self, value: Any, steps: Steps, problems: Problems) -> Any:
        """A value of a document, validated; what is wrong is added to the problems."""
        return value if self.is_any else read_as_json(self.adapter, value, steps, problems)

    def read_raw(self, raw: bytes) -> Any:
        """A value that is still JSON text, validated.

        Raises:
            ValueError: it is not of the type.
        """
        return self.adapter.validate_json(raw, strict=True)

    def read_text(self, text: str, steps: Steps, problems: Problems) -> Any:
        """The text of a cell, converted to the type."""
        if self.is_any:
            return text
        adapter, quiet = self.adapter, Problems("")
        value = _explained(lambda: adapter.validate_strings(text), text, steps, quiet)
        if quiet.found and text[:1] in {"{", "[", '"'}:
            return _explained(lambda: adapter.validate_json(text, strict=True), text, steps, problems)
        return (
            _explained(lambda: adapter.validate_strings(text), text, steps, problems)
            if quiet.found
            else value
        )

    def read_texts(self, texts: dict[str, str], steps: Steps, problems: Problems) -> Any:
        """The texts of several cells, by name."""
        if self.is_any:
            return texts
        return _explained(lambda: self.adapter.validate_strings(texts), texts, steps, problems)

    def read_native(self, value: Any, steps: Steps, problems: Problems) -> Any:
        """A Python object that a typed file gave, validated."""
        if self.is_any:
            return value
        from pydantic import ValidationError

        with suppress(ValidationError):
            return self.adapter.validate_python(value, strict=True)
        # Strictly, a dict is not a dataclass and a list not a tuple. JSON allows these, but has no dates and bytes, so the
        # object itself must fit too.
        before = len(problems.found)
        read_as_json(self.adapter, value, steps, problems)
        if len(problems.found) > before:
            return None
        return _explained(lambda: self.adapter.validate_python(value), value, steps, problems)

    def dump(self, value: Any) -> Any:
        """The value as data that `read` takes; the value itself where the type does not fit it."""
        if self.is_any:
            return value
        return dump_as_json(self.adapter, value)


def dump_as_json(adapter: "TypeAdapter[Any]", value: Any) -> Any:
    """The value as data that `read_as_json` takes; the value itself where the type does not fit it."""
    from pydantic_core import PydanticSerializationError

    try:
        return adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings="error")
    except PydanticSerializationError:
        return value


def read_as_json(adapter: "TypeAdapter[Any]", value: Any, steps: Steps, problems: Problems) -> Any:
    """Plain data, validated strictly, as if it had just been read from JSON; what is wrong is added to the problems."""
    from pydantic_core import PydanticSerializationError, to_json

    try:
        text = to_json(value, bytes_mode="base64")
    except PydanticSerializationError as error:  # such as half of a surrogate pair
        problems.add(steps, str(error), value)
        return None
    return _explained(lambda: adapter.validate_json(text, strict=True), value, steps, problems)


def _explained(validate: Callable[[], Any], value: Any, steps: Steps, problems: Problems) -> Any:
    """The validated value, or `None` where validation found something wrong, which is added to the problems."""
    from pydantic import ValidationError

    try:
        return validate()
    except ValidationError as error:
        _explain(error, value, steps, problems)
        return None


def _explain(error: "ValidationError", value: Any, steps: Steps, problems: Problems) -> None:
    """Add what validation found wrong with a value, one problem for each place."""
    findings: dict[Steps, tuple[list[str], Any]] = {}
    for found in error.errors(include_url=False, include_context=False):
        way, there = _follow(value, found["loc"])
        message = found["msg"].replace("Input should be ", "expected ")
        message = f"{message[0].lower()}{message[1:]}"
        if found["type"] == "missing":
            message = f"{found['loc'][-1]!r} is missing"
        messages, _ = findings.setdefault(way, ([], there))
        if message not in messages:
            messages.append(message)
    for way, (messages, there) in findings.items():
        problems.add((*steps, *way), ", or ".join(messages).replace(", or expected", ", or"), there)


def _follow(value: Any, location: Sequence[int | str]) -> tuple[Steps, Any]:
    """The part of pydantic's location that leads through the value (the rest names types), and what is there."""
    way: list[Any] = []
    for step in location:
        if isinstance(value, dict):
            key = next((k for k in value if k == step or str(k) == step), None)
            if key is None:
                continue
            way.append(key)
            value = value[key]
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            way.append(step)
            value = value[step]
    return tuple(way), value


class CaseTypes(NamedTuple):
    """The types of a dataset's inputs, expected outputs and metadata."""

    inputs: ValueType
    output: ValueType
    metadata: ValueType

    @property
    def are_any(self) -> bool:
        """Whether nothing needs validating."""
        return all(each.is_any for each in self)


def case_types(types: Sequence[Any] | None) -> CaseTypes:
    """The three types; those that are not given are `Any`.

    Raises:
        InvalidOptionError: there are more than three, or pydantic cannot validate one of them.
    """
    given = () if types is None else tuple(types)
    if len(given) > 3:
        raise InvalidOptionError(f"types must be (inputs, output, metadata), got {types!r}")
    made = CaseTypes(*(ValueType(each) for each in (*given, Any, Any, Any)[:3]))
    for each in made:
        if not each.is_any:
            _ = each.adapter  # so that a type that cannot be validated is named before the file is read
    return made


def type_arguments(kind: Any, origin: type) -> tuple[Any, ...]:
    """The arguments of `Dataset[...]`, also of a class that derives from it; none for plain `Dataset`."""
    cls: Any = get_origin(kind) or kind
    given = get_args(kind)
    if cls is origin:
        return given
    filled = dict(zip(getattr(cls, "__parameters__", ()), given, strict=False))
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        ancestor = get_origin(base) or base
        if isinstance(ancestor, type) and issubclass(ancestor, origin):
            return tuple(filled.get(each, each) for each in type_arguments(base, origin))
    return ()


# ---------------------------------------------------------------------- values without a type


DEEPEST = 150
"""The deepest nesting of a value; some readers go only a little deeper."""
_MOST_DIGITS = 4000
"""Python converts integers of up to 4,300 digits."""


def check_plain(
    value: Any, steps: Steps, problems: Problems, *, as_yaml: bool = False, depth: int = 0
) -> None:
    """Add to the problems what the format cannot hold."""
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is str:
        _check_text(value, steps, problems)
    elif kind is int:
        if abs(value) >= 10**_MOST_DIGITS:
            problems.add(steps, f"an integer of more than {_MOST_DIGITS} digits could not be read back")
    elif kind is float:
        if not as_yaml and not math.isfinite(value):
            problems.add(steps, "JSON has no such number", value)
    elif kind is not list and kind is not dict:
        problems.add(steps, _about(value), value)
    elif depth >= DEEPEST:
        problems.add(steps, f"nested more than {DEEPEST} levels deep")
    elif kind is list:
        for index, item in enumerate(value):
            check_plain(item, (*steps, index), problems, as_yaml=as_yaml, depth=depth + 1)
    else:
        for key, item in value.items():
            if type(key) is str:
                _check_text(key, steps, problems)
            elif not as_yaml or (key is not None and type(key) not in {int, bool}):
                problems.add(steps, "a key would come back as something else: make it text", key)
            check_plain(item, (*steps, key), problems, as_yaml=as_yaml, depth=depth + 1)


def _check_text(text: str, steps: Steps, problems: Problems) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        problems.add(steps, "text with half of a surrogate pair cannot be written as UTF-8", text)


def _about(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, tuple | set | frozenset):
        return (
            f"a {name} would come back as a list: make it one, or state the type with Dataset[...] or types="
        )
    if dataclasses.is_dataclass(value) or hasattr(value, "model_dump"):
        return f"a {name} would come back as a dict: state the type with Dataset[{name}, ...] or types="
    return f"a value of type {name} is not plain data: state the type with Dataset[...] or types="


def same(left: Any, right: Any, *, widen: bool = False) -> bool:
    """Whether two values are equal and of the same types throughout: 1 is not 1.0, except with `widen`, and NaN is NaN."""
    if left is right:
        return True
    if type(left) is not type(right):
        return widen and {type(left), type(right)} == {int, float} and bool(left == right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key], widen=widen) for key in left)
    if isinstance(left, list | tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, widen=widen) for a, b in pairs)
    if isinstance(left, float):
        # Zero has a sign, and NaN differs from itself.
        return repr(left) == repr(right)
    try:
        return bool(left == right) or repr(left) == repr(right)
    except Exception:  # arrays and the like have no single truth value
        return repr(left) == repr(right)
