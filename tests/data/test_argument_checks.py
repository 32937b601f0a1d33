"""Each rule for arguments: what passes, what is refused, and the one sentence that says so."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.data.argument_checks import (
    check_choice,
    check_flag,
    check_function,
    check_number,
    check_share,
    check_text,
    check_texts,
    check_whole_number,
    did_you_mean,
    is_number,
    is_whole_number,
)
from calipers.errors import InvalidOptionError, InvalidTraceError

SOURCE = Path(calipers.__file__).parent
HOME = SOURCE / "data" / "argument_checks.py"


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


REFUSED: list[tuple[Callable[..., Any], Any, dict[str, Any], str]] = [
    (check_whole_number, True, {}, "a whole number, got True"),
    (check_whole_number, 1.0, {"at_least": 1}, "a whole number from 1, got 1.0"),
    (check_whole_number, 0, {"at_least": 1}, "a whole number from 1, got 0"),
    (check_whole_number, 11, {"at_least": 1, "at_most": 10}, "a whole number from 1 to 10, got 11"),
    (check_whole_number, "3", {"at_least": 0, "or_none": True}, "a whole number from 0, or None, got '3'"),
    (check_whole_number, None, {}, "a whole number, got None"),
    (check_number, math.nan, {}, "a finite number, got nan"),
    (check_number, True, {"above": 0}, "a number above 0, got True"),
    (check_number, math.inf, {"at_least": 0}, "a finite number from 0, got inf"),
    (check_number, 10**400, {"at_least": 0}, "a finite number from 0, got 1000"),
    (check_number, 0, {"above": 0, "of": "seconds"}, "a number of seconds above 0, got 0"),
    (check_number, 0, {"above": 0, "at_most": math.inf}, "a number above 0, got 0"),
    (check_number, 3601, {"at_least": 0, "at_most": 3600}, "a number from 0 to 3,600, got 3601"),
    (check_number, 0, {"above": 0, "at_most": 1}, "a number above 0 and at most 1, got 0"),
    (check_number, "1", {"or_none": True}, "a number, or None, got '1'"),
    (check_share, 80, {}, "a number from 0 to 1, got 80; 80 % is written 0.8"),
    (check_share, 0, {"or_zero": False}, "a number above 0 and at most 1, got 0"),
    (check_share, 0, {"or_one": False}, "a number above 0 and below 1, got 0"),
    (check_share, 1, {"or_one": False}, "a number above 0 and below 1, got 1"),
    (check_share, -0.1, {}, "a number from 0 to 1, got -0.1"),
    (check_share, math.nan, {}, "a number from 0 to 1, got nan"),
    (check_share, True, {}, "a number from 0 to 1, got True"),
    (check_flag, 1, {}, "True or False, got 1"),
    (check_flag, None, {}, "True or False, got None"),
    (check_text, " ", {}, "a text that is not empty, got ' '"),
    (check_text, 3, {"or_empty": True}, "a text, got 3"),
    (check_texts, "ab", {}, "a list of texts that are not empty, got 'ab'"),
    (check_texts, ["a", ""], {}, "a list of texts that are not empty, got ['a', '']"),
    (check_texts, ["a", 1], {"or_empty": True}, "a list of texts, got ['a', 1]"),
    (check_function, 3, {}, "a function, got 3"),
    (check_number, Unprintable(), {}, "a number, got <Unprintable whose repr failed>"),
]

ACCEPTED: list[tuple[Callable[..., Any], Any, dict[str, Any]]] = [
    (check_whole_number, -3, {}),
    (check_whole_number, 1, {"at_least": 1, "at_most": 1}),
    (check_whole_number, None, {"or_none": True}),
    (check_number, 1.5, {"above": 1}),
    (check_number, math.inf, {"above": 0, "at_most": math.inf}),
    (check_number, None, {"or_none": True}),
    (check_share, 0, {}),
    (check_share, 1, {"or_zero": False}),
    (check_share, None, {"or_none": True}),
    (check_flag, False, {}),
    (check_flag, None, {"or_none": True}),
    (check_text, "a", {}),
    (check_text, "", {"or_empty": True}),
    (check_text, None, {"or_none": True}),
    (check_texts, ("a", "b"), {}),
    (check_texts, [], {}),
    (check_texts, None, {"or_none": True}),
    (check_function, print, {}),
    (check_function, None, {"or_none": True}),
]


def test_a_refusal_names_the_argument_the_rule_and_the_value() -> None:
    for check, value, rule, said in REFUSED:
        with pytest.raises(InvalidOptionError) as caught:
            check("size", value, **rule)
        assert str(caught.value).startswith(f"size must be {said}"), (check, value)


def test_a_check_gives_back_the_value_that_it_accepts() -> None:
    for check, value, rule in ACCEPTED:
        assert check("size", value, **rule) is value


def test_a_choice_lists_all_choices() -> None:
    assert check_choice("keep", "all", ("all", "failed")) == "all"
    assert check_choice("keep", None, ("all",), or_none=True) is None
    for value, choices, said in (
        ("none", ("all", "failed", "some"), "keep must be one of all, failed, some, got 'none'"),
        ([], ("all",), "keep must be one of all, got []"),
    ):
        with pytest.raises(InvalidOptionError) as caught:
            check_choice("keep", value, choices)
        assert str(caught.value) == said


def test_a_caller_chooses_the_class_of_the_error() -> None:
    with pytest.raises(InvalidTraceError, match="tokens must be"):
        check_whole_number("tokens", -1, at_least=0, error=InvalidTraceError)


def test_a_bool_is_no_number() -> None:
    assert is_number(1)
    assert is_number(1.5)
    assert not is_number(True)
    assert is_whole_number(1)
    assert not is_whole_number(True)
    assert not is_whole_number(0, at_least=1)


def test_a_near_name_is_suggested_and_a_far_one_is_not():
    assert did_you_mean("Contain", ["Contains", "Equals"]) == " (did you mean 'Contains'?)"
    assert did_you_mean("xyz", ["Contains", "Equals"]) == ""
