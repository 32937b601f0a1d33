"""The check of adapters finds each way of breaking the contract, and nothing in those that keep it."""

import asyncio
import itertools
import time

import pytest

from calipers.agents import FunctionAdapter, HttpAdapter, Trace
from calipers.errors import InvalidOptionError
from calipers.testing import ConformanceError, HttpAgentServer, Reply, check_adapter


class Good:
    name = "good"

    def invoke(self, input_text):
        return Trace(input_text=input_text, output_text="yes")


class GoodLater:
    name = "good"

    async def invoke(self, input_text):
        await asyncio.sleep(0)
        return Trace(input_text=input_text, output_text="yes")


async def agent(text):
    return text.upper()


@pytest.mark.parametrize(
    "adapter",
    [
        Good(),
        GoodLater(),
        FunctionAdapter(str.upper),
        FunctionAdapter(agent),
        FunctionAdapter(lambda text: agent(text)),
    ],
    ids=["own", "own async", "function", "async function", "lambda of async"],
)
def test_an_adapter_that_keeps_the_contract_gives_its_traces(adapter):
    traces = check_adapter(adapter, requests=["a", "b"])
    assert [trace.input_text for trace in traces] == ["a", "b"]


def test_an_adapter_over_http_keeps_the_contract(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with HttpAgentServer(Reply(text="yes")) as server:
        assert len(check_adapter(HttpAdapter(server.url))) == 3
        assert len(server.requests) == 6


class Nameless(Good):
    name = ""


class Renamed(Good):
    numbers = itertools.count()

    @property
    def name(self):
        return f"number {next(self.numbers)}"


class WithoutInvoke:
    name = "idle"


class GivesText(Good):
    def invoke(self, input_text):
        return "yes"


class Raises(Good):
    def invoke(self, input_text):
        raise OSError("gone")


class Hangs(GoodLater):
    async def invoke(self, input_text):
        await asyncio.Event().wait()


class Forgets(Good):
    def invoke(self, input_text):
        return Trace(output_text="yes")


class OneTrace(Good):
    def invoke(self, input_text):
        return Trace(input_text=input_text, trace_id="always the same")


class KeepsItInItself(Good):
    """What was asked last, by anyone: right as long as there is one caller."""

    def invoke(self, input_text):
        self.asked = input_text
        time.sleep(0.2)
        return Trace(input_text=self.asked)


@pytest.mark.parametrize(
    ("adapter", "rule", "problem"),
    [
        (Nameless(), "adapter name", "the name is ''"),
        (Renamed(), "adapter name", "at first and"),
        (WithoutInvoke(), "invoke", "has no method `invoke`"),
        (None, "invoke", "None has no method `invoke`"),
        (GivesText(), "invoke", "asked 'a' (alone), it gave 'yes', no Trace"),
        (Raises(), "invoke", "it raised OSError: gone"),
        (Hangs(), "invoke", "no answer within 0.1 s"),
        (Forgets(), "request", "asked 'a' (alone), the trace has input_text=''"),
        (OneTrace(), "own trace", "4 executions share a trace_id"),
        (KeepsItInItself(), "request", "(one of several at once)"),
    ],
    ids=[
        "nameless",
        "renamed",
        "without invoke",
        "none",
        "text",
        "raises",
        "hangs",
        "forgets",
        "one trace",
        "mixes",
    ],
)
def test_each_way_of_breaking_the_contract_is_found_with_its_way_out(adapter, rule, problem):
    timeout = 0.1 if isinstance(adapter, Hangs) else 20
    with pytest.raises(ConformanceError) as caught:
        check_adapter(adapter, requests=["a", "b"], timeout=timeout)
    assert rule in {finding.rule for finding in caught.value.findings}
    assert problem in str(caught.value)
    assert "breaks the contract of an adapter" in str(caught.value)


@pytest.mark.parametrize("requests", [[], ["a"], ["a", "a"]], ids=repr)
def test_too_little_to_ask_is_refused(requests):
    with pytest.raises(InvalidOptionError, match="at least two different things"):
        check_adapter(Good(), requests=requests)
