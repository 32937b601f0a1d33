"""Evaluators as files write them: the shortest form that builds an equal evaluator again.

Arguments that equal their defaults are left out. An evaluator that a file cannot hold, such as a lambda, is a problem and
not a gap: a dataset that lost a judge would pass more.
"""

import dataclasses
import functools
import inspect
from typing import Any

from calipers.data.evaluator import Evaluator, changed_fields
from calipers.data.evaluator_styles import _Adapter, _arguments, as_evaluator
from calipers.errors import InvalidOptionError
from calipers.plugins.evaluator_factory import name_of
from calipers.report.report_evaluator import ReportEvaluator

from .catalog import Catalog, Kind
from .nested import holds_evaluators, nested_in
from .parameters import parameters_of
from .plain_data import check_plain
from .problem import Problems, Steps, shorten


def kind_of(evaluator: Any) -> Kind:
    """The class or function that an evaluator is made of."""
    evaluator = _origin(evaluator)
    while isinstance(evaluator, functools.partial):
        evaluator = evaluator.func
    return evaluator if inspect.isroutine(evaluator) else type(evaluator)


def kinds_of(evaluator: Any, *, of_report: bool = False) -> list[Kind]:
    """The classes and functions that an evaluator is made of, and those of the evaluators in it."""
    kind = kind_of(evaluator)
    parameters = parameters_of(kind, of_report=of_report)
    holding = [each.name for each in parameters if holds_evaluators(each.annotation)]
    arguments = _arguments_of(evaluator, kind, of_report=of_report) if holding else {}
    inner = [part for name in holding for part in nested_in(arguments.get(name))]
    return [kind, *(each for part in inner for each in kinds_of(part))]


def write_evaluator(
    evaluator: Any, steps: Steps, problems: Problems, *, of_report: bool = False, as_yaml: bool = False
) -> Any:
    """The evaluator as `Name`, `{Name: value}` or `{Name: {parameter: value}}`; what is wrong is added to the problems."""
    kind = kind_of(evaluator)
    try:
        spec = _write(evaluator, kind, of_report=of_report)
        catalog = Catalog(kinds_of(evaluator, of_report=of_report))
    except (InvalidOptionError, ValueError, TypeError) as error:
        problems.add(steps, f"a file cannot hold the evaluator {shorten(evaluator)}: {error}")
        return None
    before = len(problems.found)
    check_plain(spec, steps, problems, as_yaml=as_yaml)
    if len(problems.found) == before:
        quiet = Problems("")
        again = catalog.build(spec, (), quiet, of_report=of_report)
        for problem in quiet.found:
            problems.add(
                steps, f"the evaluator {shorten(evaluator)} could not be read back: {problem.message}"
            )
        if not quiet.found and _write(again, kind, of_report=of_report) != spec:
            problems.add(steps, f"the evaluator {shorten(evaluator)} would come back as {shorten(again)}")
    return spec


def _write(evaluator: Any, kind: Kind, *, of_report: bool) -> Any:
    """The shortest form.

    Raises:
        ValueError: a file cannot hold it.
    """
    name = name_of(kind)
    parameters = {each.name: each for each in parameters_of(kind, of_report=of_report)}
    arguments = _arguments_of(evaluator, kind, of_report=of_report)
    written = {key: _dump(parameters.get(key), value) for key, value in arguments.items()}
    if not written:
        return name
    first = next(iter(parameters.values()), None)
    if len(written) == 1 and first is not None and first.by_position and first.name in written:
        value = written[first.name]
        is_mapping = isinstance(value, dict) and all(isinstance(key, str) for key in value)
        if not is_mapping and not (value is None and first.required):
            return {name: value}
    return {name: written}


def _origin(evaluator: Any) -> Any:
    return evaluator.origin if isinstance(evaluator, _Adapter) else evaluator


def _arguments_of(evaluator: Any, kind: Kind, *, of_report: bool) -> dict[str, Any]:
    """What the evaluator was made with, apart from defaults.

    Raises:
        ValueError: it does not tell.
    """
    origin = _origin(evaluator)
    if origin is not evaluator and as_evaluator(origin).name != evaluator.name:  # type: ignore[attr-defined]
        raise ValueError(
            f"its name {evaluator.name!r} was given to as_evaluator, and is no argument of its own"
        )
    if isinstance(origin, functools.partial):
        return _arguments(origin)
    if inspect.isroutine(origin):
        if getattr(origin, "__self__", None) is not None and not inspect.isbuiltin(origin):
            raise ValueError("it is a method of an object: make it a function, or the object an evaluator")
        return {}
    for base in (Evaluator, ReportEvaluator):
        if isinstance(origin, base) and type(origin).as_spec is not base.as_spec:
            return dict(origin.as_spec().arguments)
    if dataclasses.is_dataclass(origin):
        return changed_fields(origin)
    if parameters_of(kind, of_report=of_report):
        raise ValueError(f"make {kind.__name__} a dataclass, so that it tells what it was made with")
    return {}


def _dump(parameter: Any, value: Any) -> Any:
    """The argument as plain data, where its annotation knows how."""
    if parameter is not None and holds_evaluators(parameter.annotation):
        return _dump_nested(value)
    quiet = Problems("")
    check_plain(value, (), quiet, as_yaml=True)
    if not quiet.found or parameter is None or parameter.adapter is None:
        return value
    from pydantic_core import PydanticSerializationError

    try:
        return parameter.adapter.dump_python(
            value, mode="json", by_alias=True, round_trip=True, warnings="error"
        )
    except PydanticSerializationError:
        return value


def _dump_nested(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_dump_nested(item) for item in value]
    inner = list(nested_in(value))
    return _write(value, kind_of(value), of_report=False) if inner else value
