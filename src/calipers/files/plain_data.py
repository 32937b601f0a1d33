"""What a text format can hold as it is, and whether two values are the same to the last type.

JSON holds `None`, booleans, integers, finite floats, text, lists, and dicts whose keys are text; YAML holds all floats,
and keys that are numbers, too. Everything else would come back as something else (a tuple as a list, say), and is
refused: state its type, and it is written in a form that the type brings back.
"""

import dataclasses
import math
from typing import Any

from .problem import Problems, Steps

DEEPEST = 150
"""Levels of nesting in one value; the readers of all formats go deeper than that, and some not much."""
_MOST_DIGITS = 4000
"""Python converts integers of up to 4,300 digits."""


def check_plain(
    value: Any, steps: Steps, problems: Problems, *, as_yaml: bool = False, depth: int = 0
) -> None:
    """Add whatever in the value the format cannot hold to the problems."""
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is str:
        _check_text(value, steps, problems)
    elif kind is int:
        if abs(value) >= 10**_MOST_DIGITS:
            problems.add(steps, f"an integer of more than {_MOST_DIGITS} digits could not be read back")
    elif kind is float:
        if not as_yaml and not math.isfinite(value):
            problems.add(steps, "JSON has no such number", value)
    elif kind is not list and kind is not dict:
        problems.add(steps, _about(value), value)
    elif depth >= DEEPEST:
        problems.add(steps, f"nested more than {DEEPEST} levels deep")
    elif kind is list:
        for index, item in enumerate(value):
            check_plain(item, (*steps, index), problems, as_yaml=as_yaml, depth=depth + 1)
    else:
        for key, item in value.items():
            if type(key) is str:
                _check_text(key, steps, problems)
            elif not as_yaml or (key is not None and type(key) not in {int, bool}):
                problems.add(steps, "a key would come back as something else: make it text", key)
            check_plain(item, (*steps, key), problems, as_yaml=as_yaml, depth=depth + 1)


def _check_text(text: str, steps: Steps, problems: Problems) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        problems.add(steps, "text with half of a surrogate pair cannot be written as UTF-8", text)


def _about(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, tuple | set | frozenset):
        return (
            f"a {name} would come back as a list: make it one, or state the type with Dataset[...] or types="
        )
    if dataclasses.is_dataclass(value) or hasattr(value, "model_dump"):
        return f"a {name} would come back as a dict: state the type with Dataset[{name}, ...] or types="
    return f"a value of type {name} is no plain data: state the type with Dataset[...] or types="


def same(left: Any, right: Any, *, widen: bool = False) -> bool:
    """Whether two values are equal and of the same types throughout: 1 is not 1.0, a list is not a tuple, NaN is NaN.

    With `widen`, 1 is 1.0: where a type was declared, an integer may become the float that it says.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return widen and {type(left), type(right)} == {int, float} and bool(left == right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key], widen=widen) for key in left)
    if isinstance(left, list | tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, widen=widen) for a, b in pairs)
    if isinstance(left, float):
        # Zero has a sign, and NaN differs from itself.
        return repr(left) == repr(right)
    try:
        return bool(left == right) or repr(left) == repr(right)
    except Exception:  # arrays and the like have no single truth value
        return repr(left) == repr(right)
