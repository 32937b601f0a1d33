"""What a fault makes of the result of a tool: a value of the same type, with something gone, changed or added.

`UNCHANGED` says that a fault cannot be applied to a value: an empty list has no part, and a lone word no other meaning. A text that is
JSON is read, and written again. Of an object of a dataclass or of pydantic, the first field that allows it is changed; what cannot be
copied is left as it is.
"""

import copy
import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeAlias

UNCHANGED: Final[Any] = type("Unchanged", (), {"__repr__": lambda _: "UNCHANGED"})()
"""Instead of a value: the fault cannot be applied to it."""
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")

_Change: TypeAlias = Callable[[Any], Any]


def empty(value: Any) -> Any:
    """Nothing of the same type."""
    return _changed(value, _empty)


def partial(value: Any) -> Any:
    """The first part of it."""
    return _changed(value, _partial)


def lying(value: Any, random: Random) -> Any:
    """Something as plausible, and wrong."""
    return _changed(value, lambda part: _lying(part, random))


def injected(value: Any, instruction: str) -> Any:
    """The same with an instruction in one of its texts."""
    return _changed(value, lambda part: _injected(part, instruction))


def _changed(value: Any, change: _Change) -> Any:
    """The changed value, if it is another one of the same type."""
    data = _json(value)
    if data is not None:
        found = change(data)
        if found is UNCHANGED or found == data or type(value) is not str:
            return UNCHANGED
        return json.dumps(found, ensure_ascii=False)
    fields = _fields(value)
    if fields is None:
        found = change(value)
        return UNCHANGED if type(found) is not type(value) or found == value else found
    for name, field in fields.items():
        found = _changed(field, change)
        if found is not UNCHANGED:
            return _replaced(value, name, found)
    return UNCHANGED


def _json(value: Any) -> Any:
    """What a text says that is the JSON of an object or a list; `None` of any other."""
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object of a dataclass or of pydantic; `None` of any other value."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    return {name: getattr(value, name) for name in names} if isinstance(names, Mapping) else None


def _replaced(value: Any, name: str, field: Any) -> Any:
    try:
        changed = copy.copy(value)
        if changed is value:  # an object of which there is one alone stays as it is for everyone
            return UNCHANGED
        object.__setattr__(changed, name, field)
    except Exception:  # an object that guards its fields
        return UNCHANGED
    return changed


def _empty(value: Any) -> Any:
    if isinstance(value, dict):
        return _like(value, {})
    return type(value)() if type(value) in {str, list, tuple, set, bytes} else UNCHANGED


def _partial(value: Any) -> Any:
    match value:
        case str() | bytes() | list() if len(value) > 1:
            return value[: len(value) // 2]
        case tuple() if len(value) > 1 and type(value) is tuple:
            return value[: len(value) // 2]
        case dict() if len(value) > 1:
            return _like(value, {key: value[key] for key in list(value)[: len(value) // 2]})
        case dict() if value:
            return _inside(value, _partial)
        case list() if value:
            return _inside(value, _partial)
    return UNCHANGED


def _like(value: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """The items in a dictionary of the same type."""
    if type(value) is dict:
        return items
    made = copy.copy(value)
    made.clear()
    made.update(items)
    return made


def _inside(value: Any, change: _Change) -> Any:
    """The value with its first item changed that allows it."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found = _changed(item, change)
        if found is not UNCHANGED:
            changed = copy.copy(value)
            changed[key] = found
            return changed
    return UNCHANGED


def _lying(value: Any, random: Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            step = random.randint(1, max(1, abs(value) // 2))
            return value + step if value >= 0 and (step > value or random.random() < 0.5) else value - step
        case float():
            other = value * (1 + random.choice((-1, 1)) * random.uniform(0.1, 0.5))
            return other if other != value and math.isfinite(other) else 1.0
        case str():
            return _other_text(value, random)
        case dict():
            return _like(value, _other_items(value, random))
        case list():
            return list(_other_items(dict(enumerate(value)), random).values())
        case tuple() if type(value) is tuple:
            return tuple(_other_items(dict(enumerate(value)), random).values())
    fields = _fields(value)
    if fields is not None:
        return _changed(value, lambda part: _lying(part, random))
    return UNCHANGED


def _other_items(items: dict[Any, Any], random: Random) -> dict[Any, Any]:
    """The items with each text in the place of another one, and each other value made wrong."""
    texts = [key for key, item in items.items() if isinstance(item, str)]
    moved = {key: items[other] for key, other in zip(texts, texts[1:] + texts[:1], strict=True)}
    found: dict[Any, Any] = {}
    for key, item in items.items():
        other = moved.get(key, item)
        if other == item:
            other = _lying(item, random)
        found[key] = other if type(other) is type(item) else item
    return found


def _other_text(text: str, random: Random) -> Any:
    """A text with other numbers in it, or else with its first and its last word swapped."""
    if (data := _json(text)) is not None:
        return json.dumps(_lying(data, random), ensure_ascii=False)
    if _NUMBER.search(text):

        def other(found: re.Match[str]) -> str:
            written = found[0]
            if "." not in written:
                return str(_lying(int(written), random)).zfill(len(written) if written[0] == "0" else 0)
            places = len(written.rpartition(".")[2])
            return f"{float(written) + random.randint(1, 9) * 10**-places:.{places}f}"

        return _NUMBER.sub(other, text)
    words = text.split(" ")
    if len(words) > 1 and words[0] != words[-1]:
        return " ".join([words[-1], *words[1:-1], words[0]])
    return UNCHANGED


def _injected(value: Any, instruction: str) -> Any:
    match value:
        case str():
            return f"{value}\n\n{instruction}" if value else instruction
        case dict():
            found = _inside(value, lambda part: _injected(part, instruction))
            can_add = found is UNCHANGED and all(isinstance(key, str) for key in value)
            return _like(value, {**value, "note": instruction}) if can_add else found
        case list():
            return _inside(value, lambda part: _injected(part, instruction))
    return UNCHANGED
