import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calipers.models.embeddings import NEAR, cosine_similarity, embed, groups_of, similarity

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=8)


# ---------------------------------------------------------------------- vectors


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [
        ([1, 0], [0, 1], 0),
        ([1, 2], [2, 4], 1),
        ([1, 2], [-1, -2], -1),
        ([1, 1], [1, 0], math.sqrt(0.5)),
        ([0, 0], [1, 0], 0),
    ],
)
def test_the_cosine_of_two_vectors(a, b, cosine):
    assert cosine_similarity(a, b) == pytest.approx(cosine)


@given(VECTORS)
def test_a_vector_is_exactly_like_itself_whatever_its_size(vector):
    assume(any(vector))
    assert cosine_similarity(vector, vector) == 1.0


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_the_cosine_is_symmetric_and_between_minus_1_and_1(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    assert cosine_similarity(a, b) == cosine_similarity(b, a)
    assert -1 <= cosine_similarity(a, b) <= 1


@pytest.mark.parametrize(
    ("a", "b"),
    [([1], [1, 2]), ([], []), ([1, math.nan], [1, 2]), ([1, 2], [math.inf, 1]), (["x"], [1])],
    ids=repr,
)
def test_what_has_no_cosine_is_an_error(a, b):
    with pytest.raises(ValueError, match=r"vector|could not convert"):
        cosine_similarity(a, b)


# ---------------------------------------------------------------------- texts


def test_texts_of_one_meaning_are_closer_than_others():
    capital = "Paris is the capital of France."
    assert similarity(capital, "The capital city of France is Paris.") > 0.9
    assert similarity(capital, "My cat sleeps all day long.") < 0.4
    assert similarity(capital, capital) == 1.0


def test_every_text_has_a_vector_of_its_own_and_company_does_not_change_it():
    texts = ["one", "a rather longer text than the one before it", ""]
    together = embed(texts)
    assert [len(vector) for vector in together] == [256] * 3
    assert together == [embed([text])[0] for text in texts]
    assert embed([]) == []


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_a_text_that_says_nothing_has_no_direction(text):
    assert embed([text]) == [[0.0] * 256]
    assert similarity(text, "hello") == 0.0
    assert similarity(text, text) == 1.0


@pytest.mark.parametrize(
    "text", ["a\ud800b", "\x00", "\U0001f469\u200d\U0001f467", "ﬁ İ", "x" * 100_000], ids=ascii
)
def test_odd_texts_have_finite_vectors(text):
    assert all(map(math.isfinite, embed([text])[0]))


def test_a_long_text_is_about_what_its_pieces_are_about():
    sentence = "The refund was sent to your card. "
    assert similarity(sentence, sentence * 2_000) > 0.99


def test_a_text_instead_of_a_list_is_an_error():
    with pytest.raises(TypeError, match="a list of texts, got the text 'hello'"):
        embed("hello")


def test_threads_that_come_at_once_load_one_model():
    program = (
        "import sys, threading\n"
        "from calipers.models import embeddings\n"
        "assert 'wordllama' not in sys.modules and 'numpy' not in sys.modules\n"
        "threads = [threading.Thread(target=embeddings.embed, args=(['x'],)) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "print(embeddings._model.cache_info())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "hits=7, misses=1" in done.stdout


def test_many_threads_get_the_vectors_that_one_gets():
    texts = [f"sentence number {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: embed([text])[0], texts)) == embed(texts)


def test_without_the_dependency_the_error_names_the_extra():
    program = (
        "import sys\n"
        "sys.modules['wordllama'] = None\n"
        "from calipers.models.embeddings import embed\n"
        "try:\n    embed(['x'])\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtraError ")
    assert "pip install 'calipers[embeddings]'" in done.stdout


# ---------------------------------------------------------------------- groups


@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), max_size=20))
def test_a_group_is_what_is_near_its_middle(points):
    def near(a, b):
        return cosine_similarity(points[a], points[b]) >= NEAR - 1e-4

    found = groups_of(points)
    grouped = [place for group in found for place in group]
    assert len(grouped) == len(set(grouped))
    assert [len(group) for group in found] == sorted((len(group) for group in found), reverse=True)
    for group in found:
        assert len(group) > 1
        assert all(near(group[0], place) for place in group)
    alone = sorted(set(range(len(points))) - set(grouped))
    assert not [(a, b) for a in alone for b in alone if a < b and near(a, b)]


def test_equal_texts_are_a_group_however_near_they_must_be():
    texts = ["I want my money back.", "Where is my parcel?", "I want my money back."]
    assert groups_of(embed(texts), 1.0) == [[0, 2]]
