"""Commands that can be spoken, and the tool calls they mean: one table for the recognizer and for the rules.

A phrase is written with words, `(either|or)`, `[optional]` and `{slot}`:

    Command("set_light", "turn on the {room} (light|lights)", {"on": True})

A slot stands for one of a list of phrases, each with the value it means: `{"living room": "living room"}`,
`{"seventy two": 72}`. It becomes an argument of the call, under the slot's name or another: `{minutes:number}`.

From the table come both the grammar that a recognizer listens for and the reader that turns text into calls, so what can
be heard and what can be understood are the same by construction. Text that is no command, from the first word to the
last, means no calls: nothing is guessed from a word or two.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.voice.spelling import spoken_words

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
                    f"the phrase {phrase!r} has a slot {name!r}, which nobody fills: {_known(lists)}"
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
