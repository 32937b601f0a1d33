"""What messages may show."""

import pytest

from calipers.models.request_redaction import known_address, secrets_of, shown_address, shown_text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/path?key=abc#part", "https://host/path"),
        ("https://me:secret@host:8080/path", "https://host:8080/path"),
        ("wss://host", "wss://host"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("nowhere", "nowhere"),
        ("localhost:8000/chat", "localhost:8000/chat"),
        ("me:secret@localhost:8000/chat?key=abc#part", "localhost:8000/chat"),
        ("http://[::1", "<an address that cannot be read>"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url, shown):
    assert shown_address(url) == shown


def test_secrets_are_keys_and_telling_headers_and_query_values():
    headers = {"Authorization": "Bearer abcdef", "X-Api-Key": "123456", "Accept": "application/json"}
    found = secrets_of("https://host/?token=tttt1&lang=english", headers, "sk-12345")
    assert set(found) == {"abcdef", "123456", "sk-12345", "tttt1"}


def test_a_password_in_an_address_is_a_secret_however_it_is_written():
    found = secrets_of("https://me:p%40ssword@host/", None)
    assert set(found) == {"p%40ssword", "p@ssword", "bWU6cEBzc3dvcmQ="}


def test_the_longer_secret_is_hidden_first_and_short_ones_are_left_alone():
    secrets = secrets_of("http://x", {"Authorization": "Bearer abcdef", "X-Key": "ab", "X-Token": "abcdefgh"})
    assert shown_text("Bearer abcdef, abcdefgh, ab", secrets) == "Bearer [redacted], [redacted], ab"


def test_an_address_that_cannot_be_read_hides_what_the_headers_say():
    assert secrets_of("http://[::1", {"Cookie": "session=1234"}) == ["session=1234"]


def test_a_long_text_is_cut():
    assert len(shown_text("x" * 10_000, [])) < 600


def test_an_address_is_told_from_others_by_its_query_without_showing_it():
    bare, one, other = (
        known_address(f"http://h/v1{query}") for query in ("", "?route=hidden", "?route=other")
    )
    assert bare == "http://h/v1"
    assert len({bare, one, other}) == 3
    assert "hidden" not in one
    assert known_address("http://u:p@h/v1?api_key=a#f") == bare, "a new key is not another place"
