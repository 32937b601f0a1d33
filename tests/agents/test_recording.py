"""What is recorded, in which order, and of whom, in threads and tasks, side by side and inside one another."""

import asyncio
import contextvars
import threading
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, increment_eval_metric, record_trace
from calipers.agents import Trace, TraceRecorder, TurnType, carry, current_recording, tool
from calipers.agents.event_log import UNFINISHED
from calipers.agents.recording import snapshot
from calipers.errors import CalipersError, InvalidOptionError, InvalidTraceError


@tool
def look_up(word):
    return f"the meaning of {word}"


@tool
async def look_up_later(word):
    await asyncio.sleep(0)
    return f"the meaning of {word}"


def words(trace):
    return [call.arguments["word"] for call in trace.tool_calls]


def record(**options):
    return TraceRecorder("bot", **options)


# ---------------------------------------------------------------------- what is recorded


def test_a_recording_becomes_a_trace_with_turns_in_order():
    with TraceRecorder("bot", "small", ["nightly"], metadata={"build": 7}) as recording:
        recording.record_user_message("what is a caliper?")
        recording.record_llm_call(input_tokens=10, output_tokens=4, latency_ms=3.0)
        look_up("caliper")
        recording.record_llm_call("large", input_tokens=5, output_tokens=2)
        recording.record_agent_message("a tool to measure with")
    trace = recording.trace
    assert [turn.turn_type for turn in trace.turns] == [
        TurnType.USER_MESSAGE,
        TurnType.LLM_CALL,
        TurnType.TOOL_CALL,
        TurnType.LLM_CALL,
        TurnType.AGENT_MESSAGE,
    ]
    assert (trace.agent_name, trace.model, trace.tags) == ("bot", "small", ("nightly",))
    assert trace.metadata == {"build": 7}
    assert [call.model for call in trace.llm_calls] == ["small", "large"]
    assert (trace.total_input_tokens, trace.total_output_tokens) == (15, 6)
    assert (trace.input_text, trace.output_text) == ("what is a caliper?", "a tool to measure with")


def test_what_was_asked_and_answered_may_be_said_outright():
    with record(input_text="asked") as recording:
        recording.record_user_message("first word")
        recording.record_agent_message("last word")
        recording.output_text = "answered"
    assert (recording.trace.input_text, recording.trace.output_text) == ("asked", "answered")
    with record() as silent:
        pass
    assert (silent.trace.input_text, silent.trace.output_text) == ("", "")


def test_the_total_latency_is_that_of_the_clock_and_times_never_go_back():
    with record() as recording:
        for word in "abc":
            look_up(word)
            recording.record_llm_call("m")
            recording.record_agent_message(word)
    trace = recording.trace
    assert trace.total_latency_ms >= sum(call.latency_ms for call in trace.tool_calls) > 0
    times = [turn.timestamp for turn in trace.turns]
    assert times == sorted(times)
    assert times[0] >= trace.created_at


def test_a_call_recorded_after_the_fact_began_as_long_ago_as_it_took_but_not_before_the_recording():
    given_time = datetime(2030, 1, 2, tzinfo=UTC)
    with record() as recording:
        recording.record_tool_call("a", latency_ms=3_600_000)
        recording.record_tool_call("b", timestamp=given_time)
        recording.record_llm_call("m", timestamp=given_time)
    trace = recording.trace
    assert trace.tool_calls[0].timestamp == trace.created_at
    assert trace.tool_calls[1].timestamp == trace.llm_calls[0].timestamp == given_time
    assert [turn.timestamp for turn in trace.turns] == [trace.created_at, given_time, given_time]


def test_the_trace_so_far_can_be_read_inside_the_block():
    with record() as recording:
        look_up("a")
        so_far = recording.trace
        look_up("b")
    assert words(so_far) == ["a"]
    assert words(recording.trace) == ["a", "b"]
    assert so_far.trace_id == recording.trace.trace_id
    assert recording.trace.total_latency_ms >= so_far.total_latency_ms


def test_a_tool_call_is_recorded_in_either_vocabulary_with_its_failure():
    with record() as recording:
        recording.record_tool_call("a", {"x": 1}, output=[2], latency_ms=1.5, call_id="c1")
        recording.record_tool_call(tool_name="a", tool_input={"x": 1}, tool_output=[2])
        recording.record_tool_call("b", error="no such page")
        recording.record_tool_call("c", success=False)
    first, second, third, fourth = recording.trace.tool_calls
    assert first == second
    assert first.output == second.output == [2]
    assert (first.latency_ms, first.call_id, second.latency_ms) == (1.5, "c1", None)
    assert (first.success, third.success, third.error, fourth.success) == (True, False, "no such page", False)


def test_what_is_recorded_does_not_change_with_what_it_was_made_of():
    arguments, output, metadata = {"x": [1]}, [1], {"tries": [1]}
    with record() as recording:
        recording.record_tool_call("a", arguments, output=output)
        with recording.tool_call("b", arguments) as call:
            call.output = output
        recording.record_llm_call("m", metadata=metadata)
        arguments["x"].append(2)
        output.append(2)
        metadata["tries"].append(2)
    trace = recording.trace
    assert [call.arguments for call in trace.tool_calls] == [{"x": [1]}, {"x": [1]}]
    assert [call.output for call in trace.tool_calls] == [[1], [1]]
    assert trace.llm_calls[0].metadata == {"tries": [1]}


def test_a_block_records_a_call_of_a_tool_that_is_no_function():
    with record() as recording:
        with recording.tool_call("search", {"query": "x"}, call_id="c1") as call:
            call.output = ["found"]
        with recording.tool_call("search") as call:
            call.error = "quota used up"
        with pytest.raises(ZeroDivisionError), recording.tool_call("divide", {"by": 0}):
            _ = 1 / 0
    found, refused, failed = recording.trace.tool_calls
    assert (found.output, found.success, found.call_id) == (["found"], True, "c1")
    assert found.latency_ms is not None
    assert (refused.success, refused.error) == (False, "quota used up")
    assert (failed.success, failed.error) == (False, "ZeroDivisionError: division by zero")
    assert failed.latency_ms is not None


def test_a_block_records_a_request_to_a_model():
    with record(model="small") as recording:
        with recording.llm_call(input_text="hello") as call:
            call.output_text, call.input_tokens, call.output_tokens = "hi", 3, 2
        with pytest.raises(TimeoutError), recording.llm_call("large"):
            raise TimeoutError("busy")
    answered, failed = recording.trace.llm_calls
    assert (answered.model, answered.output_text, answered.input_text) == ("small", "hi", "hello")
    assert answered.latency_ms is not None
    assert answered.metadata == {}
    assert failed.metadata == {"error": "TimeoutError: busy"}
    assert recording.trace.total_input_tokens == 3


@pytest.mark.parametrize("tokens", [-1, 1.5, None, float("nan"), "many"])
def test_numbers_that_count_nothing_are_refused_where_they_are_given(tokens):
    with record(model="m") as recording:
        with pytest.raises(InvalidTraceError, match="input_tokens"), recording.llm_call() as call:
            call.input_tokens = tokens
        with pytest.raises(InvalidTraceError, match="input_tokens"):
            recording.record_llm_call(input_tokens=tokens)
    trace = recording.trace
    assert trace.total_input_tokens == 0
    assert [call.metadata["error"] for call in trace.llm_calls] == [UNFINISHED]


@pytest.mark.parametrize(
    ("field", "value"), [("input_tokens", None), ("metadata", None), ("output_tokens", -1)]
)
def test_what_a_failed_request_was_given_hides_no_error(field, value):
    with record(model="m") as recording, pytest.raises(ConnectionError), recording.llm_call() as call:
        setattr(call, field, value)
        raise ConnectionError("down")
    (failed,) = recording.trace.llm_calls
    assert failed.metadata == {"error": "ConnectionError: down"}


def test_a_call_cannot_have_begun_before_its_recording():
    with record() as recording:
        call = recording.record_tool_call("a", latency_ms=1e300)
    assert call.timestamp == recording.trace.created_at


@pytest.mark.parametrize(
    "wrong",
    [
        lambda recording: recording.record_user_message(None),
        lambda recording: recording.record_agent_message(b"bytes"),
        lambda recording: setattr(recording, "output_text", {"answer": 1}),
        lambda recording: setattr(recording, "input_text", None),
        lambda recording: recording.record_tool_call(""),
        lambda recording: recording.record_tool_call("a", ["positional"]),
        lambda recording: recording.record_tool_call("a", latency_ms=float("nan")),
        lambda recording: recording.record_tool_call("a", tool_name="b"),
        lambda recording: recording.record_llm_call(),
        lambda recording: recording.tool_call("").__enter__(),
        lambda recording: recording.llm_call().__enter__(),
    ],
    ids=[
        "message none",
        "message bytes",
        "output",
        "input",
        "tool without name",
        "arguments",
        "latency",
        "two names",
        "model",
        "block without name",
        "block without model",
    ],
)
def test_what_no_trace_could_hold_is_refused_at_once_and_leaves_nothing(wrong):
    with record() as recording, pytest.raises(InvalidTraceError):
        wrong(recording)
    assert recording.trace.turns == ()


# ---------------------------------------------------------------------- beginning and end


def test_a_recording_takes_nothing_before_it_begins_or_after_it_ends():
    recording = record().recording()
    with pytest.raises(InvalidTraceError, match="has not begun"):
        recording.record_tool_call("a")
    assert recording.trace.turns == ()
    with recording:
        pass
    for late in (
        lambda: recording.record_tool_call("a"),
        lambda: recording.record_llm_call("m"),
        lambda: recording.record_agent_message("late"),
        lambda: recording.tool_call("a").__enter__(),
        lambda: recording.llm_call("m").__enter__(),
    ):
        with pytest.raises(InvalidTraceError, match="has ended"):
            late()
    with pytest.raises(InvalidTraceError, match="entered once"):
        recording.__enter__()
    assert recording.trace.turns == ()


def test_leaving_twice_changes_nothing():
    recording = record().recording()
    with recording:
        look_up("a")
    before = recording.trace
    recording.__exit__(None, None, None)
    assert words(recording.trace) == ["a"]
    assert recording.trace.total_latency_ms == before.total_latency_ms


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no answer"), "ValueError: no answer"),
        (AssertionError(), "AssertionError"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError: cancelled before it had finished"),
    ],
    ids=["value", "empty", "interrupt", "cancelled"],
)
def test_a_block_left_by_an_exception_keeps_its_trace_and_says_why(error, text):
    with pytest.raises(type(error)), record(metadata={"kept": True}) as recording:
        look_up("a")
        raise error
    assert words(recording.trace) == ["a"]
    assert recording.trace.metadata == {"kept": True, "error": text}


def test_a_call_still_running_at_the_end_is_in_the_trace_as_unfinished_and_its_end_changes_nothing():
    go, begun = threading.Event(), threading.Event()

    @tool
    def wait(word):
        begun.set()
        go.wait(10)
        return "too late"

    with record() as recording:
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(wait, "x"))
        thread.start()
        assert begun.wait(10)
        look_up("y")
    unfinished = recording.trace.tool_calls[0]
    go.set()
    thread.join()
    assert words(recording.trace) == ["x", "y"]
    for call in (unfinished, recording.trace.tool_calls[0]):
        assert (call.success, call.error, call.output, call.latency_ms) == (False, UNFINISHED, None, None)
        assert call.timestamp is not None


def test_a_request_still_running_at_the_end_is_in_the_trace_as_unfinished():
    with record() as recording:
        block = recording.llm_call("m", input_text="hello")
        block.__enter__().output_text = "hal"
    block.__exit__(None, None, None)
    call = recording.trace.llm_calls[0]
    assert (call.metadata, call.input_text, call.latency_ms) == ({"error": UNFINISHED}, "hello", None)


def test_a_tool_called_after_the_end_is_just_called():
    with record() as recording:
        context = contextvars.copy_context()
    assert context.run(look_up, "late") == "the meaning of late"
    assert context.run(current_recording) is None
    assert recording.trace.turns == ()


# ---------------------------------------------------------------------- inside one another


def test_the_calls_of_a_sub_agent_are_in_its_trace_and_in_the_one_around_it_but_its_messages_are_not():
    with record() as outer:
        look_up("a")
        with TraceRecorder("sub") as inner:
            assert current_recording() is inner
            inner.record_user_message("from the other agent")
            look_up("b")
            inner.record_llm_call("m", input_tokens=7)
            with inner.llm_call("m") as call:
                call.output_tokens = 2
            outer.record_tool_call("look_up", {"word": "outer alone"})
        assert current_recording() is outer
        look_up("c")
    assert words(inner.trace) == ["b"]
    assert words(outer.trace) == ["a", "b", "outer alone", "c"]
    assert (inner.trace.total_input_tokens, outer.trace.total_input_tokens) == (7, 7)
    assert (inner.trace.total_output_tokens, outer.trace.total_output_tokens) == (2, 2)
    assert [turn.turn_type for turn in inner.trace.turns].count(TurnType.USER_MESSAGE) == 1
    assert [turn.turn_type for turn in outer.trace.turns].count(TurnType.USER_MESSAGE) == 0


def test_a_call_that_outlives_the_inner_recording_is_finished_in_the_outer_one():
    with record() as outer:
        with TraceRecorder("sub") as inner:
            block = inner.tool_call("slow")
            call = block.__enter__()
        call.output = "done"
        block.__exit__(None, None, None)
    assert inner.trace.tool_calls[0].error == UNFINISHED
    assert (outer.trace.tool_calls[0].output, outer.trace.tool_calls[0].success) == ("done", True)


def test_blocks_that_are_left_in_the_wrong_order_do_not_confuse_what_is_recorded():
    first, middle, last = (TraceRecorder(name).recording() for name in ("first", "middle", "last"))
    first.__enter__()
    middle.__enter__()
    last.__enter__()
    middle.__exit__(None, None, None)
    look_up("a")  # the middle has ended, yet the first still sees what the last does
    last.__exit__(None, None, None)
    assert current_recording() is first
    look_up("b")
    first.__exit__(None, None, None)
    assert current_recording() is None
    assert [words(each.trace) for each in (first, middle, last)] == [["a", "b"], [], ["a"]]


def test_a_block_may_be_left_in_another_context_than_it_was_entered_in():
    recorder = record()
    context = contextvars.copy_context()
    recording = context.run(recorder.__enter__)
    context.run(look_up, "a")
    recorder.__exit__(None, None, None)
    assert words(recording.trace) == ["a"]
    assert context.run(current_recording) is None


# ---------------------------------------------------------------------- side by side


def test_recordings_in_different_tasks_know_nothing_of_each_other():
    async def execution(recorder, name):
        async with recorder as recording:
            for number in range(5):
                await look_up_later(f"{name}{number}")
        return recording.trace

    async def main(recorders):
        return await asyncio.gather(*(execution(recorder, name) for recorder, name in recorders))

    shared = record()
    for recorders in ([(record(), "a"), (record(), "b")], [(shared, "a"), (shared, "b"), (shared, "c")]):
        for (_, name), trace in zip(recorders, asyncio.run(main(recorders)), strict=True):
            assert words(trace) == [f"{name}{number}" for number in range(5)]


def test_tools_called_side_by_side_are_all_recorded_in_the_order_in_which_they_began():
    async def main():
        async with record() as recording:
            await asyncio.gather(*(look_up_later(f"gather {number}") for number in range(3)))
            async with asyncio.TaskGroup() as group:
                for number in range(3):
                    group.create_task(look_up_later(f"group {number}"))
            await asyncio.gather(*(asyncio.to_thread(look_up, f"thread {number}") for number in range(3)))
        return recording.trace

    found = words(asyncio.run(main()))
    assert found[:6] == [f"{kind} {number}" for kind in ("gather", "group") for number in range(3)]
    assert sorted(found[6:]) == [f"thread {number}" for number in range(3)]


def test_the_threads_of_a_pool_record_what_is_carried_to_them():
    with record() as recording, ThreadPoolExecutor(4) as pool:
        assert pool.submit(look_up, "lost").result() == "the meaning of lost"
        assert list(pool.map(carry(look_up), "ab")) == ["the meaning of a", "the meaning of b"]
    assert sorted(words(recording.trace)) == ["a", "b"]


def test_carrying_takes_the_attempt_along_too_and_keeps_the_function_what_it_is():
    def count(word):
        """Counts."""
        increment_eval_metric("words", 1)
        return word

    def task(text):
        with ThreadPoolExecutor(2) as pool:
            return " ".join(pool.map(carry(count), text.split()))

    report = Dataset(cases=[Case(inputs="a b c")]).evaluate_sync(task, progress=False)
    assert report.cases[0].metrics == {"words": 3}
    assert (carry(count).__name__, carry(count).__doc__) == ("count", "Counts.")
    with pytest.raises(InvalidOptionError, match="async"):
        carry(look_up_later)


# One event: who records it (a task of the event loop, a thread of a pool), and what it is.
EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["tool", "llm", "block", "message"])), max_size=25
)


def record_event(recording, worker, number, kind):
    if kind == "tool":
        look_up(f"{worker}-{number}")
    elif kind == "llm":
        recording.record_llm_call("m", input_text=f"{worker}-{number}", input_tokens=1, output_tokens=2)
    elif kind == "block":
        with recording.tool_call("block", {"word": f"{worker}-{number}"}) as call:
            call.output = number
    else:
        recording.record_agent_message(f"{worker}-{number}")


def said(turn):
    if turn.tool_call is not None:
        return turn.tool_call.arguments["word"]
    return turn.content if turn.llm_call is None else turn.llm_call.input_text


def check_the_laws(trace: Trace, plans):
    """Nothing is lost, each worker's order is kept, totals are sums, turns agree with calls."""
    told = [said(turn) for turn in trace.turns]
    expected = [f"{worker}-{number}" for worker, kinds in plans.items() for number in range(len(kinds))]
    assert sorted(told) == sorted(expected)
    for worker, kinds in plans.items():
        mine = [text for text in told if text.startswith(f"{worker}-")]
        assert mine == [f"{worker}-{number}" for number in range(len(kinds))]
    assert trace.total_input_tokens == sum(call.input_tokens for call in trace.llm_calls)
    assert trace.total_output_tokens == 2 * len(trace.llm_calls)
    assert [turn.tool_call for turn in trace.turns if turn.tool_call] == list(trace.tool_calls)
    assert [turn.llm_call for turn in trace.turns if turn.llm_call] == list(trace.llm_calls)
    assert all(call.success for call in trace.tool_calls)
    assert all(call.latency_ms is not None for call in trace.tool_calls)


def plans_of(events):
    plans = {}
    for worker, kind in events:
        plans.setdefault(worker, []).append(kind)
    return plans


@given(EVENTS)
@settings(max_examples=min(40, settings().max_examples))
def test_whatever_tasks_record_in_whatever_order_nothing_is_lost(events):
    plans = plans_of(events)

    async def work(recording, worker, kinds):
        for number, kind in enumerate(kinds):
            record_event(recording, worker, number, kind)
            await asyncio.sleep(0)

    async def main():
        async with record() as recording:
            await asyncio.gather(*(work(recording, worker, kinds) for worker, kinds in plans.items()))
        return recording.trace

    check_the_laws(asyncio.run(main()), plans)


@given(EVENTS)
@settings(max_examples=min(25, settings().max_examples))
def test_whatever_threads_record_in_whatever_order_nothing_is_lost(events):
    plans = plans_of(events)
    with record() as recording:
        barrier = threading.Barrier(len(plans) or 1)

        def work(worker, kinds):
            barrier.wait(10)
            for number, kind in enumerate(kinds):
                record_event(recording, worker, number, kind)

        with ThreadPoolExecutor(max(1, len(plans))) as pool:
            for done in [pool.submit(carry(work), worker, kinds) for worker, kinds in plans.items()]:
                done.result()
    check_the_laws(recording.trace, plans)


@given(st.lists(st.integers(0, 3), max_size=12))
@settings(max_examples=min(40, settings().max_examples))
def test_each_call_is_in_every_recording_it_was_made_in(depths):
    """Calls at various depths of nested recordings; a recording holds those of its own depth and deeper."""

    def descend(depth, recordings):
        if depth == 4:
            return
        with TraceRecorder(f"level {depth}") as recording:
            recordings.append(recording)
            for position, at in enumerate(depths):
                if at == depth:
                    look_up(f"{position}")
            descend(depth + 1, recordings)

    recordings: list = []
    descend(0, recordings)
    for depth, recording in enumerate(recordings):
        inside = sorted(f"{position}" for position, at in enumerate(depths) if at >= depth)
        assert sorted(words(recording.trace)) == inside


def test_what_is_recorded_while_the_recording_ends_is_either_in_it_or_refused():
    for _ in range(20):
        taken: list = []
        start = threading.Barrier(4)
        with record() as recording:

            def work(worker):
                start.wait(10)
                try:
                    for number in range(1000):
                        recording.record_tool_call("look_up", {"word": f"{worker}-{number}"})
                        taken.append(f"{worker}-{number}")
                except CalipersError:
                    return

            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
            for thread in threads:
                thread.start()
            start.wait(10)
        for thread in threads:
            thread.join()
        assert sorted(words(recording.trace)) == sorted(taken)


# ---------------------------------------------------------------------- in a run


def agent(text):
    with TraceRecorder("bot", input_text=text) as recording:
        look_up(text)
        with TraceRecorder("sub"):
            look_up("sub")
        if text == "bad":
            raise ValueError("no idea")
        recording.output_text = text.upper()
    return recording.output_text


async def agent_later(text):
    async with TraceRecorder("bot", input_text=text) as recording:
        await look_up_later(text)
        async with TraceRecorder("sub"):
            await look_up_later("sub")
        if text == "bad":
            raise ValueError("no idea")
        recording.output_text = text.upper()
    return recording.output_text


def agent_of_the_first_hour(text):
    recorder = TraceRecorder("bot")
    with recorder.recording() as recording:
        look_up(text)
        recording.record_tool_call(tool_name="look_up", tool_input={"word": "sub"})
        if text == "bad":
            raise ValueError("no idea")
    return recorder.finalize(input_text=text, output=text.upper()).output_text


@pytest.mark.parametrize("task", [agent, agent_later, agent_of_the_first_hour])
def test_in_a_run_the_outermost_recording_is_the_trace_that_evaluators_see(task):
    cases = [Case(name=text, inputs=text) for text in ("a", "b", "bad")]

    def complete(trace, output, inputs):
        return (trace.input_text, trace.output_text, words(trace)) == (inputs, output, [inputs, "sub"])

    report = Dataset(cases=cases, evaluators=[complete]).evaluate_sync(task, progress=False)
    assert [case.passed for case in report.cases] == [True, True]
    assert [failure.name for failure in report.failures] == ["bad"]
    assert words(report.failures[0].trace) == ["bad", "sub"]
    assert report.failures[0].trace.metadata["error"] == "ValueError: no idea"


def test_a_recording_around_a_whole_run_leaves_each_attempt_its_own():
    def judged(trace, inputs):
        return words(trace) == [inputs, "sub"]

    with record() as around:
        cases = [Case(inputs=text) for text in ("a", "b")]
        report = Dataset(cases=cases, evaluators=[judged]).evaluate_sync(agent, progress=False)
    assert [case.passed for case in report.cases] == [True, True]
    assert sorted(words(around.trace)) == ["a", "b", "sub", "sub"]


def test_a_trace_that_the_task_gave_itself_is_not_replaced_by_one_recorded_before_it():
    def task(text):
        with record():
            look_up(text)
        record_trace(Trace(output_text="mine"))
        return text

    report = Dataset(cases=[Case(inputs="a")], evaluators=[lambda trace: trace.output_text == "mine"])
    assert report.evaluate_sync(task, progress=False).cases[0].passed


def test_executions_side_by_side_or_one_after_the_other_in_one_attempt_are_one_trace():
    async def sub_agent(word):
        async with TraceRecorder("sub"):
            await look_up_later(word)

    async def apart(text):
        await asyncio.gather(sub_agent("a"), sub_agent("b"))
        return text

    async def together(text):
        async with record():
            return await apart(text)

    async def in_turn(text):
        await sub_agent("a")
        await sub_agent("b")
        return text

    async def the_last_alone(text):
        await sub_agent("a")
        async with TraceRecorder("sub") as recording:
            await look_up_later("b")
        return recording.trace

    for task in (apart, together, in_turn, the_last_alone):
        (case,) = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, progress=False).cases
        assert words(case.trace) == ["a", "b"], task


class Point(NamedTuple):
    x: int
    tags: list


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.frozensets(st.integers()),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner) | st.sets(st.integers())
    ),
    max_leaves=20,
)


def spoil(value):
    """Change every container that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")
    elif isinstance(value, tuple):
        for item in value:
            spoil(item)
    elif isinstance(value, set):
        value.add("spoilt")


@given(VALUES)
def test_a_snapshot_is_equal_and_stays_so(value):
    first, second = snapshot(value), snapshot(value)
    assert first == value
    assert type(first) is type(value)
    spoil(value)
    assert first == second


@pytest.mark.parametrize(
    "value",
    [OrderedDict(a=[1]), defaultdict(list, a=[1]), Point(1, ["a"])],
    ids=["ordered dict", "default dict", "named tuple"],
)
def test_containers_of_other_classes_are_copied_as_what_they_hold(value):
    kept = snapshot(value)
    assert kept == value
    before = repr(list(kept))
    spoil(value)
    assert repr(list(kept)) == before


def test_a_named_tuple_keeps_its_names():
    assert snapshot(Point(1, ["a"])).tags == ["a"]


def test_other_objects_are_kept_as_they_are():
    thing = object()
    assert snapshot([thing])[0] is thing


def test_what_contains_itself_still_does():
    loop: list = [1]
    loop.append(loop)
    kept = snapshot(loop)
    assert kept is not loop
    assert kept[1] is kept
    assert kept[0] == 1


def test_what_cannot_be_copied_is_kept_as_it_is():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert snapshot(deep) is deep
    while deep:  # taking it apart: freeing it in one go may need more stack than there is
        deep = deep.pop()

    class Hostile(dict):
        def items(self):
            raise OSError("no")

    hostile = Hostile(a=1)
    assert snapshot(hostile) is hostile
