"""What adapters may show of themselves: addresses without their secrets, and no keys in reprs and messages."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_EXCERPT = 500
_TELLING = ("authorization", "cookie", "key", "token", "secret", "password")
"""Parts of the names of headers and query parameters whose values nobody else should read."""
_SCHEMES = ("basic", "bearer", "token")
"""Words in such values that anyone may read."""


def shown_address(url: str) -> str:
    """A URL without user, password, query and fragment: those are where secrets are."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "<an address that cannot be read>"
    return f"{parts.scheme}://{host}{parts.path}" if host else parts.path


def secrets_of(url: str, headers: Mapping[str, str] | None, api_key: str | None = None) -> list[str]:
    """What must not be repeated: the key, and the values of telling headers and query parameters."""
    found = [api_key or ""]
    for name, value in (headers or {}).items():
        if any(part in name.lower() for part in _TELLING):
            found += [word for word in str(value).split() if word.lower() not in _SCHEMES]
    try:
        parts = urlsplit(url)
        found.append(parts.password or "")
        found += [
            value for name, value in parse_qsl(parts.query) if any(part in name.lower() for part in _TELLING)
        ]
    except ValueError:
        pass
    return sorted({secret for secret in found if len(secret) >= 4}, key=len, reverse=True)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A text with stars for secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def shown_text(text: str, secrets: Iterable[str]) -> str:
    """The beginning of a text, with stars for secrets."""
    text = hidden(text, secrets)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def shown_agent(agent: Any) -> str:
    """The repr of an adapter: its settings where they differ from the usual, and no secrets."""
    settings = []
    for field in dataclasses.fields(agent):
        value = getattr(agent, field.name)
        if not field.repr or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        if field.name in {"url", "base_url"} and isinstance(value, str):
            value = shown_address(value)
        settings.append(f"{field.name}={value!r}")
    return f"{type(agent).__name__}({', '.join(settings)})"
