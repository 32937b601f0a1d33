"""OpenAI's Realtime API: what is sent, and which event ends the answer."""

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import AgentReplyError, AgentTimeoutError
from calipers.testing import OpenAIRealtimeServer, Reply
from calipers.voice.adapters import OpenAIRealtimeAgent

CALLS = [ToolCall("book", {"to": "LA"}), ToolCall("pay")]
TOOL = {"name": "book", "parameters": {"type": "object", "properties": {}}}


def done(status="completed", output=(), identity="resp_1", **details):
    response = {"id": identity, "status": status, "output": list(output), "status_details": details or None}
    return {"type": "response.done", "response": response}


def types(request):
    return [message["type"] for message in request.messages]


def test_the_events_are_the_documented_ones_in_order(ask, audio):
    with OpenAIRealtimeServer(Reply(calls=CALLS)) as server:
        agent = OpenAIRealtimeAgent(
            "gpt-realtime", base_url=server.url, tools=[TOOL], instructions="Be brief.", api_key="sk-test"
        )
        ask(agent, audio)
    (request,) = server.requests
    assert request.path == "/v1/realtime?model=gpt-realtime"
    assert request.headers["authorization"] == "Bearer sk-test"
    first, *appends, commit, create = request.messages
    assert first["type"] == "session.update"
    assert first["session"] == {
        "type": "realtime",
        "output_modalities": ["text"],
        "instructions": "Be brief.",
        "tools": [{"type": "function", **TOOL}],
        "audio": {"input": {"format": {"type": "audio/pcm", "rate": 24000}, "turn_detection": None}},
    }
    assert {event["type"] for event in appends} == {"input_audio_buffer.append"}
    assert len(appends) > 1
    assert (commit["type"], create["type"]) == ("input_audio_buffer.commit", "response.create")
    assert request.audio.pcm == audio.convert(24000).pcm


def test_a_text_is_an_item_of_the_conversation(ask):
    with OpenAIRealtimeServer() as server:
        ask(OpenAIRealtimeAgent("m", base_url=server.url), "book LA")
    _, item, create = server.requests[0].messages
    content = [{"type": "input_text", "text": "book LA"}]
    assert item == {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": "user", "content": content},
    }
    assert create == {"type": "response.create"}


def test_settings_of_the_session_win_over_ours(ask):
    with OpenAIRealtimeServer() as server:
        session = {"output_modalities": ["audio"], "audio": {"output": {"voice": "marin"}}}
        ask(OpenAIRealtimeAgent("m", base_url=server.url, session=session), "hi")
    sent = server.requests[0].messages[0]["session"]
    assert sent["output_modalities"] == ["audio"]
    assert sent["audio"]["output"] == {"voice": "marin"}
    assert sent["audio"]["input"]["format"]["rate"] == 24000


def test_with_detection_the_server_decides_and_hears_a_silence(ask, audio):
    with OpenAIRealtimeServer(Reply(calls=CALLS)) as server:
        agent = OpenAIRealtimeAgent("m", base_url=server.url, turn_detection={"type": "server_vad"})
        assert ask(agent, audio).tool_calls == CALLS
    assert set(types(server.requests[0])) == {"session.update", "input_audio_buffer.append"}
    assert server.requests[0].audio.pcm.endswith(bytes(24000))


def test_the_transcript_is_waited_for_where_it_was_asked_for(ask, audio):
    reply = Reply(calls=CALLS, transcript="book L A")
    with OpenAIRealtimeServer(reply) as server:
        agent = OpenAIRealtimeAgent("m", base_url=server.url, transcription={"model": "whisper-1"})
        response = ask(agent, audio)
        assert (response.transcript, response.tool_calls) == ("book L A", CALLS)
        assert ask(agent, "book LA").transcript is None, "a text is not transcribed, so nothing is waited for"
    assert server.requests[0].messages[0]["session"]["audio"]["input"]["transcription"] == {
        "model": "whisper-1"
    }


def test_a_transcript_that_failed_is_not_waited_for(ask, audio):
    failed = {"type": "conversation.item.input_audio_transcription.failed", "error": {"message": "unclear"}}
    with OpenAIRealtimeServer(Reply(raw=[failed, done()])) as server:
        agent = OpenAIRealtimeAgent("m", base_url=server.url, transcription={"model": "whisper-1"})
        assert ask(agent, audio).transcript is None


def test_the_answer_is_whole_only_when_the_response_is_done(ask):
    early = {
        "type": "response.output_item.done",
        "item": {"id": "1", "type": "function_call", "name": "book"},
    }
    with OpenAIRealtimeServer(Reply(raw=[early])) as server, pytest.raises(AgentTimeoutError) as caught:
        ask(OpenAIRealtimeAgent("m", base_url=server.url, timeout=0.2), "hi")
    assert caught.value.response.tool_calls == [ToolCall("book")]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (done("failed", error={"code": "rate_limit_exceeded"}), "ended as 'failed': .*rate_limit_exceeded"),
        (done("cancelled", reason="client_cancelled"), "ended as 'cancelled': .*client_cancelled"),
        (
            {"type": "error", "error": {"message": "Unknown parameter"}},
            "reported an error: .*Unknown parameter",
        ),
        ({"type": "error"}, "reported an error"),
    ],
)
def test_a_response_that_came_to_nothing_is_an_error(ask, event, said):
    with (
        OpenAIRealtimeServer(Reply(raw=[event])) as server,
        pytest.raises(AgentReplyError, match=said) as caught,
    ):
        ask(OpenAIRealtimeAgent("m", base_url=server.url), "hi")
    assert caught.value.response.problems


def test_a_response_that_more_speech_cut_short_is_not_the_answer(ask, audio):
    call = {"id": "item_2", "type": "function_call", "name": "pay", "arguments": "{}"}
    raw = [done("cancelled", reason="turn_detected"), done(output=[call], identity="resp_2")]
    with OpenAIRealtimeServer(Reply(raw=raw)) as server:
        agent = OpenAIRealtimeAgent("m", base_url=server.url, turn_detection={"type": "semantic_vad"})
        assert ask(agent, audio).tool_calls == [ToolCall("pay")]


def test_an_incomplete_response_without_calls_is_no_answer(ask):
    raw = [done("incomplete", reason="max_output_tokens")]
    with OpenAIRealtimeServer(Reply(raw=raw)) as server, pytest.raises(AgentReplyError) as caught:
        ask(OpenAIRealtimeAgent("m", base_url=server.url), "hi")
    assert "'incomplete': 'max_output_tokens'" in str(caught.value)
    assert [problem.kind for problem in caught.value.response.problems] == ["incomplete", "no_answer"]


def test_sound_that_comes_back_is_not_kept(ask):
    raw = [{"type": "response.output_audio.delta", "delta": "AAAA"}, {"type": "response.audio.delta"}, done()]
    with OpenAIRealtimeServer(Reply(raw=raw)) as server:
        response = ask(OpenAIRealtimeAgent("m", base_url=server.url), "hi")
    assert not [event for event in response.raw if "audio.delta" in event["type"]]
