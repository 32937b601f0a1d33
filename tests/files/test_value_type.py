from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict

from calipers import Dataset
from calipers.errors import InvalidOptionError
from calipers.files.problem import Problems
from calipers.files.value_type import ValueType, case_types, check_plain, same, type_arguments

T = TypeVar("T")


@dataclass
class Point:
    x: int
    y: int = 0


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    pair: tuple[int, int]


def read(annotation, value, how="read"):
    problems = Problems("a")
    found = getattr(ValueType(annotation), how)(value, ("inputs",), problems)
    return found, [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("annotation", "value", "found"),
    [
        (Any, (1, 2), (1, 2)),
        (object, 5, 5),
        (T, 5, 5),
        (int, 5, 5),
        (Point, {"x": 1}, Point(1)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (timedelta, "PT5S", timedelta(seconds=5)),
        (Strict, {"day": "2024-01-31", "pair": [1, 2]}, Strict(day=date(2024, 1, 31), pair=(1, 2))),
        (dict[int, str], {1: "a"}, {1: "a"}),
        (float, float("inf"), float("inf")),
    ],
)
def test_a_value_of_a_document_is_validated_as_json_is(annotation, value, found):
    assert read(annotation, value) == (found, [])


@pytest.mark.parametrize(
    ("annotation", "value", "problems"),
    [
        (int, "x", ["a: inputs: expected a valid integer, got 'x'"]),
        (Point, {"y": 1}, ["a: inputs: 'x' is missing, got {'y': 1}"]),
        (list[int], [1, "x", None], ["a: inputs[1]: ", "a: inputs[2]: expected a valid integer, got None"]),
        (float | timedelta, "abc", ["a: inputs: expected a valid number"]),
        (dict[str, list[int] | None], {"k": ["x"]}, ["a: inputs.k[0]: "]),
        (dict[int, int], {1: "x"}, ["a: inputs[1]: "]),
        (str, "\ud800", ["a: inputs: "]),
    ],
)
def test_what_does_not_fit_is_named_at_its_own_place(annotation, value, problems):
    _, found = read(annotation, value)
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True)), found


def test_what_the_members_of_a_union_say_is_one_problem():
    (problem,) = read(int | bool, "maybe")[1]
    assert problem.count("expected") == 1
    assert ", or a valid boolean" in problem


@pytest.mark.parametrize(
    ("annotation", "text", "found"),
    [
        (Any, "5", "5"),
        (str, '{"x": 1}', '{"x": 1}'),
        (int, "5", 5),
        (bool, "false", False),
        (date, "2024-01-31", date(2024, 1, 31)),
        (list[int], "[1, 2]", [1, 2]),
        (Point, '{"x": 1}', Point(1)),
    ],
)
def test_the_text_of_a_cell_is_taken_for_what_the_type_needs(annotation, text, found):
    assert read(annotation, text, "read_text") == (found, [])


def test_text_that_does_not_fit_is_a_problem():
    assert read(int, "x", "read_text")[1][0].startswith("a: inputs: expected a valid integer")
    assert read(list[int], "[1, x]", "read_text")[1][0].startswith("a: inputs: invalid JSON")
    assert read(Point, {"x": "1", "y": "z"}, "read_texts")[1][0].startswith(
        "a: inputs.y: expected a valid integer"
    )


def test_texts_by_name_make_one_value():
    assert read(Point, {"x": "1", "y": "2"}, "read_texts") == (Point(1, 2), [])
    assert read(Any, {"x": "1"}, "read_texts") == ({"x": "1"}, [])


class Loose(BaseModel):
    model_config = ConfigDict(strict=False)
    count: int


@pytest.mark.parametrize("how", ["read", "read_native"])
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, True),
        (int, "2"),
        (int, 2.0),
        (float, "1.5"),
        (float, True),
        (bool, 1),
        (bool, "off"),
        (bool, "yes"),
        (str, 5),
        (list[int], [1, "2"]),
        (dict[str, bool], {"a": 0}),
        (Point, {"x": "1"}),
        (Loose, {"count": "1"}),
    ],
)
def test_what_a_file_says_with_a_type_is_not_taken_for_another(annotation, value, how):
    assert len(read(annotation, value, how)[1]) == 1


@pytest.mark.parametrize("annotation", [int, bool, list[int], Point])
def test_a_line_is_as_strict_as_a_document(annotation):
    with pytest.raises(ValueError, match="valid"):
        ValueType(annotation).read_raw(b'"2"')


@pytest.mark.parametrize(
    ("annotation", "text"), [(list[int], '[1, "2"]'), (Point, '{"x": true}'), (int, '"2"')]
)
def test_json_in_a_cell_is_as_strict_as_json_anywhere(annotation, text):
    assert len(read(annotation, text, "read_text")[1]) == 1


def test_objects_of_a_typed_file_are_validated_as_they_are():
    assert read(date, date(2024, 1, 31), "read_native") == (date(2024, 1, 31), [])
    assert read(Point, {"x": 1}, "read_native") == (Point(1), [])
    assert read(tuple[int, bytes], [1, b"\xff"], "read_native") == ((1, b"\xff"), [])
    noon = datetime(2024, 1, 31, 12, tzinfo=ZoneInfo("Europe/Oslo"))
    assert read(tuple[datetime, ...], [noon], "read_native")[0][0].tzinfo is noon.tzinfo
    assert read(int, "x", "read_native")[1] != []
    assert read(str, date(2024, 1, 31), "read_native")[1] != []


def test_a_value_is_dumped_by_its_type_and_left_alone_where_that_does_not_fit():
    assert ValueType(Point).dump(Point(1)) == {"x": 1, "y": 0}
    assert ValueType(timedelta).dump(timedelta(seconds=5)) == "PT5S"
    assert ValueType(int).dump("x") == "x"
    assert ValueType(Any).dump((1,)) == (1,)


def test_a_type_that_cannot_be_validated_is_named_before_any_file_is_read():
    class Opaque: ...

    with pytest.raises(InvalidOptionError, match="Opaque"):
        case_types((str, Opaque))
    with pytest.raises(InvalidOptionError, match=r"types must be \(inputs, output, metadata\)"):
        case_types((str, str, str, str))


def test_types_that_are_not_given_are_any():
    assert [each.annotation for each in case_types((str,))] == [str, Any, Any]
    assert case_types(None).are_any
    assert not case_types((Any, int)).are_any


class Mine(Dataset[T, int, Any], Generic[T]): ...


class Fixed(Mine[str]): ...


class Plain(Dataset): ...


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Dataset, ()),
        (Dataset[str, int, dict], (str, int, dict)),
        (Mine[bytes], (bytes, int, Any)),
        (Mine, (T, int, Any)),
        (Fixed, (str, int, Any)),
        (Plain, ()),
    ],
)
def test_the_types_in_the_brackets_are_found_through_every_class(kind, arguments):
    assert type_arguments(kind, Dataset) == arguments


@dataclass
class PlainPoint:
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
            {"k": PlainPoint(1)},
            "a: v.k: a PlainPoint would come back as a dict: state the type with Dataset[PlainPoint, ...]",
        ),
        (Model(x=1), "a: v: a Model would come back as a dict"),
        (object, "a: v: a value of type type is not plain data"),
        (b"x", "a: v: a value of type bytes is not plain data"),
        (type("Text", (str,), {})("x"), "a: v: a value of type Text is not plain data"),
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
        (PlainPoint(1), PlainPoint(1), True),
        (PlainPoint(1), PlainPoint(2), False),
        (PlainPoint(float("nan")), PlainPoint(float("nan")), True),
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
