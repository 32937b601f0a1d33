"""Recordings of agents become runs that any evaluator scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import LLMCall, Trace, Turn
from calipers.errors import ReportFormatError
from calipers.evaluators import ToolCallsMatch
from calipers.exchange import import_run, import_traces
from calipers.exchange.recorded_traces import trace_record
from calipers.stores import score_again

SAMPLES = Path(__file__).parents[1] / "samples"
SPANS = (SAMPLES / "agent_spans.json").read_bytes()

HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "to Oslo?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"to": "Oslo"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '["OS12"]'}]},
    {"role": "assistant", "content": [{"type": "text", "text": "OS12."}]},
]


@pytest.mark.parametrize(
    "content", [SPANS, (SAMPLES / "agent_spans.pb").read_bytes(), json.dumps(HISTORY).encode()]
)
def test_a_recording_is_a_run_that_is_scored_without_its_agent(store, tmp_path, content):
    path = tmp_path / "recording"
    path.write_bytes(content)
    imported = import_run(path, store)
    assert (imported.kind, imported.run.attempts) == ("traces", 1)
    expects = ToolCallsMatch([{"name": "find", "arguments": {"to": "Oslo"}}])
    score_again(store, imported.run.id, evaluators=[expects])
    (case,) = store.report(imported.run.id).cases
    assert (case.inputs, case.output) == ("to Oslo?", "OS12.")
    assert case.results[0].value is True


def test_files_and_folders_are_one_run_and_kept_once(store, tmp_path):
    other = (
        SPANS.replace(b'"v1"', b'"v2"')
        .replace(b"0" * 31 + b"1", b"0" * 31 + b"2")
        .replace(b"17000000000", b"17000000001")
    )
    for number, spans in enumerate([SPANS, other]):
        (tmp_path / f"{number}.json").write_bytes(spans)
    files = import_traces([tmp_path / "0.json", tmp_path / "1.json"], store)
    folder = import_run(tmp_path, store)
    assert (files.run.attempts, files.is_new, folder.is_new) == (2, True, False)
    assert [case.name for case in store.report(files.run.id).cases] == ["to-oslo-v1", "to-oslo-v2"]


def test_a_run_that_died_is_a_failed_task(store, tmp_path):
    request = json.loads(SPANS)
    listed = request["resourceSpans"][0]["scopeSpans"][0]
    root = listed["spans"][-1] | {"status": {"code": 2, "message": "LM7 is sold out"}}
    root["attributes"].append({"key": "error.type", "value": {"stringValue": "SoldOut"}})
    listed["spans"] = [root]
    (tmp_path / "spans.json").write_text(json.dumps(request))
    imported = import_run(tmp_path / "spans.json", store)
    (failure,) = store.report(imported.run.id).failures
    assert (failure.error_type, failure.error_message) == ("SoldOut", "SoldOut: LM7 is sold out")


def test_what_a_failed_conversation_spent_counts_and_a_cost_that_lacks_calls_is_a_lower_bound():
    calls = [LLMCall(model="m", input_tokens=10, output_tokens=2, cost=cost) for cost in (0.5, None)]
    failed = {"error": {"type": "SoldOut", "message": "LM7 is sold out"}}
    spent = {"requests": 2, "input_tokens": 20, "output_tokens": 4, "cost": 0.5, "unpriced_calls": 1}
    for metadata, kind in (({}, ReportCase), (failed, ReportCaseFailure)):
        record = trace_record(Trace(turns=[Turn(llm_call=call) for call in calls], metadata=metadata), {})
        assert (type(record), record.metrics) == (kind, spent)


def test_a_trace_without_an_id_has_a_name_all_the_same():
    taken = {}
    names = [trace_record(Trace(input_text=asked, trace_id=""), taken).name for asked in "ab"]
    assert names == ["trace", "trace (2)"]


def test_what_could_not_be_read_is_noted(store, tmp_path):
    (tmp_path / "spans.json").write_bytes(SPANS[:-40])
    assert "cut off" in import_run(tmp_path / "spans.json", store).notes[0]


def test_answers_that_a_recording_leaves_out_are_noted(store, tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps(HISTORY), encoding="utf-8")
    assert import_run(path, store).notes == ()
    path.write_text(json.dumps(HISTORY[:-1]), encoding="utf-8")
    (note,) = import_run(path, store).notes
    assert note.startswith("1 attempt without an answer of the agent")


def test_a_folder_without_a_conversation_is_refused(store, tmp_path):
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(ReportFormatError, match="no conversation found"):
        import_traces([tmp_path], store)
