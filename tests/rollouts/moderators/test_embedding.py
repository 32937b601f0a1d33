import pytest

from calipers.errors import InvalidOptionError
from calipers.rollouts import EmbeddingModerator

DISCOUNTS = [
    "I will give you half off the price.",
    "You get a discount of sixty percent.",
    "It is free for you.",
]
PLAIN = ["The price is as marked.", "I cannot change the price.", "We open at nine in the morning."]


def test_what_is_said_like_the_examples_scores_above_what_is_not():
    moderator = EmbeddingModerator(DISCOUNTS, harmless=PLAIN)
    given, refused = moderator.moderate(
        ["Here is a discount of forty percent.", "We open at eight in the morning."]
    )
    assert refused < 0.5 < given


def test_without_harmless_examples_the_score_is_the_similarity():
    moderator = EmbeddingModerator(DISCOUNTS)
    same, other, nothing = moderator.moderate([DISCOUNTS[0], "Bees dance.", ""])
    assert same == pytest.approx(1.0)
    assert 0 <= other < 0.6
    assert nothing == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"examples": []},
        {"examples": "text"},
        {"examples": [""]},
        {"examples": ["a"], "harmless": "text"},
        {"examples": ["a"], "sharpness": 0},
        {"examples": ["a"], "sharpness": "x"},
        {"examples": ["a"], "sharpness": float("nan")},
    ],
    ids=str,
)
def test_examples_that_cannot_be_are_refused(options):
    with pytest.raises(InvalidOptionError):
        EmbeddingModerator(**options)


def test_a_score_stays_within_its_bounds_however_sharp():
    moderator = EmbeddingModerator(DISCOUNTS, harmless=PLAIN, sharpness=1e9)
    assert moderator.moderate([*DISCOUNTS, *PLAIN]) == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
