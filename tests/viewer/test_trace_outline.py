"""The outline of a trace that is too long to be read whole: of an attempt, it says the same."""

import msgspec
import pytest
from hypothesis import given

from calipers import Case, Dataset
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import StoreDamagedError
from calipers.report.attempt_fields import input_texts, metric_of, output_texts, tags_of, tokens_of, tools_of
from calipers.stores.blobs import PackedText
from calipers.stores.store import Store
from calipers.viewer.case_tables import cases_answer
from calipers.viewer.stored_trace import StoredTrace
from calipers.viewer.trace_outline import LONG, outline_of

from .test_case_answer import View
from .test_stored_trace import stored, traces


@given(traces)
def test_it_says_of_an_attempt_what_the_whole_trace_says(trace: Trace) -> None:
    whole = read_trace(msgspec.json.decode(msgspec.json.encode(trace_data(trace))))
    report = Dataset(cases=[Case(name="case", inputs=1)]).evaluate_sync(lambda _: "done", progress=False)
    (record,) = report.cases
    record.trace = whole
    asked, answered = input_texts(record), output_texts(record)
    measured = [metric_of(record, name) for name in ("cost", "input_tokens", "output_tokens", "requests")]
    tags, tools, tokens = tags_of(record), tools_of(record), tokens_of(record)
    outline = outline_of(StoredTrace(stored(trace)))
    record.trace = outline.trace
    record.metrics = {**outline.metrics, **record.metrics}
    assert (input_texts(record), output_texts(record)) == (asked, answered)
    assert [
        metric_of(record, name) for name in ("cost", "input_tokens", "output_tokens", "requests")
    ] == measured
    assert tokens_of(record) == tokens
    assert tags_of(record) == tags
    assert tools_of(record) == (None if tools is None else list(dict.fromkeys(tools)))
    assert (outline.trace.agent_name, outline.trace.model) == (whole.agent_name, whole.model)
    assert outline.trace.created_at == whole.created_at


def test_an_attempt_with_a_long_trace_is_found_as_any_other(store: Store, view: View) -> None:
    said = "x" * LONG

    def agent(inputs: str) -> Trace:
        asked = LLMCall(model="m", output_text=said, input_tokens=3, output_tokens=4, cost=0.25)
        turns = [
            Turn(turn_type=TurnType.USER_MESSAGE, content=f"where is my {inputs}"),
            Turn(llm_call=asked),
            Turn(tool_call=ToolCall("look_up", {"order": inputs})),
            Turn(tool_call=ToolCall("look_up", {"order": "another"})),
        ]
        return Trace(agent_name="clerk", turns=turns, output_text="gone", tags=["slow"])

    dataset = Dataset(cases=[Case(name=each, inputs=each) for each in ("parcel", "letter")])
    reuse = dataset.evaluate_sync(agent, store=store, progress=False).reuse
    assert reuse is not None
    run = reuse.run
    viewed = view(store)
    for q in (
        "tool:look_up cost>0.2 agent:clerk model:m tag:slow tokens:7 requests:1 has:trace",
        '"is my parcel"',
    ):
        found = cases_answer(viewed, run, q=q)
        assert [row.name for row in found.rows] == (["parcel"] if "parcel" in q else ["parcel", "letter"])
        assert {(row.cost, row.tokens, row.output) for row in found.rows} == {(0.25, 7, "gone")}
    assert cases_answer(viewed, run, q="tool:refund").total == 0


@pytest.mark.parametrize("head", [{"tags": [7]}, {"tags": "slow"}, {"agent_name": "clerk", "tags": 7}])
def test_what_is_no_trace_is_damage(head: dict[str, object]) -> None:
    text = msgspec.json.encode({**head, "turns": []}).decode()
    with pytest.raises(StoreDamagedError):
        outline_of(StoredTrace(PackedText.of(text)))
