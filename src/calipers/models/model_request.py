"""What a request to a model is made of: an address and a key, sounds, tools, further settings.

One list of tools serves every provider. Each of these declarations is understood:

- `{"name": …, "description": …, "parameters": {…}}`, the plain one;
- `{"type": "function", "function": {…}}`, as in chat completions;
- `{"type": "function", "name": …}`, as in Realtime and the Responses API;
- `{"functionDeclarations": [{…}]}`, as in Gemini, in either casing;
- `{"name": …, "input_schema": {…}}`, as in Anthropic's.

Anything else, such as a provider's own `{"googleSearch": {}}`, is passed on as it is.
"""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from calipers.errors import InvalidOptionError

try:  # about thirty times as fast, which counts where many requests are under way
    from pybase64 import b64encode
except ImportError:
    from base64 import b64encode  # type: ignore[assignment]


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
    base_variables: tuple[str, ...] = ()
    """Where another address is looked for in the environment."""

    def key(self, given: str | None, *, base_url: str) -> str | None:
        """The key that was given, or that of the environment; the provider's own address needs one."""
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


@lru_cache(maxsize=256)
def endpoint(base_url: str, path: str) -> str:
    """The address of a path below a base; the path is not added twice, and a query stays."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return base_url  # the connection will report what is wrong with it
    whole = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=whole if whole.endswith(path) else whole + path))


def socket_address(base_url: str) -> str:
    """The base of an address for a WebSocket; `http` becomes `ws`."""
    for http, socket in (("https://", "wss://"), ("http://", "ws://")):
        if base_url.startswith(http):
            base_url = socket + base_url.removeprefix(http)
    return base_url.rstrip("/")


# ---------------------------------------------------------------------- sounds

MIME_TYPES = {
    "wav": "audio/wav",
    "pcm": "audio/wav",
    "mp3": "audio/mp3",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
}
"""By format; bare frames travel behind a WAV header."""


class Sound(NamedTuple):
    """The bytes of a sound file and their format."""

    data: bytes
    format: str

    @property
    def mime_type(self) -> str:
        """What HTTP calls the format."""
        return MIME_TYPES[self.format]


def as_base64(data: bytes) -> str:
    """Bytes as base64, which is how JSON carries them."""
    return base64_bytes(data).decode("ascii")


def base64_bytes(data: bytes) -> bytes:
    """The same as bytes, for a body that is put together by hand."""
    return b64encode(data)


# ---------------------------------------------------------------------- tools

Tools: TypeAlias = Sequence[Mapping[str, Any]]
"""Declarations of tools, in the shape of any provider."""


def for_chat(tools: Tools) -> list[dict[str, Any]]:
    """As chat completions take them."""
    plain, others = _sorted_out(tools)
    return [*({"type": "function", "function": each} for each in plain), *others]


def for_responses(tools: Tools) -> list[dict[str, Any]]:
    """As the Responses API takes them: flat."""
    plain, others = _sorted_out(tools)
    return [*({"type": "function", **each} for each in plain), *others]


def for_realtime(tools: Tools) -> list[dict[str, Any]]:
    """As Realtime sessions take them, which know no `strict`."""
    plain, others = _sorted_out(tools)
    return [*({"type": "function", **_without_strict(each)} for each in plain), *others]


def for_gemini(tools: Tools) -> list[dict[str, Any]]:
    """As Gemini takes them: all declarations in one tool."""
    plain, others = _sorted_out(tools)
    declared = [_without_strict(each) for each in plain]
    return [*([{"functionDeclarations": declared}] if declared else []), *others]


def for_anthropic(tools: Tools) -> list[dict[str, Any]]:
    """As Anthropic takes them: the parameters are called `input_schema`, and must be there."""
    plain, others = _sorted_out(tools)
    named = (
        {"input_schema": {"type": "object"}, **_renamed(each, "parameters", "input_schema")} for each in plain
    )
    return [*named, *others]


def _without_strict(declaration: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in declaration.items() if key != "strict"}


def _sorted_out(tools: Tools) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Plain declarations, and everything else."""
    plain: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for tool in tools:
        if not isinstance(tool, Mapping):
            raise InvalidOptionError(
                f"a tool is declared by a mapping with name, description and parameters, got {tool!r:.200}"
            )
        inner = tool.get("function")
        many = tool.get("functionDeclarations", tool.get("function_declarations"))
        if isinstance(inner, Mapping):
            plain.append(dict(inner))
        elif isinstance(many, Sequence):
            plain += [dict(each) for each in many]
        elif isinstance(tool.get("name"), str) and tool.get("type", "function") in ("function", "custom"):
            declared = {key: value for key, value in tool.items() if key != "type"}
            plain.append(_renamed(declared, "input_schema", "parameters"))
        else:
            others.append(dict(tool))
    return plain, others


def _renamed(declaration: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in declaration.items()}
