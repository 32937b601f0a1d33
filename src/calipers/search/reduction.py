"""Reductions of inputs: smaller and smaller plain data, coarse parts first, as delta debugging takes them.

What is taken away: fields of mappings, items of lists (the turns of a conversation), sentences of texts, then their words; whole numbers go towards 0. Each
kind by `ddmin` (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): halves first, then ever smaller parts, until no single part
can be spared. It goes over all of it again until nothing more can be taken away, so of what is left, every part is needed.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Steps: TypeAlias = Generator[Any, bool, Any]
"""Yields smaller inputs, is sent whether they still will do, and returns the smallest that do."""

_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+(?=\s)|\n|\Z)\s*", re.DOTALL)
_WORD = re.compile(r"\S+\s*")


class _Fields(NamedTuple):
    """Fields by their names, wherever they are."""

    same: frozenset[str]
    """Those that stay as they are."""
    stay: frozenset[str]
    """Those that are not taken away."""


def reductions(inputs: Any, keep: Sequence[str] = (), needed: Sequence[str] = ()) -> Steps:
    """All reductions of inputs that will do.

    Args:
        inputs: plain data.
        keep: the names of fields that stay as they are.
        needed: the names of fields of which something stays.
    """
    fields = _Fields(frozenset(keep), frozenset({*keep, *needed}))
    while True:
        smaller = yield from _reduced(inputs, fields, _same)
        if smaller == inputs:
            return smaller
        inputs = smaller


def _same(data: Any) -> Any:
    return data


def _reduced(data: Any, fields: _Fields, whole: Callable[[Any], Any]) -> Steps:
    """The smallest form of a part; `whole` makes inputs of it."""
    if isinstance(data, str):
        return (yield from _text(data, whole, least=0))
    if isinstance(data, Mapping):
        return (yield from _mapping(dict(data), fields, whole))
    if isinstance(data, list):
        return (yield from _list(data, fields, whole))
    if isinstance(data, int) and not isinstance(data, bool):
        return (yield from _number(data, whole))
    return data


def _text(text: str, whole: Callable[[Any], Any], *, least: int) -> Steps:
    """A text of at least so many words."""

    def joined(parts: list[str]) -> str:
        return "".join(parts).rstrip()

    for pattern in (_SENTENCE, _WORD):
        parts = pattern.findall(text)
        if len(parts) > 1 or (parts and pattern is _WORD):
            kept = yield from _fewest(parts, lambda some: whole(joined(some)), least)
            text = text if len(kept) == len(parts) else joined(kept)
    return text


def _mapping(data: dict[Any, Any], fields: _Fields, whole: Callable[[Any], Any]) -> Steps:
    free = [name for name in data if name not in fields.stay]

    def with_fields(names: list[Any]) -> Any:
        return whole({name: value for name, value in data.items() if name in fields.stay or name in names})

    kept = yield from _fewest(free, with_fields)
    found = {name: value for name, value in data.items() if name in fields.stay or name in kept}
    for name, value in list(found.items()):
        if name not in fields.same:
            found[name] = yield from _reduced(value, fields, _in_mapping(found, name, whole))
    return found


def _in_mapping(data: dict[Any, Any], name: Any, whole: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda part: whole({**data, name: part})


def _list(data: list[Any], fields: _Fields, whole: Callable[[Any], Any]) -> Steps:
    found = list((yield from _fewest(data, whole)))
    for place, item in enumerate(list(found)):
        of_it = _in_list(found, place, whole)
        # An item of which nothing is left, such as a turn that says nothing, is none: it would have been taken away.
        said = isinstance(item, str)
        found[place] = yield from (_text(item, of_it, least=1) if said else _reduced(item, fields, of_it))
    return found


def _in_list(data: list[Any], place: int, whole: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda part: whole([*data[:place], part, *data[place + 1 :]])


def _number(number: int, whole: Callable[[Any], Any]) -> Steps:
    """The number nearest to 0 that a search by halves comes to."""
    if number == 0 or (yield whole(0)):
        return 0
    refused, held, sign = 0, abs(number), 1 if number > 0 else -1
    while held - refused > 1:
        middle = (refused + held) // 2
        if (yield whole(sign * middle)):
            held = middle
        else:
            refused = middle
    return sign * held


def _fewest(parts: list[Any], whole: Callable[[list[Any]], Any], least: int = 0) -> Steps:
    """The parts that cannot be spared, by `ddmin`: only taking away, since a part alone is what is left when all others were taken."""
    pieces = 2
    while len(parts) > least:
        size = -(-len(parts) // min(pieces, len(parts)))
        for begin in range(0, len(parts), size):
            rest = parts[:begin] + parts[begin + size :]
            if len(rest) >= least and (yield whole(rest)):
                parts, pieces = rest, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                break
            pieces *= 2
    return parts
