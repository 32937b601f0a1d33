"""One call against one call."""

import math
from dataclasses import fields
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import Absent, Approx, CallRules, MatchOptions, Maybe, Regex, Text, compare_calls
from calipers.matching.call import MatchKeywords, show_call

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


@pytest.mark.parametrize(
    ("names", "left", "right", "same"),
    [
        ("exact", "Search", "search", False),
        ("ignore_case", "Search", "SEARCH", True),
        ("ignore_case", "straße", "STRASSE", True),
        ({"lookup": "search"}, "lookup", "search", True),
        ({"lookup": "search", "find": "search"}, "lookup", "find", True),
        ({"lookup": "search"}, "Lookup", "search", False),
        (lambda name: name.rpartition(".")[2], "web.search", "search", True),
    ],
)
def test_names_are_compared_as_the_rules_say(names, left, right, same):
    rules = CallRules(names=names)
    assert (rules.name_of(left) == rules.name_of(right)) is same


def test_a_rule_for_a_tool_wins_over_the_one_for_every_tool():
    rules = CallRules(
        arguments={"*": "subset", "pay": "exact"},
        ignore={"*": ["id"], "pay": ["nonce"]},
        defaults={"*": {"unit": "c"}, "pay": {"currency": "EUR"}},
    )
    assert (rules.mode_for("pay"), rules.mode_for("search")) == ("exact", "subset")
    assert (rules.ignored_for("pay"), rules.ignored_for("search")) == ({"nonce"}, {"id"})
    assert (rules.defaults_for("pay"), rules.defaults_for("search")) == ({"currency": "EUR"}, {"unit": "c"})


def test_what_no_rule_names_is_compared_exactly():
    rules = CallRules(arguments={"pay": "ignore"}, ignore={"pay": ["nonce"]})
    assert (rules.mode_for("search"), rules.ignored_for("search"), rules.defaults_for("search")) == (
        "exact",
        frozenset(),
        {},
    )


def test_tools_in_rules_are_named_like_tools_in_calls():
    rules = CallRules(arguments={"Pay": "ignore"}, names="ignore_case")
    assert rules.mode_for("PAY") == "ignore"
    rules = CallRules(arguments={"pay": "ignore"}, names={"transfer": "pay"})
    assert rules.mode_for("transfer") == "ignore"


def test_a_comparison_makes_a_matcher_of_an_expected_value():
    rules = CallRules(compare={"pay": {"amount": lambda value: Approx(value, abs_tol=1), "to": Text}})
    assert rules.expected_value("pay", "amount", 5) == Approx(5, abs_tol=1)
    assert rules.expected_value("pay", "to", "Bob") == Text("Bob")
    assert rules.expected_value("pay", "note", "Bob") == "Bob"
    assert rules.expected_value("search", "to", "Bob") == "Bob"


def test_none_and_matchers_stay_what_they_are():
    rules = CallRules(compare={"*": {"to": Text}})
    assert rules.expected_value("pay", "to", None) is None
    assert rules.expected_value("pay", "to", Regex("b")) == Regex("b")
    assert rules.expected_value("pay", "to", len) is len


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arguments": "some"}, "arguments must be one of exact, subset, superset, ignore"),
        ({"arguments": {"pay": "some"}}, "or one of these by tool, got {'pay': 'some'}"),
        ({"arguments": None}, "arguments must be"),
        ({"ignore": "id"}, r"ignore lists the names of arguments, as in \['id'\], got 'id'"),
        ({"ignore": {"pay": "id"}}, "ignore lists the names"),
        ({"ignore": 5}, "ignore lists the names"),
        ({"defaults": {"unit": "c"}}, "defaults is a mapping from tools to mappings from arguments"),
        ({"defaults": []}, "defaults is a mapping"),
        ({"compare": {"query": Text}}, "compare is a mapping from tools to mappings from arguments"),
        ({"compare": {"pay": {"amount": 5}}}, "turn an expected value into a matcher, got 5"),
        ({"names": "any"}, "names must be 'exact', 'ignore_case', a mapping of aliases or a function"),
        ({"names": {"a": 5}}, "names must be"),
        ({"names": None}, "names must be"),
    ],
)
def test_what_means_nothing_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        CallRules(**options)


def test_rules_are_a_value():
    assert CallRules(arguments="subset") == CallRules(arguments="subset") != CallRules()
    with pytest.raises(AttributeError):
        CallRules().arguments = "subset"


# ---------------------------------------------------------------------- what is asked of a whole list of calls


@pytest.mark.parametrize(
    ("mode", "order_counts", "missing_allowed", "extra_allowed"),
    [
        ("exact", True, False, False),
        ("contiguous", True, False, True),
        ("in_order", True, False, True),
        ("subsequence", True, False, True),
        ("unordered", False, False, False),
        ("superset", False, False, True),
        ("subset", False, True, False),
    ],
)
def test_the_table_of_modes(mode, order_counts, missing_allowed, extra_allowed):
    options = MatchOptions(mode=mode)
    assert (options.order_counts, options.missing_allowed, options.extra_allowed) == (
        order_counts,
        missing_allowed,
        extra_allowed,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "strict"}, "mode must be one of exact, contiguous, in_order, subsequence, unordered"),
        ({"mode": None}, "mode must be one of"),
        ({"mode": ["exact"]}, "mode must be one of"),
        ({"failed": True}, "failed must be one of count, skip, got True"),
        ({"retried": "drop"}, "retried must be one of count, skip, got 'drop'"),
        ({"arguments": "some"}, "arguments must be one of"),
    ],
)
def test_an_option_that_means_nothing_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        MatchOptions(**options)


def test_options_are_rules_too():
    assert isinstance(MatchOptions(arguments="subset"), CallRules)
    assert MatchOptions(arguments="subset").mode_for("f") == "subset"


def test_the_keywords_are_the_options():
    options = {field.name: get_type_hints(MatchOptions)[field.name] for field in fields(MatchOptions)}
    assert get_type_hints(MatchKeywords) == options
