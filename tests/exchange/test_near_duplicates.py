"""Requests that say nearly the same: which stay is settled by their order."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.exchange import near_duplicates
from calipers.exchange.near_duplicates import Vectors, same_text
from calipers.models.embeddings import cosine_similarity, embed

WORDS = ["where", "is", "my", "order", "cancel", "the", "flight", "please", "refund", "now", "invoice", "?"]
_REQUESTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    min_size=1,
    max_size=12,
    unique=True,
)


def near(texts, threshold, order=None, **options):
    vectors = Vectors()
    for text in texts:
        vectors.add(text)
    return vectors.near(order or range(len(texts)), threshold, **options)


def one_by_one(texts, threshold):
    """The rule in its plainest form: a text stays unless it is near one that stays before it."""
    rows = embed(texts)
    found, kept = {}, []
    for place, row in enumerate(rows):
        of = next((each for each in kept if cosine_similarity(rows[each], row) >= threshold), None)
        if of is None:
            kept.append(place)
        else:
            found[place] = of
    return found


def test_the_first_one_stays():
    texts = ["Where is my order?", "Cancel the flight", "Where is my order please?", "where is the order"]
    found = near(texts, 0.8)
    assert {place: one.of for place, one in found.items()} == {2: 0}
    assert all(0.8 <= one.similarity < 1 for one in found.values())
    assert near(texts, 0.8, order=[2, 0, 1, 3])[0].of == 2


def test_what_is_settled_stays_whatever_it_is_near():
    texts = ["my order", "my order now", "my order please"]
    assert set(near(texts, 0.7)) == {1, 2}
    assert set(near(texts, 0.7, settled=2)) == {2}


@settings(max_examples=40, deadline=None)
@given(_REQUESTS, st.sampled_from([0.5, 0.7, 0.9]))
def test_blocks_say_what_comparing_one_by_one_says(texts, threshold):
    rows = embed(texts)
    cosines = [cosine_similarity(a, b) for index, a in enumerate(rows) for b in rows[:index]]
    if any(math.isclose(each, threshold, abs_tol=1e-3) for each in cosines):
        return  # single precision may round it to either side
    assert {place: one.of for place, one in near(texts, threshold).items()} == one_by_one(texts, threshold)


def test_more_requests_than_a_block_holds_are_compared_with_all_that_stay(monkeypatch):
    monkeypatch.setitem(vars(near_duplicates), "_BLOCK", 2)
    monkeypatch.setitem(vars(near_duplicates), "_KEPT", 3)
    texts = [f"{one} {other}" for one in WORDS[:6] for other in WORDS[6:11]]
    assert {place: each.of for place, each in near(texts, 0.85).items()} == one_by_one(texts, 0.85)


def test_a_request_of_no_known_word_is_near_nothing():
    assert near(["", "  "], 0.5) == {}


@pytest.mark.parametrize("threshold", [0, 1.5, math.nan])
def test_a_threshold_is_a_share(threshold):
    with pytest.raises(InvalidOptionError, match="near must be"):
        near(["a"], threshold)


def test_texts_are_the_same_up_to_space_capitals_and_forms_of_letters():
    assert same_text("  Where IS\nmy ﬁle?") == same_text("where is my file?")
    assert same_text("my file") != same_text("my file!")
