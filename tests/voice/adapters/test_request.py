"""What may be asked of an agent is checked before anything is sent."""

import math

import pytest

from calipers.errors import InvalidOptionError
from calipers.voice.adapters import GeminiLiveAgent, HttpAgent, OpenAIRealtimeAgent, WebSocketAgent
from calipers.voice.adapters.openai_realtime import session_address
from calipers.voice.adapters.request import as_json, check_audio, check_text, endpoint


def test_a_text_and_a_sound_go_to_their_own_methods():
    with pytest.raises(InvalidOptionError, match="for a text there is run_text"):
        check_audio("hello")
    with pytest.raises(InvalidOptionError, match="for sound there is run"):
        check_text(b"RIFF")


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, True, "10", [1]], ids=str)
def test_a_limit_of_time_is_a_positive_number(seconds, ask):
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        ask(HttpAgent("http://127.0.0.1:1/", timeout=seconds), "hi")
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        ask(WebSocketAgent("ws://127.0.0.1:1/", timeout=seconds), "hi")


@pytest.mark.parametrize("chunk_ms", [0, -5, 2.5, True, "20"])
def test_pieces_of_sound_have_a_length(ask, audio, chunk_ms):
    for agent in (
        WebSocketAgent("ws://127.0.0.1:1", chunk_ms=chunk_ms),
        OpenAIRealtimeAgent("m", base_url="ws://127.0.0.1:1", chunk_ms=chunk_ms),
        GeminiLiveAgent("m", base_url="ws://127.0.0.1:1", chunk_ms=chunk_ms),
    ):
        with pytest.raises(
            InvalidOptionError, match="chunk_ms must be a whole number of milliseconds above 0"
        ):
            ask(agent, audio)


def test_bytes_travel_as_base64():
    assert as_json({"audio": b"\x00\xff", "text": "ü"}) == '{"audio":"AP8=","text":"ü"}'.encode()


@pytest.mark.parametrize(
    "wrong", [object(), {"text": "\ud800"}, {(1, 2): 3}], ids=["object", "surrogate", "key"]
)
def test_what_json_cannot_hold_is_refused(wrong):
    with pytest.raises(InvalidOptionError, match="cannot be sent as JSON"):
        as_json(wrong)


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("https://host/v1", "https://host/v1/chat"),
        ("https://host/v1/", "https://host/v1/chat"),
        ("https://host", "https://host/chat"),
        ("https://host/deployment/chat?api-version=1", "https://host/deployment/chat?api-version=1"),
        ("https://host/v1?api-version=1", "https://host/v1/chat?api-version=1"),
        ("http://[::1", "http://[::1"),
    ],
)
def test_a_path_is_put_below_the_base_unless_it_is_there(base, found):
    assert endpoint(base, "/chat") == found


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("wss://host/v1", "wss://host/v1/realtime?model=a%2Fb"),
        ("https://host/v1/realtime?api-version=1", "wss://host/v1/realtime?api-version=1&model=a%2Fb"),
        ("wss://host/openai/realtime?deployment=mine", "wss://host/openai/realtime?deployment=mine"),
    ],
)
def test_the_model_is_named_in_the_address_of_a_session(base, found):
    assert session_address(base, "a/b") == found
