"""What an attempt spent on models: the agent's part, and that of the evaluators that judged it.

The agent's part is in the metrics of the attempt. What an evaluator spent is in the `metadata` of the first of its results, or of its
failure or skip, under "metrics", so that it counts once however many results it gives. `judge_cost` is the sum of all evaluators of
an attempt; wherever a metric can be named, it can be named like one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from .argument_checks import is_number
from .result import EvaluationResult, EvaluatorFailure, SkippedEvaluation
from .trace import Trace


class Judged(Protocol):
    """The record of an attempt that evaluators judged: a `ReportCase`."""

    results: tuple[EvaluationResult, ...]
    evaluator_failures: tuple[EvaluatorFailure, ...]
    skipped: tuple[SkippedEvaluation, ...]


REQUESTS: Final = "requests"
"""Requests to models."""
INPUT_TOKENS: Final = "input_tokens"
OUTPUT_TOKENS: Final = "output_tokens"
COST: Final = "cost"
"""US dollars, of the calls whose price is known."""
UNPRICED_CALLS: Final = "unpriced_calls"
"""Calls whose price is not known: with these, the cost is a lower bound."""
PAID_BEFORE: Final = "paid_before"
"""The part of the cost that answers from a cache had cost: paid when they were given, and not now."""
SPENDING: Final = (REQUESTS, INPUT_TOKENS, OUTPUT_TOKENS, COST, UNPRICED_CALLS, PAID_BEFORE)
JUDGE_COST: Final = "judge_cost"
JUDGE_UNPRICED_CALLS: Final = "judge_unpriced_calls"
_MOST: Final = 1e100
"""Beyond this it is no amount of anything that is spent, and sums overflow."""
UNPRICED: Final = {COST: UNPRICED_CALLS, JUDGE_COST: JUDGE_UNPRICED_CALLS}
"""For each cost the metric that counts the calls it lacks."""
BESIDE_COSTS: Final = frozenset({*UNPRICED.values(), PAID_BEFORE})
"""Metrics that say something about a cost, and are no measure of their own."""


_load_prices: Callable[[], Sequence[str]] | None = None
_priced_calls = 0


def take_prices_from(load: Callable[[], Sequence[str]]) -> None:
    """Have a function load the prices of models, and say which they are; from when model calls may be made."""
    global _load_prices  # noqa: PLW0603
    _load_prices = load


def note_priced_call() -> None:
    """Note that the prices were looked into."""
    global _priced_calls  # noqa: PLW0603
    _priced_calls += 1


class PricesInUse:
    """The prices of a run: loaded before it begins, since that takes time which is not the agent's."""

    def __init__(self) -> None:
        self._calls = _priced_calls
        if _load_prices is not None:
            _load_prices()

    @property
    def sources(self) -> list[str]:
        """Which they are; none if no model was asked since."""
        return [] if _load_prices is None or _priced_calls == self._calls else list(_load_prices())


def spent_by_judges(record: Judged) -> dict[str, dict[str, float]]:
    """What each evaluator spent on an attempt, by its name; without those of which nothing is known."""
    if not record.evaluator_failures and not record.skipped:
        for result in record.results:  # of most attempts nothing was noted
            if result.metadata:
                break
        else:
            return {}
    found: dict[str, dict[str, float]] = {}
    heard: set[str] = set()
    # In the order in which notes are put down: the first of what an evaluator said has them.
    told: list[tuple[str, dict[str, Any] | None]] = [
        *((result.evaluator, result.metadata) for result in record.results),
        *((failure.name, failure.metadata) for failure in record.evaluator_failures),
        *((skip.evaluator, skip.metadata) for skip in record.skipped),
    ]
    for name, metadata in told:
        if name not in heard:
            heard.add(name)
            if metadata and (spent := spent_of(metadata.get("metrics"))):
                found[name] = spent
    return found


def paid_now(spent: Mapping[str, float]) -> float:
    """The part of a cost that was not paid before."""
    return max(0.0, spent.get(COST, 0.0) - spent.get(PAID_BEFORE, 0.0))


def judge_metrics(record: Judged) -> dict[str, float]:
    """What all evaluators of an attempt spent, as metrics of the attempt; empty if nothing is known of it."""
    spent = spent_by_judges(record)
    found: dict[str, float] = {}
    for total, part in ((JUDGE_COST, COST), (JUDGE_UNPRICED_CALLS, UNPRICED_CALLS)) if spent else ():
        amounts = [one[part] for one in spent.values() if part in one]
        if amounts:
            found[total] = sum(amounts)
    return found


def trace_metrics(trace: Trace) -> dict[str, int | float]:
    """What the requests of a recorded trace spent, as metrics; without what the recording does not say."""
    found: dict[str, int | float] = {}
    if trace.llm_calls:
        found[REQUESTS] = len(trace.llm_calls)
    if trace.tokens_measured:
        found |= {INPUT_TOKENS: trace.total_input_tokens, OUTPUT_TOKENS: trace.total_output_tokens}
    if trace.total_cost is not None:
        found[COST] = trace.total_cost
    if trace.unpriced_calls:
        found[UNPRICED_CALLS] = trace.unpriced_calls
    return found


def spent_of(metrics: Any) -> dict[str, float]:
    """What was spent, among what was counted, which may be anything."""
    if not isinstance(metrics, Mapping):
        return {}
    return {
        name: metrics[name]
        for name in SPENDING
        if is_number(metrics.get(name)) and 0 <= metrics[name] < _MOST
    }
