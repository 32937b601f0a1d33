"""How far apart two pronunciations are.

A pronunciation is a list of phones in the ARPAbet, as recognizers write them: `K AO L`. The distance is the least number
of phones to insert, to leave out or to replace, over the length of the shorter list: 0 for the same, around 1 for two
that have nothing in common. Replacing a phone by one of its kind (a stop by a stop, a vowel by a vowel) counts half,
because a recognizer mistakes it as easily.
"""

from collections.abc import Sequence

_KINDS = {
    "vowels": "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW",
    "stops and affricates": "P B T D K G CH JH",
    "fricatives": "F V TH DH S Z SH ZH HH",
    "nasals": "M N NG",
    "liquids and glides": "L R W Y ER",
}
_KINDS_OF: dict[str, frozenset[str]] = {
    phone: frozenset(kind for kind, phones in _KINDS.items() if phone in phones.split())
    for phones in _KINDS.values()
    for phone in phones.split()
}
_WITHIN_A_KIND = 0.5


def phone_distance(first: Sequence[str], second: Sequence[str]) -> float | None:
    """The distance of two pronunciations; `None` if one of them is empty, since nothing can be said of it."""
    if not first or not second:
        return None
    before = [float(place) for place in range(len(second) + 1)]
    for row, phone in enumerate(first, 1):
        current = [float(row)]
        for place, other in enumerate(second, 1):
            replaced = before[place - 1] + _replacement(phone, other)
            current.append(min(before[place] + 1, current[-1] + 1, replaced))
        before = current
    return before[-1] / min(len(first), len(second))


def _replacement(phone: str, other: str) -> float:
    if phone == other:
        return 0.0
    alike = _KINDS_OF.get(phone, frozenset()) & _KINDS_OF.get(other, frozenset())
    return _WITHIN_A_KIND if alike else 1.0
