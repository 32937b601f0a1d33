"""Adapters show their addresses and settings, and no secrets."""

import pytest

from calipers.voice.adapters import HttpAgent, OpenAIAgent
from calipers.voice.adapters.showing import secrets_of, shown_address, shown_text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/path?key=abc#part", "https://host/path"),
        ("https://me:secret@host:8080/path", "https://host:8080/path"),
        ("wss://host", "wss://host"),
        ("nowhere", "nowhere"),
        ("http://[::1", "<an address that cannot be read>"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url, shown):
    assert shown_address(url) == shown


def test_secrets_are_keys_and_telling_headers_and_query_values():
    headers = {"Authorization": "Bearer abcdef", "X-Api-Key": "123456", "Accept": "application/json"}
    found = secrets_of("https://me:passw0rd@host/?token=tttt1&lang=english", headers, "sk-12345")
    assert set(found) == {"abcdef", "123456", "sk-12345", "tttt1", "passw0rd"}


def test_the_longer_secret_is_hidden_first_and_short_ones_are_left_alone():
    secrets = secrets_of("http://x", {"Authorization": "Bearer abcdef", "X-Key": "ab"})
    assert shown_text("Bearer abcdef, abcdef, ab", secrets) == "Bearer ***, ***, ab"


def test_a_long_text_is_cut():
    assert len(shown_text("x" * 10_000, [])) < 600


def test_an_agent_prints_what_was_set_and_hides_the_rest():
    assert repr(HttpAgent("http://me:pw@host/a?key=k")) == "HttpAgent(url='http://host/a')"
    agent = OpenAIAgent("gpt-audio", api_key="sk", headers={"a": "b"}, timeout=5.0)
    assert repr(agent) == "OpenAIAgent(model='gpt-audio', timeout=5.0)"
