"""Personal data and secrets of one case, replaced so that what belongs together still does.

The same e-mail address becomes `[email-1]` wherever it stands in the case: in what was asked, in the arguments of a tool, in the metadata, in the keys
of objects. Another address becomes `[email-2]`. So a tool that was called with the address of the user still is. The numbers begin
anew in each case: two cases do not tell whether they are about the same person.

- What is looked for: e-mail addresses, telephone, card, bank account and United States social security numbers (`NoPersonalData` says how), and secrets
  (`calipers.data.redaction`), which become `[redacted]`.
- What was found anywhere in the case is then replaced in all of it, also inside of longer words.
- A number that is personal data as a whole, such as a card number without quotes, becomes a text.
- **Names of people, street addresses and what someone tells of themselves have no form, and are not found.** Hooks, as stores take them, can hide what you know of.

A number of ten digits may be a telephone number or an order, and counts as a telephone number; one of nine counts as a social security number.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from calipers.data.jsonable import plain
from calipers.data.redaction import REDACTED, masked, secrets_in
from calipers.data.result_names import unique
from calipers.errors import StoreError
from calipers.evaluators.personal_data import USUAL_KINDS, FoundData, find_personal_data
from calipers.stores.redaction import redacted_data
from calipers.stores.store import Redact

SECRETS: Final = "secrets"
"""The kind under which secrets are counted."""
_PLACEHOLDER: Final = re.compile(r"\[([a-z-]+)-(\d{1,18})\]")
_TELLING: Final = re.compile(r"[@\N{FULLWIDTH COMMERCIAL AT}\N{SMALL COMMERCIAL AT}\d]")
"""Each kind has one of these signs, or of the digits that an escape has."""
_MOST_ROUNDS: Final = 20
_SIGNS: Final = re.compile(r"[^0-9a-z]+")


class Hidden:
    """Takes personal data and secrets out of cases, and counts what it found.

    Args:
        hooks: that hide more, as stores take them; they come first.
        finds: whether personal data and secrets are looked for; without, only the hooks hide something.

    Raises:
        MissingExtraError: datafog is not installed.
    """

    def __init__(self, hooks: Sequence[Redact] = (), *, finds: bool = True) -> None:
        if finds:
            find_personal_data("", USUAL_KINDS)
        self._hooks = hooks
        self.finds = finds

    def of(self, data: Any, counts: Counter[str] | None = None) -> Any:
        """Plain data without personal data and secrets; all that belongs to one case is to be given at once.

        Args:
            data: texts, numbers, lists and objects. Of an object, hooks are given each value by itself, and of a list among them each item.
            counts: to it is added how many different ones of each kind were found; of secrets, how many places.
        """
        data = self._after_hooks(plain(data)) if self._hooks else plain(data)
        if not self.finds:
            return data
        case = _Case(data)
        before = _count(data, REDACTED)
        for _ in range(_MOST_ROUNDS):  # what is replaced may bring together what looks like personal data
            made = case.replaced(masked(data, secrets_in(data)))
            if made == data:
                break
            data = made
        if counts is not None:
            counts.update(case.numbers)
            if secrets := _count(data, REDACTED) - before:
                counts[SECRETS] += secrets
        return data

    def _after_hooks(self, parts: Any) -> Any:
        """The parts of a case after all hooks."""
        if isinstance(parts, dict):
            return {name: self._after_hooks_each(part) for name, part in parts.items()}
        return self._after_hooks_each(parts)

    def _after_hooks_each(self, part: Any) -> Any:
        if isinstance(part, list):
            return [self._after_hooks_each(item) for item in part]
        if part is None:
            return None
        hidden = plain(redacted_data(part, self._hooks))
        for kind, wanted in ((str, "a text"), (dict, "an object")):
            if isinstance(part, kind) and not isinstance(hidden, kind):
                raise StoreError(
                    f"a redaction hook was given {wanted} and must return one, not {type(hidden).__name__}: nothing was written"
                )
        return hidden


class _Case:
    """What was found in one case."""

    def __init__(self, data: Any) -> None:
        self.numbers: Counter[str] = Counter()
        """By kind, how many were found."""
        self._taken: Counter[str] = Counter()
        """By kind, the highest number that a placeholder had before."""
        self._names: dict[tuple[str, str], str] = {}
        """The placeholder by kind and value."""
        self._spelled: dict[str, str] = {}
        """The placeholder by what stood in a text."""

        def look(text: str) -> str:
            for kind, number in _PLACEHOLDER.findall(text):
                self._taken[kind] = max(self._taken[kind], int(number))
            return text

        _walk(data, look)

    def replaced(self, data: Any) -> Any:
        """The data with placeholders: first where something is found, then wherever that stands as well."""
        known = len(self._spelled)
        data = _walk(data, self._without_found)
        if len(self._spelled) == known:
            return data
        longest_first = sorted(self._spelled.items(), key=lambda spelled: -len(spelled[0]))

        def change(text: str) -> str:
            for spelled, name in longest_first:
                text = text.replace(spelled, name)
            return text

        return _walk(data, change)

    def _without_found(self, text: str) -> str:
        if not _TELLING.search(text):
            return text
        pieces: list[str] = []
        told = 0
        for found in find_personal_data(text, USUAL_KINDS):
            if found.start >= told:
                pieces += (text[told : found.start], self._name(found))
                told = found.start + len(found.text)
        return "".join((*pieces, text[told:])) if pieces else text

    def _name(self, found: FoundData) -> str:
        kind, value = found.kind, found.value.casefold()
        key = (kind, value if kind == "email" else _SIGNS.sub("", value))
        if key not in self._names:
            word = kind.replace("_", "-")
            self.numbers[kind] += 1
            self._names[key] = f"[{word}-{self._taken[word] + self.numbers[kind]}]"
        self._spelled[found.text] = self._names[key]
        return self._names[key]


def _walk(data: Any, change: Callable[[str], str]) -> Any:
    """The data with each text changed, keys and numbers included; a number stays one unless its text changes."""
    if isinstance(data, str):
        return change(data)
    if data is None or isinstance(data, bool):
        return data
    if isinstance(data, int | float):
        text = str(data)
        return data if (changed := change(text)) == text else changed
    if isinstance(data, Mapping):
        made: dict[Any, Any] = {}
        for key, value in data.items():
            made[unique(change(key), made.keys()) if isinstance(key, str) else key] = _walk(value, change)
        return made
    return [_walk(item, change) for item in data]


def _count(data: Any, text: str) -> int:
    """How often a text stands in data."""
    found = 0

    def look(each: str) -> str:
        nonlocal found
        found += each.count(text)
        return each

    _walk(data, look)
    return found
