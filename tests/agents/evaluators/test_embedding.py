import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import EmbeddingSimilarityEvaluator
from calipers.errors import InvalidOptionError


def counts(texts):
    """A vector of how often each of three letters occurs."""
    return [[text.count(letter) for letter in "abc"] for text in texts]


@pytest.mark.parametrize(
    ("output", "verdict", "similarity"),
    [
        ("aab", "pass", 1.0),
        ("aaabb", "pass", 0.992),
        ("ab", "pass", 0.949),
        ("bb", "fail", 0.447),
        ("c", "fail", 0.0),
        ("", "fail", 0.0),
    ],
)
def test_what_is_close_enough_passes(judge, output, verdict, similarity):
    result = judge(EmbeddingSimilarityEvaluator(embed=counts), expected="aab", output_text=output)
    assert (result.evaluator_name, result.verdict) == ("embedding-similarity", verdict)
    assert result.score == pytest.approx(similarity, abs=5e-4)
    assert result.metadata["similarity"] == result.score


def test_nearly_enough_is_a_part_of_it_three_quarters_by_default(judge):
    facts = {"expected": "aab", "output_text": "abb"}  # 0.8
    for threshold, partial, verdict in [
        (0.8, None, "pass"),
        (0.9, None, "partial"),
        (0.9, 0.85, "fail"),
        (1, 0.5, "partial"),
    ]:
        evaluator = EmbeddingSimilarityEvaluator(threshold, counts, partial_threshold=partial)
        assert judge(evaluator, **facts).verdict == verdict


async def later(texts):
    return counts(texts)


def as_tuples(texts):
    return tuple(map(tuple, counts(texts)))


def as_array(texts):
    import numpy as np

    return np.array(counts(texts), dtype="float32")


@pytest.mark.parametrize("embed", [later, as_tuples, as_array])
def test_an_embedding_may_be_async_and_give_vectors_of_any_kind(judge, embed):
    assert judge(
        EmbeddingSimilarityEvaluator(embed=embed), expected="aab", output_text="ab"
    ).score == pytest.approx(0.949, abs=5e-4)


def test_the_embedding_that_comes_with_calipers_knows_english(judge):
    evaluator = EmbeddingSimilarityEvaluator()
    expected = "Paris is the capital of France."
    assert judge(evaluator, expected=expected, output_text="France's capital is Paris.").verdict == "pass"
    assert judge(evaluator, expected=expected, output_text="I like to eat apples.").verdict == "fail"


def test_equal_texts_are_alike_without_a_look_at_them(judge):
    def refuse(texts):
        raise AssertionError("not needed")

    for text in ("", "hello"):
        assert judge(EmbeddingSimilarityEvaluator(1.0, refuse), expected=text, output_text=text).score == 1.0


@pytest.mark.parametrize("expected", [None, 5, ["text"], {"a": 1}], ids=repr)
def test_without_a_text_to_expect_there_is_nothing_to_judge(judge, expected):
    assert (
        judge(EmbeddingSimilarityEvaluator(embed=counts), expected=expected, output_text="a").verdict
        == "skip"
    )


def test_a_similarity_below_zero_scores_zero(judge):
    result = judge(
        EmbeddingSimilarityEvaluator(embed=lambda texts: [[1.0], [-1.0]]), expected="x", output_text="y"
    )
    assert (result.verdict, result.score) == ("fail", 0.0)


@pytest.mark.parametrize(
    "vectors",
    [
        None,
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0]],
        [[math.nan], [1.0]],
        [[], []],
        "ab",
        [["x"], ["y"]],
        [[1], [2], [3]],
    ],
    ids=repr,
)
def test_an_embedding_that_gives_no_vectors_is_an_error_and_no_judgement(judge, vectors):
    result = judge(EmbeddingSimilarityEvaluator(embed=lambda texts: vectors), expected="x", output_text="y")
    assert (result.verdict, result.score) == ("error", 0.0)
    assert "embed must give a vector of numbers for each of 2 texts" in result.reason


def test_an_embedding_that_fails_is_an_error(judge):
    def offline(texts):
        raise ConnectionError("no route")

    result = judge(EmbeddingSimilarityEvaluator(embed=offline), expected="x", output_text="y")
    assert (result.verdict, result.reason) == ("error", "ConnectionError: no route")


@given(st.text("abc", max_size=5), st.text("abc", max_size=5), st.floats(0.01, 1))
def test_a_pass_is_at_least_the_threshold(judge, one, other, threshold):
    result = judge(EmbeddingSimilarityEvaluator(threshold, counts), expected=one, output_text=other)
    assert (result.verdict == "pass") is (result.score >= threshold)


@pytest.mark.parametrize("option", ["threshold", "partial_threshold"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, "0.8", True])
def test_a_threshold_is_a_share(option, value):
    with pytest.raises(InvalidOptionError, match=f"{option} of .*, got "):
        EmbeddingSimilarityEvaluator(**{option: value})


def test_an_embedding_is_a_function():
    with pytest.raises(
        InvalidOptionError,
        match="embed of EmbeddingSimilarityEvaluator must be a function, or None, got 'openai'",
    ):
        EmbeddingSimilarityEvaluator(embed="openai")
