"""Judging how an answer came about, by the spans that the agent emits through OpenTelemetry.

pip install 'calipers[otel]'
python examples/spans.py
"""

from opentelemetry import trace

from calipers import Case, Dataset, EvaluationReason
from calipers.evaluators import HasMatchingSpan, SpanCount
from calipers.spans import SpanTree

tracer = trace.get_tracer("assistant")


def search(query: str) -> list[str]:
    with tracer.start_as_current_span("search", attributes={"query": query}) as span:
        found = ["Paris"] if "France" in query else []
        span.set_attribute("hits", len(found))
        return found


def assistant(question: str) -> str:
    with tracer.start_as_current_span("answer"):
        for query in (question, question.title(), f"{question} capital"):
            found = search(query)
            if found:
                return found[0]
        return "I do not know."


def wasted_searches(span_tree: SpanTree) -> EvaluationReason:
    queries = [span.attributes["query"] for span in span_tree.find({"has_attributes": {"hits": 0}})]
    return EvaluationReason(len(queries), f"found nothing for {queries}" if queries else None)


dataset = Dataset(
    name="capitals",
    cases=[
        Case(name="france", inputs="France"),
        Case(name="lower case", inputs="france"),
        Case(inputs="Peru"),
    ],
    evaluators=[
        HasMatchingSpan(
            {"name_equals": "search", "some_ancestor_has": {"name_equals": "answer"}},
            evaluation_name="searches",
        ),
        SpanCount({"name_equals": "search"}, maximum=2, evaluation_name="at most two"),
        wasted_searches,
    ],
)

if __name__ == "__main__":
    report = dataset.evaluate_sync(assistant)
    for case in report.cases:
        print(f"{case.name}: {case.output}")
        for result in case.results:
            print(f"  {result.name}: {result.value}", f"({result.reason})" if result.reason else "")
