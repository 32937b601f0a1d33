"""What makes two similar texts say different things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.contrast import contrast

OTHERWISE = [
    ("turn on the light", "turn off the light", "'on' is not 'off'"),
    ("turn off the light on the left", "turn the light on the left on", "'off' is not 'on'"),
    ("lock the door", "unlock the door", "'lock' is not 'unlock'"),
    ("connected", "disconnected", "'connected' is not 'disconnected'"),
    ("the door is closed", "the door opened", "'closed' is not 'opened'"),
    ("he stopped", "he started", "'stopped' is not 'started'"),
    ("buy shares", "sell shares", "'buy' is not 'sell'"),
    ("at 5 pm", "at 6 pm", "their numbers differ: five and six"),
    ("at 5 p.m.", "at 5 a.m.", "'pm' is not 'am'"),
    ("a table for two", "a table", "their numbers differ: two and none"),
    ("floor 3.5", "floor 35", "their numbers differ: three point five and thirty five"),
    ("call anna", "do not call anna", "one of them says 'not'"),
    ("don't call", "call", 'one of them says "don\'t"'),
    ("yes", "no", "one of them says 'no'"),
    ("on monday", "on tuesday", "'monday' is not 'tuesday'"),
    ("tomorrow", "today", "'tomorrow' is not 'today'"),
    ("the second door", "the third door", "'second' is not 'third'"),
    ("the red lamp", "the blue lamp", "'red' is not 'blue'"),
]
ALIKE = [
    ("call the doctor", "phone the doctor"),
    ("a table for two", "a table for 2 people"),
    ("1,500 dollars", "fifteen hundred dollars"),
    ("turn off the lights on monday", "turn off lights monday"),
    ("I do not know", "I don't know"),
    ("the red one", "the red lamp"),
    ("wait a second", "wait a moment"),
    ("bed", "embed"),
    ("", "..."),
    ("🎉", "日本"),
]


@pytest.mark.parametrize(("one", "other", "why"), OTHERWISE)
def test_texts_that_say_different_things_are_told_apart_and_it_is_said_by_what(one, other, why):
    assert contrast(one, other) == why
    assert contrast(other, one) is not None


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_texts_that_differ_otherwise_are_left_to_the_judge_of_meaning(one, other):
    assert contrast(one, other) is None
    assert contrast(other, one) is None


@given(st.text() | st.sampled_from([text for pair in OTHERWISE for text in pair[:2]]))
def test_no_text_says_something_else_than_itself(text):
    assert contrast(text, text) is None
    assert contrast(text, f"  {text.upper().lower()}!") is None or text.upper().lower() != text.lower()
