"""The trace of an attempt as the viewer keeps it: what its steps are in columns, and where in the stored text each of them stands.

A trace may have hundreds of thousands of steps, and take hundreds of megabytes as objects. So its text is read once, piece by piece, and
nothing is kept of it but the columns; the text stays compressed, as the store has it. The bodies of steps are read from there when they are
asked for.

The text is the JSON that `calipers.data.trace_json` writes: turns come last, and each begins with its type. Text of another layout is
read as a whole.
"""

import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from calipers.data.trace import TurnType
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import InvalidTraceError, StoreDamagedError
from calipers.stores.blobs import PackedText
from calipers.views.step_columns import StepColumns, moment_of
from calipers.views.trace_statement import facts_in_words, trace_notes

from .deadline import check_deadline
from .step_tree import StepTree

LABEL: Final = 80
"""Characters of the label of a step."""
_TURNS: Final = b'"turns":['
_NEXT: Final = b',{"turn_type":'
"""Where a turn may begin: also within what a tool gave, if that is a stored trace itself."""
_ENOUGH: Final = 1 << 20
"""Bytes of turns that are read at once."""
_TRIES: Final = 20
"""Places at which a piece of turns is cut before more of the text is read."""


class _Noted(msgspec.Struct):
    """What a request to a model noted, as far as it says how it ended."""

    error: Any = msgspec.UNSET


class AskedModel(msgspec.Struct):
    """A request to a model, as it is stored."""

    model: Any = ""
    input_tokens: int = 0
    output_tokens: int = 0
    input_text: msgspec.Raw = msgspec.Raw()
    output_text: msgspec.Raw = msgspec.Raw()
    latency_ms: float | None = None
    metadata: msgspec.Raw = msgspec.Raw()
    timestamp: Any = None
    cost: float | None = None


class CalledTool(msgspec.Struct):
    """A call of a tool, as it is stored."""

    name: Any = ""
    arguments: msgspec.Raw = msgspec.Raw()
    output: msgspec.Raw = msgspec.Raw()
    error: Any = None
    success: bool | None = None
    latency_ms: float | None = None
    call_id: Any = None
    timestamp: Any = None
    unknown: list[str] = []


class StoredTurn(msgspec.Struct):
    """A turn, as it is stored; values of any shape as the JSON that they are."""

    turn_type: str = ""
    content: msgspec.Raw = msgspec.Raw()
    llm_call: AskedModel | None = None
    tool_call: CalledTool | None = None
    timestamp: Any = None


class TraceHead(msgspec.Struct):
    """What a trace says besides its turns."""

    agent_name: Any = ""
    model: Any = None
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    total_latency_ms: float = 0.0
    records_calls: bool | None = None
    metadata: msgspec.Raw = msgspec.Raw()
    tags: Any = ()
    created_at: Any = None
    turns: list[msgspec.Raw] | None = None


_read_head: Final = msgspec.json.Decoder(TraceHead).decode
_read_turns: Final = msgspec.json.Decoder(list[StoredTurn]).decode
_read_bare: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_noted: Final = msgspec.json.Decoder(_Noted).decode
_read_any: Final = msgspec.json.Decoder().decode


class StoredTrace:
    """The trace of an attempt."""

    def __init__(self, text: PackedText) -> None:
        """Read a trace.

        Raises:
            StoreDamagedError: it is no trace.
            Refusal: the time of the request is over.
        """
        self._text = text
        self.columns = StepColumns(longest_label=LABEL)
        self._starts = array("q")
        """Where each turn begins in the text."""
        self._ends = array("q")
        try:
            self.head = self._read()
            """What it says besides its turns."""
        except (msgspec.DecodeError, InvalidTraceError) as error:
            raise StoreDamagedError(f"a trace is damaged in the store: {error}") from error
        self.columns.close()
        self.tree = StepTree(self.columns.parent)
        """Its steps below each other."""

    def __len__(self) -> int:
        return len(self.columns)

    # ------------------------------------------------------------------ reading it once

    def _read(self) -> TraceHead:
        pieces = self._text.pieces()
        begin = b""
        for piece in pieces:
            begin += piece
            if (found := _begins_turns(begin)) is not None:
                head, at = found
                if self._read_pieces(begin[at:], pieces, at):
                    return head
                break
        return self._read_whole()

    def _read_pieces(self, waiting: bytes, pieces: Iterator[bytes], offset: int) -> bool:
        """Read the turns, given the text from the first of them on; False if it has another layout."""
        enough = _ENOUGH
        for piece in pieces:
            waiting += piece
            if len(waiting) < enough:
                continue
            check_deadline()
            cut = self._take_some(waiting, offset)
            # A turn that is longer than all that is there: wait for twice as much.
            enough = 2 * len(waiting) if cut == 0 else _ENOUGH
            waiting, offset = waiting[cut:], offset + cut
        end = waiting.rfind(b"]")
        return end >= 0 and (not waiting[:end].strip() or self._take(waiting[:end], offset))

    def _take_some(self, waiting: bytes, offset: int) -> int:
        """Read as many turns as are there for certain; returns how many bytes were read."""
        cut = len(waiting)
        for _ in range(_TRIES):
            cut = waiting.rfind(_NEXT, 0, cut)
            if cut <= 0:
                return 0
            if self._take(waiting[:cut], offset):
                return cut + 1
        return 0

    def _take(self, text: bytes, offset: int) -> bool:
        """Add turns that stand one behind the other; False if the text is not whole turns."""
        listed = b"[%b]" % text
        try:
            bare = _read_bare(listed)
            turns = _read_turns(listed)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return False
        at = 1
        for one in bare:
            raw = bytes(one)
            start = listed.index(raw, at)
            at = start + len(raw)
            self._starts.append(offset + start - 1)
            self._ends.append(offset + at - 1)
        for turn in turns:
            _add(self.columns, turn)
        return True

    def _read_whole(self) -> TraceHead:
        """Read text of any layout."""
        text = b"".join(self._text.pieces())
        if _read_head(text).turns is None:  # only its calls are there, and the turns follow from them
            text = msgspec.json.encode(trace_data(read_trace(_read_any(text))))
        head = _read_head(text)
        turns, head.turns = head.turns or [], None
        written = b",".join(bytes(each) for each in turns)
        self._text = PackedText(written, is_packed=False)
        self.columns = StepColumns(longest_label=LABEL)
        self._starts, self._ends = array("q"), array("q")
        self._take(written, 0)
        return head

    # ------------------------------------------------------------------ what it says

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return self._text.size + 250 * len(self) + 2_000

    @property
    def title(self) -> str:
        """The agent, else the model; "" if neither is known."""
        return str(self.head.agent_name or self.head.model or "")

    @property
    def facts(self) -> list[str]:
        """Steps, time, tokens and cost, in words, as every view says them."""
        head, columns = self.head, self.columns
        tokens = (head.total_input_tokens, head.total_output_tokens)
        return facts_in_words(
            steps=len(columns),
            calls=columns.calls if columns.calls or head.records_calls else None,
            tokens=tokens if any(tokens) else None,
            cost=columns.total_cost(),
            is_least=bool(columns.unpriced),
            took_ms=columns.extent_ms or (head.total_latency_ms if self._is_timed else None),
        )

    @property
    def _is_timed(self) -> bool:
        """Whether the total time is known, as `Trace.latency_measured` has it."""
        if self.head.total_latency_ms > 0:
            return True
        known = [
            took
            for took, kind in zip(self.columns.took_ms, self.columns.kind, strict=True)
            if kind >= 2 and took == took  # noqa: PLR0124 - a number
        ]
        return bool(known) and not any(known)

    @property
    def notes(self) -> list[str]:
        """What was not recorded, and what the recording noted, in words."""
        return [*trace_notes(self.columns), *self._noted]

    @property
    def _noted(self) -> list[str]:
        if not self.head.metadata:
            return []
        told = _read_any(self.head.metadata)
        notes = told.get("notes") if isinstance(told, dict) else None
        return [each for each in notes if isinstance(each, str)] if isinstance(notes, list) else []

    # ------------------------------------------------------------------ bodies

    def turns(self, places: Iterable[int]) -> Iterator[tuple[int, StoredTurn]]:
        """The turns in some places, in order; neighbours are read together."""
        for some in _neighbours(sorted(set(places))):
            start, end = self._starts[some[0]], self._ends[some[-1]]
            text = self._text.between(start, end)
            listed = [text[self._starts[at] - start : self._ends[at] - start] for at in some]
            yield from zip(some, _read_turns(b"[%b]" % b",".join(listed)), strict=True)

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """The JSON text of each turn, in order."""
        place = 0
        waiting, offset = b"", 0
        for piece in self._text.pieces():
            check_deadline()
            waiting += piece
            end = offset + len(waiting)
            while place < len(self) and self._ends[place] <= end:
                yield place, waiting[self._starts[place] - offset : self._ends[place] - offset]
                place += 1
            done = (self._ends[place - 1] if place else 0) - offset
            if done > 0:
                waiting, offset = waiting[done:], offset + done


def _begins_turns(text: bytes) -> tuple[TraceHead, int] | None:
    """What a trace says before its turns, and where these begin; `None` if they do not begin in this text."""
    at = text.find(_TURNS)
    while at >= 0:
        at += len(_TURNS)
        try:
            head = _read_head(text[:at] + b"]}")
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:  # within something else of that name
            at = text.find(_TURNS, at)
        else:
            head.turns = None
            return head, at
    return None


def _add(columns: StepColumns, turn: StoredTurn) -> None:
    """Add a stored turn to the columns."""
    if (called := turn.tool_call) is not None:
        moment = _moment(called.timestamp or turn.timestamp)
        success = called.error is None if called.success is None else called.success
        columns.add_call(called.name, moment, called.latency_ms, called.error, success=success)
    elif (asked := turn.llm_call) is not None:
        error = _read_noted(asked.metadata).error if asked.metadata else msgspec.UNSET
        columns.add_request(
            asked.model,
            _moment(asked.timestamp or turn.timestamp),
            asked.latency_ms,
            tokens=(asked.input_tokens, asked.output_tokens),
            cost=asked.cost,
            error=None if error is msgspec.UNSET else error,
            is_priced=error is not msgspec.UNSET or asked.cost is not None,
        )
    else:
        is_user = turn.turn_type == TurnType.USER_MESSAGE
        columns.add_message(_beginning(turn.content), _moment(turn.timestamp), is_user=is_user)


def _beginning(content: msgspec.Raw) -> str:
    """The beginning of a message."""
    return str(_read_any(content)) if content else ""


def _moment(written: Any) -> int | None:
    """A time as it is stored, in microseconds; `None` if it is none."""
    if not isinstance(written, str):
        return None
    try:
        return moment_of(datetime.fromisoformat(written))
    except ValueError:
        return None


def _neighbours(places: Sequence[int], *, nearest: int = 50) -> Iterator[list[int]]:
    """Places in groups of those that stand near each other."""
    group: list[int] = []
    for before, place in itertools.pairwise((-1, *places)):
        if group and place - before > nearest:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
