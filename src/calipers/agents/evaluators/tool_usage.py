"""An evaluator of the tools that an agent called, by their names.

Names are matched by `calipers.matching`, never greedily. In order, as many calls as possible are found that come in the
expected order, whatever comes between them; without order, each expected call needs a call of its own, so a tool that
is expected twice must be called twice. Other calls are allowed. For arguments, forbidden calls and the like, see
`calipers.matching`.
"""

from dataclasses import dataclass, field

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import ALL_OR_SOME, BaseEvaluator, skip
from calipers.data.argument_checks import check_texts
from calipers.data.context import NO_TOOL_CALLS, not_recorded
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.matching import match_calls


@dataclass
class ToolUsageAuditor(BaseEvaluator):
    """PASS if the agent called the expected tools, PARTIAL if it called some of them, else FAIL.

    An empty list expects that no tool is called. Skipped if the trace does not record its calls.
    """

    expected_tools: list[str] | None = None
    """The names of the tools, each as often as it should be called; `None`: those of the case's expected tool calls."""
    strict_order: bool = True
    """Whether the calls must come in this order; others may come between."""
    name: str = "tool-usage-auditor"
    count_failed: bool = field(default=True, kw_only=True)
    """Whether a call whose tool failed counts as a call."""

    def __post_init__(self) -> None:
        check_texts("expected_tools of ToolUsageAuditor", self.expected_tools, or_none=True)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        told = test_case.expected_tool_calls
        if self.expected_tools is None and told is None:
            return skip(self.name, "neither the evaluator nor the case says which tools are expected")
        if not trace.calls_known:
            return skip(self.name, NO_TOOL_CALLS)
        named = [call.name for call in told or ()] if self.expected_tools is None else self.expected_tools
        unseen = trace.unrecorded(named)
        expected = [name for name in named if name not in unseen]
        if unseen and not expected:
            return skip(self.name, not_recorded(unseen))
        match = match_calls(
            expected,
            trace.tool_calls,
            # To expect no tool is to expect exactly nothing.
            mode="exact" if not expected else "in_order" if self.strict_order else "superset",
            arguments="ignore",
            failed="count" if self.count_failed else "skip",
        )
        if unseen and match.passed:
            return skip(self.name, not_recorded(unseen))
        return ALL_OR_SOME.result(
            self.name,
            match.score,
            match.reason,
            expected_tools=list(named),
            actual_tools=[call.name for call in trace.tool_calls],
            matched_count=match.matched,
            missing_tools=sorted(call.name for call in match.missing),
        )
