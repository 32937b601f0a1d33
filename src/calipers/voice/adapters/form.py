"""A form as `multipart/form-data`, the way browsers send files."""

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from .request import as_json


class File(NamedTuple):
    """A file among the fields of a form."""

    name: str
    data: bytes
    mime_type: str


def as_form(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """The body of a form and its content type. Fields are files or text; what is neither is written as JSON."""
    boundary = secrets.token_hex(16)
    parts = []
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
        if isinstance(value, File):
            head += f'; filename="{_quoted(value.name)}"\r\nContent-Type: {value.mime_type}'
            data = value.data
        else:
            data = value.encode() if isinstance(value, str) else as_json(value)
        parts += [head.encode(), b"\r\n\r\n", data, b"\r\n"]
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _quoted(name: str) -> str:
    """A name inside quotes: with escapes for what would end them, as browsers write it."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
