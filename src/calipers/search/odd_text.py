"""Oddities of a text: what hardly any user writes, found by rules, without a model and without a reference.

| kind | what it is |
|---|---|
| `base64`, `hexadecimal` | a run that can be decoded, to readable text |
| `Morse code` | dots and dashes |
| `invisible characters` | zero-width characters, marks that turn the direction of writing |
| `mixed alphabets` | a word with letters of two alphabets, as look-alikes make |
| `styled letters` | full-width letters, mathematical letters, letters in circles |
| `stacked marks` | three or more accents on one letter |
| `leetspeak` | digits and signs for letters, in several words |
| `letter by letter` | words that are spelled out |
| `random capitals` | several words that change between small letters and capitals |
| `repetition` | the same word or letter over and over, a sentence twice on end |
| `chat markers` | `<|im_start|>`, `[INST]`, `### System:` and the like |

A rule can be wrong both ways: a developer pastes base64 for a living, and words read backwards break none of these rules. `Realism` therefore compares a text with real
ones, and lets the rules count only as far as real users do not break them.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
"""A word: letters and digits, with apostrophes inside."""
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/=-])")
_HEX: Final = re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}[ :]?){7,}[0-9a-fA-F]{2}(?!\w)")
_MORSE: Final = re.compile(r"(?<!\S)(?:[.\-·\u2212]{1,6}[ /|]+){5,}[.\-·\u2212]{1,6}(?!\S)")
_LEET: Final = re.compile(
    r"(?<![\w@$!|])(?=[\w@$!|]*[A-Za-z])(?:[A-Za-z]*[0134578@$!|]+){1,}[A-Za-z]+[\w@$!|]*(?!\w)"
)
_SPELLED: Final = re.compile(
    r"(?<!\S)(?:[^\W_][ \-.,_*·]+){5,}[^\W_](?!\w)|(?<!\w)(?:[^\W\d_][\-._*·]){3,}[^\W\d_](?!\w)"
)
_RUN: Final = re.compile(r"([^\W\d_])\1{5,}|([^\w\s])\2{9,}")
_CAPITALS: Final = re.compile(r"(?<!\w)(?=[A-Za-z]*[a-z][A-Z][A-Za-z]*[a-z][A-Z])[A-Za-z]+(?!\w)")
_MARKERS: Final = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|(?im:^\s*(?:#{1,4}\s*|\[|<)(?:system|assistant|user|human)\b[\]>:]*)"
    r"|(?im:^\s*(?:system|assistant)\s*:)"
)
_LONG_NUMBER: Final = 30
"""Digits of the longest numbers that people write, such as those of accounts."""
_READABLE: Final = 0.9
"""The share of characters of what was decoded that are readable, from which it is text."""
_SEVERAL: Final = 2
"""Words with digits or capitals inside that are no accident."""
_SHARE: Final = 0.25
"""The share of a text's words that they have to be."""
_TIMES: Final = 5
"""How often in a row a few words are said that are repeated for the sake of it."""
_SENTENCE: Final = 4
"""Words of a sentence, which no one says twice on end."""
_LONGEST_REPEATED: Final = 60
"""Words of the longest sentences that are looked for again."""
_MARKS: Final = 3
_STYLED: Final = (
    (0xFF21, 0xFF5A),
    (0x1D400, 0x1D7FF),
    (0x2460, 0x24FF),
    (0x1F100, 0x1F189),
    (0x2100, 0x214F),
)
"""Ranges of letters that are drawn in another style."""
_ALPHABETS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
"""Alphabets with letters that look alike."""
_JOINED: Final = "\u200c\u200d"
"""What joins or parts letters, which some scripts and emoji need."""
_TURNS: Final = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
"""What turns the direction of writing, and so all that follows."""
_TURNS_BACK: Final = "\u202c\u2069"


class Oddity(NamedTuple):
    """A part of a text that hardly any user would write."""

    kind: str
    start: int
    end: int


def oddities(text: str) -> list[Oddity]:
    """What is odd about a text, in its order."""
    return sorted((each for rule in _RULES for each in rule(text)), key=lambda each: (each.start, each.end))


def odd_share(text: str, found: list[Oddity] | None = None) -> float:
    """The share of a text's characters that belong to an oddity, blanks aside; 0 for a text without any."""
    odd = {
        place
        for each in (oddities(text) if found is None else found)
        for place in range(each.start, each.end)
    }
    places = [place for place, char in enumerate(text) if not char.isspace()]
    return sum(place in odd for place in places) / len(places) if places else 0.0


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return [word[0].casefold() for word in WORD.finditer(text)]


# ---------------------------------------------------------------------- the rules


def _encoded(text: str) -> Iterator[Oddity]:
    for run in _BASE64.finditer(text):
        if _reads(_from_base64(run[0])):
            yield Oddity("base64", *run.span())
    for run in _HEX.finditer(text):
        digits = re.sub(r"[ :]", "", run[0])
        if not (digits.isdecimal() and len(digits) <= _LONG_NUMBER) and _reads(bytes.fromhex(digits)):
            yield Oddity("hexadecimal", *run.span())
    for run in _MORSE.finditer(text):
        yield Oddity("Morse code", *run.span())


def _from_base64(run: str) -> bytes:
    plain = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    if plain.isalpha() and (plain.islower() or plain.isupper() or plain.istitle()):
        return b""  # a long word
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


def _reads(data: bytes) -> bool:
    """Whether bytes are readable text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    readable = sum(char.isprintable() or char.isspace() for char in text)
    return len(text) >= 8 and readable >= _READABLE * len(text)


def _characters(text: str) -> Iterator[Oddity]:
    has_script_of_width = any("\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in text)
    marks = 0
    for place, char in enumerate(text):
        code = ord(char)
        if code < 0x300:  # most characters
            marks = 0
            if char == "\xad":
                yield Oddity("invisible characters", place, place + 1)
            continue
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks == _MARKS:
            yield Oddity("stacked marks", place - _MARKS, place + 1)
        elif marks > _MARKS:
            yield Oddity("stacked marks", place, place + 1)
        if char in _TURNS:
            end = next((at for at in range(place, len(text)) if text[at] in _TURNS_BACK), len(text) - 1)
            yield Oddity("invisible characters", place, end + 1)
        elif category == "Cf" and not (char in _JOINED and _joins(text, place)):
            yield Oddity("invisible characters", place, place + 1)
        if any(low <= code <= high for low, high in _STYLED) and category[0] in "LNS":
            is_width = 0xFF21 <= code <= 0xFF5A
            if not (is_width and has_script_of_width) and unicodedata.normalize("NFKC", char) != char:
                yield Oddity("styled letters", place, place + 1)


def _joins(text: str, place: int) -> bool:
    """Whether a joiner stands between characters of a script that has joiners, or of an emoji."""
    beside = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    return any(ord(char) >= 0x600 for char in beside) or "\ufe0f" in beside


def _alphabets(text: str) -> Iterator[Oddity]:
    if text.isascii():
        return
    for word in re.finditer(r"[^\W\d_]{2,}", text):
        names = {unicodedata.name(char, "").partition(" ")[0] for char in word[0]}
        if len(names.intersection(_ALPHABETS)) > 1:
            yield Oddity("mixed alphabets", *word.span())


def _words(text: str) -> Iterator[Oddity]:
    words = max(len(WORD.findall(text)), 1)
    for kind, pattern in (("leetspeak", _LEET), ("random capitals", _CAPITALS)):
        found = list(pattern.finditer(text))
        if len(found) >= max(_SEVERAL, _SHARE * words):
            yield from (Oddity(kind, *each.span()) for each in found)
    for run in _SPELLED.finditer(text):
        yield Oddity("letter by letter", *run.span())
    for run in _RUN.finditer(text):
        yield Oddity("repetition", *run.span())
    yield from _said_again(text)
    for marker in _MARKERS.finditer(text):
        yield Oddity("chat markers", *marker.span())


def _said_again(text: str) -> Iterator[Oddity]:
    """Words that are said over and over, and whole sentences that are said twice on end."""
    words = list(WORD.finditer(text))
    said = [word[0].casefold() for word in words]
    for size in range(1, min(len(said) // 2, _LONGEST_REPEATED) + 1):
        times = _TIMES if size < _SENTENCE else 2
        first = 0
        while first + times * size <= len(said):
            last = first + size
            while said[last : last + size] == said[first : first + size]:
                last += size
            if last - first >= times * size:
                yield Oddity("repetition", words[first].start(), words[last - 1].end())
                first = last
            else:
                first += 1


_RULES: Final[tuple[Callable[[str], Iterator[Oddity]], ...]] = (_encoded, _characters, _alphabets, _words)
