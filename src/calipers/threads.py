"""Calling the code of others: without blocking the event loop, without waiting for what hangs, and without being ended by it.

The threads are daemons, unlike those of `concurrent.futures`: a task that never returns can be left behind, and does
not keep the process alive at exit.
"""

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from inspect import isawaitable
from typing import Any


async def settled(function: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
    """What a function gives, awaited if it has to be, or what it raises.

    An `asyncio` task that ends with `SystemExit` or `KeyboardInterrupt` ends the whole event loop; one that ends with this
    outcome does not. A `GeneratorExit` that the function raises becomes another error: to those who await it, it would mean
    that they are closed.
    """
    try:
        value = function(*arguments)
        return (await value if isawaitable(value) else value), None
    except GeneratorExit as error:
        return None, own_exit(error)
    except BaseException as error:
        return None, error


def own_exit(error: GeneratorExit) -> RuntimeError:
    """The error for code that raised `GeneratorExit` itself."""
    failure = RuntimeError("raised GeneratorExit")
    failure.__cause__ = error
    return failure


def call_in_thread(function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
    """Call a function in a thread of its own, in a copy of the current context."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def deliver(result: Any, error: BaseException | None) -> None:
        if future.done():  # cancelled, or given up on
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = context.run(function, *arguments)
        except StopIteration as error:
            failure = RuntimeError(
                f"raised StopIteration({error.value!r})"
            )  # a future cannot hold StopIteration
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(deliver, result, failure)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=work, name="calipers-call", daemon=True).start()
    return future
