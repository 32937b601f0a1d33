"""What the spans of an attempt say it used, as metrics."""

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.spans import SpanNode, SpanTree, usage_metrics


def node(number, parent=None, **attributes):
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return SpanNode(
        "span",
        trace_id=1,
        span_id=number,
        parent_span_id=parent,
        start_ns=number,
        end_ns=90,
        attributes=named,
    )


CHAT = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "small"}


def test_tokens_details_cost_and_requests_add_up_over_the_spans():
    used = {
        "gen_ai__usage__input_tokens": 10,
        "gen_ai__usage__details__cached_tokens": 2,
        "operation__cost": 0.25,
    }
    tree = SpanTree([node(1, **CHAT, **used), node(2, **CHAT, **used), node(3, other=5)])
    assert usage_metrics(tree) == {"requests": 2, "input_tokens": 20, "cached_tokens": 4, "cost": 0.5}


def test_a_span_that_repeats_the_usage_inside_it_counts_for_nothing():
    used = {"gen_ai__usage__input_tokens": 10}
    tree = SpanTree([node(1, **used), node(2, 1, name="step"), node(3, 2, **CHAT, **used)])
    assert usage_metrics(tree) == {"requests": 1, "input_tokens": 10}


def test_what_is_no_request_for_text_is_no_request_but_its_tokens_count():
    embeddings = {"gen_ai__operation__name": "embeddings", "gen_ai__request__model": "e"}
    assert usage_metrics(SpanTree([node(1, **embeddings, gen_ai__usage__input_tokens=7)])) == {
        "input_tokens": 7
    }


@pytest.mark.parametrize("amount", [True, "7", float("nan"), float("inf"), -1, (1, 2)])
def test_what_is_no_amount_is_not_counted(amount):
    assert usage_metrics(SpanTree([node(1, **CHAT, gen_ai__usage__input_tokens=amount)])) == {"requests": 1}


def test_without_such_spans_there_are_no_metrics():
    assert usage_metrics(SpanTree([])) == {}
    assert usage_metrics(SpanTree([node(1, tokens=3)])) == {}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_gives_its_attempts_these_metrics_and_what_the_task_counted_itself_stands(is_async):
    from opentelemetry import trace

    def ask(inputs):
        usage = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1}
        with trace.get_tracer("t").start_as_current_span("chat", attributes=usage):
            increment_eval_metric("input_tokens", 100)
        return inputs

    async def ask_async(inputs):
        return ask(inputs)

    def seen(metrics, span_tree):
        return metrics == {"requests": 1, "input_tokens": 100, "output_tokens": 1}

    dataset = Dataset(cases=[Case(inputs="x")], evaluators=[seen])
    record = dataset.evaluate_sync(ask_async if is_async else ask, progress=False).cases[0]
    assert record.passed
    assert record.metrics == {"requests": 1, "input_tokens": 100, "output_tokens": 1}


def test_every_span_must_match_and_of_no_spans_nothing_is_shown():
    tree = SpanTree([node(1), node(2, 1)])
    assert tree.all({"name_equals": "span"})
    assert not tree.all({"min_depth": 1})
    assert [tree.count({"min_depth": depth}) for depth in range(3)] == [2, 1, 0]
    assert not SpanTree([]).all({"name_equals": "span"})


def test_a_duration_is_a_number_of_seconds_that_can_be_asked_as_a_timedelta():
    span = SpanNode("s", trace_id=1, span_id=1, start_ns=0, end_ns=1_500_000_000)
    assert span.duration == 1.5
    assert span.duration.total_seconds() == 1.5
