"""What was lost in hearing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.voice import entities, lost_entities, tool_call, word_errors
from calipers.voice.spelling import compared_words, number_words

texts = st.lists(st.sampled_from(["turn", "on", "the", "light", "20"]), min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("said", "heard", "counts"),
    [
        ("turn on the light", "turn on the light", (0, 0, 0, 4)),
        ("Turn ON, the light!", "turn on the light", (0, 0, 0, 4)),
        ("set a timer for 20 minutes", "set a timer for twenty minutes", (0, 0, 0, 6)),
        ("turn on the light", "turn off the light", (1, 0, 0, 4)),
        ("turn on the light", "turn on light", (0, 1, 0, 4)),
        ("turn on the light", "turn on the the light", (0, 0, 1, 4)),
        ("turn on the light", "", (0, 4, 0, 4)),
        ("in 1999", "in nineteen ninety nine", (0, 0, 0, 7)),
        ("send $5.50", "send five dollars and fifty cents", (0, 0, 0, 5)),
        ("room 205", "room two hundred and five", (0, 0, 0, 4)),
    ],
)
def test_errors_are_counted_by_kind(said, heard, counts):
    found = word_errors(said, heard)
    assert (found.substitutions, found.deletions, found.insertions, found.words) == counts


@given(texts, texts)
def test_the_rate_is_zero_for_the_same_words_and_as_many_errors_as_the_way_back(said, heard):
    assert word_errors(said, said).rate == 0
    there, back = word_errors(said, heard), word_errors(heard, said)
    assert there.rate * there.words == pytest.approx(back.rate * back.words)
    assert (there + there).rate == pytest.approx(there.rate)


def test_where_nothing_was_said_there_is_no_rate():
    with pytest.raises(InvalidOptionError, match="no words"):
        word_errors("?!", "turn")


CALLS = [
    tool_call("set_timer", minutes=20, label={"for": "eggs"}),
    tool_call("light", on=True, room="living room"),
]


@pytest.mark.parametrize(
    ("said", "known", "heard", "lost"),
    [
        (
            "a timer of twenty minutes for eggs",
            ["twenty", "eggs"],
            "timer of thirty minutes for eggs",
            ["twenty"],
        ),
        ("light in the living room", ["living room"], "light in the dining room", ["living room"]),
        ("light in the living room", ["living room"], "the living room", []),
        ("do it", [], "do it", []),
    ],
)
def test_entities_are_the_arguments_that_are_said(said, known, heard, lost):
    assert entities(said, CALLS) == known
    assert lost_entities(said, heard, CALLS) == lost


@pytest.mark.parametrize(
    ("value", "said", "heard"),
    [
        (1500, "Transfer 1,500 dollars", "transfer fifteen hundred dollars"),
        (1500.0, "Transfer 1500 dollars", "transfer one thousand five hundred dollars"),
        (1999, "the summer of 1999", "the summer of nineteen ninety nine"),
        (1905, "the summer of 1905", "the summer of nineteen oh five"),
        (21.5, "set it to 21.5 degrees", "set it to twenty one point five degrees"),
        ("2nd", "the 2nd floor", "the second floor"),
        (105, "105 lights", "a hundred and five lights"),
        (14, "at 14:30", "at fourteen thirty"),
    ],
)
def test_a_number_is_found_however_it_is_said(value, said, heard):
    calls = [tool_call("do", it=value)]
    assert len(entities(said, calls)) == 1
    assert lost_entities(said, heard, calls) == []
    assert len(lost_entities(said, "twelve and a half", calls)) == 1


@given(st.integers(1300, 2099))
def test_a_year_is_the_same_however_it_is_said(year):
    century, rest = divmod(year, 100)
    end = "hundred" if not rest else f"oh {number_words(rest)}" if rest < 10 else number_words(rest)
    said = compared_words(f"in {year}")
    assert compared_words(f"in {number_words(century)} {end}") == said
    assert compared_words(f"in {year:,}") == said == ["in", *number_words(year).split()]


@pytest.mark.parametrize(("said", "heard"), [(None, "hi"), ("hi", None), (3, "hi"), ("hi", b"hi")])
def test_only_texts_have_word_errors(said, heard):
    with pytest.raises(InvalidOptionError, match="is a text, got"):
        word_errors(said, heard)
