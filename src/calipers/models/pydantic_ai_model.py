"""`PydanticAIModel`: a model of pydantic-ai, asked without an agent.

Its own settings, client and retries stay in place. A schema goes by the provider's own means where the model has them, else in
words. Where the model does not tell how an answer ended, it is taken to be whole: the schema decides then.
"""

from collections.abc import Mapping
from typing import Any

from calipers.errors import BudgetError
from calipers.run.ledger import reserved

from .accounting import account, counted_by_caller
from .answer_data import with_instructions
from .model import Ask
from .model_answer import Completion, Draft, Finish, Usage
from .model_errors import model_error
from .model_request import for_chat
from .provider_schema import closed_schema
from .wire_format import calls_of, own_parts

_NAME = "pydantic-ai"
_ENDS: Mapping[Any, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "filtered",
    "tool_call": "tool_call",
    "error": "error",
}
PROVIDERS = {"google-gla": "gemini", "google-vertex": "gemini", "google": "gemini"}
"""Providers that have another name here."""


class PydanticAIModel:
    """A model of pydantic-ai.

    Args:
        model: the model.
        name: what it is called in reports; default: its provider and its name.
    """

    def __init__(self, model: Any, *, name: str | None = None) -> None:
        self.model = model
        system = str(model.system)
        self.name = name or f"{PROVIDERS.get(system, system)}:{model.model_name}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The settings that the model has of its own."""
        found = getattr(self.model, "settings", None)
        return found if isinstance(found, Mapping) else {}

    async def ask(self, ask: Ask, /) -> Completion:
        """The answer.

        Raises:
            ModelError: there is no answer.
        """
        from pydantic_ai.direct import model_request

        messages, parameters = self._question(ask)
        settings: Any = ask.settings | dict(ask.options or {})
        try:
            async with reserved():
                with counted_by_caller():
                    answer = await model_request(
                        self.model,
                        messages,
                        model_settings=settings,
                        model_request_parameters=parameters,
                    )
        except BudgetError:
            raise
        except Exception as error:
            raise model_error(error, self.name) from error
        found = _read(answer)
        found.not_sent = ("top_logprobs",) if ask.top_logprobs else ()
        account(found, self.name)
        return found

    def _question(self, ask: Ask) -> tuple[list[Any], Any]:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        tools = [
            ToolDefinition(
                name=each["function"]["name"],
                description=each["function"].get("description"),
                parameters_json_schema=each["function"].get("parameters", {"type": "object"}),
            )
            for each in for_chat(ask.tools)
            if "function" in each
        ]
        shared: dict[str, Any] = {"function_tools": tools, "allow_text_output": True}
        if ask.schema is None:
            return _messages(ask.messages), ModelRequestParameters(**shared)
        if not _knows_schemas(self.model):
            told = with_instructions(ask.messages, ask.schema)
            return _messages(told), ModelRequestParameters(**shared)
        output = OutputObjectDefinition(json_schema=closed_schema(ask.schema), name="answer")
        return _messages(ask.messages), ModelRequestParameters(
            **shared, output_mode="native", output_object=output
        )

    def __repr__(self) -> str:
        return f"PydanticAIModel({self.name!r})"


def _knows_schemas(model: Any) -> bool:
    profile = model.profile
    known = profile.get("supports_json_schema_output") if isinstance(profile, Mapping) else None
    return bool(getattr(profile, "supports_json_schema_output", False) if known is None else known)


def _messages(messages: Any) -> list[Any]:
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    found: list[Any] = []
    tools: dict[str, str] = {}
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            calls = calls_of(message)
            tools |= {identity: name for identity, name, _ in calls}
            said = own_parts(message, _NAME)
            if said is None:
                said = [TextPart(content)] if content else []
                said += [
                    ToolCallPart(tool_name=name, args=given, tool_call_id=key) for key, name, given in calls
                ]
            found.append(ModelResponse(parts=said))
            continue
        part: Any = SystemPromptPart(content) if role == "system" else UserPromptPart(content)
        if role == "tool":
            key = str(message["tool_call_id"])
            part = ToolReturnPart(tool_name=tools.get(key, key), content=content, tool_call_id=key)
        if found and isinstance(found[-1], ModelRequest):
            found[-1] = ModelRequest(parts=[*found[-1].parts, part])
        else:
            found.append(ModelRequest(parts=[part]))
    return found


def _read(answer: Any) -> Completion:
    draft = Draft(answer, joined_by="")
    draft.answered = True
    for part in answer.parts:
        if part.part_kind == "text":
            draft.say(part.content)
        elif part.part_kind == "thinking":
            draft.think(part.content)
        elif part.part_kind == "tool-call":
            draft.call(part.tool_name, part.args, call_id=part.tool_call_id, where="parts", raw=part)
    draft.end(answer.finish_reason or "stop", _ENDS)
    used = answer.usage
    if used.input_tokens or used.output_tokens:  # zeros say that nothing was told
        draft.completion.usage = Usage(
            input=used.input_tokens,
            output=used.output_tokens,
            cache_read=used.cache_read_tokens,
            cache_write=used.cache_write_tokens,
        )
    found = draft.finish("parts")
    found.model, found.id = answer.model_name, answer.provider_response_id
    found.parts = (_NAME, list(answer.parts))
    return found
