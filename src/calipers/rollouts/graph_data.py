"""A rollout as plain JSON data, and back.

The turns are stored as one list, each before the turns that follow it, with its number in its conversation: a turn
follows the nearest one before it whose number is smaller by one. So a conversation reads from top to bottom, and one of
ten thousand turns nests no deeper than one of two. A turn that stands at two places of the tree is stored twice.

What says nothing is left out: a score that was not measured, a trace that was not recorded. A number that JSON cannot hold
is stored as its name ("NaN"). Fields that a subclass of `Node` adds are stored in the metadata of the turn, so that they
can be read without the class. Texts come back as texts; other states and moves come back as the plain data that `plain`
makes of them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from calipers.data.argument_checks import (
    check_flag,
    check_list,
    check_mapping,
    check_text,
    is_number,
    is_whole_number,
)
from calipers.data.jsonable import plain
from calipers.data.trace import Trace
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import InvalidRolloutError, InvalidTraceError

from .graph import Graph, Node, numbered_turns, tree_of

FORMAT_VERSION = 1
"""The version of the data; a release reads its own version and every earlier one."""
_KEY = "calipers_rollout"
"""Where the version stands, and by which a stored rollout is known."""

_NUMBERS = ("reward", "attack_score", "response_score", "duration", "cost")
_NOT_FINITE = {name: float(name) for name in ("NaN", "Infinity", "-Infinity")}
_NODE_FIELDS = frozenset(field.name for field in dataclasses.fields(Node))


def graph_data(graph: Graph[Any, Any]) -> dict[str, Any]:
    """The rollout as plain data."""
    found: dict[str, Any] = {_KEY: FORMAT_VERSION, "context": plain(graph.context)}
    if graph.seed is not None:
        found["seed"] = plain(graph.seed)
    if graph.stopped is not None:
        found["stopped"] = plain(graph.stopped)
    if graph.broke_off:
        found["broke_off"] = True
    if graph.metadata:
        found["metadata"] = plain(graph.metadata)
    if graph.unfinished:
        found["unfinished"] = [trace_data(trace) for trace in graph.unfinished]
    found["turns"] = [_turn_data(number, node) for number, node in numbered_turns(graph)]
    return found


def _turn_data(number: int, node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"turn": number}
    for name in ("context", "attack", "response"):
        found[name] = plain(getattr(node, name, None))
    for name in (*_NUMBERS, "success"):
        if (value := getattr(node, name, None)) is not None:
            found[name] = plain(value)
    trace = getattr(node, "trace", None)
    if trace is not None:
        found["trace"] = trace_data(trace) if isinstance(trace, Trace) else plain(trace)
    metadata = {**_added_fields(node), **(getattr(node, "metadata", None) or {})}
    if metadata:
        found["metadata"] = plain(metadata)
    return found


def _added_fields(node: Any) -> dict[str, Any]:
    """What a subclass of `Node` holds beyond the fields of `Node`."""
    if type(node) is Node or not dataclasses.is_dataclass(node):
        return {}
    names = [field.name for field in dataclasses.fields(node) if field.name not in _NODE_FIELDS]
    return {name: getattr(node, name) for name in names}


# ---------------------------------------------------------------------- back


def read_graph(data: Any) -> Graph[Any, Any]:
    """The rollout that `graph_data` made data of. Keys that it does not know are passed over."""
    version = data.get(_KEY) if isinstance(data, Mapping) else None
    if not is_whole_number(version, at_least=1):
        raise InvalidRolloutError(
            f"this is not a stored rollout: it has no {_KEY!r} version, got {data!r:.200}"
        )
    if version > FORMAT_VERSION:
        raise InvalidRolloutError(
            f"the rollout has format version {version}, and this release reads up to {FORMAT_VERSION}: "
            "install a newer calipers"
        )
    turns: Any = check_list("the turns of a stored rollout", data.get("turns"), error=InvalidRolloutError)
    read = [_read_turn(turn, f"turns[{place}]") for place, turn in enumerate(turns)]
    children = tree_of((turn.get("turn"), node) for turn, node in zip(turns, read, strict=True))
    stopped, broke_off = data.get("stopped"), data.get("broke_off", False)
    check_text("stopped of a stored rollout", stopped, or_empty=True, or_none=True, error=InvalidRolloutError)
    unfinished = check_list(
        "unfinished of a stored rollout", data.get("unfinished", []), error=InvalidRolloutError
    )
    check_flag("broke_off of a stored rollout", broke_off, error=InvalidRolloutError)
    return Graph(
        context=data.get("context"),
        children=children,
        seed=data.get("seed"),
        stopped=stopped,
        metadata=_read_metadata(data, "the rollout"),
        broke_off=broke_off,
        unfinished=tuple(
            _read_trace(trace, f"unfinished[{place}]") for place, trace in enumerate(unfinished)
        ),
    )


def _read_trace(data: Any, where: str) -> Trace:
    try:
        return read_trace(data)
    except InvalidTraceError as error:
        raise InvalidRolloutError(f"{where}: {error}") from error


def _read_turn(data: Any, where: str) -> Node[Any, Any]:
    check_mapping(f"{where} of a stored rollout", data, error=InvalidRolloutError)
    numbers = {name: _read_number(data[name], f"{where}.{name}") for name in _NUMBERS if name in data}
    success = check_flag(f"{where}.success", data.get("success"), or_none=True, error=InvalidRolloutError)
    trace = None if data.get("trace") is None else _read_trace(data["trace"], f"{where}.trace")
    return Node(
        data.get("context"),
        data.get("attack"),
        data.get("response"),
        success=success,
        trace=trace,
        metadata=_read_metadata(data, where),
        **numbers,
    )


def _read_number(value: Any, where: str) -> Any:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if value is not None and not is_number(value):
        raise InvalidRolloutError(f"{where} must be a number, got {value!r:.200}")
    return value


def _read_metadata(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    return dict(
        check_mapping(f"the metadata of {where}", data.get("metadata", {}), error=InvalidRolloutError)
    )
