"""The error tree is the one its module draws."""

import inspect
import re

import pytest

from calipers import CalipersError, errors
from calipers.errors import MissingExtraError, NotKnownError, known

CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if inspect.isclass(cls) and cls.__module__ == errors.__name__
}


def test_the_drawing_shows_every_error_with_the_built_in_it_derives_from():
    lines = re.findall(r"[├└]── (\w+)(?: \((\w+)\))?", errors.__doc__)
    built_in = {
        name: next((base.__name__ for base in cls.__bases__ if base is not CalipersError), "")
        for name, cls in CLASSES.items()
        if cls is not CalipersError
    }
    assert dict(lines) == built_in


@pytest.mark.parametrize("cls", CLASSES.values())
def test_every_error_is_a_calipers_error_and_says_what_it_stands_for(cls):
    assert issubclass(cls, CalipersError | Warning)
    assert cls.__doc__
    assert str(cls("what happened")) == "what happened"


def test_what_is_known_is_handed_on_and_none_is_an_error():
    assert known(0) == 0
    with pytest.raises(NotKnownError, match="the value is None"):
        known(None)


def test_a_missing_extra_says_how_to_install_it():
    error = MissingExtraError.of("Checking SQL", "sql")
    assert isinstance(error, ImportError)
    assert str(error) == "Checking SQL needs an optional dependency: pip install 'calipers[sql]'"
