"""Text that others wrote, made safe to show: what a model says must not move the cursor, recolour or reorder a line.

Every character that Python's `repr` would escape is shown as that escape: control characters, escape sequences, line
breaks, tabs, bidirectional overrides, lone surrogates, unusual spaces. So are the characters that take no room and have
no look of their own (joiners, variation selectors, fillers), and combining marks beyond the few that a letter carries in
any script: piled higher, they paint over the lines above. What is left can be seen, and takes the room it seems to take.

The result is one line. It is still data: a view that knows markup of its own (HTML, say) must escape that as well.
"""

from typing import Any

from calipers.data.jsonable import safe_repr

_MARKS = 3
"""Marks that one letter may carry: Hebrew, Thai and Vietnamese need no more."""

_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
"""Unicode's default-ignorable characters, as far as `str.isprintable` lets them pass."""

_INVISIBLE = frozenset(chr(code) for first, last in _IGNORABLE for code in range(first, last + 1))


def visible(text: str, *, encoding: str = "utf-8") -> str:
    r"""The text on one line, with an escape such as `\x1b` for each character that is not to be seen as it is.

    So are characters that the encoding of the place where it will be shown lacks.
    """
    if text.isascii() and text.isprintable():
        return text
    from rich.cells import cell_len

    shown: list[str] = []
    room = 0  # for marks; none at the start, where a mark would settle on what stands before the text
    for character in text:
        if not character.isprintable() or character in _INVISIBLE:
            shown.append(_escape(character))
            room = 0
        elif cell_len(character):
            shown.append(character)
            room = _MARKS
        elif room:
            shown.append(character)
            room -= 1
        else:
            shown.append(_escape(character))
    return _encodable("".join(shown), encoding)


def fit(text: str, width: int, *, encoding: str = "utf-8", length: int | None = None) -> str:
    """The text as `visible` gives it, in at most `width` cells.

    What is cut ends with an ellipsis and, where much is missing, the number of characters there are.

    Args:
        text: anything, of any length: only as much of it is looked at as could fit.
        width: cells.
        encoding: as for `visible`.
        length: how many characters the whole has, if `text` is only its beginning.
    """
    from rich.cells import cell_len, set_cell_size

    most = (width + 1) * (1 + _MARKS)
    whole = length is None and len(text) <= most
    shown = visible(text[:most], encoding=encoding)
    if whole and cell_len(shown) <= width:
        return shown
    dots = ellipsis(encoding)
    total = len(text) if length is None else length
    count = f"{dots} ({total:,} characters)"
    end = count if total >= 2 * width >= 6 * len(count) else dots
    if len(end) >= width:
        return end[:width]
    return set_cell_size(shown, min(width - len(end), cell_len(shown))).rstrip() + end


def fit_value(value: Any, width: int, *, encoding: str = "utf-8") -> str:
    """Any value as Python would print it, in at most `width` cells."""
    most = (width + 1) * (1 + _MARKS)
    text = held_text(value)
    if text is not None and len(text) > most:
        # The repr of a large string would be made only to be thrown away.
        return fit(safe_repr(text[:most]), width, encoding=encoding, length=len(text))
    return fit(safe_repr(value), width, encoding=encoding)


def held_text(value: Any) -> str | None:
    """The text of a value that is a string, whatever its methods do; else `None`, whatever its `__class__` says."""
    return str.__str__(value) if issubclass(type(value), str) else None


def ellipsis(encoding: str) -> str:
    """What stands for text that was left out."""
    return "…" if is_unicode(encoding) else "..."


def is_unicode(encoding: str) -> bool:
    """Whether every character can be written in the encoding."""
    return encoding.lower().replace("_", "-").startswith("utf")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _encodable(text: str, encoding: str) -> str:
    if is_unicode(encoding):
        return text
    try:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except (LookupError, UnicodeError):
        return text.encode("ascii", "backslashreplace").decode("ascii")
