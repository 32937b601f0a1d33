"""What a type of evaluator can be given in a file: its parameters, with their types.

Those of a class are the parameters of its constructor, so the fields of a dataclass. Those of a plugin's own evaluator are
the parameters of its `create_evaluator`. Those of a function are the ones that are not filled from the attempt:
`def close(output, expected_output, tolerance=0.1)` takes a `tolerance`.

Arguments are validated against the annotations as strictly as JSON allows: an ISO duration becomes a `timedelta` and an
array a tuple, but text is no number and `true` is no 1. A `Trace` is written as an object with the fields of one.

A parameter whose annotation holds evaluators is written in their forms, at any depth:
`CompositeEvaluator: [[EqualsExpected, 2], MaxDuration: 1]` is a list of an evaluator with its weight, and an evaluator.
"""

import inspect
import types
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from calipers.data.evaluator_styles import _SOURCES as OF_ATTEMPTS
from calipers.data.trace import Trace
from calipers.data.trace_json import read_trace, trace_data
from calipers.plugins.evaluator_factory import EvaluatorFactory
from calipers.report.report_evaluator import _SOURCES as OF_REPORTS

from .problem import Problems, Steps
from .value_type import read_as_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter
from collections.abc import Iterator, Sequence

from calipers.agents import BaseEvaluator
from calipers.data.evaluator import Evaluator

REQUIRED: Final[Any] = inspect.Parameter.empty


class Parameter:
    """One parameter of an evaluator type."""

    def __init__(
        self, name: str, annotation: Any, *, required: bool, by_position: bool, keys: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.annotation = annotation
        self.required = required
        self.by_position = by_position
        """Whether it can be given without its name."""
        self.keys = keys
        """Those keys of a mapping as its value that may be given without its name, beside other parameters."""

    @cached_property
    def adapter(self) -> "TypeAdapter[Any] | None":
        """What validates an argument; `None` where everything will do, or pydantic does not know the type."""
        from pydantic import ConfigDict, PydanticUserError, TypeAdapter
        from pydantic_core import SchemaError

        if self.annotation in {Any, object, REQUIRED} or isinstance(self.annotation, TypeVar):
            return None
        annotation = _with_traces(self.annotation)
        # A key that nothing reads is misspelt. A type may insist on its own config.
        for config in (ConfigDict(arbitrary_types_allowed=True, extra="forbid"), None):
            try:
                return TypeAdapter(annotation, config=config)
            except (PydanticUserError, SchemaError, NameError, TypeError):
                continue
        return None

    def read(self, value: Any, steps: Steps, problems: Problems) -> Any:
        """The argument that a file gives, validated; what is wrong is added to the problems."""
        return value if self.adapter is None else read_as_json(self.adapter, value, steps, problems)


def _with_traces(annotation: Any) -> Any:
    """The annotation, with the way in which files hold traces in the place of `Trace`."""
    from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

    if get_origin(annotation) in {Union, types.UnionType}:
        return Union[tuple(map(_with_traces, get_args(annotation)))]  # noqa: UP007 - of as many as there are
    if annotation is not Trace:
        return annotation
    return Annotated[
        Trace, PlainValidator(_read_trace), PlainSerializer(trace_data), WithJsonSchema({"type": "object"})
    ]


def _read_trace(data: Any) -> Trace:
    unknown = set(data) - {field.name for field in fields(Trace)} if isinstance(data, dict) else set()
    if unknown:
        raise ValueError(f"a trace has no {', '.join(map(repr, sorted(map(str, unknown))))}")
    return read_trace(data)


@lru_cache(maxsize=1024)
def parameters_of(kind: Callable[..., Any], *, of_report: bool = False) -> tuple[Parameter, ...]:
    """The parameters of a class or function of evaluators.

    Raises:
        ValueError, TypeError: it does not tell its parameters.
    """
    hints = _hints(kind)
    makes = inspect.isclass(kind) or isinstance(kind, EvaluatorFactory)
    filled = set[str]() if makes else set(OF_REPORTS if of_report else OF_ATTEMPTS)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = [
        (name, parameter)
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind not in variadic and name not in filled
    ]
    return tuple(
        Parameter(
            name,
            hints.get(name, Any),
            required=parameter.default is REQUIRED,
            # What a function is given goes by name, for its first parameters belong to the attempt.
            by_position=not makes or parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
            keys=() if place else tuple(getattr(kind, "unnamed_in_files", ())),
        )
        for place, (name, parameter) in enumerate(given)
    )


def _hints(kind: Callable[..., Any]) -> dict[str, Any]:
    owners: list[Any] = [getattr(kind, "func", kind)]
    if inspect.isclass(kind):
        owners = [kind, kind.__init__]
    elif isinstance(kind, EvaluatorFactory):
        owners = [kind.create]
    found: dict[str, Any] = {}
    for owner in owners:
        try:
            found |= get_type_hints(owner, include_extras=True)
        except (NameError, TypeError, AttributeError):
            continue  # annotations that only a type checker can resolve tell us nothing
    return found


Build = Callable[[Any, Steps, Problems], Any]
"""Makes an evaluator of what a file says of it."""


def holds_evaluators(annotation: Any) -> bool:
    """Whether what is annotated so is an evaluator, or has evaluators in it."""
    return _is_evaluator(annotation) or any(holds_evaluators(each) for each in get_args(annotation))


def read_nested(annotation: Any, value: Any, steps: Steps, problems: Problems, build: Build) -> Any:
    """The argument that a file gives, with evaluators in the place of what describes them."""
    members = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    if isinstance(value, list):
        for member in members:
            kinds = _item_types(member, len(value))
            if kinds is not None:
                items = [
                    read_nested(kind, item, (*steps, index), problems, build)
                    for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
                ]
                return tuple(items) if get_origin(member) is tuple else items
    if value is None and type(None) in members:
        return None
    if any(map(_is_evaluator, members)):
        return build(value, steps, problems)
    if holds_evaluators(annotation):
        problems.add(steps, "expected a list", value)
        return None
    return Parameter("", annotation, required=True, by_position=True).read(value, steps, problems)


def nested_in(value: Any) -> Iterator[Any]:
    """The evaluators in an argument that holds some: whatever is neither a list nor plain data."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from nested_in(item)
    elif not isinstance(value, str | int | float | None):
        yield value


def _item_types(annotation: Any, count: int) -> list[Any] | None:
    """The types of the items of a list, if that many could be annotated so."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or not inspect.isclass(origin):
        return None
    if origin is tuple and arguments[-1] is not Ellipsis:
        return list(arguments) if len(arguments) == count else None
    return [arguments[0]] * count if issubclass(origin, Sequence) else None


def _is_evaluator(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return inspect.isclass(kind) and issubclass(kind, Evaluator | BaseEvaluator)
