"""Evaluators by the names that files give them.

A name is that of a type the reader was given, those of loaded plugins among them, else of a built-in evaluator, or it is
`module:Name`, if the caller allowed the module.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from calipers import agents, evaluators
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_styles import as_evaluator
from calipers.errors import InvalidOptionError
from calipers.plugins.evaluator_factory import EvaluatorFactory, name_of
from calipers.report.report_evaluator import ReportEvaluator, as_report_evaluator

from .allowed_modules import import_allowed
from .arguments import read_arguments, read_spec
from .nested import holds_evaluators, read_nested
from .parameters import Parameter, parameters_of
from .problem import Problems, Steps, shorten, suggest

LATER = {"RolloutCurves": "calipers.rollouts", "TargetHeld": "calipers.rollouts"}
"""Evaluators of packages that build on this one, and where they are: loaded when a file names them."""

Kind = Callable[..., Any]
"""A class or function of evaluators, or what a plugin makes its evaluator with."""


class Catalog:
    """The evaluator types that a file may name."""

    def __init__(self, evaluator_types: Sequence[Kind] = (), allow_modules: Sequence[str] = ()) -> None:
        if isinstance(allow_modules, str):
            raise InvalidOptionError(f"allow_modules must be a list of patterns, got {allow_modules!r}")
        self._modules = list(allow_modules)
        self._given: dict[str, Kind] = {}
        for kind in evaluator_types:
            name = name_of(kind)
            if self._given.setdefault(name, kind) is not kind:
                raise InvalidOptionError(
                    f"two of evaluator_types are called {name!r}: {self._given[name]!r} and {kind!r}"
                )

    def build(self, spec: Any, steps: Steps, problems: Problems, *, of_report: bool = False) -> Any:
        """The evaluator that a file describes, or `None`; what is wrong is added to the problems."""
        name, given, at = read_spec(spec, steps, problems, what="an evaluator")
        kind = None if name is None else self._find(name, steps, problems)
        if kind is None:
            return None
        if _derives(kind, Evaluator if of_report else ReportEvaluator):
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
            problems.add(at, str(error).partition("\n")[0] or type(error).__name__)
            return None
        return made

    def _find(self, name: str, steps: Steps, problems: Problems) -> Kind | None:
        """The type of this name."""
        if name in self._given:
            return self._given[name]
        if ":" in name:
            return self._import(name, steps, problems)
        for package in (evaluators, agents):
            if name in package.__all__ and is_built_in(kind := getattr(package, name)):
                return kind  # type: ignore[no-any-return]
        if name in LATER:
            return _later(name)
        known = [*self._given, *(each.__name__ for each in built_in_types())]
        hint = suggest(name, known) or "; your own, and those of plugins, go into evaluator_types=[...]"
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
    """Whether it is one of the evaluators that Calipers brings."""
    bases = (Evaluator, ReportEvaluator, agents.BaseEvaluator)
    return (
        inspect.isclass(kind)
        and issubclass(kind, bases)
        and kind not in bases
        and (
            any(getattr(package, kind.__name__, None) is kind for package in (evaluators, agents))
            or (kind.__name__ in LATER and _later(kind.__name__) is kind)
        )
    )


def built_in_types() -> list[type]:
    """All evaluators that Calipers brings, each once: some have a second name."""
    everything = (getattr(package, name) for package in (evaluators, agents) for name in package.__all__)
    return [*dict.fromkeys(kind for kind in everything if is_built_in(kind)), *map(_later, LATER)]


def _later(name: str) -> type:
    return getattr(importlib.import_module(LATER[name]), name)  # type: ignore[no-any-return]


def _derives(kind: Kind, base: type) -> bool:
    return inspect.isclass(kind) and issubclass(kind, base)


def _make(kind: Kind, arguments: dict[str, Any]) -> Any:
    if isinstance(kind, EvaluatorFactory):
        return kind(**arguments)
    if not inspect.isclass(kind):
        return functools.partial(kind, **arguments) if arguments else kind
    positional = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return kind(*(arguments.pop(name) for name in positional if name in arguments), **arguments)
