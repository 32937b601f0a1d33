"""Objects that a file names as `module:Name`.

A module is imported only if the caller allowed it by name or pattern, so that neither a file alone nor an installed package
alone can make code run.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from .problem import Problems, Steps


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
