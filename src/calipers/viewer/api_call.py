"""A call of the API: the function that answers it, and how the parts of an address become its arguments.

A function takes the viewed store first. Its other parameters come by their names: from the path (`{run}`), from the query, or, as `body`, from
the JSON that was sent. Annotations say what they become: `str`, `int`, `float`, `bool`, `list[int]` or `list[str]` (`1,2,3`), each also with
`| None`. An unknown name is refused: what is not understood is never ignored.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints
from urllib.parse import unquote

import msgspec

from calipers.data.argument_checks import did_you_mean

from .refusal import Refusal
from .viewed_store import ViewedStore

Method: TypeAlias = Literal["GET", "PUT", "POST", "DELETE"]
ROOT: Final = "/api/v1"
"""Where all calls begin."""
_LARGEST: Final = 2**53


class ApiCall:
    """A call of the API."""

    def __init__(
        self, method: Method, path: str, function: Callable[..., Any], *, seconds: float | None = None
    ) -> None:
        """A call.

        Args:
            method: of HTTP. Everything but GET writes.
            path: below `/api/v1`, with names in braces.
            function: that answers it.
            seconds: it may take; default: what the viewed store says.
        """
        self.method = method
        self.path = path
        self.function = function
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"ApiCall({self.method} {self.path})"

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))

    def arguments_in(self, path: str) -> dict[str, str] | None:
        """The arguments in a path; `None` if it is that of another call."""
        found = self._pattern.fullmatch(path)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    @cached_property
    def _parameters(self) -> dict[str, tuple[Any, bool]]:
        """The type of each parameter but the first, and whether it must be given."""
        hints = get_type_hints(self.function)
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {each.name: (hints[each.name], each.default is each.empty) for each in parameters}

    @property
    def takes_body(self) -> bool:
        """Whether it needs what was sent."""
        return "body" in self._parameters

    def answer(
        self,
        viewed: ViewedStore,
        path: Mapping[str, str],
        query: Sequence[tuple[str, str]],
        body: bytes = b"",
    ) -> Any:
        """What the function answers.

        Raises:
            Refusal: an argument is missing, unknown, given twice, or not of its type.
        """
        given = dict(path)
        for name, value in query:
            if name not in self._parameters or name == "body" or name in path:
                known = [each for each in self._parameters if each != "body" and each not in path]
                near = did_you_mean(name, known)
                raise Refusal("bad_request", f"{self.path} has no parameter {name!r}{near}")
            if name in given:
                raise Refusal("bad_request", f"the parameter {name!r} is given twice")
            given[name] = value
        arguments: dict[str, Any] = {}
        for name, (kind, is_needed) in self._parameters.items():
            if name == "body":
                arguments[name] = _sent(body, kind)
            elif name in given:
                arguments[name] = _converted(name, given[name], kind)
            elif is_needed:
                raise Refusal("bad_request", f"{self.path} needs the parameter {name!r}")
        return self.function(viewed, **arguments)


def _sent(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Refusal("bad_request", f"the body does not fit this call: {error}") from error


def _converted(name: str, text: str, kind: Any) -> Any:
    """A text as a value of a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {UnionType, Union}:
        some = [each for each in parts if each is not NoneType]
        return None if text == "" and len(some) < len(parts) else _converted(name, text, some[0])
    if origin is list:
        return [_converted(name, each, parts[0]) for each in text.split(",") if each]
    if origin is Literal:
        if text not in parts:
            raise Refusal("bad_request", f"{name} must be {' or '.join(map(repr, parts))}, got {text!r:.100}")
        return text
    if kind is str:
        return text
    if kind is bool:
        if text not in {"true", "false"}:
            raise Refusal("bad_request", f"{name} must be true or false, got {text!r:.100}")
        return text == "true"
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not -_LARGEST <= value <= _LARGEST:  # which also leaves out NaN
        what = "a whole number" if kind is int else "a number"
        raise Refusal("bad_request", f"{name} must be {what}, got {text!r:.100}")
    return value
