"""Each family of names is read with its own ways of telling a call."""

import json
from typing import Any

from calipers.data.trace import ToolCall, Trace
from calipers.spans import read_traces

from .recorded import as_json, log, span

EXCEPTION = ("exception", {"exception.type": "shop.SoldOut", "exception.message": "LM7 is sold out"})


def read(tmp_path: Any, *spans: dict[str, Any], logs: list[dict[str, Any]] = ()) -> Trace:
    (tmp_path / "spans.json").write_bytes(as_json(list(spans), logs))
    (trace,) = read_traces(tmp_path / "spans.json")
    return trace


def openinference(
    kind: str, name: str = "x", parent: Any = None, *, at: int = 0, takes: int = 1, **more: Any
) -> Any:
    given = {"openinference.span.kind": kind, **more.pop("attributes", {})}
    return span(name, parent, at=at, takes=takes, attributes=given, **more)


def asks(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """An answer of OpenInference that asks for tools: id, name, arguments."""
    begin = "llm.output_messages.0.message."
    found = {f"{begin}role": "assistant"}
    for number, (call_id, name, arguments) in enumerate(calls):
        call = f"{begin}tool_calls.{number}.tool_call."
        found |= {
            f"{call}id": call_id,
            f"{call}function.name": name,
            f"{call}function.arguments": json.dumps(arguments),
        }
    return found


def test_a_lone_argument_without_its_name_is_found_in_the_answer_that_asked(tmp_path):
    root = openinference("AGENT", takes=9)
    model = openinference("LLM", parent=root, attributes=asks(("c1", "cancel", {"booking": "B-1"})))
    dumped = {"type": "tool", "data": {"content": "cancelled", "tool_call_id": "c1", "status": "success"}}
    tool = openinference(
        "TOOL",
        parent=root,
        at=3,
        attributes={"tool.name": "cancel", "input.value": "B-1", "output.value": json.dumps(dumped)},
    )
    (call,) = read(tmp_path, root, model, tool).tool_calls
    assert (call.arguments, call.output, call.call_id) == ({"booking": "B-1"}, "cancelled", "c1")


def test_an_answer_that_was_not_flattened_is_read_as_it_was_received(tmp_path):
    """OpenInference writes at most the role of an item of OpenAI's Responses."""
    role = {"llm.output_messages.0.message.role": "assistant"}
    asked = [{"type": "function_call", "call_id": "1", "name": "find", "arguments": '{"to": "Oslo"}'}]
    said = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OS12."}]}]
    root = openinference("AGENT", takes=9)
    requests = [
        openinference("LLM", parent=root, at=at, attributes=told | {"output.value": json.dumps(items)})
        for at, told, items in ((1, {}, asked), (5, role, said))
    ]
    trace = read(tmp_path, root, *requests)
    assert (trace.output_text, trace.metadata.get("notes")) == (
        "OS12.",
        ["1 of 1 tool calls do not show their output", "1 of 1 tool calls do not show their success"],
    )
    assert trace.tool_calls == (ToolCall("find", {"to": "Oslo"}),)


def test_arguments_that_are_empty_are_known_from_the_answer_as_it_was_received(tmp_path):
    """The instrumentations of LangChain and of OpenAI's Responses leave them out."""
    begin = "llm.output_messages.0.message.tool_calls.0.tool_call."
    bare = {f"{begin}id": "c1", f"{begin}function.name": "now"}
    message = {
        "id": ["AIMessage"],
        "lc": 1,
        "kwargs": {"tool_calls": [{"name": "now", "args": {}, "id": "c1"}]},
    }
    item = {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"}
    known = []
    for received in (
        {"generations": [[{"message": message}]]},
        {"object": "response", "output": [item]},
        {"generations": [None, [7, {"message": 8}]]},
        "now()",
    ):
        told = received if isinstance(received, str) else json.dumps(received)
        model = openinference("LLM", attributes=bare | {"output.value": told})
        (call,) = read(tmp_path, model).tool_calls
        known.append((call.arguments, "arguments" in call.unknown))
    assert known == [({}, False), ({}, False), ({}, True), ({}, True)]


def test_streamed_responses_are_read_as_they_were_received(tmp_path):
    """OpenAI's Agents SDK tells a stream of chat completions as a list of Responses."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OS12."}]}
    item = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"to": "Oslo"}'}
    asked, answered = (json.dumps([{"object": "response", "output": [one]}]) for one in (item, said))
    root = openinference("AGENT", takes=9)
    spans = [openinference("LLM", parent=root, at=1, attributes={"output.value": asked})]
    spans.append(openinference("LLM", parent=root, at=5, attributes={"output.value": answered}))
    trace = read(tmp_path, root, *spans)
    assert trace.output_text == "OS12."
    assert [(call.call_id, call.arguments) for call in trace.tool_calls] == [("c1", {"to": "Oslo"})]


def test_pieces_of_a_streamed_answer_are_not_read_beside_the_whole(tmp_path):
    """Google's kit writes both."""

    def entry(finish: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "parts": list(parts), "finish_reason": finish}

    call = {"type": "tool_call", "id": "c1", "name": "find", "arguments": None}
    text = {"type": "text", "content": "Looking."}
    pieces = [entry("", text), entry("", call), entry("", call)]
    whole = entry("stop", text, call | {"arguments": {"to": "Oslo"}})
    google = {"gen_ai.operation.name": "generate_content", "gcp.vertex.agent.event_id": "1"}

    def answered(*entries: Any) -> Trace:
        told = {"gen_ai.output.messages": json.dumps(entries)}
        return read(tmp_path, span("generate_content", attributes=google | told))

    trace = answered(*pieces, whole)
    assert [(each.call_id, each.arguments) for each in trace.tool_calls] == [("c1", {"to": "Oslo"})]
    assert trace.llm_calls[0].output_text == "Looking."
    assert answered(pieces[0]).output_text == "Looking."  # it was cut off


def test_a_call_with_which_an_agent_answered_is_the_answer(tmp_path):
    """LangChain and Strands let a model give a structured output by a tool, and only its name tells it from others."""
    offer = {"flight": "OS12", "price": 99.5}
    found = asks(("c1", "find", {"to": "Oslo"}))
    state = json.dumps({"messages": [], "structured_response": offer | {"currency": "EUR"}})
    root = openinference("CHAIN", takes=9, attributes={"output.value": state})
    wrong = openinference("LLM", parent=root, attributes=asks(("c2", "Offer", {"flight": ""})), at=2)
    last = openinference("LLM", parent=root, attributes=asks(("c3", "Offer", offer)), at=4)
    langchain = read(tmp_path, root, openinference("LLM", parent=root, attributes=found), wrong, last)

    def chose(message: Any) -> list[tuple[str, Any]]:
        return [("gen_ai.choice", {"message": json.dumps(message)})]

    def use(name: str, given: Any) -> list[Any]:
        return [{"toolUse": {"toolUseId": name, "name": name, "input": given}}]

    agent, chat = {"gen_ai.operation.name": "invoke_agent"}, {"gen_ai.operation.name": "chat"}
    root = span("invoke_agent", attributes=agent, takes=9, events=chose(offer))
    first = span("chat", root, at=1, attributes=chat, events=chose(use("find", {"to": "Oslo"})))
    second = span("chat", root, at=4, attributes=chat, events=chose(use("Offer", offer)))
    strands = read(tmp_path, root, first, second)
    for trace in (langchain, strands):
        assert [call.name for call in trace.tool_calls] == ["find"]
        assert offer.items() <= json.loads(trace.output_text).items()
        assert trace.turns[-1].content == trace.output_text


def test_what_an_agent_says_to_a_tool_is_not_said_to_the_user(tmp_path):
    agent, chat = {"gen_ai.operation.name": "invoke_agent"}, {"gen_ai.operation.name": "chat"}

    def said(text: str) -> dict[str, str]:
        parts = [{"type": "text", "content": text}]
        return {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}

    root = span("invoke_agent", attributes=agent, takes=20)
    tool = span(
        "ask",
        root,
        at=1,
        takes=8,
        attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask"},
    )
    inner = span("invoke_agent", tool, at=2, takes=6, attributes=agent | said("of the inner agent"))
    spans = [root, tool, inner, span("chat", inner, at=3, attributes=chat | said("to the tool"))]
    answer = span("chat", root, at=12, attributes=chat | said("to the user"))
    trace = read(tmp_path, *spans, answer)
    assert [turn.content for turn in trace.turns if turn.turn_type == "agent_message"] == ["to the user"]
    assert [call.output_text for call in trace.llm_calls] == ["to the tool", "to the user"]
    unanswered = read(tmp_path, *spans)
    assert unanswered.output_text == ""
    assert [turn.turn_type for turn in unanswered.turns] == ["tool_call", "llm_call"]


def test_a_request_of_smolagents_is_told_without_what_it_puts_before_it(tmp_path):
    given = {"llm.input_messages.0.message.role": "user"}
    given["llm.input_messages.0.message.content"] = "New task:\nto Oslo?"
    for name, wanted in (("OpenAIModel.generate", "to Oslo?"), ("ChatOpenAI", "New task:\nto Oslo?")):
        trace = read(tmp_path, openinference("LLM", name, attributes=given))
        assert (trace.input_text, trace.turns[0].content) == (wanted, wanted)


def test_a_run_whose_last_step_failed_after_it_asked_for_a_tool_failed(tmp_path):
    """OpenAI's Agents SDK says so on the step alone where a model asks for a tool that does not exist."""

    def run(after: str, **last: Any) -> Trace:
        root = openinference("AGENT", takes=20)
        turn = openinference("CHAIN", "turn", root, at=1, takes=8, error="Tool not found")
        asked = openinference("LLM", parent=turn, at=2, attributes=asks(("c1", "launch", {})))
        following = openinference(after, parent=root, at=12, **last)
        return read(tmp_path, root, turn, asked, *([following] if last else ()))

    answer = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "No.",
    }
    assert run("LLM").metadata["error"] == {"type": "", "message": "Tool not found"}
    assert "error" not in run("LLM", attributes=answer).metadata
    assert "error" not in run("TOOL", attributes={"tool.name": "save"}, error="disk full").metadata


def test_a_call_that_langchain_refused_failed(tmp_path):
    refused = {"content": "launch is not a valid tool", "tool_call_id": "c1", "status": "error"}
    sent = {"messages": [[{"lc": 1, "id": ["ToolMessage"], "kwargs": refused}]]}
    call = {
        "lc": 1,
        "id": ["AIMessage"],
        "kwargs": {"tool_calls": [{"name": "launch", "args": {}, "id": "c1"}]},
    }
    sent["messages"][0].insert(0, call)
    begin = "llm.input_messages."
    given = {
        f"{begin}0.message.role": "assistant",
        f"{begin}0.message.tool_calls.0.tool_call.id": "c1",
        f"{begin}0.message.tool_calls.0.tool_call.function.name": "launch",
        f"{begin}1.message.role": "tool",
        f"{begin}1.message.tool_call_id": "c1",
        f"{begin}1.message.content": refused["content"],
        "input.value": json.dumps(sent),
    }
    root = openinference("AGENT", takes=9)
    first = openinference("LLM", parent=root, at=1, attributes=asks(("c1", "launch", {"to": "moon"})))
    second = openinference("LLM", parent=root, at=4, attributes=given)
    (found,) = read(tmp_path, root, first, second).tool_calls
    assert (found.success, found.error) == (False, "launch is not a valid tool")


def test_each_run_of_a_conversation_has_its_answer_by_a_tool(tmp_path):
    spans = []
    for at, said in ((0, '{"done": true}'), (20, "OS12.")):
        root = openinference("AGENT", "travel.run", at=at, takes=9, attributes={"session.id": "s"})
        told = {"tool.name": "final_answer", "output.value": said}
        spans += [
            root,
            openinference(
                "LLM", parent=root, at=at, attributes=asks(("c", "final_answer", {"answer": said}))
            ),
            openinference("TOOL", "FinalAnswerTool", root, at=at + 3, attributes=told),
        ]
    trace = read(tmp_path, *spans)
    answers = [turn.content for turn in trace.turns if turn.turn_type == "agent_message"]
    assert (answers, trace.output_text) == (['{"done": true}', "OS12."], "OS12.")


def test_the_answer_by_a_tool_is_no_tool_call(tmp_path):
    root = openinference("AGENT", "travel.run", takes=20, attributes={"output.value": "OS12."})
    first = openinference("LLM", parent=root, attributes=asks(("c1", "find", {"to": "Oslo"})))
    wrapped = json.dumps({"args": [], "sanitize_inputs_outputs": True, "kwargs": {"to": "Oslo"}})
    tool = openinference(
        "TOOL",
        "SimpleTool",
        root,
        at=3,
        attributes={"tool.name": "find", "input.value": wrapped, "output.value": '["OS12"]'},
    )
    last = openinference(
        "LLM", parent=root, at=5, attributes=asks(("c2", "final_answer", {"answer": "OS12."}))
    )
    final = openinference(
        "TOOL",
        "FinalAnswerTool",
        root,
        at=7,
        attributes={"tool.name": "final_answer", "output.value": "OS12."},
    )
    trace = read(tmp_path, root, first, tool, last, final)
    assert [(call.name, call.arguments) for call in trace.tool_calls] == [("find", {"to": "Oslo"})]
    assert (trace.agent_name, trace.output_text) == ("travel", "OS12.")


def test_a_result_that_python_printed_is_read_as_a_value(tmp_path):
    root = openinference("AGENT", takes=9)
    attributes = {
        "tool.name": "find",
        "input.value": "{}",
        "output.value": "[{'note': None}]",
        "output.mime_type": "text/plain",
    }
    (call,) = read(tmp_path, root, openinference("TOOL", parent=root, attributes=attributes)).tool_calls
    assert call.output == [{"note": None}]


def test_equal_calls_side_by_side_are_given_their_spans_in_order(tmp_path):
    root = openinference("AGENT", takes=20)
    model = openinference(
        "LLM",
        parent=root,
        attributes=asks(
            ("c1", "find", {"to": "A"}), ("c2", "find", {"to": "B"}), ("c3", "find", {"to": "B"})
        ),
    )
    tools = [
        openinference(
            "TOOL",
            parent=root,
            at=at,
            attributes={"tool.name": "find", "input.value": json.dumps({"to": to}), "output.value": result},
        )
        for at, to, result in ((3, "B", "2"), (4, "A", "1"), (5, "B", "3"))
    ]
    calls = read(tmp_path, root, model, *tools).tool_calls
    assert [(call.call_id, call.output) for call in calls] == [("c1", 1), ("c2", 2), ("c3", 3)]


def test_the_mark_of_a_failure_is_taken_from_the_request_as_it_was_sent(tmp_path):
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "book", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "sold out", "is_error": True}
    begin = "llm.input_messages.0.message."
    given = {
        f"{begin}role": "tool",
        f"{begin}tool_call_id": "c1",
        f"{begin}content": "sold out",
        "llm.system": "anthropic",
    }
    given["input.value"] = json.dumps({"messages": [asked, {"role": "user", "content": [result]}]})
    app = span("app", takes=9)
    first = openinference("LLM", parent=app, attributes=asks(("c1", "book", {})))
    begin = "llm.input_messages.1.message."
    for key in list(given):
        if key.startswith("llm.input_messages.0."):
            given[key.replace(".0.", ".1.", 1)] = given.pop(key)
    given |= {
        "llm.input_messages.0.message.role": "assistant",
        "llm.input_messages.0.message.tool_calls.0.tool_call.id": "c1",
    }
    given |= {"llm.input_messages.0.message.tool_calls.0.tool_call.function.name": "book"}
    (call,) = read(tmp_path, app, first, openinference("LLM", parent=app, at=5, attributes=given)).tool_calls
    assert (call.success, call.error) == (False, "sold out")


# ---------------------------------------------------------------------- OpenTelemetry


def genai(operation: str, parent: Any = None, *, at: int = 0, takes: int = 1, **more: Any) -> Any:
    given = {"gen_ai.operation.name": operation, **more.pop("attributes", {})}
    return span(operation, parent, at=at, takes=takes, attributes=given, **more)


def test_events_of_a_span_tell_messages_arguments_and_results(tmp_path):
    root = genai("invoke_agent", takes=9)
    use = [{"toolUse": {"toolUseId": "c1", "name": "find", "input": {"to": "Oslo"}}}]
    events = [
        ("gen_ai.user.message", {"content": '[{"text": "to Oslo?"}]'}),
        ("gen_ai.choice", {"message": json.dumps(use)}),
    ]
    model = genai("chat", root, events=events)
    told = [
        ("gen_ai.tool.message", {"content": '{"to": "Oslo"}', "id": "c1"}),
        ("gen_ai.choice", {"message": '[{"text": "[\\"OS12\\"]"}]', "id": "c1"}),
    ]
    tool = genai(
        "execute_tool",
        root,
        at=3,
        events=told,
        attributes={"gen_ai.tool.name": "find", "gen_ai.tool.call.id": "c1"},
    )
    trace = read(tmp_path, root, model, tool)
    (call,) = trace.tool_calls
    assert (trace.input_text, call.arguments, call.output) == ("to Oslo?", {"to": "Oslo"}, ["OS12"])


def test_a_list_of_events_in_an_attribute_tells_messages(tmp_path):
    function = {"name": "find", "arguments": '{"to": "Oslo"}'}
    events = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "to Oslo?"},
        {
            "event.name": "gen_ai.choice",
            "message": {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]},
        },
    ]
    trace = read(tmp_path, genai("chat", attributes={"events": json.dumps(events)}))
    assert (trace.input_text, trace.tool_calls[0].arguments) == ("to Oslo?", {"to": "Oslo"})


def test_the_history_of_an_agent_stands_in_for_requests_without_messages(tmp_path):
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "earlier"}]},
        {"role": "user", "parts": [{"type": "text", "content": "to Oslo?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": "{}"}],
        },
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": ["OS12"]}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "OS12."}]},
    ]
    root = genai(
        "invoke_agent",
        takes=9,
        attributes={"pydantic_ai.all_messages": json.dumps(history), "pydantic_ai.new_message_index": 1},
    )
    trace = read(tmp_path, root, genai("chat", root), genai("chat", root, at=4))
    assert ([call.output for call in trace.tool_calls], trace.output_text) == ([["OS12"]], "OS12.")


def test_a_tool_by_which_a_model_gives_its_output_is_no_call(tmp_path):
    answer = [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "final_result", "arguments": {"n": 1}}],
        }
    ]
    attributes = {
        "gen_ai.output.messages": json.dumps(answer),
        "model_request_parameters": '{"output_tools":[{"name":"final_result"}]}',
    }
    root = genai("invoke_agent", takes=9, attributes={"final_result": '{"n": 1}'})
    trace = read(tmp_path, root, genai("chat", root, attributes=attributes))
    assert (trace.tool_calls, trace.output_text) == ((), '{"n": 1}')


def test_a_tool_that_raised_says_what(tmp_path):
    root = genai("invoke_agent", takes=9)
    tool = genai(
        "execute_tool", root, events=[EXCEPTION], error="stack", attributes={"gen_ai.tool.name": "book"}
    )
    merged = genai("execute_tool", root, at=2, attributes={"gen_ai.tool.name": "(merged tools)"})
    (call,) = read(tmp_path, root, tool, merged).tool_calls
    assert (call.success, call.error) == (False, "SoldOut: LM7 is sold out")


def test_contents_that_are_left_out_do_not_hide_those_of_another_span(tmp_path):
    root = genai("invoke_agent", takes=9)
    answer = {"content": {"role": "model", "parts": [{"text": "OS12."}]}}
    own = {
        "gcp.vertex.agent.llm_request": '{"contents": []}',
        "gcp.vertex.agent.llm_response": json.dumps(answer),
    }
    outer = span("call_llm", root, takes=5, attributes=own | {"gen_ai.usage.input_tokens": 7})
    inner = genai("generate_content", outer, at=1, attributes={"gen_ai.usage.input_tokens": 7})
    trace = read(tmp_path, root, outer, inner, logs=[log(inner, "gen_ai.choice", {"content": "<elided>"})])
    assert (trace.output_text, len(trace.llm_calls), trace.total_input_tokens) == ("OS12.", 1, 7)


# ---------------------------------------------------------------------- names of their own


def test_flattened_names_of_old_are_read_in_the_order_of_their_numbers(tmp_path):
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.usage.prompt_tokens": 5,
        "gen_ai.usage.completion_tokens": 2,
    }
    for number in range(12):
        attributes |= {
            f"gen_ai.prompt.{number}.role": "user" if number % 2 == 0 else "assistant",
            f"gen_ai.prompt.{number}.content": f"m{number}",
        }
    attributes |= {"gen_ai.prompt.12.role": "user", "gen_ai.prompt.12.content": "last"}
    attributes |= {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.name": "find",
        "gen_ai.completion.0.tool_calls.0.arguments": "{}",
    }
    trace = read(tmp_path, span("openai.chat", attributes=attributes))
    assert (trace.input_text, [call.name for call in trace.tool_calls], trace.total_input_tokens) == (
        "last",
        ["find"],
        5,
    )


def test_functions_marked_as_tools_are_tools(tmp_path):
    root = span("w", takes=9, attributes={"traceloop.span.kind": "workflow", "traceloop.entity.name": "trip"})
    attributes = {"traceloop.span.kind": "tool", "traceloop.entity.name": "find"}
    attributes |= {
        "traceloop.entity.input": '{"args": [], "kwargs": {"to": "Oslo"}}',
        "traceloop.entity.output": '"OS12"',
    }
    (call,) = read(tmp_path, root, span("t", root, attributes=attributes)).tool_calls
    assert (call.name, call.arguments, call.output) == ("find", {"to": "Oslo"}, "OS12")


def test_the_vercel_sdk_is_read(tmp_path):
    root = span(
        "ai.generateText",
        takes=9,
        attributes={
            "ai.operationId": "ai.generateText",
            "ai.response.text": "OS12.",
            "ai.telemetry.metadata.sessionId": "v1",
        },
    )
    asked = [{"toolCallId": "c1", "toolName": "find", "input": '{"to": "Oslo"}'}]
    model = span(
        "do",
        root,
        attributes={
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.response.toolCalls": json.dumps(asked),
            "ai.usage.promptTokens": 5,
        },
    )
    attributes = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "find",
        "ai.toolCall.id": "c1",
        "ai.toolCall.result": '["OS12"]',
    }
    trace = read(tmp_path, root, model, span("tool", model, at=1, attributes=attributes))
    (call,) = trace.tool_calls
    assert (call.arguments, call.output, trace.output_text) == ({"to": "Oslo"}, ["OS12"], "OS12.")
    assert (trace.metadata["conversation_id"], trace.total_input_tokens) == ("v1", 5)
