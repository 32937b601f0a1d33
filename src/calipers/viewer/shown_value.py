"""A value of a case as the page shows it: text as it is, anything else as JSON that was made here.

A browser would change large numbers, so JSON is never read there to be written again. What is long is cut, and its address has the whole.
Base64 of more than a few hundred characters says nothing to a reader: its beginning and its length stand for it.
"""

import re
from typing import Any, Final
from urllib.parse import quote

import msgspec

from calipers.data.jsonable import plain
from calipers.views.html.records import json_text

from .api_call import ROOT
from .wire import ShownValue

MOST: Final = 65_536
"""Characters of a value."""
MISSING: Final = ShownValue(kind="missing")

_FORMATTED: Final = 1 << 22
"""Bytes of JSON that is broken into lines before it is cut."""
_BASE64: Final = re.compile(
    rb'"((?:data:[\w/+.-]{1,80}(?:;[\w=.-]{1,40}){0,3},)?[A-Za-z0-9+/_-]{40})[A-Za-z0-9+/_-]{600,}={0,2}"'
)


def blob_address(run: str, position: int, name: str) -> str:
    """Where a whole value, or a sound, of an attempt can be had."""
    return f"{ROOT}/runs/{quote(run, safe='')}/attempts/{position}/blob/{quote(name, safe='')}"


def shown_json(raw: bytes | msgspec.Raw, href: str | None, *, most: int = MOST) -> ShownValue:
    """A value that is given as JSON; nothing is missing.

    Args:
        raw: the JSON.
        href: where the whole can be had.
        most: characters that are shown.
    """
    written = bytes(raw)
    if not written:
        return MISSING
    if written.startswith(b'"'):
        return shown_text(msgspec.json.decode(written, type=str), href, most=most)
    length = len(written.decode())
    short, shortened = _BASE64.subn(_shortened, written)
    if len(short) <= most:
        text = _in_lines(short)
        if len(text) <= most and not shortened:
            return ShownValue(kind="json", text=text, length=length)
    elif len(short) <= _FORMATTED:
        text = msgspec.json.format(short, indent=2).decode()
    else:
        text = short[: 4 * most].decode(errors="ignore")
    return ShownValue(kind="json", text=text[:most], length=length, href=href)


def shown_text(text: str, href: str | None, *, most: int = MOST) -> ShownValue:
    """A text."""
    is_whole = len(text) <= most
    return ShownValue(
        kind="text", text=text if is_whole else text[:most], length=len(text), href=None if is_whole else href
    )


def shown_value(
    value: Any, *, is_there: bool = True, href: str | None = None, most: int = MOST
) -> ShownValue:
    """Any value.

    Args:
        value: an input, an output, an expectation.
        is_there: False: there is none, which is another thing than `None`.
        href: where the whole can be had, if that is known.
        most: characters that are shown.
    """
    if not is_there:
        return MISSING
    data = plain(value)
    if isinstance(data, str):
        return shown_text(data, href, most=most)
    return shown_json(msgspec.json.encode(data), href, most=most)


def _in_lines(written: bytes) -> str:
    """JSON for reading."""
    try:
        return json_text(msgspec.json.decode(written))
    except (
        RecursionError,
        ValueError,
    ):  # nested deeper than anyone reads, or numbers that only their text can hold
        return written.decode()


def _shortened(found: re.Match[bytes]) -> bytes:
    return b'"%b\xe2\x80\xa6 (%d characters of base64)"' % (found[1], len(found[0]) - 2)
