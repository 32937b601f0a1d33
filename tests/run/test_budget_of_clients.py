"""A budget holds with the clients that people use: of OpenAI and Anthropic, against servers that count what they answer."""

import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from calipers import Budget, Case, Dataset
from calipers.models import Price, set_prices, wrap
from calipers.process.loop import run_sync
from calipers.stores import open_store
from calipers.testing import AnthropicServer, OpenAIServer, Reply

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

AT_ONCE = 50
ASKED = [{"role": "user", "content": "two words"}]


@pytest.fixture(autouse=True)
def prices():
    """A dollar for each thousand tokens."""
    price = Price(input=1000.0, output=1000.0)
    set_prices({"openai:m": price, "anthropic:m": price})
    yield
    set_prices({})


class Counted:
    """Answers of a server, of any length; some requests are refused. It counts those that were answered."""

    def __init__(self, *, faults=0.0, delay=0.01):
        self.draw = random.Random(1)
        self.faults, self.delay = faults, delay
        self.calls = self.tokens = self.largest = 0
        self.lock = threading.Lock()

    def __call__(self, received):
        with self.lock:
            if self.draw.random() < self.faults:
                return Reply(status=503, headers={"retry-after-ms": "2"})
            words = self.draw.randint(1, 30)
            self.calls += 1
            self.tokens += words + 2
            self.largest = max(self.largest, words + 2)
        return Reply(text="yes " * words, delay=self.draw.random() * self.delay)


class Setting:
    """Servers for the agent and its judge, and clients of both SDKs."""

    def __init__(self, opened, *, faults=0.0, delay=0.01):
        self.agent, self.judge = Counted(faults=faults, delay=delay), Counted()
        ours, theirs, other = (
            opened.enter_context(server)
            for server in (OpenAIServer(self.agent), AnthropicServer(self.agent), OpenAIServer(self.judge))
        )
        self.openai = wrap(openai.AsyncOpenAI(base_url=ours.url, api_key="k", max_retries=9))
        self.blocking = wrap(openai.OpenAI(base_url=ours.url, api_key="k", max_retries=9))
        self.anthropic = wrap(anthropic.AsyncAnthropic(base_url=theirs.url, api_key="k", max_retries=9))
        self.judging = wrap(openai.AsyncOpenAI(base_url=other.url, api_key="k"))
        opened.callback(self.blocking.close)
        for client in (self.openai, self.anthropic, self.judging):
            opened.callback(run_sync, client.close)

    async def of_both(self, times):
        for turn in range(times):
            if turn % 2:
                await self.anthropic.messages.create(model="m", max_tokens=99, messages=ASKED)
            else:
                await self.openai.chat.completions.create(model="m", messages=ASKED)

    async def of_streams(self, times):
        for turn in range(times):
            if turn % 2:
                async with self.anthropic.messages.stream(model="m", max_tokens=99, messages=ASKED) as stream:
                    async for _ in stream.text_stream:
                        pass
                continue
            options = {"stream": True, "stream_options": {"include_usage": True}}
            async for _ in await self.openai.chat.completions.create(model="m", messages=ASKED, **options):
                pass

    async def of_broken_off_streams(self, times):
        for _ in range(times):
            async for _ in await self.openai.chat.completions.create(model="m", messages=ASKED, stream=True):
                break

    def of_threads(self, times):
        for _ in range(times):
            self.blocking.chat.completions.create(model="m", messages=ASKED)

    async def judged(self, output) -> bool:
        await self.judging.chat.completions.create(model="m", messages=ASKED)
        return True

    def run(self, task, budget, *, judged=True, cases=300, **options):
        draw = random.Random(2)
        dataset = Dataset(
            name="asked",
            cases=[Case(name=f"case {n}", inputs=draw.randint(1, 6)) for n in range(cases)],
            evaluators=[self.judged] if judged else [],
        )
        return dataset.evaluate_sync(
            task, budget=budget, max_concurrency=AT_ONCE, progress=False, seed=1, **options
        )


@pytest.fixture
def setting():
    with ExitStack() as opened:
        yield lambda **options: Setting(opened, **options)


@pytest.mark.parametrize("task", ["of_both", "of_streams", "of_threads"])
@pytest.mark.parametrize(
    ("budget", "faults"),
    [
        (Budget(calls=80), 0.0),
        (Budget(cost=1.2, judges=Budget(tokens=250)), 0.2),
        (Budget(agent=Budget(tokens=900), judges=Budget(calls=15)), 0.0),
    ],
)
def test_servers_answered_no_more_than_the_budget_and_the_calls_in_flight(setting, task, budget, faults):
    made = setting(faults=faults)
    report = made.run(getattr(made, task), budget)
    assert report.incomplete.kind == "budget"
    assert report.cases
    sides = {"agent": made.agent, "judges": made.judge}
    for limit in budget.limits:
        of = [sides[side] for side in limit.sides]
        answered = sum(each.calls if limit.unit == "calls" else each.tokens for each in of)
        answered /= 1000 if limit.unit == "cost" else 1
        largest = max(each.largest for each in of) / (1000 if limit.unit == "cost" else 1)
        assert report.budget.spent(limit) == pytest.approx(answered), "all of it is known"
        assert answered <= limit.most + (0 if limit.unit == "calls" else AT_ONCE * largest)


def test_streams_that_no_one_reads_to_their_end_are_calls_as_well(setting):
    made = setting()
    report = made.run(made.of_broken_off_streams, Budget(calls=40), judged=False)
    assert report.incomplete.kind == "budget"
    assert made.agent.calls <= report.budget.agent.calls <= 40
    assert report.budget.agent.calls > 40 - 6, (
        "no attempt begins without room for what others spent, at most 6"
    )


def test_calls_that_were_cut_off_count_as_much_as_others(setting):
    made = setting(delay=0.0)
    slow = setting(delay=60.0)

    async def often_slow(times):
        await made.openai.chat.completions.create(model="m", messages=ASKED)
        await slow.openai.chat.completions.create(model="m", messages=ASKED)

    report = made.run(often_slow, Budget(cost=0.5), judged=False, task_timeout=0.5)
    assert report.incomplete.kind == "budget"
    assert not report.cases
    assert made.agent.tokens < 500, "the other half may be paid for as well"
    assert report.budget.agent.calls > made.agent.calls


def test_calls_that_are_all_cut_off_end_a_run_whose_cost_no_one_can_know(setting):
    made = setting(delay=60.0)
    report = made.run(made.of_both, Budget(cost=1.0), judged=False, task_timeout=0.3)
    assert "3 calls were cut off before they were answered, and what they cost is not known" in str(
        report.budget.unseen
    )
    assert len(report.failures) < 10


KILLED = """
import asyncio, sys
import openai
from calipers import Budget, Case, Dataset
from calipers.models import wrap

async def ask(inputs):
    client = wrap(openai.AsyncOpenAI(base_url=sys.argv[1], api_key="k"))
    for _ in range(20):
        await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "two words"}])

dataset = Dataset(name="asked", cases=[Case(name=f"case {n}", inputs=n) for n in range(60)])
resume = {"resume": "latest"} if len(sys.argv) > 2 else {}
dataset.evaluate_sync(ask, budget=Budget(calls=300), max_concurrency=10, progress=False, store="runs.db", **resume)
"""


def test_what_a_killed_run_had_spent_in_attempts_that_never_ended_counts_when_it_goes_on(tmp_path):
    counted = Counted(delay=0.05)
    with OpenAIServer(counted) as server:
        for turn in range(2):
            run = [sys.executable, "-c", KILLED, server.url, *["again"] * bool(turn)]
            process = subprocess.Popen(run, cwd=tmp_path)
            while turn < 1 and process.poll() is None and counted.calls < 80:
                time.sleep(0.01)
            if turn < 1:
                time.sleep(0.5)  # what was spent is kept some times a second
                process.kill()
            process.wait()
        with open_store(tmp_path / "runs.db") as store:
            info = store.run("latest")
            assert store.spent(info.id)["agent"].calls <= 300
            # What was answered in the last moment before it was killed is not known.
            assert counted.calls <= 300 + 40
            assert counted.calls > 20 * info.attempts, "some was spent in vain"
