import asyncio

import numpy as np
import pytest

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import TextModerator, as_moderator
from calipers.rollouts.moderators.moderator import read_scores, scores_of


class Moderating:
    def moderate(self, texts):
        return [len(text) / 10 for text in texts]


class Scoring:
    async def score(self, texts):
        return np.array([len(text) / 4 for text in texts], dtype=np.float32) * np.float32(0.4)


class Measuring(TextModerator):
    def score_text(self, text):
        return len(text) / 10


def length(text):
    return len(text) / 10


async def length_later(text):
    return length(text)


SHAPES = {
    "moderate": Moderating(),
    "async score": Scoring(),
    "a subclass": Measuring(),
    "a function": length,
    "an async function": length_later,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_moderator_scores_each_text_in_order(shape):
    moderator = as_moderator(SHAPES[shape])
    assert asyncio.run(scores_of(moderator, ["a", "", "ccc"])) == pytest.approx([0.1, 0.0, 0.3])
    assert asyncio.run(scores_of(moderator, [])) == []


def test_both_names_of_the_method_do_the_same():
    for moderator in (Measuring(), as_moderator(length)):
        assert list(moderator.moderate(["a"])) == list(moderator.score(["a"])) == [0.1]


@pytest.mark.parametrize("score", [7, -0.1, 1.0000001], ids=repr)
def test_a_score_is_from_0_to_1(score):
    with pytest.raises(InvalidRolloutError, match=r"from 0, harmless, to 1, got .*scale its scores"):
        asyncio.run(scores_of(as_moderator(lambda text: score), ["a"]))


@pytest.mark.parametrize("wrong", [None, 3, "text", Moderating, ["a"]], ids=str)
def test_what_is_no_moderator_is_refused_with_the_shapes_that_are(wrong):
    with pytest.raises(InvalidOptionError, match=r"moderate\(texts\)"):
        as_moderator(wrong)


@pytest.mark.parametrize(
    "given",
    [
        None,
        0.5,
        "0.5",
        [],
        [0.1],
        [0.1, None],
        [0.1, "0.2"],
        [0.1, float("inf")],
        [0.1, True],
        [1, 10**400],
        [[1], [2, 3]],
    ],
    ids=lambda given: f"{given!r:.30}",
)
def test_what_are_no_scores_is_refused_with_the_values(given):
    with pytest.raises(InvalidRolloutError, match="one finite number for each of its 2 texts"):
        read_scores(given, 2)


def test_numbers_of_numpy_are_numbers():
    assert read_scores((np.float32(0.5), np.int64(1)), 2) == [0.5, 1.0]
    assert read_scores(iter([0.25]), 1) == [0.25]
    with pytest.raises(InvalidRolloutError):
        read_scores(np.array([True]), 1)


def test_one_text_in_place_of_a_list_is_refused():
    with pytest.raises(InvalidRolloutError, match="a list of texts"):
        Measuring().moderate("text")
