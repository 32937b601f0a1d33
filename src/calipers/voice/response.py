"""What an agent answered: the tools it called, what it said, and what could not be read.

`tool_calls` holds every call that the agent made, in order. One whose arguments cannot be read is among them, under a name that
no expectation has (`unreadable_call`): it must neither vanish nor match as a call without arguments. `problems` says what was
wrong with it.

A response without calls says that the agent called nothing only if it is a whole answer. One that broke off, or reports an
error, before any call came has the problem `no_answer`, and so has one without any answer. Adapters raise `AgentReplyError` for
it, and `AgentTimeoutError` for one with `timed_out`; a pipeline that is given such a response counts a failed run.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from calipers.data.redaction import masked
from calipers.data.trace import ToolCall, secrets_of
from calipers.models.model_answer import Completion, ProblemKind, ResponseProblem, unreadable_call

_T = TypeVar("_T", "AgentResponse", "ResponseProblem")

__all__ = ["AgentResponse", "ProblemKind", "ResponseProblem", "response_of", "unreadable_call"]


@dataclass
class AgentResponse:
    """What an agent answered to one request."""

    tool_calls: list[ToolCall] = field(default_factory=list)
    """Every call the agent made, in its order."""
    raw: Any = None
    """The answer as the provider gave it."""
    text: str | None = None
    """What the agent said or wrote; `None` if it said nothing."""
    transcript: str | None = None
    """What the agent heard, where the provider tells."""
    problems: list[ResponseProblem] = field(default_factory=list)
    """What could not be read."""
    timed_out: bool = False
    """True when the agent had not finished when its time was up."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds from the start of the request to each event that was measured, by the name of the event."""

    def without_secrets(self) -> "AgentResponse":
        """The response with `[redacted]` for what looks like a secret; itself if nothing does."""
        known = secrets_of(self.tool_calls)
        calls = [call.without_secrets(known) for call in self.tool_calls]
        problems = [_without_secrets(each, ("message", "raw"), known) for each in self.problems]
        made = _without_secrets(self, ("raw", "text", "transcript"), known)
        kept = zip((*calls, *problems), (*self.tool_calls, *self.problems), strict=True)
        if made is self and all(one is other for one, other in kept):
            return self
        return replace(made, tool_calls=calls, problems=problems)

    @property
    def no_answer(self) -> str | None:
        """Why this is no answer, with all that was wrong with it; `None` if it is one."""
        if not any(problem.kind == "no_answer" for problem in self.problems):
            return None
        return "; ".join(problem.message for problem in self.problems)


def _without_secrets(noun: _T, names: Iterable[str], known: Collection[str]) -> _T:
    """The same without secrets in some of its fields; itself where there are none."""
    told = {name: masked(getattr(noun, name), known) for name in names}
    if all(value is getattr(noun, name) for name, value in told.items()):
        return noun
    return replace(noun, **told)


def response_of(completion: Completion) -> AgentResponse:
    """The response that a model's answer is.

    An answer that stopped early, at a limit or with an error, counts as far as it has calls. Without any it is no answer: an
    agent that could not finish must not pass for one that called nothing.
    """
    response = AgentResponse(
        tool_calls=completion.tool_calls,
        raw=completion.raw,
        text="\n".join(filter(None, (completion.text, completion.refusal))) or None,
        transcript=completion.transcript,
        problems=completion.problems,
    )
    if completion.cut_short and not completion.tool_calls and response.no_answer is None:
        message = "no call had come by then, which does not say that none would have"
        response.problems.append(ResponseProblem("no_answer", message))
    return response
