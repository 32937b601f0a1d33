"""One call against one call."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.matching import Absent, Approx, CallRules, Maybe, Regex, Text, compare_calls
from calipers.matching.call import show_call

ARGUMENTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([1, True, None, "x", [1]]), max_size=4)
MODES = st.sampled_from(["exact", "subset", "superset", "ignore"])


def compare(expected, actual, **rules):
    return compare_calls(ToolCall("f", expected), ToolCall("f", actual), CallRules(**rules))


@pytest.mark.parametrize(
    ("expected", "actual", "modes"),
    [
        ({"a": 1}, {"a": 1}, "exact subset superset ignore"),
        ({"a": 1}, {"a": 1, "b": 2}, "subset ignore"),
        ({"a": 1, "b": 2}, {"a": 1}, "superset ignore"),
        ({"a": 1}, {"a": 2}, "ignore"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3}, "ignore"),
        ({}, {"a": 1}, "subset ignore"),
        ({"a": 1}, {}, "superset ignore"),
        ({}, {}, "exact subset superset ignore"),
        ({"a": None}, {}, "superset ignore"),
        ({}, {"a": None}, "subset ignore"),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, "ignore"),
        ({"a": Absent()}, {}, "exact subset superset ignore"),
        ({"a": Absent()}, {"a": None}, "ignore"),
        ({"a": Maybe(1)}, {}, "exact subset superset ignore"),
        ({"a": Maybe(1)}, {"a": 2}, "ignore"),
    ],
)
def test_the_mode_says_which_arguments_may_be_missing_or_added(expected, actual, modes):
    passing = [
        mode
        for mode in ("exact", "subset", "superset", "ignore")
        if compare(expected, actual, arguments=mode).matched
    ]
    assert " ".join(passing) == modes


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "share"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "exact", 1 / 2),
        ({"a": 1}, {"a": 1, "b": 3}, "exact", 1 / 2),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3, "d": 4}, "exact", 1 / 4),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3, "d": 4}, "subset", 1 / 2),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3, "d": 4}, "superset", 1 / 3),
        ({"a": [1, 2]}, {"a": [1, 3]}, "exact", 1 / 2),
        ({"a": 1}, {"a": 2}, "exact", 0),
    ],
)
def test_the_right_tool_earns_a_half_and_its_arguments_the_other(expected, actual, mode, share):
    assert compare(expected, actual, arguments=mode).similarity == pytest.approx(0.5 + share / 2)


def test_another_tool_earns_nothing():
    found = compare_calls(ToolCall("search", {"q": 1}), ToolCall("Search", {"q": 1}))
    assert found.similarity == 0
    assert str(found) == "Search(q=1): expected a call of 'search', got one of 'Search'"
    assert compare_calls(ToolCall("search"), ToolCall("Search"), CallRules(names="ignore_case")).matched


def test_every_difference_is_told():
    found = compare(
        {"a": 1, "b": {"x": [1, 2]}, "c": Regex("^k"), "d": None},
        {"a": True, "b": {"x": [1, 3]}, "c": "m", "e": 5},
    )
    assert [str(each) for each in found.differences] == [
        "a: expected 1 (int), got True (bool)",
        "b.x[1]: expected 2, got 3",
        "c: expected a match of '^k', got 'm'",
        "d: missing, expected None",
        "e: unexpected, got 5",
    ]
    assert [each.kind for each in found.differences][-2:] == ["missing", "unexpected"]


def test_only_the_differences_that_count_are_told():
    assert [each.path for each in compare({"a": 1}, {"b": 2}, arguments="subset").differences] == ["a"]
    assert [each.path for each in compare({"a": 1}, {"b": 2}, arguments="superset").differences] == ["b"]


def test_ignored_arguments_do_not_count_on_either_side():
    assert compare({"a": 1, "id": 1}, {"a": 1, "id": 2}, ignore=["id"]).matched
    assert compare({"a": 1}, {"a": 1, "id": 2}, ignore={"f": ["id"]}).matched
    assert compare({"a": 1, "id": 1}, {"a": 1}, ignore=["id"]).matched
    assert not compare({"a": 1}, {"a": 1, "id": 2}, ignore={"g": ["id"]}).matched


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "match"),
    [
        ({"unit": "c"}, {}, "exact", True),
        ({}, {"unit": "c"}, "exact", True),
        ({}, {}, "exact", True),
        ({}, {"unit": "f"}, "exact", False),
        ({"unit": "f"}, {}, "exact", False),
        # What a subset does not ask about may be anything.
        ({}, {"unit": "f"}, "subset", True),
        ({"unit": "c"}, {}, "subset", True),
        ({"unit": "f"}, {}, "subset", False),
        ({}, {"unit": "c"}, "superset", True),
        ({}, {"unit": "f"}, "superset", False),
        ({"unit": "f"}, {}, "superset", True),
    ],
)
def test_an_argument_that_is_left_out_equals_its_default(expected, actual, mode, match):
    assert compare(expected, actual, arguments=mode, defaults={"f": {"unit": "c"}}).matched is match


def test_a_default_is_compared_as_the_rules_say():
    rules = {"defaults": {"f": {"to": "ROME"}}, "compare": {"f": {"to": Text}}}
    assert compare({}, {"to": "rome"}, **rules).matched
    assert compare({"to": "rome"}, {}, **rules).matched


def test_an_ignored_default_stays_ignored():
    assert compare({}, {"unit": "f"}, ignore=["unit"], defaults={"f": {"unit": "c"}}).matched


def test_values_are_compared_as_the_rules_say():
    rules = CallRules(compare={"*": {"amount": lambda value: Approx(value, abs_tol=0.5)}})
    assert compare_calls(ToolCall("pay", {"amount": 5}), ToolCall("pay", {"amount": 5.5}), rules).matched
    assert not compare_calls(ToolCall("pay", {"amount": 5}), ToolCall("pay", {"amount": 5.6}), rules).matched


@given(ARGUMENTS, MODES)
def test_a_call_matches_itself_in_every_mode(arguments, mode):
    found = compare(arguments, arguments, arguments=mode)
    assert found.matched
    assert found.differences == ()


@given(ARGUMENTS, ARGUMENTS, MODES)
def test_calls_differ_somewhere_exactly_when_they_do_not_match(expected, actual, mode):
    found = compare(expected, actual, arguments=mode)
    assert found.matched is not bool(found.differences)
    assert 0.5 <= found.similarity <= 1


@given(ARGUMENTS, ARGUMENTS)
def test_subset_and_superset_mirror_each_other(expected, actual):
    subset, superset = (
        compare(*pair, arguments=mode)
        for pair, mode in (((expected, actual), "subset"), ((actual, expected), "superset"))
    )
    assert subset.similarity == superset.similarity


@given(ARGUMENTS, ARGUMENTS)
def test_exact_is_subset_and_superset_at_once(expected, actual):
    exact, subset, superset, ignore = (
        compare(expected, actual, arguments=mode).matched
        for mode in ("exact", "subset", "superset", "ignore")
    )
    assert exact is (subset and superset)
    assert ignore


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ToolCall("search", {"q": "x", "n": 1}), "search(q='x', n=1)"),
        (ToolCall("web.get-page"), "web.get-page()"),
        (ToolCall("rm -rf\n", {"a b": 1}), "'rm -rf\\n'('a b'=1)"),
        (ToolCall("f", {"a": math.nan, "b": None}), "f(a=nan, b=None)"),
    ],
)
def test_a_call_is_shown_as_one_would_write_it(call, text):
    assert show_call(call) == text


def test_a_long_call_is_cut():
    assert len(show_call(ToolCall("f", {f"a{n}": "x" * 500 for n in range(50)}))) == 200
