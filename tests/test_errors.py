"""The error tree is the one its module draws."""

import inspect
import re

import pytest

from calipers import CalipersError, errors
from calipers.errors import MissingExtraError

CLASSES = {name: cls for name, cls in vars(errors).items() if inspect.isclass(cls)}


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
    assert issubclass(cls, CalipersError)
    assert cls.__doc__
    assert str(cls("what happened")) == "what happened"


def test_a_missing_extra_says_how_to_install_it():
    error = MissingExtraError.of("Checking SQL", "sql")
    assert isinstance(error, ImportError)
    assert str(error) == "Checking SQL needs an optional dependency: pip install 'calipers[sql]'"
