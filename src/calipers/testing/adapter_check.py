"""A check that authors run on their own adapter: `check_adapter(MyAdapter())`.

It puts a few requests to the agent, one after the other and all at once, and raises one error that lists everything it
found:

- *adapter name*: it has a name, and the same each time;
- *invoke*: every request gets a `Trace`, in time, whether `invoke` is sync or async;
- *request*: the trace says what was asked, also where several requests are under way at once;
- *own trace*: each execution has a trace of its own, with an id of its own.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from calipers.data.jsonable import safe_repr
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.process.user_code import call_in_thread
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: dict[str, str] = {
    "adapter name": "give it an attribute or property `name`, a text that stays the same: reports show it",
    "invoke": "take a request as the one argument and return a Trace, or be async; raise where the agent gives no answer",
    "request": "put the request into input_text, and keep what belongs to one request out of the adapter itself",
    "own trace": "make a new Trace, or a new TraceRecorder block, for each execution",
}
"""What to do about a finding, by its rule."""

REQUESTS = ("Hello.", "What can you do?", "Grüße aus 東京")
"""What an agent is asked if nothing else is given."""


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
