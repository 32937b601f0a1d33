"""Evaluators by the names that files give them.

A file names an evaluator in one of three ways: `Name`, `{Name: value}` with its first parameter, or
`{Name: {parameter: value, ...}}`. A mapping is always taken for named parameters. Null is no value for a first parameter
that must be given: YAML takes a forgotten value for it, so who means it writes the parameter's name.

A name is that of a type the reader was given, else of a built-in evaluator, else of one that an installed package
offers as an entry point of the group `calipers.evaluators`, or it is `module:Name`. A module is imported only if the
caller allowed it by name or pattern, so that neither a file alone nor a package alone can make code run.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from calipers import evaluators as built_in
from calipers.errors import InvalidOptionError
from calipers.evaluator import Evaluator
from calipers.report_evaluator import ReportEvaluator, as_report_evaluator
from calipers.styles import as_evaluator

from .parameters import Parameter, parameters_of
from .problem import Problems, Steps, shorten, suggest

PLUGINS = "calipers.evaluators"
"""The group of entry points by which a package offers evaluators: `Name = "package.module:Name"`."""

Kind = Callable[..., Any]
"""A class or function of evaluators."""


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
        name, given, at = _read_spec(spec, steps, problems)
        kind = None if name is None else self._find(name, steps, problems)
        if kind is None:
            return None
        if inspect.isclass(kind) and issubclass(kind, Evaluator if of_report else ReportEvaluator):
            where = "evaluators" if of_report else "report_evaluators"
            what = "single attempts" if of_report else "a whole report"
            problems.add(steps, f"{name} judges {what}: list it under {where}")
            return None
        before = len(problems.found)
        try:
            arguments = _read_arguments(kind, given, at, problems, of_report=of_report)
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
        if name in built_in.__all__:
            kind = getattr(built_in, name)
            if is_built_in(kind):
                return kind  # type: ignore[no-any-return]
        for entry in entry_points(group=PLUGINS, name=name):
            return self._import(f"{entry.module}:{entry.attr}", steps, problems)
        known = [*self._given, *(each.__name__ for each in built_in_types())]
        hint = suggest(name, known) or "; your own go into evaluator_types=[...]"
        problems.add(steps, f"no evaluator is called {shorten(name)}{hint}")
        return None

    def _import(self, name: str, steps: Steps, problems: Problems) -> Kind | None:
        module, _, attribute = name.partition(":")
        if not any(_allows(pattern, module) for pattern in self._modules):
            problems.add(
                steps,
                f"evaluators of the module {module!r} are not allowed here: allow_modules=[{module!r}] allows them",
            )
            return None
        try:
            kind = getattr(import_module(module), attribute)
        except Exception as error:  # importing runs the module's code
            problems.add(steps, f"{name} could not be imported: {type(error).__name__}: {error}")
            return None
        try:
            name_of(kind)
        except InvalidOptionError as error:
            problems.add(steps, str(error))
            return None
        return kind  # type: ignore[no-any-return]


def is_built_in(kind: Any) -> bool:
    """Whether it is one of the evaluators that Calipers brings."""
    return (
        inspect.isclass(kind)
        and issubclass(kind, Evaluator | ReportEvaluator)
        and kind not in {Evaluator, ReportEvaluator}
        and getattr(built_in, kind.__name__, None) is kind
    )


def built_in_types() -> list[type]:
    """All evaluators that Calipers brings."""
    return [kind for kind in (getattr(built_in, name) for name in built_in.__all__) if is_built_in(kind)]


def name_of(kind: Any) -> str:
    """What files call a type of evaluators.

    Raises:
        InvalidOptionError: it is no class or function whose objects could judge, or has no name.
    """
    name = getattr(kind, "__name__", None)
    if inspect.isclass(kind):
        if not any(
            callable(getattr(kind, method, None)) for method in ("evaluate", "compute_metrics")
        ) and not any("__call__" in base.__dict__ for base in kind.__mro__):
            raise InvalidOptionError(
                f"{kind!r} is no type of evaluators: its objects have no evaluate method"
            )
        given = getattr(kind, "get_serialization_name", None)
        name = given() if callable(given) else name
    elif not inspect.isroutine(kind):
        raise InvalidOptionError(
            f"an evaluator type is a class or a function, got {kind!r}"
            + (f": pass the class {type(kind).__name__}" if hasattr(kind, "evaluate") else "")
        )
    if not isinstance(name, str) or not name.replace("<lambda>", ""):
        raise InvalidOptionError(
            f"{kind!r} has no name that a file could hold: make it a named function or class"
        )
    return name


def _allows(pattern: str, module: str) -> bool:
    """Whether the pattern covers the module; `package.*` covers the package, too."""
    return fnmatchcase(module, pattern) or (pattern.endswith(".*") and module == pattern[:-2])


def _read_spec(spec: Any, steps: Steps, problems: Problems) -> tuple[str | None, Any, Steps]:
    """The name, what it is given, and where that stands; for a bare name, an empty mapping."""
    if isinstance(spec, str) and spec:
        return spec, {}, steps
    if isinstance(spec, dict) and len(spec) == 1:
        (name,) = spec
        if isinstance(name, str) and name:
            return name, spec[name], (*steps, name)
    problems.add(steps, "expected an evaluator as Name, {Name: value} or {Name: {parameter: value}}", spec)
    return None, None, steps


def _read_arguments(
    kind: Kind, given: Any, steps: Steps, problems: Problems, *, of_report: bool
) -> dict[str, Any]:
    """The arguments by name, validated."""
    parameters = {each.name: each for each in parameters_of(kind, of_report=of_report)}
    if isinstance(given, dict) and all(isinstance(key, str) for key in given):
        return _read_named(parameters, given, steps, problems)
    first = next(iter(parameters.values()), None)
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
    missing = [each.name for each in parameters.values() if each.required and each is not first]
    if missing:
        problems.add(
            steps, f"{steps[-1]} also needs {', '.join(missing)}: write {{parameter: value}} pairs", given
        )
    return {first.name: first.read(given, steps, problems)}


def _read_named(
    parameters: dict[str, Parameter], given: dict[str, Any], steps: Steps, problems: Problems
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for key, value in given.items():
        parameter = parameters.get(key)
        if parameter is not None:
            arguments[key] = parameter.read(value, (*steps, key), problems)
            continue
        hint = suggest(key, parameters) or f"; it takes {', '.join(parameters) or 'none'}"
        if parameters and hint.startswith(";") and not given.keys() & parameters.keys():
            first = next(iter(parameters))
            hint += f" (a mapping as a value needs its parameter's name: {{{first}: {{...}}}})"
        problems.add((*steps, key), f"no parameter is called {key!r}{hint}", of_key=True)
    missing = [name for name, each in parameters.items() if each.required and name not in given]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        problems.add(
            steps, f"the parameter{'s' * (are == 'are')} {', '.join(map(repr, missing))} {are} missing"
        )
    return arguments


def _make(kind: Kind, arguments: dict[str, Any]) -> Any:
    if not inspect.isclass(kind):
        return functools.partial(kind, **arguments) if arguments else kind
    positional = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return kind(*(arguments.pop(name) for name in positional if name in arguments), **arguments)
