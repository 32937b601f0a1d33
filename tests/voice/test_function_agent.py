"""Functions as agents."""

import asyncio
import threading

import pytest

from calipers import ToolCall, Trace
from calipers.errors import TaskContractError
from calipers.voice import Agent, AgentResponse, Audio, agent

SOUND = Audio(b"\0\0" * 100, sample_rate=16000)
CALL = ToolCall("book")


def run(made, audio=SOUND):
    return asyncio.run(made.run(audio))


@pytest.mark.parametrize(
    "answer",
    [
        AgentResponse([CALL]),
        [CALL],
        (CALL,),
        Trace(tool_calls=[CALL]),
        type("Answer", (), {"tool_calls": [CALL]})(),
    ],
)
def test_an_agent_may_answer_in_several_forms(answer):
    assert run(agent(lambda audio: answer)).tool_calls == [CALL]


def test_an_async_function_is_an_agent_and_keeps_its_name():
    @agent
    async def assistant(audio):
        """Helps."""
        return [CALL]

    assert isinstance(assistant, Agent)
    assert (assistant.__name__, assistant.__doc__) == ("assistant", "Helps.")
    assert run(assistant).tool_calls == [CALL]
    assert assistant.__wrapped__ is assistant.function


def test_a_sync_function_does_not_hold_up_the_others():
    where = []
    run(agent(lambda audio: where.append(threading.current_thread()) or []))
    assert where != [threading.main_thread()]


def test_an_agent_reads_only_if_it_can():
    @agent
    def assistant(audio):
        return []

    with pytest.raises(TaskContractError, match="only hears"):
        asyncio.run(assistant.run_text("hello"))

    reads = assistant.for_text(lambda text: [ToolCall(text)])
    assert asyncio.run(reads.run_text("hello")).tool_calls == [ToolCall("hello")]
    assert run(reads).tool_calls == []


@pytest.mark.parametrize("answer", [None, "book", [1], {"tool_calls": []}])
def test_an_answer_that_is_none_is_refused_with_what_it_was(answer):
    with pytest.raises(TaskContractError, match="must give an AgentResponse"):
        run(agent(lambda audio: answer))


@pytest.mark.parametrize("calls", [None, "book", [{"name": "book"}]])
def test_a_response_whose_calls_are_none_is_refused_with_what_they_were(calls):
    with pytest.raises(TaskContractError, match="the tool_calls of the agent 'assistant'") as refused:

        @agent
        def assistant(audio):
            return AgentResponse(tool_calls=calls)

        run(assistant)
    assert repr(calls) in str(refused.value)


def test_only_functions_become_agents():
    with pytest.raises(TaskContractError, match="function of audio"):
        agent("assistant")


def test_a_class_is_no_function_of_audio():
    with pytest.raises(TaskContractError, match="if its objects are agents, give one"):
        agent(AgentResponse)
