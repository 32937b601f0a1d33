"""The same answers, judged by evaluators of all five styles in one list.

python examples/five_styles.py
"""

from dataclasses import dataclass
from typing import Any

from calipers import (
    Case,
    Dataset,
    EvaluationReason,
    Evaluator,
    EvaluatorContext,
    ToolCall,
    Trace,
    record_trace,
)
from calipers.report.analysis import Aggregate


@dataclass
class Turn:
    """One answer of a conversation, with those that follow it."""

    text: str
    children: list["Turn"]


def assistant(question: str) -> Turn:
    """Look the answer up, say it, and offer more if the question was polite."""
    calls = [ToolCall("look_up", {"query": question}, output="Paris")]
    record_trace(Trace(input_text=question, output_text="Paris", tool_calls=calls))
    offers = [Turn("Anything else?", [])] if "please" in question else []
    return Turn("", [Turn("It is Paris.", offers)])


# 1. a function whose parameters are named for what it needs
def mentions_paris(output: Turn) -> bool:
    return "Paris" in output.children[0].text


# 2. an Evaluator: its fields are its parameters
@dataclass
class FitsOneLine(Evaluator):
    width: int = 80

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        longest = max(len(turn.text) for turn in ctx.output.children)
        return EvaluationReason(longest <= self.width, f"{longest} characters, allowed are {self.width}")


# 3. any object with evaluate(expected, actual): here tool calls, because the cases expect tool calls
class SameToolsCalled:
    def evaluate(self, expected: list[ToolCall], actual: list[ToolCall]) -> bool:
        return [call.name for call in expected] == [call.name for call in actual]


# 4. any object with evaluate(test_case, trace)
class CallsPerWord:
    def evaluate(self, test_case: Case, trace: Trace) -> float:
        return len(trace.tool_calls) / len(test_case.input_text.split())


# 5. a rollout metric: compute_metrics for one conversation, aggregate_metrics for all of them
@dataclass
class Metrics:
    overall: dict
    per_turn: list


class Depth:
    def compute_metrics(self, graph: Turn) -> Metrics:
        depth = 0
        while graph.children:
            graph, depth = graph.children[0], depth + 1
        return Metrics({"depth": depth}, [])

    def aggregate_metrics(self, all_metrics: list[Metrics]) -> dict:
        return {"deepest": max(metrics.overall["depth"] for metrics in all_metrics)}


expected = [ToolCall("look_up")]
dataset: Dataset[str, Any, None] = Dataset(
    name="capitals",
    cases=[
        Case(name="plain", inputs="capital of France?", expected_output=expected),
        Case(name="polite", inputs="the capital of France, please?", expected_output=expected),
    ],
    evaluators=[mentions_paris, FitsOneLine(40), SameToolsCalled(), CallsPerWord(), Depth()],
)

if __name__ == "__main__":
    report = dataset.evaluate_sync(assistant)
    for case in report.cases:
        print(case.name, {result.name: result.value for result in case.results})
    found = report.analysis(Aggregate)
    print(found.title, found.data)
