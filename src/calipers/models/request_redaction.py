"""What messages may show of a request: addresses without their secrets, texts with `[redacted]` in place of keys."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from calipers.data.redaction import is_secret_name, masked_text, without

_EXCERPT = 500
"""How much of a text a message shows."""
_SHORTEST = 4
"""A shorter value is not a secret, and would be found in ordinary words."""
_TELLING = ("auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token")
"""Parts of the names of headers and query parameters that carry secrets, beyond those of `is_secret_name`."""
_SCHEMES = ("basic", "bearer", "token")
"""Words in such values that are not secret."""


def shown_address(url: str) -> str:
    """A URL without user, password, query and fragment, which may hold secrets."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "<an address that cannot be read>"
    if host:
        return f"{parts.scheme}://{host}{parts.path}"
    return url.partition("#")[0].partition("?")[0].rpartition("@")[2]


def known_address(url: str) -> str:
    """A URL as `shown_address` has it, and a digest of its query, by which a gateway may choose the model.

    What is known to be a secret is no part of the digest: a new key is not another model.
    """
    try:
        told = [(name, value) for name, value in parse_qsl(urlsplit(url).query) if not _tells(name)]
    except ValueError:
        told = []
    if not told:
        return shown_address(url)
    return f"{shown_address(url)}?{sha256(urlencode(told).encode()).hexdigest()[:8]}"


def open_headers(headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """The headers that carry no secrets, in order: a gateway may choose the model by them."""
    return sorted((name.lower(), str(value)) for name, value in (headers or {}).items() if not _tells(name))


def secrets_of(url: str, headers: Mapping[str, str] | None, api_key: str | None = None) -> list[str]:
    """What no message may repeat: the key, the password, and the values of headers and query parameters that carry secrets."""
    found = [api_key or ""]
    for name, value in (headers or {}).items():
        if _tells(name):
            found += [word for word in str(value).split() if word.lower() not in _SCHEMES]
    try:
        parts = urlsplit(url)
        if parts.password:
            user, password = unquote(parts.username or ""), unquote(parts.password)
            sent = b64encode(f"{user}:{password}".encode()).decode()
            found += [parts.password, password, sent]
        found += [value for name, value in parse_qsl(parts.query) if _tells(name)]
    except ValueError:
        pass
    return sorted({secret for secret in found if len(secret) >= _SHORTEST}, key=len, reverse=True)


def shown_text(text: str, secrets: Iterable[str]) -> str:
    """The beginning of a text, without these secrets and without what looks like a key."""
    text = masked_text(without(text, secrets))
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def _tells(name: str) -> bool:
    return is_secret_name(name) or any(part in name.lower() for part in _TELLING)
