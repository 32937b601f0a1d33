"""`FunctionModel`: a function as a model.

A function whose parameter is called `ask`, or annotated as `Ask`, is given the question. Any other is given the messages; a schema
is asked for in words then. It answers with a text, with data, or with a `Completion`. A plain function runs in a thread of its own.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from calipers.errors import InvalidOptionError, UnreadableAnswerError
from calipers.process.user_code import call_in_thread
from calipers.run.ledger import check_room

from .accounting import account
from .answer_data import with_instructions
from .model import Ask
from .model_answer import Completion, excerpt


class FunctionModel:
    """A function as a model.

    Args:
        function: of the messages, or of the `Ask`; plain or async.
        name: what it is called in reports; default: `function:` and its own name.
    """

    def __init__(self, function: Callable[[Any], Any], *, name: str | None = None) -> None:
        if not callable(function):
            raise InvalidOptionError(f"function must be one, got {function!r:.200}")
        self.function = function
        called = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = name or f"function:{called}"
        self._takes_ask = _takes_ask(function)
        self._is_paid = False
        """Whether it has told what an answer takes. One that never does costs nothing, and a budget does not end it."""

    async def ask(self, ask: Ask, /) -> Completion:
        """What the function answers; what it raises is raised."""
        if self._is_paid:
            await check_room()
        given: Any = ask
        if not self._takes_ask:
            given = list(ask.messages if ask.schema is None else with_instructions(ask.messages, ask.schema))
        if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004 - whether it is async, not whether it is there
        ):
            said = await self.function(given)
        else:
            said = await call_in_thread(self.function, given)
            said = await said if inspect.isawaitable(said) else said
        found = _completion(said, self.name)
        if found.usage is not None:
            self._is_paid = True
            account(found, self.name)
        return found

    def __repr__(self) -> str:
        return f"FunctionModel({self.function!r})"


def _takes_ask(function: Callable[[Any], Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # one that is not written in Python
        return False
    if not parameters:
        raise InvalidOptionError(f"a function as a model takes the messages, and {function!r} takes nothing")
    return parameters[0].name == "ask" or parameters[0].annotation in (Ask, "Ask")


def _completion(said: Any, name: str) -> Completion:
    if isinstance(said, Completion):
        return replace(said)  # a function may give the same one twice, and each counts
    try:
        text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
    except (TypeError, ValueError, RecursionError):
        text = None
    if text is None or said is None:
        raise UnreadableAnswerError(
            f"{name} must answer with a text, with data or with a Completion, got {excerpt(said)}"
        )
    return Completion(text=text or None, finish="stop", model=name, raw=said)
