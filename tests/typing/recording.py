# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Recording an agent: tools keep their signatures, adapters are tasks, and what they give has a type."""

from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type

from calipers import Case, Dataset, Report
from calipers.agents import (
    Adapter,
    FunctionAdapter,
    HttpAdapter,
    LLMCall,
    Recording,
    ToolCall,
    Trace,
    TraceRecorder,
    carry,
    current_recording,
    tool,
)

cases: list[Case[str, str, None]] = [Case(inputs="a", expected_output="A")]
dataset = Dataset(cases=cases)


# A tool stays the function it was.


@tool
def add(a: int, b: int = 2) -> int:
    return a + b


@tool(name="web.fetch", redact=["key"])
async def fetch(url: str, *, key: str) -> bytes:
    return url.encode()


class Desk:
    @tool
    def state(self, order: str) -> bool:
        return bool(order)


assert_type(add(1), int)
assert_type(Desk().state("A-1"), bool)
add("1")  # type: ignore[arg-type]
add(1, c=3)  # type: ignore[call-arg]
tool(add, redact=lambda name, value: "***" if name == "a" else value)
tool(3)  # type: ignore[call-overload]


async def use() -> None:
    assert_type(await fetch("x", key="y"), bytes)
    async with TraceRecorder("bot").recording(input_text="hello") as recording:
        assert_type(recording, Recording)
    async with TraceRecorder("bot", "model", ["tag"]) as same:
        assert_type(same.trace, Trace)


with TraceRecorder("bot", input_text="hello") as recording:
    assert_type(recording.record_tool_call("a", {"x": 1}), ToolCall)
    assert_type(recording.record_llm_call("m", input_tokens=3), LLMCall)
    with recording.tool_call("a") as call:
        assert_type(call, ToolCall)
    with ThreadPoolExecutor() as pool:
        assert_type(pool.submit(carry(add), 1).result(), int)
        pool.submit(carry(add), "1")  # type: ignore[arg-type]
assert_type(recording.trace, Trace)
assert_type(current_recording(), Recording | None)
assert_type(TraceRecorder("bot").finalize(output="x"), Trace)


# Adapters.


def agent(text: str) -> str:
    return text


async def agent_later(text: str) -> str:
    return text


def agent_with_trace(text: str) -> Trace:
    return Trace(output_text=text)


def agent_of_numbers(text: str) -> int:
    return len(text)


class Own:
    name = "own"

    def invoke(self, input_text: str, /) -> Trace:
        return Trace(output_text=input_text)


class OwnLater:
    name = "own"

    async def invoke(self, input_text: str) -> Trace:
        return Trace(output_text=input_text)


class Nameless:
    def invoke(self, input_text: str) -> Trace:
        return Trace(output_text=input_text)


assert_type(FunctionAdapter(agent).invoke("a"), Trace)
assert_type(FunctionAdapter(agent_with_trace).invoke("a"), Trace)
assert_type(FunctionAdapter(agent_later).invoke("a"), Awaitable[Trace])
assert_type(FunctionAdapter(agent_of_numbers).invoke("a"), Trace)
adapters: list[Adapter] = [
    FunctionAdapter(agent),
    FunctionAdapter(agent_later),
    HttpAdapter("http://localhost"),
]
adapters += [Own(), OwnLater()]
nameless: Adapter = Nameless()  # type: ignore[assignment]

assert_type(dataset.evaluate_sync(FunctionAdapter(agent)), Report[str, str, None])
dataset.evaluate_sync(FunctionAdapter(agent_later))
dataset.evaluate_sync(HttpAdapter("http://localhost", timeout=3))
dataset.evaluate_sync(Own())
dataset.evaluate_sync(Nameless())


def either(one: Adapter) -> Report:
    return dataset.evaluate_sync(one)


def body(text: str) -> Any:
    return {"q": text}


HttpAdapter("http://localhost", body=body, output=lambda answer: answer["words"], tool_calls=None)
HttpAdapter("http://localhost", headers=["a"])  # type: ignore[arg-type]
