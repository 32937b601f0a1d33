"""Agents, synthesizers and parsers by the names that files give them."""

import math
import sys
import types
from importlib import import_module

import pytest

from calipers.files.problem import Problems
from calipers.files.voice_parts import AGENTS, PARSERS, SYNTHESIZERS, NamedParts, part_parameters
from calipers.voice import Agent, FunctionAgent, ResponseParser, Synthesizer, TextAgent

ENVIRON = {"TOKEN": "s3cret-token", "URL": "http://127.0.0.1:9/agent"}
NEEDED = {"http": "http://127.0.0.1:9", "websocket": "ws://127.0.0.1:9"}
"""What a kind cannot do without; a model for all others."""


class Assistant:
    def __init__(self, model: str, *, temperature: float = 0.0):
        if model == "broken":
            raise ValueError(f"no model for {temperature}")
        self.model = model
        self.temperature = temperature

    def run(self, audio):
        return []


class Loud:
    def __init__(self, key: str):
        raise RuntimeError(f"the key {key} is not accepted")

    def run(self, audio):
        return []


@pytest.fixture
def app():
    """A module with parts of one's own."""
    module = types.ModuleType("app_with_parts")
    module.Assistant = Assistant
    module.Loud = Loud
    module.assistant = Assistant("ready")
    module.listen = lambda audio: []
    module.number = 3
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def made(spec, what="agent", *, allow=("app_with_parts",)):
    """The part, and what is wrong."""
    problems = Problems("f.yaml")
    part = getattr(NamedParts(allow, environ=ENVIRON), what)(spec, (what,), problems)
    return part, [str(each).removeprefix("f.yaml: ") for each in problems.found]


@pytest.mark.parametrize("kind", AGENTS)
def test_every_kind_of_agent_can_be_made_and_hears_and_reads(kind, monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key")
    spec = kind if kind == "offline" else {kind: NEEDED.get(kind, "a-model")}
    agent, problems = made(spec)
    assert not problems
    assert isinstance(agent, Agent)
    assert isinstance(agent, TextAgent)


@pytest.mark.parametrize(
    ("what", "kinds", "protocol"),
    [("synthesizer", SYNTHESIZERS, Synthesizer), ("parser", PARSERS, ResponseParser)],
    ids=["synthesizers", "parsers"],
)
def test_every_other_kind_can_be_made_by_its_bare_name(what, kinds, protocol):
    for kind in kinds:
        part, problems = made(kind, what)
        assert not problems
        assert isinstance(part, protocol)


@pytest.mark.parametrize("address", [*AGENTS.values(), *SYNTHESIZERS.values(), *PARSERS.values()])
def test_no_option_of_a_kind_needs_what_a_file_cannot_hold(address):
    module, _, name = address.partition(":")
    for parameter in part_parameters(getattr(import_module(module), name)):
        assert parameter.adapter is not None or parameter.name == "end_message", f"{name}.{parameter.name}"


def test_options_are_the_fields_and_their_texts_may_name_variables():
    agent, problems = made(
        {
            "http": {
                "url": "${URL}",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "timeout": 5,
                "parser": {"json": {"tool_calls_key": "result.calls", "single": True}},
            }
        }
    )
    assert not problems
    assert agent.url == ENVIRON["URL"]
    assert agent.headers == {"Authorization": "Bearer s3cret-token"}
    assert agent.timeout == 5
    assert (agent.parser.tool_calls_key, agent.parser.single) == ("result.calls", True)
    assert "s3cret" not in repr(agent)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("htp", "agent: no agent is called 'htp' (did you mean 'http'?)"),
        ("zebra", "agent: no agent is called 'zebra'; there are offline, http, websocket"),
        (3, "agent: expected an agent as Name, {Name: value} or {Name: {parameter: value}}, got 3"),
        (
            {"http": {"url": "x", "timout": 3}},
            "agent.http.timout: no parameter is called 'timout' (did you mean 'timeout'?)",
        ),
        ({"http": {}}, "agent.http: the parameter 'url' is missing"),
        ("http", "agent: the parameter 'url' is missing"),
        (
            {"http": {"url": "x", "timeout": "soon"}},
            "agent.http.timeout: expected a valid number, got 'soon'",
        ),
        (
            {"http": {"url": "x", "parser": "jsn"}},
            "agent.http.parser: no parser is called 'jsn' (did you mean 'json'?)",
        ),
        (
            {"http": {"url": "x", "client": {}}},
            "agent.http.client: no parameter is called 'client'; it takes url",
        ),
        ({"offline": 3}, "agent.offline: offline takes no value"),
        ({"http": "${UNSET}"}, "agent.http.url: the environment variable 'UNSET' is not set"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_with_its_place(spec, message):
    part, problems = made(spec)
    assert part is None
    assert any(each.startswith(message) for each in problems), problems


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"http": "ftp://home"}, "agent.http: the url must be the address of an agent"),
        ({"http": {"url": "localhost:8000"}}, "agent.http.url: the url must be the address of an agent"),
        (
            {"http": {"url": "http://h", "timeout": 0}},
            "agent.http.timeout: timeout must be a number of seconds",
        ),
        ({"http": {"url": "http://h", "timeout": -1}}, "agent.http.timeout: timeout must be"),
        ({"http": {"url": "http://h", "timeout": math.inf}}, "agent.http.timeout: timeout must be"),
        (
            {"http": {"url": "http://h", "extra_fields": {"a": [math.nan]}}},
            "agent.http.extra_fields: extra_fields cannot be sent as JSON: it holds nan",
        ),
        (
            {"http": {"url": "http://h", "sample_rate": 0}},
            "agent.http.sample_rate: sample_rate must be a whole",
        ),
        ({"websocket": "http://h"}, "agent.websocket: the url must be the address of a WebSocket"),
        (
            {"websocket": {"url": "ws://h", "open_timeout": 0}},
            "agent.websocket.open_timeout: open_timeout must",
        ),
        (
            {"websocket": {"url": "ws://h", "chunk_ms": 0}},
            "agent.websocket.chunk_ms: chunk_ms must be a whole",
        ),
        (
            {"websocket": {"url": "ws://h", "max_messages": 0}},
            "agent.websocket.max_messages: max_messages must",
        ),
        ({"openai": {"model": "m", "base_url": "ws://h"}}, "agent.openai.base_url: the base_url must be"),
        (
            {"openai_realtime": {"model": "m", "base_url": "h"}},
            "agent.openai_realtime.base_url: the base_url must",
        ),
        ({"openai": "m"}, "agent.openai: there is no API key: set OPENAI_API_KEY, or give api_key"),
        (
            {"gemini_live": "m"},
            "agent.gemini_live: there is no API key: set GEMINI_API_KEY or GOOGLE_API_KEY",
        ),
        (
            {"gemini": {"model": "m", "options": {"a": math.nan}}},
            "agent.gemini.options: options cannot be sent",
        ),
        (
            {"websocket": {"url": "ws://h", "response_timeout": 3}},
            "agent.websocket.response_timeout: no parameter is called 'response_timeout' (did you mean 'timeout'?)",
        ),
        (
            {"openai_realtime": {"model": "m", "connect_timeout": 3}},
            "agent.openai_realtime.connect_timeout: no parameter is called 'connect_timeout' (did you mean 'open_timeout'?)",
        ),
        (
            {"http": {"url": "http://h", "open_timeout": 3}},
            "agent.http.open_timeout: no parameter is called 'open_timeout' (did you mean 'timeout'?)",
        ),
        (
            {"gemini": {"model": "m", "system_instruction": "Be brief."}},
            "agent.gemini.system_instruction: no parameter is called 'system_instruction' (did you mean 'instructions'?)",
        ),
    ],
    ids=str,
)
def test_what_could_never_work_is_told_beforehand(spec, message, monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    part, problems = made(spec)
    assert part is None
    assert any(each.startswith(message) for each in problems), problems


@pytest.mark.parametrize("voice", ["en-uk", "en-us+f99", "", "zebra"])
def test_a_voice_that_the_engine_lacks_is_told_beforehand(voice):
    part, problems = made({"espeak": {"voice": voice, "speed": 200}}, "synthesizer")
    assert part is None
    assert problems[0].startswith(f"synthesizer.espeak.voice: voice={voice!r}: espeak-ng has no")


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": 12345678},
        {"api_key": "clear12345678"},
        {"headers": {"Authorization": 12345678}},
        {"headers": {"Authorization": ["12345678"]}},
        {"headers": "Bearer 12345678"},
    ],
    ids=str,
)
def test_no_message_repeats_what_may_be_a_secret(options):
    part, problems = made({"openai": {"model": "m", **options}})
    assert part is None
    assert problems
    assert "12345678" not in "\n".join(problems)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"app_with_parts:Assistant": "small"}, Assistant),
        ({"app_with_parts:Assistant": {"model": "small", "temperature": 0.5}}, Assistant),
        ("app_with_parts:assistant", Assistant),
        ("app_with_parts:listen", FunctionAgent),
    ],
    ids=["first option", "options", "made already", "function"],
)
def test_parts_of_ones_own_come_from_modules_that_are_allowed(app, spec, kind):
    agent, problems = made(spec)
    assert not problems
    assert isinstance(agent, kind)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("os:system", "agents of the module 'os' are not allowed here: allow_modules=['os'] allows them"),
        ("app_with_parts:missing", "could not be imported"),
        ("app_with_parts:number", "this is not an agent"),
        ("app_with_parts:sys.modules", "could not be imported"),
        ({"app_with_parts:assistant": {"model": "x"}}, "is made already: it takes no options"),
        ({"app_with_parts:Assistant": {"modell": "x"}}, "no parameter is called 'modell'"),
        ({"app_with_parts:Assistant": "broken"}, "no model for 0.0"),
        ({"app_with_parts:Assistant": {"model": 3}}, "expected a valid string, got 3"),
    ],
    ids=str,
)
def test_what_is_wrong_with_parts_of_ones_own_is_told(app, spec, message):
    part, problems = made(spec)
    assert part is None
    assert message in problems[0]


def test_an_error_does_not_repeat_a_variable_that_it_was_given(app):
    part, (problem,) = made({"app_with_parts:Loud": "${TOKEN}"})
    assert part is None
    assert problem == "agent['app_with_parts:Loud']: the key [redacted] is not accepted"


def test_what_is_no_part_of_its_kind_is_refused(app):
    for what in ("synthesizer", "parser"):
        part, (problem,) = made("app_with_parts:assistant", what)
        assert part is None
        assert f"this is not a {what}:" in problem
