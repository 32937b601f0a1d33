"""What makes one call equal to another."""

import pytest

from calipers.errors import InvalidOptionError
from calipers.matching import Approx, CallRules, Regex, Text


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
