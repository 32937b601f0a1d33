"""Evaluators of what an agent used: time, tokens and money.

Within the budget, the score falls in a straight line from 1 (nothing used) to 0.5 (all of it used). So a pass that used
much does not look like a failure when scores are averaged. Beyond the budget, a late answer scores 0; the score for
tokens and money goes on falling, to 0 at twice the budget.

A trace without a measured time, without token counts, or without a known cost is skipped. So is one whose known cost is within
the budget while some of its calls have no known price: it may have cost more.
"""

from dataclasses import dataclass

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import BaseEvaluator, Scale, skip
from calipers.data.argument_checks import check_number, check_share, check_whole_number
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import dollars, plural

_ALL_USED = 0.5
"""The score of a budget that is used up exactly."""


@dataclass
class LatencyBudgetEvaluator(BaseEvaluator):
    """PASS if the agent was well within its time, PARTIAL if it was just in time, FAIL if it was late."""

    budget_ms: float = 5000
    """The longest time allowed, in milliseconds, itself included."""
    warn_pct: float = 0.8
    """The share of the budget beyond which a PASS becomes a PARTIAL; 1 for no PARTIAL."""
    name: str = "latency-budget"

    def __post_init__(self) -> None:
        check_number("budget_ms of LatencyBudgetEvaluator", self.budget_ms, above=0)
        check_share("warn_pct of LatencyBudgetEvaluator", self.warn_pct, or_zero=False)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        if not trace.latency_measured:
            return skip(self.name, "no time was measured")
        actual = trace.total_latency_ms
        used = actual / self.budget_ms
        warning = f", more than {self.warn_pct:.0%}" if self.warn_pct < used <= 1 else ""
        return Scale(_left(self.warn_pct), _ALL_USED).result(
            self.name,
            _left(used) if used <= 1 else 0.0,
            f"took {round(actual, 3):.12g} ms, {used:.0%} of the budget of {self.budget_ms:.12g} ms{warning}",
            actual_ms=actual,
            budget_ms=self.budget_ms,
            utilization=round(used, 4),
        )


@dataclass
class TokenBudgetEvaluator(BaseEvaluator):
    """PASS if the agent kept within each limit of tokens, else FAIL; the limit that is used most gives the score."""

    max_total_tokens: int = 10_000
    """Of input and output together; 0 for no limit."""
    max_input_tokens: int = 0
    """0 for no limit."""
    max_output_tokens: int = 0
    """0 for no limit."""
    name: str = "token-budget"

    def __post_init__(self) -> None:
        limits = {
            "max_total_tokens": self.max_total_tokens,
            "max_input_tokens": self.max_input_tokens,
            "max_output_tokens": self.max_output_tokens,
        }
        for option, limit in limits.items():
            check_whole_number(f"{option} of TokenBudgetEvaluator", limit, at_least=0)
        if not any(limits.values()):
            raise InvalidOptionError(
                f"TokenBudgetEvaluator needs a limit above 0: one of {', '.join(limits)}; "
                "without one everything would pass"
            )

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        if not trace.tokens_measured:
            return skip(self.name, "no tokens were counted")
        given, made = trace.total_input_tokens, trace.total_output_tokens
        limits = [
            ("total", given + made, self.max_total_tokens),
            ("input", given, self.max_input_tokens),
            ("output", made, self.max_output_tokens),
        ]
        used = [(count / limit, kind, count, limit) for kind, count, limit in limits if limit]
        violations = [
            f"{count} {kind} tokens, allowed {limit}" for share, kind, count, limit in used if share > 1
        ]
        share, kind, count, limit = max(used)
        return Scale(_ALL_USED).result(
            self.name,
            max(0.0, _left(share)),
            "; ".join(violations) or f"{count} {kind} tokens, {share:.0%} of the {limit} allowed",
            total_tokens=given + made,
            input_tokens=given,
            output_tokens=made,
            utilization=round(share, 4),
            violations=violations,
        )


@dataclass
class CostBudgetEvaluator(BaseEvaluator):
    """PASS if the models that the agent asked cost no more than allowed, else FAIL."""

    max_cost: float
    """US dollars, for one attempt."""
    name: str = "cost-budget"

    def __post_init__(self) -> None:
        check_number("max_cost of CostBudgetEvaluator", self.max_cost, above=0, of="dollars")

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        cost, unpriced = trace.total_cost, trace.unpriced_calls
        if cost is None:
            return skip(self.name, "no cost is known")
        used = cost / self.max_cost
        lacking = f"{plural(unpriced, 'call')} without a known price" if unpriced else ""
        if used <= 1 and lacking:
            return skip(self.name, f"it cost at least {dollars(cost)}: {lacking}")
        least = "at least " if lacking else ""
        return Scale(_ALL_USED).result(
            self.name,
            max(0.0, _left(used)),
            f"cost {least}{dollars(cost)}, {used:.0%} of the {dollars(self.max_cost)} allowed",
            cost=cost,
            unpriced_calls=unpriced,
            utilization=round(used, 4),
        )


def _left(used: float) -> float:
    """The score for a share of the budget: 1 for nothing, one half for all of it, 0 for twice as much."""
    return 1 - used * (1 - _ALL_USED)
