"""A client that was used is the same client; a setting that was given makes it another."""

import sys

import httpx
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from calipers import Case, Dataset
from calipers.agents import FunctionAdapter, HttpAdapter, TraceRecorder, tool
from calipers.identity import Identity, differences, task_identity
from calipers.rollouts import (
    ChatTarget,
    Environment,
    KeywordModerator,
    MaxTurns,
    ModelUser,
    RolloutTask,
    ScriptedTester,
    SimulatedUser,
)
from calipers.stores import MemoryStore
from calipers.voice import AgentResponse, AudioCache, CachedSynthesizer, FunctionAgent, VoiceTask
from calipers.voice.perturbations import Noise
from calipers.voice.synthesizers import EspeakSynthesizer

LIBRARY = """
import threading, time

_sent = 0
_last = None
_mode = "slow"
_model = None

class Client:
    def __init__(self, model):
        self.model = model
        self.fast = False
        self._open = True
        self._sent = 0
        self._platform = None
        self._lock = None
        self._answers_cache = {}
    def use(self):
        global _sent
        _sent += 1
        self._sent += 1
        if self._platform is None:
            self._platform = find_platform()
        self._lock = threading.Lock()
        self._answers_cache["x"] = 1
        note()
    def close(self):
        self._open = False
    def speed_up(self):
        if not self.fast:
            self.fast = True
    def ask_another(self, model):
        if self.model != model:
            self.model = model

def find_platform():
    return "linux"

def note():
    global _last
    _last = time.time_ns()

def speed_up():
    global _mode
    _mode = "fast"

def configure(model):
    global _model
    _model = model

client = Client("a")
"""
TASK = "import lib\nclient = lib.Client('a')\ndef task(x): return client, lib.client, lib.configure\n"


@pytest.fixture
def lib(tmp_path, monkeypatch, project):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "lib.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    yield project.load(tasks=TASK)
    del sys.modules["lib"]


def changes(task, use):
    before = task_identity(task)
    use()
    after = task_identity(task)
    assert isinstance(before, Identity), before
    assert isinstance(after, Identity), after
    return differences(before.parts, after.parts)


def test_what_a_library_changes_by_itself_in_use_is_no_setting(lib):
    assert changes(lib.task, lib.client.use) == []
    assert changes(lib.task, lib.lib.client.use) == []
    assert changes(lib.task, lib.client.close) == []
    assert lib.lib._sent == 2


def test_what_a_library_is_told_is_a_setting(lib):
    assert changes(lib.task, lib.client.speed_up) == ["global tasks.client changed"]
    assert changes(lib.task, lambda: lib.client.ask_another("b")) == ["global tasks.client changed"]
    assert changes(lib.task, lambda: setattr(lib.client, "model", "c")) == ["global tasks.client changed"]
    assert changes(lib.task, lib.lib.client.speed_up) == ["setting lib.client.fast changed"]
    assert changes(lib.task, lib.lib.speed_up) == ["setting lib._mode is new"]
    assert changes(lib.task, lambda: lib.lib.configure("b")) == ["setting lib._model is new"]


# ---------------------------------------------------------------------- clients as people use them


def answer(request):
    said = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}]
    }
    return httpx.Response(
        200, json={"id": "1", "object": "chat.completion", **said}, headers={"set-cookie": "a=b"}
    )


http = httpx.AsyncClient(base_url="http://agent", transport=httpx.MockTransport(answer))
blocking = httpx.Client(base_url="http://agent", transport=httpx.MockTransport(answer))
client = openai.AsyncOpenAI(
    base_url="http://agent",
    api_key="k",
    http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)),
)
agent = Agent(TestModel())


async def with_httpx(text):
    return (await http.post("/", json=[text])).json()["id"]


def with_blocking_httpx(text):
    return blocking.post("/", json=[text]).json()["id"]


async def with_openai(text):
    said = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return said.choices[0].message.content


async def with_pydantic_ai(text):
    return (await agent.run(text)).output


class Bot:
    def __init__(self):
        self.http = http

    async def __call__(self, text):
        return await with_httpx(text)


def reused(task):
    """How many of three attempts each of three runs in one process takes over."""
    cases = [Case(name=str(number), inputs=f"question {number}") for number in range(3)]
    dataset = Dataset(name="d", cases=cases)
    found = []
    with MemoryStore() as store:
        for _ in range(3):
            report = dataset.evaluate_sync(task, store=store, reuse=True, progress=False, seed=1)
            assert not report.failures, report.failures
            assert not report.reuse.notes
            found.append(report.reuse.attempts_reused)
    return found


@pytest.mark.parametrize("task", [with_httpx, with_blocking_httpx, with_openai, with_pydantic_ai, Bot()])
def test_a_task_with_a_client_that_lives_on_is_reused_from_the_second_run_on(task):
    assert reused(task) == [0, 3, 3]


def test_the_settings_of_a_used_client_count():
    assert changes(with_httpx, lambda: http.headers.update({"x-model": "b"})) == [
        f"global {__name__}.http changed"
    ]


# ---------------------------------------------------------------------- Calipers' own


@tool
def find(text: str) -> str:
    """Find it."""
    return text


@tool(name="look", exclude=["place"], redact=["key"])
async def look(text: "str", key: str = "", place: object = None) -> str:
    return text


def ask(text: str) -> str:
    return find(text)


async def ask_later(text: str) -> str:
    return await look(text)


recorder = TraceRecorder("bot")


def recorded(text):
    with recorder.recording():
        return find(text)


def chat(messages):
    return find("done")


async def hear(audio):
    return AgentResponse([])


def rollouts(target, tester, moderator=None, **options):
    return RolloutTask(Environment(target, tester, moderator, **options))


def own_tasks(folder):
    voices = CachedSynthesizer(EspeakSynthesizer(), cache=AudioCache(folder))
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"text": "x"}))
    return [
        ask,
        ask_later,
        recorded,
        FunctionAdapter(ask),
        FunctionAdapter(ask_later),
        HttpAdapter("http://agent", client=httpx.AsyncClient(transport=transport)),
        rollouts(chat, ScriptedTester(["a", "b"]), KeywordModerator(["x"]), stop=[MaxTurns(2)]),
        rollouts(chat, SimulatedUser(answers={"when": "Friday"}, done="done")),
        rollouts(chat, ModelUser(chat), success=lambda response: True),
        rollouts(
            ChatTarget(
                "http://agent/v1", "m", client=httpx.AsyncClient(transport=httpx.MockTransport(answer))
            ),
            ScriptedTester(["a"]),
        ),
        VoiceTask(FunctionAgent(hear), voices, perturbation=Noise(10)),
    ]


def test_objects_of_calipers_are_known_and_the_same_after_use(tmp_path):
    for task, other in zip(own_tasks(tmp_path), own_tasks(tmp_path), strict=True):
        found = task_identity(task)
        assert isinstance(found, Identity), (task, found)
        assert found == task_identity(other), (task, differences(found.parts, task_identity(other).parts))
        assert reused(task) == [0, 3, 3], task


def test_the_function_and_the_options_of_a_tool_count(project):
    source = """
    from calipers.agents import tool
    @tool(exclude=["b"])
    def find(a, b=None):
        return a
    def task(x):
        return find(x)
    """
    before = task_identity(project.load(tasks=source).task)
    for old, new in (("return a", "return b"), ('exclude=["b"]', 'redact=["b"]'), ("b=None", "b=1")):
        after = task_identity(project.load(tasks=source.replace(old, new)).task)
        assert isinstance(after, Identity), after
        assert after.key != before.key, old
