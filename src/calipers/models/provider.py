"""Where a provider is, where its key comes from, and how settings are laid over settings."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from calipers.errors import InvalidOptionError


class Provider(NamedTuple):
    """Who serves a model."""

    home: str
    """The provider's own address."""
    key_variables: tuple[str, ...]
    """Where its key is looked for in the environment."""
    key_header: str
    """The header of the key."""
    key_prefix: str = ""
    """What the value of that header begins with."""

    def key(self, given: str | None, *, base_url: str) -> str | None:
        """The key that was given or that the environment has; at any address but its own, there may be none.

        Raises:
            InvalidOptionError: there is none, and it is needed.
        """
        for found in (given, *(os.environ.get(name) for name in self.key_variables)):
            if found and found.strip():
                return found.strip()
        if base_url == self.home:
            raise InvalidOptionError(
                f"there is no API key: set {' or '.join(self.key_variables)}, or give api_key"
            )
        return None

    def headers(self, key: str | None, further: Mapping[str, str] | None) -> dict[str, str]:
        """The header of the key, if there is one, and further ones, which win."""
        return {**({self.key_header: f"{self.key_prefix}{key}"} if key else {}), **(further or {})}


def laid_over(settings: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings with changes: a mapping changes a mapping key by key, anything else replaces."""
    found = dict(settings)
    for key, value in (changes or {}).items():
        before = found.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[key] = laid_over(before, value)
        else:
            found[key] = value
    return found


def endpoint(base_url: str, path: str) -> str:
    """The address of a path below a base; a base that has the path already, and its query, stay as they are."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return base_url  # the connection will report what is wrong with it
    whole = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=whole if whole.endswith(path) else whole + path))


def socket_address(base_url: str) -> str:
    """The base of an address as a WebSocket's; you may give it with `http`."""
    for http, socket in (("https://", "wss://"), ("http://", "ws://")):
        if base_url.startswith(http):
            base_url = socket + base_url.removeprefix(http)
    return base_url.rstrip("/")
