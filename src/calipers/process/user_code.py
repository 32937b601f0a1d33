"""Calling the code of others: without blocking the event loop, without waiting for what hangs, and without being ended by it.

The threads are daemons, unlike those of `concurrent.futures`: a task that never returns can be left behind, and does
not keep the process alive at exit.
"""

import asyncio
import sys
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isawaitable
from pathlib import Path
from time import perf_counter
from typing import Any, Final, cast

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
    outcome: list[Any] = []
    stepped = put_into(outcome, coroutine)
    start = perf_counter()
    try:
        waiting = context.run(next, stepped, ENDED)
    except GeneratorExit as error:
        raise own_exit(error) from error
    if (spent := perf_counter() - start) > STEP_SECONDS:
        note(spent)
    if waiting is not ENDED:
        yield from _going_on(stepped, waiting, context, note)
    return outcome[0]


ENDED: Final = object()
"""What the first step of a coroutine gives that did not have to wait."""


def _put_into(outcome: list[Any], coroutine: Any) -> Generator[Any, Any, None]:
    """Await a coroutine and keep what it returns.

    `next(generator, ENDED)` makes the first step. A generator that returns nothing ends there without an exception, which would
    take longer than all the rest.
    """
    outcome.append((yield from coroutine))


put_into: Final[Callable[[list[Any], Coroutine[Any, Any, Any]], Generator[Any, Any, None]]] = cast(
    "Any", types.coroutine(_put_into)
)


def _going_on(
    stepped: Generator[Any, Any, None], waiting: Any, context: Context, note: Callable[[float], None]
) -> Generator[Any, Any, None]:
    """Await the rest of what has made its first step in a context of its own, and waits for something; see `isolated`."""
    run = context.run
    closing = False
    start = perf_counter()
    try:
        while True:
            try:
                sent = yield waiting
            except GeneratorExit:
                closing = True
                run(stepped.close)
                raise
            except BaseException as error:
                start = perf_counter()
                waiting = run(stepped.throw, error)
            else:
                start = perf_counter()
                waiting = run(stepped.send, sent)
            if perf_counter() - start > STEP_SECONDS:
                note(perf_counter() - start)
    except StopIteration:
        if perf_counter() - start > STEP_SECONDS:
            note(perf_counter() - start)
    except GeneratorExit as error:
        if closing:
            raise
        raise own_exit(error) from error


going_on: Final = types.coroutine(_going_on)


def import_file(path: Path, name: str) -> types.ModuleType:
    """Import a file under a name that no module has, wherever it is; if it raises, the name stays free."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses, pickles and type hints look a module up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
