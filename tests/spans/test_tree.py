import copy
import dataclasses
import json
import pickle
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, increment_eval_metric
from calipers.spans import SpanEvent, SpanNode, SpanTree, usage_metrics
from calipers.spans.tree import read_span

MS = 1_000_000


def span(name, span_id, parent=None, *, start=0, end=None, trace=1, **kwargs):
    """A span with times in milliseconds."""
    end = start + 1 if end is None else end
    return SpanNode(
        name,
        trace_id=trace,
        span_id=span_id,
        parent_span_id=parent,
        start_ns=start * MS,
        end_ns=end * MS,
        **kwargs,
    )


def test_a_span_that_is_read_is_one_like_any_other():
    node = span(
        "run",
        2,
        1,
        attributes={"a": 1},
        status="error",
        events=(SpanEvent("x", time_ns=3),),
        status_message="down",
    )
    fields = (
        "name",
        "trace_id",
        "span_id",
        "parent_span_id",
        "start_ns",
        "end_ns",
        "attributes",
        "status",
        "events",
        "status_message",
    )
    read = read_span(*(getattr(node, name) for name in fields))
    assert [getattr(read, each.name) for each in dataclasses.fields(SpanNode)] == [
        getattr(node, each.name) for each in dataclasses.fields(SpanNode)
    ]


def agent_run():
    return [
        span("run", 1, start=0, end=1500),
        span("plan", 2, 1, start=1, end=2),
        span("search", 3, 1, start=3, end=9, status="error"),
        span("http", 4, 3, start=4, end=5),
        span("http", 5, 3, start=6, end=8),
        span("answer", 6, 1, start=10, end=12, status="ok"),
    ]


def names(spans):
    return [s.name for s in spans]


def ids(spans):
    return [s.span_id for s in spans]


@st.composite
def wild_spans(draw):
    """Spans whose parents may be present, missing, themselves, or their own descendants."""
    count = draw(st.integers(0, 12))
    times = draw(st.permutations(range(count)))
    return [
        span(
            draw(st.sampled_from("abc")),
            i,
            draw(st.none() | st.integers(0, count + 1)),
            start=times[i],
            end=times[i] + draw(st.integers(0, 5)),
            trace=draw(st.sampled_from([1, 1, 1, 2])),
            status=draw(st.sampled_from(["unset", "ok", "error"])),
            attributes=draw(
                st.dictionaries(st.text(max_size=2), st.none() | st.integers() | st.floats(), max_size=2)
            ),
            events=tuple(
                SpanEvent("e", time_ns=t, attributes={"b": b"x"})
                for t in draw(st.lists(st.integers(), max_size=2))
            ),
        )
        for i in range(count)
    ]


def test_spans_are_linked_to_parents_and_children():
    tree = SpanTree(agent_run())
    run = tree.roots[0]
    assert names(tree.roots) == ["run"]
    assert names(run.children) == ["plan", "search", "answer"]
    assert run.parent is None
    assert all(child.parent is run for child in run.children)
    assert [node.depth for node in tree] == [0, 1, 1, 2, 2, 1]


def test_iteration_visits_a_span_before_its_children_and_the_first_child_first():
    tree = SpanTree(agent_run())
    assert ids(tree) == [1, 2, 3, 4, 5, 6]
    assert ids(tree.roots[0].descendants) == [2, 3, 4, 5, 6]
    assert len(tree) == 6


def test_ancestors_come_nearest_first():
    tree = SpanTree(agent_run())
    assert names(tree.first(lambda s: s.span_id == 4).ancestors) == ["search", "run"]


@pytest.mark.parametrize("order", [[5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2]])
def test_the_order_of_arrival_does_not_matter(order):
    spans = agent_run()
    assert SpanTree([spans[i] for i in order]) == SpanTree(agent_run())


def test_children_that_start_together_are_ordered_by_their_end_and_then_as_given():
    spans = [span("root", 1, end=9), span("b", 2, 1, start=1, end=5), span("a", 3, 1, start=1, end=2)]
    tied = [span("c", 4, 1, start=7, end=7), span("d", 5, 1, start=7, end=7)]
    assert names(SpanTree(spans + tied).roots[0].children) == ["a", "b", "c", "d"]


def test_a_span_whose_parent_is_missing_is_a_root():
    tree = SpanTree([span("orphan", 2, 99, start=5), span("root", 1, start=1)])
    assert names(tree.roots) == ["root", "orphan"]
    assert tree.roots[1].parent_span_id == 99


def test_a_parent_of_another_trace_is_no_parent():
    assert names(SpanTree([span("a", 1, trace=1), span("b", 2, 1, trace=2)]).roots) == ["a", "b"]


def test_the_earliest_span_of_a_cycle_becomes_a_root():
    tree = SpanTree(
        [
            span("c", 3, 2, start=3),
            span("a", 1, 3, start=1),
            span("b", 2, 1, start=2),
            span("d", 4, 2, start=4),
        ]
    )
    assert names(tree.roots) == ["a"]
    assert [(node.name, node.depth) for node in tree] == [("a", 0), ("b", 1), ("c", 2), ("d", 2)]
    assert names(SpanTree([span("own parent", 1, 1)]).roots) == ["own parent"]


def test_the_later_of_two_records_of_one_span_counts():
    assert names(SpanTree([span("old", 1), span("new", 1)])) == ["new"]


@given(wild_spans())
def test_every_span_has_exactly_one_place_whatever_the_data_says(spans):
    distinct = {(s.trace_id, s.span_id) for s in spans}
    tree = SpanTree(spans)
    assert {(node.trace_id, node.span_id) for node in tree} == distinct
    assert len(tree) == len(distinct)
    for node in tree:
        assert node.depth == len(node.ancestors)
        assert (node in tree.roots) is (node.parent is None)
        assert all(child.parent is node for child in node.children)
        assert list(node.children) == sorted(node.children, key=lambda s: s.start_ns)
        if node.parent is not None:
            assert node.parent_span_id == node.parent.span_id
    visited = [n for root in tree.roots for n in (root, *root.descendants)]
    assert visited == list(tree)


@given(wild_spans(), st.randoms(use_true_random=False))
def test_a_tree_is_the_same_for_every_order_of_arrival(spans, random):
    shuffled = [copy.copy(s) for s in spans]
    random.shuffle(shuffled)
    assert SpanTree(shuffled) == SpanTree(spans)


@given(wild_spans())
def test_a_tree_survives_strict_json(spans):
    tree = SpanTree(spans)
    text = json.dumps(tree.to_dict(), allow_nan=False)
    again = SpanTree.from_dict(json.loads(text))
    assert again == tree
    assert list(map(repr, again)) == list(map(repr, tree))
    assert str(again) == str(tree)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))], ids=["deepcopy", "pickle"]
)
def test_a_very_deep_tree_can_be_copied_walked_and_queried(copied):
    depth = 5000
    tree = copied(SpanTree(span("step", i, i - 1, start=i) for i in range(1, depth + 1)))
    assert len(tree) == depth
    assert len(tree.roots[0].descendants) == depth - 1
    assert tree.any({"min_depth": depth - 1})
    assert tree.roots[0].matches({"min_descendant_count": depth - 1})


def test_a_tree_of_nodes_from_another_tree_leaves_that_one_alone():
    tree = SpanTree(agent_run())
    part = SpanTree(tree.find({"name_equals": "http"}))
    assert names(part.roots) == ["http", "http"]
    assert [node.depth for node in tree.find({"name_equals": "http"})] == [2, 2]
    alone = span("alone", 1)
    first, second = SpanTree([alone]), SpanTree([alone, span("child", 2, 1)])
    assert first.roots == (alone,)
    assert alone.children == ()
    assert names(second.roots[0].children) == ["child"]


def test_trees_differ_when_a_span_differs():
    spans = agent_run()
    spans[3].attributes["url"] = "x"
    assert SpanTree(spans) != SpanTree(agent_run())
    assert SpanTree() != "no tree"


def test_times_are_seconds_and_utc_moments():
    node = SpanNode(
        "s", trace_id=1, span_id=1, start_ns=1_700_000_000_123_456_789, end_ns=1_700_000_000_223_456_789
    )
    assert node.duration == 0.1
    assert node.start_timestamp == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)
    assert node.end_timestamp.tzinfo is UTC
    assert SpanEvent("e", time_ns=1500).timestamp == datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)


def test_a_tree_finds_spans_by_query_or_predicate_in_order():
    tree = SpanTree(agent_run())
    assert ids(tree.find({"name_equals": "http"})) == [4, 5]
    assert ids(tree.find(lambda s: s.name == "http")) == [4, 5]
    assert tree.first({"name_equals": "http"}).span_id == 4
    assert tree.first({"name_equals": "missing"}) is None
    assert tree.any({"has_status": "error"})
    assert not tree.any({"name_equals": "missing"})


def test_a_node_finds_its_relatives_by_query_or_predicate():
    run = SpanTree(agent_run()).roots[0]
    search = run.first_child({"name_equals": "search"})
    http = search.children[1]
    is_search = {"name_equals": "search"}

    assert ids(run.find_children({"name_contains": "a"})) == [2, 3, 6]
    assert run.any_child(lambda s: s.status == "ok")
    assert not run.any_child({"name_equals": "http"})

    assert ids(run.find_descendants({"name_equals": "http"})) == [4, 5]
    assert run.first_descendant({"name_equals": "http"}).span_id == 4
    assert run.any_descendant({"name_equals": "http"})
    assert ids(run.find_descendants({}, stop_recursing_when=is_search)) == [2, 3, 6]
    assert run.first_descendant({"name_equals": "http"}, stop_recursing_when=is_search) is None
    assert not run.any_descendant({"name_equals": "http"}, stop_recursing_when=lambda s: s.name == "search")

    assert names(http.find_ancestors({})) == ["search", "run"]
    assert names(http.find_ancestors({}, stop_recursing_when=is_search)) == ["search"]
    assert http.first_ancestor({}).name == "search"
    assert http.any_ancestor({"name_equals": "run"})
    assert not http.any_ancestor({"name_equals": "run"}, stop_recursing_when=is_search)


def test_a_tree_reads_as_an_indented_list():
    spans = [*agent_run(), span("evil\x1b[2J\nline", 7, 2, start=1, end=1)]
    assert str(SpanTree(spans)).splitlines() == [
        "run (1.50 s)",
        "  plan (1.0 ms)",
        "    evil\\x1b[2J\\nline (0 µs)",
        "  search (6.0 ms, error)",
        "    http (1.0 ms)",
        "    http (2.0 ms)",
        "  answer (2.0 ms, ok)",
    ]
    assert str(SpanTree()) == "(no spans)"
    assert repr(SpanTree(agent_run())) == "<SpanTree of 6 spans, 1 roots>"


def test_a_stored_tree_of_another_version_is_refused():
    with pytest.raises(ValueError, match="version 1, got version 99"):
        SpanTree.from_dict({"version": 99, "spans": []})
    with pytest.raises(ValueError, match="got version None"):
        SpanTree.from_dict({})
    with pytest.raises(ValueError, match="list of spans, got None"):
        SpanTree.from_dict({"version": 1})


@pytest.mark.parametrize(
    ("key", "value"),
    [("span_id", None), ("span_id", "xyz"), ("status", "fine"), ("attributes", None), ("events", [{}])],
)
def test_a_stored_span_that_is_malformed_is_shown(key, value):
    data = SpanTree(agent_run()).to_dict()
    data["spans"][2][key] = value
    with pytest.raises(ValueError, match=r"stored by SpanTree.to_dict, got {'name': 'search'"):
        SpanTree.from_dict(data)


def test_a_stored_span_that_lacks_a_field_is_shown():
    data = SpanTree(agent_run()).to_dict()
    del data["spans"][0]["start_ns"]
    with pytest.raises(ValueError, match="start_ns"):
        SpanTree.from_dict(data)


# ---------------------------------------------------------------------- what the spans of an attempt say it used, as metrics


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
