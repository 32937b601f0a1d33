"""The spans of one attempt as a tree: `SpanNode`, `SpanTree`.

A span is one piece of work that instrumentation timed: a model request, a tool call, a step of a plan.

- Order is by start time, then by end time, then as given. Iteration visits a span before its children and the first
  child first; `find` and `first` follow it.
- Spans may be given in any order. One whose parent is not among them is a root. When stored data says that spans are
  each other's ancestors, the first of them to start becomes a root. Of two records of one span the later one counts.
- Times are whole nanoseconds since the epoch, as recorded. `duration` is seconds as a float, like every duration in
  Calipers; the timestamps are UTC `datetime` objects, which keep microseconds.
- Wherever a method takes a query it also takes a predicate. A query is compiled at each call: for many trees,
  pass `compile_query(query)`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final, Self, TypeAlias, cast, get_args

from calipers.data.argument_checks import is_number
from calipers.data.redaction import masked

from .query import SpanQuery, SpanStatus, compile_query, from_json, to_json, walk_ancestors, walk_descendants

FORMAT_VERSION = 1
"""The version of what `SpanTree.to_dict` writes."""

SpanMatcher: TypeAlias = SpanQuery | Callable[["SpanNode"], bool]
"""What selects spans: a query, or a predicate."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(slots=True, frozen=True)
class SpanEvent:
    """Something that happened at one moment of a span, such as an exception."""

    name: str
    """What happened."""
    _: KW_ONLY
    time_ns: int
    """When, in nanoseconds since the epoch."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """What was noted about it."""

    @property
    def timestamp(self) -> datetime:
        """When, in UTC."""
        return moment(self.time_ns)


class Seconds(float):
    """A number of seconds that can also be asked for `total_seconds()`, as a `timedelta` can."""

    __slots__ = ()

    def total_seconds(self) -> float:
        """The number itself."""
        return float(self)


@dataclass(slots=True, eq=False)
class SpanNode:
    """One span and its place among others. Two nodes are equal only when they are the same object."""

    name: str
    """What the span is called."""
    _: KW_ONLY
    trace_id: int
    """The id of the trace it belongs to."""
    span_id: int
    """Its own id, unique in the trace."""
    parent_span_id: int | None = None
    """The id of the span it ran in; `None` when it ran in none."""
    start_ns: int
    """When it started, in nanoseconds since the epoch."""
    end_ns: int
    """When it ended, in nanoseconds since the epoch."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """What was noted on it."""
    status: SpanStatus = "unset"
    """How it ended; `unset` when it does not say."""
    events: tuple[SpanEvent, ...] = ()
    """What happened in it, in order."""
    status_message: str = ""
    """What the span says of how it ended."""

    parent: "SpanNode | None" = field(init=False, default=None, repr=False)
    """The span it ran in, set by the tree; `None` for a root."""
    children: "tuple[SpanNode, ...]" = field(init=False, default=(), repr=False)
    """The spans that ran directly in it, set by the tree."""
    depth: int = field(init=False, default=0, repr=False)
    """The number of ancestors, set by the tree."""
    in_tree: bool = field(init=False, default=False, repr=False)
    """Whether a tree has set its place."""

    @property
    def duration(self) -> "Seconds":
        """Seconds from start to end."""
        return Seconds((self.end_ns - self.start_ns) / 1e9)

    @property
    def start_timestamp(self) -> datetime:
        """When it started, in UTC."""
        return moment(self.start_ns)

    @property
    def end_timestamp(self) -> datetime:
        """When it ended, in UTC."""
        return moment(self.end_ns)

    @property
    def descendants(self) -> "list[SpanNode]":
        """All spans below, each before its children and first child first."""
        return list(walk_descendants(self))

    @property
    def ancestors(self) -> "list[SpanNode]":
        """All spans above, the parent first and the root last."""
        return list(walk_ancestors(self))

    def matches(self, query: SpanMatcher) -> bool:
        """Whether the query matches this span."""
        return as_predicate(query)(self)

    def find_children(self, query: SpanMatcher) -> "list[SpanNode]":
        """The children that match, in order."""
        return list(filter(as_predicate(query), self.children))

    def first_child(self, query: SpanMatcher) -> "SpanNode | None":
        """The first child that matches."""
        return next(filter(as_predicate(query), self.children), None)

    def any_child(self, query: SpanMatcher) -> bool:
        """Whether a child matches."""
        return self.first_child(query) is not None

    def find_descendants(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> "list[SpanNode]":
        """The descendants that match, in order; those below a span that matches `stop_recursing_when` are left out."""
        below = walk_descendants(self, _optional_predicate(stop_recursing_when))
        return list(filter(as_predicate(query), below))

    def first_descendant(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> "SpanNode | None":
        """The first descendant that matches."""
        below = walk_descendants(self, _optional_predicate(stop_recursing_when))
        return next(filter(as_predicate(query), below), None)

    def any_descendant(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> bool:
        """Whether a descendant matches."""
        return self.first_descendant(query, stop_recursing_when) is not None

    def find_ancestors(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> "list[SpanNode]":
        """The ancestors that match, nearest first; those above a span that matches `stop_recursing_when` are left out."""
        above = walk_ancestors(self, _optional_predicate(stop_recursing_when))
        return list(filter(as_predicate(query), above))

    def first_ancestor(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> "SpanNode | None":
        """The nearest ancestor that matches."""
        above = walk_ancestors(self, _optional_predicate(stop_recursing_when))
        return next(filter(as_predicate(query), above), None)

    def any_ancestor(
        self,
        query: SpanMatcher,
        stop_recursing_when: SpanMatcher | None = None,
    ) -> bool:
        """Whether an ancestor matches."""
        return self.first_ancestor(query, stop_recursing_when) is not None


def read_span(
    name: str,
    trace_id: int,
    span_id: int,
    parent_span_id: int | None,
    start_ns: int,
    end_ns: int,
    attributes: dict[str, Any],
    status: SpanStatus,
    events: tuple[SpanEvent, ...],
    status_message: str,
) -> SpanNode:
    """What `SpanNode` makes, by place and in half of the time: recordings have millions of spans."""
    node = _new(SpanNode)
    node.name = name
    node.trace_id = trace_id
    node.span_id = span_id
    node.parent_span_id = parent_span_id
    node.start_ns = start_ns
    node.end_ns = end_ns
    node.attributes = attributes
    node.status = status
    node.events = events
    node.status_message = status_message
    node.parent = None
    node.children = ()
    node.depth = 0
    node.in_tree = False
    return node


_new: Final = object.__new__


class SpanTree:
    """The spans of one attempt, linked to each other. Built once; it does not change.

    A node that already stands in a tree is copied, so `SpanTree(tree.find(...))` leaves the first tree as it was.
    """

    __slots__ = ("_nodes", "roots")

    roots: tuple[SpanNode, ...]
    """The spans without a parent in the tree, in order."""

    def __init__(self, spans: Iterable[SpanNode] = ()) -> None:
        by_id: dict[tuple[int, int], SpanNode] = {}
        for span in spans:
            by_id[span.trace_id, span.span_id] = replace(span) if span.in_tree else span
        nodes = sorted(by_id.values(), key=_order)
        ordered = True  # each parent stands before its children: then there are no cycles
        for node in nodes:
            if node.parent_span_id is not None:
                parent = node.parent = by_id.get((node.trace_id, node.parent_span_id))
                if parent is not None and not parent.in_tree:
                    ordered = False
            node.in_tree = True
        if not ordered:
            _cut_cycles(nodes)
        self.roots = tuple([node for node in nodes if node.parent is None])
        self._nodes = _link(nodes, self.roots)

    def __iter__(self) -> Iterator[SpanNode]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, SpanTree) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SpanTree of {len(self)} spans, {len(self.roots)} roots>"

    def __str__(self) -> str:
        return "\n".join(_line(node) for node in self) if self._nodes else "(no spans)"

    def __reduce__(self) -> "tuple[Callable[[Mapping[str, Any]], SpanTree], tuple[dict[str, Any]]]":
        # Pickle and deepcopy would recurse once per level of the tree.
        return SpanTree.from_dict, (self.to_dict(),)

    def find(self, query: SpanMatcher) -> list[SpanNode]:
        """The spans that match, in order."""
        return list(filter(as_predicate(query), self._nodes))

    def first(self, query: SpanMatcher) -> SpanNode | None:
        """The first span that matches."""
        return next(filter(as_predicate(query), self._nodes), None)

    def any(self, query: SpanMatcher) -> bool:
        """Whether a span matches."""
        return self.first(query) is not None

    def count(self, query: SpanMatcher) -> int:
        """How many spans match."""
        return len(self.find(query))

    def all(self, query: SpanMatcher) -> bool:
        """Whether every span matches; of no spans nothing is shown, so False."""
        return bool(self.roots) and all(map(as_predicate(query), self))

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain data for strict JSON, with ids in hexadecimal.

        Raises:
            TypeError: an attribute is of a type that spans do not carry.
        """
        return {"version": FORMAT_VERSION, "spans": [_node_to_dict(node) for node in self]}

    def without_secrets(self) -> "SpanTree":
        """The tree as stores keep it, with `[redacted]` for what looks like a secret; the tree itself if nothing does."""
        data, found = self.to_dict(), False
        for node, told in zip(self, data["spans"], strict=True):
            nouns: list[tuple[SpanNode | SpanEvent, dict[str, Any]]] = [(node, told)]
            nouns += zip(node.events, told["events"], strict=True)
            for noun, written in nouns:
                name, attributes = masked(noun.name), masked(noun.attributes)
                if name is not noun.name or attributes is not noun.attributes:
                    written.update(name=name, attributes=to_json(attributes))
                    found = True
            if (
                node.status_message
                and (masked_status := masked(node.status_message)) is not node.status_message
            ):
                told["status_message"] = masked_status
                found = True
        return SpanTree.from_dict(data) if found else self

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The tree that `to_dict` described.

        Raises:
            ValueError: the data is no stored span tree, or one of a version that this release cannot read.
        """
        version = data.get("version")
        if version != FORMAT_VERSION:
            raise ValueError(
                f"expected a stored span tree of version {FORMAT_VERSION}, got version {version!r}"
            )
        spans = data.get("spans")
        if not isinstance(spans, list):
            raise ValueError(f"expected a stored span tree with a list of spans, got {spans!r}")  # noqa: TRY004
        return cls(_node_from_dict(span) for span in spans)


def as_predicate(query: SpanMatcher) -> Callable[[SpanNode], bool]:
    """A query compiled; a predicate as it is."""
    return query if callable(query) else compile_query(query)


def _optional_predicate(
    query: SpanMatcher | None,
) -> Callable[[SpanNode], bool] | None:
    return None if query is None else as_predicate(query)


def moment(ns: int) -> datetime:
    """A time in nanoseconds since the epoch as a date, in UTC."""
    return _EPOCH + _MICROSECOND * (ns // 1000)  # a timedelta of its own would take twice as long


_order: Final = attrgetter("start_ns", "end_ns")


def _cut_cycles(nodes: Iterable[SpanNode]) -> None:
    """Makes the earliest span of each cycle a root, by taking its parent away."""
    done: set[SpanNode] = set()
    for node in nodes:
        if node.parent is None or node.parent in done:
            done.add(node)
            continue
        path: dict[SpanNode, None] = {}
        current: SpanNode | None = node
        while current is not None and current not in done and current not in path:
            path[current] = None
            current = current.parent
        if current is not None and current in path:
            upwards = list(path)
            min(upwards[upwards.index(current) :], key=_order).parent = None
        done.update(path)


def _link(nodes: Iterable[SpanNode], roots: Iterable[SpanNode]) -> tuple[SpanNode, ...]:
    """Sets depth and children of nodes, and returns them with each before its children and first child first."""
    children: dict[SpanNode, list[SpanNode]] = {}
    for node in nodes:
        if (parent := node.parent) is not None:
            if parent in children:
                children[parent].append(node)
            else:
                children[parent] = [node]
    ordered: list[SpanNode] = []
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        ordered.append(node)
        if node.parent is not None:
            node.depth = node.parent.depth + 1
        if node in children:
            below = children[node]
            node.children = tuple(below)
            below.reverse()
            stack += below
    return tuple(ordered)


def _line(node: SpanNode) -> str:
    # A name may hold model output: control characters are shown, not sent to the terminal.
    name = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in node.name)
    status = "" if node.status == "unset" else f", {node.status}"
    return f"{'  ' * node.depth}{name} ({_readable(node.duration)}{status})"


def _readable(seconds: float) -> str:
    size = abs(seconds)
    if size < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if size < 1 else f"{seconds:.2f} s"


def _node_to_dict(node: SpanNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "trace_id": f"{node.trace_id:032x}",
        "span_id": f"{node.span_id:016x}",
        "parent_span_id": None if node.parent_span_id is None else f"{node.parent_span_id:016x}",
        "start_ns": node.start_ns,
        "end_ns": node.end_ns,
        "status": node.status,
        **({"status_message": node.status_message} if node.status_message else {}),
        "attributes": to_json(node.attributes),
        "events": [
            {
                "name": event.name,
                "time_ns": event.time_ns,
                "attributes": to_json(event.attributes),
            }
            for event in node.events
        ],
    }


def _node_from_dict(data: Mapping[str, Any]) -> SpanNode:
    try:
        parent_span_id = data["parent_span_id"]
        return SpanNode(
            data["name"],
            trace_id=int(data["trace_id"], 16),
            span_id=int(data["span_id"], 16),
            parent_span_id=None if parent_span_id is None else int(parent_span_id, 16),
            start_ns=data["start_ns"],
            end_ns=data["end_ns"],
            status=_known_status(data["status"]),
            status_message=data.get("status_message", ""),
            attributes=from_json(data["attributes"]),
            events=tuple(
                SpanEvent(
                    event["name"],
                    time_ns=event["time_ns"],
                    attributes=from_json(event["attributes"]),
                )
                for event in data["events"]
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected a span as stored by SpanTree.to_dict, got {data!r} ({error!r})"
        ) from error


def _known_status(status: Any) -> SpanStatus:
    if status not in get_args(SpanStatus):
        raise ValueError(f"status is one of 'unset', 'ok' and 'error', got {status!r}")
    return cast("SpanStatus", status)


# ---------------------------------------------------------------------- usage

_USAGE: Final = "gen_ai.usage."
_REQUESTS: Final = frozenset({None, "chat", "text_completion", "generate_content"})
"""Operations that ask a model for text; `None`: the span does not say which operation it is."""


def usage_metrics(tree: SpanTree) -> dict[str, int | float]:
    """What the spans of an attempt say it used: requests to models, tokens and cost; empty if no span says.

    Instrumentation notes usage by OpenTelemetry's conventions for generative AI. `gen_ai.usage.input_tokens` becomes the metric
    `input_tokens`, and so on for whatever else begins with `gen_ai.usage.` or `gen_ai.usage.details.`; `operation.cost` becomes
    `cost`; each request to a model counts in `requests`. The span of an agent often repeats the sum of the requests inside it,
    so a span with usage inside it does not count itself.
    """
    found: dict[str, int | float] = {}
    for node in tree:
        if not _tells(node) or any(map(_tells, node.descendants)):
            continue
        if node.attributes.get("gen_ai.operation.name") in _REQUESTS:
            found["requests"] = found.get("requests", 0) + 1
        for key, amount in node.attributes.items():
            if (name := _metric(key)) is not None and _is_amount(amount):
                found[name] = found.get(name, 0) + amount
    return found


def _tells(node: SpanNode) -> bool:
    return "gen_ai.request.model" in node.attributes or any(key.startswith(_USAGE) for key in node.attributes)


def _metric(key: str) -> str | None:
    """What the metric of an attribute is called; `None` if it is not a metric."""
    if key == "operation.cost":
        return "cost"
    if not key.startswith(_USAGE):
        return None
    return key.removeprefix(_USAGE).removeprefix("details.") or None


def _is_amount(value: Any) -> bool:
    return is_number(value) and 0 <= value < math.inf
