"""A message history of every known kind says the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.trace import TurnType
from calipers.spans import read_traces
from calipers.spans.messages import (
    Call,
    Message,
    Result,
    decoded,
    pair_results,
    printed,
    read_messages,
    structured,
    told,
)

ARGUMENTS = {"to": "Oslo"}
RESULT = ["OS12"]


def langchain(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", names[kind]], "kwargs": data}


def pydantic_ai(kind: str, **part: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "parts": [part],
        "usage": {"input_tokens": 5, "output_tokens": 2},
        "model_name": "m",
    }


LANGCHAIN = [
    ("human", {"content": "to Oslo?"}),
    (
        "ai",
        {
            "content": "",
            "tool_calls": [{"name": "find", "args": ARGUMENTS, "id": "c1"}],
            "usage_metadata": {"input_tokens": 5, "output_tokens": 2},
        },
    ),
    ("tool", {"content": json.dumps(RESULT), "tool_call_id": "c1", "status": "success"}),
    ("ai", {"content": "OS12."}),
]
FUNCTION = {"name": "find", "arguments": json.dumps(ARGUMENTS)}
HISTORIES: dict[str, list[Any]] = {
    "OpenAI chat": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "to Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
        {"role": "assistant", "content": "OS12."},
    ],
    "OpenAI Responses": [
        {"role": "user", "content": "to Oslo?"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "id": "fc_1", **FUNCTION},
        {"type": "function_call_output", "call_id": "c1", "output": json.dumps(RESULT)},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OS12."}]},
    ],
    "Anthropic": [
        {"role": "user", "content": "to Oslo?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": ARGUMENTS}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": json.dumps(RESULT)}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "OS12."}]},
    ],
    "LangChain dumpd": [langchain(kind, data) for kind, data in LANGCHAIN],
    "LangChain messages_to_dict": [{"type": kind, "data": data} for kind, data in LANGCHAIN],
    "pydantic-ai": [
        pydantic_ai("request", part_kind="user-prompt", content="to Oslo?"),
        pydantic_ai("response", part_kind="tool-call", tool_name="find", args=json.dumps(ARGUMENTS), tool_call_id="c1"),
        pydantic_ai("request", part_kind="tool-return", tool_name="find", content=RESULT, tool_call_id="c1"),
        pydantic_ai("response", part_kind="text", content="OS12."),
    ],
    "Vercel AI SDK": [
        {"role": "user", "content": "to Oslo?"},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": ARGUMENTS}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "find", "output": {"type": "json", "value": RESULT}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "OS12."}]},
    ],
    "Gemini": [
        {"role": "user", "parts": [{"text": "to Oslo?"}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "find", "args": ARGUMENTS}}]},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "find", "response": {"result": RESULT}}}]},
        {"role": "model", "parts": [{"text": "OS12."}]},
    ],
    "Bedrock": [
        {"role": "user", "content": [{"text": "to Oslo?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "find", "input": ARGUMENTS}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": RESULT}]}}]},
        {"role": "assistant", "content": [{"text": "OS12."}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_history_of_any_kind_is_a_trace(tmp_path, kind):
    for number, written in enumerate(
        (
            json.dumps(HISTORIES[kind], indent=1),
            json.dumps({"messages": HISTORIES[kind]}),
            "\n".join(json.dumps(each) for each in HISTORIES[kind]),
        )
    ):
        path = tmp_path / str(number)
        path.write_text(written)
        (trace,) = read_traces(path)
        assert (trace.input_text, trace.output_text) == ("to Oslo?", "OS12.")
        (call,) = trace.tool_calls
        assert (call.name, call.arguments, call.output, call.call_id) == ("find", ARGUMENTS, RESULT, "c1")
        assert call.success
        assert not call.unknown
        kinds = [turn.turn_type for turn in trace.turns if turn.turn_type is not TurnType.LLM_CALL]
        assert kinds == [TurnType.USER_MESSAGE, TurnType.TOOL_CALL, TurnType.AGENT_MESSAGE]
        if kind.startswith(("LangChain", "pydantic")):
            assert trace.total_input_tokens >= 5


FAILED = [
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sold out", "is_error": True}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": "sold out"}}]},
    {"type": "tool", "data": {"content": "sold out", "tool_call_id": "c1", "status": "error"}},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "sold out"}]}}]},
    pydantic_ai("request", part_kind="retry-prompt", tool_name="find", content="sold out", tool_call_id="c1"),
    pydantic_ai("request", part_kind="tool-return", tool_name="find", content="sold out", tool_call_id="c1", outcome="failed"),
]  # fmt: skip


def test_items_of_one_answer_are_one_answer(tmp_path):
    """OpenAI's Responses have an item for the text, and one for each call."""
    history = [
        {"role": "user", "content": "to Oslo?"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look."}],
        },
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "OS12"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OS12."}]},
    ]
    (tmp_path / "history.json").write_text(json.dumps(history))
    (trace,) = read_traces(tmp_path / "history.json")
    said = [turn.content for turn in trace.turns if turn.turn_type is TurnType.AGENT_MESSAGE]
    assert (said, trace.output_text) == (["OS12."], "OS12.")


ANSWERED = {
    "pydantic-ai": [
        pydantic_ai("request", part_kind="user-prompt", content="to Oslo?"),
        pydantic_ai(
            "response",
            part_kind="tool-call",
            tool_name="final_result",
            args='{"flight": "OS12"}',
            tool_call_id="c1",
        ),
        pydantic_ai(
            "request",
            part_kind="tool-return",
            tool_name="final_result",
            content="Final result processed.",
            tool_call_id="c1",
        ),
    ],
    "LangChain": [
        langchain("human", {"content": "to Oslo?"}),
        langchain("ai", {"tool_calls": [{"name": "Offer", "args": {"flight": "OS12"}, "id": "c1"}]}),
        langchain("tool", {"content": "Returning structured response: flight='OS12'", "tool_call_id": "c1"}),
    ],
}


@pytest.mark.parametrize("kind", ANSWERED)
def test_a_structured_output_is_the_answer_and_no_call(tmp_path, kind):
    (tmp_path / "history.json").write_text(json.dumps(ANSWERED[kind]))
    (trace,) = read_traces(tmp_path / "history.json")
    assert (trace.tool_calls, trace.output_text) == ((), '{"flight":"OS12"}')
    assert trace.turns[-1].content == trace.output_text


def test_a_result_that_is_marked_as_a_failure_is_one(tmp_path):
    for result in FAILED:
        path = tmp_path / "history.json"
        path.write_text(json.dumps([*HISTORIES["OpenAI chat"][1:3], result]))
        (trace,) = read_traces(path)
        (call,) = trace.tool_calls
        assert (call.success, call.error, trace.output_text) == (False, "sold out", "")


def test_results_that_no_id_joins_belong_to_the_calls_that_wait_in_order():
    calls = [Call("find", {}, "fc_1"), Call("find", {}, "fc_2"), Call("book", {}, "fc_3")]
    results = [Result("call_3", "book", 3), Result("call_1", None, 1), Result("fc_2", None, 2)]
    pairs = pair_results([Message("assistant", list(calls)), Message("tool", list(results))])
    assert [result.output for _, result in pairs if result is not None] == [1, 2, 3]


def test_texts_are_read_as_the_values_that_they_surely_are():
    for text, value in (
        ('{"a": 1}', {"a": 1}),
        ("[{'a': None}]", [{"a": None}]),
        ("300", "300"),
        ("{no", "{no"),
    ):
        assert structured(text) == value
    assert (decoded("300"), decoded("plain"), printed("None"), printed("plain")) == (
        300,
        "plain",
        None,
        "plain",
    )
    assert told([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "ab"
    assert told([{"text": "own", "more": 1}]) == [{"text": "own", "more": 1}]


SOME = st.sampled_from(["", "a", "b", '{"a": 1}', '["b"]', None, 5, True, {"a": 1}, [{"text": "a"}], {}])
WRAPPED = st.builds(
    lambda kind, value: {"type": kind, "value": value}, st.sampled_from(["text", "error-text"]), SOME
)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "reasoning"])},
    optional={
        **dict.fromkeys(("content", "id", "name", "response"), SOME),
        "arguments": SOME | st.dictionaries(st.sampled_from("ab"), SOME),
        "is_error": st.booleans(),
    },
)
WHOLE_PARTS = (
    st.fixed_dictionaries({"type": st.just("text"), "content": SOME})
    | st.fixed_dictionaries({"type": st.just("tool_call"), "id": SOME, "name": SOME, "arguments": SOME})
    | st.fixed_dictionaries({"type": st.just("tool_call_response"), "id": SOME, "response": SOME | WRAPPED})
)
ENTRIES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system", "model", "function", ""]),
        "parts": st.lists(WHOLE_PARTS | PARTS, max_size=3),
    },
    optional={"finish_reason": SOME, "name": SOME, "content": SOME, "tool_calls": st.just([])},
)


@given(st.lists(ENTRIES, max_size=3))
def test_a_history_says_the_same_as_text_and_as_data(history: list[Any]):
    assert read_messages(json.dumps(history)) == read_messages(history)
