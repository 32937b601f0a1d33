import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import MinWordCountEvaluator, NonEmptyOutputEvaluator, RegexPatternMatcher, Trace
from calipers.errors import InvalidOptionError


@pytest.mark.parametrize(
    ("text", "verdict", "score"),
    [
        ("hello", "pass", 1.0),
        ("0", "pass", 1.0),
        ("", "fail", 0.0),
        (" \n\t", "fail", 0.0),
        (" ", "fail", 0.0),
    ],
)
def test_an_output_that_says_anything_is_not_empty(judge, text, verdict, score):
    result = judge(NonEmptyOutputEvaluator(), output_text=text)
    assert (result.evaluator_name, result.verdict, result.score) == ("non-empty-output", verdict, score)


@pytest.mark.parametrize(
    ("text", "verdict", "score", "count"),
    [
        ("a b c d", "pass", 1.0, 4),
        ("a b c d e", "pass", 1.0, 5),
        ("a b c", "fail", 0.75, 3),
        ("", "fail", 0.0, 0),
    ],
)
def test_words_are_counted(judge, text, verdict, score, count):
    result = judge(MinWordCountEvaluator(min_words=4), output_text=text)
    assert (result.evaluator_name, result.verdict, result.score) == ("min-word-count", verdict, score)
    assert {"word_count": count, "min_words": 4}.items() <= result.metadata.items()
    assert result.reason == f"expected at least 4 words, got {count}"


@given(st.integers(1, 50), st.integers(0, 50))
def test_there_are_enough_words_exactly_if_the_score_is_1(judge, min_words, count):
    result = judge(MinWordCountEvaluator(min_words), Trace(output_text="word " * count))
    assert (result.verdict == "pass") is (count >= min_words) is (result.score == 1.0)


@pytest.mark.parametrize("min_words", [0, -1, 2.5, True, None, "ten", float("nan")])
def test_a_minimum_that_everything_meets_or_that_is_none_is_refused(min_words):
    with pytest.raises(InvalidOptionError, match=r"min_words of .*, got "):
        MinWordCountEvaluator(min_words)


def test_an_output_that_is_no_text_is_an_error_and_no_judgement(judge):
    assert judge(NonEmptyOutputEvaluator(), output_text=None).verdict == "error"
    assert judge(MinWordCountEvaluator(), output_text=5).verdict == "error"


DATE = {"pattern": r"\d{4}-\d{2}-\d{2}", "weight": 2.0, "description": "an ISO date"}
LINK = {"pattern": r"https?://\S+"}
NO_ERROR = {"pattern": r"(?i)error|exception", "weight": 3.0, "must_match": False, "description": "no errors"}


@pytest.mark.parametrize(
    ("text", "verdict", "score"),
    [
        ("2026-01-02 see http://x.y", "pass", 1.0),
        ("2026-01-02", "partial", 5 / 6),
        ("nothing", "partial", 3 / 6),
        ("an Error on 2026-01-02", "partial", 2 / 6),
        ("an ERROR", "fail", 0.0),
    ],
)
def test_each_pattern_earns_its_weight(judge, text, verdict, score):
    result = judge(RegexPatternMatcher([DATE, LINK, NO_ERROR]), output_text=text)
    assert (result.evaluator_name, result.verdict) == ("regex-matcher", verdict)
    assert result.score == pytest.approx(score)


def test_the_result_tells_what_became_of_each_pattern(judge):
    result = judge(RegexPatternMatcher([DATE, LINK, NO_ERROR]), output_text="an error")
    assert (
        result.reason
        == r"3 of 3 patterns failed: an ISO date (not found); https?://\S+ (not found); no errors (found)"
    )
    assert result.metadata["pattern_results"][1:] == [
        {
            "pattern": LINK["pattern"],
            "description": LINK["pattern"],
            "matched": False,
            "must_match": True,
            "passed": False,
            "weight": 1.0,
        },
        {
            "pattern": NO_ERROR["pattern"],
            "description": "no errors",
            "matched": True,
            "must_match": False,
            "passed": False,
            "weight": 3.0,
        },
    ]
    assert judge(RegexPatternMatcher([LINK]), output_text="http://x").reason == "1 of 1 patterns passed"


def test_without_patterns_there_is_nothing_to_judge(judge):
    assert judge(RegexPatternMatcher([]), output_text="x").verdict == "skip"


def test_a_pattern_that_runs_too_long_is_an_error_and_no_mismatch(judge):
    evaluator = RegexPatternMatcher([{"pattern": "(a|aa)+$"}], timeout_seconds=0.05)
    result = judge(evaluator, output_text="a" * 60 + "b")
    assert (result.verdict, result.score) == ("error", 0.0)
    assert "still running after 0.05 s" in result.reason


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.booleans(), st.floats(min_value=0, exclude_min=True, max_value=1e308)
        ),
        min_size=1,
        max_size=5,
    ),
    st.text("abc", max_size=3),
)
def test_it_passes_exactly_if_each_pattern_does_what_it_should(judge, wanted, text):
    patterns = [{"pattern": p, "must_match": m, "weight": w} for p, m, w in wanted]
    result = judge(RegexPatternMatcher(patterns), output_text=text)
    right = [bool(re.search(p, text)) == m for p, m, _ in wanted]
    assert result.verdict == ("pass" if all(right) else "partial" if any(right) else "fail")


@pytest.mark.parametrize(
    ("patterns", "complaint"),
    [
        ([{"pattern": "("}], r"'\(' is not a valid pattern"),
        ([{"pattern": ""}], "pattern 1 of RegexPatternMatcher needs its pattern as non-empty text"),
        ([LINK, {"weight": 1}], "pattern 2 of RegexPatternMatcher needs its pattern"),
        ([{"pattern": 5}], "needs its pattern as non-empty text"),
        ([{"pattern": "a", "wieght": 2}], "unknown key 'wieght' \\(did you mean 'weight'"),
        ([{"pattern": "a", "x": 2}], "unknown key 'x'; there are pattern, weight, must_match, description"),
        ([{"pattern": "a", 5: 2}], "unknown key 5"),
        (
            [{"pattern": "a", "weight": 0}],
            "weight of pattern 1 of RegexPatternMatcher, 'a' must be a number above 0",
        ),
        ([{"pattern": "a", "weight": -1}], "weight of .*, got -1"),
        ([{"pattern": "a", "weight": math.nan}], "weight of .*, got nan"),
        ([{"pattern": "a", "weight": math.inf}], "weight of .*, got inf"),
        ([{"pattern": "a", "weight": "2"}], "weight of .*, got '2'"),
        ([{"pattern": "a", "weight": True}], "weight of .*, got True"),
        ([{"pattern": "a", "must_match": "no"}], "must_match of .*, 'a' must be True or False"),
        ([{"pattern": "a", "description": 5}], "description of .*, 'a' must be a text"),
        (["a"], "pattern 1 of RegexPatternMatcher must be a dict"),
        ("a", "needs a list of dicts"),
        (None, "needs a list of dicts"),
        ({"pattern": "a"}, "needs a list of dicts"),
    ],
    ids=range(19),
)
def test_what_is_wrong_with_a_pattern_is_told_when_it_is_given(patterns, complaint):
    with pytest.raises(InvalidOptionError, match=complaint):
        RegexPatternMatcher(patterns)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, "1", None])
def test_the_time_for_a_search_is_a_positive_number(seconds):
    with pytest.raises(InvalidOptionError, match=r"timeout_seconds of .*, got "):
        RegexPatternMatcher([LINK], timeout_seconds=seconds)
