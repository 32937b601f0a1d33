"""`LangChainAdapter`: an agent of LangChain, a graph of LangGraph, or any other `Runnable`, recorded by LangChain's callbacks.

- A text becomes a user message for a graph and for a chat model; another runnable is given it as it is. A mapping is the state
  of a graph, as it is.
- The output is the structured response of an agent, else the text of its last message; of what has no messages, all of it.
- A graph with a checkpointer gets a thread of its own for each conversation; of others, and of chat models, the adapter keeps
  the messages. Other runnables have no history.
"""

import copy
import functools
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from calipers.agents.event_log import error_text
from calipers.agents.injected_parameters import is_injected_value
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool, call_tool
from calipers.models.model_answer import Usage
from calipers.models.prices import cost_of
from calipers.spans.messages import Call, Result, told

from .framework import FrameworkAdapter, load_framework, no_agent, replace_once, tell
from .observed_calls import ObservedCalls

_MESSAGES = "messages"
_STRUCTURED = "structured_response"
_THREAD = "thread_id"
_PROVIDERS = {"google_genai": "gemini", "google_vertexai": "gemini"}


class LangChainAdapter(FrameworkAdapter):
    """An agent of LangChain, a graph of LangGraph, or any other `Runnable`.

    ```python
    report = dataset.evaluate_sync(LangChainAdapter(create_agent(model, tools)))
    ```

    Args:
        agent: the `Runnable`.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `ainvoke`, such as `config` or `context`.
        output: makes the output of an attempt of what the runnable returns; default: its structured response, or the text of
            its last message.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no `Runnable`.
        MissingExtraError: LangChain is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("langchain_core.runnables", "LangChain", "langchain")
        if not isinstance(self.agent, framework.Runnable):
            raise no_agent(self.agent, "a Runnable of LangChain, such as an agent or a graph")
        self._is_graph = any(
            kind.__name__ == "Pregel" and kind.__module__.startswith("langgraph.")
            for kind in type(self.agent).__mro__
        )

    def _own_name(self) -> str:
        named = super()._own_name()
        return "agent" if named == "LangGraph" else named

    def _intercept(self) -> None:
        tools = load_framework("langchain_core.tools", "LangChain", "langchain")
        replace_once(tools.BaseTool, "run", _with_stand_in)
        replace_once(tools.BaseTool, "arun", _with_stand_in)

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        from langchain_core.runnables.config import merge_configs

        calls = ObservedCalls(recording.input_text)
        options = dict(self.options or {})
        config = merge_configs(options.pop("config", None), {"callbacks": [_handler_class()(calls)]})
        config = self._with_thread(config, state)
        request = self._request(inputs, state)
        try:
            returned = await self.agent.ainvoke(request, config, **options)
            if isinstance(returned, dict) and returned.get(_STRUCTURED) is not None:
                calls.take_back_answers()
        finally:
            tell(recording, calls.trace)
        if isinstance(returned, dict) and isinstance(messages := returned.get(_MESSAGES), list):
            state[_MESSAGES] = messages
        elif isinstance(request, list):
            state[_MESSAGES] = [*request, returned]
        return self._answer(returned, _answer(returned))

    def _with_thread(self, config: Any, state: dict[str, Any]) -> Any:
        """The config with a thread for this conversation, if the graph keeps conversations and has none."""
        keeps = self._is_graph and not isinstance(self.agent.checkpointer, bool | None)
        if not keeps or _THREAD in (config.get("configurable") or {}):
            return config
        state.setdefault(_THREAD, uuid.uuid4().hex)
        return {**config, "configurable": {**(config.get("configurable") or {}), _THREAD: state[_THREAD]}}

    def _request(self, inputs: Any, state: dict[str, Any]) -> Any:
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import HumanMessage

        said = [HumanMessage(inputs)] if isinstance(inputs, str) else inputs
        if not isinstance(said, list):
            return inputs
        history = [] if _THREAD in state else state.get(_MESSAGES, [])
        if self._is_graph:
            return {_MESSAGES: [*history, *said]}
        return [*history, *said] if isinstance(self.agent, BaseChatModel) else inputs


def _with_stand_in(run: Any, tool: Any, tool_input: Any, *args: Any, **given: Any) -> Any:
    return run(_stand_in(tool, _chosen(tool, tool_input)), tool_input, *args, **given)


def _stand_in(tool: Any, chosen: dict[str, Any]) -> Any:
    """A copy of a tool whose calls go through the interceptors: inside of LangChain's callbacks and its handling of errors."""
    has_artifact = tool.response_format == "content_and_artifact"

    @functools.wraps(tool._run)  # noqa: SLF001 - what a tool of LangChain is made by
    def run(*args: Any, **given: Any) -> Any:
        call = _Call(functools.partial(tool._run, *args, **given), has_artifact=has_artifact)  # noqa: SLF001
        return call.seen(call_tool(tool.name, chosen, call.run))

    @functools.wraps(tool._arun)  # noqa: SLF001
    async def arun(*args: Any, **given: Any) -> Any:
        call = _Call(functools.partial(tool._arun, *args, **given), has_artifact=has_artifact)  # noqa: SLF001
        return call.seen(await await_tool(tool.name, chosen, call.run_later))

    stand_in = copy.copy(tool)
    stand_in.__dict__.update(_run=run, _arun=arun)
    return stand_in


class _Call:
    """One call of a tool: interceptors see its content, and an artifact beside it stays."""

    def __init__(self, function: Any, *, has_artifact: bool) -> None:
        self._function = function
        self._has_artifact = has_artifact
        self._artifact: Any = None

    def run(self) -> Any:
        return self._content(self._function())

    async def run_later(self) -> Any:
        return self._content(await self._function())

    def _content(self, returned: Any) -> Any:
        if self._has_artifact and isinstance(returned, tuple) and len(returned) == 2:
            returned, self._artifact = returned
        return returned

    def seen(self, content: Any) -> Any:
        return (content, self._artifact) if self._has_artifact else content


def _chosen(tool: Any, given: Any) -> dict[str, Any]:
    """The arguments that a model chose, by name, as it chose them: the tool itself gets them checked, and with those that LangChain adds."""
    schema = tool.tool_call_schema
    fields = schema.get("properties") if isinstance(schema, dict) else getattr(schema, "model_fields", None)
    if not isinstance(given, dict):
        return {next(iter(fields or ()), "input"): given}
    names = {*(fields or ()), *(getattr(field, "alias", None) for field in (fields or {}).values())}
    return {
        name: value
        for name, value in given.items()
        if (name in names or not fields) and not is_injected_value(value)
    }


def _answer(returned: Any) -> Any:
    """The final answer in what a runnable returns."""
    from langchain_core.messages import BaseMessage

    if isinstance(returned, dict):
        if returned.get(_STRUCTURED) is not None:
            return returned[_STRUCTURED]
        messages = returned.get(_MESSAGES)
        if isinstance(messages, list) and messages and isinstance(messages[-1], BaseMessage):
            returned = messages[-1]
    return str(returned.text) if isinstance(returned, BaseMessage) else returned


@functools.cache
def _handler_class() -> Any:
    """The class whose methods LangChain calls; made here, because its base loads with the framework."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Handler(BaseCallbackHandler):
        """Notes the calls of one execution."""

        run_inline = True  # in the order in which things happen

        def __init__(self, calls: ObservedCalls) -> None:
            self.calls = calls
            self.providers: dict[Any, str] = {}

        def on_chat_model_start(
            self, serialized: Any, messages: Any, *, run_id: Any, metadata: Any = None, **_: Any
        ) -> None:
            """A chat model is asked."""
            self.calls.results_given(_results(each for given in messages for each in given))
            self.on_llm_start(serialized, (), run_id=run_id, metadata=metadata)

        def on_llm_start(
            self,
            serialized: Any,
            prompts: Any,  # noqa: ARG002 - LangChain passes them
            *,
            run_id: Any,
            metadata: Any = None,
            **_: Any,
        ) -> None:
            """A model is asked."""
            known = metadata or {}
            self.providers[run_id] = str(known.get("ls_provider") or "")
            named = known.get("ls_model_name") or (serialized or {}).get("name") or "unknown"
            self.calls.model_begins(run_id, str(named))

        def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
            """A model has answered."""
            made = response.generations[0][0] if response.generations and response.generations[0] else None
            self.calls.model_ends(run_id, **_answered(made, self.providers.pop(run_id, "")))

        def on_llm_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
            """A model has failed."""
            self.calls.model_ends(run_id, error=error_text(error))

        def on_tool_start(
            self, serialized: Any, input_str: str, *, run_id: Any, inputs: Any = None, **known: Any
        ) -> None:
            """A tool begins."""
            name = (serialized or {}).get("name") or known.get("name") or "unknown"
            given = inputs if isinstance(inputs, dict) else {"input": input_str}
            self.calls.tool_begins(run_id, name, given, known.get("tool_call_id"))

        def on_tool_end(self, output: Any, *, run_id: Any, **_: Any) -> None:
            """A tool has run."""
            result = next(_results([output, *_in_command(output)]), None)
            value = output if result is None else result.output
            failed = result is not None and result.failed
            self.calls.tool_ends(run_id, None if failed else value, error=str(value) if failed else None)

        def on_tool_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
            """A tool has failed."""
            self.calls.tool_ends(run_id, error=error_text(error))

    return Handler


def _results(messages: Iterable[Any]) -> Iterator[Result]:
    """The results of tools among some messages."""
    for each in messages:
        if getattr(each, "type", None) == "tool" and hasattr(each, "tool_call_id"):
            yield Result(each.tool_call_id, each.name, told(each.content), each.status == "error")


def _in_command(output: Any) -> list[Any]:
    """The messages that a tool puts into the state by a `Command`."""
    update = getattr(output, "update", None)
    found = update.get(_MESSAGES) if isinstance(update, dict) else None
    return found if isinstance(found, list) else []


def _answered(made: Any, provider: str) -> dict[str, Any]:
    """What the answer of a model says."""
    message = getattr(made, "message", None)
    if message is None:
        return {"said": str(getattr(made, "text", "") or "")}
    used = getattr(message, "usage_metadata", None) or {}
    model = message.response_metadata.get("model_name") or message.response_metadata.get("model")
    found: dict[str, Any] = {"said": str(message.text), "model": model}
    found["calls"] = [
        Call(call["name"], call["args"], call.get("id")) for call in getattr(message, "tool_calls", ())
    ]
    if used:
        found |= {name: used[name] for name in ("input_tokens", "output_tokens")}
        details = used.get("input_token_details") or {}
        tokens = Usage(
            input=used["input_tokens"],
            output=used["output_tokens"],
            cache_read=details.get("cache_read"),
            cache_write=details.get("cache_creation"),
        )
        found["cost"] = cost_of(
            f"{_PROVIDERS.get(provider, provider)}:{model or ''}", tokens, answered_by=model
        )
    return found
