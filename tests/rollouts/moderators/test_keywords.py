import pytest

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import KeywordModerator

MODERATOR = KeywordModerator(
    {"discount": 0.4, "free of charge": 1.0, "naïve": 0.2}, patterns={r"\b[5-9]\d ?%": 0.8}
)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("", 0.0),
        ("Nothing of the kind.", 0.0),
        ("A DISCOUNT!", 0.4),
        ("discounted", 0.0),
        ("free of\n  charge", 1.0),
        ("A discount of 70 %", 0.8),
        ("20 %", 0.0),
        ("How Naïve.", 0.2),
    ],
)
def test_the_worst_of_what_is_found_counts(text, score):
    assert MODERATOR.moderate([text]) == [score]


def test_words_in_a_list_count_one():
    assert KeywordModerator(["heron"]).score(["a heron", "an egret"]) == [1.0, 0.0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"words": "heron"},
        {"words": [""]},
        {"words": [3]},
        {"words": {"a": 2}},
        {"words": {"a": True}},
        {"patterns": ["("]},
    ],
    ids=str,
)
def test_words_and_patterns_that_cannot_be_are_refused(options):
    with pytest.raises(InvalidOptionError):
        KeywordModerator(**options)


def test_a_pattern_that_goes_astray_is_an_error():
    with pytest.raises(InvalidRolloutError, match="simplify"):
        KeywordModerator(patterns=[r"(a|aa|a)+$"]).score_text("a" * 5000 + "b")
