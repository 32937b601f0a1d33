"""Secrets: what looks like one, and texts and data without it. One rule for recordings, messages and stores.

A value is taken for a secret where its name says so (`api_key`, `password`, `github_token`, `Authorization`: see
`is_secret_name`), or where it has the shape of a known kind of key: `sk-…`, `ghp_…`, `AKIA…`, a JWT, `Bearer …`, a private
key in PEM, the password of a URL. It is replaced by `[redacted]`. Inside a text only the secret itself is.

A name counts above a value in data, beside it in a list of pairs (`[("x-api-key", …)]`) or in an entry (`{"name": "api_key",
"value": …}`), and before it in a text: `password=…`, `X-API-Key: …`, `"token": "…"`. In a text a bare value stays where it looks
like a word of a sentence, a variable or a placeholder: `the password: field is required`, `password=${PASSWORD}`.

A secret that has neither a telling name nor a known shape is not found. What is known to be secret can be taken out of a
text (`without`): as it stands, as `repr` and as JSON would write it, and wherever it is nested. What was made of it
otherwise, such as a half of it, is not found.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from calipers.data.jsonable import loaded_types, plain, safe_repr

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

_START: Final = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2})"
    r"|(?<=[\[;0-9]m))"
)
"""Where a key may begin: not inside of a word, but after an escape that ends in a letter: `\n`, `%0A`, a colour."""
_MIXED: Final = r"(?=\w{0,200}\d)(?=\w{0,200}[a-z])(?=\w{0,200}[A-Z])"
_KIND: Final = r"(?:proj|ant|or|live|test|lf|svcacct|admin)-"
_AFTER_SCHEME: Final = r"(?: +|%20|\+)(?P<secret>(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})"
_SHAPES: Final = {
    "sk-": rf"{_START}sk-(?:{_KIND}[\w-]{{8,}}|(?=[\w-]{{0,200}}\d)[\w-]{{16,}}|[A-Za-z]{{20,}})"
    rf"|sk-(?:{_KIND}(?:api\d\d-)?{_MIXED}\w{{16}}|{_MIXED}\w{{32}})[\w-]*",
    "k_live_": rf"{_START}[sr]k_live_\w{{8,}}",
    "k_test_": rf"{_START}[sr]k_test_\w{{8,}}",
    "whsec_": r"whsec_\w{16,}",
    **{f"gh{kind}_": rf"gh{kind}_[A-Za-z0-9]{{16,}}" for kind in "oprsu"},
    "github_pat_": r"github_pat_\w{16,}",
    "glpat-": r"glpat-[\w-]{16,}",
    "akia": r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "asia": r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "aiza": r"AIza[\w-]{30,}",
    "ya29.": rf"{_START}ya29\.[\w-]{{16,}}",
    "xox": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    **{f"{kind}_": rf"{_START}{kind}_[A-Za-z0-9]{{20,}}" for kind in ("hf", "gsk", "npm", "r8")},
    "sg.": rf"{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}",
    "eyj": r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    "private key-----": r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "bearer": rf"{_START}(?i:bearer){_AFTER_SCHEME}",
    "basic": rf"{_START}(?i:basic){_AFTER_SCHEME}",
    "://": r"://[^/\s:@'\"]{0,200}:(?!\d*[/?#])(?P<secret>[^\s@'\"]{1,200}(?:@[^\s@/'\"]{1,200})*)@",
    "@": r"(?<=://)(?=[\w-]{0,200}\d)[\w-]{20,}(?=@)",
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
    """A text with `[redacted]` for what has the shape of a key, or stands after the name of a secret."""
    if len(text) < SHORTEST_KEY:
        return text
    # The same names and words stand in every record.
    return _masked_text(text) if len(text) > _LONGEST_REMEMBERED else (_masked_word(text) or text)


_LONGEST_REMEMBERED: Final = 64


@lru_cache(maxsize=4096)
def _masked_word(text: str) -> str | None:
    """A short text without its secrets; `None` where it has none."""
    made = _masked_text(text)
    return None if made == text else made


def _masked_text(text: str) -> str:
    lowered = text.lower()
    for sign, patterns in _PATTERNS.items():
        if sign in lowered:
            for hint, pattern in patterns:
                if hint in lowered:
                    text = pattern.sub(_hide, text)
    if ":" in lowered or "=" in lowered or "'," in lowered or '",' in lowered:
        for hint in _NAME_HINTS:
            if hint in lowered:
                return _without_named(text)
    return text


def is_free_of_secrets(text: str) -> bool:
    """Whether a glance shows that a text, or one of several that are joined, holds no secret. If not, it may hold none either."""
    lowered = text.lower()
    for sign, patterns in _PATTERNS.items():
        if sign in lowered:
            for hint, _ in patterns:
                if hint in lowered:
                    return False
    if ":" in lowered or "=" in lowered or "'," in lowered or '",' in lowered:
        for hint in _NAME_HINTS:
            if hint in lowered:
                return False
    return True


def _hide(found: re.Match[str]) -> str:
    which = "secret" if "secret" in found.re.groupindex else 0
    if found[which] == REDACTED:
        return found[0]
    start, end = (place - found.start() for place in found.span(which))
    return found[0][:start] + REDACTED + found[0][end:]


# ---------------------------------------------------------------------- names in texts

_NAME_HINTS: Final = ("key", "pass", "secret", "token", "authorization", "credential", "cookie", "pwd")
"""What a text in small letters has that names a secret."""
_NAMED: Final = re.compile(
    r"""
    (?P<word> a(?:pi|ccess|uth)[\ _-]?key | authorization | cookies? | credentials? | encryption[\ _-]?key
        | p(?:ass(?:phrase|wd|words?)|wd|rivate[\ _-]?key) | s(?:ecrets? | ecret[\ _-]?key | igning[\ _-]?key) | token)
    (?:
        \\*["'] \s* (?: (?:=>?|:) \s* | ,\s*\\*["']value\\*["']\s*:\s* | (?P<pair>,) \s* )  # "name": …
        | (?P<equals> \ *=(?![=>~])\ *)                                                         # name=…
        | (?P<colon> \ *:(?![:/])\ *)                                                           # name: …
    )
    (?:
        b?(?P<quote>["']) (?P<quoted>(?:\\.|(?!(?P=quote))[^\\])+) (?:(?P=quote)|\Z)
        | b?(?P<slashed>\\+["']) (?!(?P=slashed))(?P<escaped>.+?) (?:(?<!\\)(?P=slashed)|\Z)
        | (?P<scheme>(?:apikey|aws4-hmac-sha256|basic|bearer|bot|digest|key|negotiate|oauth|token)(?:\ +|%20))?
          (?P<bare>(?:[^\s"'\\]|\\(?![abefnrtuvx"']))+)
    )
    """,
    re.DOTALL | re.VERBOSE,
)
"""In a text in small letters: a name, a sign, and the value after it, in quotes or bare. `_secret_span` judges it."""
_LONGEST_NAME: Final = 64
_NAME_SIGNS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_PAIR_BEFORE: Final = re.compile(r"[\[({,]\s*[\[(]\s*b?\\*[\"']\Z")
_PAIR_AFTER: Final = re.compile(r"\s*[\])]")
_LINE_BEFORE: Final = re.compile(r"(?:^|[\n\r\"'>]|\\[nrt])[ \t]*(?:[-*>] +|export +)?\Z")
_LINE_AFTER: Final = re.compile(r"[ \t]*(?:$|[\n\r\"'<]|\\[nrt\"'])")
_COOKIE: Final = re.compile(r"[^\n\r\"'\\]*")
_PLACEHOLDER: Final = re.compile(r"[(\[{<].*|\$\{.*|\$[A-Z_]+|%[a-z(].*|[*.xX_-]+", re.DOTALL)
_CODE: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_ORDINARY_VALUES: Final = frozenset(
    (
        *("absent", "any", "bool", "boolean", "bytes", "changed", "default", "disabled", "empty"),
        *("enabled", "expired", "false", "hidden", "incorrect", "int", "integer", "invalid", "missing"),
        *("none", "null", "number", "object", "optional", "present", "required", "secretstr", "string"),
        *("text", "true", "undefined", "unknown", "unset", "valid", "wrong"),
    )
)
"""Words that say something about a secret."""
_SHORTEST_IN_PROSE: Final = 6
_LONGEST_WORD: Final = 16


def _without_named(text: str) -> str:
    """A text with `[redacted]` for the values after names of secrets."""
    lowered = text.replace("İ", "i").lower()  # the one letter that is longer when it is small
    pieces: list[str] = []
    told = place = 0
    while (found := _NAMED.search(lowered, place)) is not None:
        span = _secret_span(text, found)
        if span is None:
            place = found.end("word")
            continue
        pieces += (text[told : span[0]], REDACTED)
        told = place = span[1]
    return "".join((*pieces, text[told:])) if pieces else text


def _secret_span(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the secret after a name is; `None` if there is no secret."""
    start, end = found.span("word")
    before = text[max(0, start - _LONGEST_NAME) : start]
    prefix = before[len(before.rstrip(_NAME_SIGNS)) :]
    before = before[: len(before) - len(prefix)]
    if before.endswith("\\"):  # the n of an escape is no part of the name
        before, prefix = before + prefix[:1], prefix[1:]
    name = prefix + text[start:end]
    if not is_secret_name(name):
        return None
    if found["bare"] is not None:
        return _bare_span(text, found, name.lower(), before)
    value = found["quoted"] or found["escaped"]
    if value == REDACTED or (found["colon"] and " " in value):
        return None
    if found["pair"] and not (_PAIR_BEFORE.search(before) and _PAIR_AFTER.match(text, found.end())):
        return None
    return found.span("quoted" if found["quoted"] else "escaped")


def _bare_span(text: str, found: re.Match[str], name: str, before: str) -> tuple[int, int] | None:
    """The same of a value without quotes, which may also be a word of a sentence or of a program."""
    start, end = found.span("bare")
    value, equals, colon = text[start:end], found["equals"], found["colon"]
    if value.startswith(REDACTED):
        return None
    if colon and name.endswith(("cookie", "cookies")):
        return (start, start + len(_COOKIE.match(text, start)[0])) if "=" in value else None  # type: ignore[index]
    begins_line = _LINE_BEFORE.search(before) is not None
    if value[0] not in "([{<":
        value = re.split("&" if begins_line and equals else r"[&,;)\]}<>]", value, maxsplit=1)[0]
    if colon:
        value = value.rstrip(".:!?")
    elif equals:
        value = value.rstrip(",;")
    end = start + len(value)
    if not equals and not colon:  # after a name in quotes
        is_secret = re.fullmatch(r"-?\d[\d.]*", value) is not None
    elif equals and before.endswith(("?", "&")):
        is_secret = value != ""
    elif _is_ordinary(value, name):
        is_secret = False
    elif found["scheme"] or _is_plausible(value) or equals == "=":
        is_secret = True
    else:
        is_line = begins_line and _LINE_AFTER.match(text, end) is not None
        is_secret = is_line and ("pass" in name if equals else name not in _LOOSE_NAMES)
    return (start, end) if is_secret else None


_LOOSE_NAMES: Final = frozenset({"credential", "credentials", "secret", "secrets", "token"})
"""Names that are also ordinary words."""


def _is_ordinary(value: str, name: str) -> bool:
    """Whether a bare value is no secret by itself: too short, a placeholder, a word about it, or a variable."""
    lowered = value.lower()
    return (
        len(value) < _SHORTEST
        or lowered in _ORDINARY_VALUES
        or lowered == name
        or _PLACEHOLDER.fullmatch(value) is not None
        or (name == "token" and value.isdigit())
        or (
            value.replace("_", "").replace(".", "").isalpha()
            and not value.isalpha()
            and is_secret_name(value)
        )
        or _CODE.match(value) is not None
    )


def _is_plausible(value: str) -> bool:
    """Whether a value in a sentence or a program looks unlike a word: digits, signs, or no end."""
    return len(value) >= _SHORTEST_IN_PROSE and (
        any(sign.isdigit() or sign in "@!#$%^*+=~" for sign in value)
        or (value.isalpha() and len(value) >= _LONGEST_WORD)
    )


# ---------------------------------------------------------------------- data


def masked(value: Any, known: Collection[str] = ()) -> Any:
    """A value with `[redacted]` for each secret in it, however nested; the value itself where it holds none.

    An object with fields that holds a secret becomes plain data, and one whose repr shows a secret its repr, without it.

    Args:
        value: the value.
        known: texts that are known to be secret, whatever they look like.
    """
    kind = type(value)
    if kind is str and not known:
        told = masked_text(value)
        return value if told == value else told
    if value is None or kind in _PLAIN_NUMBERS or (not value and kind in _PLAIN_CONTAINERS):
        return value
    mask = _Mask(known)
    try:
        if not known and _is_clean(value):
            return value
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

_MAPPINGS: Final = (dict, Mapping)  # asked for in this order: most are plain
_PLAIN_NUMBERS: Final = frozenset({bool, int, float})
_PLAIN_CONTAINERS: Final = frozenset({str, tuple, list, dict})


def _is_clean(value: Any) -> bool:
    """Whether a glance shows that a value holds no secret. Most data is plain and holds none, and needs no copy."""
    texts: list[str] = []
    return gather_texts(value, texts) and all(masked_text(text) == text for text in texts)


def gather_texts(value: Any, texts: list[str], deep: int = 0) -> bool:
    """Add the texts in a value to a list; whether a look at these is enough to know that the value holds no secret."""
    kind = type(value)
    if kind is str:
        texts.append(value)
        return True
    if kind is dict:
        if not value.keys().isdisjoint(_ENTRY_KEYS):
            return False
        for name, item in value.items():
            if type(name) is not str or not _is_ordinary_name(name):
                return False
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind not in _PLAIN_NUMBERS and (deep > _DEEPEST or not gather_texts(item, texts, deep + 1)):
                return False
        return True
    if kind is list:
        return (
            deep <= _DEEPEST
            and not _are_pairs(value)
            and all(gather_texts(item, texts, deep + 1) for item in value)
        )
    return value is None or kind in _PLAIN_NUMBERS


@lru_cache(maxsize=4096)
def _is_ordinary_name(name: str) -> bool:
    """Whether a name neither says that what stands under it is a secret, nor holds one."""
    return not is_secret_name(name) and masked_text(name) == name


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
        if value is None or kind in _PLAIN_NUMBERS:
            return value
        if kind is not dict and kind is not list:
            if isinstance(value, _SAFE):
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
            told = {self._key(key): self._under(key, item, above) for key, item in value.items()}
            if (entry := _entry(value)) is not None and _is_secret_entry(*entry[1:]):
                self.found, told[entry[0]] = True, REDACTED
            return told
        fields: Any = getattr(value, "_fields", None) if isinstance(value, tuple) else None
        if fields is not None:
            make: Any = getattr(value, "_make")  # noqa: B009
            return make(self._under(name, item, above) for name, item in zip(fields, value, strict=True))
        if isinstance(value, list | tuple):
            items = [self.of(item, above) for item in value]
            if _are_pairs(value):
                for place, (name, item) in enumerate(value):
                    if _is_secret_entry(name, item):
                        self.found, items[place] = True, type(value[place])((items[place][0], REDACTED))
            return type(value)(items)
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
        if _tells(name) and _is_something(value):
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


def _tells(name: Any) -> bool:
    """Whether a key, a text or bytes, is the name of a secret."""
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    return isinstance(name, str) and is_secret_name(name)


def _is_secret_entry(name: Any, value: Any) -> bool:
    """Whether a name and a text beside it, as headers are listed, are those of a secret."""
    return isinstance(value, str | bytes) and _tells(name) and bool(value) and value != REDACTED


def _are_pairs(items: Sequence[Any]) -> bool:
    """Whether a list holds names with their values, as `[("x-api-key", "…")]` does."""
    return bool(items) and all(
        type(item) in (list, tuple) and len(item) == 2 and isinstance(item[0], str | bytes) for item in items
    )


def _entry(data: Mapping[Any, Any]) -> tuple[str, Any, Any] | None:
    """Under which key, under which name and which value a mapping such as `{"name": "api_key", "value": "…"}` has."""
    for value, names in _ENTRY_KEYS.items():
        if value in data:
            for name in names:
                if name in data:
                    return value, data[name], data[value]
    return None


_ENTRY_KEYS: Final = {"value": ("name", "key", "header"), "Value": ("Name", "Key", "Header")}


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
    with suppress(Exception):  # of what another thread changes meanwhile a second look may tell
        if _has_no_names(value):
            return []
    found: list[str] = []
    seen: set[int] = set()

    def look(data: Any, deep: int, *, secret: bool) -> None:
        if isinstance(data, str):
            if secret and len(data) >= _SHORTEST and data != REDACTED:
                found.append(data)
            return
        kind = type(data)
        if data is None or kind in _PLAIN_NUMBERS or (kind is not dict and isinstance(data, _CLOSED)):
            return
        if id(data) in seen or len(seen) >= _MOST_LOOKED_AT:
            return
        seen.add(id(data))
        if isinstance(data, tuple) and (fields := getattr(data, "_fields", None)) is not None:
            data = dict(zip(fields, data, strict=True))
        if kind is not dict and isinstance(data, list | tuple | AbstractSet):
            pairs = isinstance(data, list | tuple) and _are_pairs(data)
            for item in data:
                named = pairs and _tells(item[0])
                look(item[1] if named else item, deep, secret=secret or named)
        elif isinstance(data, _MAPPINGS):
            entry = _entry(data)
            for key, item in data.items():
                named = entry is not None and key == entry[0] and _is_secret_entry(*entry[1:])
                look(item, deep, secret=secret or named or _tells(key))
        elif callable(reveal := _attribute(data, "get_secret_value")):  # pydantic's SecretStr
            look(reveal(), deep, secret=True)
        elif deep < _DEEPEST_OBJECT:
            for name in (*getattr(data, "__dict__", ()), *_slots(type(data))):
                look(_attribute(data, name), deep + 1, secret=secret or is_secret_name(name))

    # Of what another thread changes meanwhile, or what is nested too deeply, the secrets found until then count.
    with suppress(Exception):
        look(value, 0, secret=False)
    return found


def _has_no_names(value: Any, deep: int = 0) -> bool:
    """Whether a glance shows that there is no secret name in a value."""
    kind = type(value)
    if kind is dict:
        if not value.keys().isdisjoint(_ENTRY_KEYS):
            return False
        for name, item in value.items():
            if type(name) is not str or is_secret_name(name):
                return False
            if type(item) is not str and (deep > _DEEPEST or not _has_no_names(item, deep + 1)):
                return False
        return True
    if kind is list:
        return (
            deep <= _DEEPEST
            and not _are_pairs(value)
            and all(_has_no_names(item, deep + 1) for item in value)
        )
    return value is None or kind is str or kind in _PLAIN_NUMBERS


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
