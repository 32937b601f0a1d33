"""Objects that a file makes by name: their parameters, the arguments a file gives, and the modules a name may come from.

A file names an object in one of three ways: `Name`, `{Name: value}` with its first parameter, or
`{Name: {parameter: value, ...}}`. A mapping is always read as named parameters, except for those keys of a first parameter that
may be given without its name (`Parameter.keys`). Null is no value for a required first parameter, since YAML reads a
forgotten value as null; to give null, write the parameter's name.

The parameters of a class are those of its constructor. Those of a plugin's own evaluator are the parameters of its
`create_evaluator`. Those of a function are the ones that are not filled from the attempt:
`def close(output, expected_output, tolerance=0.1)` takes a `tolerance`.

Arguments are validated against the annotations as strictly as JSON allows: an ISO duration becomes a `timedelta` and an
array a tuple, but text is no number and `true` is not 1. A `Trace` is written as an object with its fields. An evaluator in
an argument is written like any other, at any depth: `CompositeEvaluator: [[EqualsExpected, 2], MaxDuration: 1]`.

The module of `module:Name` is imported only if the caller allowed it by name or pattern, so that neither a file alone nor an
installed package alone can make code run.
"""

import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from calipers.agents import BaseEvaluator
from calipers.data.argument_checks import did_you_mean
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_styles import _SOURCES as OF_ATTEMPTS
from calipers.data.trace import Trace
from calipers.data.trace_json import read_trace, trace_data
from calipers.plugins.evaluator_factory import EvaluatorFactory
from calipers.report.report_evaluator import _SOURCES as OF_REPORTS

from .problem import Problems, Steps, argument_names
from .value_type import read_as_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter


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
        """Whether it may be given without its name."""
        self.keys = keys
        """Keys of its value, a mapping, that may be given without its name, beside other parameters."""

    @cached_property
    def adapter(self) -> "TypeAdapter[Any] | None":
        """Validates an argument; `None` if any value will do, or pydantic does not know the type."""
        from pydantic import ConfigDict, PydanticUserError, TypeAdapter
        from pydantic_core import SchemaError

        if self.annotation in {Any, object, REQUIRED} or isinstance(self.annotation, TypeVar):
            return None
        annotation = _with_traces(self.annotation)
        # An unknown key is misspelt. Some types insist on their own config.
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
    """The annotation, with `Trace` in the form that files hold."""
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
        ValueError, TypeError: they cannot be found.
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
            # The first parameters of a function belong to the attempt.
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
            continue  # annotations that only a type checker can resolve
    return found


Build = Callable[[Any, Steps, Problems], Any]
"""Makes an evaluator of what a file says of it."""


def holds_evaluators(annotation: Any) -> bool:
    """Whether it is the annotation of an evaluator, or of something with evaluators in it."""
    return _is_evaluator(annotation) or any(holds_evaluators(each) for each in get_args(annotation))


def read_nested(annotation: Any, value: Any, steps: Steps, problems: Problems, build: Build) -> Any:
    """The argument that a file gives, with its evaluators made."""
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
    """The types of the items of a list, if the annotation allows so many."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or not inspect.isclass(origin):
        return None
    if origin is tuple and arguments[-1] is not Ellipsis:
        return list(arguments) if len(arguments) == count else None
    return [arguments[0]] * count if issubclass(origin, Sequence) else None


def _is_evaluator(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return inspect.isclass(kind) and issubclass(kind, Evaluator | BaseEvaluator)


Read: TypeAlias = Callable[[Parameter, Any, Steps, Problems], Any]
"""Reads one argument; what is wrong is added to the problems."""


def read_spec(spec: Any, steps: Steps, problems: Problems, *, what: str) -> tuple[str | None, Any, Steps]:
    """The name, what it is given, and where that stands; for a bare name, an empty mapping."""
    if isinstance(spec, str) and spec:
        return spec, {}, steps
    if isinstance(spec, dict) and len(spec) == 1:
        (name,) = spec
        if isinstance(name, str) and name:
            return name, spec[name], (*steps, name)
    problems.add(steps, f"expected {what} as Name, {{Name: value}} or {{Name: {{parameter: value}}}}", spec)
    return None, None, steps


def read_arguments(
    parameters: Sequence[Parameter],
    given: Any,
    steps: Steps,
    problems: Problems,
    *,
    read: Read = Parameter.read,
) -> dict[str, Any]:
    """The arguments by name, validated; what is wrong is added to the problems."""
    if isinstance(given, dict) and all(isinstance(key, str) for key in given):
        return _read_named({each.name: each for each in parameters}, given, steps, problems, read)
    first = next(iter(parameters), None)
    if first is None or not first.by_position:
        way_out = ", or parameters with their names" if parameters else ""
        problems.add(steps, f"{steps[-1]} takes no value: write its name alone{way_out}", given)
        return {}
    if given is None and first.required:
        message = (
            f"{steps[-1]} needs a value, and there is none: write {{{first.name}: null}} if you mean null"
        )
        problems.add(steps, message)
        return {}
    missing = [each.name for each in parameters if each.required and each is not first]
    if missing:
        problems.add(
            steps, f"{steps[-1]} also needs {', '.join(missing)}: write {{parameter: value}} pairs", given
        )
    return {first.name: read(first, given, steps, problems)}


def _read_named(
    parameters: dict[str, Parameter], given: dict[str, Any], steps: Steps, problems: Problems, read: Read
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    first = next(iter(parameters.values()), None)
    if first is not None and first.name not in given and (inner := _keys_of(first, given)):
        arguments[first.name] = read(first, inner, steps, problems)
        given = {key: value for key, value in given.items() if key not in inner}
    for key, value in given.items():
        parameter = parameters.get(key)
        if parameter is not None:
            arguments[key] = read(parameter, value, (*steps, key), problems)
            continue
        unnamed = () if first is None or first.name in given else first.keys
        hint = did_you_mean(key, [*parameters, *unnamed])
        if not hint:
            hint = f"; it takes {', '.join(parameters) or 'none'}"
            if first is not None and not given.keys() & parameters.keys():
                hint += f" (a mapping as a value needs its parameter's name: {{{first.name}: {{...}}}})"
        problems.add((*steps, key), f"no parameter is called {key!r}{hint}", of_key=True)
    missing = [
        name
        for name, each in parameters.items()
        if each.required and name not in given and name not in arguments
    ]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        problems.add(
            steps, f"the parameter{'s' * (are == 'are')} {', '.join(map(repr, missing))} {are} missing"
        )
    return arguments


def _keys_of(first: Parameter, given: dict[str, Any]) -> dict[str, Any]:
    """The given keys of a first parameter that is not named."""
    return {key: value for key, value in given.items() if key in first.keys}


def import_allowed(
    name: str, allow_modules: Sequence[str], steps: Steps, problems: Problems, *, what: str = "evaluators"
) -> Any:
    """The object of `module:Name`, or `None`; what is wrong is added to the problems.

    `allow_modules` has names and patterns of modules; `package.*` also covers the package itself. `what` is for the message.
    """
    module, _, attribute = name.partition(":")
    if module.endswith(".py"):
        dotted = module.removesuffix(".py").strip("./").replace("/", ".")
        problems.add(steps, f"{name} names a file: name its module, {dotted}:{attribute}")
        return None
    if not any(_allows(pattern, module) for pattern in allow_modules):
        way = argument_names().allow_module.format(module)
        problems.add(steps, f"{what} of the module {module!r} are not allowed here: {way} allows them")
        return None
    try:
        found = getattr(import_module(module), attribute)  # no dots: what a module imported is not its own
    except Exception as error:  # importing runs the module's code
        problems.add(steps, f"{name} could not be imported: {type(error).__name__}: {error}")
        return None
    if found is None:
        problems.add(steps, f"{name} is None")
    return found


def _allows(pattern: str, module: str) -> bool:
    return fnmatchcase(module, pattern) or (pattern.endswith(".*") and module == pattern[:-2])
