"""A demonstration: an agent that hears and decides on this machine, and requests to try it with.

`OfflineAgent` needs no key, no network and no model. It recognizes speech with a grammar (`Recognizer`) and turns the text into
tool calls by the rules of the same grammar (`CommandGrammar`). What it does not understand it does not act upon, and its
answer says what it heard and why it was accepted or not. So you can try a voice test, and see it fail, on any machine.

**Commands.** A phrase is written with words, `(either|or)`, `[optional]` and `{slot}`:

    Command("set_light", "turn on the {room} (light|lights)", {"on": True})

A slot stands for one of a list of phrases, each with the value it means: `{"living room": "living room"}`,
`{"seventy two": 72}`. It becomes an argument of the call, under the slot's name or another: `{minutes:number}`. The grammar that
the recognizer listens for and the reader that turns text into calls both come from the commands, so what can be heard can be
understood. Text that is not a command from its first word to its last means no calls.

**The home.** `HOME` knows lights, heating, timers, alarms, music, calls, messages, the weather and doors. `spoken_requests()`
gives sentences with the calls they mean; `unrelated_sentences()` gives sentences that mean nothing here, for which no tool may
be called.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError

from .audio import Audio
from .recognition import Recognizer
from .response import AgentResponse
from .spelling import number_words, spoken_words

__all__ = [
    "HOME",
    "Command",
    "CommandGrammar",
    "OfflineAgent",
    "SpokenRequest",
    "spoken_requests",
    "unrelated_sentences",
]


_TOKEN = re.compile(
    r"\s*(?:(?P<word>[a-z][a-z']*)|(?P<mark>[()\[\]|])|\{(?P<slot>\w+)(?::(?P<list>\w+))?\})\s*"
)
_WORDS = re.compile(r"[a-z][a-z']*( [a-z][a-z']*)*")
_RULES = ("request", "command")
_PATTERN_MARKS = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|"}


@dataclass(frozen=True)
class Command:
    """One kind of request: how it is said, and the tool it calls."""

    tool: str
    """The name of the tool."""
    phrase: str
    """How it is said, in lower case: words, `(either|or)`, `[optional]`, `{slot}`, `{argument:slot}`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What is the same whenever it is said; slots add to it."""


@dataclass(frozen=True)
class CommandGrammar:
    """What can be said: commands, the slots in them, and a word that joins two of them.

    ```python
    CommandGrammar(
        [Command("open_door", "(open|unlock) the {door} door"), Command("help", "help me")],
        {"door": {"front": "front", "back": "rear"}},
    )
    ```
    """

    commands: Sequence[Command]
    """The kinds of requests. Where two fit a text, the first one counts."""
    slots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By the name of a slot: what may be said there, and what it means."""
    joiner: str | None = "and"
    """The word between two commands of one request; `None` if a request is one command."""

    def __post_init__(self) -> None:
        if not self.commands:
            raise InvalidOptionError("a grammar without commands understands nothing: give at least one")
        for name, phrases in self.slots.items():
            _check_slot(name, phrases)
        if self.joiner is not None and not _WORDS.fullmatch(self.joiner):
            raise InvalidOptionError(f"the joiner must be a word in lower case, got {self.joiner!r}")
        _ = self._phrases  # a mistake in a phrase is found here, not at the first request

    @cached_property
    def jsgf(self) -> str:
        """The grammar in the JSpeech Grammar Format, which recognizers read."""
        rest = f" [{self.joiner} <command>]" if self.joiner else ""
        commands = " | ".join(f"({phrase.jsgf})" for phrase in self._phrases)
        lines = ["#JSGF V1.0;", "grammar commands;", f"public <request> = <command>{rest};"]
        lines.append(f"<command> = {commands};")
        lines += [f"<{name}> = {_as_alternatives(phrases)};" for name, phrases in self.slots.items()]
        return "\n".join(lines) + "\n"

    def parse(self, text: str) -> list[ToolCall]:
        """The calls that a text means; none if it is not a request from its first word to its last.

        Case, punctuation and digits do not matter: `"Set a timer for 10 minutes."` means the same in words.
        """
        words = spoken_words(text)
        if call := self._command(words):
            return [call]
        for place, word in enumerate(words):
            if word == self.joiner:
                first, second = self._command(words[:place]), self._command(words[place + 1 :])
                if first and second:
                    return [first, second]
        return []

    def _command(self, words: list[str]) -> ToolCall | None:
        said = "".join(f"{word} " for word in words)
        for command, phrase in zip(self.commands, self._phrases, strict=True):
            if match := phrase.pattern.fullmatch(said):
                found = {name: said for name, said in match.groupdict().items() if said is not None}
                slots = {name: self.slots[phrase.slots[name]][said.strip()] for name, said in found.items()}
                return ToolCall(command.tool, {**command.arguments, **slots})
        return None

    @cached_property
    def _phrases(self) -> "list[_Phrase]":
        return [_read(command.phrase, self.slots) for command in self.commands]


@dataclass(frozen=True)
class _Phrase:
    """A phrase as the two who need it want it."""

    jsgf: str
    pattern: "re.Pattern[str]"
    """For a text of words that each have a space behind them."""
    slots: dict[str, str]
    """By the name of an argument: the slot it is taken from."""


def _read(phrase: str, lists: Mapping[str, Mapping[str, Any]]) -> _Phrase:
    """Read a phrase once, into both forms."""
    jsgf, pattern, slots = [], [], {}
    place = 0
    while place < len(phrase):
        token = _TOKEN.match(phrase, place)
        if token is None:
            raise InvalidOptionError(
                f"cannot read {phrase[place:]!r} in the phrase {phrase!r}: a phrase has words in lower case,"
                " (either|or), [optional] and {slot}"
            )
        place = token.end()
        if token["word"]:
            jsgf.append(token["word"])
            pattern.append(f"{token['word']} ")
        elif token["mark"]:
            jsgf.append(token["mark"])
            pattern.append(_PATTERN_MARKS[token["mark"]])
        else:
            argument, name = token["slot"], token["list"] or token["slot"]
            if name not in lists:
                raise InvalidOptionError(
                    f"the phrase {phrase!r} has an unknown slot {name!r}: {_known(lists)}"
                )
            slots[argument] = name
            jsgf.append(f"<{name}>")
            pattern.append(f"(?P<{argument}>{'|'.join(f'{re.escape(said)} ' for said in lists[name])})")
    try:
        compiled = re.compile("".join(pattern))
    except re.error as error:
        raise InvalidOptionError(f"the phrase {phrase!r} is not well formed: {error}") from error
    if compiled.fullmatch(""):
        raise InvalidOptionError(f"the phrase {phrase!r} may be empty, and so would be found in silence")
    return _Phrase(" ".join(jsgf), compiled, slots)


def _known(lists: Mapping[str, Any]) -> str:
    return (
        f"slots are {', '.join(lists)}"
        if lists
        else "give the grammar slots={...} with what may be said there"
    )


def _check_slot(name: str, phrases: Mapping[str, Any]) -> None:
    if name in _RULES or not name.isidentifier():
        raise InvalidOptionError(f"a slot cannot be called {name!r}: take another word")
    if not phrases:
        raise InvalidOptionError(f"the slot {name!r} has no phrases: nothing can be said there")
    for phrase in phrases:
        if not _WORDS.fullmatch(phrase):
            raise InvalidOptionError(
                f"the slot {name!r} has the phrase {phrase!r}: write words in lower case, as they are said"
            )


def _as_alternatives(phrases: Iterable[str]) -> str:
    """The phrases in a grammar, with what they share written once: a recognizer is twice as fast with numbers then."""
    rests: dict[str, list[str]] = {}
    for phrase in phrases:
        first, _, rest = phrase.partition(" ")
        rests.setdefault(first, []).append(rest)
    beginnings: dict[tuple[str, ...], list[str]] = {}
    for first, following in rests.items():
        beginnings.setdefault(tuple(following), []).append(first)
    parts = []
    for endings, firsts in beginnings.items():
        more = " | ".join(ending for ending in endings if ending)
        after = f" [{more}]" if "" in endings else f" ({more})"
        parts.append(f"({' | '.join(firsts)})" + (after if more else ""))
    return " | ".join(parts)


_NUMBERS = {number_words(number): number for number in range(1, 100)}
_ROOMS = ("kitchen", "bedroom", "bathroom", "living room", "dining room", "hallway", "garage", "office")
_COLORS = ("red", "green", "blue", "yellow", "orange", "purple", "white")
_GENRES = ("jazz", "classical", "country", "rock", "blues")
_CONTACTS = ("anna", "david", "michael", "jennifer", "robert", "my mother", "my brother")
_CITIES = ("boston", "chicago", "denver", "paris", "london", "san francisco")
_MESSAGES = ("i am running late", "dinner is ready", "the meeting is cancelled", "happy birthday")

HOME = CommandGrammar(
    [
        Command("set_light", "(turn|switch) on the {room} (light|lights)", {"on": True}),
        Command("set_light", "(turn|switch) off the {room} (light|lights)", {"on": False}),
        Command("set_light_color", "(make|turn) the {room} (light|lights) {color}"),
        Command("set_brightness", "dim the {room} (light|lights) to {percent:number} percent"),
        Command("set_thermostat", "set the thermostat to {degrees:number} degrees"),
        Command("set_timer", "set a timer for {minutes:number} (minute|minutes)"),
        Command("cancel_timer", "cancel the timer"),
        Command("set_alarm", "wake me up at {hour} [{minute}] in the {period}"),
        Command("play_music", "play some {genre} music [in the {room}]"),
        Command("pause_music", "pause the music"),
        Command("set_volume", "set the volume to {level:number}"),
        Command("call", "call {contact}"),
        Command("send_message", "send a message to {contact} saying {message}"),
        Command("get_weather", "(what's|what is) the weather [like] in {city} {day}"),
        Command("lock_door", "lock the {door} door"),
    ],
    {
        "number": _NUMBERS,
        "room": {room: room for room in _ROOMS},
        "color": {color: color for color in _COLORS},
        "hour": {number_words(hour): hour for hour in range(1, 13)},
        "minute": {"fifteen": 15, "twenty": 20, "thirty": 30, "forty five": 45},
        "period": {"morning": "am", "evening": "pm"},
        "genre": {genre: genre for genre in _GENRES},
        "contact": {contact: contact for contact in _CONTACTS},
        "message": {message: message for message in _MESSAGES},
        "city": {city: city for city in _CITIES},
        "day": {"today": "today", "tomorrow": "tomorrow"},
        "door": {"front": "front", "back": "back"},
    },
)
"""What the demonstration understands."""


@dataclass(frozen=True)
class SpokenRequest:
    """A sentence, and the calls that it means."""

    text: str
    """What is said."""
    calls: tuple[ToolCall, ...]
    """What an agent should do about it; empty if it should do nothing."""


def spoken_requests() -> list[SpokenRequest]:
    """Forty sentences that the home understands: every tool, one call or two."""
    return [
        SpokenRequest(
            each["text"], tuple(ToolCall(call["name"], call["arguments"]) for call in each["calls"])
        )
        for each in _data()["requests"]
    ]


def unrelated_sentences() -> list[SpokenRequest]:
    """Sentences that mean nothing to the home, so that it should call no tool."""
    return [SpokenRequest(text, ()) for text in _data()["unrelated"]]


def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((files("calipers.voice") / "home.json").read_text(encoding="utf-8"))
    return data


@dataclass(frozen=True)
class OfflineAgent:
    """Hears a request, or reads it, and calls the tools that its grammar names.

    ```python
    response = await OfflineAgent().run(audio)
    response.tool_calls  # [ToolCall('set_light', {'on': True, 'room': 'kitchen'})]
    response.raw.reason  # why it was believed, or not
    ```
    """

    grammar: CommandGrammar = HOME
    """What it understands."""
    max_distance: float = field(default=0.6, kw_only=True)
    """How far the sounds may be from a command for it to act; see `Recognizer`."""
    pronunciations: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Words of the grammar that the dictionary lacks, with their phones; see `Recognizer`."""

    async def run(self, audio: Audio) -> AgentResponse:
        """The calls that a spoken request means; none if it was not understood.

        `transcript` is the command that fits best. `raw` is the `Hearing`, which tells whether it was accepted and why.

        Raises:
            InvalidAudioError: sound that cannot be read.
        """
        recognizer = Recognizer(
            self.grammar.jsgf, max_distance=self.max_distance, pronunciations=self.pronunciations
        )
        hearing = await recognizer.recognize(audio)
        calls = self.grammar.parse(hearing.text) if hearing.accepted else []
        return AgentResponse(calls, raw=hearing, transcript=hearing.text)

    async def run_text(self, text: str) -> AgentResponse:
        """The calls that a written request means: the same decision without the hearing."""
        return AgentResponse(self.grammar.parse(text), raw=text, transcript=text)
