"""The steps of a trace as columns, in a few bytes a step, so that one of hundreds of thousands of steps can be read turn by turn.

What is decided about a step is decided here: which turn of a user it belongs to, when it began, how long it took, what is not known of it.
`trace_statement` makes rows of the columns.

The message of a user begins a *turn*; what follows it belongs to that turn and stands one deeper. A turn lasts until the last of
its steps ended. Of any other step the time is what was recorded.
"""

from array import array
from datetime import UTC, datetime, timedelta
from math import inf, isfinite, nan
from typing import Any, Final, Literal, TypeAlias

from calipers.data.argument_checks import is_number
from calipers.data.trace import Turn, TurnType

StepKind: TypeAlias = Literal["user", "agent", "model", "tool"]
"""A message of the user or of the agent, a request to a model, a call of a tool."""

KINDS: Final[tuple[StepKind, ...]] = ("user", "agent", "model", "tool")
_USER, _AGENT, _MODEL, _TOOL = range(len(KINDS))
_NEVER: Final = -(2**63)
"""Instead of a moment that was not recorded."""
_MOST_TOKENS: Final = 2**62
"""Beyond this, a number of tokens is nonsense."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class StepColumns:
    """The steps of a trace. Numbers that are not known are NaN, or -1 where they count."""

    def __init__(self, *, longest_label: int | None = None) -> None:
        """Columns without steps.

        Args:
            longest_label: characters of a label that are kept; `None` for all.
        """
        self.longest_label = longest_label
        self.kind = bytearray()
        """The place of its kind in `KINDS`."""
        self.label: list[str] = []
        self.parent = array("q")
        """The place of the turn it belongs to; -1 where there is none."""
        self.start_ms = array("d")
        """When it began, after the first step that has a time. Known when all steps were added and `close` was called."""
        self.took_ms = array("d")
        self.tokens_in = array("q")
        self.tokens_out = array("q")
        self.cost = array("d")
        self.failed = bytearray()
        self.error: dict[int, str] = {}
        """Why it failed, by its place, as far as that was recorded."""
        self.calls = 0
        """Calls of tools."""
        self.unpriced = 0
        """Requests whose cost is not known, except those that failed, which providers do not charge for."""
        self.extent_ms: float | None = None
        """From the start of the first step to the end of the last, as far as recorded; `None`: no step has a time."""
        self._moments = array("q")
        self._turn = -1
        self.tool_names: dict[str, str] = {}
        """The name of each tool that was called, whole and once."""
        self.model_names: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.kind)

    # ------------------------------------------------------------------ in

    def add(self, turn: Turn) -> None:
        """Add a turn of a trace."""
        call = turn.tool_call or turn.llm_call
        moment = moment_of(turn.timestamp if call is None or call.timestamp is None else call.timestamp)
        if (called := turn.tool_call) is not None:
            self.add_call(called.name, moment, called.latency_ms, called.error, success=called.success)
        elif (asked := turn.llm_call) is not None:
            self.add_request(
                asked.model,
                moment,
                asked.latency_ms,
                tokens=(asked.input_tokens, asked.output_tokens),
                cost=asked.cost,
                error=asked.metadata.get("error"),
                is_priced="error" in asked.metadata or asked.cost is not None,
            )
        else:
            self.add_message(turn.content, moment, is_user=turn.turn_type is TurnType.USER_MESSAGE)

    def add_message(self, text: str, moment: int | None, *, is_user: bool) -> None:
        """Add what the user or the agent said."""
        if is_user:
            self._turn = -1
        self._add(_USER if is_user else _AGENT, text, moment, None)
        if is_user:
            self._turn = len(self.kind) - 1

    def add_call(self, name: Any, moment: int | None, latency_ms: Any, error: Any, *, success: bool) -> None:
        """Add a call of a tool."""
        self.calls += 1
        self._add(
            _TOOL, _once(name, self.tool_names), moment, latency_ms, error=error or None, failed=not success
        )

    def add_request(
        self,
        model: Any,
        moment: int | None,
        latency_ms: Any,
        *,
        tokens: tuple[Any, Any],
        cost: Any,
        error: Any,
        is_priced: bool,
    ) -> None:
        """Add a request to a model. Every request takes some tokens: if both are 0, they were not counted."""
        self.unpriced += not is_priced
        failed = error is not None
        self._add(_MODEL, _once(model, self.model_names), moment, latency_ms, error=error, failed=failed)
        if any(tokens) and max(tokens) <= _MOST_TOKENS:
            self.tokens_in[-1], self.tokens_out[-1] = int(tokens[0]), int(tokens[1])
        self.cost[-1] = _amount(cost)

    def _add(
        self,
        kind: int,
        label: str,
        moment: int | None,
        latency_ms: Any,
        *,
        error: Any = None,
        failed: bool = False,
    ) -> None:
        if error is not None:
            self.error[len(self.kind)] = str(error)
        self.kind.append(kind)
        self.label.append(label if self.longest_label is None else label[: self.longest_label])
        self.parent.append(self._turn)
        self._moments.append(_NEVER if moment is None else moment)
        self.took_ms.append(_amount(latency_ms))
        self.tokens_in.append(-1)
        self.tokens_out.append(-1)
        self.cost.append(nan)
        self.failed.append(failed)

    def close(self) -> None:
        """Work out when steps began and how long turns lasted, once all steps are there."""
        first = min((moment for moment in self._moments if moment != _NEVER), default=0)
        self.start_ms = array(
            "d", [nan if moment == _NEVER else (moment - first) / 1000 for moment in self._moments]
        )
        ends = [
            start if took != took else start + took  # noqa: PLR0124 - not a number
            for start, took in zip(self.start_ms, self.took_ms, strict=True)
        ]
        last: dict[int, float] = {}
        for place, end in zip(self.parent, ends, strict=True):
            if end > last.get(place, -inf):
                last[place] = end
        for place, end in last.items():
            if place >= 0 and self.kind[place] == _USER and end >= self.start_ms[place]:
                self.took_ms[place] = end - self.start_ms[place]
        self.extent_ms = max((end for end in ends if end == end), default=None)  # noqa: PLR0124 - a number

    # ------------------------------------------------------------------ what it adds up to

    @property
    def requests(self) -> int:
        """Requests to models."""
        return self.kind.count(_MODEL)

    @property
    def untimed(self) -> int:
        """Steps of which it was not recorded when they began."""
        return self._moments.count(_NEVER)

    def lacking(self) -> dict[str, int]:
        """How many requests that did not fail have no tokens, and no cost."""
        asked = [place for place, kind in enumerate(self.kind) if kind == _MODEL and not self.failed[place]]
        return {
            "Tokens": sum(self.tokens_in[place] < 0 for place in asked),
            "Cost": sum(self.cost[place] != self.cost[place] for place in asked),
        }

    def total_cost(self) -> float | None:
        """What its requests cost, as far as that is known; `None` if it is known of none."""
        known = [cost for cost in self.cost if cost == cost]  # noqa: PLR0124 - a number
        return sum(known) if known else None


def _once(name: Any, known: dict[str, str]) -> str:
    """The name of a tool or a model: one text for all steps that have it."""
    text = str(name)
    return known.setdefault(text, text)


def _amount(value: Any) -> float:
    """A number that was measured, else NaN; a call may have been changed after it was made."""
    return value if value is not None and is_number(value) and isfinite(value) else nan


def moment_of(time: datetime | None) -> int | None:
    """A time in microseconds; one without a zone is taken for universal time."""
    if time is None:
        return None
    return ((time.replace(tzinfo=UTC) if time.tzinfo is None else time) - _EPOCH) // _MICROSECOND
