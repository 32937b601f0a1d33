"""The recorder itself: what it is made of, how often it may be used, and the trace it gives at the end."""

import asyncio
import threading

import pytest

from calipers import Case, Dataset
from calipers.agents import Recording, TraceRecorder
from calipers.errors import InvalidTraceError


@pytest.mark.parametrize("name", ["", "  ", None, 3], ids=repr)
def test_an_agent_without_a_name_is_refused(name):
    with pytest.raises(InvalidTraceError, match="agent_name must be a text that is not empty"):
        TraceRecorder(name)


@pytest.mark.parametrize("tags", ["nightly", [1], 3, None], ids=repr)
def test_tags_that_are_no_list_of_texts_are_refused(tags):
    with pytest.raises(InvalidTraceError, match="tags must"):
        TraceRecorder("bot", tags=tags)


def test_it_keeps_what_it_was_made_of():
    recorder = TraceRecorder("bot", "small", ("a",), input_text="hello", metadata={"build": 7})
    assert (recorder.agent_name, recorder.model, recorder.tags) == ("bot", "small", ("a",))
    assert (recorder.input_text, recorder.metadata) == ("hello", {"build": 7})
    assert repr(recorder) == "TraceRecorder('bot')"


def test_the_words_of_the_first_hour_still_work():
    async def main():
        recorder = TraceRecorder("bot", model="small", tags=["t"])
        async with recorder.recording() as ctx:
            ctx.record_llm_call(model="small", input_tokens=12, output_tokens=3, latency_ms=1.0)
            ctx.record_tool_call(
                tool_name="search", tool_input={"q": "x"}, tool_output="found", latency_ms=2.0
            )
        return recorder.finalize(input_text="asked", output="answered")

    trace = asyncio.run(main())
    assert (trace.input_text, trace.output_text) == ("asked", "answered")
    assert (trace.total_input_tokens, trace.total_output_tokens) == (12, 3)
    assert [call.tool_name for call in trace.tool_calls] == ["search"]
    assert len(trace.turns) == 2
    assert trace.tags == ("t",)


def test_a_recorder_may_be_used_again_and_each_execution_is_its_own():
    recorder = TraceRecorder("bot", metadata={"build": 7})
    traces = []
    for number in range(3):
        with recorder as recording:
            recording.record_tool_call(f"tool {number}")
            recording.metadata["number"] = number
        traces.append(recorder.finalize())
    assert [[call.name for call in trace.tool_calls] for trace in traces] == [
        ["tool 0"],
        ["tool 1"],
        ["tool 2"],
    ]
    assert [trace.metadata for trace in traces] == [{"build": 7, "number": number} for number in range(3)]
    assert len({trace.trace_id for trace in traces}) == 3
    assert recorder.metadata == {"build": 7}


def test_finalizing_keeps_what_the_recording_says_unless_told_otherwise():
    recorder = TraceRecorder("bot", input_text="asked")
    with recorder as recording:
        recording.output_text = "answered"
    trace = recorder.finalize()
    assert (trace.input_text, trace.output_text) == ("asked", "answered")
    assert trace.trace_id == recording.trace.trace_id


def test_each_execution_may_have_its_own_request():
    recorder = TraceRecorder("bot", input_text="usual")
    with recorder.recording(input_text="special") as special, recorder.recording() as usual:
        assert isinstance(special, Recording)
    assert (special.trace.input_text, usual.trace.input_text) == ("special", "usual")


def test_there_is_nothing_to_finalize_before_a_recording_has_ended():
    recorder = TraceRecorder("bot")
    with pytest.raises(InvalidTraceError, match="nothing was recorded"):
        recorder.finalize()
    with recorder, pytest.raises(InvalidTraceError, match="has not ended"):
        recorder.finalize()
    recorder.finalize()
    with pytest.raises(InvalidTraceError, match="nothing was recorded"):
        recorder.finalize()
    recorder.recording()
    with pytest.raises(InvalidTraceError, match="has not ended"):
        recorder.finalize()


def test_a_recorder_that_records_nothing_cannot_be_left():
    with pytest.raises(InvalidTraceError, match="records nothing"):
        TraceRecorder("bot").__exit__(None, None, None)


def test_the_trace_of_an_execution_that_failed_can_be_finalized():
    recorder = TraceRecorder("bot")
    with pytest.raises(OSError, match="gone"), recorder as recording:
        recording.record_tool_call("a")
        raise OSError("gone")
    trace = recorder.finalize(input_text="asked")
    assert [call.name for call in trace.tool_calls] == ["a"]
    assert trace.metadata["error"] == "OSError: gone"


def test_one_recorder_for_executions_at_once_gives_each_its_trace_but_does_not_guess_the_last():
    recorder = TraceRecorder("bot")
    both_in = threading.Barrier(2)
    recordings = {}

    def execution(name):
        with recorder as recording:
            both_in.wait(10)
            recording.record_tool_call(name)
        recordings[name] = recording

    threads = [threading.Thread(target=execution, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, recording in recordings.items():
        assert [call.name for call in recording.trace.tool_calls] == [name]
    with pytest.raises(InvalidTraceError, match="several executions were recorded at once"):
        recorder.finalize()
    with recorder:
        pass
    assert recorder.finalize().turns == ()


def test_an_agent_that_calls_itself_has_a_recording_for_each_level():
    recorder = TraceRecorder("bot")

    def agent(depth):
        with recorder as recording:
            recording.record_tool_call(f"tool {depth}")
            inner = agent(depth - 1) if depth else None
        return [[call.name for call in recording.trace.tool_calls], *(inner or [])]

    assert agent(2) == [["tool 2", "tool 1", "tool 0"], ["tool 1", "tool 0"], ["tool 0"]]


def attempted(task, inputs="hello"):
    (record,) = Dataset(cases=[Case(inputs=inputs)]).evaluate_sync(task, progress=False).cases
    return record.trace


def test_in_a_run_the_trace_has_what_the_task_was_given_and_returned():
    def task(text):
        with TraceRecorder("bot") as recording:
            recording.record_tool_call("search")
        return "hi"

    trace = attempted(task)
    assert (trace.input_text, trace.output_text) == ("hello", "hi")
    assert [call.name for call in trace.tool_calls] == ["search"]
    assert (attempted(task, inputs=3).input_text, attempted(task, inputs=3).output_text) == ("", "hi")


def test_what_the_recording_says_itself_is_kept():
    def task(text):
        with TraceRecorder("bot", input_text="asked") as recording:
            recording.output_text = "answered"
        return "hi"

    trace = attempted(task)
    assert (trace.input_text, trace.output_text) == ("asked", "answered")
