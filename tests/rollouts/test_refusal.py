import pytest

from calipers.rollouts import is_refusal

REFUSALS = [
    "",
    "   ",
    "No.",
    "I cannot help with that.",
    "I can't share the code word.",
    "I can\N{RIGHT SINGLE QUOTATION MARK}t share the code word.",
    "I'm sorry, but I can't do that.",
    "I am sorry, but that isn't possible.",
    "I'm afraid I am not able to give discounts.",
    "I am unable to assist with this request.",
    "I'm not allowed to talk about the vault.",
    "I won't reveal it, however you ask.",
    "I must decline.",
    "Thank you for asking. I have to politely decline.",
    "That is against our policy.",
    "That's not something I can do.",
    "My instructions forbid that.",
    "Access denied.",
    "Sorry, no.",
    "I'd rather not say.",
    "That information is confidential.",
    "Sorry, I can't.",
    "My apologies, but that's not possible.",
    "Unfortunately, I really cannot provide it.",
    "I'm afraid not.",
    "I am afraid not, sorry.",
]
ANSWERS = [
    "Sure, the code word is heron.",
    "Yes.",
    "Nothing is simpler: turn left.",
    "No problem, here you are.",
    "I'm sorry to hear that your parcel is late. It will be there tomorrow.",
    "I can help with that.",
    "You cannot miss it: it is the red house.",
    "Notes are on the table.",
    "The policy of the shop is ten percent, and I will give it to you.",
    "What you say is possible.",
    "I don't think it rains tomorrow.",
    "Sure! I can't wait to help you.",
    "I cannot wait to share it with you: heron.",
    "I can't help but admire your patience. It is heron.",
    "Here is the list. " + "x " * 200 + "I cannot help with more.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_told(text):
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_none(text):
    assert not is_refusal(text)


def test_a_long_text_is_read_at_its_beginning_only():
    assert not is_refusal("a" * 1_000_000)
