"""A value as it is now: what is changed later does not change what was recorded.

Lists, tuples, dicts and sets are copied, all the way down. Every other object is kept as it is: a copy of a connection,
a model or a table would be costly or impossible, and the record of a call must not disturb the call.
"""

from typing import Any


def snapshot(value: Any) -> Any:
    """The value with its containers copied.

    What cannot be copied is kept as it is: nested too deeply, say, or changed by another thread meanwhile.
    """
    try:
        return _copy(value, {})
    except Exception:
        return value


def _copy(value: Any, copied: dict[int, Any]) -> Any:
    """A copy; `copied` has those of the containers above and beside, by id, so that what contains itself still does."""
    if not isinstance(value, dict | list | tuple | set | frozenset):
        return value
    if (known := copied.get(id(value))) is not None:
        return known
    if isinstance(value, dict):
        mapping: dict[Any, Any] = {}
        copied[id(value)] = mapping
        for key, item in value.items():
            mapping[key] = _copy(item, copied)
        return mapping
    if isinstance(value, list):
        items: list[Any] = []
        copied[id(value)] = items
        items.extend(_copy(item, copied) for item in value)
        return items
    if isinstance(value, tuple):
        make = getattr(value, "_make", tuple)  # a named tuple keeps its names
        return make([_copy(item, copied) for item in value])
    return set(value) if isinstance(value, set) else value
