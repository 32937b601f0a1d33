"""Text as it is spoken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.demo.spelling import number_words, spoken_words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (72, "seventy two"),
        (100, "one hundred"),
        (205, "two hundred five"),
        (999, "nine hundred ninety nine"),
    ],
)
def test_numbers_are_spelled_out(number, words):
    assert number_words(number) == words


def test_every_number_has_a_spelling_of_its_own():
    assert len({number_words(number) for number in range(1000)}) == 1000


@pytest.mark.parametrize("number", [-1, 1000])
def test_a_number_out_of_range_is_refused(number):
    with pytest.raises(ValueError, match="from 0 to 999"):
        number_words(number)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Turn on the lights!", "turn on the lights"),
        ("Set a timer for 10 minutes.", "set a timer for ten minutes"),
        ("Wake me up at 6:30", "wake me up at six thirty"),
        ("at 7:05, or 8:00?", "at seven oh five or eight"),
        ("dim it to 35%", "dim it to thirty five percent"),
        ("What\u2019s the \u201cweather\u201d \u2014 today", "what's the weather today"),
        ("twenty-one", "twenty one"),
        ("-5 degrees", "minus five degrees"),
        ("1000 lights", "1000 lights"),
        ("ÜBER 日本", "über 日本"),
        ("$5", "$ five"),
        ("", ""),
        (" ... \n", ""),
    ],
)
def test_a_text_becomes_the_words_that_are_said(text, words):
    assert spoken_words(text) == words.split()


@given(st.text())
def test_words_that_are_spoken_stay_as_they_are(text):
    words = spoken_words(text)
    assert spoken_words(" ".join(words)) == words
