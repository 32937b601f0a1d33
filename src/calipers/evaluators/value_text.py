"""How a value looks inside a reason: short, on one line, and never an error of its own.

A reason is read in a table cell, so a long value keeps its beginning and its end and loses its middle.
"""

import reprlib
from typing import Any

_LONGEST = 200


class _Shortener(reprlib.Repr):
    """A `repr` that looks at the edges of a large value only, however large it is."""

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


_shortener = _Shortener()


def show(value: Any) -> str:
    """The value as Python would print it, shortened."""
    try:
        text = _shortener.repr(value)
    except Exception:  # a repr that raises, an integer too long to print, a structure too deep
        return f"a value of type {type(value).__name__}"
    text = " ".join(text.split()) if "\n" in text else text
    return shorten(text)


def show_typed(value: Any) -> str:
    """The value with its type, for reasons where the type is the point."""
    return "None" if value is None else f"{show(value)} ({type(value).__name__})"


def shorten(text: str, longest: int = _LONGEST) -> str:
    """Text of at most that many characters, the middle left out."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]} … {text[-half:]}"
