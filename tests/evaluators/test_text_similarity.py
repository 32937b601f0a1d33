import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.evaluators import EvaluationReason, SimilarText, Skipped, TextSimilarity
from calipers.evaluators.text_similarity import text_similarity

TEXTS = st.text("abc ", max_size=10)
METHODS = st.sampled_from(["characters", "words", "part"])


@given(TEXTS, TEXTS, METHODS)
def test_similarity_runs_from_0_to_1_and_is_symmetric(left, right, method):
    similarity = text_similarity(left, right, method=method)
    assert 0 <= similarity <= 1
    assert similarity == pytest.approx(text_similarity(right, left, method=method))
    assert text_similarity(left, left, method=method) == 1


@given(TEXTS, TEXTS)
def test_1_means_equal(left, right):
    assert (text_similarity(left, right) == 1) == (left == right)


@given(TEXTS, TEXTS)
def test_characters_are_counted_by_insertions_and_deletions(left, right):
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]  # of common subsequences
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            longest[i + 1][j + 1] = longest[i][j] + 1 if a == b else max(longest[i][j + 1], longest[i + 1][j])
    total = len(left) + len(right)
    assert text_similarity(left, right) == pytest.approx(2 * longest[-1][-1] / total if total else 1)


@pytest.mark.parametrize(
    ("method", "left", "right", "similarity"),
    [
        ("characters", "abcd", "abcd", 1),
        ("characters", "abcd", "", 0),
        ("words", "the quick fox", "fox the  quick", 1),
        ("words", " ", "", 1),
        ("part", "quick", "the quick fox", 1),
        ("part", "", "the quick fox", 0),
        ("part", "", "", 1),
    ],
)
def test_methods_differ_in_what_they_compare(method, left, right, similarity):
    assert text_similarity(left, right, method=method) == similarity


def test_case_can_be_ignored(judge):
    assert judge(TextSimilarity("ABC"), "abc").value == 0
    assert judge(TextSimilarity("ABC", ignore_case=True), "abc").value == 1


@given(TEXTS, TEXTS, st.floats(min_value=0.01, max_value=1))
def test_the_claim_holds_exactly_when_the_score_reaches_the_minimum(judge, expected, output, minimum):
    score = judge(TextSimilarity(), output, expected).value
    assert judge(SimilarText(minimum=minimum), output, expected).value == (score >= minimum)


def test_the_reason_gives_the_similarity(judge):
    assert judge(SimilarText("hello world"), "hello wurld") == EvaluationReason(
        value=True, reason="similarity 0.909"
    )
    assert judge(SimilarText("hello", minimum=0.9), "help") == EvaluationReason(
        value=False, reason="similarity 0.667, expected at least 0.9: expected 'hello', got 'help'"
    )


@pytest.mark.parametrize("kind", [SimilarText, TextSimilarity])
def test_without_text_to_compare_with_it_does_not_apply(judge, kind):
    assert isinstance(judge(kind(), "text"), Skipped)
    assert isinstance(judge(kind(), "text", 5), Skipped)
    assert isinstance(judge(kind(), "text", None), Skipped)


@pytest.mark.parametrize("output", [None, 5, b"text", ["text"]])
def test_an_output_that_is_not_text_counts_against_it(judge, output):
    assert judge(SimilarText("text"), output).value is False
    score = judge(TextSimilarity("text"), output)
    assert score.value == 0
    assert "expected text" in score.reason


@pytest.mark.parametrize("minimum", [0, -0.1, 1.1, float("nan"), "0.5", True])
def test_a_minimum_is_above_0_and_at_most_1(minimum):
    with pytest.raises(InvalidOptionError, match="minimum"):
        SimilarText("x", minimum=minimum)


@pytest.mark.parametrize("kind", [SimilarText, TextSimilarity])
@pytest.mark.parametrize("options", [{"value": 5}, {"method": "magic"}])
def test_options_are_checked_when_they_are_given(kind, options):
    with pytest.raises(InvalidOptionError):
        kind(**options)


def test_a_missing_dependency_is_named(judge, monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(MissingExtraError, match=r"calipers\[text\]"):
        judge(TextSimilarity("a"), "b")
