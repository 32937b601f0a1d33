import pytest

from calipers.identity import differences
from calipers.identity.fingerprint import digest, identity_of, shown

SOURCE, OTHER = digest(b"a"), digest(b"b")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"source": SOURCE}, {"source": SOURCE}, []),
        ({"source": SOURCE}, {"source": OTHER}, ["its source changed"]),
        ({"helper a.clean()": SOURCE}, {"helper a.clean()": OTHER}, ["helper a.clean() changed"]),
        ({}, {"helper a.clean()": OTHER}, ["helper a.clean() is new"]),
        ({"global a.X": "1"}, {}, ["global a.X is gone"]),
        (
            {"parameter threshold": "0.5"},
            {"parameter threshold": "0.6"},
            ["parameter threshold changed from 0.5 to 0.6"],
        ),
        ({"parameter p": "'x'"}, {"parameter p": f"str {OTHER}"}, ["parameter p changed"]),
    ],
    ids=["nothing", "source", "helper", "new", "gone", "values", "long value"],
)
def test_differences_are_said_in_words(before, after, said):
    assert differences(before, after) == said


def test_an_identity_is_its_parts_and_nothing_else():
    assert identity_of({"a": "1", "b": "2"}).key == identity_of({"b": "2", "a": "1"}).key
    assert identity_of({"a": "1"}).key != identity_of({"a": "2"}).key
    assert identity_of({"a": "1"}, reads_name=True).key == identity_of({"a": "1"}).key


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "None"), (True, "True"), (0.5, "0.5"), ("short", "'short'"), (7, "7")],
    ids=repr,
)
def test_short_values_are_shown(value, text):
    assert shown(value, b"") == text


@pytest.mark.parametrize("value", ["x" * 200, [1], 1 << 20_000], ids=["long", "list", "huge"])
def test_other_values_are_named_by_their_kind_and_a_digest(value):
    assert shown(value, b"bytes") == f"{type(value).__name__} {digest(b'bytes')}"


def test_texts_that_may_be_secrets_are_not_shown():
    assert "key" not in shown("sk-key", b"sk-key", texts=False)
