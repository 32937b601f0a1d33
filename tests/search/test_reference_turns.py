from math import exp, fsum, isclose

from hypothesis import given
from hypothesis import strategies as st

from calipers.search import ReferenceTurns
from calipers.testing import shop_turns

TURNS = shop_turns(80)


@given(
    st.lists(st.text("abc d", min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=8), st.data()
)
def test_a_turn_that_is_left_out_is_judged_as_if_it_had_never_been_there(turns, data):
    at = data.draw(st.integers(0, len(turns) - 1))
    whole, without = ReferenceTurns(turns), ReferenceTurns(turns[:at] + turns[at + 1 :])
    assert isclose(whole.surprise(turns[at], learnt_from=True), without.surprise(turns[at]))
    assert whole.knows_no_word(turns[at], learnt_from=True) is without.knows_no_word(turns[at])


def test_the_chances_of_what_may_follow_add_up_to_no_more_than_one():
    reference = ReferenceTurns(TURNS)

    def total(text):  # of a text of n characters, with its end, the mean is over n + 1
        return reference.surprise(text) * (len(text) + 1)

    # What follows `lam`, compared with each other: the end of the text is a different one each time.
    known = {char for turn in TURNS for char in turn}
    together = fsum(exp(-reference.surprise(char) * 2) for char in known if not char.isspace())
    assert 0 < together <= 1
    assert total("lamp") < total("lamq")


def test_ordinary_spelling_surprises_less_than_the_same_letters_in_another_order():
    reference = ReferenceTurns(TURNS)
    for turn in shop_turns(20, seed=1):
        assert reference.surprise(turn) < reference.surprise(turn[::-1])
        assert reference.surprise(turn) < reference.surprise(turn.swapcase())


def test_a_text_without_a_known_word_says_so_and_a_short_one_says_nothing():
    reference = ReferenceTurns(TURNS)
    assert reference.odd_kinds("gura lbh zhfg") == ["no known word"]
    assert reference.odd_kinds("quux") == []
    assert reference.odd_kinds("12 13 14 15") == []
    assert reference.odd_kinds(TURNS[0]) == []
