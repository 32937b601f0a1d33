"""What a request sends: read to its end, unless it is too long, or takes too long to come."""

import asyncio
from typing import Final

from starlette.requests import Request

from .refusal import Refusal

PATIENCE: Final = 20.0
"""Seconds that a client may take to send a request."""


async def body_of(request: Request, *, most: int, seconds: float = PATIENCE) -> bytes:
    """The body of a request.

    Args:
        request: which sends it.
        most: bytes.
        seconds: that it may take.

    Raises:
        Refusal: it is longer, or takes longer.
        ClientDisconnect: the client left.
    """
    found = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                found += piece
                if len(found) > most:
                    raise Refusal("too_large", f"the body may have at most {most} bytes")
    except TimeoutError:
        raise Refusal("too_slow", f"the body did not arrive within {seconds:g} s") from None
    return bytes(found)
