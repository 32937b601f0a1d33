"""Secrets taken out of the text of errors."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents.redaction import REDACTED, without


@pytest.mark.parametrize(
    ("text", "secret", "told"),
    [
        ("no hunter2 here", "hunter2", f"no {REDACTED} here"),
        ("nothing of it", "hunter2", "nothing of it"),
        ("{'token': 'hunter2'}", {"token": "hunter2"}, f"{{'token': '{REDACTED}'}}"),
        ("a b c", [["a"], {"c"}], f"{REDACTED} b {REDACTED}"),
        ("pin 4321, not 43210", 4321, f"pin {REDACTED}, not 43210"),
        ("it was 0.25", 0.25, f"it was {REDACTED}"),
        ("got b'\\xff\\x00'", b"\xff\x00", f"got b'{REDACTED}'"),
        ("key and keyring", ("key", "keyring"), f"{REDACTED} and {REDACTED}"),
        ("None, True and nothing", [None, True, "", b""], "None, True and nothing"),
        ("a.c, abc", "a.c", f"{REDACTED}, abc"),
    ],
)
def test_what_a_text_repeats_of_a_secret_is_hidden(text, secret, told):
    assert without(text, [secret]) == told


@given(st.text(min_size=1))
def test_a_text_is_found_however_it_is_written(secret):
    for written in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]):
        assert without(written, [secret]) == REDACTED


def test_a_secret_that_contains_itself_comes_to_an_end():
    secret = ["hunter2"]
    secret.append(secret)
    assert without("hunter2", [secret]) == REDACTED
