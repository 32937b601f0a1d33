"""An input or an output that is a list of messages, as a transcript: who said what, and which tools were called in between.

Messages have the shapes of `calipers.spans.messages`: those of OpenAI, Anthropic, LangChain, pydantic-ai and others, alone or as the
`messages` of an object. A value is a list of messages only if each of its entries is one, so that no other data is taken for a conversation.
What is neither text nor a call, such as a picture, is counted; the value itself has it.

A turn is what the user said with everything up to the next time. What the agent said before it called a tool stands among the calls, so that
the order is kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from calipers.data.jsonable import plain
from calipers.data.trace import ToolCall, Turn, TurnType
from calipers.spans.messages import Call, Message, Result, Text, pair_results, parts_of, read_messages
from calipers.stats.number_text import plural

from .transcript import Transcript, TranscriptTurn, rollout_transcript

_LISTS: Final = (list, tuple)
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
_SAID: Final = frozenset({"content", "parts", "tool_calls"})
"""What an entry with a role has one of, if it is a message."""
_MOST: Final = 10_000
"""Messages beyond which a list is data."""
_NOT_RECORDED: Final = "(not recorded)"


def conversation(value: Any, results: Sequence[Any] = ()) -> Transcript | None:
    """The transcript of a value that is a rollout or a list of messages; `None` if it is neither.

    Args:
        value: an input or an output.
        results: what evaluators said of the turns of a rollout.
    """
    return rollout_transcript(value, results) or message_transcript(value)


def message_transcript(value: Any) -> Transcript | None:
    """The transcript of a list of messages; `None` if a value is none."""
    if type(value) is dict:
        value = value.get("messages")
    if type(value) not in _LISTS or not 0 < len(value) <= _MOST:
        return None
    entries = plain(list(value))
    if not all(isinstance(entry, dict) for entry in entries):
        return None
    messages: list[Message] = []
    for entry in entries:
        found = read_messages([entry])
        if not found or any(message.role not in _ROLES for message in found):
            return None
        if "role" in entry and not entry.keys() & _SAID:
            return None
        left = _left_out(entry, found)
        if left:
            found[-1].parts.append(Text(f"({plural(left, 'part')} without text)"))
        messages += found
    instructions, opening, turns = _turns(messages)
    return Transcript("user", "agent", opening, turns, None, instructions, is_rollout=False)


def _left_out(entry: Mapping[str, Any], messages: Sequence[Message]) -> int:
    """How many parts of a message are neither text nor a call nor what a tool gave."""
    content = entry.get("content", entry.get("parts"))
    if not isinstance(content, list) or any(message.role == "tool" for message in messages):
        return 0
    beside = len(entry.get("tool_calls") or ()) if isinstance(entry.get("tool_calls"), list) else 0
    return max(0, len(content) - sum(len(message.parts) for message in messages) + beside)


class _Turn:
    """A turn that is being read."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.done: list[Turn] = []
        self.answered: list[str] = []

    @property
    def has_begun(self) -> bool:
        """Whether anything happened after the user spoke."""
        return bool(self.done or self.answered)

    def call(self, call: ToolCall) -> None:
        """Note a call, and before it what the agent said."""
        self.done += [Turn(turn_type=TurnType.AGENT_MESSAGE, content=text) for text in self.answered]
        self.answered = []
        self.done.append(Turn(tool_call=call))


def _turns(messages: Sequence[Message]) -> tuple[str, str, list[TranscriptTurn]]:
    """What the system said, what the agent said before it was asked, and the turns."""
    instructions: list[str] = []
    turns = [_Turn()]
    calls = _calls(messages)
    for role, part in parts_of(messages):
        current = turns[-1]
        if isinstance(part, Text):
            text = _NOT_RECORDED if part.text is None else part.text
            if role == "system":
                instructions.append(text)
            elif role != "user":
                current.answered += [text] if text else []
            elif current.has_begun:
                turns.append(_Turn())
                turns[-1].asked.append(text)
            else:
                current.asked.append(text)
        elif id(part) in calls:
            current.call(calls[id(part)])
    opening = ""
    first = turns[0]
    if len(turns) > 1 and not first.asked and not first.done:
        opening = "\n\n".join(first.answered)
        del turns[0]
    made = [
        TranscriptTurn(number, None, _joined(turn.asked), turn.done, _joined(turn.answered), (), ())
        for number, turn in enumerate(turns, 1)
        if turn.asked or turn.has_begun
    ]
    return "\n\n".join(instructions), opening, made


def _joined(texts: Sequence[str]) -> str | None:
    return "\n\n".join(texts) if texts else None


def _calls(messages: Sequence[Message]) -> dict[int, ToolCall]:
    """The tool call that stands in the place of a part, by its id: each call with its result, and results whose call is not there."""
    pairs = pair_results(messages)
    found = {id(call): _tool_call(call, result) for call, result in pairs}
    paired = {id(result) for _, result in pairs}
    for _, part in parts_of(messages):
        if isinstance(part, Result) and id(part) not in paired:
            found[id(part)] = _tool_call(Call(part.name or "?"), part)
    return found


def _tool_call(call: Call, result: Result | None) -> ToolCall:
    arguments = {} if call.arguments is UNSET else call.arguments
    if result is None:
        return ToolCall(call.name, arguments)
    output = None if result.output is UNSET else result.output
    if result.failed:
        return ToolCall(call.name, arguments, error=str(output) if output is not None else "failed")
    return ToolCall(call.name, arguments, output=output)
