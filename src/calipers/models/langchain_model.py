"""`LangChainModel`: a chat model of LangChain.

Its own settings, client and retries stay in place. A schema is asked for in words. Where the model does not tell how an answer
ended, it is taken to be whole: the schema decides then.
"""

from collections.abc import Mapping
from typing import Any

from calipers.errors import BudgetError
from calipers.run.ledger import reserved

from .accounting import account, counted_by_caller
from .answer_data import with_instructions
from .model import Ask
from .model_answer import Completion, Draft, Finish, Usage, is_list, read
from .model_errors import model_error
from .model_request import for_chat

_ENDS: Mapping[Any, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "complete"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call", "tool_call"), "tool_call"),
    **dict.fromkeys(("content_filter", "safety", "recitation", "prohibited_content"), "filtered"),
    "refusal": "refused",
    "pause_turn": "unfinished",
    "error": "error",
}
"""By the words of the providers that have integrations, in lower case."""
_PROVIDERS = {"google_genai": "gemini", "google_vertexai": "gemini"}


class LangChainModel:
    """A chat model of LangChain.

    Args:
        model: the model.
        name: what it is called in reports; default: its provider and its name.
    """

    def __init__(self, model: Any, *, name: str | None = None) -> None:
        self.model = model
        self.name = name or _name(model)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The settings that the model has of its own."""
        found = read(self.model, "_identifying_params")
        return found if isinstance(found, Mapping) else {}

    async def ask(self, ask: Ask, /) -> Completion:
        """The answer.

        Raises:
            ModelError: there is no answer.
        """
        messages = ask.messages if ask.schema is None else with_instructions(ask.messages, ask.schema)
        told = [{key: value for key, value in each.items() if key != "parts"} for each in messages]
        try:
            model = self.model.bind_tools(for_chat(ask.tools)) if ask.tools else self.model
            async with reserved():
                with counted_by_caller():
                    answer = await model.ainvoke(told, **ask.settings, **(ask.options or {}))
        except BudgetError:
            raise
        except Exception as error:
            raise model_error(error, self.name) from error
        found = _read(answer)
        found.not_sent = ("top_logprobs",) if ask.top_logprobs else ()
        account(found, self.name)
        return found

    def __repr__(self) -> str:
        return f"LangChainModel({self.name!r})"


def _name(model: Any) -> str:
    called = next(
        (found for name in ("model_name", "model", "model_id") if (found := read(model, name))), None
    )
    provider = model._get_ls_params().get("ls_provider")  # noqa: SLF001 - what LangChain's own tracer reads
    if not isinstance(called, str):
        return f"langchain:{type(model).__name__}"
    return f"{_PROVIDERS.get(provider, provider or 'langchain')}:{called.removeprefix('models/')}"


def _read(answer: Any) -> Completion:
    draft = Draft(answer, joined_by="")
    draft.answered = True
    content = answer.content
    draft.say(content)
    for part in content if is_list(content) else ():
        draft.say(part if isinstance(part, str) else read(part, "text"))
        draft.think(read(part, "thinking", "reasoning"))
    for call in answer.tool_calls:
        draft.call(call["name"], call["args"], call_id=call["id"], where="tool_calls", raw=call)
    for call in answer.invalid_tool_calls:
        draft.call(call["name"], call["args"], call_id=call["id"], where="invalid_tool_calls", raw=call)
    draft.decline(answer.additional_kwargs.get("refusal"))
    about = answer.response_metadata
    word = read(about, "finish_reason", "stop_reason", "done_reason")
    draft.end(word.lower() if isinstance(word, str) else "stop" if word is None else word, _ENDS)
    if (used := answer.usage_metadata) is not None:
        draft.completion.usage = Usage(
            input=draft.tokens(used, "input_tokens"),
            output=draft.tokens(used, "output_tokens"),
            cache_read=draft.tokens(read(used, "input_token_details"), "cache_read"),
            cache_write=draft.tokens(read(used, "input_token_details"), "cache_creation"),
            reasoning=draft.tokens(read(used, "output_token_details"), "reasoning"),
        )
    found = draft.finish("a message")
    found.model, found.id = read(about, "model_name", "model"), answer.id
    return found
