"""`GoogleADKAdapter`: an agent of Google's Agent Development Kit, recorded by the events of its runs.

Each conversation is a session of its own in memory, so attempts run side by side. A run whose last event is an error is raised, as
an `AgentError`; what a tool raises, ADK raises itself.
"""

import copy
import functools
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool
from calipers.data.trace import Trace
from calipers.errors import AgentError
from calipers.models.model_answer import Usage as Tokens
from calipers.models.prices import cost_of
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Message, Text, Usage, read_messages

from .framework import FrameworkAdapter, load_framework, no_agent, replace_once, tell

_APP = "calipers"
_SESSION = "session"
_USER = "user"


class GoogleADKAdapter(FrameworkAdapter):
    """An agent of Google's Agent Development Kit.

    ```python
    report = dataset.evaluate_sync(GoogleADKAdapter(root_agent))
    ```

    Args:
        agent: the agent, such as an `LlmAgent` or a `SequentialAgent`.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `Runner.run_async`, such as `run_config` or `state_delta`.
        output: makes the output of an attempt of the list of events; default: the text of the final response.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no agent of ADK.
        MissingExtraError: ADK is not installed.
    """

    def _check(self) -> None:
        agents = load_framework("google.adk.agents", "Google ADK", "google-adk")
        if not isinstance(self.agent, agents.BaseAgent):
            raise no_agent(self.agent, "an agent of Google ADK")
        runners = load_framework("google.adk.runners", "Google ADK", "google-adk")
        self._runner = runners.InMemoryRunner(self.agent, app_name=_APP)

    def _intercept(self) -> None:
        models = load_framework("google.adk.models", "Google ADK", "google-adk")
        replace_once(models.LlmRequest, "append_tools", _append_stand_ins)

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        types = load_framework("google.genai.types", "Google ADK", "google-adk")
        if _SESSION not in state:
            session_id = uuid.uuid4().hex
            await self._runner.session_service.create_session(
                app_name=_APP, user_id=_USER, session_id=session_id
            )
            state[_SESSION] = session_id
        said = inputs if isinstance(inputs, str) else str(inputs)
        request = types.Content(role="user", parts=[types.Part(text=said)])
        events: list[Any] = []
        try:
            async for event in self._runner.run_async(
                user_id=_USER, session_id=state[_SESSION], new_message=request, **(self.options or {})
            ):
                events.append(event)  # noqa: PERF401 - one by one: what came before an error counts
        finally:
            tell(recording, _told(said, events, getattr(self.agent, "model", None)))
        if events and events[-1].error_code:
            raise AgentError(
                f"the agent {self.name!r} ended in an error: {events[-1].error_message or events[-1].error_code}"
            )
        return self._answer(events, _final(events))


def _append_stand_ins(own: Callable[..., Any], request: Any, tools: Sequence[Any]) -> Any:
    """Offer stand-ins of the tools to a model: what is offered is what ADK calls."""
    return own(request, [_stand_in(each) for each in tools])


def _stand_in(tool: Any) -> Any:
    """A copy of a tool whose calls go through the interceptors."""
    stand_in = copy.copy(tool)

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        call = functools.partial(tool.run_async, args=args, tool_context=tool_context)
        return await await_tool(tool.name, args, call)

    stand_in.run_async = run_async
    return stand_in


def _told(said: str, events: Sequence[Any], model: Any) -> Trace:
    messages = [Message("user", [Text(said)])]
    usages: list[Usage | None] = []
    for event in events:
        if event.partial or event.content is None:
            continue
        for message in read_messages([event.content.model_dump(exclude_none=True)]):
            messages.append(message)
            if message.role == "assistant":
                usages.append(_usage(event, model))
    return trace_of_history(messages, usages)


def _usage(event: Any, model: Any) -> Usage | None:
    """What an answer took, with its price if that is known; `None` if no model gave it."""
    used = event.usage_metadata
    named = getattr(event, "model_version", None) or (model if isinstance(model, str) else None)
    if used is None:
        return None
    given = used.prompt_token_count or 0
    answered = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
    tokens = Tokens(input=given, output=answered, cache_read=used.cached_content_token_count)
    cost = cost_of(f"gemini:{named}", tokens) if named and given else None
    return Usage(named, given, answered, cost)


def _final(events: Sequence[Any]) -> str:
    final = next((each for each in reversed(events) if each.is_final_response() and each.content), None)
    parts = (final.content.parts or ()) if final is not None else ()
    return "".join(part.text for part in parts if part.text and not part.thought)
