"""Answers of the viewer's server as HTTP has them: JSON with a tag, a file or a part of one, and a problem."""

import logging
import re
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from calipers.errors import CalipersError

from .download import Download
from .refusal import refusal_of

_COMPRESSED_FROM: Final = 2048
"""Bytes from which on it pays to compress an answer."""
_log = logging.getLogger("calipers.viewer")

FRESH: Final = {"Cache-Control": "private, no-cache"}
"""A browser asks each time, and is told if it has the newest."""


def as_json(sent: bytes, *, accepts: str = "", tag: str | None = None, status: int = 200) -> Response:
    """An answer of JSON, compressed if it is long and the client takes it."""
    headers = dict(FRESH)
    if tag is not None:
        headers["ETag"] = tag
    if len(sent) >= _COMPRESSED_FROM:
        headers["Vary"] = "Accept-Encoding"
        if "gzip" in accepts:
            import gzip

            sent = gzip.compress(sent, 1, mtime=0)
            headers["Content-Encoding"] = "gzip"
    return Response(sent, status, headers, "application/json")


def problem(error: BaseException) -> Response:
    """The answer to a request that failed."""
    refusal = refusal_of(error)
    if not isinstance(error, CalipersError):
        _log.error("a request failed", exc_info=error)
    return as_json(msgspec.json.encode(refusal.answer), status=refusal.status)


def is_settled(answer: Any) -> bool:
    """Whether an answer stays the same while its run does: all has been read, and nothing was cut short for want of time."""
    index = getattr(answer, "index", None)
    return (
        (index is None or index.state == "ready")
        and not getattr(answer, "timed_out", False)
        and getattr(answer, "is_ready", True)
        and getattr(answer, "searched", 1.0) >= 1.0
    )


def download(found: Download, asked: str) -> Response:
    """The answer that a file is, or a part of one."""
    headers = {
        **FRESH,
        "Content-Disposition": found.disposition,
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    if not isinstance(found.body, bytes):
        return StreamingResponse(found.body, headers=headers, media_type=found.media_type)
    headers["Accept-Ranges"] = "bytes"
    size = len(found.body)
    part = re.fullmatch(r"bytes=(\d*)-(\d*)", asked)
    if part is None or part[1] == part[2] == "":
        return Response(found.body, headers=headers, media_type=found.media_type)
    first = int(part[1]) if part[1] else max(0, size - int(part[2]))
    last = min(int(part[2]), size - 1) if part[1] and part[2] else size - 1
    if first > last:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return Response(found.body[first : last + 1], 206, headers, found.media_type)
