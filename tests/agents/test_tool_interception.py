"""Tool calls on their way: what interceptors decide, in which order, and what is recorded of it."""

import asyncio
import functools
import inspect
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import Proceed, Raise, Return, TraceRecorder, intercepting_tools, tool
from calipers.agents.tool_interception import await_tool, call_tool, refuse_interceptors
from calipers.errors import InvalidOptionError, TaskContractError


class Interceptor:
    """One that does what it was told, and notes what it was asked."""

    def __init__(self, decision=None, change=lambda outcome: outcome):
        self.decision = decision or Proceed()
        self.change = change
        self.asked = []
        self.seen = []

    def before(self, name, arguments):
        self.asked.append((name, dict(arguments)))
        return self.decision

    def after(self, name, arguments, outcome):
        self.seen.append(outcome)
        return self.change(outcome)


def louder(outcome):
    return Return(f"{outcome.value}!") if isinstance(outcome, Return) else outcome


@tool
def search(query: str, *, limit: int = 3) -> str:
    if query == "bad":
        raise LookupError("nothing")
    return f"found {query}"


@tool
async def fetch(query: str, *, limit: int = 3) -> str:
    await asyncio.sleep(0)
    if query == "bad":
        raise LookupError("nothing")
    return f"found {query}"


def passed_on(function):
    """A decorator that hides that a function is async."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


@tool
@passed_on
async def hidden(query: str, *, limit: int = 3) -> str:
    return await fetch.__wrapped__(query, limit=limit)


KINDS = pytest.mark.parametrize("marked", [search, fetch, hidden], ids=lambda each: each.__name__)


def seen_by_agent(marked, query, *interceptors):
    """What a call gave or raised, and the recorded calls."""

    async def run():
        with TraceRecorder("bot") as recording, intercepting_tools(*interceptors):
            try:
                output = marked(query)
                outcome = await output if inspect.isawaitable(output) else output
            except Exception as error:
                outcome = error
        return outcome, list(recording.trace.tool_calls)

    return asyncio.run(run())


@KINDS
def test_an_interceptor_that_proceeds_changes_nothing_and_sees_the_call(marked):
    one = Interceptor()
    outcome, [call] = seen_by_agent(marked, "desk", one)
    assert outcome == call.output == "found desk"
    assert one.asked == [(marked.__name__, {"query": "desk"})]
    assert one.seen == [Return("found desk")]


@KINDS
def test_a_value_in_the_place_of_the_tool_is_recorded_as_its_output(marked):
    outcome, [call] = seen_by_agent(marked, "bad", Interceptor(Return("a lie")))
    assert outcome == call.output == "a lie"
    assert call.success


@KINDS
def test_an_error_in_the_place_of_the_tool_is_a_failed_call(marked):
    outcome, [call] = seen_by_agent(marked, "desk", Interceptor(Raise(TimeoutError("too slow"))))
    assert isinstance(outcome, TimeoutError)
    assert (call.success, call.error) == (False, "TimeoutError: too slow")


@KINDS
def test_what_came_back_can_be_changed_and_what_was_raised_can_be_caught(marked):
    assert seen_by_agent(marked, "desk", Interceptor(change=louder))[0] == "found desk!"
    outcome, [call] = seen_by_agent(marked, "bad", Interceptor(change=lambda _: Return("all is well")))
    assert outcome == call.output == "all is well"
    assert call.success


@KINDS
def test_the_first_interceptor_stands_outermost(marked):
    outer, inner = Interceptor(change=louder), Interceptor(Return("inner"))
    innermost = Interceptor()
    assert seen_by_agent(marked, "desk", outer, inner, innermost)[0] == "inner!"
    assert outer.seen == [Return("inner")]
    assert inner.seen == innermost.asked == []


@KINDS
def test_a_delay_is_waited_for_and_is_part_of_the_recorded_time(marked):
    two = Interceptor(Proceed(delay=0.001)), Interceptor(Return("x", delay=0.001))
    _, [call] = seen_by_agent(marked, "desk", *two)
    assert call.latency_ms >= 2


def test_blocks_stand_one_inside_the_other_and_end():
    outer, inner = Interceptor(), Interceptor()
    with intercepting_tools(outer):
        with intercepting_tools(inner):
            search("a")
        search("b")
    search("c")
    assert [each["query"] for _, each in outer.asked] == ["a", "b"]
    assert [each["query"] for _, each in inner.asked] == ["a"]


def test_a_marked_tool_is_intercepted_outside_of_a_recording_too():
    with intercepting_tools(Interceptor(Return(1))):
        assert search("desk") == 1


# ---------------------------------------------------------------------- once


def test_a_marked_tool_inside_an_intercepted_call_of_its_name_is_the_same_call():
    one = Interceptor()
    with intercepting_tools(one):
        call_tool("search", {"query": "desk"}, lambda: search("desk"))
        asyncio.run(await_tool("fetch", {"query": "desk"}, lambda: fetch("desk")))
        search("chair")
    assert [name for name, _ in one.asked] == ["search", "fetch", "search"]


def test_another_tool_inside_and_a_second_call_inside_are_calls_of_their_own():
    one = Interceptor()
    with intercepting_tools(one):
        call_tool("plan", {}, lambda: search("desk"))
        call_tool("search", {}, lambda: [search("desk"), search("chair")])
    assert [name for name, _ in one.asked] == ["plan", "search", "search", "search"]


# ---------------------------------------------------------------------- limits


def test_cancellations_pass_by_the_interceptors():
    one = Interceptor()

    async def cancelled():
        raise asyncio.CancelledError

    with intercepting_tools(one), pytest.raises(asyncio.CancelledError):
        asyncio.run(await_tool("fetch", {}, cancelled))
    assert one.seen == []


def test_what_is_no_interceptor_is_refused():
    with pytest.raises(InvalidOptionError, match="before"), intercepting_tools(object()):
        pass


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (lambda: Interceptor("stop"), r"before\(\) has to give Proceed, Return or Raise .* got 'stop'"),
        (lambda: Interceptor(change=lambda _: None), r"after\(\) has to give Return or Raise .* got None"),
        (lambda: Interceptor(Proceed(delay=-1)), "delay of Proceed must be a number from 0, got -1"),
        (lambda: Interceptor(Return(1, delay=float("nan"))), "delay of Return must be"),
        (lambda: Interceptor(Raise("too slow")), "error of Raise must be an exception, got 'too slow'"),
    ],
)
def test_an_interceptor_that_decides_nothing_sensible_is_reported(one, says):
    with pytest.raises((TaskContractError, InvalidOptionError), match=says), intercepting_tools(one()):
        search("desk")


def test_an_error_that_is_raised_for_many_calls_does_not_keep_their_frames():
    error = TimeoutError("too slow")
    lengths = set()
    with intercepting_tools(Interceptor(Raise(error))):
        for _ in range(3):
            with pytest.raises(TimeoutError):
                search("desk")
            lengths.add(len(traceback.extract_tb(error.__traceback__)))
    assert len(lengths) == 1


def test_an_error_of_the_tool_itself_says_where_it_was_raised():
    with intercepting_tools(Interceptor()), pytest.raises(LookupError) as caught:
        search("bad")
    assert "nothing" in (traceback.extract_tb(caught.value.__traceback__)[-1].line or "")


def test_an_agent_whose_tools_run_elsewhere_refuses_to_run_clean():
    refuse_interceptors("an agent over HTTP")
    with intercepting_tools(Interceptor()), pytest.raises(TaskContractError, match="cannot be intercepted"):
        refuse_interceptors("an agent over HTTP")


@given(st.lists(st.integers(), max_size=4), st.integers())
def test_a_chain_of_changes_is_their_composition(steps, value):
    chain = [
        Interceptor(change=lambda outcome, step=step: Return(outcome.value * 3 + step)) for step in steps
    ]
    expected = value
    for step in reversed(steps):
        expected = expected * 3 + step
    with intercepting_tools(*chain):
        assert call_tool("t", {}, lambda: value) == expected


def test_of_a_marked_tool_inside_an_intercepted_call_the_trace_has_what_the_agent_saw():
    async def run():
        broken = Interceptor(change=lambda _: Raise(OSError("gone")))
        with TraceRecorder("bot") as recording:
            with intercepting_tools(Interceptor(change=louder)):
                call_tool("search", {"query": "desk"}, lambda: search("desk"))
                await await_tool("fetch", {"query": "desk"}, lambda: fetch("desk"))
            with intercepting_tools(broken), pytest.raises(OSError, match="gone"):
                call_tool("search", {"query": "desk"}, lambda: search("desk"))
        return recording.trace

    calls = asyncio.run(run()).tool_calls
    assert [(call.output, call.error) for call in calls] == [
        ("found desk!", None),
        ("found desk!", None),
        (None, "OSError: gone"),
    ]
    assert [call.success for call in calls] == [True, True, False]
