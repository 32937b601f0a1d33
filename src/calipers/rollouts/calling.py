"""Calling a player, however it was written: sync or async, on the event loop or in a thread."""

import inspect
from collections.abc import Callable
from typing import Any

from calipers.threads import call_in_thread


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, as far as it tells."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def is_blocking(player: Any, *, unless_told: bool) -> bool:
    """Whether a player's sync method belongs in a thread: its attribute `blocking`, if it is True or False."""
    told = getattr(player, "blocking", None)
    return told if isinstance(told, bool) else unless_told


async def ask(method: Callable[..., Any], *arguments: Any, blocking: bool) -> Any:
    """What a method of a player gives."""
    if blocking and not is_async(method):
        given = await call_in_thread(method, *arguments)
    else:
        given = method(*arguments)
    return await given if inspect.isawaitable(given) else given
