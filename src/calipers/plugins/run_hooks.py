"""The hooks of runs: what each can be told, and calling those of a plugin with what their parameters name."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from calipers.data.lifecycle import RunHook
from calipers.errors import PluginError

from .plugin import PluginBase, defines

DETAILS: Final[dict[RunHook, tuple[str, ...]]] = {
    "on_suite_start": ("name", "dataset_name", "total", "repeat", "seed", "metadata"),
    "on_test_start": ("test_name", "case", "repeat_index"),
    "on_test_end": ("test_name", "case", "repeat_index", "record"),
    "on_suite_end": ("name", "report"),
}
"""What the parameters of each hook may name."""


class Hook:
    """A hook of one plugin: called with all there is to tell, it passes on what its parameters name."""

    def __init__(self, method: Callable[..., Any], wanted: tuple[str, ...]) -> None:
        self.method = method
        self.wanted = wanted
        """The names of what it is told."""

    def __call__(self, details: Mapping[str, Any]) -> Any:
        """What the method returns, which may have to be awaited."""
        return self.method(**{name: details.get(name) for name in self.wanted})


def hooks_of(plugin: PluginBase) -> dict[RunHook, Hook]:
    """The hooks of runs that a plugin has.

    Raises:
        PluginError: one asks for what nobody can tell it.
    """
    return {
        hook: Hook(method, _wanted(hook, method, known))
        for hook, known in DETAILS.items()
        if defines(type(plugin), hook)
        for method in [getattr(plugin, hook)]
    }


def call_plainly(hook: Callable[[], Any]) -> None:
    """Call a hook that runs outside of any event loop.

    Raises:
        PluginError: it is async, and nobody would await it.
    """
    outcome = hook()
    if inspect.isawaitable(outcome):
        if inspect.iscoroutine(outcome):
            outcome.close()
        raise PluginError(
            "it is async, and only the hooks of runs can be: there is no event loop to await it"
        )


def _wanted(hook: str, method: Callable[..., Any], known: tuple[str, ...]) -> tuple[str, ...]:
    wanted: list[str] = []
    for name, parameter in inspect.signature(method).parameters.items():
        match parameter.kind:
            case parameter.VAR_KEYWORD:
                return known
            case parameter.POSITIONAL_OR_KEYWORD | parameter.KEYWORD_ONLY if name in known:
                wanted.append(name)
            case parameter.VAR_POSITIONAL:
                pass
            case _ if parameter.default is parameter.empty:
                raise PluginError(
                    f"{hook} has a parameter {name!r} that nothing is known for: it may name {', '.join(known)}"
                )
    return tuple(wanted)
