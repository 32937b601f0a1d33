"""Gemini's Live API: what is sent, and which message ends the answer."""

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import AgentConnectionError, AgentTimeoutError
from calipers.testing import GeminiLiveServer, Reply
from calipers.voice.adapters import GeminiLiveAgent

CALL = {"toolCall": {"functionCalls": [{"id": "1", "name": "book", "args": {"to": "LA"}}]}}
BOOK = ToolCall("book", {"to": "LA"})
COMPLETE = {"serverContent": {"turnComplete": True}}


def said(text):
    return {"serverContent": {"outputTranscription": {"text": text}}}


def test_the_messages_are_the_documented_ones_in_order(ask, audio):
    tool = {"name": "book"}
    with GeminiLiveServer(Reply(calls=[BOOK])) as server:
        agent = GeminiLiveAgent(
            "gemini-live", base_url=server.url, tools=[tool], instructions="Be brief.", api_key="g-key-1"
        )
        ask(agent, audio)
    (request,) = server.requests
    assert request.path == "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    assert request.headers["x-goog-api-key"] == "g-key-1"
    setup, *pieces, end = request.messages
    assert setup == {
        "setup": {
            "model": "models/gemini-live",
            "generationConfig": {"responseModalities": ["AUDIO"]},
            "tools": [{"functionDeclarations": [tool]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "inputAudioTranscription": {},
            "outputAudioTranscription": {},
        }
    }
    assert {piece["realtimeInput"]["audio"]["mimeType"] for piece in pieces} == {"audio/pcm;rate=16000"}
    assert len(pieces) > 1
    assert end == {"realtimeInput": {"audioStreamEnd": True}}
    assert request.audio.pcm == audio.convert(16000).pcm


def test_without_detection_we_say_when_speech_begins_and_ends(ask, audio):
    with GeminiLiveServer(Reply(calls=[BOOK])) as server:
        assert ask(
            GeminiLiveAgent("m", base_url=server.url, automatic_detection=False), audio
        ).tool_calls == [BOOK]
    setup, start, *_, end = server.requests[0].messages
    assert setup["setup"]["realtimeInputConfig"] == {"automaticActivityDetection": {"disabled": True}}
    assert start == {"realtimeInput": {"activityStart": {}}}
    assert end == {"realtimeInput": {"activityEnd": {}}}


def test_a_text_is_a_whole_turn(ask):
    with GeminiLiveServer(Reply(text="Hello.")) as server:
        response = ask(GeminiLiveAgent("m", base_url=server.url, modality="TEXT", transcribe=False), "hi")
    assert response.text == "Hello."
    setup, turn = server.requests[0].messages
    assert setup["setup"]["generationConfig"] == {"responseModalities": ["TEXT"]}
    assert "inputAudioTranscription" not in setup["setup"]
    assert turn == {
        "clientContent": {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": True}
    }


def test_what_was_heard_and_said_is_kept_and_its_sound_is_not(ask, audio):
    with GeminiLiveServer(Reply(text="Hello.", transcript="hi there")) as server:
        response = ask(GeminiLiveAgent("m", base_url=server.url), audio)
    assert (response.text, response.transcript) == ("Hello.", "hi there")
    assert "AAAA" not in str(response.raw)
    assert "4 characters of base64" in str(response.raw)


def test_settings_of_the_setup_win_over_ours(ask):
    with GeminiLiveServer(Reply(text="x")) as server:
        setup = {"generationConfig": {"temperature": 0}, "outputAudioTranscription": None}
        ask(GeminiLiveAgent("m", base_url=server.url, setup=setup), "hi")
    sent = server.requests[0].messages[0]["setup"]
    assert sent["generationConfig"] == {"responseModalities": ["AUDIO"], "temperature": 0}
    assert sent["outputAudioTranscription"] is None


@pytest.mark.parametrize(
    ("raw", "calls", "text"),
    [
        ([CALL], [BOOK], None),
        ([said("One moment."), CALL, COMPLETE], [BOOK], "One moment."),
        ([said("No."), {"serverContent": {"generationComplete": True}}, COMPLETE], [], "No."),
        ([{"tool_call": {"function_calls": [{"name": "book", "args": {"to": "LA"}}]}}], [BOOK], None),
        ([{"server_content": {"turn_complete": True}}], [], None),
        ([{"serverContent": {"interrupted": True}}, COMPLETE, CALL], [BOOK], None),
        ([{"serverContent": {"interrupted": True, "turnComplete": True}}, said("B"), COMPLETE], [], "B"),
        ([{"goAway": {"timeLeft": "5s"}}, CALL], [BOOK], None),
        ([{"usageMetadata": {}}, {"sessionResumptionUpdate": {}}, CALL], [BOOK], None),
    ],
    ids=range(9),
)
def test_the_answer_ends_at_a_call_or_at_a_turn_without_interruption(ask, raw, calls, text):
    with GeminiLiveServer(Reply(raw=raw)) as server:
        response = ask(GeminiLiveAgent("m", base_url=server.url), "hi")
    assert (response.tool_calls, response.text, response.problems) == (calls, text, [])


def test_words_without_an_end_of_the_turn_are_no_answer(ask):
    with GeminiLiveServer(Reply(raw=[said("One")])) as server, pytest.raises(AgentTimeoutError) as caught:
        ask(GeminiLiveAgent("m", base_url=server.url, timeout=0.2), "hi")
    assert caught.value.response.text == "One"


def test_a_server_that_announced_its_leaving_is_quoted(ask):
    reply = Reply(raw=[{"goAway": {"timeLeft": "0s"}}, COMPLETE], fault="disconnect")
    with GeminiLiveServer(reply) as server, pytest.raises(AgentConnectionError, match=r"hung up .*goAway"):
        ask(GeminiLiveAgent("m", base_url=server.url), "hi")


def test_nothing_is_sent_before_the_session_is_set_up(ask):
    class NeverReady(GeminiLiveServer):
        def _take(self, received):
            yield from ()

    with NeverReady() as server, pytest.raises(AgentTimeoutError, match="nothing had come"):
        ask(GeminiLiveAgent("m", base_url=server.url, timeout=0.2), "hi")
    assert [list(message) for message in server.requests[0].messages] == [["setup"]]
