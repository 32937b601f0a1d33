"""The trace of an attempt, read from its text without objects: the same steps as everywhere."""

import random
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.data.trace_json import trace_data
from calipers.errors import StoreDamagedError
from calipers.stores.blobs import PackedText
from calipers.viewer.stored_trace import LABEL, StoredTrace
from calipers.views.trace_statement import TraceStep, trace_statement

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
moments = st.none() | st.integers(0, 10**9).map(lambda us: BEGAN + timedelta(microseconds=us))
times = st.none() | st.floats(0, 1e6)
texts = st.text(max_size=12) | st.sampled_from(
    ['"turns":[', ',{"turn_type":"user_message"}]}', "\0\u202e", "a" * 300]
)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
messages = st.builds(
    Turn,
    turn_type=st.sampled_from([TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE]),
    content=texts,
    timestamp=moments,
)
calls = st.builds(
    ToolCall,
    st.text(min_size=1, max_size=5),
    st.dictionaries(texts, values, max_size=3),
    output=values,
    error=st.none() | texts,
    latency_ms=times,
    timestamp=moments,
).map(lambda call: Turn(tool_call=call))
requests = st.builds(
    LLMCall,
    model=texts,
    input_tokens=st.integers(0, 3),
    output_tokens=st.integers(0, 3),
    input_text=texts,
    output_text=texts,
    latency_ms=times,
    timestamp=moments,
    cost=st.none() | st.floats(0, 9),
    metadata=st.just({}) | st.builds(lambda error: {"error": error, "turns": [1]}, texts | st.none()),
).map(lambda call: Turn(llm_call=call))
traces = st.builds(
    Trace,
    agent_name=texts,
    input_text=texts,
    turns=st.lists(messages | calls | requests, max_size=12),
    metadata=st.just({}) | st.just({"turns": [{"turn_type": "user_message"}], "notes": ["cut"]}),
    records_calls=st.sampled_from([None, True]),
)


def stored(trace: Trace, *, is_packed: bool = True) -> PackedText:
    text = msgspec.json.encode(trace_data(trace))
    return PackedText(zlib.compress(text, 1) if is_packed else text, is_packed=is_packed)


def check_same(found: StoredTrace, trace: Trace) -> None:
    """It says what the waterfall of the same trace says."""
    says = trace_statement(trace, max_steps=None)
    columns = found.columns
    assert len(found) == len(says.rows)
    for place, row in enumerate(says.rows):
        assert isinstance(row, TraceStep)
        assert columns.label[place] == row.label[:LABEL]
        assert bool(columns.failed[place]) is row.failed
        assert columns.error.get(place, "") == row.error
        assert int(columns.parent[place] >= 0) == row.depth
        for name in ("start_ms", "took_ms", "cost"):
            value = getattr(columns, name)[place]
            assert (None if value != value else value) == getattr(row, name), name  # noqa: PLR0124
        tokens = columns.tokens_in[place], columns.tokens_out[place]
        assert (None if tokens[0] < 0 else tokens) == row.tokens
    assert columns.extent_ms == says.extent_ms
    assert found.facts == list(says.facts)
    assert found.title == says.title
    assert found.notes[: len(says.notes)] == list(says.notes)


@given(traces, st.booleans())
def test_its_steps_are_those_of_the_waterfall(trace: Trace, is_packed: bool) -> None:
    check_same(StoredTrace(stored(trace, is_packed=is_packed)), trace)


@given(traces)
def test_bodies_and_skeleton_together_are_the_whole_trace(trace: Trace) -> None:
    found = StoredTrace(stored(trace))
    written = trace_data(trace)["turns"]
    assert [msgspec.json.decode(text) for _, text in found.texts()] == written
    for (place, turn), data in zip(found.turns(range(len(found))), written, strict=True):
        assert turn.turn_type == data["turn_type"]
        call = data.get("tool_call", {})
        if turn.tool_call is not None:
            for name in ("arguments", "output"):
                raw = getattr(turn.tool_call, name)
                assert (msgspec.json.decode(raw) if raw else None) == call.get(name), place
        if turn.content:
            assert msgspec.json.decode(turn.content) == data["content"]


def large(count: int, *, size: int = 400) -> Trace:
    draw = random.Random(count)
    turns: list[Turn] = []
    for number in range(count):
        if number % 40 == 0:
            turns.append(Turn(turn_type=TurnType.USER_MESSAGE, content=f"question {number}"))
            continue
        output = {
            "text": draw.randbytes(size // 2).hex(),
            "turns": [{"turn_type": "user_message"}] * (number % 3),
        }
        turns.append(Turn(tool_call=ToolCall("search", {"n": number}, output=output)))
    return Trace(turns=turns)


def test_a_trace_of_many_pieces_is_read_piece_by_piece() -> None:
    trace = large(12_000)
    found = StoredTrace(stored(trace))
    check_same(found, trace)
    wanted = [11_999, 3, 6_000]
    got = dict(found.turns(wanted))
    assert sorted(got) == sorted(wanted)
    for place in (3, 6_000 + 1, 11_999):
        (turn,) = [each for _, each in found.turns([place])]
        assert turn.tool_call is not None
        assert msgspec.json.decode(turn.tool_call.arguments) == {"n": place}
    assert sum(1 for _ in found.texts()) == 12_000


def test_one_step_may_be_longer_than_many_pieces() -> None:
    turns = [
        Turn(turn_type=TurnType.USER_MESSAGE, content="go"),
        Turn(tool_call=ToolCall("dump", output="x" * 7_000_000)),
        Turn(
            tool_call=ToolCall("again", output=[{"turn_type": "tool_call", "n": n} for n in range(200_000)])
        ),
        Turn(turn_type=TurnType.AGENT_MESSAGE, content="done"),
    ]
    found = StoredTrace(stored(Trace(turns=turns)))
    assert found.columns.label == ["go", "dump", "again", "done"]
    (turn,) = [each for _, each in found.turns([1])]
    assert turn.tool_call is not None
    assert len(msgspec.json.decode(turn.tool_call.output)) == 7_000_000


@pytest.mark.parametrize(
    "data",
    [
        {"turns": [{"content": "hi", "turn_type": "user_message"}], "agent_name": "late"},
        {"agent_name": "late", "tool_calls": [{"name": "t"}]},
        {"agent_name": "late", "turns": []},
        {"agent_name": "late"},
    ],
)
def test_text_of_another_layout_is_read_as_a_whole(data: dict[str, Any]) -> None:
    text = msgspec.json.format(msgspec.json.encode(data), indent=3)
    found = StoredTrace(PackedText(text, is_packed=False))
    check_same(found, Trace.from_dict(data))
    assert len(list(found.texts())) == len(found)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"turns":[{"turn_type":5}]}', b'{"turns":[{},', b'{"turns":5}']
)
def test_what_is_no_trace_is_damage(text: bytes) -> None:
    with pytest.raises(StoreDamagedError, match="a trace is damaged in the store"):
        StoredTrace(PackedText(text, is_packed=False))
