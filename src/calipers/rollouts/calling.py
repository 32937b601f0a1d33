"""Calling a player, however it was written: sync or async, on the event loop or in a thread.

An async method runs on the event loop. A sync one runs in a thread, because nobody knows how long it waits, and while it
waits on the event loop no other rollout goes on. An attribute `blocking = False` says that it does not wait: the rule-based
players of this package have it.
"""

import inspect
from collections.abc import Callable
from typing import Any

from calipers.process.user_code import call_in_thread


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, as far as it tells."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def is_blocking(player: Any, *, unless_told: bool = True) -> bool:
    """Whether a sync method of a player belongs in a thread: its attribute `blocking`, if it is True or False.

    A player may be a function, which says it by an attribute of its own, or a method, whose object says it.
    """
    for each in (player, getattr(player, "__self__", None)):
        if isinstance(told := getattr(each, "blocking", None), bool):
            return told
    return unless_told


async def ask(method: Callable[..., Any], *arguments: Any, blocking: bool) -> Any:
    """What a method of a player gives."""
    if blocking and not is_async(method):
        given = await call_in_thread(method, *arguments)
    else:
        given = method(*arguments)
    return await given if inspect.isawaitable(given) else given
