import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import RuleBasedEvaluator, RuleSpec
from calipers.errors import InvalidOptionError


@pytest.mark.parametrize(
    ("rule", "holds", "fails"),
    [
        (("contains_any", {"values": ["Rome", "Paris"]}), "to Paris", "to paris"),
        (("contains_any", {"substrings": ["Rome", "Paris"]}), "to Paris", ""),
        (("not_contains", {"values": ["secret"]}), "all fine", "a secret"),
        (("not_contains", {"substrings": ("secret",)}), "", "a secret"),
        (("max_length", {"max": 4}), "four", "fives"),
        (("max_length", {"max_length": 4}), "", "fives"),
        (("max_length", {"max": 0}), "", "x"),
        (("regex", {"pattern": r"^\d+$"}), "42", "x42"),
        (("json_valid",), "[1, 2]", "[1, 2"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_rule_holds_or_fails(judge, rule, holds, fails):
    evaluator = RuleBasedEvaluator([RuleSpec(*rule)])
    good, bad = judge(evaluator, output_text=holds), judge(evaluator, output_text=fails)
    assert (good.evaluator_name, good.verdict, good.score) == ("rule-based", "pass", 1.0)
    assert (bad.verdict, bad.score) == ("fail", 0.0)
    assert bad.metadata["rule_results"][0]["passed"] is False


@pytest.mark.parametrize(
    ("text", "verdict", "score"),
    [
        ("Rome!", "pass", 1.0),
        ("Rome, at length", "partial", 0.75),
        ("!", "fail", 0.25),
        ("at length", "fail", 0.0),
    ],
)
def test_weights_make_the_score_and_half_of_them_a_part(judge, text, verdict, score):
    rules = [
        RuleSpec("contains_any", {"values": ["Rome"]}, weight=0.75),
        RuleSpec("max_length", {"max": 6}, 0.25),
    ]
    result = judge(RuleBasedEvaluator(rules=rules), output_text=text)
    assert (result.verdict, result.score) == (verdict, score)


def test_from_where_on_a_result_is_partial_is_an_option(judge):
    rules = [RuleSpec("contains_any", {"values": ["a"]}), RuleSpec("contains_any", {"values": ["b"]})]
    for threshold, verdict in [(0.5, "partial"), (0.51, "fail"), (1, "fail"), (0.01, "partial")]:
        evaluator = RuleBasedEvaluator(rules, partial_threshold=threshold)
        assert judge(evaluator, output_text="a").verdict == verdict


def test_the_reason_names_the_rules_that_do_not_hold_and_why(judge):
    rules = [
        RuleSpec("not_contains", {"values": ["a", "b", "z"]}, description="no letters"),
        RuleSpec("max_length", {"max": 1}),
        RuleSpec("json_valid"),
    ]
    result = judge(RuleBasedEvaluator(rules), output_text="[2]ab"[:3])
    assert result.reason == "1 of 3 rules do not hold: max_length (3 characters, allowed 1)"
    worse = judge(RuleBasedEvaluator(rules), output_text="ab")
    assert worse.reason.startswith("3 of 3 rules do not hold: no letters (found ['a', 'b']); max_length (2 ")
    assert [each["weight"] for each in worse.metadata["rule_results"]] == [1.0, 1.0, 1.0]


def test_without_rules_there_is_nothing_to_judge(judge):
    assert judge(RuleBasedEvaluator(), output_text="x").verdict == "skip"


def test_a_pattern_that_runs_too_long_is_an_error(judge):
    evaluator = RuleBasedEvaluator([RuleSpec("regex", {"pattern": "(a|aa)+$"})], timeout_seconds=0.05)
    assert judge(evaluator, output_text="a" * 60 + "b").verdict == "error"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.01, 100)), min_size=1, max_size=5),
    st.text("abc", max_size=3),
)
def test_it_passes_exactly_if_every_rule_holds(judge, wanted, text):
    rules = [RuleSpec("contains_any", {"values": [letter]}, weight) for letter, weight in wanted]
    result = judge(RuleBasedEvaluator(rules), output_text=text)
    assert (result.verdict == "pass") is all(letter in text for letter, _ in wanted)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (("contains_al", {}), "'contains_al' is not a type of rule \\(did you mean 'contains_any'"),
        (
            ("nonsense", {}),
            "'nonsense' is not a type of rule; there are contains_any, not_contains, max_length, regex",
        ),
        ((None,), "None is not a type of rule"),
        ((["regex"],), r"\['regex'\] is not a type of rule"),
        (("contains_any",), "needs values or substrings, once"),
        (("contains_any", {"values": ["a"], "substrings": ["b"]}), "needs values or substrings, once"),
        (("contains_any", {"value": ["a"]}), "has no parameter 'value' \\(did you mean 'values'"),
        (("contains_any", {"values": []}), "needs a list of non-empty texts as values"),
        (("contains_any", {"values": "Rome"}), "needs a list of non-empty texts"),
        (("not_contains", {"values": [""]}), "needs a list of non-empty texts"),
        (("not_contains", {"values": [5]}), "needs a list of non-empty texts"),
        (("max_length", {}), "needs max or max_length, once"),
        (("max_length", {"max": -1}), "max of .* must be a whole number from 0"),
        (("max_length", {"max": "10"}), "must be a whole number from 0"),
        (("max_length", {"max": True}), "must be a whole number from 0"),
        (("max_length", {"limit": 5}), "has no parameter 'limit'; there are max, max_length"),
        (("regex", {"pattern": "("}), "is not a valid pattern"),
        (("regex", {"pattern": ""}), "needs non-empty text as pattern"),
        (("json_valid", {"x": 1}), "has no parameter 'x': it takes none"),
        (("json_valid", None), "needs a dict as params"),
        (("json_valid", {}, 0), "weight of .* must be a number above 0, got 0"),
        (("json_valid", {}, math.nan), "weight of .*, got nan"),
        (("json_valid", {}, "1"), "weight of .*, got '1'"),
        (("json_valid", {}, 1, 5), "description of the rule 'json_valid' must be a text, got 5"),
    ],
    ids=range(24),
)
def test_what_is_wrong_with_a_rule_is_told_when_it_is_made(rule, complaint):
    with pytest.raises(InvalidOptionError, match=complaint):
        RuleSpec(*rule)


@pytest.mark.parametrize(
    "rules", ["max_length", {"max_length": 5}, None, [{"rule_type": "json_valid"}], [None]], ids=repr
)
def test_rules_are_a_list_of_rules(rules):
    with pytest.raises(InvalidOptionError, match="RuleSpec"):
        RuleBasedEvaluator(rules)
