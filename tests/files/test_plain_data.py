from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from calipers.files.plain_data import check_plain, same
from calipers.files.problem import Problems


@dataclass
class Point:
    x: int


class Model(BaseModel):
    x: int


def problems(value, **options):
    found = Problems("a")
    check_plain(value, ("v",), found, **options)
    return [str(problem) for problem in found.found]


def test_plain_data_is_held_by_both():
    value = {"a": [None, True, 1, 1.5, "x", {}, []], "": {"b": "é\n"}}
    assert problems(value) == problems(value, as_yaml=True) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ((1, 2), "a: v: a tuple would come back as a list: make it one, or state the type"),
        ([{1}], "a: v[0]: a set would come back as a list"),
        (
            {"k": Point(1)},
            "a: v.k: a Point would come back as a dict: state the type with Dataset[Point, ...]",
        ),
        (Model(x=1), "a: v: a Model would come back as a dict"),
        (object, "a: v: a value of type type is no plain data"),
        (b"x", "a: v: a value of type bytes is no plain data"),
        (type("Text", (str,), {})("x"), "a: v: a value of type Text is no plain data"),
        ("\ud800", "a: v: text with half of a surrogate pair cannot be written"),
        ({"\ud800": 1}, "a: v: text with half of a surrogate pair cannot be written"),
        (10**4000, "a: v: an integer of more than 4000 digits could not be read back"),
        ({1.5: 1}, "a: v: a key would come back as something else: make it text, got 1.5"),
        ({(1,): 1}, "a: v: a key would come back as something else"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused_by_both(value, problem):
    for found in (problems(value), problems(value, as_yaml=True)):
        assert len(found) == 1
        assert found[0].startswith(problem)


def test_yaml_holds_numbers_that_json_does_not():
    assert problems(float("nan"), as_yaml=True) == problems({2: 2, None: 3, True: 4}, as_yaml=True) == []
    assert problems(float("nan")) == ["a: v: JSON has no such number, got nan"]
    assert problems({1: 2}) == ["a: v: a key would come back as something else: make it text, got 1"]


def test_nesting_has_a_limit_and_a_value_within_itself_meets_it():
    value = []
    value.append(value)
    assert problems(value) == [f"a: v{'[0]' * 150}: nested more than 150 levels deep"]


@pytest.mark.parametrize(
    ("left", "right", "are_same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ([1, [2]], [1, [2]], True),
        ([1], (1,), False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False),
        (Point(1), Point(1), True),
        (Point(1), Point(2), False),
        (Point(float("nan")), Point(float("nan")), True),
    ],
)
def test_sameness_goes_down_to_the_types(left, right, are_same):
    assert same(left, right) is are_same


def test_a_declared_float_takes_an_integer_for_what_it_is():
    assert same([{"a": 1}], [{"a": 1.0}], widen=True)
    assert not same(1, 1.5, widen=True)
    assert not same(1, True, widen=True)


def test_objects_that_cannot_be_compared_are_compared_by_what_they_say():
    class Array:
        def __eq__(self, other):
            raise ValueError("ambiguous")

        __hash__ = None

        def __repr__(self):
            return "Array()"

    assert same(Array(), Array())
