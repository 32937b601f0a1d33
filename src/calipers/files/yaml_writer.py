"""Plain data as YAML text, made for reading: block style, text of several lines as it is, quotes only where needed.

What is written means the same to readers of YAML 1.1 and of YAML 1.2, and comes back as it was.
"""

import json
import math
import re
from typing import Any

_NEVER_PLAIN = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""Words that some version of YAML takes for something else than text."""
_SPECIAL = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What must be escaped: control characters, and those that YAML takes for line breaks or marks of byte order."""
_LONGEST_KEY = 500
"""YAML looks for the colon of a key only so far, in bytes or characters, and gives up at 1,024."""


def dump_yaml(data: Any) -> str:
    """The data, which must be plain, as the text of a YAML document."""
    lines: list[str] = []
    _write(data, "", "", lines)
    return "\n".join(lines) + "\n"


def _write(value: Any, lead: str, indent: str, lines: list[str]) -> None:
    """Add the lines of a value. The first begins with `lead`, such as a key; the others are indented."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            shown = _scalar(key)
            if len(shown) > _LONGEST_KEY:
                lines.append(f"{lead or indent}? {shown}")
                shown = ""
                lead = ""
            _write_member(item, f"{lead or indent}{shown}:", indent, lines)
            lead = ""
    elif isinstance(value, list) and value:
        for item in value:
            _write(item, f"{lead or indent}- ", indent + "  ", lines)
            lead = ""
    else:
        lines.append(lead + _inline(value, indent))


def _write_member(value: Any, lead: str, indent: str, lines: list[str]) -> None:
    """Add the lines of a value that follows a key."""
    deeper = indent + "  "
    if isinstance(value, dict | list) and value:
        lines.append(lead)
        _write(value, "", deeper, lines)
    else:
        lines.append(f"{lead} {_inline(value, deeper)}")


def _inline(value: Any, indent: str) -> str:
    """A value that begins on the line at hand: a scalar, an empty collection, or a block of text."""
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    if isinstance(value, str) and "\n" in value and not value[0].isspace() and not _SPECIAL.search(value):
        body = value.rstrip("\n")
        trailing = len(value) - len(body)
        keep = "-" if trailing == 0 else "" if trailing == 1 else "+"
        rows = [indent + row if row else "" for row in body.split("\n")] + [""] * (trailing - 1)
        return "\n".join([f"|{keep}", *rows])
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _is_plain(value) else _quote(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ".nan"
        if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return str(value)


def _is_plain(text: str) -> bool:
    """Whether text can stand without quotes. Beginning with a letter, it cannot be a number, a date or a sign."""
    return (
        text[:1].isalpha()
        and text[0].isascii()
        and text[-1] not in ": "
        and ": " not in text
        and " #" not in text
        and text.lower() not in _NEVER_PLAIN
        and "\n" not in text
        and "\t" not in text
        and not _SPECIAL.search(text)
    )


def _quote(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
