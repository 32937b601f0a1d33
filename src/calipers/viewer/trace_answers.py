"""The trace of an attempt: its skeleton first, the bodies of steps when they are asked for, and where a text stands in it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.views.step_columns import KINDS

from .deadline import current_deadline
from .refusal import Refusal
from .shown_value import MOST, blob_address, shown_json, shown_text
from .sounds import sounds_in
from .step_tree import MOST_AT_ONCE
from .stored_trace import StoredTrace, StoredTurn
from .turns import in_turn
from .viewed_store import ViewedStore
from .wire import FoundStepsAnswer, ShownValue, Sound, StepBody, StepsAnswer, TraceAnswer, TraceSummary

KindAsked: TypeAlias = Literal["", "user", "agent", "model", "tool"]

_ERROR: Final = 200
"""Characters of an error in a skeleton."""
MOST_BODIES: Final = 200
"""Steps whose bodies one answer has."""
_FEW: Final = 20
"""Steps up to which each value has as much room as on the page of its case."""
_IN_MANY: Final = 4_000
"""Characters of a value where more steps are asked for."""
_LONG: Final = 5_000
"""Steps of a trace from which on requests take turns."""
_FOUND: Final = 1_000
"""Steps that are named in which a text stands; the others are counted."""


def _trace(viewed: ViewedStore, which: str, position: int) -> tuple[RunInfo, StoredTrace]:
    with viewed.reading() as store:
        run = store.run(which)
    found = viewed.trace(run.id, position)
    if found is None:
        raise Refusal(
            "not_found",
            f"run {run.id!r} has no attempt {position}, or it left no trace: see its case for what it did",
        )
    return run, found


def summary_of(trace: StoredTrace) -> TraceSummary:
    """What a trace adds up to."""
    failed = np.flatnonzero(_failed(trace))
    return TraceSummary(
        title=trace.title,
        steps=len(trace),
        facts=trace.facts,
        notes=trace.notes,
        extent=_seconds(trace.columns.extent_ms),
        failed_step=int(failed[0]) if len(failed) else None,
    )


# ---------------------------------------------------------------------- the skeleton


def trace_answer(
    viewed: ViewedStore,
    run: str,
    position: int,
    *,
    depth: int | None = None,
    parent: int | None = None,
    after: int | None = None,
    limit: int = MOST_AT_ONCE,
    kind: KindAsked = "",
) -> TraceAnswer:
    """The skeleton of a trace, or of the part of it that is asked for.

    Args:
        viewed: the store.
        run: as in `Store.run`.
        position: of the attempt.
        depth: levels that are wanted; default: all if they are few enough.
        parent: only what is below this step.
        after: the steps that follow this one, whatever their depth.
        limit: steps of the answer.
        kind: only steps of this kind, and those above them.
    """
    _, trace = _trace(viewed, run, position)
    if not 1 <= limit <= MOST_AT_ONCE:
        raise Refusal("bad_request", f"limit must be from 1 to {MOST_AT_ONCE:,}, got {limit}")
    if depth is not None and depth < 1:
        raise Refusal("bad_request", f"depth must be at least 1, got {depth}")
    with in_turn(is_large=len(trace) >= _LONG):
        tree, failed = trace.tree, _failed(trace)
        above = -1 if parent is None else parent
        if not -1 <= above < max(len(tree), 1):
            raise Refusal("not_found", f"the trace has {plural(len(tree), 'step')}, and no step {above}")
        if after is not None or kind:
            ids = tree.range_of(above, -1 if after is None else max(after, -1))
            if kind:
                kinds = np.frombuffer(trace.columns.kind, dtype=np.uint8)[tree.place]
                ids = ids[kinds[ids] == KINDS.index(kind)]
            ids = ids[:limit]
            if after is None:
                ids = tree.with_those_above(ids, above)[:limit]
        else:
            ids = tree.chosen(failed, parent=above, levels=depth, limit=limit)
        return _skeleton(trace, ids, failed)


def _skeleton(trace: StoredTrace, ids: NDArray[np.int64], failed: NDArray[np.bool_]) -> TraceAnswer:
    """Some steps of a trace as columns."""
    columns, tree = trace.columns, trace.tree
    places = tree.place[ids]
    at = places.tolist()
    lost = np.flatnonzero(failed)
    lost = lost[~np.isin(lost, ids)]
    notes = trace.notes
    if len(lost):
        notes.append(f"{plural(len(lost), 'step')} that failed are not in this part of the trace.")
    return TraceAnswer(
        total=len(tree),
        loaded=len(ids),
        id=ids.tolist(),
        parent=tree.parent[ids].tolist(),
        depth=tree.depth[ids].tolist(),
        kind=[KINDS[columns.kind[place]] for place in at],
        label=[columns.label[place] for place in at],
        start=[_seconds(columns.start_ms[place]) for place in at],
        took=[_seconds(columns.took_ms[place]) for place in at],
        failed=failed[ids].tolist(),
        error={
            each: columns.error[place][:_ERROR]
            for each, place in zip(ids.tolist(), at, strict=True)
            if columns.failed[place] and columns.error.get(place)
        },
        tokens_in=[_count(columns.tokens_in[place]) for place in at],
        tokens_out=[_count(columns.tokens_out[place]) for place in at],
        cost=[_known(columns.cost[place]) for place in at],
        children=tree.below[ids].tolist(),
        missing=tree.missing(ids).tolist(),
        extent=_seconds(columns.extent_ms),
        facts=trace.facts,
        notes=notes,
    )


def _failed(trace: StoredTrace) -> NDArray[np.bool_]:
    """Of each id, whether the step failed."""
    found: NDArray[np.bool_] = np.frombuffer(trace.columns.failed, dtype=np.bool_)[trace.tree.place]
    return found


def _seconds(milliseconds: float | None) -> float | None:
    """Milliseconds as seconds, to the microsecond."""
    if milliseconds is None or milliseconds != milliseconds:  # noqa: PLR0124 - not a number
        return None
    return round(milliseconds / 1000, 6)


def _known(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - not a number


def _count(value: int) -> int | None:
    return None if value < 0 else value


# ---------------------------------------------------------------------- bodies


def steps_answer(viewed: ViewedStore, run: str, position: int, *, ids: list[int]) -> StepsAnswer:
    """What some steps were given and gave."""
    if len(ids) > MOST_BODIES:
        raise Refusal(
            "bad_request", f"at most {MOST_BODIES} steps can be asked for at once, got {len(ids):,}"
        )
    info, trace = _trace(viewed, run, position)
    most = MOST if len(ids) <= _FEW else _IN_MANY

    def address(name: str) -> str:
        return blob_address(info.id, position, name)

    return StepsAnswer(steps=[_body(each, turn, address, most) for each, turn in turns_of(trace, ids)])


def turns_of(trace: StoredTrace, ids: Sequence[int]) -> Iterator[tuple[int, StoredTurn]]:
    """The turns of some ids, in order.

    Raises:
        Refusal: there is no such step.
    """
    for each in ids:
        if not 0 <= each < len(trace):
            raise Refusal("not_found", f"the trace has {plural(len(trace), 'step')}, and no step {each}")
    of = {int(trace.tree.place[each]): each for each in ids}
    found = {of[place]: turn for place, turn in trace.turns(of)}
    return iter(sorted(found.items()))


def _body(each: int, turn: StoredTurn, address: Callable[[str], str], most: int) -> StepBody:
    values = step_values(turn)

    def shown(name: str) -> ShownValue:
        return shown_json(values[name], address(f"step-{each}-{name}"), most=most)

    call = turn.tool_call or turn.llm_call
    error = "" if turn.tool_call is None else str(turn.tool_call.error or "")
    return StepBody(
        id=each,
        content=shown("content"),
        arguments=shown("arguments"),
        output=shown("output"),
        error=shown_text(error, "", most=most).text,
        details=shown("details") if call is not None else shown_json(b"", ""),
        sounds=[
            Sound(title=found.title, href=address(f"step-{each}-sound-{number}"), **found.facts)
            for number, found in enumerate(step_sounds(turn))
        ],
    )


def step_values(turn: StoredTurn) -> dict[str, bytes]:
    """What a step was given and gave, as JSON; empty where there is nothing."""
    if (called := turn.tool_call) is not None:
        told: dict[str, Any] = {"call_id": called.call_id, "not recorded": called.unknown or None}
        return {
            "content": b"",
            "arguments": bytes(called.arguments),
            "output": bytes(called.output),
            "details": _told(told),
        }
    if (asked := turn.llm_call) is not None:
        return {
            "content": bytes(asked.input_text),
            "arguments": b"",
            "output": bytes(asked.output_text),
            "details": bytes(asked.metadata),
        }
    return {"content": bytes(turn.content), "arguments": b"", "output": b"", "details": b""}


def _told(data: dict[str, Any]) -> bytes:
    known = {name: value for name, value in data.items() if value is not None}
    return msgspec.json.encode(known) if known else b""


def step_sounds(turn: StoredTurn) -> list[Any]:
    """The sounds in what a step was given and gave."""
    return [found for name, raw in step_values(turn).items() for found in sounds_in(raw, name)]


# ---------------------------------------------------------------------- finding


def found_steps_answer(viewed: ViewedStore, run: str, position: int, *, text: str) -> FoundStepsAnswer:
    """The steps in which a text stands: in names, messages, arguments, outputs and errors, in capital letters or not."""
    if not text.strip():
        raise Refusal("bad_request", "there is nothing to look for: text is empty")
    _, trace = _trace(viewed, run, position)
    wanted = text.casefold()
    written = msgspec.json.encode(wanted)[1:-1]
    deadline = current_deadline()
    ids: list[int] = []
    count = 0
    timed_out = False
    for number, (place, raw) in enumerate(trace.texts()):
        if number % 512 == 0 and deadline is not None and deadline.left < deadline.seconds / 4:
            timed_out = True
            break
        if _may_hold(raw, written) and _holds(raw, wanted):
            count += 1
            if len(ids) < _FOUND:
                ids.append(int(trace.tree.id[place]))
    return FoundStepsAnswer(ids=sorted(ids), left_out=count - len(ids), timed_out=timed_out)


def _may_hold(raw: bytes, written: bytes) -> bool:
    """Whether a text stands anywhere in the JSON of a step, looked at quickly."""
    lower = raw.lower() if raw.isascii() else raw.decode().casefold().encode()
    return written in lower


_read_turn: Final = msgspec.json.Decoder(StoredTurn).decode


def _holds(raw: bytes, wanted: str) -> bool:
    """Whether a text stands in what a step says, and not in the words of its layout."""
    turn = _read_turn(raw)
    said: list[Any] = [msgspec.json.decode(value) for value in step_values(turn).values() if value]
    if turn.tool_call is not None:
        said += [turn.tool_call.name, turn.tool_call.error]
    elif turn.llm_call is not None:
        said.append(turn.llm_call.model)
    return any(wanted in each for each in _texts(said))


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, and its numbers as they are written."""
    if isinstance(value, str):
        yield value.casefold()
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key).casefold()
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield msgspec.json.encode(value).decode()
