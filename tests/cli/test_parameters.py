from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from calipers.cli.target import fill, parameter_names, parse_pairs
from calipers.errors import InvalidOptionError


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "3", "3"),
        (int, "-3", -3),
        (float, "1e-3", 0.001),
        (bool, "true", True),
        (bool, "0", False),
        (int | None, "3", 3),
        (int | None, "None", None),
        (float | None, "2", 2.0),
        (str | None, "None", None),
        (str | None, "none", "none"),
        (str | None, "", ""),
        (int | str, "3", "3"),
        (Literal["a", "b"], "b", "b"),
        (Colour, "red", Colour.RED),
        (Path, "a/b", Path("a/b")),
        (Path | None, "a", Path("a")),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, float], '{"a": 1}', {"a": 1.0}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (list[int] | None, "null", None),
        (Any, "3", "3"),
        ("int", "3", 3),
    ],
)
def test_text_becomes_what_the_annotation_says(annotation, text, value):
    def evaluation(parameter): ...

    evaluation.__annotations__ = {"parameter": annotation}
    found = fill(evaluation, {"parameter": text}, label="it")
    assert found == {"parameter": value}
    assert type(found["parameter"]) is type(value)


@pytest.mark.parametrize(
    ("default", "value"), [(0.5, 7.0), (1, 7), ("x", "7"), (None, "7")], ids=["float", "int", "str", "None"]
)
def test_without_an_annotation_the_default_tells_the_type(default, value):
    def evaluation(parameter=default): ...

    assert fill(evaluation, {"parameter": "7"}, label="it") == {"parameter": value}


def test_an_annotation_that_only_a_type_checker_knows_is_text():
    def evaluation(parameter: "NotImported"): ...  # noqa: F821

    assert fill(evaluation, {"parameter": "7"}, label="it") == {"parameter": "7"}


@pytest.mark.parametrize(
    ("annotation", "text"),
    [(int, "x"), (int, "1.5"), (bool, "maybe"), (Literal["a"], "b"), (list[int], "1,2"), (Colour, "blue")],
)
def test_what_does_not_fit_is_named_with_what_would(annotation, text):
    def evaluation(parameter): ...

    evaluation.__annotations__ = {"parameter": annotation}
    with pytest.raises(InvalidOptionError, match=r"--param parameter=.* does not fit it, which takes"):
        fill(evaluation, {"parameter": text}, label="it")


def test_a_function_gets_what_it_takes_and_nothing_else():
    def some(a, *, b=2): ...

    def all_of(a="1", **others): ...

    given = {"a": "x", "c": "y"}
    assert fill(some, given, label="it") == {"a": "x"}
    assert fill(all_of, given, label="it") == given
    assert parameter_names(some) == (["a", "b"], False)
    assert parameter_names(all_of) == (["a"], True)


def test_a_parameter_without_a_value_or_default_is_asked_for():
    def evaluation(a, b, c=1): ...

    with pytest.raises(
        InvalidOptionError, match=r"it has parameters without a value: give --param a=... --param b=..."
    ):
        fill(evaluation, {}, label="it")


def test_pairs_keep_what_follows_the_first_equals_sign():
    assert parse_pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("pairs", [["a"], ["=b"], ["a=1", "a=2"]])
def test_what_is_no_pair_or_stands_twice_is_refused(pairs):
    with pytest.raises(InvalidOptionError, match="--param"):
        parse_pairs(pairs)
