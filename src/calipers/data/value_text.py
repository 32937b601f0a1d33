"""How a value looks in a reason, a difference or an edit script: as Python would print it, on one line, shortened.

A long value keeps its beginning and its end, and is cut before it is printed. What a model wrote is data: control
characters and marks that turn the direction of writing appear as escapes.
"""

import reprlib
from typing import Any

_LONGEST = 200


class _Shortener(reprlib.Repr):
    """A `repr` that looks only at the edges of a large value."""

    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxlevel = 4
        self.maxstring = self.maxother = self.maxlong = 100
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 8

    def repr_bytes(self, x: bytes, level: int) -> str:  # noqa: ARG002 - the signature is reprlib's
        """Bytes, cut before they are escaped: escaping a large value first would be slow."""
        if len(x) <= self.maxstring:
            return repr(x)
        half = self.maxstring // 2
        return f"{x[:half]!r}{self.fillvalue}{x[-half:]!r}"

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002 - the signature is reprlib's
        """An object of any other type. The library's own would show the address of one whose `repr` raises."""
        text = repr(x)
        half = self.maxother // 2
        return text if len(text) <= self.maxother else f"{text[:half]}{self.fillvalue}{text[-half:]}"


_shortener = _Shortener()


def show(value: Any, longest: int = _LONGEST) -> str:
    """The value on one line of at most that many characters."""
    try:
        text = _shortener.repr(value)
    except Exception:  # a repr that raises, an integer too long to print, a structure too deep
        return f"a value of type {type(value).__name__}"
    if not text.isprintable():  # only the repr of an object of the user's, such as an array's lines
        text = " ".join(text.split())
        text = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return shorten(text, longest)


def show_typed(value: Any) -> str:
    """The value with its type, where the type is the point."""
    return "None" if value is None else f"{show(value)} ({type(value).__name__})"


def shorten(text: str, longest: int = _LONGEST) -> str:
    """Text of at most that many characters, the middle left out."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]} … {text[-half:]}"
