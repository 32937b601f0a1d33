"""Text as it is spoken: lower case, no punctuation, numbers in words.

"Wake me up at 6:30!" becomes `wake me up at six thirty`. Only what changes no meaning is taken away: a character that is
neither punctuation nor part of a word stays, and so does a number too large to spell out.
"""

import re

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TOKEN = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)|(?P<number>\d+)|[^\W\d]+(?:'[^\W\d]+)*|\S")
_PUNCTUATION = frozenset(".,;:!?\"'()-\u2026\u2013\u2014\u201c\u201d")
LARGEST_NUMBER = 999
"""The largest number that is spelled out."""


def number_words(number: int) -> str:
    """A whole number from 0 to 999 as it is said: `seventy two`, `two hundred five`."""
    if not 0 <= number <= LARGEST_NUMBER:
        raise ValueError(f"only numbers from 0 to {LARGEST_NUMBER} are spelled out, got {number!r}")
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f" {_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" {number_words(rest)}" if rest else "")


def spoken_words(text: str) -> list[str]:
    """The words of a text, as they are said."""
    plain = text.lower().replace("\u2019", "'").replace("%", " percent ")
    plain = re.sub(r"(?<!\w)-(?=\d)", " minus ", plain)
    words: list[str] = []
    for token in _TOKEN.finditer(plain):
        if token["hour"]:
            words += number_words(int(token["hour"])).split()
            minute = int(token["minute"])
            words += ["oh"] * (0 < minute < 10) + (number_words(minute).split() if minute else [])
        elif token["number"] and len(token["number"]) <= len(str(LARGEST_NUMBER)):
            words += number_words(int(token["number"])).split()
        elif token[0] not in _PUNCTUATION:
            words.append(token[0])
    return words
