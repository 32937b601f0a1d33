"""Limits of requests to models: whose limit a request falls under, and the seam where requests of other libraries wait for it.

A request falls under the limit of its host: `openai`, `anthropic`, `gemini` and `openrouter` where it is the provider's own, else the host with its port.
What a provider allows is kept for each model apart, since that is what providers count.

`watch` has requests of httpx, aiohttp and urllib3 wait as well, by the hooks of `wire_hooks.py`: those of every SDK and framework that sends them this way. A call ends
when its answer has been read or closed; one through aiohttp or urllib3 when the answer begins.
"""

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

_LIBRARIES: Final = frozenset({"httpx", "httpx2", "aiohttp", "urllib3"})
_PROVIDERS: Final[Mapping[str, str]] = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "openrouter.ai": "openrouter",
}
"""By their hosts."""


class _Asked(msgspec.Struct):
    """What of a request's body says who is asked."""

    model: str = ""


_asked = msgspec.json.Decoder(_Asked)


def asked_of(url: str, body: bytes) -> tuple[str, str]:
    """The name of the limit that a request falls under, and the model that it asks; empty if it does not say."""
    name, path = _place(url)
    try:
        model = _asked.decode(body).model
    except (msgspec.DecodeError, RecursionError):
        model = ""
    return name, model or path


@lru_cache(maxsize=1024)
def _place(url: str) -> tuple[str, str]:
    """The name of an address, and the model that its path names, as Gemini's and Azure's do."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    netloc = host if parts.port is None else f"{host}:{parts.port}"
    return _PROVIDERS.get(
        host, netloc
    ), parts.path if ":" in parts.path or "/deployments/" in parts.path else ""


def body_of(status: int, body: bytes) -> Any:
    """The body of a refusal, which may say how long to wait; nothing of other answers."""
    if status != 429:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def watch() -> None:
    """Have requests to models wait for the limits of the run that sends them, where the libraries that send them are loaded."""
    if not _LIBRARIES.isdisjoint(sys.modules):
        from .wire_hooks import install

        install(loaded_only=True)
