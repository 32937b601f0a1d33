"""The numbers that stand in a text, as numbers: with signs, thousands separators, decimals, currencies and units.

`3.42` holds neither 3 nor 42, `-5 °C` holds -5, and `1,234.50 EUR`, `1.234,50 €` and `1 234.5` all hold 1234.5. A number
that can be read in two ways, such as `1,234`, is both. Versions and digits inside a word are no numbers: `2.1.3`, `AZ611`.
A unit of a few letters may stand right behind one: `420EUR`, `5kg`, `20%`. A hyphen behind a word or a number is no sign.
"""

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(
    r"""
    (?<![\w.,'\u2019])                                # not within a word or a longer number
    (?P<sign>(?:(?<![\w)])[-+\u2212])?[$€£¥₹]?[ ]?(?:(?<=[$€£¥₹ ])[-+\u2212])?)
    (?P<digits>\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*(?:[ ]\d{3}(?!\d))*(?:[.,]\d+)?|[.]\d+)
    (?P<exponent>[eE][-+]?\d+)?
    (?![.,'\u2019]?\d)[^\W\d_]{0,4}(?!\w)             # a unit at most behind it
    """,
    re.VERBOSE,
)
_NUMBER_ALONE = re.compile(
    r"\s*[-+\u2212]?[$€£¥₹]?\s?[-+\u2212]?[\d.,'\u2019_\u00a0\u202f ]*\d\s?(?:%|[^\W\d_]{0,4})\s*"
)
_SEPARATORS = re.compile(r"[.,'\u2019_\u00a0\u202f ]")
_MINUS = "-\u2212"


def numbers_in(text: str) -> Iterator[float]:
    """Every number that a text may be read to hold."""
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


def is_number(value: Any) -> bool:
    """Whether a value is a number; a bool is none."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


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
    thousands = len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    if len(set(marks)) == 1 and thousands and groups[0] != "0":
        yield "".join(groups)
    if marks[-1] not in ".," or marks.count(marks[-1]) > 1 or len(set(marks)) > 2:
        return
    whole = groups[:-1]
    if len(whole) == 1 or (len(whole[0]) <= 3 and all(len(group) == 3 for group in whole[1:])):
        yield f"{''.join(whole)}.{groups[-1]}"
