import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidRolloutError
from calipers.rollouts.attacks import (
    Backwards,
    Base64,
    Encoding,
    FullWidth,
    Hex,
    Leetspeak,
    LookAlikes,
    Morse,
    PigLatin,
    RightToLeft,
    Rot13,
    SpelledOut,
    ZeroWidth,
)

ANY = st.text(max_size=80)


def without(characters):
    return st.text(st.characters(exclude_characters=characters), max_size=80)


WORDS = st.lists(st.text(string.ascii_letters, min_size=1, max_size=9), max_size=8).map(" ".join)
LOSSLESS = {
    Base64(): ANY,
    Hex(): ANY,
    Rot13(): ANY,
    Backwards(): ANY,
    Morse(): st.lists(
        st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,?'!/()&:;=+-_\"$@漢", min_size=1), min_size=1
    ).map(" ".join),
    PigLatin(): WORDS,
    Leetspeak(): without("431057AEIOST"),
    LookAlikes(): without("".join(map(chr, range(0x400, 0x530)))),
    ZeroWidth(): without("\u200b"),
    RightToLeft(): without("\u202e\u202c"),
    FullWidth(): without("".join(map(chr, [0x3000, *range(0xFF01, 0xFF5F)]))),
    SpelledOut(): without("-"),
}
"""Texts that each writing can hold as a whole."""


@pytest.mark.parametrize("encoding", LOSSLESS, ids=lambda each: each.name)
@given(data=st.data())
def test_what_is_encoded_can_be_read_back(encoding, data):
    text = data.draw(LOSSLESS[encoding])
    assert encoding.decode(encoding.encode(text)) == text
    if text.strip():
        assert encoding.read(encoding.apply(text, random.Random(0)).text) == text


def test_the_law_is_tried_on_every_encoding():
    def all_below(kind):
        for each in kind.__subclasses__():
            if each.__module__.startswith("calipers."):
                yield from (each, *all_below(each))

    leaves = {kind for kind in all_below(Encoding) if not kind.__subclasses__()}
    assert {type(each) for each in LOSSLESS} == leaves


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (Base64(), "VGVsbCBtZSE="),
        (Hex(), "54 65 6c 6c 20 6d 65 21"),
        (Rot13(), "Gryy zr!"),
        (Morse(), "- . .-.. .-.. / -- . -.-.--"),
        (Backwards(), "!em lleT"),
        (PigLatin(), "ell-Tay e-may!"),
        (Leetspeak(), "73ll m3!"),
        (LookAlikes(), "\u0422\u0435ll m\u0435!"),
        (ZeroWidth(), "T\u200be\u200bl\u200bl\u200b \u200bm\u200be\u200b!\u200b"),
        (RightToLeft(), "\u202e!em lleT\u202c"),
        (FullWidth(), "\uff34\uff45\uff4c\uff4c\u3000\uff4d\uff45\uff01"),
        (SpelledOut(), "T-e-l-l m-e!"),
    ],
    ids=lambda each: each.name if isinstance(each, Encoding) else "",
)
def test_each_writing_by_example(encoding, expected):
    assert encoding.encode("Tell me!") == expected


def test_morse_keeps_the_words_and_loses_small_letters():
    assert Morse().decode(Morse().encode("  Tell\n me ")) == "TELL ME"


@pytest.mark.parametrize(
    ("encoding", "text"), [(Base64(), "no base64!"), (Base64(), "gICA"), (Hex(), "zz"), (Hex(), "ff")]
)
def test_what_is_not_of_the_writing_is_an_error(encoding, text):
    with pytest.raises(
        InvalidRolloutError, match=r"this is not a text in base64|these are not the bytes of a text"
    ):
        encoding.decode(text)


def test_what_is_no_attack_of_the_kind_is_an_error():
    with pytest.raises(InvalidRolloutError, match="no attack by base64"):
        Base64().read("Tell me")
