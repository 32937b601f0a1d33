"""Objects that a file makes by name: the name, arguments that fit the parameters, and which modules a name may come from.

A file names an object in one of three ways: `Name`, `{Name: value}` with its first parameter, or
`{Name: {parameter: value, ...}}`. A mapping is always read as named parameters, except for those keys of a first parameter that
may be given without its name (`Parameter.keys`). Null is no value for a required first parameter, since YAML reads a
forgotten value as null; to give null, write the parameter's name.

The module of `module:Name` is imported only if the caller allowed it by name or pattern, so that neither a file alone nor an
installed package alone can make code run.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, TypeAlias

from .parameters import Parameter
from .problem import Problems, Steps, suggest

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
        hint = suggest(key, [*parameters, *unnamed]) or f"; it takes {', '.join(parameters) or 'none'}"
        if parameters and hint.startswith(";") and not given.keys() & parameters.keys():
            hint += (
                f" (a mapping as a value needs its parameter's name: {{{next(iter(parameters))}: {{...}}}})"
            )
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
    """What is given of the keys of a first parameter that is not named."""
    return {key: value for key, value in given.items() if key in first.keys}


def import_allowed(
    name: str, allow_modules: Sequence[str], steps: Steps, problems: Problems, *, what: str = "evaluators"
) -> Any:
    """The object of this name, or `None`; what is wrong is added to the problems.

    Args:
        name: `module:Name`.
        allow_modules: names and patterns of modules that may be imported; `package.*` covers the package, too.
        steps: where the name stands.
        problems: that were found so far.
        what: the kind of things that are looked for, for the message.
    """
    module, _, attribute = name.partition(":")
    if module.endswith(".py"):
        dotted = module.removesuffix(".py").strip("./").replace("/", ".")
        problems.add(steps, f"{name} names a file: name its module, {dotted}:{attribute}")
        return None
    if not any(_allows(pattern, module) for pattern in allow_modules):
        message = (
            f"{what} of the module {module!r} are not allowed here: allow_modules=[{module!r}] allows them"
        )
        problems.add(steps, message)
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
