import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import MinWordCountEvaluator, NonEmptyOutputEvaluator, Trace
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
    with pytest.raises(InvalidOptionError, match="min_words, got "):
        MinWordCountEvaluator(min_words)


def test_an_output_that_is_no_text_is_an_error_and_no_judgement(judge):
    assert judge(NonEmptyOutputEvaluator(), output_text=None).verdict == "error"
    assert judge(MinWordCountEvaluator(), output_text=5).verdict == "error"
