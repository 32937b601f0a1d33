import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import AttemptTimeoutError, InvalidOptionError
from calipers.evaluators import EvaluationReason, MatchesRegex

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\s", "^", "$", "(?:ab)"])
SIMPLE = st.lists(st.tuples(ATOMS, st.sampled_from(["", "?"])), min_size=1, max_size=5).map(
    lambda parts: "".join(atom if atom in "^$" else atom + mark for atom, mark in parts)
)


@given(SIMPLE, st.text("ab \n", max_size=8))
def test_simple_patterns_mean_what_they_mean_to_re(judge, pattern, text):
    assert judge(MatchesRegex(pattern), text).value == bool(re.search(pattern, text))
    assert judge(MatchesRegex(pattern, full=True), text).value == bool(re.fullmatch(pattern, text))


@pytest.mark.parametrize(
    ("options", "text", "passes"),
    [
        ({}, "say hello", True),
        ({}, "HELLO", False),
        ({"ignore_case": True}, "HELLO", True),
        ({"full": True}, "say hello", False),
        ({"full": True}, "hello", True),
    ],
)
def test_options_change_what_counts(judge, options, text, passes):
    assert judge(MatchesRegex("hello", **options), text).value is passes


def test_lines_are_an_option(judge):
    assert judge(MatchesRegex("^b$"), "a\nb").value is False
    assert judge(MatchesRegex("^b$", multiline=True), "a\nb").value is True
    assert judge(MatchesRegex("a.b"), "a\nb").value is False
    assert judge(MatchesRegex("a.b", dot_all=True), "a\nb").value is True


def test_the_reason_shows_pattern_and_text(judge):
    assert judge(MatchesRegex(r"\d"), "none") == EvaluationReason(
        value=False, reason="expected a match of '\\\\d', got 'none'"
    )
    assert "the whole text to match" in judge(MatchesRegex(r"\d", full=True), "1 2").reason


@pytest.mark.parametrize("output", [None, 5, b"hello", ["hello"]])
def test_what_is_not_text_does_not_match(judge, output):
    result = judge(MatchesRegex("hello"), output)
    assert result.value is False
    assert "expected text" in result.reason


def test_a_catastrophic_pattern_ends_as_a_failure_of_the_evaluator(judge):
    with pytest.raises(AttemptTimeoutError, match=r"still running after 0\.05 s on a text of 61 characters"):
        judge(MatchesRegex("(a|aa)+$", timeout_seconds=0.05), "a" * 60 + "b")


def test_the_textbook_pattern_cannot_hang_a_run(judge):
    try:
        result = judge(MatchesRegex("(a+)+$", timeout_seconds=0.05), "a" * 40 + "b")
    except AttemptTimeoutError:
        return  # which of the two depends on how clever the release of `regex` is
    assert result.value is False


@pytest.mark.parametrize("pattern", ["(", "[", "*", r"\1", "", None, 5, ["a"]])
def test_a_pattern_is_checked_when_it_is_given(pattern):
    with pytest.raises(InvalidOptionError, match="pattern"):
        MatchesRegex(pattern)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, "1", None, True])
def test_the_time_for_a_search_is_positive_and_finite(seconds):
    with pytest.raises(InvalidOptionError, match="timeout_seconds"):
        MatchesRegex("a", timeout_seconds=seconds)


def test_arguments_are_stored_unchanged():
    evaluator = MatchesRegex("a", full=True)
    assert (evaluator.pattern, evaluator.full) == ("a", True)
    assert evaluator == MatchesRegex("a", full=True) != MatchesRegex("a")
