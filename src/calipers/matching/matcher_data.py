"""Matchers and expected calls written as plain data, the way dataset files hold them.

The arguments of a call are always what they look like; matchers stand beside them, under a key of their own, so that no
argument can be mistaken for a matcher:

```yaml
- search                                    # a tool, with any arguments
- book: {to: LA}                            # a tool with these arguments
- name: pay
  arguments: {currency: EUR}
  matchers:
    amount: {approx: {value: 9.99, abs_tol: 0.01}}
    reference: {regex: "^INV-"}
    note: {any_of: [thanks, {text: thank you}, {absent: true}]}
```

A matcher is a mapping with one key, its name. What stands under the name is its value, or a mapping of its parameters
by name. Where a matcher holds others, each is again such a mapping; a text, a number, a boolean or null means itself, and
`equals` takes any value as it is.

| name | holds |
|---|---|
| `equals` | any value |
| `regex`, `text`, `similar`, `date` | text, or parameters (the `tolerance` of a date is in seconds) |
| `approx` | a number, or parameters |
| `in_range` | the parameters `minimum`, `maximum`, or both |
| `of_type` | the name of a JSON type |
| `present`, `anything`, `absent` | `true` |
| `not`, `maybe`, `json` | a matcher |
| `any_of`, `all_of`, `set_of` | a list of matchers |
| `list_of` | a list of matchers, for a list with these items in this order |
| `mapping_of` | a mapping of matchers, for a mapping with these entries |
| `includes` | text, a list of matchers or a mapping of matchers |
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any

from calipers.data.argument_checks import did_you_mean, is_number
from calipers.data.jsonable import plain
from calipers.data.trace import ToolCall
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, InvalidTraceError

from .call import CallOf
from .dates import DateIs
from .matchers import (
    Absent,
    AllOf,
    AnyOf,
    Anything,
    Approx,
    Includes,
    InRange,
    Json,
    Maybe,
    Not,
    OfType,
    Present,
    Regex,
    SetOf,
    Similar,
    Text,
)
from .value_comparison import Matcher

_OF_A_VALUE: dict[str, tuple[Callable[..., Any], str]] = {
    "approx": (Approx, "value"),
    "date": (DateIs, "value"),
    "of_type": (OfType, "type"),
    "regex": (Regex, "pattern"),
    "similar": (Similar, "value"),
    "text": (Text, "value"),
}
_OF_NOTHING: dict[str, Callable[[], Any]] = {"absent": Absent, "anything": Anything, "present": Present}
_OF_A_MATCHER: dict[str, Callable[[Any], Any]] = {"json": Json, "maybe": Maybe, "not": Not}
_OF_SEVERAL: dict[str, Callable[[list[Any]], Any]] = {
    "all_of": lambda items: AllOf(*items),
    "any_of": lambda items: AnyOf(*items),
    "list_of": list,
    "set_of": SetOf,
}
_NAMES = sorted(
    {
        *_OF_A_VALUE,
        *_OF_NOTHING,
        *_OF_A_MATCHER,
        *_OF_SEVERAL,
        "equals",
        "in_range",
        "includes",
        "mapping_of",
    }
)
_CALL_KEYS = {"name", "arguments", "matchers", "tool_name", "tool_input"}


def read_call(data: Any) -> ToolCall:
    """The expected call that plain data describes.

    Raises:
        InvalidOptionError: a matcher is not valid.
        InvalidTraceError: it is not a call.
    """
    if isinstance(data, str):
        return CallOf(data)
    if not isinstance(data, Mapping):
        raise InvalidTraceError(
            f"an expected call is the name of a tool, {{tool: arguments}}, or a mapping with name, arguments and "
            f"matchers, got {show(data)}"
        )
    if len(data) == 1 and not data.keys() & _CALL_KEYS:
        ((tool, arguments),) = data.items()
        return ToolCall(tool, arguments)
    if unknown := [key for key in data if key not in _CALL_KEYS]:
        raise InvalidTraceError(
            f"an expected call has no {unknown[0]!r}: it has name, arguments and matchers"
        )
    matchers = data.get("matchers")
    if matchers is not None and not isinstance(matchers, Mapping):
        raise InvalidOptionError(f"matchers is a mapping from arguments to matchers, got {show(matchers)}")
    call = ToolCall(**{key: value for key, value in data.items() if key != "matchers"})
    for name, matcher in (matchers or {}).items():
        if name in call.arguments:
            raise InvalidOptionError(
                f"{name!r} stands under arguments and under matchers: one of them has to go"
            )
        call.arguments[name] = read_matcher(matcher, f"the matcher of {name!r}")
    return call


def read_matcher(data: Any, where: str = "a matcher") -> Any:
    """The matcher, or the value, that plain data describes where a matcher is expected.

    Raises:
        InvalidOptionError: the data describes none.
    """
    if data is None or isinstance(data, str | int | float):
        return data
    if isinstance(data, Mapping) and len(data) == 1:
        ((name, inside),) = data.items()
        return _matcher(name, inside, where)
    raise InvalidOptionError(
        f"{where} is a mapping with one key, as in {{regex: '^a'}}, or a text, a number, a boolean or null; "
        f"{{equals: ...}} takes any value as it is, got {show(data)}"
    )


def calls_data(calls: Iterable[ToolCall]) -> list[Any]:
    """Expected calls as plain data that `read_call` reads as the same calls.

    Raises:
        InvalidOptionError: a matcher has no such form, because a function is part of it.
    """
    return [_call_data(call) for call in calls]


def _call_data(call: ToolCall) -> Any:
    if isinstance(call, CallOf):
        return call.name
    plainly = {name: value for name, value in call.arguments.items() if not _has_matcher(value)}
    matchers = {name: _matcher_data(value) for name, value in call.arguments.items() if name not in plainly}
    return {
        "name": call.name,
        **({"arguments": plain(plainly)} if plainly else {}),
        **({"matchers": matchers} if matchers else {}),
    }


def _has_matcher(value: Any) -> bool:
    if isinstance(value, Matcher):
        return True
    inside = value.values() if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | list | tuple) and any(map(_has_matcher, inside))


def _matcher_data(matcher: Any) -> Any:
    """What `read_matcher` reads as this matcher."""
    if not _has_matcher(matcher):
        simple = matcher is None or isinstance(matcher, str | int | float)
        return matcher if simple else {"equals": plain(matcher)}
    if isinstance(matcher, Mapping):
        return {"mapping_of": {name: _matcher_data(value) for name, value in matcher.items()}}
    if isinstance(matcher, list | tuple):
        return {"list_of": [_matcher_data(value) for value in matcher]}
    kind = type(matcher)
    for name, (known, _) in (*_OF_A_VALUE.items(), ("in_range", (InRange, ""))):
        if kind is known:
            return {name: _parameters_data(matcher)}
    for name, nothing in _OF_NOTHING.items():
        if kind is nothing:
            return {name: True}
    for name, around in _OF_A_MATCHER.items():
        if kind is around:
            return {name: _matcher_data(matcher.value)}
    if kind is AllOf or kind is AnyOf:
        return {"all_of" if kind is AllOf else "any_of": [_matcher_data(each) for each in matcher.options]}
    if kind is SetOf:
        return {"set_of": [_matcher_data(each) for each in matcher.items]}
    if kind is Includes:
        inside = matcher.value
        if isinstance(inside, Mapping):
            return {"includes": {name: _matcher_data(value) for name, value in inside.items()}}
        if isinstance(inside, list | tuple):
            return {"includes": [_matcher_data(value) for value in inside]}
        return {"includes": plain(inside)}
    raise InvalidOptionError(f"{matcher!r:.200} cannot be written as plain data")


def _parameters_data(matcher: Any) -> dict[str, Any]:
    """The parameters of a matcher that are not at their defaults."""
    found: dict[str, Any] = {}
    for each in fields(matcher):
        value = getattr(matcher, each.name)
        if each.default is not MISSING and value == each.default:
            continue
        if isinstance(value, type):
            raise InvalidOptionError(f"{matcher!r:.200} cannot be written as plain data: name a JSON type")
        found[each.name] = value.total_seconds() if isinstance(value, timedelta) else plain(value)
    return found


def read_comparison(data: Any) -> Callable[[Any], Any]:
    """How an expected value is to be compared: a matcher that lacks only its value.

    It is the matcher's name (`text`), or the name with the other parameters (`{approx: {abs_tol: 0.01}}`).

    Raises:
        InvalidOptionError: the data describes none.
    """
    if callable(data):
        return data  # type: ignore[no-any-return]
    name: Any = data
    options: Any = {}
    if isinstance(data, Mapping) and len(data) == 1:
        ((name, options),) = data.items()
    if isinstance(name, str) and isinstance(options, Mapping):
        if name in _OF_A_VALUE:
            kind, value = _OF_A_VALUE[name]
            if value in options:
                raise InvalidOptionError(
                    f"{name} compares with the expected value, not with {options[value]!r}"
                )
            return lambda expected: _made(kind, {value: expected, **options}, name)
        simple = {"includes": Includes, "json": Json, "maybe": Maybe, "set_of": SetOf}
        if name in simple and not options:
            return simple[name]
    raise InvalidOptionError(
        "a comparison is the name of a matcher of one value, such as 'text', or its name with parameters, such as "
        f"{{approx: {{abs_tol: 0.01}}}}, got {show(data)}"
    )


def _matcher(name: Any, inside: Any, where: str) -> Any:
    if name == "equals":
        return inside
    if name in _OF_A_VALUE:
        kind, value = _OF_A_VALUE[name]
        return _made(kind, inside if isinstance(inside, Mapping) else {value: inside}, name)
    if name == "in_range":
        return _made(InRange, inside, name)
    if name in _OF_NOTHING:
        if inside is not True:
            raise InvalidOptionError(f"{where}: {name} is written as {{{name}: true}}, got {show(inside)}")
        return _OF_NOTHING[name]()
    if name in _OF_A_MATCHER:
        return _OF_A_MATCHER[name](read_matcher(inside, f"{where}, under {name},"))
    if name in _OF_SEVERAL or (name == "includes" and isinstance(inside, list | tuple)):
        if not isinstance(inside, list | tuple):
            raise InvalidOptionError(f"{where}: {name} holds a list of matchers, got {show(inside)}")
        items = [read_matcher(item, f"{where}, {name}[{index}],") for index, item in enumerate(inside)]
        return Includes(items) if name == "includes" else _OF_SEVERAL[name](items)
    if name == "mapping_of" or (name == "includes" and isinstance(inside, Mapping)):
        if not isinstance(inside, Mapping):
            raise InvalidOptionError(f"{where}: {name} holds a mapping of matchers, got {show(inside)}")
        entries = {key: read_matcher(item, f"{where}, {name}[{key!r}],") for key, item in inside.items()}
        return Includes(entries) if name == "includes" else entries
    if name == "includes":
        return Includes(inside)
    hint = did_you_mean(name, _NAMES) or f"; there are {', '.join(_NAMES)}"
    raise InvalidOptionError(f"{where}: no matcher is called {name!r}{hint}")


def _made(kind: Callable[..., Any], parameters: Any, name: str) -> Any:
    """The matcher with these parameters."""
    if not isinstance(parameters, Mapping):
        raise InvalidOptionError(f"{name} takes parameters by name, got {show(parameters)}")
    given = dict(parameters)
    seconds = given.get("tolerance")
    if name == "date" and is_number(seconds):
        given["tolerance"] = timedelta(seconds=seconds)
    try:
        return kind(**given)
    except TypeError as error:
        raise InvalidOptionError(f"{name} does not fit its parameters {show(parameters)}: {error}") from error
