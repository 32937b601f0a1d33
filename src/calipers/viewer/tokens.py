"""Tokens that open a viewer: each once, and signed, so that the server recognises one that another process made."""

import base64
import hashlib
import hmac
import secrets
from typing import Final

_NONCE: Final = 12
_SIGNATURE: Final = 16
"""Bytes of a token: which one it is, and that it is ours."""


def new_token(secret: bytes) -> str:
    """A token that opens the viewer once. Any process with the secret can make one, without asking the server."""
    nonce = secrets.token_bytes(_NONCE)
    return _as_text(nonce + _signature(nonce, secret))


def is_token(token: str, secret: bytes) -> bool:
    """Whether a token was made with the secret."""
    try:
        found = base64.b64decode(token + "=" * (-len(token) % 4), altchars="-_", validate=True)
    except ValueError:
        return False
    return (
        len(found) == _NONCE + _SIGNATURE
        and hmac.compare_digest(found[_NONCE:], _signature(found[:_NONCE], secret))
        and _as_text(found) == token
    )


def _as_text(token: bytes) -> str:
    """The one text of a token's bytes."""
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _signature(nonce: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, nonce, hashlib.sha256)[:_SIGNATURE]
