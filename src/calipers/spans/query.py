"""Asking for spans by what they are and what stands around them: `SpanQuery`, and its compilation to a predicate.

    {"name_contains": "search", "has_status": "error", "some_ancestor_has": {"name_equals": "plan"}}

Every key of a query is a condition and all of them must hold. What a reader might argue about:

- `{}` has no condition, so every span matches it; an empty `and_` adds none. An empty `or_` offers no alternative, so
  nothing matches it. `or_` may stand beside other keys: those must hold, and one of the alternatives too.
- `all_children_have`, `all_descendants_have` and `all_ancestors_have` need at least one such relative: a span without
  children has not shown that its children comply. `no_child_has` and its like are plain absence, true without any.
- A limit of 0 is a limit, and `""` is a name. A condition set to `None` is a mistake, not an absent condition.
- An attribute that is missing is not one that is `None`, and `True` is not `1`. Text that holds JSON also matches
  the list or mapping that it says.
- `name_matches_regex` is anchored at the start of the name only, like `re.match`; begin with `.*` to search, end
  with `$` to match all of it.
- `stop_recursing_when` bounds the walks to descendants and ancestors of the query it stands in: a relative that
  matches it is still looked at, those beyond it are not. Depth counts every ancestor, whatever it says.
- Durations are seconds, or `timedelta`.
"""

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol, Self, TypeVar, cast, get_args

from typing_extensions import (
    TypedDict,  # what validates dataset files cannot read the standard one before Python 3.12
)

from calipers.data.argument_checks import (
    check_choice,
    check_list,
    check_mapping,
    check_number,
    check_text,
    check_whole_number,
    did_you_mean,
)
from calipers.errors import InvalidOptionError

SpanStatus = Literal["unset", "ok", "error"]
"""How a span ended: `unset` when it does not say."""

REGEX_TIMEOUT_SECONDS = 1.0
"""How long one pattern may work on one name, so that a pattern with catastrophic backtracking cannot hang a run."""


class SpanQuery(TypedDict, total=False):
    """Conditions on one span, all of which must hold; the module's docstring settles the fine points."""

    name_equals: str
    """The name is this."""
    name_contains: str
    """The name contains this."""
    name_matches_regex: str
    """The pattern matches from the start of the name (syntax of the `regex` package, a superset of `re`)."""
    has_attributes: Mapping[str, Any]
    """Each of these attributes is present and has this value."""
    has_attribute_keys: Sequence[str]
    """Each of these attributes is present, whatever its value."""
    has_status: SpanStatus
    """The status is this."""
    min_duration: float | timedelta
    """It took at least this long."""
    max_duration: float | timedelta
    """It took at most this long."""

    not_: "SpanQuery"
    """This does not match."""
    and_: "Sequence[SpanQuery]"
    """All of these match."""
    or_: "Sequence[SpanQuery]"
    """At least one of these matches."""

    min_child_count: int
    """It has at least so many children."""
    max_child_count: int
    """It has at most so many children."""
    some_child_has: "SpanQuery"
    """At least one child matches."""
    all_children_have: "SpanQuery"
    """It has children and every one matches."""
    no_child_has: "SpanQuery"
    """No child matches."""

    stop_recursing_when: "SpanQuery"
    """Descendants and ancestors beyond a span that matches this are not looked at."""

    min_descendant_count: int
    """It has at least so many descendants."""
    max_descendant_count: int
    """It has at most so many descendants."""
    some_descendant_has: "SpanQuery"
    """At least one descendant matches."""
    all_descendants_have: "SpanQuery"
    """It has descendants and every one matches."""
    no_descendant_has: "SpanQuery"
    """No descendant matches."""

    min_depth: int
    """It has at least so many ancestors; a root has 0."""
    max_depth: int
    """It has at most so many ancestors."""
    some_ancestor_has: "SpanQuery"
    """At least one ancestor matches."""
    all_ancestors_have: "SpanQuery"
    """It has ancestors and every one matches."""
    no_ancestor_has: "SpanQuery"
    """No ancestor matches."""


class SpanLike(Protocol):
    """What a query reads from a span; `SpanNode` has it."""

    @property
    def name(self) -> str:
        """What the span is called."""
        ...

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What was noted on the span."""
        ...

    @property
    def status(self) -> str:
        """One of `SpanStatus`."""
        ...

    @property
    def duration(self) -> float:
        """Seconds."""
        ...

    @property
    def depth(self) -> int:
        """The number of ancestors."""
        ...

    @property
    def parent(self) -> Self | None:
        """The span this one ran in."""
        ...

    @property
    def children(self) -> Sequence[Self]:
        """The spans that ran directly in this one."""
        ...


SpanT = TypeVar("SpanT", bound=SpanLike)
SpanPredicate = Callable[[SpanLike], bool]


def compile_query(query: SpanQuery) -> SpanPredicate:
    """The query as a predicate, checked once and quick to call often.

    Raises:
        InvalidOptionError: an unknown key (the message names the nearest known one), or a value of the wrong kind.
    """
    _check_keys(query)
    checks = [
        *_name_checks(query),
        *_attribute_checks(query),
        *_measure_checks(query),
        *_logic_checks(query),
        *_relative_checks(query),
    ]
    if len(checks) == 1:
        return checks[0]

    def every_check(span: SpanLike) -> bool:
        return all(check(span) for check in checks)

    return every_check


def walk_descendants(span: SpanT, stop: Callable[[SpanT], bool] | None = None) -> Iterator[SpanT]:
    """The spans below, each before its children and first child first; not beyond a span where `stop` is true."""
    stack = list(reversed(span.children))
    while stack:
        current = stack.pop()
        yield current
        if stop is None or not stop(current):
            stack.extend(reversed(current.children))


def walk_ancestors(span: SpanT, stop: Callable[[SpanT], bool] | None = None) -> Iterator[SpanT]:
    """The spans above, nearest first; not beyond a span where `stop` is true."""
    current = span.parent
    while current is not None:
        yield current
        if stop is not None and stop(current):
            return
        current = current.parent


def _check_keys(query: Any) -> None:
    if not isinstance(query, Mapping):
        raise InvalidOptionError(f"a span query is a mapping of conditions, got {query!r}")
    known = SpanQuery.__annotations__
    for key, value in query.items():
        if key not in known:
            raise InvalidOptionError(
                f"unknown key {key!r} in a span query{did_you_mean(key, known)}; there are {', '.join(known)}"
            )
        if value is None:
            raise InvalidOptionError(f"{key} must not be None: leave {key} out to ask nothing")


# Each of the following turns the keys of one kind, where present, into predicates.


def _name_checks(query: SpanQuery) -> Iterator[SpanPredicate]:
    if "name_equals" in query:
        wanted = _text("name_equals", query["name_equals"])
        yield lambda span: span.name == wanted
    if "name_contains" in query:
        part = _text("name_contains", query["name_contains"])
        yield lambda span: part in span.name
    if "name_matches_regex" in query:
        yield _regex_check(_text("name_matches_regex", query["name_matches_regex"]))


def _regex_check(pattern: str) -> SpanPredicate:
    import regex

    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise InvalidOptionError(f"name_matches_regex {pattern!r} is not a valid pattern: {error}") from error

    def check(span: SpanLike) -> bool:
        try:
            return compiled.match(span.name, timeout=REGEX_TIMEOUT_SECONDS) is not None
        except TimeoutError as error:
            # A TimeoutError would read as a task that was too slow.
            raise InvalidOptionError(
                f"name_matches_regex {pattern!r} needed more than {REGEX_TIMEOUT_SECONDS} s on the span name"
                f" {span.name[:100]!r}: write it without nested repetition"
            ) from error

    return check


def _attribute_checks(query: SpanQuery) -> Iterator[SpanPredicate]:
    if "has_attributes" in query:
        given: Any = query["has_attributes"]
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise InvalidOptionError(f"has_attributes takes a mapping of names to values, got {given!r}")
        for key, value in given.items():
            try:
                check_value(key, value)
            except TypeError as error:
                raise InvalidOptionError(f"has_attributes cannot match: {error}") from error
        wanted = dict(given)

        def has_attributes(span: SpanLike) -> bool:
            found = span.attributes
            return all(key in found and matches_value(value, found[key]) for key, value in wanted.items())

        yield has_attributes
    if "has_attribute_keys" in query:
        keys = [
            _text("has_attribute_keys", key)
            for key in check_list("has_attribute_keys", query["has_attribute_keys"])
        ]
        yield lambda span: all(key in span.attributes for key in keys)


def _measure_checks(query: SpanQuery) -> Iterator[SpanPredicate]:
    if "has_status" in query:
        status = check_choice("has_status", query["has_status"], get_args(SpanStatus))
        yield lambda span: span.status == status
    if "min_duration" in query:
        shortest = _seconds("min_duration", query["min_duration"])
        yield lambda span: span.duration >= shortest
    if "max_duration" in query:
        longest = _seconds("max_duration", query["max_duration"])
        yield lambda span: span.duration <= longest
    if "min_depth" in query:
        lowest = _count("min_depth", query["min_depth"])
        yield lambda span: span.depth >= lowest
    if "max_depth" in query:
        highest = _count("max_depth", query["max_depth"])
        yield lambda span: span.depth <= highest


def _logic_checks(query: SpanQuery) -> Iterator[SpanPredicate]:
    if "not_" in query:
        negated = _inner("not_", query["not_"])
        yield lambda span: not negated(span)
    if "and_" in query:
        for part in check_list("and_", query["and_"]):
            yield _inner("and_", part)
    if "or_" in query:
        alternatives = [_inner("or_", part) for part in check_list("or_", query["or_"])]
        yield lambda span: any(alternative(span) for alternative in alternatives)


def _relative_checks(query: SpanQuery) -> Iterator[SpanPredicate]:
    key = "stop_recursing_when"
    stop = _inner(key, query["stop_recursing_when"]) if key in query else None
    below = _relatives_check(
        query,
        lambda span: list(walk_descendants(span, stop)),
        at_least="min_descendant_count",
        at_most="max_descendant_count",
        some="some_descendant_has",
        every="all_descendants_have",
        none="no_descendant_has",
    )
    above = _relatives_check(
        query,
        lambda span: list(walk_ancestors(span, stop)),
        some="some_ancestor_has",
        every="all_ancestors_have",
        none="no_ancestor_has",
    )
    if stop is not None and below is None and above is None:
        raise InvalidOptionError(
            "stop_recursing_when does nothing here: it bounds conditions on descendants and ancestors, and the query"
            f" that holds it has none ({', '.join(query)})"
        )
    children = _relatives_check(
        query,
        lambda span: span.children,
        at_least="min_child_count",
        at_most="max_child_count",
        some="some_child_has",
        every="all_children_have",
        none="no_child_has",
    )
    yield from (check for check in (children, above, below) if check is not None)


def _relatives_check(
    query: Mapping[str, Any],
    relatives: Callable[[SpanLike], Sequence[SpanLike]],
    *,
    at_least: str = "",
    at_most: str = "",
    some: str,
    every: str,
    none: str,
) -> SpanPredicate | None:
    """One predicate for all conditions on one kind of relatives; `None` when the query has none.

    The relatives are collected once and each condition sees all of them.
    """
    if not query.keys() & {at_least, at_most, some, every, none}:
        return None
    fewest = _count(at_least, query[at_least]) if at_least in query else 0
    most = _count(at_most, query[at_most]) if at_most in query else None
    some_has, all_have, none_has = (
        _inner(key, query[key]) if key in query else None for key in (some, every, none)
    )

    def check(span: SpanLike) -> bool:
        found = relatives(span)
        return (
            len(found) >= fewest
            and (most is None or len(found) <= most)
            and (some_has is None or any(some_has(relative) for relative in found))
            and (all_have is None or (bool(found) and all(all_have(relative) for relative in found)))
            and (none_has is None or not any(none_has(relative) for relative in found))
        )

    return check


# Each of the following returns the value of one key.


def _text(key: str, value: Any) -> str:
    return cast("str", check_text(key, value, or_empty=True))


def _count(key: str, value: Any) -> int:
    return cast("int", check_whole_number(key, value, at_least=0))


def _seconds(key: str, value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return cast("float", check_number(key, seconds, at_least=0, of="seconds"))


def _inner(key: str, value: Any) -> SpanPredicate:
    return compile_query(cast("SpanQuery", check_mapping(key, value)))


# ---------------------------------------------------------------------- attributes
#
# Equality: `True` is not `1`; `1` is `1.0`; NaN equals NaN; a list equals a tuple. Instrumentations often store a structure
# as JSON text, so a list or a mapping also matches text that parses to it.
#
# Storing: JSON has no bytes, no NaN and, in many readers, no integers beyond 64 bits. Such a value is stored as a mapping
# with one tag: `{"$bytes": base64}`, `{"$float": "nan"}`, `{"$int": hex}`. A mapping with a key that begins with a dollar
# sign is stored under `{"$dict": ...}`. Tuples come back as lists.


def check_value(key: str, value: Any) -> None:
    """Nothing, when the value is of a kind that spans carry.

    Raises:
        TypeError: it is not.
    """
    _encode(value, key)


def matches_value(wanted: Any, found: Any) -> bool:
    """Whether an attribute that is present has the wanted value."""
    if isinstance(found, str) and isinstance(wanted, list | tuple | Mapping):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return False
    return _same(wanted, found)


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and wanted.keys() == found.keys()
            and all(_same(value, found[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(wanted) == len(found)
            and all(_same(one, other) for one, other in zip(wanted, found, strict=True))
        )
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return bool(wanted == found)


def to_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as plain JSON data.

    Raises:
        TypeError: a value is of a type that spans do not carry.
    """
    return {key: _encode(value, key) for key, value in attributes.items()}


def from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as `to_json` was given them."""
    return {key: _decode(value) for key, value in data.items()}


def _encode(value: Any, key: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else {"$int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return [_encode(item, key) for item in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        plain = {name: _encode(item, key) for name, item in value.items()}
        return {"$dict": plain} if any(name.startswith("$") for name in plain) else plain
    raise TypeError(
        f"attribute {key!r} holds {value!r}, a {type(value).__name__}: span attributes are strings, numbers, booleans,"
        " bytes, None, and lists and mappings (with string keys) of these"
    )


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$int": str(digits)}:
            return int(digits, 16)
        case {"$float": str(number)}:
            return float(number)
        case {"$bytes": str(text)}:
            return base64.b64decode(text)
        case {"$dict": dict(plain)}:
            return {name: _decode(item) for name, item in plain.items()}
        case _:
            return {name: _decode(item) for name, item in value.items()}
