"""A thousand tool calls against a thousand: with Calipers, with pydantic_evals (names only), and greedily by hand."""

import random

from clock import processor_seconds_of

KINDS = {
    "twenty tools": lambda draw, n: (f"tool{draw(20)}", {f"a{k}": draw(30) for k in range(draw(4))}),
    "one tool, few values": lambda draw, n: ("search", {f"a{k}": draw(10) for k in range(3)}),
    "one tool, all different": lambda draw, n: (
        "search",
        {"query": f"query {draw(10**9)}", "unit": "celsius"},
    ),
    "one tool, all equal": lambda draw, n: ("search", {"query": "weather", "unit": "celsius"}),
    "one tool, nested arguments": lambda draw, n: (
        "order",
        {"item": {f"a{k}": draw(10) for k in range(4)}, "sizes": [draw(5) for _ in range(3)]},
    ),
}
"""By name, how one call is drawn."""


def calls(kind, count):
    """Two lists of calls of one kind, as names and arguments."""
    draw = random.Random(7).randrange
    return [[KINDS[kind](draw, n) for n in range(count)] for _ in range(2)]


def with_calipers(kind, count, mode):
    """Seconds for the match, its score and its reason."""
    from calipers import ToolCall
    from calipers.matching import match_calls

    expected, actual = ([ToolCall(*call) for call in side] for side in calls(kind, count))

    def run():
        match = match_calls(expected, actual, mode=mode)
        return match, match.score, match.reason

    def check(outcome):
        assert outcome[0].pairs

    return processor_seconds_of(run, check)


def with_pydantic_evals(kind, count):
    """Seconds for the longest common subsequence of names: it reads no arguments, and pairs nothing."""
    from datetime import UTC, datetime, timedelta

    from pydantic_evals.evaluators import EvaluatorContext, TrajectoryMatch
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree

    expected, actual = calls(kind, count)
    start = datetime(2025, 1, 1, tzinfo=UTC)
    tree = SpanTree()
    tree.add_spans(
        [
            SpanNode(
                name=f"execute_tool {name}",
                trace_id=1,
                span_id=number + 1,
                parent_span_id=None,
                start_timestamp=start + timedelta(seconds=number),
                end_timestamp=start + timedelta(seconds=number + 1),
                attributes={"gen_ai.tool.name": name},
            )
            for number, (name, _) in enumerate(actual)
        ]
    )
    context = EvaluatorContext(
        name=None,
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        duration=0.0,
        _span_tree=tree,
        attributes={},
        metrics={},
    )
    evaluator = TrajectoryMatch([name for name, _ in expected])

    def check(outcome):
        assert outcome.value > 0

    return processor_seconds_of(lambda: evaluator.evaluate(context), check)


def greedily(kind, count):
    """Seconds for a loop that gives each expected call the first equal one left: no partial credit, not the best."""
    expected, actual = calls(kind, count)

    def run():
        left, matched = list(actual), 0
        for call in expected:
            if call in left:
                left.remove(call)
                matched += 1
        return matched

    return processor_seconds_of(run)
