"""Checks that authors run on their own adapter: `check_adapter(MyAdapter())`, and `check_agent_adapter` where it tells what an agent did.

`check_adapter` puts a few requests to the agent, one after the other and all at once, and raises one error that lists everything it
found:

- *adapter name*: it has a name, and the same each time;
- *invoke*: every request gets a `Trace`, in time, whether `invoke` is sync or async;
- *request*: the trace says what was asked, also where several requests are under way at once;
- *own trace*: each execution has a trace of its own, with an id of its own.

To `check_agent_adapter` you give an agent with a scripted model and say what it does with a few requests. They are put to it as cases of one run, each
several times and all at once, and one error lists everything that the traces lack:

- *call*: the trace shows the call of a tool, with the arguments that the model chose and no others, such as a context object that
  the framework hands to the tool; with the result and success;
- *order*: what the user said comes first, then a request to the model, the call, and the answer;
- *tokens*: the tokens of all requests to the model are counted;
- *output*: the attempt has the answer, of whatever type, and the trace has it as text;
- *failed tool*: a tool that raised is no success;
- *error*: an agent that raises fails the attempt, which keeps the trace up to there;
- *conversation*: the agent knows what was said in the turns before, and nothing of other conversations.

Where there are `turns`, their requests are first put to `check_adapter`.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calipers.data.case import Case
from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import ToolCall, Trace, TurnType
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.process.user_code import call_in_thread
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: dict[str, str] = {
    "adapter name": "give it an attribute or property `name`, a text that stays the same: reports show it",
    "invoke": "take a request as the one argument and return a Trace, or be async; raise where the agent gives no answer",
    "request": "put the request into input_text, and keep what belongs to one request out of the adapter itself",
    "own trace": "make a new Trace, or a new TraceRecorder block, for each execution",
    "call": "record each call once, with the arguments that the model chose, what the tool gave, and the id that joins both",
    "order": "record what the user said, the requests to the model and the calls in the order in which they began",
    "tokens": "record each request to the model with the tokens that the framework tells",
    "output": "return the agent's answer as it is, and put its text into output_text of the trace",
    "failed tool": "record why the tool failed as the error of the call; success=False says so where there is no text",
    "error": "let the error pass, from within the recording: the attempt then keeps what was recorded",
    "conversation": "keep the messages in `state`, which each conversation has its own of, and not in the adapter or the agent",
}
"""What to do about a finding, by its rule."""

REQUESTS = ("Hello.", "What can you do?", "Grüße aus 東京")
"""What an agent is asked if nothing else is given."""

_TIMES = 3
"""How often each request of `check_agent_adapter` is made."""


def check_adapter(adapter: Any, *, requests: Sequence[Any] = REQUESTS, timeout: float = 60.0) -> list[Trace]:
    """Check that an adapter keeps the contract, and give the traces of the requests.

    Args:
        adapter: the adapter.
        requests: what to ask the agent; all different. Each is asked twice.
        timeout: seconds that each answer may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
        InvalidOptionError: there are no two different requests.
    """
    if len({safe_repr(request) for request in requests}) < max(2, len(requests)):
        raise InvalidOptionError(f"an adapter is asked at least two different things, got {requests!r:.200}")
    findings: dict[Finding, None] = {}  # each once, in order

    def found(rule: str, problem: str) -> None:
        findings[Finding(rule, problem, advice=ADVICE[rule])] = None

    names = [getattr(adapter, "name", None), getattr(adapter, "name", None)]
    if not isinstance(names[0], str) or not names[0].strip():
        found("adapter name", f"the name is {safe_repr(names[0])}, not a non-empty text")
    elif names[0] != names[1]:
        found("adapter name", f"the name is {names[0]!r} at first and {names[1]!r} later")
    traces: list[Trace] = []
    if callable(getattr(adapter, "invoke", None)):
        traces = run_sync(lambda: _ask_all(adapter, requests, timeout, found))
        if len({trace.trace_id for trace in traces}) < len(traces):
            found("own trace", f"{len(traces)} executions share a trace_id")
    else:
        found("invoke", f"{safe_repr(adapter)} has no method `invoke`")
    if findings:
        name = names[0] if isinstance(names[0], str) else type(adapter).__name__
        raise ConformanceError(name, list(findings), "an adapter")
    return traces[: len(requests)]


async def _ask_all(
    adapter: Any, requests: Sequence[Any], seconds: float, found: Callable[[str, str], None]
) -> list[Trace]:
    """The traces of all requests, asked one after the other and then at once."""
    answers = [(request, await _ask(adapter, request, seconds)) for request in requests]
    together = await asyncio.gather(*(_ask(adapter, request, seconds) for request in requests))
    answers += zip(requests, together, strict=True)
    traces = []
    for number, (request, answer) in enumerate(answers):
        when = "one of several at once" if number >= len(requests) else "alone"
        if isinstance(answer, BaseException):
            found("invoke", f"asked {safe_repr(request)} ({when}), it raised {error_text(answer)}")
        elif not isinstance(answer, Trace):
            found(
                "invoke", f"asked {safe_repr(request)} ({when}), it gave {safe_repr(answer):.200}, no Trace"
            )
        else:
            traces.append(answer)
            asked = request if isinstance(request, str) else str(request)
            if answer.input_text != asked:
                found(
                    "request",
                    f"asked {asked!r} ({when}), the trace has input_text={answer.input_text!r:.200}",
                )
    return traces


async def _ask(adapter: Any, request: Any, seconds: float) -> Any:
    """What `invoke` gives, or the error it raises. A blocking one is called in a thread."""

    async def asked() -> Any:
        given = await call_in_thread(adapter.invoke, request)
        return await given if inspect.isawaitable(given) else given

    try:
        return await asyncio.wait_for(asked(), seconds)
    except TimeoutError as error:
        return TimeoutError(f"no answer within {seconds:g} s") if not str(error) else error
    except Exception as error:
        return error


def check_agent_adapter(
    adapter: Any,
    *,
    request: Any,
    call: ToolCall,
    output: Any,
    tokens: tuple[int, int] | None = None,
    failing: Any = None,
    raising: Any = None,
    turns: Mapping[str, str] | None = None,
) -> Trace:
    """Check that an adapter tells what its agent does, and give the trace of the request.

    ```python
    check_agent_adapter(
        MyAdapter(agent),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output="gold found"),
        output="There is gold.",
        tokens=(14, 6),
        failing="find fire",
    )
    ```

    Args:
        adapter: the adapter, with an agent whose model is scripted.
        request: what makes the agent call one tool, once, and then answer.
        call: that call, with its arguments and its output.
        output: the agent's answer.
        tokens: of all requests to the model, those in and those out; `None`: the framework does not tell.
        failing: a request on which the tool raises.
        raising: a request on which the agent raises.
        turns: the requests of a conversation, each with the answer to it; `None`: the agent keeps no history.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    if turns:
        check_adapter(adapter, requests=[request, *(each for each in turns if each != request)])
    check = _AgentCheck(request, call)
    report = Dataset(cases=_cases(request, failing, raising, turns)).evaluate_sync(adapter, progress=False)
    records = _by_name(report)
    for record in records["request"]:
        check.request(record, output, tokens)
    for record in records.get("failing", ()):
        check.failing(record)
    for record in records.get("raising", ()):
        check.raising(record, raising)
    for record in records.get("talk", ()):
        check.talk(record, list((turns or {}).values()))
    if check.findings:
        raise ConformanceError(str(getattr(adapter, "name", adapter)), list(check.findings), "an adapter")
    trace = records["request"][0].trace
    assert trace is not None
    return trace


def _cases(request: Any, failing: Any, raising: Any, turns: Mapping[str, str] | None) -> list[Case]:
    asked = {"request": request, "failing": failing, "raising": raising}
    cases = [
        Case(name=f"{name} {number}", inputs=inputs)
        for number in range(_TIMES)
        for name, inputs in asked.items()
        if inputs is not None
    ]
    if turns:
        cases += [Case(name=f"talk {number}", turns=list(turns)) for number in range(_TIMES)]
    return cases


def _by_name(report: Report) -> dict[str, list[ReportCase | ReportCaseFailure]]:
    found: dict[str, list[ReportCase | ReportCaseFailure]] = {}
    records: list[ReportCase | ReportCaseFailure] = [*report.cases, *report.failures]
    for record in records:
        found.setdefault(record.name.partition(" ")[0], []).append(record)
    return found


class _AgentCheck:
    """What was found, each once and in order."""

    def __init__(self, request: Any, call: ToolCall) -> None:
        self.asked = request
        self.call = call
        self.findings: dict[Finding, None] = {}

    def found(self, rule: str, problem: str) -> None:
        """Note a finding."""
        self.findings[Finding(rule, problem, advice=ADVICE[rule])] = None

    def request(
        self, record: ReportCase | ReportCaseFailure, output: Any, tokens: tuple[int, int] | None
    ) -> None:
        """The request on which all goes well."""
        asked = f"asked {safe_repr(self.asked)}"
        if isinstance(record, ReportCaseFailure):
            self.found("output", f"{asked}, the attempt failed: {record.error_message}")
        elif record.output != output:
            self.found(
                "output", f"{asked}, the output is {safe_repr(record.output)}, not {safe_repr(output)}"
            )
        elif record.trace is not None and isinstance(output, str) and record.trace.output_text != output:
            self.found("output", f"{asked}, output_text of the trace is {record.trace.output_text!r}")
        trace = record.trace
        if trace is None or not trace.records_calls:
            self.found("call", f"{asked}, there is no trace that says it has all calls")
            return
        wanted = self.call
        told = [_told(each) for each in trace.tool_calls]
        if told != [(wanted.name, wanted.arguments, wanted.output, True, ())]:
            self.found(
                "call",
                f"{asked}, the calls are {safe_repr(told)} (name, arguments, output, success, unknown), not one of"
                f" {wanted.name!r} with {safe_repr(wanted.arguments)} and {safe_repr(wanted.output)}",
            )
        kinds = [turn.turn_type for turn in trace.turns]
        ends = (TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE)
        is_asked = tokens is None or TurnType.LLM_CALL in kinds[: _place(kinds, TurnType.TOOL_CALL)]
        if (*kinds[:1], *kinds[-1:]) != ends or not is_asked:
            self.found("order", f"{asked}, the turns are {[kind.value for kind in kinds]}")
        counted = trace.total_input_tokens, trace.total_output_tokens
        if tokens is not None and counted != tuple(tokens):
            self.found("tokens", f"{asked}, {counted} tokens were counted, not {tuple(tokens)}")

    def failing(self, record: ReportCase | ReportCaseFailure) -> None:
        """The request on which the tool raises, after which the agent may go on or not."""
        calls = record.trace.tool_calls if record.trace is not None else ()
        if not calls or calls[0].name != self.call.name:
            self.found("failed tool", f"there is no call of {self.call.name!r}, but {safe_repr(calls)}")
        elif calls[0].success and "success" not in calls[0].unknown:
            self.found("failed tool", f"the call that raised is told as a success: {safe_repr(calls[0])}")

    def raising(self, record: ReportCase | ReportCaseFailure, asked: Any) -> None:
        """The request on which the agent raises."""
        if isinstance(record, ReportCase):
            self.found("error", f"asked {safe_repr(asked)}, the agent answered {safe_repr(record.output)}")
        elif record.trace is None or record.trace.input_text != str(asked):
            self.found("error", f"asked {safe_repr(asked)}, the attempt failed without the trace up to there")

    def talk(self, record: ReportCase | ReportCaseFailure, wanted: list[str]) -> None:
        """A conversation, one of several at once."""
        if isinstance(record, ReportCaseFailure):
            self.found("conversation", f"it failed: {record.error_message}")
            return
        answers = [node.response for node in record.output.walk()]
        if answers != wanted:
            self.found("conversation", f"the answers are {answers}, not {wanted}")


def _told(call: ToolCall) -> tuple[Any, ...]:
    return call.name, call.arguments, call.output, call.success, tuple(call.unknown)


def _place(kinds: list[TurnType], kind: TurnType) -> int:
    return kinds.index(kind) if kind in kinds else len(kinds)
