import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.confusion import Confusion, confusion

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), max_size=50)
EXAMPLE = confusion([("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("dog", "dog"), ("cow", "dog")])


def test_rows_are_expected_and_columns_predicted():
    assert EXAMPLE.labels == ("cat", "cow", "dog")
    assert EXAMPLE.counts == ((1, 0, 1), (0, 0, 1), (0, 0, 2))
    assert EXAMPLE.count("cat", "dog") == 1
    assert EXAMPLE.count("dog", "cat") == 0


def test_ratios_of_a_small_example():
    assert EXAMPLE.n == 5
    assert EXAMPLE.accuracy == 3 / 5
    assert (EXAMPLE.precision("dog"), EXAMPLE.recall("dog")) == (2 / 4, 1.0)
    assert EXAMPLE.f1("dog") == pytest.approx(2 * 0.5 * 1 / 1.5)


def test_a_ratio_with_nothing_below_the_line_was_not_measured():
    assert EXAMPLE.precision("cow") is None
    assert EXAMPLE.recall("cow") == 0
    assert EXAMPLE.f1("cow") == 0
    assert confusion([("a", "b")]).recall("b") is None
    empty = confusion([])
    assert (empty.labels, empty.n, empty.accuracy) == ((), 0, None)


@given(pairs=PAIRS)
def test_every_measure_matches_its_definition(pairs):
    found = confusion(pairs)
    assert found.n == len(pairs)
    for label in found.labels:
        hits = sum(e == p == label for e, p in pairs)
        predicted = sum(p == label for _, p in pairs)
        expected = sum(e == label for e, _ in pairs)
        assert found.precision(label) == (hits / predicted if predicted else None)
        assert found.recall(label) == (hits / expected if expected else None)
        assert found.f1(label) == 2 * hits / (predicted + expected)


def test_an_unknown_label_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no such label: 'fox'; the labels are \['cat', 'cow', 'dog'\]"):
        EXAMPLE.recall("fox")


def test_a_confusion_survives_json():
    assert msgspec.json.decode(msgspec.json.encode(EXAMPLE), type=Confusion) == EXAMPLE
