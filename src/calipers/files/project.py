"""The settings of a project: `calipers.toml`, or `[tool.calipers]` in `pyproject.toml`.

    store = "evals/runs.db"         # beside this file
    max_concurrency = 20
    redact = ["email", "phone"]

The nearest folder counts, from the working folder upward; in one folder `calipers.toml` comes before `pyproject.toml`. The command
line and environment variables come before a setting. A setting that is unknown, or of the wrong type, is an error with its place.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from calipers.data.argument_checks import did_you_mean, is_number, is_whole_number
from calipers.errors import SettingsError
from calipers.models.prices import Price

from .problem import Problems, Steps, not_utf8, problems_text

OWN_FILE: Final = "calipers.toml"
SHARED_FILE: Final = "pyproject.toml"
_TABLE: Final = ("tool", "calipers")
"""Where the settings are in a `pyproject.toml`."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a project. Without a file, everything has its default."""

    file: Path | None = None
    """The file of the settings; `None`: there is none."""
    store: str | None = None
    """Where runs are kept: a URL, or a path, relative to the file; `None`: `.calipers/runs.db` in the working folder."""
    plugins: bool | tuple[str, ...] = True
    """Which plugins to load: True, all that are installed; False, none; or names and folders."""
    model: str | None = None
    """The default model."""
    prices: dict[str, Price] = {}
    """By model."""
    max_concurrency: int | Literal["auto"] | None = None
    """Attempts in flight."""
    task_timeout: float | None = None
    """Seconds that a task may take."""
    evaluator_timeout: float | None = None
    """Seconds that an evaluator may take."""
    redact: tuple[str, ...] = ()
    """Names of fields whose values are masked before anything is stored."""


def find_project(folder: str | Path | None = None) -> Project:
    """The settings that hold in a folder; default: the working folder.

    Raises:
        SettingsError: something is wrong with the file; the error lists all of it.
    """
    try:
        start = (Path.cwd() if folder is None else Path(folder)).resolve()
    except OSError:  # the working folder is gone
        return Project()
    for place in (start, *start.parents):
        for name in (OWN_FILE, SHARED_FILE):
            file = place / name
            try:
                # A link counts even if its file is gone.
                raw = file.read_bytes() if os.path.lexists(file) else None
            except OSError as error:
                if name == OWN_FILE:
                    raise _unreadable(file, error) from error
                continue
            # Other tools report a broken pyproject.toml without our table.
            if raw is not None and (name == OWN_FILE or b"calipers" in raw):
                found = _read(file, raw)
                if found is not None:
                    return found
    return Project()


def _unreadable(file: Path, error: OSError) -> SettingsError:
    if file.is_dir():
        why = "the settings of a project are a file, and this is a folder"
    elif file.is_symlink() and not file.exists():
        why = f"the link leads to a file that does not exist: {file.readlink()}"
    else:
        why = f"the file cannot be read: {error.strerror}"
    problems = Problems(_from_here(file))
    problems.add((), why)
    return SettingsError(problems_text(problems.found), problems.found)


def _read(file: Path, raw: bytes) -> Project | None:
    """The settings in a file; `None` if it has none."""
    problems = Problems(_from_here(file))
    base = () if file.name == OWN_FILE else _TABLE
    try:
        text = raw.decode("utf-8-sig")
        data: Any = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problems.add_at(line, 1, not_utf8("the file", error.object, error.start))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        problems.add_at(line, column, re.sub(r" \(at [^()]*\)$", "", str(error)))
    else:
        for step in base:
            data = data.get(step) if isinstance(data, Mapping) else None
        if data is None:
            return None
        problems.locate = lambda steps, _of_key: _place(text, (*base, *steps))
        settings = _checked(data, problems)
        if not problems.found:
            return _made(file, settings)
    raise SettingsError(problems_text(problems.found), problems.found)


def _made(file: Path, settings: dict[str, Any]) -> Project:
    store = settings.get("store")
    if store is not None and "://" not in store and store != ":memory:":
        settings["store"] = str(file.parent / store)
    if isinstance(settings.get("plugins"), list):
        settings["plugins"] = tuple(_plugin(file, each) for each in settings["plugins"])
    if "redact" in settings:
        settings["redact"] = tuple(settings["redact"])
    if "prices" in settings:
        settings["prices"] = {model: Price(**price) for model, price in settings["prices"].items()}
    return Project(file=file, **settings)


def _plugin(file: Path, name: str) -> str:
    """A folder of plugins is beside the file; any other name is that of an installed plugin."""
    return str(file.parent / name) if "/" in name or "\\" in name else name


# ---------------------------------------------------------------------- what may be set


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_seconds(value: Any) -> bool:
    return is_number(value) and 0 < value < float("inf")


def _is_price(value: Any) -> bool:
    return is_number(value) and 0 <= value < float("inf")


_Rule = tuple[Callable[[Any], bool], str]
_RULES: Final[dict[str, _Rule]] = {
    "store": (_is_text, "expected the path or URL of a store, without NUL characters"),
    "plugins": (
        lambda value: isinstance(value, bool) or _are_texts(value),
        "expected true, false or a list of plugins",
    ),
    "model": (_is_text, "expected the name of a model"),
    "prices": (
        lambda value: isinstance(value, dict),
        'expected a table of models, such as prices."gpt-5-mini" = { input = 0.25, output = 2.0 }',
    ),
    "max_concurrency": (
        lambda value: value == "auto" or is_whole_number(value, at_least=1),
        'expected a whole number from 1, or "auto"',
    ),
    "task_timeout": (_is_seconds, "expected a number of seconds above 0"),
    "evaluator_timeout": (_is_seconds, "expected a number of seconds above 0"),
    "redact": (_are_texts, "expected a list of names of fields"),
}
_PRICE_RULES: Final[dict[str, _Rule]] = dict.fromkeys(
    Price.__struct_fields__, (_is_price, "expected dollars for a million tokens, from 0")
)


def _checked(data: Any, problems: Problems) -> dict[str, Any]:
    """The settings, with what is wrong added to the problems."""
    if not isinstance(data, dict):
        problems.add((), "expected a table of settings", data)
        return {}
    _check(data, _RULES, (), problems)
    prices = data.get("prices")
    for model, price in prices.items() if isinstance(prices, dict) else ():
        steps = ("prices", model)
        if not isinstance(price, dict):
            problems.add(steps, "expected a table with input and output", price)
            continue
        _check(price, _PRICE_RULES, steps, problems)
        if missing := [name for name in ("input", "output") if name not in price]:
            problems.add(steps, f"{' and '.join(missing)} is missing")
    return data


def _check(data: dict[str, Any], rules: Mapping[str, _Rule], at: Steps, problems: Problems) -> None:
    for key, value in data.items():
        if key not in rules:
            near = did_you_mean(key.replace("-", "_"), rules) or f"; there are {', '.join(rules)}"
            problems.add((*at, key), f"unknown setting{near}")
        elif not rules[key][0](value):
            problems.add((*at, key), rules[key][1], value)


# ---------------------------------------------------------------------- where it is said

_KEY: Final = r""""(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+"""
_KEYS: Final = rf"(?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*"
_LINE: Final = re.compile(rf"\s*(?:\[\s*(?P<table>{_KEYS})\s*\]|(?P<key>{_KEYS})\s*=)")


def _place(text: str, steps: Steps) -> tuple[int, int]:
    """Line and column where a value, or the nearest table around it, is set; tomllib does not tell."""
    best, place = 0, (1, 1)
    for number, keys, column in _keys(text):
        if best < len(keys) <= len(steps) and keys == steps[: len(keys)]:
            best, place = len(keys), (number, column)
    return place


def _keys(text: str) -> Iterator[tuple[int, Steps, int]]:
    """Each table and key of a document: its line, its full name and its column."""
    table: Steps = ()
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        if found["table"] is not None:
            table = _names(found["table"])
            yield number, table, found.start("table") + 1
        else:
            yield number, (*table, *_names(found["key"])), found.start("key") + 1


def _names(dotted: str) -> Steps:
    return tuple(each[1:-1] if each[0] in "\"'" else each for each in re.findall(_KEY, dotted))


def _from_here(file: Path) -> str:
    """The path, relative to the working folder if possible."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(file)
