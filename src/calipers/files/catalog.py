"""Evaluators by their names in files: made from what a file says, and written back.

A name is that of a type that the caller passed, such as one of a loaded plugin, else that of a built-in evaluator, or it is
`module:Name`, if the caller allowed the module.

An evaluator is written in the shortest form that builds an equal one: arguments that equal their defaults are left out. An
evaluator that a file cannot hold, such as a lambda, is a problem: a dataset that lost an evaluator would pass more.
"""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from calipers import agents, evaluators, judges
from calipers.data.argument_checks import check_texts, did_you_mean
from calipers.data.evaluator import Evaluator, changed_fields
from calipers.data.evaluator_styles import _Adapter, _arguments, as_evaluator
from calipers.errors import InvalidOptionError
from calipers.plugins.evaluator_factory import EvaluatorFactory, name_of
from calipers.report.report_evaluator import ReportEvaluator, as_report_evaluator

from .named_objects import (
    Parameter,
    holds_evaluators,
    import_allowed,
    nested_in,
    parameters_of,
    read_arguments,
    read_nested,
    read_spec,
)
from .problem import Problems, Steps, argument_names, first_line_of, shorten
from .value_type import check_plain, dump_as_json

LATER = {"RolloutCurves": "calipers.rollouts", "TargetHeld": "calipers.rollouts"}
"""Evaluators of packages that are loaded only when a file names them."""

Kind = Callable[..., Any]
"""A class or function of evaluators, or the factory of a plugin."""


class Catalog:
    """The evaluator types that a file may name."""

    def __init__(self, evaluator_types: Sequence[Kind] = (), allow_modules: Sequence[str] = ()) -> None:
        self._modules = list(check_texts("allow_modules", allow_modules))
        self._given: dict[str, Kind] = {}
        for kind in evaluator_types:
            name = name_of(kind)
            if self._given.setdefault(name, kind) is not kind:
                raise InvalidOptionError(
                    f"two of {argument_names().evaluator_types} are called {name!r}: {self._given[name]!r} and {kind!r}"
                )

    def build(self, spec: Any, steps: Steps, problems: Problems, *, of_report: bool = False) -> Any:
        """The evaluator that a file describes, or `None`; what is wrong is added to the problems."""
        name, given, at = read_spec(spec, steps, problems, what="an evaluator")
        kind = None if name is None else self._find(name, steps, problems)
        if kind is None:
            return None
        if derives(kind, Evaluator if of_report else ReportEvaluator):
            where = "evaluators" if of_report else "report_evaluators"
            what = "single attempts" if of_report else "a whole report"
            problems.add(steps, f"{name} judges {what}: list it under {where}")
            return None
        before = len(problems.found)
        try:
            parameters = parameters_of(kind, of_report=of_report)
            arguments = read_arguments(parameters, given, at, problems, read=self._read)
            if len(problems.found) > before:
                return None
            made = _make(kind, arguments)
            (as_report_evaluator if of_report else as_evaluator)(made)
        except Exception as error:  # whatever a constructor checks
            problems.add(at, first_line_of(error))
            return None
        return made

    def _find(self, name: str, steps: Steps, problems: Problems) -> Kind | None:
        """The type of this name."""
        if name in self._given:
            return self._given[name]
        if ":" in name:
            return self._import(name, steps, problems)
        for package in (evaluators, judges, agents):
            if name in package.__all__ and is_built_in(kind := getattr(package, name)):
                return kind  # type: ignore[no-any-return]
        if name in LATER:
            return _later(name)
        known = [*self._given, *(each.__name__ for each in built_in_types())]
        hint = did_you_mean(name, known) or argument_names().own_evaluators
        problems.add(steps, f"no evaluator is called {shorten(name)}{hint}")
        return None

    def _import(self, name: str, steps: Steps, problems: Problems) -> Kind | None:
        kind = import_allowed(name, self._modules, steps, problems)
        if kind is None:
            return None
        try:
            name_of(kind)
        except InvalidOptionError as error:
            problems.add(steps, str(error))
            return None
        return kind  # type: ignore[no-any-return]

    def _read(self, parameter: Parameter, value: Any, steps: Steps, problems: Problems) -> Any:
        if holds_evaluators(parameter.annotation):
            return read_nested(parameter.annotation, value, steps, problems, self.build)
        return parameter.read(value, steps, problems)


def is_built_in(kind: Any) -> bool:
    """Whether it is a built-in evaluator."""
    bases = (Evaluator, ReportEvaluator, agents.BaseEvaluator)
    return (
        inspect.isclass(kind)
        and issubclass(kind, bases)
        and kind not in bases
        and not inspect.isabstract(kind)
        and (
            any(getattr(package, kind.__name__, None) is kind for package in (evaluators, judges, agents))
            or (kind.__name__ in LATER and _later(kind.__name__) is kind)
        )
    )


def built_in_types() -> list[type]:
    """All built-in evaluators, each once."""
    everything = (
        getattr(package, name) for package in (evaluators, judges, agents) for name in package.__all__
    )
    return [*dict.fromkeys(kind for kind in everything if is_built_in(kind)), *map(_later, LATER)]


def _later(name: str) -> type:
    return getattr(importlib.import_module(LATER[name]), name)  # type: ignore[no-any-return]


def derives(kind: Kind, base: type) -> bool:
    """Whether it is a class that derives from another."""
    return inspect.isclass(kind) and issubclass(kind, base)


def _make(kind: Kind, arguments: dict[str, Any]) -> Any:
    if isinstance(kind, EvaluatorFactory):
        return kind(**arguments)
    if not inspect.isclass(kind):
        return functools.partial(kind, **arguments) if arguments else kind
    positional = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return kind(*(arguments.pop(name) for name in positional if name in arguments), **arguments)


# ---------------------------------------------------------------------- writing


def kind_of(evaluator: Any) -> Kind:
    """The class or function of an evaluator."""
    evaluator = _origin(evaluator)
    while isinstance(evaluator, functools.partial):
        evaluator = evaluator.func
    return evaluator if inspect.isroutine(evaluator) else type(evaluator)


def kinds_of(evaluator: Any, *, of_report: bool = False) -> list[Kind]:
    """The classes and functions of an evaluator and of those inside it."""
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
        ValueError: that is unknown.
    """
    origin = _origin(evaluator)
    if origin is not evaluator and as_evaluator(origin).name != evaluator.name:  # type: ignore[attr-defined]
        raise ValueError(f"its name {evaluator.name!r} was given to as_evaluator, which a file cannot say")
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
        raise ValueError(f"make {kind.__name__} a dataclass, so that its arguments are known")
    return {}


def _dump(parameter: Any, value: Any) -> Any:
    """The argument as plain data, as far as its annotation allows."""
    if parameter is not None and holds_evaluators(parameter.annotation):
        return _dump_nested(value)
    quiet = Problems("")
    check_plain(value, (), quiet, as_yaml=True)
    if not quiet.found or parameter is None or parameter.adapter is None:
        return value
    return dump_as_json(parameter.adapter, value)


def _dump_nested(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_dump_nested(item) for item in value]
    inner = list(nested_in(value))
    return _write(value, kind_of(value), of_report=False) if inner else value
