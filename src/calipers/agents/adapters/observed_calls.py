"""`ObservedCalls`: what an agent did, as the callbacks of its framework tell it while it runs.

Calls are in the order in which they began, and those that one answer asks for in the order in which it names them: threads run these at
once, and which of them comes first is chance. A model asks for calls, and tools run them; both are one call where the id is the
same, with the arguments that the model chose. A call that was asked for and not run has the result that the model was given, and
without one it is unknown what became of it. Any number of threads may tell at once.
"""

import threading
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from msgspec import UNSET

from calipers.agents.event_log import UNFINISHED, turn_of
from calipers.agents.injected_parameters import is_injected_value
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.spans.messages import Call, Result


class ObservedCalls:
    """The calls of one execution.

    Args:
        asked: what the user said.
    """

    def __init__(self, asked: str) -> None:
        said = Turn(turn_type=TurnType.USER_MESSAGE, content=asked, timestamp=datetime.now(UTC))
        self._events: list[Turn | ToolCall | LLMCall] = [said] if asked else []
        self._began: dict[Hashable, tuple[ToolCall | LLMCall, float]] = {}
        self._asked: dict[str, Call] = {}
        self._together: dict[str, tuple[int, int]] = {}
        """Of each id of a call that was asked for: which answer did, and its place in it."""
        self._run: set[str] = set()
        self._lock = threading.Lock()

    def tool_begins(
        self, key: Hashable, name: str, arguments: Mapping[str, Any] | None, call_id: str | None = None
    ) -> None:
        """A tool begins to run. The model's own arguments are used where it asked for a call of this id."""
        with self._lock:
            wanted = self._wanted(name, arguments) if call_id is None else call_id
            asked = self._asked.get(wanted)
            if asked is not None and call_id is None:
                call_id = asked.call_id
            elif asked is not None and asked.arguments is not UNSET:
                arguments = asked.arguments
            chosen = {
                each: value for each, value in (arguments or {}).items() if not is_injected_value(value)
            }
            self._run.add(wanted)
            self._begin(key, ToolCall(name, chosen, call_id=call_id, timestamp=datetime.now(UTC)))

    def tool_ends(self, key: Hashable, output: Any = None, *, error: str | None = None) -> None:
        """A tool has run."""
        with self._lock:
            if (call := self._end(key)) is not None and isinstance(call, ToolCall):
                call.output, call.error, call.success = output, error, error is None

    def model_begins(self, key: Hashable, model: str) -> None:
        """A model is asked."""
        with self._lock:
            self._begin(key, LLMCall(model=model, timestamp=datetime.now(UTC)))

    def model_ends(
        self,
        key: Hashable,
        said: str = "",
        *,
        calls: Iterable[Call] = (),
        model: str | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost: float | None = None,
        error: str | None = None,
    ) -> None:
        """A model has answered, with these calls, or has failed."""
        with self._lock:
            call = self._end(key)
            if not isinstance(call, LLMCall):
                return
            call.model = model or call.model
            call.output_text, call.cost = said, cost
            call.input_tokens, call.output_tokens = input_tokens, output_tokens
            if error is not None:
                _fail(call, error)
            answer = len(self._asked)
            for place, asked in enumerate(calls):
                self._asked[asked.call_id or f"\0{len(self._asked)}"] = asked
                if asked.call_id:
                    self._together[asked.call_id] = answer, place

    def results_given(self, results: Iterable[Result]) -> None:
        """A model is given the results of calls: of those that no tool ran, such as calls of a tool that does not exist."""
        with self._lock:
            for result in results:
                asked = self._asked.get(result.call_id or "")
                if asked is None or asked.call_id in self._run:
                    continue
                self._run.add(asked.call_id or "")
                output = None if result.output is UNSET else result.output
                call = _call(asked, ("output",) if result.output is UNSET else ())
                if result.failed:
                    call.error, call.success = output if isinstance(output, str) else "failed", False
                else:
                    call.output = output
                self._events.append(call)

    def not_run(self, error: str) -> None:
        """What was asked for until now and has not run will not: these calls failed."""
        with self._lock:
            for key, asked in self._asked.items():
                if key not in self._run:
                    self._run.add(key)
                    self._events.append(call := _call(asked, ()))
                    _fail(call, error)

    def broke_off(self, error: str) -> None:
        """The agent raised: if one call was under way, that is the one that failed."""
        with self._lock:
            if len(self._began) == 1:
                (call, _), *_ = self._began.values()
                _fail(call, error)
                self._began.clear()

    def take_back_answers(self) -> None:
        """The calls that no tool ran were no calls: by them the model gave its answer."""
        with self._lock:
            names = {asked.name for key, asked in self._asked.items() if key not in self._run}
            self._asked = {key: asked for key, asked in self._asked.items() if asked.name not in names}
            self._events = [
                each for each in self._events if not isinstance(each, ToolCall) or each.name not in names
            ]

    @property
    def trace(self) -> Trace:
        """What was told so far."""
        with self._lock:
            for call, _ in self._began.values():
                _fail(call, UNFINISHED)
            left = [
                _call(asked, ("output", "success"))
                for key, asked in self._asked.items()
                if key not in self._run
            ]
            turns = [
                each if isinstance(each, Turn) else turn_of(each)
                for each in self._in_order([*self._events, *left])
            ]
        return Trace(turns=turns, records_calls=True)

    def _in_order(self, events: list[Turn | ToolCall | LLMCall]) -> list[Turn | ToolCall | LLMCall]:
        """The events, with the calls of an answer in the order in which it names them, at the places that these calls have."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        calls: defaultdict[int, list[tuple[int, ToolCall]]] = defaultdict(list)
        for place, event in enumerate(events):
            known = self._together.get(event.call_id or "") if isinstance(event, ToolCall) else None
            if known is not None and isinstance(event, ToolCall):
                places[known[0]].append(place)
                calls[known[0]].append((known[1], event))
        for answer, found in calls.items():
            for place, (_, call) in zip(places[answer], sorted(found, key=lambda each: each[0]), strict=True):
                events[place] = call
        return events

    def _wanted(self, name: str, arguments: Mapping[str, Any] | None) -> str:
        """The call of a tool that was asked for and has not run: one with these arguments, else the first."""
        fitting = [key for key, asked in self._asked.items() if asked.name == name and key not in self._run]
        equal = (key for key in fitting if self._asked[key].arguments == arguments)
        return next(equal, fitting[0] if fitting else "")

    def _begin(self, key: Hashable, call: ToolCall | LLMCall) -> None:
        self._events.append(call)
        self._began[key] = call, perf_counter()

    def _end(self, key: Hashable) -> ToolCall | LLMCall | None:
        call, began = self._began.pop(key, (None, 0.0))
        if call is not None:
            call.latency_ms = (perf_counter() - began) * 1000
        return call


def _fail(call: ToolCall | LLMCall, error: str) -> None:
    if isinstance(call, ToolCall):
        call.error, call.success = error, False
    else:
        call.metadata = {"error": error}


def _call(asked: Call, unknown: Iterable[str]) -> ToolCall:
    """A call that a model asked for."""
    given = asked.arguments
    missing = ("arguments", *unknown) if given is UNSET else unknown
    return ToolCall(
        asked.name,
        {} if given is UNSET else given,
        call_id=asked.call_id,
        timestamp=datetime.now(UTC),
        unknown=missing,
    )
