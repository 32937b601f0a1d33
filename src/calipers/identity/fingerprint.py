"""An identity as data: a key, and the parts it was made of, so that a difference can be named.

The key is a digest of the parts and of nothing else. Two identities are the same if their keys are; if they are not,
their parts tell why. A part is a line of text under a label: a parameter's value, a digest of some source, the version of
a library. Texts are never shown in parts that come from global variables or from the fields of a task, since those may
be secrets, nor is what is a secret by the rule of `calipers.data.redaction`; a digest stands for them.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from calipers.data.redaction import masked

_SHOWN = 80
"""The longest value that a part shows as it is."""


_LARGE = 256
"""Integers of more bits are not shown."""


class Identity(msgspec.Struct, frozen=True):
    """What tells a case, a task or an evaluator from others."""

    key: str
    """Equal for equal things: 32 hexadecimal digits."""
    parts: dict[str, str] = {}
    """What the key was made of, by label: "source", "helper clean()", "parameter threshold"."""
    reads_name: bool = False
    """Whether the code may look at the name of a case, which is not part of a case's content."""


class Unknown(msgspec.Struct, frozen=True):
    """An identity that cannot be known: what has it equals nothing, not even itself."""

    reason: str
    parts: dict[str, str] = {}
    """What could be known."""


AnyIdentity: TypeAlias = Identity | Unknown
"""An identity, or why there is none."""


def raw_digest(data: bytes) -> bytes:
    """16 bytes that stand for the data."""
    return hashlib.blake2b(data, digest_size=16).digest()


def digest(data: bytes) -> str:
    """32 hexadecimal digits that stand for the data."""
    return raw_digest(data).hex()


def identity_of(parts: Mapping[str, str], *, reads_name: bool = False) -> Identity:
    """The identity made of the parts."""
    lines = [f"{label}\0{parts[label]}" for label in sorted(parts)]
    return Identity(digest("\n".join(lines).encode("utf-8", "surrogatepass")), dict(parts), reads_name)


def shown(value: Any, written: bytes, *, name: str = "", texts: bool = True) -> str:
    """A value as a part: itself where it is short and may be shown, else what kind it is and a digest of it.

    What is a secret by its name or by its shape is not shown, and neither are texts without `texts`.
    """
    kind = type(value)
    large = kind is int and value.bit_length() > _LARGE
    if value is None or kind in {bool, float} or (kind is int and not large) or (texts and kind is str):
        text = repr(value)
        if len(text) <= _SHOWN and masked(named := {name: value}) is named:
            return text
    return f"{kind.__name__} {digest(written)}"


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What changed between the parts of two identities, one line each."""
    found: list[str] = []
    for label in sorted(before.keys() | after.keys()):
        old, new = before.get(label), after.get(label)
        if old == new:
            continue
        what = "its source" if label == "source" else label
        if old is None:
            found.append(f"{what} is new")
        elif new is None:
            found.append(f"{what} is gone")
        elif _is_digest(old) or _is_digest(new):
            found.append(f"{what} changed")
        else:
            found.append(f"{what} changed from {old} to {new}")
    return found


def _is_digest(text: str) -> bool:
    last = text.rpartition(" ")[2]
    return len(last) == 32 and all(c in "0123456789abcdef" for c in last)
