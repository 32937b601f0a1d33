"""Text as it is spoken: lower case, no punctuation, numbers in words.

"Wake me up at 6:30!" becomes `wake me up at six thirty`, and "$1,500.50 by the 2nd" becomes `one thousand five hundred dollars
fifty cents by the second`. Only what changes no meaning is taken away: a character that is neither punctuation nor part of a
word stays, and so does a number too large to spell out.

English alone is known, and each number has one spelling. A comma separates thousands and a point decimals; the digits of
a number that begins with 0 are read one by one. Room 101 is not `one oh one`, nor is a telephone number known for one.

People say a number in several ways. `compared_words` makes one of them: `nineteen ninety nine` and `one thousand nine hundred
ninety nine`, `fifteen hundred` and `one thousand five hundred`, `a hundred and five` and `one hundred five` are the same. Other
ways stay different, such as `five fifty` for $5.50, or the digits of a telephone number one by one.
"""

import re
from collections.abc import Sequence

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("thousand", "million", "billion", "trillion")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_MONEY = {
    "$": ("dollar", "dollars", "cents"),
    "€": ("euro", "euros", "cents"),
    "£": ("pound", "pounds", "pence"),
}
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
_TOKEN = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?!\d)"
    rf"|(?P<symbol>[$€£])(?P<amount>{_DIGITS}(?:\.\d+)?)(?:\s?(?P<scale>{'|'.join(_SCALES)})\b)?"
    rf"|(?P<ordinal>{_DIGITS})(?:st|nd|rd|th)\b"
    rf"|(?P<number>{_DIGITS}(?:\.\d+)*)"
    r"|[^\W\d]+(?:'[^\W\d]+)*|\S"
)
_PUNCTUATION = frozenset(".,;:!?\"'()-\u2026\u2013\u2014\u201c\u201d")
LARGEST_NUMBER = 10**15 - 1
"""The largest number that is spelled out."""


def number_words(number: int) -> str:
    """A whole number from 0 on as it is said: `seventy two`, `two hundred five`, `one thousand five hundred`."""
    if not 0 <= number <= LARGEST_NUMBER:
        raise ValueError(f"only numbers from 0 to {LARGEST_NUMBER} are spelled out, got {number!r}")
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f" {_ONES[ones]}" if ones else "")
    name, size = "hundred", 100
    for power, scale in enumerate(_SCALES, 1):
        if number >= 1000**power:
            name, size = scale, 1000**power
    count, rest = divmod(number, size)
    return f"{number_words(count)} {name}" + (f" {number_words(rest)}" if rest else "")


def ordinal_words(number: int) -> str:
    """The place in a row as it is said: `second`, `twenty first`, `one hundredth`."""
    before, space, last = number_words(number).rpartition(" ")
    usual = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return f"{before}{space}{_ORDINALS.get(last, usual)}"


def spoken_words(text: str) -> list[str]:
    """The words of a text, as they are said."""
    plain = text.lower().replace("\u2019", "'").replace("%", " percent ")
    plain = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", plain)
    plain = re.sub(r"(?<!\w)-(?=[$€£]?\d)", " minus ", plain)
    words: list[str] = []
    for token in _TOKEN.finditer(plain):
        if token["hour"]:
            minute = int(token["minute"])
            words.append(number_words(int(token["hour"])))
            words += ["oh"] * (0 < minute < 10) + ([number_words(minute)] if minute else [])
        elif token["symbol"]:
            words.append(_money(token["symbol"], token["amount"], token["scale"]))
        elif token["ordinal"]:
            words.append(_ordinal(token["ordinal"], token[0]))
        elif token["number"]:
            words.append(_number(token["number"]))
        elif token[0] not in _PUNCTUATION:
            words.append(token[0])
    return " ".join(words).split()


def _number(text: str) -> str:
    """A number of digits, with or without decimals; `1.2.3` is not a number, and every point in it is said."""
    whole, *parts = text.replace(",", "").split(".")
    if len(whole) > len(str(LARGEST_NUMBER)):
        return ".".join([whole, *parts])
    said = " ".join(_ONES[int(digit)] for digit in whole) if _is_code(whole) else number_words(int(whole))
    return " point ".join([said, *(" ".join(_ONES[int(digit)] for digit in part) for part in parts)])


def _is_code(digits: str) -> bool:
    return len(digits) > 1 and int(digits[0]) == 0


def _ordinal(digits: str, whole: str) -> str:
    number = digits.replace(",", "")
    if len(number) > len(str(LARGEST_NUMBER)):
        return f"{number} {whole[-2:]}"
    return ordinal_words(int(number))


def _money(symbol: str, amount: str, scale: str | None) -> str:
    """An amount of money: whole and hundredths apart, unless it is one of thousands or millions."""
    one, many, hundredths = _MONEY[symbol]
    whole, _, cents = amount.replace(",", "").partition(".")
    if scale is not None or len(cents) not in {0, 2} or len(whole) > len(str(LARGEST_NUMBER)):
        return f"{_number(amount)} {scale or ''} {many}"
    small = f"{number_words(int(cents))} {hundredths}" if cents and int(cents) else ""
    if small and not int(whole):
        return small
    return f"{_number(whole)} {one if int(whole) == 1 else many} {small}"


# ---------------------------------------------------------------------- numbers said in one way

_SMALL = {number_words(number): number for number in range(1, 100)}
"""By their spelling: numbers that are said of the last two digits of a year, and of the two before."""
_CENTURIES = range(13, 21)
"""What a year may begin with; from 1 to 12 it would be the hour of a time."""
_ROUND = frozenset({"hundred", "thousand", "million", "billion", "trillion"})
_BEFORE_AND = _ROUND | {"dollar", "dollars", "euro", "euros", "pound", "pounds"}


def compared_words(text: str) -> list[str]:
    """The words of a text as they are spoken, with numbers said in one way."""
    words = spoken_words(text)
    found: list[str] = []
    place = 0
    while place < len(words):
        word, after = words[place], words[place + 1 : place + 2]
        if word == "and" and found[-1:] and found[-1] in _BEFORE_AND and after and after[0] in _SMALL:
            place += 1
        elif word == "a" and after and after[0] in _ROUND:
            found.append("one")
            place += 1
        else:
            said, width = _number_at(words, place)
            found += said
            place += width
    return found


def _number_at(words: Sequence[str], place: int) -> tuple[list[str], int]:
    """The words at a place, and how many there were: those of a number in two parts as one number."""
    hundreds, width = _small_at(words, place)
    following = words[place + width : place + width + 2]
    if hundreds < 11 or not following:
        return list(words[place : place + max(width, 1)]), max(width, 1)
    if following[0] == "hundred":
        rest, more = _small_at(words, place + width + 1)
        return number_words(hundreds * 100 + rest).split(), width + 1 + more
    is_century = hundreds in _CENTURIES
    if is_century and following[0] == "oh" and 1 <= _SMALL.get(following[-1], 0) <= 9:
        return number_words(hundreds * 100 + _SMALL[following[-1]]).split(), width + 2
    rest, more = _small_at(words, place + width)
    if is_century and rest >= 10:
        return number_words(hundreds * 100 + rest).split(), width + more
    return list(words[place : place + width]), width


def _small_at(words: Sequence[str], place: int) -> tuple[int, int]:
    """The number from 1 to 99 that stands at a place, and its words; none of either if there is no number."""
    for width in (2, 1):
        text = " ".join(words[place : place + width])
        if text in _SMALL:
            return _SMALL[text], min(width, len(words) - place)
    return 0, 0
