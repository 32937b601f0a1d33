"""What plugins provide is made when it is looked up, and not before."""

import pytest

from calipers.plugins.provided import Provided


def test_a_thing_is_made_by_the_first_that_looks_it_up_and_kept():
    made = []

    def make():
        made.append(object())
        return made[-1]

    things = Provided({"one": make, "other": make})
    assert (len(things), list(things), "one" in things, "none" in things) == (
        2,
        ["one", "other"],
        True,
        False,
    )
    assert repr(things) == "Provided(one, other)"
    assert made == []
    assert things["one"] is things.get("one") is made[0]
    assert len(made) == 1
    assert things.get("none") is None
    with pytest.raises(KeyError):
        things["none"]


def test_what_could_not_be_made_is_tried_again():
    attempts = iter([ValueError("not yet"), "made"])

    def make():
        found = next(attempts)
        if isinstance(found, Exception):
            raise found
        return found

    things = Provided({"one": make})
    with pytest.raises(ValueError, match="not yet"):
        things["one"]
    assert things["one"] == "made"
