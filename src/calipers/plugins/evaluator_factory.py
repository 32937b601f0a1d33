"""The evaluators that plugins provide, for dataset files and for runs."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError, PluginError

EvaluatorType: TypeAlias = Callable[..., Any]
"""What a file may name: a class, a function, or an `EvaluatorFactory`."""


class EvaluatorFactory:
    """A plugin's own evaluator: called with parameters, it makes a new one."""

    def __init__(self, name: str, create: Callable[..., Any], doc: str | None) -> None:
        self.name = name
        """The name of the plugin, which files use."""
        self.create = create
        self.__doc__ = doc
        self.__signature__ = inspect.signature(create)

    def __call__(self, **parameters: Any) -> Any:
        """A new evaluator.

        Raises:
            Exception: whatever the plugin raises; what would end the process becomes a `PluginError`.
        """
        try:
            return self.create(**parameters)
        except (SystemExit, GeneratorExit) as error:
            raise PluginError(
                f"{self.name} could not make its evaluator: {describe_error(error)[1]}"
            ) from error

    def __repr__(self) -> str:
        return f"EvaluatorFactory({self.name!r})"


@dataclass
class UnavailableEvaluator(Evaluator[Any, Any, Any]):
    """Stands for an evaluator that a plugin could not make. It fails on every attempt, so nothing passes without it."""

    plugin: str
    """The name of the plugin."""
    error: str
    """Why there is none."""

    def get_default_evaluation_name(self) -> str:
        """The name of the plugin."""
        return self.plugin

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
        """Raise the reason."""
        del ctx
        raise PluginError(f"the plugin {self.plugin!r} could not make its evaluator: {self.error}")


def name_of(kind: Any) -> str:
    """The name of an evaluator type in files.

    Raises:
        InvalidOptionError: it is not a class or function of evaluators, or has no name.
    """
    if isinstance(kind, EvaluatorFactory):
        return kind.name
    name = getattr(kind, "__name__", None)
    if inspect.isclass(kind):
        if not any(
            callable(getattr(kind, method, None)) for method in ("evaluate", "compute_metrics")
        ) and not any("__call__" in base.__dict__ for base in kind.__mro__):
            raise InvalidOptionError(
                f"{kind!r} is not an evaluator type: its objects have no evaluate method"
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
