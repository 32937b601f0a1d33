"""The codec of telephones."""

import hashlib

import numpy as np
import pytest

from calipers.errors import InvalidOptionError
from calipers.voice import samples

LEVELS = np.arange(-32768, 32768).astype(np.int16)


@pytest.mark.parametrize(
    ("table", "some"),
    [
        (
            samples.ULAW,
            {0x00: -32124, 0x80: 32124, 0x7F: 0, 0xFF: 0, 0xFE: 8, 0x7E: -8, 0xF0: 120, 0xEF: 132},
        ),
        (samples.ALAW, {0x2A: -32256, 0xAA: 32256, 0xD5: 8, 0x55: -8, 0xC5: 264, 0xDA: 248}),
    ],
    ids=["ulaw", "alaw"],
)
def test_bytes_have_the_levels_of_the_recommendation(table, some):
    assert {byte: table[byte] for byte in some} == some
    assert len(table) == 256


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
def test_a_byte_decoded_and_encoded_is_the_byte_again(law):
    codes = np.arange(256, dtype=np.uint8)
    again = samples.encode_g711(samples.decode_g711(codes, law), law)
    different = codes[again != codes].tolist()
    assert different == ([0x7F] if law == "ulaw" else []), "µ-law has a second zero"


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
def test_louder_is_never_quieter(law):
    decoded = samples.decode_g711(samples.encode_g711(LEVELS, law), law).astype(int)
    assert (np.diff(decoded) >= 0).all()


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
def test_the_error_is_small_against_the_level(law):
    decoded = samples.decode_g711(samples.encode_g711(LEVELS, law), law).astype(int)
    error = abs(decoded - LEVELS)
    assert (error <= np.maximum((abs(LEVELS.astype(int)) + 132) / 32, 8)).all()


def test_negative_levels_are_positive_ones_with_another_sign_in_ulaw():
    decoded = samples.decode_g711(samples.encode_g711(LEVELS[1:], "ulaw"), "ulaw").astype(int)
    assert (decoded == -decoded[::-1]).all()


def test_all_codes_of_alaw_are_those_of_a_reference_coder():
    codes = samples.encode_g711(LEVELS, "alaw").tobytes()
    assert hashlib.sha256(codes).hexdigest() == ALAW_DIGEST


def test_an_unknown_law_is_an_error():
    with pytest.raises(InvalidOptionError, match=r"law must be one of ulaw, alaw, got 'G\.729'"):
        samples.encode_g711(LEVELS, "G.729")


ALAW_DIGEST = "38488f6fd710f4686360edc4d38639f96c491595ef93f8eb8d62d5e07ca6ce7b"
"""Of the codes that Python's former module `audioop` gives for all levels of 16 bits, from the lowest up."""
