"""Inputs, outputs and other values as the text that the page shows.

A string is shown as it is. Everything else is shown as JSON, made here and not in the browser, where 1.0 would become 1
and a long integer would lose its last digits. What would fit on a line stays on a line.

What is longer than the limit is cut; the whole length is kept, so that the page can say so.
"""

import json
from typing import Any

from calipers.data.jsonable import plain

_WIDTH = 88
"""Characters of JSON that may stand on one line."""


def shown_value(value: Any, limit: int | None) -> dict[str, Any]:
    """`{"text": …}` for a string and `{"json": …}` for anything else; with the whole `length` where it was cut."""
    return _shown(plain(value), limit, _WIDTH)


def shown_pair(one: Any, other: Any, limit: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two values to be compared: where one needs several lines, both are broken up in the same way."""
    pair = plain(one), plain(other)
    breaks = any(not isinstance(data, str) and "\n" in json_text(data) for data in pair)
    width = 0 if breaks else _WIDTH
    return _shown(pair[0], limit, width), _shown(pair[1], limit, width)


def _shown(data: Any, limit: int | None, width: int) -> dict[str, Any]:
    kind, whole = ("text", data) if isinstance(data, str) else ("json", json_text(data, width=width))
    if limit is None or len(whole) <= limit:
        return {kind: whole}
    return {kind: whole[:limit], "length": len(whole)}


def shown_text(value: str, limit: int | None, *, keep_end: bool = False) -> str:
    """A message; where it was cut, it ends by saying so, or begins by it if the end matters most."""
    whole = str(plain(value))
    if limit is None or len(whole) <= limit:
        return whole
    note = f"… ({len(whole):,} characters)"
    return f"{note}\n{whole[-limit:]}" if keep_end else whole[:limit] + note


def json_text(data: Any, indent: str = "", *, width: int = _WIDTH) -> str:
    """Plain data as JSON for reading: a list or an object is broken up only if it is too long for a line."""
    line = json.dumps(data, ensure_ascii=False)
    if len(line) + len(indent) <= width or not data or not isinstance(data, list | dict):
        return line
    deeper = f"{indent}  "
    if isinstance(data, list):
        items = [json_text(item, deeper, width=width) for item in data]
        opening, closing = "[", "]"
    else:
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {json_text(item, deeper, width=width)}"
            for key, item in data.items()
        ]
        opening, closing = "{", "}"
    body = ",\n".join(deeper + item for item in items)
    return f"{opening}\n{body}\n{indent}{closing}"
