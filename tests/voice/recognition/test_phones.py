"""The distance of two pronunciations: a number that keeps its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.recognition.recognizer import phone_distance

PHONES = st.lists(st.sampled_from("AA ER IY P T CH S Z M NG L W".split()), min_size=1, max_size=12)  # noqa: SIM905


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("K AO L", "K AO L", 0),
        ("K AO L", "T AO L", 0.5 / 3),
        ("K AO L", "S AO L", 1 / 3),
        ("K AO L", "K AO", 1 / 2),
        ("K AO L", "K AO L Z", 1 / 3),
        ("ER", "R", 0.5),
        ("ER", "IY", 0.5),
        ("R", "IY", 1),
        ("??", "R", 1),
        ("K", "AA AA AA", 3),
    ],
)
def test_the_distance_counts_what_must_be_changed(first, second, distance):
    assert phone_distance(first.split(), second.split()) == pytest.approx(distance)


@pytest.mark.parametrize(("first", "second"), [([], []), ([], ["K"]), (["K"], [])])
def test_nothing_can_be_said_of_silence(first, second):
    assert phone_distance(first, second) is None


@given(PHONES, PHONES)
def test_it_is_the_same_both_ways_and_never_less_than_the_difference_of_lengths(first, second):
    distance = phone_distance(first, second)
    assert distance == phone_distance(second, first)
    shorter = min(len(first), len(second))
    assert abs(len(first) - len(second)) / shorter <= distance <= max(len(first), len(second)) / shorter


@given(PHONES, PHONES)
def test_only_the_same_sounds_are_at_no_distance(first, second):
    assert (phone_distance(first, second) == 0) is (first == second)
