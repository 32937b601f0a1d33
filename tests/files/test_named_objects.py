"""What a file says of a thing that is made by its name."""

import pytest

from calipers.files.named_objects import read_arguments, read_spec
from calipers.files.parameters import Parameter
from calipers.files.problem import Problems

FIRST = Parameter("size", int, required=True, by_position=True)
SECOND = Parameter("color", str, required=False, by_position=False)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("Box", ("Box", {}, ("parts",))),
        ({"Box": 3}, ("Box", 3, ("parts", "Box"))),
        ({"Box": {"size": 3}}, ("Box", {"size": 3}, ("parts", "Box"))),
        ({"Box": None}, ("Box", None, ("parts", "Box"))),
    ],
)
def test_a_name_stands_alone_or_with_what_it_is_given(spec, found):
    problems = Problems("f.yaml")
    assert read_spec(spec, ("parts",), problems, what="a part") == found
    assert not problems.found


@pytest.mark.parametrize("spec", [3, "", [], {}, {"A": 1, "B": 2}, {3: 1}, None], ids=repr)
def test_what_names_nothing_is_a_problem_that_says_what_was_expected(spec):
    problems = Problems("f.yaml")
    assert read_spec(spec, ("parts",), problems, what="a part")[0] is None
    assert problems.found[0].message.startswith("expected a part as Name, {Name: value} or")


@pytest.mark.parametrize(
    ("given", "arguments", "message"),
    [
        (3, {"size": 3}, None),
        ({"size": 3, "color": "red"}, {"size": 3, "color": "red"}, None),
        ({}, {}, "the parameter 'size' is missing"),
        (None, {}, "Box needs a value, and there is none: write {size: null} if you mean null"),
        (
            {"size": 3, "colour": "red"},
            {"size": 3},
            "no parameter is called 'colour' (did you mean 'color'?)",
        ),
        ("large", {"size": None}, "expected a valid integer"),
    ],
    ids=repr,
)
def test_arguments_are_read_by_name_or_as_the_first(given, arguments, message):
    problems = Problems("f.yaml")
    assert read_arguments([FIRST, SECOND], given, ("Box",), problems) == arguments
    assert [problem.message for problem in problems.found] == ([] if message is None else [message])


def test_a_reader_of_ones_own_is_asked_for_every_argument():
    problems = Problems("f.yaml")
    read = lambda parameter, value, steps, problems: (parameter.name, value, steps)
    found = read_arguments([FIRST], {"size": 3}, ("Box",), problems, read=read)
    assert found == {"size": ("size", 3, ("Box", "size"))}
