"""`Completion`: what a model answered, in one form for every provider, and `Draft`, which readers build one with.

Providers answer with dicts or with objects of their SDK, and leave fields out or set them to `None`. So a field is read by
key or by attribute, and a missing one reads as `None`. What cannot be read is a problem of the completion: no input makes
a reader raise.

Arguments that are absent, null or a blank string mean a call without arguments. Anything else must be an object or the
JSON text of one. Otherwise the call is kept under a name that no expectation has (`unreadable_call`), so that it neither
vanishes nor matches as a call without arguments.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.argument_checks import is_number, is_whole_number
from calipers.data.jsonable import safe_repr
from calipers.data.trace import ToolCall

_PLAIN = (str, bytes, bytearray, int, float, list, tuple, type(None))
_EXCERPT = 200
_CUT_SHORT = ("incomplete", "error")
"""Problems of an answer that stopped early."""
_NO_LOGPROB = -9999.0
"""What OpenAI and vLLM report for a token that is not among the likeliest."""
_MOST_TOKENS = 2**63
"""More would not be a number of tokens, and its price not a number."""

Finish: TypeAlias = Literal[
    "stop", "length", "tool_call", "refused", "filtered", "unfinished", "error", "unknown"
]
"""How an answer ended.

- `stop`: the model had said everything
- `length`: it reached the limit of tokens
- `tool_call`: it waits for the results of its calls
- `refused`: the model declined
- `filtered`: the provider withheld the answer
- `unfinished`: there is more to ask for
- `error`: the provider failed
- `unknown`: the answer does not say, or uses a word that is not known here; never the same as `stop`
"""

ProblemKind: TypeAlias = Literal[
    "malformed_arguments",
    "missing_name",
    "malformed_call",
    "malformed_message",
    "malformed_usage",
    "incomplete",
    "error",
    "no_answer",
    "other_model",
]
"""What can be wrong with an answer.

- `malformed_arguments`: the arguments of a call are not a JSON object
- `missing_name`: a call does not name its tool
- `malformed_call`: there is something else in the place of a call
- `malformed_message`: one message of several does not follow the protocol
- `malformed_usage`: a number of tokens is not a whole number from 0
- `incomplete`: the provider broke the answer off, such as at a token limit or by a filter
- `error`: the provider reported an error
- `no_answer`: nothing in the whole reply is an answer, or it broke off before any call; adapters raise this one
- `other_model`: another model answered than the one that was asked; some servers have one model, and answer for any name
"""


@dataclass(frozen=True, slots=True)
class ResponseProblem:
    """One thing in an answer that could not be read."""

    kind: ProblemKind
    """What was wrong."""
    message: str
    """For people, with the place."""
    raw: Any = None
    """What was found there, unchanged."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one answer. `None`: not reported."""

    input: int | None = None
    """All that the model read, from a cache or not."""
    output: int | None = None
    """All that it wrote, its reasoning included."""
    cache_read: int | None = None
    """The part of `input` that came from a cache."""
    cache_write: int | None = None
    """The part of `input` that was written to a cache, where the provider charges for that."""
    reasoning: int | None = None
    """The part of `output` that is reasoning."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer, with its probability."""

    text: str
    """The token as the provider writes it."""
    logprob: float | None
    """The logarithm of its probability; `None` where it is too small for the provider to tell."""
    top: tuple[tuple[str, float | None], ...] = ()
    """The likeliest tokens in this place, with their log-probabilities; as many as the provider gives."""


@dataclass(slots=True)
class Completion:
    """What a model answered."""

    text: str | None = None
    """What it said or wrote; `None` if it said nothing."""
    tool_calls: list[ToolCall] = field(default_factory=list)
    """Every call that it made, in its order."""
    finish: Finish = "unknown"
    """How it ended."""
    refusal: str | None = None
    """What it said to decline, where the provider has a field for that; not part of `text`."""
    usage: Usage | None = None
    """The tokens; `None` if the answer does not report them."""
    transcript: str | None = None
    """What it heard, where the provider reports that."""
    problems: list[ResponseProblem] = field(default_factory=list)
    """What could not be read."""
    raw: Any = None
    """The answer as the provider gave it."""
    cut_short: bool = False
    """Whether it stopped early: at a limit, by a filter or with an error."""
    reports_calls: bool = True
    """Whether an answer without calls means that none was made. Some servers leave the field out either way."""
    reasoning: str | None = None
    """What it thought before it answered, where the provider tells; not part of `text`."""
    logprobs: tuple[Token, ...] | None = None
    """The tokens of the answer with their probabilities; `None` if they were not asked for or not given."""
    model: str | None = None
    """The model that answered, as the provider calls it."""
    id: str | None = None
    """The provider's id of the answer."""
    request_id: str | None = None
    """The id in the headers, by which the provider can find the request."""
    fingerprint: str | None = None
    """The provider's word for the state of the model; another one may answer differently with the same seed."""
    parts: tuple[str, Any] | None = None
    """The wire format, and the answer in it, to be sent back unchanged in the same conversation."""
    not_sent: tuple[str, ...] = ()
    """Parameters that were asked for and left out, because the model does not take them."""
    tries: int = 1
    """How many requests were made for this answer."""
    duration: float | None = None
    """Seconds, with all requests and the pauses between them; `None` if not measured."""
    cost: float | None = None
    """US dollars, also of an answer that was paid for before (`cached`); `None` if there is no known price."""
    cached: bool = False
    """Whether it was kept from an earlier run, so that no one was asked."""
    accounted: bool = field(default=False, repr=False, compare=False)
    """Whether it has been counted for the task or the evaluator that asked; it is counted once, also where a function passes it on."""

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message, to go on with the conversation.

        After it comes, for each call, a message with what the tool gave: `{"role": "tool", "tool_call_id": …, "content": …}`.
        A call that has no id of its own has `call_1`, `call_2`, … by its place.
        """
        found: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            found["tool_calls"] = [
                {
                    "id": call.call_id or f"call_{number}",
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": msgspec.json.encode(call.arguments).decode(),
                    },
                }
                for number, call in enumerate(self.tool_calls, 1)
            ]
        if self.parts is not None:
            found["parts"] = self.parts
        return found


def unreadable_call(name: str | None, arguments: Any, *, error: str, call_id: str | None = None) -> ToolCall:
    """A call that was made but cannot be read, under a name that no expectation has."""
    shown = f"{name} (unreadable arguments)" if name else "(call without a name)"
    return ToolCall(shown, {"unreadable": arguments}, success=False, error=error, call_id=call_id)


def read(value: Any, *names: str) -> Any:
    """The first of these fields that is there and not `None`: a key of a mapping, an attribute of an object."""
    get = value.get if type(value) is dict else partial(_read_one, value)  # dicts are nearly all there is
    for name in names:
        found = get(name)
        if found is not None:
            return found
    return None


def _read_one(value: Any, name: str) -> Any:
    if isinstance(value, _PLAIN):  # lists and strings have attributes, but no fields
        return None
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:
        return None


def is_list(value: Any) -> bool:
    """Whether a value is a sequence, of whichever class the provider uses."""
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    )


def excerpt(value: Any) -> str:
    """The repr of a value, cut to what fits a message."""
    text = safe_repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def read_arguments(value: Any) -> tuple[dict[str, Any] | None, str]:
    """The arguments of a call, or `None` and why they cannot be read."""
    if isinstance(value, str | bytes | bytearray):
        if not value.strip():
            return {}, ""
        try:
            value = msgspec.json.decode(value)
        except Exception as error:
            return None, str(error)
    if value is None:
        return {}, ""
    if not isinstance(value, Mapping):
        return None, f"it is of type {type(value).__name__}"
    try:
        found = dict(value)
    except Exception as error:
        return None, str(error)
    if not all(isinstance(key, str) for key in found):
        return None, "its keys are not all strings"
    return found, ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _logprob(value: Any) -> float | None:
    """A log-probability; `None` for the number by which providers say that it is too small to tell."""
    return min(float(value), 0.0) if is_number(value) and _NO_LOGPROB < value < math.inf else None


class Draft:
    """Collects the calls, words and problems of one answer."""

    def __init__(self, raw: Any, *, joined_by: str = "\n") -> None:
        self.completion = Completion(raw=raw)
        self.answered = False
        """Whether there is an answer of this protocol, even an empty one."""
        self._joined_by = joined_by
        self._said: list[str] = []
        self._declined: list[str] = []
        self._heard: list[str] = []
        self._thought: list[str] = []
        self._tokens: list[Token] | None = None

    def problem(self, kind: ProblemKind, message: str, raw: Any = None) -> None:
        """Record what could not be read."""
        self.completion.cut_short = self.completion.cut_short or kind in _CUT_SHORT
        self.completion.problems.append(ResponseProblem(kind, message, raw))

    def say(self, text: Any) -> None:
        """Add what the model said, if it is text."""
        if isinstance(text, str) and text:
            self._said.append(text)

    def decline(self, text: Any) -> None:
        """Add a refusal, if it is text."""
        if isinstance(text, str) and text:
            self._declined.append(text)

    def think(self, text: Any) -> None:
        """Add what the model thought, if it is text."""
        if isinstance(text, str) and text:
            self._thought.append(text)

    def token(self, text: Any, logprob: Any, top: Iterable[tuple[Any, Any]]) -> None:
        """Add a token with its log-probability and the likeliest ones in its place."""
        self.reports_tokens()
        assert self._tokens is not None
        likeliest = tuple((str(each), _logprob(found)) for each, found in top)
        self._tokens.append(Token(str(text), _logprob(logprob), likeliest))

    def reports_tokens(self) -> None:
        """Note that the answer reports its tokens, even if there are none."""
        self._tokens = [] if self._tokens is None else self._tokens

    def about(self, message: Any, *, model: str = "model", identity: str = "id") -> None:
        """Take over what an answer says of itself: its id, its model, and the state of that."""
        done = self.completion
        done.id = _text(read(message, identity)) or done.id
        done.model = _text(read(message, model)) or done.model
        done.fingerprint = _text(read(message, "system_fingerprint")) or done.fingerprint

    def hear(self, text: Any) -> None:
        """Add what the model heard, if it is text."""
        if isinstance(text, str) and text:
            self._heard.append(text)

    def end(self, word: Any, words: Mapping[Any, Finish]) -> None:
        """Record how the answer ended, in the provider's word."""
        if word is not None:
            self.completion.finish = words.get(word, "unknown") if isinstance(word, str) else "unknown"

    def messages(self, raw: Any) -> list[Any]:
        """The messages of an answer, one or a list, with JSON text decoded.

        Binary messages that are not JSON are sound, and ignored. Others that are not objects are problems.
        """
        found = []
        for message in raw if is_list(raw) else [raw]:
            decoded = message
            if isinstance(message, str | bytes | bytearray):
                try:
                    decoded = msgspec.json.decode(message)
                except Exception as error:
                    if isinstance(message, str):
                        self.problem("malformed_message", f"a message is not JSON: {error}", message)
                    continue
            if isinstance(decoded, _PLAIN):
                self.problem("malformed_message", f"a message is not an object: {excerpt(decoded)}", message)
            else:
                found.append(decoded)
        return found

    def entries(self, value: Any, where: str) -> list[Any]:
        """The entries of a list; none if it is absent, and a problem if it is something else."""
        if value is None or is_list(value):
            return list(value or ())
        self.problem("malformed_message", f"{where} is not a list: {excerpt(value)}", value)
        return []

    def calls(self, value: Any, where: str) -> list[Any]:
        """The entries of a list of calls; anything else in its place is a call that cannot be read."""
        if value is None or is_list(value):
            return list(value or ())
        message = f"{where} is not a list of calls: {excerpt(value)}"
        self.problem("malformed_call", message, value)
        self._add(unreadable_call(None, value, error=message))
        return []

    def call(self, name: Any, arguments: Any, *, call_id: Any = None, where: str, raw: Any = None) -> None:
        """Add a call, as an unreadable one if its name or its arguments are."""
        identity = call_id if isinstance(call_id, str) and call_id else None
        if not isinstance(name, str) or not name:
            message = f"a call in {where} has no name"
            self.problem("missing_name", message, raw)
            self._add(unreadable_call(None, raw, error=message, call_id=identity))
            return
        found, why = read_arguments(arguments)
        if found is None:
            message = (
                f"the arguments of {name!r} in {where} are not a JSON object ({why}): {excerpt(arguments)}"
            )
            self.problem("malformed_arguments", message, arguments)
            self._add(unreadable_call(name, arguments, error=message, call_id=identity))
            return
        self._add(ToolCall(name, found, call_id=identity))

    def _add(self, call: ToolCall) -> None:
        self.answered = True
        self.completion.tool_calls.append(call)

    def tokens(self, usage: Any, *names: str) -> int | None:
        """The number of tokens in the first of these fields; `None` if it is not there, or a problem."""
        for name in names:
            if (count := read(usage, name)) is None:
                continue
            if is_whole_number(count, at_least=0) and count <= _MOST_TOKENS:
                return count
            self.problem("malformed_usage", f"{name} is not a number of tokens: {excerpt(count)}", count)
            return None
        return None

    def finish(self, expected: str) -> Completion:
        """The completion; `expected` says what an answer of this protocol has, in case there was none."""
        done = self.completion
        done.text = self._joined_by.join(self._said) or None
        done.refusal = self._joined_by.join(self._declined) or None
        done.transcript = "".join(self._heard) or None
        done.reasoning = self._joined_by.join(self._thought) or None
        done.logprobs = None if self._tokens is None else tuple(self._tokens)
        if done.finish == "stop" and done.tool_calls:
            done.finish = "tool_call"
        elif done.finish == "stop" and done.refusal is not None:
            done.finish = "refused"
        if not self.answered:
            message = f"there is no answer here: expected {expected}, got {excerpt(done.raw)}"
            self.problem("no_answer", message, done.raw)
        return done
