import json
import subprocess
import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.spans import SpanNode, SpanQuery, SpanTree, compile_query
from calipers.spans.query import check_value, from_json, matches_value, to_json

SECOND = 1_000_000_000


def span(name, span_id, parent=None, *, seconds=1, attributes=None, status="unset"):
    """A span that starts at the second of its id."""
    start = span_id * SECOND
    return SpanNode(
        name,
        trace_id=1,
        span_id=span_id,
        parent_span_id=parent,
        start_ns=start,
        end_ns=start + int(seconds * SECOND),
        attributes=attributes or {},
        status=status,
    )


def only(**kwargs):
    return SpanTree([span("s", 1, **kwargs)]).roots[0]


def family():
    """run > (plan, search > (http, http > cache), answer)."""
    return SpanTree(
        [
            span("run", 1),
            span("plan", 2, 1),
            span("search", 3, 1),
            span("http", 4, 3),
            span("http", 5, 3, status="error"),
            span("cache", 6, 5),
            span("answer", 7, 1),
        ]
    )


def matching(query):
    return [node.span_id for node in family().find(query)]


# A second opinion: each condition spelled out on its own, slowly, from the prose of SpanQuery.


def below(node, stop):
    for child in node.children:
        yield child
        if stop is None or not naive(stop, child):
            yield from below(child, stop)


def above(node, stop):
    if node.parent is not None:
        yield node.parent
        if stop is None or not naive(stop, node.parent):
            yield from above(node.parent, stop)


def naive(query, node):
    stop = query.get("stop_recursing_when")
    descendants, ancestors, children = list(below(node, stop)), list(above(node, stop)), list(node.children)
    depth = len(list(above(node, None)))

    def some(spans, wanted):
        return len([s for s in spans if naive(wanted, s)]) > 0

    def every(spans, wanted):
        return len(spans) > 0 and len([s for s in spans if naive(wanted, s)]) == len(spans)

    def attribute(key, wanted):
        found = node.attributes.get(key, "absent")
        return type(found) is type(wanted) and found == wanted

    meaning = {
        "name_equals": lambda v: node.name == v,
        "name_contains": lambda v: v in node.name,
        "name_matches_regex": lambda v: node.name.startswith(v),
        "has_attributes": lambda v: all(attribute(key, wanted) for key, wanted in v.items()),
        "has_attribute_keys": lambda v: set(v) <= set(node.attributes),
        "has_status": lambda v: node.status == v,
        "min_duration": lambda v: node.duration >= v,
        "max_duration": lambda v: node.duration <= v,
        "not_": lambda v: not naive(v, node),
        "and_": lambda v: all(naive(q, node) for q in v),
        "or_": lambda v: any(naive(q, node) for q in v),
        "min_child_count": lambda v: len(children) >= v,
        "max_child_count": lambda v: len(children) <= v,
        "some_child_has": lambda v: some(children, v),
        "all_children_have": lambda v: every(children, v),
        "no_child_has": lambda v: not some(children, v),
        "stop_recursing_when": lambda v: True,
        "min_descendant_count": lambda v: len(descendants) >= v,
        "max_descendant_count": lambda v: len(descendants) <= v,
        "some_descendant_has": lambda v: some(descendants, v),
        "all_descendants_have": lambda v: every(descendants, v),
        "no_descendant_has": lambda v: not some(descendants, v),
        "min_depth": lambda v: depth >= v,
        "max_depth": lambda v: depth <= v,
        "some_ancestor_has": lambda v: some(ancestors, v),
        "all_ancestors_have": lambda v: every(ancestors, v),
        "no_ancestor_has": lambda v: not some(ancestors, v),
    }
    assert meaning.keys() == SpanQuery.__annotations__.keys()
    return all(meaning[key](value) for key, value in query.items())


some_names = st.sampled_from(["", "a", "b", "ab"])
some_values = st.sampled_from([None, True, False, 0, 1, "a"])
some_attributes = st.dictionaries(st.sampled_from("kl"), some_values, max_size=2)
small = st.integers(0, 3)


@st.composite
def trees(draw):
    count = draw(st.integers(1, 8))
    return SpanTree(
        span(
            draw(some_names),
            i,
            draw(st.integers(0, i - 1)) if i else None,
            seconds=draw(small),
            attributes=draw(some_attributes),
            status=draw(st.sampled_from(["unset", "ok", "error"])),
        )
        for i in range(count)
    )


def without_idle_stop(query):
    if any("descendant" in key or "ancestor" in key for key in query):
        return query
    return {key: value for key, value in query.items() if key != "stop_recursing_when"}


def with_relatives(inner):
    plain = {
        "name_equals": some_names,
        "name_contains": some_names,
        "name_matches_regex": some_names,
        "has_attributes": some_attributes,
        "has_attribute_keys": st.lists(st.sampled_from("kl"), max_size=2),
        "has_status": st.sampled_from(["unset", "ok", "error"]),
    }
    counts = [
        f"{end}_{what}"
        for end in ("min", "max")
        for what in ("duration", "child_count", "descendant_count", "depth")
    ]
    nested = [key for key in SpanQuery.__annotations__ if key.endswith(("_has", "_have", "not_", "_when"))]
    lists = dict.fromkeys(("and_", "or_"), st.lists(inner, max_size=2))
    conditions = plain | dict.fromkeys(counts, small) | dict.fromkeys(nested, inner) | lists
    assert conditions.keys() == SpanQuery.__annotations__.keys()
    chosen = st.lists(st.sampled_from(sorted(conditions)), max_size=3, unique=True)
    return chosen.flatmap(lambda keys: st.fixed_dictionaries({key: conditions[key] for key in keys})).map(
        without_idle_stop
    )


queries = st.recursive(
    st.fixed_dictionaries({}, optional={"name_equals": some_names}), with_relatives, max_leaves=5
)


@given(trees(), queries)
def test_a_compiled_query_agrees_with_the_second_opinion(tree, query):
    compiled = compile_query(query)
    assert [compiled(node) for node in tree] == [naive(query, node) for node in tree]


def same(tree, one, other):
    first, second = compile_query(one), compile_query(other)
    return [first(node) for node in tree] == [second(node) for node in tree]


@given(trees(), queries, queries)
def test_de_morgan_holds(tree, a, b):
    assert same(tree, {"not_": {"or_": [a, b]}}, {"and_": [{"not_": a}, {"not_": b}]})
    assert same(tree, {"not_": {"and_": [a, b]}}, {"or_": [{"not_": a}, {"not_": b}]})
    assert same(tree, {"not_": {"or_": []}}, {"and_": []})


@given(trees(), queries)
def test_logic_has_its_neutral_elements_and_double_negation(tree, a):
    assert same(tree, {"not_": {"not_": a}}, a)
    assert same(tree, {"and_": [a]}, a)
    assert same(tree, {"or_": [a]}, a)
    assert same(tree, {"and_": [a, {}]}, a)
    assert same(tree, {"or_": [a, {"or_": []}]}, a)


@given(trees(), queries, queries)
def test_or_beside_another_condition_is_and(tree, a, b):
    assert same(tree, {"has_status": "ok", "or_": [a, b]}, {"and_": [{"has_status": "ok"}, {"or_": [a, b]}]})


@given(trees(), queries)
@pytest.mark.parametrize(
    ("some", "every", "none", "at_least_one"),
    [
        ("some_child_has", "all_children_have", "no_child_has", {"min_child_count": 1}),
        ("some_descendant_has", "all_descendants_have", "no_descendant_has", {"min_descendant_count": 1}),
        ("some_ancestor_has", "all_ancestors_have", "no_ancestor_has", {"min_depth": 1}),
    ],
)
def test_some_all_and_none_fit_together(some, every, none, at_least_one, tree, a):
    assert same(tree, {none: a}, {"not_": {some: a}})
    assert same(tree, {every: a}, {none: {"not_": a}} | at_least_one)
    assert same(tree, {some: {}}, at_least_one)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7]),
        ({"name_equals": ""}, []),
        ({"or_": []}, []),
        ({"and_": []}, [1, 2, 3, 4, 5, 6, 7]),
        ({"max_child_count": 0}, [2, 4, 6, 7]),
        ({"max_descendant_count": 0}, [2, 4, 6, 7]),
        ({"max_depth": 0}, [1]),
        ({"min_depth": 3}, [6]),
        ({"has_status": "error"}, [5]),
        ({"all_children_have": {}}, [1, 3, 5]),
        ({"all_children_have": {"name_equals": "http"}}, [3]),
        ({"all_ancestors_have": {"name_equals": "run"}}, [2, 3, 7]),
        ({"name_equals": "http", "or_": [{"has_status": "error"}, {"name_equals": "plan"}]}, [5]),
        ({"name_matches_regex": "a"}, [7]),
        ({"name_matches_regex": ".*a"}, [2, 3, 6, 7]),
        ({"name_matches_regex": "ru"}, [1]),
        ({"name_matches_regex": "ru$"}, []),
        ({"min_descendant_count": 2, "max_descendant_count": 3}, [3]),
        # The walk below `run` looks at `search` and not beyond.
        (
            {
                "name_equals": "run",
                "max_descendant_count": 3,
                "stop_recursing_when": {"name_equals": "search"},
            },
            [1],
        ),
        ({"some_descendant_has": {"name_equals": "cache"}}, [1, 3, 5]),
        (
            {
                "some_descendant_has": {"name_equals": "cache"},
                "stop_recursing_when": {"name_equals": "search"},
            },
            [3, 5],
        ),
        (
            {"some_ancestor_has": {"name_equals": "run"}, "stop_recursing_when": {"name_equals": "search"}},
            [2, 3, 7],
        ),
        # Every condition sees every descendant, also after another condition has walked them.
        (
            {
                "min_descendant_count": 1,
                "some_descendant_has": {"name_equals": "http"},
                "no_descendant_has": {"has_status": "error"},
                "stop_recursing_when": {"name_equals": "nothing"},
            },
            [],
        ),
    ],
)
def test_queries_find_what_they_say(query, expected):
    assert matching(query) == expected


@pytest.mark.parametrize(
    ("wanted", "attributes", "expected"),
    [
        ({"k": None}, {}, False),
        ({"k": None}, {"k": None}, True),
        ({"k": True}, {"k": 1}, False),
        ({"k": 1}, {"k": 1, "other": 2}, True),
        ({"k": 1, "l": 2}, {"k": 1}, False),
        ({"k": ["a", "b"]}, {"k": ("a", "b")}, True),
        ({"k": {"city": "Oslo"}}, {"k": '{"city": "Oslo"}'}, True),
        ({}, {}, True),
    ],
)
def test_attributes_must_be_present_and_equal(wanted, attributes, expected):
    assert only(attributes=attributes).matches({"has_attributes": wanted}) is expected


def test_a_key_may_be_asked_for_whatever_its_value():
    assert only(attributes={"k": None}).matches({"has_attribute_keys": ["k"]})
    assert not only(attributes={"k": None}).matches({"has_attribute_keys": ["k", "l"]})


@pytest.mark.parametrize("limit", [0.1, timedelta(milliseconds=100)])
def test_durations_are_seconds_or_timedeltas_and_both_limits_belong(limit):
    exactly = only(seconds=0.1)
    assert exactly.matches({"min_duration": limit, "max_duration": limit})
    assert not only(seconds=0.2).matches({"max_duration": limit})
    assert not only(seconds=0.05).matches({"min_duration": limit})
    assert only(seconds=0).matches({"max_duration": 0})
    assert not exactly.matches({"max_duration": 0})


def test_an_unknown_key_is_answered_with_the_nearest_and_all_known():
    with pytest.raises(
        InvalidOptionError, match=r"unknown key 'name_equal' .*did you mean 'name_equals'\?.*max_depth"
    ):
        compile_query({"name_equal": "x"})
    with pytest.raises(InvalidOptionError, match=r"unknown key 'zzz' in a span query; there are name_equals"):
        compile_query({"or_": [{"some_child_has": {"zzz": 1}}]})
    with pytest.raises(InvalidOptionError, match="unknown key 3"):
        compile_query({3: 1})


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        (None, "a mapping of conditions, got None"),
        ("name", "a mapping of conditions, got 'name'"),
        (["name_equals"], "a mapping of conditions"),
        ({"name_equals": None}, "name_equals must not be None"),
        ({"name_contains": 1}, "name_contains must be a text, got 1"),
        ({"name_matches_regex": b"x"}, "name_matches_regex must be a text, got b'x'"),
        ({"name_matches_regex": "("}, "'(' is not a valid pattern: missing )"),
        ({"has_attributes": ["k"]}, "has_attributes takes a mapping of names to values, got ['k']"),
        ({"has_attributes": {1: 2}}, "has_attributes takes a mapping of names to values"),
        ({"has_attributes": {"k": {1, 2}}}, "attribute 'k' holds {1, 2}, a set"),
        ({"has_attributes": {"k": [1j]}}, "attribute 'k' holds 1j, a complex"),
        ({"has_attribute_keys": "key"}, "has_attribute_keys must be a list, got 'key'"),
        ({"has_attribute_keys": [1]}, "has_attribute_keys must be a text, got 1"),
        ({"has_status": "failed"}, "has_status must be one of unset, ok, error, got 'failed'"),
        ({"has_status": None}, "has_status must not be None"),
        ({"min_duration": "1"}, "min_duration must be a number of seconds from 0, got '1'"),
        ({"min_duration": True}, "min_duration must be a number of seconds"),
        ({"min_duration": -1}, "min_duration must be a number of seconds"),
        ({"max_duration": float("nan")}, "max_duration must be a finite number of seconds"),
        ({"max_duration": float("inf")}, "max_duration must be a finite number of seconds"),
        ({"max_duration": timedelta(seconds=-1)}, "max_duration must be a number of seconds"),
        ({"min_child_count": 1.0}, "min_child_count must be a whole number from 0, got 1.0"),
        ({"max_child_count": True}, "max_child_count must be a whole number"),
        ({"max_depth": -1}, "max_depth must be a whole number"),
        ({"min_descendant_count": None}, "min_descendant_count must not be None"),
        ({"not_": None}, "not_ must not be None: leave not_ out to ask nothing"),
        ({"not_": [{}]}, "not_ must be a mapping, got [{}]"),
        ({"and_": {}}, "and_ must be a list, got {}"),
        ({"or_": None}, "or_ must not be None"),
        ({"or_": [None]}, "or_ must be a mapping, got None"),
        ({"some_child_has": "x"}, "some_child_has must be a mapping, got 'x'"),
        ({"stop_recursing_when": {"name_equals": "x"}}, "stop_recursing_when does nothing here"),
        ({"stop_recursing_when": {}, "min_child_count": 1}, "stop_recursing_when does nothing here"),
        (
            {"stop_recursing_when": 1, "min_descendant_count": 1},
            "stop_recursing_when must be a mapping, got 1",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_when_the_query_is_compiled(query, complaint):
    with pytest.raises(InvalidOptionError) as caught:
        compile_query(query)
    assert complaint in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_condition_of_none_is_told_to_be_left_out():
    with pytest.raises(
        InvalidOptionError, match=r"min_depth must not be None: leave min_depth out to ask nothing"
    ):
        compile_query({"min_depth": None})


def test_a_pattern_with_catastrophic_backtracking_is_an_error_and_not_a_hang():
    compiled = compile_query({"name_matches_regex": "(a|aa)+$"})
    node = SpanTree([span("a" * 100 + "b", 1)]).roots[0]
    with pytest.raises(InvalidOptionError, match=r"needed more than 1\.0 s"):
        compiled(node)


def test_changing_a_query_after_compiling_changes_nothing():
    query = {"has_attributes": {"k": 1}, "has_attribute_keys": ["k"], "or_": [{"name_equals": "s"}]}
    compiled = compile_query(query)
    query["has_attributes"]["k"] = 2
    query["has_attribute_keys"].append("z")
    query["or_"].clear()
    assert compiled(only(attributes={"k": 1}))


def test_a_query_without_a_pattern_does_not_load_the_regex_package():
    code = "import sys; from calipers.spans import compile_query; compile_query({'name_contains': 'x'})"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'regex' not in sys.modules"], check=True)


# ---------------------------------------------------------------------- attributes


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5)
)
names = st.text(max_size=4) | st.sampled_from(["$int", "$float", "$bytes", "$dict", "$"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


@given(st.dictionaries(names, values, max_size=4))
def test_attributes_survive_strict_json(attributes):
    text = json.dumps(to_json(attributes), allow_nan=False)
    assert repr(from_json(json.loads(text))) == repr(attributes)


@given(values)
def test_every_value_matches_itself_and_its_stored_form(value):
    assert matches_value(value, value)
    assert matches_value(value, from_json(to_json({"k": value}))["k"])


@given(st.lists(scalars, max_size=4))
def test_a_list_and_a_tuple_match_and_storage_makes_both_lists(items):
    assert matches_value(items, tuple(items))
    assert matches_value(tuple(items), items)
    assert repr(from_json(to_json({"k": tuple(items)}))) == repr({"k": items})


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (0, False, False),
        (True, True, True),
        (1, 1.0, True),
        (None, 0, False),
        ("1", 1, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ([True], [1], False),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": None}, {}, False),
        ({"a": [1, {"b": 2}]}, '{"a": [1, {"b": 2}]}', True),
        ([1, 2], "[1, 2]", True),
        ([1, 2], "not json", False),
        ([], "", False),
        ([1], "[" * 100_000, False),
        ("[1, 2]", [1, 2], False),
        ("[1, 2]", "[1, 2]", True),
        (b"ab", b"ab", True),
        (b"ab", "ab", False),
    ],
)
def test_values_match_by_meaning_and_not_by_pythons_accidents(wanted, found, expected):
    assert matches_value(wanted, found) is expected


@pytest.mark.parametrize("value", [object(), {1: "x"}, [1, {2}], 1j])
def test_a_value_that_spans_do_not_carry_is_named_with_its_attribute(value):
    with pytest.raises(TypeError, match=r"attribute 'size' holds .* strings, numbers, booleans"):
        check_value("size", value)
    with pytest.raises(TypeError, match="attribute 'size' holds"):
        to_json({"size": value})
