from collections import OrderedDict, UserDict
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import pytest

from calipers.evaluators.fields import as_mapping


@dataclass
class Point:
    x: int = 1
    hidden: int = field(default=2, repr=False)


class Struct(msgspec.Struct):
    x: int = 1


class ModelLike:
    """The part of a pydantic model that is read."""

    model_fields = {"x": None}  # noqa: RUF012 - as pydantic has it

    def __init__(self, extra=None):
        self.x = 1
        self.model_extra = extra
        for name, value in (extra or {}).items():
            setattr(self, name, value)


class Attribute:
    name = "x"


class AttrsLike:
    __attrs_attrs__ = (Attribute,)

    def __init__(self):
        self.x = 1


class Pair(NamedTuple):
    x: int


class Plain:
    def __init__(self):
        self.x = 1


@pytest.mark.parametrize(
    ("value", "mapping"),
    [
        ({"a": 1}, {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (Point(), {"x": 1, "hidden": 2}),
        (Struct(), {"x": 1}),
        (ModelLike(), {"x": 1}),
        (ModelLike({"y": 2}), {"x": 1, "y": 2}),
        (AttrsLike(), {"x": 1}),
    ],
)
def test_what_declares_its_fields_is_read_as_a_mapping(value, mapping):
    assert dict(as_mapping(value)) == mapping


@pytest.mark.parametrize("value", [None, 1, "text", [1], Plain(), Point, Struct, ModelLike, Pair(1)])
def test_what_declares_none_is_not(value):
    assert as_mapping(value) is None


def test_a_field_that_was_never_set_is_absent():
    model = ModelLike()
    del model.x
    assert as_mapping(model) == {}
