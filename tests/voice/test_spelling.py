"""Text as it is spoken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.spelling import number_words, ordinal_words, spoken_words

SCALES = ("trillion", "billion", "million", "thousand", "")


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
        (1000, "one thousand"),
        (1500, "one thousand five hundred"),
        (2_000_017, "two million seventeen"),
        (10**15 - 1, " ".join(f"nine hundred ninety nine {scale}" for scale in SCALES)),
    ],
)
def test_numbers_are_spelled_out(number, words):
    assert number_words(number) == words.strip()


def test_every_number_has_a_spelling_of_its_own():
    assert len({number_words(number) for number in range(2000)}) == 2000


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "first"),
        (2, "second"),
        (12, "twelfth"),
        (20, "twentieth"),
        (43, "forty third"),
        (100, "one hundredth"),
    ],
)
def test_places_in_a_row_are_spelled_out(number, words):
    assert ordinal_words(number) == words


@pytest.mark.parametrize("number", [-1, 10**15])
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
        ("1000 lights, or 1,500", "one thousand lights or one thousand five hundred"),
        ("lights 1,2,3", "lights one two three"),
        ("21.5 degrees, 3.05 km", "twenty one point five degrees three point zero five km"),
        ("version 1.2.3.", "version one point two point three"),
        ("agent 007", "agent zero zero seven"),
        ("the 2nd and the 21st of May", "the second and the twenty first of may"),
        ("at 5 p.m. or 6 A.M.", "at five pm or six am"),
        ("9999999999999999 lights", "9999999999999999 lights"),
        ("ÜBER 日本", "über 日本"),
        ("$5", "five dollars"),
        ("$1, $0.50 or $5.50", "one dollar fifty cents or five dollars fifty cents"),
        ("£1,500.20", "one thousand five hundred pounds twenty pence"),
        ("$3.5 million", "three point five million dollars"),
        ("-$5", "minus five dollars"),
        ("US$ and €", "us $ and €"),
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
