"""The check of adapters that run an agent finds each thing that a trace lacks, and nothing in one that tells all."""

import asyncio
from functools import partial

import pytest

from calipers.agents import ToolCall, TraceRecorder
from calipers.testing import ConformanceError, check_agent_adapter


class Clerk:
    """An adapter with an agent that finds the last word; a flaw is what it does wrong."""

    is_async = True
    name = "clerk"

    def __init__(self, flaw=None):
        self.flaw = flaw
        self.shared = []

    async def invoke(self, request, *, said=()):
        _, *_, word = request.split()
        with TraceRecorder(self.name, input_text=request) as recorder:
            if self.flaw != "order":
                recorder.record_user_message(request)
            await asyncio.sleep(0)
            if word == "broken" and self.flaw != "error":
                raise ConnectionError("no model")
            recorder.record_llm_call(
                model="m", input_tokens=7, output_tokens=0 if self.flaw == "tokens" else 3
            )
            failed = {"error": "dead"} if word == "fire" and self.flaw != "failed tool" else {}
            for _ in range(2 if self.flaw == "call" else 1):
                recorder.record_tool_call(
                    "find", {"word": word}, output=None if failed else f"{word} found", **failed
                )
            recorder.output_text = f"{word} found ({len(said) + 1})"
            recorder.record_agent_message(recorder.output_text)
        return recorder.trace

    async def __call__(self, request, *, state=None):
        before = self.shared if self.flaw == "conversation" else (state or {}).get("said", [])
        trace = await self.invoke(request, said=before)
        if self.flaw == "conversation":
            self.shared.append(request)
        elif state is not None:
            state["said"] = [*before, request]
        return "done" if self.flaw == "output" else trace


check = partial(
    check_agent_adapter,
    request="find gold",
    call=ToolCall("find", {"word": "gold"}, output="gold found"),
    output="gold found (1)",
    tokens=(7, 3),
    failing="find fire",
    raising="be broken",
    turns={"find a": "a found (1)", "find more": "more found (2)"},
)


def test_an_adapter_that_tells_all_gives_its_trace():
    assert [turn.turn_type.value for turn in check(Clerk()).turns] == [
        "user_message",
        "llm_call",
        "tool_call",
        "agent_message",
    ]


@pytest.mark.parametrize(
    "flaw", ["call", "order", "tokens", "output", "failed tool", "error", "conversation"]
)
def test_what_is_lacking_is_found(flaw):
    with pytest.raises(ConformanceError) as caught:
        check(Clerk(flaw))
    assert flaw in {finding.rule for finding in caught.value.findings}
