"""The state of any object as something that can be compared later, to see whether the object has changed.

Objects are followed into their fields as `pickle` would, so that a change deep inside shows. What cannot be taken
apart (a lock, a file, a generator) counts as its identity: whether it changed cannot be seen.
"""

from typing import Any, TypeAlias

_WHOLE = (type(None), bool, int, str, bytes)

# By id: when it was met, and the object itself, so that no other takes its id while the state is read.
_Seen: TypeAlias = dict[int, tuple[int, Any]]


def snapshot(value: Any) -> Any:
    """A state that equals a later one of the same object unless something in it was changed."""
    try:
        return _state(value, {})
    except RecursionError:  # nested too deeply to be followed
        return id(value)


def _state(value: Any, seen: _Seen) -> Any:
    kind = type(value)
    if kind in _WHOLE:
        return kind, value
    if kind is float:
        return repr(value)  # NaN is unchanged, although it does not equal itself
    if id(value) in seen:
        return "seen", seen[id(value)][0]
    seen[id(value)] = (len(seen), value)
    if kind is dict:
        return kind, [(_state(k, seen), _state(v, seen)) for k, v in value.items()]
    if kind is list or kind is tuple:
        return kind, [_state(item, seen) for item in value]
    if kind is set or kind is frozenset:
        return kind, {id(item) for item in value}
    return kind, _fields(value, seen)


def _fields(value: Any, seen: _Seen) -> Any:
    """What `pickle` would keep of an object: how it is made, its state, and the items it holds."""
    try:
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):  # the name of a global
            return reduced
        _, arguments, state, in_list, in_dict = (*reduced, None, None, None)[:5]
        items = [list(part) for part in (in_list, in_dict) if part is not None]
    except RecursionError:
        raise
    except Exception:
        return id(value)
    return _state([arguments, state, items], seen)
