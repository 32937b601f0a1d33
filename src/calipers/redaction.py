"""Secrets: what looks like one, and texts and data without it. One rule for recordings, messages and stores.

A value is taken for a secret where its name says so (`api_key`, `password`, `github_token`, `Authorization`: see
`is_secret_name`), or where it has the shape of a known kind of key: `sk-…`, `ghp_…`, `AKIA…`, a JWT, `Bearer …`, a private
key in PEM, the password of a URL. It is replaced by `[redacted]`. Inside a text only the secret itself is.

A secret that has neither a telling name nor a known shape is not found. What is known to be secret can be taken out of a
text (`without`): as it stands, as `repr` and as JSON would write it, and wherever it is nested. What was made of it
otherwise, such as a half of it, is not found.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from .plain import loaded_types, plain, safe_repr

REDACTED = "[redacted]"
"""What stands in place of a secret."""

_DEEPEST = 100
"""Nesting beyond this is recorded as its repr."""
_DEEPEST_SECRET = 20
"""Nesting beyond this is not looked into for the parts of a secret."""
_DEEPEST_OBJECT = 4
"""How many objects deep secrets are looked for: `ctx.deps.settings.api_key` is one of three."""
_MOST_LOOKED_AT = 1_000
"""How many objects are looked into for secrets."""
_SHORTEST = 4
"""A shorter value is found all over an ordinary text."""

# ---------------------------------------------------------------------- names

_SECRET_ENDINGS: Final = (
    *("accesskey", "apikey", "authkey", "encryptionkey", "privatekey", "secretkey", "signingkey"),
    *("authorization", "cookie", "cookies", "credential", "credentials", "passphrase", "passwd", "password"),
    *("passwords", "pwd", "secret", "secrets", "token"),
)
_ORDINARY_TOKENS: Final = frozenset(
    [
        "bos",
        "cls",
        "continuation",
        "continue",
        "cursor",
        "end",
        "eos",
        "mask",
        "next",
        "pad",
        "page",
        "pagination",
        "prev",
        "previous",
        "sep",
        "special",
        "start",
        "stop",
        "sync",
        "unk",
    ]
)
"""Words before `token` that say what else a token can be: a place in a list, a piece of a text."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether what stands under a name is a secret: `api_key`, `apiKey`, `X-API-Key`, but not `max_tokens` or `page_token`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if words == ["auth"]:
        return True
    if not "".join(words).endswith(_SECRET_ENDINGS):
        return False
    return not (words[-1] == "token" and len(words) > 1 and words[-2] in _ORDINARY_TOKENS)


# ---------------------------------------------------------------------- shapes

_NAMES: Final = {
    "key": r"[\w-]*(?:api|access|secret|private)[_-]?key",
    "pass": r"[\w-]*pass(?:phrase|wd|word)",
    "secret": r"[\w-]*secret",
    "authorization": r"[\w-]*authorization",
    "credential": r"[\w-]*credentials?",
    "token": r"(?:[\w-]*(?:access|api|auth|bearer|id|refresh|session)[_-]?)?token",
}
"""By a part of them, the names that tell of a secret inside of a text; fewer than those that may stand above a value."""
_WRITTEN: Final = (
    r"""(?i:["']{0}["'] *: *|\b{0} *= *)(?P<quote>["'])(?P<secret>(?:[^"'\\]|\\.)+)(?P=quote)"""
    r"""|(?i:[?&]{0}=)(?P<bare>[^&#\s'"]+)"""
)
_SCHEME: Final = r"(?i:\b{0}) +(?P<secret>(?=[\w.~+/=-]*\d)[\w.~+/=-]{{8,}}|[\w.~+/=-]{{20,}})"
_SHAPES: Final = {
    "sk-": r"\bsk-(?:(?:proj|ant|or|live|test|lf|svcacct|admin)-[\w-]{8,}|(?=[\w-]*\d)[\w-]{16,})",
    "k_live_": r"\b[sr]k_live_\w{8,}",
    "k_test_": r"\b[sr]k_test_\w{8,}",
    "whsec_": r"\bwhsec_\w{16,}",
    **{f"gh{kind}_": rf"\bgh{kind}_[A-Za-z0-9]{{16,}}" for kind in "oprsu"},
    "github_pat_": r"\bgithub_pat_\w{16,}",
    "glpat-": r"\bglpat-[\w-]{16,}",
    "akia": r"\bAKIA[0-9A-Z]{16}\b",
    "asia": r"\bASIA[0-9A-Z]{16}\b",
    "aiza": r"\bAIza[\w-]{30,}",
    "ya29.": r"\bya29\.[\w-]{16,}",
    "xox": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    **{f"{kind}_": rf"\b{kind}_[A-Za-z0-9]{{20,}}" for kind in ("hf", "gsk", "npm", "r8")},
    "sg.": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    "eyj": r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    "private key-----": r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "bearer ": _SCHEME.format("bearer"),
    "basic ": _SCHEME.format("basic"),
    "://": r"://[^/\s:@'\"]*:(?P<secret>[^/\s@'\"]+)@",
    **{word: _WRITTEN.format(names) for word, names in _NAMES.items()},
    "authorization:": r"(?i:\bauthorization: *)(?:\w+ +)?(?P<secret>[^\s'\"]{4,})",
}
"""What a text in small letters has that holds a key, and the shape of the key. A group called `secret` is what to hide."""
_PATTERNS: Final = {
    sign: tuple(
        (hint, re.compile(shape, re.DOTALL))
        for hint, shape in _SHAPES.items()
        if next((one for one in "_-." if one in hint), "") == sign
    )
    for sign in ("_", "-", ".", "")
}
"""The shapes by a sign that their hints have: a text without it need not be looked at for these."""


SHORTEST_KEY: Final = 6
"""No shape fits a shorter text."""


def masked_text(text: str) -> str:
    """A text with `[redacted]` for what has the shape of a key."""
    if len(text) < SHORTEST_KEY:
        return text
    lowered = text.lower()
    for sign, patterns in _PATTERNS.items():
        if sign in lowered:
            for hint, pattern in patterns:
                if hint in lowered:
                    text = pattern.sub(_hide, text)
    return text


def _hide(found: re.Match[str]) -> str:
    groups = found.groupdict()
    which = next((name for name in ("secret", "bare") if groups.get(name) is not None), 0)
    if found[which] == REDACTED:
        return found[0]
    start, end = (place - found.start() for place in found.span(which))
    return found[0][:start] + REDACTED + found[0][end:]


# ---------------------------------------------------------------------- data


def masked(value: Any, known: Collection[str] = ()) -> Any:
    """A value with `[redacted]` for each secret in it, however nested; the value itself where it holds none.

    An object with fields that holds a secret becomes plain data, and one whose repr shows a secret its repr, without it.

    Args:
        value: the value.
        known: texts that are known to be secret, whatever they look like.
    """
    if value is None or type(value) in _PLAIN_NUMBERS:
        return value
    if type(value) is str and not known:
        told = masked_text(value)
        return value if told == value else told
    mask = _Mask(known)
    try:
        made = mask.of(value, ())
    except Exception:  # changed by another thread meanwhile, or raises when it is read
        return REDACTED
    return made if mask.found else value


def masked_fields(values: dict[str, Any], known: Collection[str] = ()) -> dict[str, Any]:
    """The same of values by their names; of those that cannot be read the names are left."""
    told = masked(values, known)
    return told if isinstance(told, dict) else dict.fromkeys(values, REDACTED)


_SAFE: Final = (int, float, complex, Enum, date, time, timedelta, Decimal)
"""Types whose values hold no text."""


_CLOSED: Final = (*_SAFE, bytes, bytearray, type, ModuleType, FunctionType, MethodType)
"""Types whose values are not looked into for secrets."""

_PLAIN_NUMBERS: Final = frozenset({bool, int, float})


class _Mask:
    """One walk through a value."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known
        self.found = False

    def of(self, value: Any, above: tuple[int, ...]) -> Any:
        """A copy without secrets, inside of containers whose ids are `above`."""
        kind = type(value)
        if kind is str:
            return self._text(value) or value
        if value is None or kind in _PLAIN_NUMBERS or isinstance(value, _SAFE):
            return value
        if isinstance(value, str):
            return self._text(str.__str__(value)) or value
        if isinstance(value, bytes | bytearray):
            return REDACTED if self._text(bytes(value).decode("latin-1")) else value
        if id(value) in above:
            return f"<the {kind.__name__} that contains this>"
        if len(above) >= _DEEPEST:
            shown = safe_repr(value)
            return self._text(shown) or shown
        above = (*above, id(value))
        if kind is dict or isinstance(value, Mapping):
            return {self._key(key): self._under(key, item, above) for key, item in value.items()}
        fields: Any = getattr(value, "_fields", None) if isinstance(value, tuple) else None
        if fields is not None:
            make: Any = getattr(value, "_make")  # noqa: B009
            return make(self._under(name, item, above) for name, item in zip(fields, value, strict=True))
        if isinstance(value, list | tuple):
            return type(value)([self.of(item, above) for item in value])
        if isinstance(value, AbstractSet):
            return {self.of(item, above) for item in value}
        return self._object(value, above)

    def _text(self, text: str) -> str | None:
        """The text without what looks like a key; `None` where nothing does."""
        made = masked_text(without(text, self.known) if self.known else text)
        if made == text:
            return None
        self.found = True
        return made

    def _key(self, key: Any) -> Any:
        return self._text(key) or key if isinstance(key, str) else key

    def _under(self, name: Any, value: Any, above: tuple[int, ...]) -> Any:
        if isinstance(name, str) and is_secret_name(name) and _is_something(value):
            self.found = True
            return REDACTED
        return self.of(value, above)

    def _object(self, value: Any, above: tuple[int, ...]) -> Any:
        if isinstance(value, loaded_types("numpy", "generic", "ndarray")):
            return value
        if callable(
            getattr(type(value), "plain_data", None)
        ):  # says itself what is kept of it, as a sound does
            return value
        told, inner = plain(value), _Mask(self.known)
        made = inner.of(told, above)
        self.found = self.found or inner.found
        return made if inner.found else value


def _is_something(value: Any) -> bool:
    """Whether a secret name stands above a value; a flag, nothing, or an empty text is no secret."""
    if isinstance(value, str):
        return bool(value) and value != REDACTED
    return value is not None and not isinstance(value, bool)


# ---------------------------------------------------------------------- what is known to be secret


def secrets_in(value: Any) -> list[str]:
    """The texts that stand under secret names somewhere in a value, to be taken out of others with `without`.

    They are looked for in containers, and in the attributes of objects, a few objects deep.
    """
    found: list[str] = []
    seen: set[int] = set()

    def look(data: Any, deep: int, *, secret: bool) -> None:
        if isinstance(data, str):
            if secret and len(data) >= _SHORTEST and data != REDACTED:
                found.append(data)
            return
        if data is None or isinstance(data, _CLOSED) or id(data) in seen or len(seen) >= _MOST_LOOKED_AT:
            return
        seen.add(id(data))
        if isinstance(data, tuple) and (fields := getattr(data, "_fields", None)) is not None:
            data = dict(zip(fields, data, strict=True))
        if isinstance(data, list | tuple | AbstractSet):
            for item in data:
                look(item, deep, secret=secret)
        elif isinstance(data, Mapping):
            for key, item in data.items():
                look(item, deep, secret=secret or (isinstance(key, str) and is_secret_name(key)))
        elif callable(reveal := _attribute(data, "get_secret_value")):  # pydantic's SecretStr
            look(reveal(), deep, secret=True)
        elif deep < _DEEPEST_OBJECT:
            for name in (*getattr(data, "__dict__", ()), *_slots(type(data))):
                look(_attribute(data, name), deep + 1, secret=secret or is_secret_name(name))

    # Of what another thread changes meanwhile, or what is nested too deeply, the secrets found until then count.
    with suppress(Exception):
        look(value, 0, secret=False)
    return found


def _attribute(holder: Any, name: str) -> Any:
    """An attribute; `None` where there is none, or where it cannot be read."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _slots(kind: type) -> list[str]:
    """The attributes that objects of a class have without a dictionary."""
    return [
        name
        for each in kind.__mro__
        for name in _as_names(vars(each).get("__slots__", ()))
        if not name.startswith("__")
    ]


def _as_names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def without(text: str, secrets: Iterable[Any]) -> str:
    """The text with what it repeats of some secrets hidden."""
    found = {spelling for secret in secrets for part in _parts(secret) for spelling in _spellings(part)}
    if not found:
        return text
    # The longest first: one secret may begin with another.
    return re.sub("|".join(sorted(found, key=len, reverse=True)), REDACTED, text)


def _parts(secret: Any, depth: int = 0) -> Iterator[Any]:
    """The single values that a secret is made of."""
    if isinstance(secret, Mapping):
        inside: Any = secret.values()
    elif isinstance(secret, list | tuple | AbstractSet):
        inside = secret
    else:
        yield secret
        return
    if depth < _DEEPEST_SECRET:
        for each in inside:
            yield from _parts(each, depth + 1)


def _spellings(part: Any) -> Iterator[str]:
    """Patterns for the ways in which a value may be written."""
    if isinstance(part, bool):
        return
    if isinstance(part, int | float):
        yield rf"(?<!\d){re.escape(str(part))}(?!\d)"  # a 4 is no part of a 42
    elif isinstance(part, bytes) and part:
        yield re.escape(repr(part)[2:-1])
        yield re.escape(part.decode("utf-8", "backslashreplace"))
    elif isinstance(part, str) and part:
        text = str.__str__(part)
        yield from map(re.escape, (text, repr(text)[1:-1], json.dumps(text)[1:-1]))
