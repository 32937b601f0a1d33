"""Targets: the system under test, whatever it is, as something that replies to a conversation.

| you have | what it is given |
|---|---|
| an object with `reply(messages)` | the conversation, as `Message` objects |
| a function with a parameter `conversation` | the conversation, as `Message` objects |
| a function with a parameter `messages` | the conversation, as `{"role": …, "content": …}`, as chat APIs take it |
| any other function of one argument, or an object with `invoke` (an agent's adapter) | the last message, as a text |

A target of a text alone has no memory of the conversation, unless it keeps one itself, which would mix up rollouts that
run side by side. `TextTarget(task, transcript=True)` hands it the whole conversation as one text instead.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from calipers.data.argument_checks import check_mapping, check_number, check_text
from calipers.data.jsonable import safe_repr
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError, InvalidRolloutError

from .players import FunctionPlayer, Message, Reply, Target, is_async, is_blocking, player_name

_CONVERSATION = frozenset({"messages", "conversation"})
"""Names of parameters that take a conversation."""
_SHAPES = """A target is one of:
  1. an object with reply(messages)
  2. a function with a parameter named `messages` or `conversation`
  3. a function of one text
  4. an object with invoke(text), such as an adapter of an agent"""


def as_target(x: Any) -> Target:
    """A target made of `x`, whichever of the four shapes it has.

    Raises:
        InvalidOptionError: it has none of them; the message names them.
    """
    if inspect.isclass(x):
        raise InvalidOptionError(
            f"{x.__name__} is a class: make a target of it, {x.__name__}(...).\n{_SHAPES}"
        )
    if callable(getattr(x, "reply", None)):
        return x  # type: ignore[no-any-return]  # it has what a target must have
    if callable(x):
        found = _conversation_parameter(x)
        return TextTarget(x) if found is None else MessagesTarget(x, found)
    if callable(getattr(x, "invoke", None)):
        return TextTarget(x)
    raise InvalidOptionError(f"{safe_repr(x):.200} is not a target.\n{_SHAPES}")


@dataclass(frozen=True)
class TextTarget:
    """A target that is given a text: a function of one argument, or an object with `invoke`."""

    task: Any
    _: KW_ONLY
    transcript: bool = False
    """Give it the whole conversation as one text, `role: words` a message, rather than the last message alone."""

    @property
    def blocking(self) -> bool:
        """Whether the task is called in a thread: yes, unless it is async or says otherwise."""
        return not is_async(self._function) and is_blocking(self.task)

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return player_name(self.task)

    def reply(self, messages: Sequence[Message]) -> Any:
        """The task's answer, or what to await it by."""
        return self._function(transcript(messages) if self.transcript else messages[-1].content)

    @property
    def _function(self) -> Callable[[str], Any]:
        return self.task if callable(self.task) else self.task.invoke  # type: ignore[no-any-return]


@dataclass(frozen=True)
class MessagesTarget(FunctionPlayer):
    """A target that is a function of the conversation."""

    parameter: str = "messages"
    """Which of its parameters takes the conversation: `messages` has plain dictionaries, any other `Message` objects."""

    def reply(self, messages: Sequence[Message]) -> Any:
        """The function's answer, or what to await it by."""
        if self.parameter == "messages":
            return self.function(messages=as_dicts(messages))
        return self.function(**{self.parameter: list(messages)})


def as_dicts(messages: Sequence[Message]) -> list[dict[str, str]]:
    """A conversation as chat APIs take it."""
    return [{"role": message.role, "content": message.content} for message in messages]


def transcript(messages: Sequence[Message]) -> str:
    """A conversation as one text, a message a line."""
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


def read_reply(given: Any) -> Reply:
    """What a target gave, as a `Reply`: a text, a `Reply`, or the `Trace` of an agent."""
    if isinstance(given, str):
        return Reply(given)
    if isinstance(given, Trace):
        return Reply(given.output_text, trace=given)
    if isinstance(given, Reply):
        check_text("the text of a Reply", given.text, or_empty=True, error=InvalidRolloutError)
        check_mapping("the metadata of a Reply", given.metadata, error=InvalidRolloutError)
        check_cost(given.cost, "a Reply")
        return given
    raise InvalidRolloutError(
        f"a target answers with a text, a Reply or a Trace, got {safe_repr(given):.200} ({type(given).__name__})"
    )


def check_cost(cost: Any, of: str) -> None:
    """Check what a move cost."""
    check_number(f"the cost of {of}", cost, at_least=0, or_none=True, error=InvalidRolloutError)


def takes_conversation(function: Callable[..., Any]) -> bool:
    """Whether a function asks for the whole conversation, by the name of a parameter."""
    try:
        return not _CONVERSATION.isdisjoint(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False


def _conversation_parameter(function: Callable[..., Any]) -> str | None:
    """Which parameter takes the conversation; `None` if the function is one of a text."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in that does not tell: it is given the text
        return None
    found = next((name for name in signature.parameters if name in _CONVERSATION), None)
    try:
        signature.bind(None) if found is None else signature.bind(**{found: None})
    except TypeError as error:
        raise InvalidOptionError(
            f"{safe_repr(function):.200} cannot be called with what is said alone: {error}.\n{_SHAPES}"
        ) from None
    return found
