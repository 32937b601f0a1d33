"""Runs and conversations among spans: `runs_in`, `conversations`.

A run is what one trace of OpenTelemetry holds: the requests to models, the tools and the agents in it. Where the agents of
one trace name different conversations, it holds as many runs.

Several spans may tell of one request: two instrumentations, an SDK that traces itself, a framework around it. Spans inside
each other, without a tool or an agent between them, are one request, whose innermost span counts its tokens; so are spans of
two conventions with the same id of the answer. Two requests that merely look alike are two.

Runs belong to one conversation if they name it. Runs that name none do if the messages say so: the first request of one
begins with all that was said in the other. A program that calls an SDK without a span of its own leaves a trace for each
request, and this is what joins them.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET

from .conventions import genai, openinference
from .conventions.family import follows_genai, step_of
from .messages import Call, Message, Result, Text, parts_of, tell_content
from .steps import AgentStep, ModelStep, ToolStep, text
from .tree import SpanNode, SpanTree

_VALUES: Final = ("model", "input_tokens", "output_tokens", "cost", "error", "response_id")
"""What each span of a request may tell."""


class Request(msgspec.Struct):
    """One request to a model, as one or several spans tell of it."""

    steps: list[ModelStep]
    """The innermost first."""

    @property
    def start_ns(self) -> int:
        """When it began."""
        return self.steps[-1].node.start_ns

    @property
    def end_ns(self) -> int:
        """When it ended."""
        return self.steps[0].node.end_ns

    def first(self, name: str) -> Any:
        """The value of the innermost span that has one."""
        return next((value for step in self.steps if (value := getattr(step, name)) is not None), None)

    def told(self) -> ModelStep:
        """What its spans tell, as if it were one: of each value that of the innermost span that has one."""
        innermost = self.steps[0]
        if len(self.steps) == 1:
            return innermost
        return msgspec.structs.replace(innermost, **{name: self.first(name) for name in _VALUES})

    def given(self) -> list[Message] | None:
        """The messages that the model was given."""
        if len(self.steps) == 1:
            return self.steps[0].read_given()
        return _fullest(step.read_given() for step in self.steps)

    def answer(self) -> list[Message] | None:
        """What it answered. A request that failed has none."""
        if len(self.steps) == 1:
            return self.steps[0].read_answer()
        return _fullest(step.read_answer() for step in self.steps)


def _fullest(readings: Iterable[list[Message] | None]) -> list[Message] | None:
    """The first of several readings that tells contents; else the first."""
    first: list[Message] | None = None
    for messages in readings:
        if messages is not None:
            if tell_content(messages):
                return messages
            first = messages if first is None else first
    return first


class Run(msgspec.Struct):
    """The steps of one trace that belong together."""

    trace_id: int
    conversation: str | None
    agents: list[AgentStep]
    requests: list[Request]
    tools: list[ToolStep]
    roots: list[SpanNode]
    start_ns: int
    """When it began."""


# ---------------------------------------------------------------------- spans to runs


class _Place(msgspec.Struct):
    """What a span passes down to those below it."""

    conversation: str | None = None
    agent: SpanNode | None = None
    """The outermost agent above."""
    request: ModelStep | None = None
    """The request that the span is part of."""
    is_inner: bool = False
    """Whether it is below a tool of an agent."""


def runs_in(tree: SpanTree) -> tuple[list[Run], list[SpanNode]]:
    """The runs among some spans, and the spans of which no convention is known."""
    places: dict[int, _Place] = {}
    found: dict[tuple[int, int], _Found] = {}
    unread: list[SpanNode] = []
    for node in tree:
        parent = node.parent
        above = _NOWHERE if parent is None else places[id(parent)]
        agent, request, is_inner = above.agent, above.request, above.is_inner
        step = step_of(node)
        if step is None:
            conversation = text(node.attributes, *genai.CONVERSATION) or above.conversation
            unread.append(node)
        else:
            conversation = step.conversation or above.conversation
            if agent is None and isinstance(step, AgentStep):
                agent = node
            key = node.trace_id, 0 if agent is None else id(agent)
            into = found.get(key)
            if into is None:
                into = found[key] = _Found(conversation)
            elif into.conversation is None:
                into.conversation = conversation
            if is_inner:
                step.is_inner = True
            if isinstance(step, ModelStep):
                into.models.append((step, request))
                request = step
            else:
                request = None
                if isinstance(step, ToolStep):
                    into.tools.append(step)
                    is_inner = agent is not None
                else:
                    into.agents.append(step)
        if node.children:
            places[id(node)] = _Place(conversation, agent, request, is_inner)
    return list(_runs(found)), unread


_NOWHERE: Final = _Place()


class _Found(msgspec.Struct):
    """The steps below one agent, or of a trace without one."""

    conversation: str | None = None
    agents: list[AgentStep] = []
    models: list[tuple[ModelStep, ModelStep | None]] = []
    """Each with the request that it is part of."""
    tools: list[ToolStep] = []


def _runs(found: dict[tuple[int, int], _Found]) -> Iterator[Run]:
    """The runs: what one trace holds, split only where its parts name different conversations."""
    if len(found) == 1:  # as most are
        (((trace_id, _), part),) = found.items()
        yield _run(trace_id, part.conversation, [part])
        return
    by_trace: dict[int, list[_Found]] = {}
    for (trace_id, _), part in found.items():
        by_trace.setdefault(trace_id, []).append(part)
    for trace_id, parts in by_trace.items():
        if len(parts) == 1:
            yield _run(trace_id, parts[0].conversation, parts)
            continue
        named = list(dict.fromkeys(part.conversation for part in parts if part.conversation is not None))
        if len(named) < 2:
            yield _run(trace_id, named[0] if named else None, parts)
            continue
        for name in named:
            yield _run(trace_id, name, [part for part in parts if (part.conversation or named[0]) == name])


def _run(trace_id: int, conversation: str | None, parts: Sequence[_Found]) -> Run:
    if len(parts) == 1:
        agents, tools, models = parts[0].agents, parts[0].tools, parts[0].models
    else:
        agents = [step for part in parts for step in part.agents]
        tools = [step for part in parts for step in part.tools]
        models = [each for part in parts for each in part.models]
    if len(tools) > 1:
        tools.sort(key=_start)
    requests = _requests(models)
    if len(requests) > 1:
        requests.sort(key=lambda request: request.steps[-1].node.start_ns)
    roots = [step.node for step in agents if step.node.parent is None] or [step.node for step in agents[:1]]
    starts = [step.node.start_ns for each in (agents[:1], tools[:1]) for step in each]
    starts += [request.start_ns for request in requests[:1]]
    return Run(trace_id, conversation, agents, requests, tools, roots, min(starts))


_start: Final = attrgetter("node.start_ns")


def _requests(models: Sequence[tuple[ModelStep, ModelStep | None]]) -> list[Request]:
    outer = {id(above) for _, above in models if above is not None}
    if not outer:
        return _without_doubles([Request([step]) for step, _ in models])
    above_of = {id(step): above for step, above in models}
    found: list[Request] = []
    taken: set[int] = set()
    for step, _ in reversed(models):  # so that of several inside one, the last tells what the outer one tells
        if id(step) in outer:
            continue
        chain = [step]
        while (above := above_of[id(chain[-1])]) is not None and id(above) not in taken:
            taken.add(id(above))
            chain.append(above)
        found.append(Request(chain))
    found.reverse()
    return _without_doubles(found)


def _without_doubles(requests: list[Request]) -> list[Request]:
    """Requests of two conventions with the same id of the answer made one."""
    if len(requests) < 2 or len({step.convention for request in requests for step in request.steps}) < 2:
        return requests
    by_answer: dict[str, Request] = {}
    found: list[Request] = []
    for request in requests:
        answer = _answer_id(request)
        first = by_answer.get(answer) if answer is not None else None
        if first is not None and {step.convention for step in first.steps}.isdisjoint(
            step.convention for step in request.steps
        ):
            first.steps += request.steps
            continue
        if answer is not None:
            by_answer[answer] = request
        found.append(request)
    return found


def _answer_id(request: Request) -> str | None:
    """The provider's id of an answer, if a span of the request has it."""
    if (answer := request.first("response_id")) is not None:
        return str(answer)
    told = (
        openinference.response_id(step.node)
        for step in request.steps
        if step.convention == openinference.CONVENTION
    )
    return next((each for each in told if each is not None), None)


def _is_bare(run: Run) -> bool:
    """Whether a run is one request and nothing else: that of a program which calls an SDK without a span of its own."""
    return len(run.requests) == 1 and not run.agents and not run.tools


def _join_doubles(runs: Iterable[Run]) -> list[Run]:
    """Bare requests of two conventions in traces of their own made one, if their answers have the same id."""
    found: list[Run] = []
    bare: list[Run] = []
    for run in runs:
        (bare if _is_bare(run) else found).append(run)
    kept = {id(each) for each in _without_doubles([run.requests[0] for run in bare])}
    return [*found, *(run for run in bare if id(run.requests[0]) in kept)]


# ---------------------------------------------------------------------- runs to conversations


def conversations(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs by conversation, each in order of time; the conversation that began first comes first."""
    ordered = sorted(_join_doubles(runs), key=lambda run: run.start_ns)
    by_name: dict[str, list[Run]] = {}
    found: list[list[Run]] = []
    ends: dict[int, list[list[Run]]] = {}
    for run in ordered:
        if run.conversation is not None:
            if run.conversation not in by_name:
                found.append(by_name.setdefault(run.conversation, []))
            by_name[run.conversation].append(run)
            continue
        home: list[Run] | None = None
        for said in reversed(_begins_with(run)):  # most of it first
            if waiting := ends.get(said):
                # The latest that no other run went on from; if all were gone on from, the latest.
                home = waiting.pop() if len(waiting) > 1 else waiting[0]
                break
        if home is None:
            home = []
            found.append(home)
        home.append(run)
        for said in _ends_with(run):
            ends.setdefault(said, []).append(home)
    return found


def _begins_with(run: Run) -> list[int]:
    """A number for each beginning of what had been said before a run, the shortest first.

    A beginning that ends where a model's answer is told in a framework's own words has a second number, for `_ends_with`.
    """
    found: list[int] = []
    if run.requests:
        running, known = 0, False
        keys = _keys(run.requests[0].given() or ())
        for place, key in enumerate(keys):
            running = _number(running, key)
            known = known or key[1] is not None
            if known:
                following = keys[place + 1][0] if place + 1 < len(keys) else "call"
                if following not in _PLAIN:
                    found.append(_number(running, _UNTOLD))
                found.append(running)
    return found


def _ends_with(run: Run) -> list[int]:
    """The numbers of all that had been said at the end of a run."""
    if not run.requests:
        return []
    last = run.requests[-1]
    given, answered = _keys(last.given() or ()), _keys(last.answer() or ())
    if not given:
        return []
    running = 0
    for key in given:
        running = _number(running, key)
    if not answered:  # it failed, and may be asked again
        return [running]
    found = [] if any(kind == "assistant" for kind, _ in answered) else [_number(running, _UNTOLD)]
    for key in answered:
        running = _number(running, key)
    return [*found, running]


_UNTOLD: Final = ("untold", None)
_PLAIN: Final = frozenset({"call", "result", "assistant", "user"})
"""What may follow where a history tells an answer as the model gave it."""


def _number(before: int, key: tuple[str, str | None]) -> int:
    """A number for a sequence: that of what came before, and one thing more. Two sequences of one number are one."""
    return hash((before, key))


def _keys(messages: Iterable[Message]) -> list[tuple[str, str | None]]:
    """What tells messages apart: texts, and the ids of calls.

    Left out are system prompts, which not all requests repeat, and what a model said before its calls, which not all instrumentations do.
    """
    found: list[tuple[str, str | None]] = []
    for role, part in parts_of(messages):
        if role == "system":
            continue
        if isinstance(part, Text):
            found.append((role, part.text))
        elif isinstance(part, Call):
            while found and found[-1][0] == "assistant":
                found.pop()
            given = "" if part.arguments is UNSET else repr(part.arguments)
            found.append(("call", part.call_id or f"{part.name}{given}"))
        elif isinstance(part, Result):
            found.append(("result", part.call_id))
    return found


# ---------------------------------------------------------------------- which traces may belong together


def conversation_of(node: SpanNode) -> str | None:
    """The conversation that a span names."""
    if not follows_genai(node):
        step = step_of(node)
        return text(node.attributes, *genai.CONVERSATION) if step is None else step.conversation
    name = node.attributes.get("gen_ai.conversation.id")
    return name if name and type(name) is str else text(node.attributes, *genai.CONVERSATION)


def linked_by_messages(spans: Iterable[SpanNode]) -> tuple[list[int], list[int]]:
    """Numbers for what was said at the end of the runs among some spans, and for what they begin with; both have those of their answers' ids."""
    runs, _ = runs_in(SpanTree(spans))
    answers = (_answer_id(run.requests[0]) for run in runs if _is_bare(run))
    same = [_number(0, ("answer", answer)) for answer in answers if answer is not None]
    return (
        [*same, *(said for run in runs for said in _ends_with(run))],
        [*same, *(said for run in runs for said in _begins_with(run))],
    )
