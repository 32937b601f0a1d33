"""Adapters show their addresses and settings, and no secrets."""

from calipers.voice.adapters import HttpAgent, OpenAIAgent


def test_an_agent_prints_what_was_set_and_hides_the_rest():
    assert repr(HttpAgent("http://me:pw@host/a?key=k")) == "HttpAgent(url='http://host/a')"
    agent = OpenAIAgent("gpt-audio", api_key="sk", headers={"a": "b"}, timeout=5.0)
    assert repr(agent) == "OpenAIAgent(model='gpt-audio', timeout=5.0)"
