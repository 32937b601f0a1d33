"""The numbers that stand in a text, as numbers: with signs, thousands separators, decimals, currencies and units.

`3.42` holds neither 3 nor 42, `-5 °C` holds -5, and `1,234.50 EUR`, `1.234,50 €` and `1 234.5` all hold 1234.5. A number
that can be read in two ways, such as `1,234`, is both; `1,2,3` is three. Versions, digits inside a word and the parts of a
date are no numbers: `2.1.3`, `AZ611`, `2024-05-01`. A unit of a few letters may stand right behind one (`420EUR`, `5kg`, `20%`),
and a currency right before it (`EUR420`). A hyphen behind a word or a number is no sign.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

_CURRENCY = (
    "(?:[$€£¥₹]|AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|SAR|SEK|"
    "SGD|THB|TRY|TWD|USD|VND|ZAR)"
)
_NUMBER = re.compile(
    rf"""
    (?<![\w.'\u2019])(?!(?<=\d,)\d)                  # not within a word or a longer number
    (?P<sign>(?:(?<![\w)])[-+\u2212])?{_CURRENCY}?[ ]?(?:(?<=[$€£¥₹ ])[-+\u2212])?)
    (?P<digits>\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*(?:[ ]\d{{3}}(?!\d))*(?:[.,]\d+)?|[.]\d+)
    (?P<exponent>[eE][-+]?\d+)?
    (?![.,'\u2019]?\d)[^\W\d_]{{0,4}}(?!\w)             # a unit at most behind it
    """,
    re.VERBOSE,
)
_NUMBER_ALONE = re.compile(
    rf"\s*[-+\u2212]?{_CURRENCY}?\s?[-+\u2212]?[\d.,'\u2019_\u00a0\u202f ]*\d\s?(?:%|[^\W\d_]{{0,4}})\s*"
)
_DATE = re.compile(
    r"""
    (?<![\w/-])(?:\d{4}([-/])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4})
    (?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?[ ]?(?:Z|[-+]\d{2}:?\d{2})?)?(?![\w/-])
    """,
    re.VERBOSE,
)
_SEPARATORS = re.compile(r"[.,'\u2019_\u00a0\u202f ]")
_MINUS = "-\u2212"


def numbers_in(text: str) -> Iterator[float]:
    """Every number that a text may be read to hold."""
    text = without_dates(text)
    place = 0
    while (found := _NUMBER.search(text, place)) is not None:
        place = max(found.end("digits"), found.end("exponent"))
        negative = any(mark in found["sign"] for mark in _MINUS)
        for value in _readings(found["digits"]):
            number = float(value + (found["exponent"] or ""))
            if math.isfinite(number):
                yield -number if negative else number
        if " " in found["digits"]:  # several numbers, perhaps
            yield from (number for each in found["digits"].split(" ") for number in numbers_in(each))
        elif "," in found["digits"] and not any(_readings(found["digits"])):
            # A list, whose first number has the sign.
            first, *others = found["digits"].split(",")
            yield from numbers_in(found["sign"] + first)
            yield from (number for each in others for number in numbers_in(each))


def without_dates(text: str) -> str:
    """A text without the dates that are written in digits, and their times of day."""
    return _DATE.sub(";", text)


def is_number_text(text: str) -> bool:
    """Whether a text is a number alone, with a currency or a unit perhaps."""
    return _NUMBER_ALONE.fullmatch(text) is not None


def holds_number(text: str, number: Any) -> bool:
    """Whether a number stands in a text."""
    try:
        wanted = float(number)
    except (OverflowError, ValueError):
        return False
    return any(math.isclose(found, wanted, rel_tol=1e-12) for found in numbers_in(text))


def _readings(digits: str) -> Iterator[str]:
    """What digits with separators mean, as Python writes numbers."""
    groups, marks = _SEPARATORS.split(digits), _SEPARATORS.findall(digits)
    if not marks or digits.startswith("."):
        yield digits
        return
    if len(set(marks)) == 1 and _are_thousands(groups, marks[0]) and groups[0] != "0":
        yield "".join(groups)
    if marks[-1] not in ".," or marks.count(marks[-1]) > 1 or len(set(marks)) > 2:
        return
    whole = groups[:-1]
    if len(whole) == 1 or _are_thousands(whole, marks[0]):
        yield f"{''.join(whole)}.{groups[-1]}"


def _are_thousands(groups: list[str], mark: str) -> bool:
    """Whether groups of digits are one number: in threes, or as in India all but the last in twos (12,34,567)."""
    first, *inner, last = map(len, groups)
    if last != 3:
        return False
    return (first <= 3 and set(inner) <= {3}) or (mark == "," and first <= 2 and set(inner) == {2})
