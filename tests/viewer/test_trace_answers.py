"""The trace of an attempt as the viewer gives it: skeleton, bodies, and where a text stands."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.errors import StoreDamagedError
from calipers.stores import open_store
from calipers.stores.store import Store
from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.kept_traces import KeptTraces
from calipers.viewer.refusal import Refusal
from calipers.viewer.stored_trace import StoredTrace
from calipers.viewer.trace_answers import found_steps_answer, steps_answer, trace_answer
from calipers.viewer.viewed_store import ViewedStore
from calipers.views.trace_statement import trace_facts, trace_statement

View = Callable[[Store], ViewedStore]
BEGAN = datetime(2026, 4, 1, tzinfo=UTC)
HOSTILE = "</script><b>\x00\x1b[31m\u202egnp\ud800 \U0001f600"


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def said(text: str, *, agent: bool = False, moment: float | None = None) -> Turn:
    kind = TurnType.AGENT_MESSAGE if agent else TurnType.USER_MESSAGE
    return Turn(turn_type=kind, content=text, timestamp=None if moment is None else at(moment))


def called(name: str, arguments: dict[str, Any] | None = None, **told: Any) -> Turn:
    return Turn(tool_call=ToolCall(name, arguments, **told))


TALK = Trace(
    agent_name="helper",
    turns=[
        said("Where is my order 17?", moment=0),
        Turn(
            llm_call=LLMCall(
                model="small",
                input_text="the whole prompt",
                output_text="I look it up",
                input_tokens=12,
                output_tokens=3,
                cost=0.5,
                latency_ms=900,
                timestamp=at(0.1),
            )
        ),
        called(
            "find_order",
            {"id": 17, "großen": ["Straße"]},
            output={"state": "lost"},
            latency_ms=40.0,
            timestamp=at(1),
        ),
        called("refund", {"id": 17}, error="no such order", timestamp=at(2)),
        said("It is lost.", agent=True, moment=3),
        said("Then refund it!", moment=4),
        called("refund", {"id": 17}, output=HOSTILE, timestamp=at(5)),
    ],
)


def keep(store: Store, trace: Trace | None, *, count: int = 1) -> str:
    def agent(inputs: int) -> Any:
        return trace if trace is not None else inputs

    dataset = Dataset(
        name="talks", cases=[Case(name=f"talk {n}", inputs=n) for n in range(count)], evaluators=[]
    )
    report = dataset.evaluate_sync(agent, store=store, progress=False)
    assert report.reuse is not None
    return report.reuse.run


def test_a_skeleton_says_of_each_step_what_the_waterfall_says(store: Store, view: View) -> None:
    keep(store, TALK)
    found = trace_answer(view(store), "latest", 0)
    says = trace_statement(TALK, max_steps=None)
    assert (found.total, found.loaded, found.id) == (7, 7, list(range(7)))
    assert found.kind == ["user", "model", "tool", "tool", "agent", "user", "tool"]
    assert found.label[:4] == ["Where is my order 17?", "small", "find_order", "refund"]
    assert found.parent == [-1, 0, 0, 0, 0, -1, 5]
    assert found.depth == [0, 1, 1, 1, 1, 0, 1]
    assert (found.children, found.missing) == ([4, 0, 0, 0, 0, 1, 0], [0] * 7)
    assert found.start == [0.0, 0.1, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert found.took == [3.0, 0.9, 0.04, None, None, 1.0, None]
    assert (found.failed.index(True), found.error) == (3, {3: "no such order"})
    assert (found.tokens_in[1], found.tokens_out[1], found.cost[1], found.tokens_in[2]) == (12, 3, 0.5, None)
    assert found.extent == 5.0
    assert found.facts == list(says.facts) == trace_facts(TALK, extent_ms=5000.0)
    assert found.notes == list(says.notes)


def test_bodies_come_on_demand_with_what_a_step_was_given_and_gave(store: Store, view: View) -> None:
    run = keep(store, TALK)
    found = steps_answer(view(store), run, 0, ids=[6, 2, 1, 0])
    assert [body.id for body in found.steps] == [0, 1, 2, 6]
    user, model, tool, last = found.steps
    assert (user.content.text, user.arguments.kind) == ("Where is my order 17?", "missing")
    assert (model.content.text, model.output.text) == ("the whole prompt", "I look it up")
    assert tool.arguments.text == '{"id": 17, "großen": ["Straße"]}'
    assert (tool.output.kind, tool.output.text) == ("json", '{"state": "lost"}')
    assert last.output.kind == "text"
    assert last.output.text == "</script><b>\x00\x1b[31m\u202egnp\\ud800 \U0001f600"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ORDER 17", [0]),
        ("strasse", [2]),
        ("GROSSEN", [2]),
        ("refund", [3, 5, 6]),
        ("no such", [3]),
        ("17", [0, 2, 3, 6]),
        ("lost", [2, 4]),
        ("small", [1]),
        ("\x1b[31", [6]),
        ("turn_type", []),
        ("latency", []),
        ("nowhere", []),
    ],
)
def test_a_text_is_found_in_what_steps_say(store: Store, view: View, text: str, ids: list[int]) -> None:
    keep(store, TALK)
    found = found_steps_answer(view(store), "latest", 0, text=text)
    assert (found.ids, found.left_out, found.timed_out) == (ids, 0, False)


def test_what_is_asked_for_wrongly_is_refused_with_a_reason(store: Store, view: View) -> None:
    run = keep(store, TALK)
    bare = keep(store, None)
    viewed = view(store)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: trace_answer(viewed, run, 5), "no attempt 5, or it left no trace"),
        (lambda: trace_answer(viewed, bare, 0), "or it left no trace"),
        (lambda: trace_answer(viewed, run, 0, limit=0), "limit must be from 1 to 20,000, got 0"),
        (lambda: trace_answer(viewed, run, 0, depth=0), "depth must be at least 1"),
        (lambda: trace_answer(viewed, run, 0, parent=7), "7 steps, and no step 7"),
        (lambda: steps_answer(viewed, run, 0, ids=[9]), "7 steps, and no step 9"),
        (lambda: steps_answer(viewed, run, 0, ids=[0] * 201), "at most 200 steps"),
        (lambda: found_steps_answer(viewed, run, 0, text=" "), "text is empty"),
    ]
    for ask, words in cases:
        with pytest.raises(Refusal, match=words):
            ask()


def large(turns: int, steps: int) -> Trace:
    listed: list[Turn] = []
    for turn in range(turns):
        listed.append(said(f"question {turn}"))
        listed += [
            called(
                f"tool {step % 3}",
                {"n": step},
                error="broke" if (turn, step) == (turns - 1, steps - 1) else None,
            )
            for step in range(steps)
        ]
    return Trace(turns=listed)


def test_a_long_trace_comes_cut_and_its_parts_are_the_whole(store: Store, view: View) -> None:
    turns, steps = 12, 150
    keep(store, large(turns, steps))
    viewed = view(store)
    first = trace_answer(viewed, "latest", 0, limit=500)
    assert first.total == turns * (steps + 1)
    assert first.loaded <= 500
    assert first.total - first.loaded == sum(first.missing)
    assert [each for each, failed in zip(first.id, first.failed, strict=True) if failed] == [first.total - 1]
    known = set(first.id)
    for turn, missing in zip(first.id, first.missing, strict=True):
        if missing:
            below = trace_answer(viewed, "latest", 0, parent=turn)
            assert (below.loaded, set(below.parent), sum(below.missing)) == (steps, {turn}, 0)
            known |= set(below.id)
    assert known == set(range(first.total))
    rest: list[int] = []
    while (some := trace_answer(viewed, "latest", 0, after=rest[-1] if rest else -1, limit=400)).loaded:
        rest += some.id
    assert rest == list(range(first.total))


def test_only_some_levels_or_one_kind_can_be_asked_for(store: Store, view: View) -> None:
    keep(store, TALK)
    viewed = view(store)
    top = trace_answer(viewed, "latest", 0, depth=1)
    assert (top.id, top.missing) == ([0, 5], [4, 1])
    tools = trace_answer(viewed, "latest", 0, kind="tool")
    assert tools.id == [0, 2, 3, 5, 6]
    assert tools.notes == trace_answer(viewed, "latest", 0).notes
    assert (
        trace_answer(viewed, "latest", 0, kind="model").notes[-1]
        == "1 step that failed are not in this part of the trace."
    )


def test_long_bodies_are_cut_and_their_address_has_the_whole(store: Store, view: View) -> None:
    keep(
        store, Trace(turns=[called("dump", output="x" * 100_000), called("list", output=list(range(50_000)))])
    )
    one, two = steps_answer(view(store), "latest", 0, ids=[0, 1]).steps
    assert (len(one.output.text), one.output.length) == (65_536, 100_000)
    assert one.output.href is not None
    assert one.output.href.endswith("/attempts/0/blob/step-0-output")
    assert (two.output.kind, len(two.output.text)) == ("json", 65_536)


def test_an_empty_trace_has_no_steps_and_says_so(store: Store, view: View) -> None:
    keep(store, Trace(output_text="x"))
    found = trace_answer(view(store), "latest", 0)
    assert (found.total, found.id, found.notes) == (0, [], ["No step was recorded."])


def test_postgresql_gives_the_same(store: Store, view: View, postgresql_url: str) -> None:
    with open_store(postgresql_url) as other:
        for each in (store, other):
            keep(each, large(3, 60))
        assert trace_answer(view(store), "latest", 0) == trace_answer(view(other), "latest", 0)
        assert found_steps_answer(view(other), "latest", 0, text="question 2").ids == [122]


# ---------------------------------------------------------------------- what is kept


def test_a_trace_is_read_once_and_let_go_of_when_there_is_no_room() -> None:
    read: list[str] = []

    def reading(name: str, steps: int) -> StoredTrace:
        from calipers.stores.blobs import PackedText

        read.append(name)
        return StoredTrace(
            PackedText(
                b'{"turns":[%b]}'
                % b",".join([b'{"turn_type":"tool_call","tool_call":{"name":"t"}}'] * steps),
                is_packed=False,
            )
        )

    kept = KeptTraces(most_bytes=100_000)
    for name in ("a", "a", "b", "a", "c", "a", "b"):
        kept.get(name, lambda name=name: reading(name, 100))
    assert read == ["a", "b", "c"]
    assert kept.get("none", lambda: None) is None
    kept.get("large", lambda: reading("large", 5_000))
    assert kept.size < 2_500_000
    kept.get("a", lambda: reading("a", 100))
    assert read == ["a", "b", "c", "large", "a"]


def test_a_trace_for_which_a_request_could_not_wait_is_there_when_it_asks_again() -> None:
    go_on, begun = threading.Event(), []

    def read() -> None:
        begun.append(1)
        go_on.wait()

    kept = KeptTraces()
    with working_until(Deadline(0.01)), pytest.raises(Refusal, match="still being read"):
        kept.get("slow", read)
    go_on.set()
    assert kept.get("slow", read) is None
    assert begun == [1]
    kept.close()


def test_what_cannot_be_read_is_told_to_who_asked_and_tried_again() -> None:
    tried = []

    def read() -> None:
        tried.append(1)
        raise StoreDamagedError("a trace is damaged in the store")

    kept = KeptTraces()
    for _ in range(2):
        with pytest.raises(StoreDamagedError):
            kept.get("damaged", read)
    assert tried == [1, 1]
    kept.close()
