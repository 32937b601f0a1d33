"""Calling the code of others: without blocking the event loop, without waiting for what hangs, and without being ended by it.

The threads are daemons, unlike those of `concurrent.futures`: a task that never returns can be left behind, and does
not keep the process alive at exit.
"""

import asyncio
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from inspect import isawaitable
from time import perf_counter
from typing import Any

STEP_SECONDS = 0.001
"""What holds the event loop longer than this does not count as the time of other code."""

BLOCKING_SECONDS = 0.1
"""What holds the event loop longer than this is named in the report."""


async def settled(function: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
    """What a function gives, awaited if it has to be, or what it raises.

    An `asyncio` task that ends with `SystemExit` or `KeyboardInterrupt` ends the whole event loop; one that ends with this
    outcome does not. A `GeneratorExit` that the function raises becomes another error: to the code that
    awaits it, it would mean that it is closed itself.
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
        except RuntimeError:  # the loop is closed, and the result no longer awaited
            return

    threading.Thread(target=work, name="calipers-call", daemon=True).start()
    return future


@types.coroutine
def isolated(
    coroutine: Coroutine[Any, Any, Any], context: Context, note: Callable[[float], None]
) -> Generator[Any, Any, Any]:
    """Await a coroutine inside a context of its own.

    `asyncio` gives a context to each of its tasks; this gives one to each await, at a tenth of the price. Every step
    of the coroutine runs in `context`; what it waits for goes up to the event loop unchanged. `note` is told how long
    a step held the event loop, if that was long.

    Raises:
        RuntimeError: the coroutine raised `GeneratorExit`, by which the code that awaits it would close itself.
    """
    run = context.run
    closing = False
    start = perf_counter()
    try:
        waiting = run(coroutine.send, None)
        while True:
            if perf_counter() - start > STEP_SECONDS:
                note(perf_counter() - start)
            try:
                sent = yield waiting
            except GeneratorExit:
                closing = True
                run(coroutine.close)
                raise
            except BaseException as error:
                start = perf_counter()
                waiting = run(coroutine.throw, error)
            else:
                start = perf_counter()
                waiting = run(coroutine.send, sent)
    except StopIteration as done:
        if perf_counter() - start > STEP_SECONDS:
            note(perf_counter() - start)
        return done.value
    except GeneratorExit as error:
        if closing:
            raise
        raise own_exit(error) from error
