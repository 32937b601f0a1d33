"""What an evaluator may return: rule 2 of the house."""

import json
import math
import sys
import types
from collections import OrderedDict, UserDict
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import EvalVerdict, Skipped
from calipers.data.evaluator_output import Abstention, Judgement, read_output, read_parts, read_scalar
from calipers.data.result import EvalResult, EvaluationReason, kind_of
from calipers.errors import InvalidOutputError


class Mood(StrEnum):
    GOOD = "good"


class Colour(str, Enum):  # noqa: UP042 - the older spelling, whose str() is 'Colour.RED'
    RED = "red"


class Grade(IntEnum):
    TOP = 5


class Answer(Enum):
    YES = True
    HALF = 0.5


class Loud(str):
    """A string that shows itself as another."""

    __slots__ = ()

    def __str__(self):
        return "LOUD"


def values(output):
    """The keys and values of an output that applies."""
    found = read_output(output)
    assert isinstance(found, list)
    return {judgement.key: judgement.value for judgement in found}


def one(output):
    [judgement] = read_output(output)
    return judgement


def message(output):
    with pytest.raises(InvalidOutputError) as caught:
        read_output(output)
    return str(caught.value)


# ---------------------------------------------------------------------- scalars


@pytest.mark.parametrize(
    ("output", "value", "kind"),
    [
        (True, True, "assertion"),
        (False, False, "assertion"),
        (0, 0, "score"),
        (1, 1, "score"),
        (-3, -3, "score"),
        (2**63 - 1, 2**63 - 1, "score"),
        (0.0, 0.0, "score"),
        (-1.5, -1.5, "score"),
        (5e-324, 5e-324, "score"),
        ("", "", "label"),
        ("positive", "positive", "label"),
        ("True", "True", "label"),
        (np.bool_(True), True, "assertion"),
        (np.bool_(False), False, "assertion"),
        (np.int64(3), 3, "score"),
        (np.uint8(1), 1, "score"),
        (np.float32(0.5), 0.5, "score"),
        (np.float64(0.25), 0.25, "score"),
        (np.float16(2), 2.0, "score"),
        (np.longdouble(0.75), 0.75, "score"),
        (np.str_("short"), "short", "label"),
        (Decimal("0.125"), 0.125, "score"),
        (Fraction(1, 4), 0.25, "score"),
        (Mood.GOOD, "good", "label"),
        (Colour.RED, "red", "label"),
        (Grade.TOP, 5, "score"),
        (Answer.YES, True, "assertion"),
        (Answer.HALF, 0.5, "score"),
        (Loud("quiet"), "quiet", "label"),
    ],
    ids=repr,
)
def test_a_scalar_is_one_judgement_of_the_kind_its_type_says(output, value, kind):
    judgement = one(output)
    assert judgement == Judgement(None, value)
    assert type(judgement.value) is type(value), "plain Python, so that it stores and compares as one"
    assert kind_of(judgement.value) == kind


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        (None, "a missing `return`?"),
        (None, "return {} or Skipped(reason)"),
        (math.nan, "no finite score"),
        (math.inf, "returned inf"),
        (-math.inf, "returned -inf"),
        (np.float64("nan"), "returned nan"),
        (np.float32("inf"), "returned inf"),
        (np.longdouble("nan"), "returned nan"),
        (Decimal("NaN"), "returned nan"),
        (Decimal("sNaN"), "Decimal('sNaN'), which is no finite number"),
        (Decimal("Infinity"), "returned inf"),
        (Fraction(10**400), "no finite number"),
        (2**63, "64 bits"),
        (-(2**63), "64 bits"),
        (np.uint64(2**64 - 1), "64 bits"),
        ([], "returned []"),
        ([True], "returned [True]"),
        ((True, "because"), "returned (True, 'because')"),
        ({True}, "returned {True}"),
        (b"yes", "returned b'yes'"),
        (1 + 2j, "returned (1+2j)"),
        (np.complex64(1), "not a judgement"),
        (np.datetime64("2026-01-01"), "not a judgement"),
        (np.array([True, False]), "returned array("),
        (bool, "returned <class 'bool'>"),
        (lambda: True, "not a judgement"),
        (ValueError("x"), "returned ValueError('x')"),
        (EvaluationReason, "not a judgement"),
        (types.SimpleNamespace(passed=None), "not a judgement"),
        (types.SimpleNamespace(value=True, reason="x"), "not a judgement"),
    ],
)
def test_what_is_no_judgement_is_refused_and_shown(output, hint):
    assert hint in message(output)


def test_an_output_whose_repr_fails_or_is_endless_is_still_described():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert "an object of type Broken" in message(Broken())
    assert len(message(["x" * 10**6])) < 500
    assert "64 bits" in message(10**5000), "a number too long for Python to print"


@given(
    st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
def test_every_legal_scalar_comes_out_as_it_went_in(value):
    assert one(value) == Judgement(None, value)
    assert type(one(value).value) is type(value)
    assert one(EvaluationReason(value, "why")) == Judgement(None, value, "why")


@given(st.integers() | st.floats() | st.decimals() | st.fractions() | st.complex_numbers())
def test_a_number_is_a_finite_score_that_strict_json_can_hold_or_it_is_refused(number):
    try:
        value = read_scalar(number)
    except InvalidOutputError:
        return
    assert kind_of(value) == "score"
    json.dumps(value, allow_nan=False)


# ---------------------------------------------------------------------- reasons


def test_a_reason_goes_with_any_scalar():
    assert one(EvaluationReason(False, reason="too long")) == Judgement(None, False, "too long")
    assert one(EvaluationReason(value=np.bool_(True))) == Judgement(None, True, None)
    assert one(EvaluationReason(0.5)) == Judgement(None, 0.5)


@pytest.mark.parametrize("value", [None, math.nan, [], {"a": True}, EvaluationReason(True), object()])
def test_a_reason_does_not_make_a_judgement_of_what_is_none(value):
    message(EvaluationReason(value, "why"))


@pytest.mark.parametrize("reason", [3, b"x", ["a"], ValueError("x")])
def test_a_reason_is_a_string(reason):
    assert "must be a string" in message(EvaluationReason(True, reason))
    assert "a skip needs a reason" in message(Skipped(reason))


def test_a_skip_needs_a_reason():
    assert read_output(Skipped("no SQL here")) == Skipped("no SQL here")
    assert "a skip needs a reason, got None" in message(Skipped(None))


# ---------------------------------------------------------------------- mappings


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"a": True, "b": 0.5, "c": "x"}, {"a": True, "b": 0.5, "c": "x"}),
        ({"a": {"b": True, "c": {"d": 1}}}, {"a.b": True, "a.c.d": 1}),
        ({"a": {"b": EvaluationReason(True, "r")}}, {"a.b": True}),
        ({"a": np.bool_(True), "b": np.int64(2)}, {"a": True, "b": 2}),
        ({np.str_("a"): True}, {"a": True}),
        ({Colour.RED: 1, Mood.GOOD: 2}, {"red": 1, "good": 2}),
        ({Loud("quiet"): 1}, {"quiet": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a={"b": 1}), {"a.b": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        # A mapping with these keys is a mapping like any other, not a value with a reason.
        ({"value": True, "reason": "x"}, {"value": True, "reason": "x"}),
        ({"a": {"value": True, "reason": "x"}}, {"a.value": True, "a.reason": "x"}),
        ({"a": True, "b": Skipped("not here")}, {"a": True}),
        ({"a": True, "b": {}}, {"a": True}),
    ],
    ids=repr,
)
def test_a_mapping_gives_one_result_per_key_nested_ones_flattened_with_dots(output, expected):
    assert values(output) == expected
    assert all(type(key) is str for key in values(output))


def test_keys_that_meet_after_flattening_are_both_kept():
    assert [(j.key, j.value) for j in read_output({"a.b": 1, "a": {"b": 2}})] == [("a.b", 1), ("a.b", 2)]


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        (True, [(None, True)]),
        (Skipped("no SQL"), [(None, "no SQL")]),
        ({}, [(None, "it returned no results for this case")]),
        ({"a": True, "b": Skipped("not here"), "c": 1}, [("a", True), ("b", "not here"), ("c", 1)]),
        (
            {"a": {"b": Skipped("not here"), "c": {}}, "d": 1},
            [("a.b", "not here"), ("a.c", "a.c is empty"), ("d", 1)],
        ),
        ({"a": EvalVerdict.SKIP, "b": 1}, [("a", "the evaluator gave the verdict 'skip'"), ("b", 1)]),
    ],
    ids=repr,
)
def test_what_does_not_apply_stands_beside_the_judgements_with_its_key_and_reason(output, parts):
    found = read_parts(output)
    assert [(p.key, p.reason if isinstance(p, Abstention) else p.value) for p in found] == parts


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({}, "it returned no results for this case"),
        (UserDict(), "it returned no results for this case"),
        ({"a": {}}, "a is empty"),
        ({"a": Skipped("no SQL")}, "no SQL"),
        ({"a": Skipped("no SQL"), "b": {"c": Skipped("no JSON")}}, "no SQL; no JSON"),
        (EvalVerdict.SKIP, "the evaluator gave the verdict 'skip'"),
    ],
    ids=repr,
)
def test_an_output_without_any_result_is_a_skip_and_says_why(output, reason):
    assert read_output(output) == Skipped(reason)


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ({"good": True, "bad": None}, "under 'bad': returned None"),
        ({"good": True, "deep": {"bad": math.nan}}, "under 'deep.bad': returned nan"),
        ({"good": True, "bad": [1]}, "under 'bad': returned [1]"),
        ({"good": True, "bad": EvaluationReason(None)}, "under 'bad': returned None"),
        ({"good": True, 1: True}, "needs non-empty strings as keys, got 1"),
        ({"good": True, None: True}, "got None"),
        ({"good": True, ("a", "b"): True}, "got ('a', 'b')"),
        ({"good": True, "": True}, "got ''"),
        ({"a": {"": True}}, "got ''"),
        ({"good": True, b"x": True}, "got b'x'"),
        ({"good": True, "bad": EvalVerdict.ERROR}, "under 'bad': the evaluator gave the verdict 'error'"),
    ],
    ids=repr,
)
def test_a_mapping_with_one_bad_entry_fails_as_a_whole_and_names_it(output, hint):
    assert hint in message(output)


def test_a_mapping_that_contains_itself_fails_and_does_not_hang():
    loop: dict[str, Any] = {"a": True}
    loop["b"] = loop
    with pytest.raises(RecursionError):
        read_output(loop)


_LEGAL = (
    st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_KEYS = st.text(st.characters(exclude_characters="."), min_size=1)


@given(st.recursive(_LEGAL, lambda inner: st.dictionaries(_KEYS, inner, max_size=4), max_leaves=20))
def test_flattening_keeps_every_leaf_under_its_path(tree):
    def leaves(node, path):
        if isinstance(node, dict):
            for key, value in node.items():
                yield from leaves(value, (*path, key))
        else:
            yield ".".join(path) or None, node

    found = read_output(tree)
    expected = list(leaves(tree, ()))
    if isinstance(found, Skipped):
        assert expected == []
    else:
        assert [(judgement.key, judgement.value) for judgement in found] == expected


# ---------------------------------------------------------------------- richer results


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        (EvalVerdict.PASS, True),
        (EvalVerdict.PARTIAL, False),
        (EvalVerdict.FAIL, False),
        ("pass", True),
        ("partial", False),
        (Enum("Foreign", {"OK": "pass"}).OK, True),
    ],
    ids=repr,
)
def test_only_the_verdict_pass_passes_and_its_score_reason_and_object_are_kept(verdict, value):
    result = EvalResult("words", verdict, 0.5, "5 of 10", {"words": 5})
    assert one(result) == Judgement(
        None, value, "5 of 10", EvalVerdict(one(result).verdict), 0.5, {"words": 5}, result
    )
    assert one({"inner": result}).key == "inner"


@pytest.mark.parametrize("score", [0, 0.0, 1, 1.0])
def test_the_score_of_a_verdict_may_be_at_either_end(score):
    assert one(EvalResult("x", EvalVerdict.PARTIAL, score)).score == score


def test_metadata_that_is_no_mapping_or_empty_is_not_kept():
    assert one(Matched(True, metadata=["n", 1])).metadata is None
    assert one(Matched(True, metadata={})).metadata is None


def test_a_bare_verdict_is_a_verdict_and_no_label():
    assert one(EvalVerdict.PASS)[1:5] == (True, None, EvalVerdict.PASS, None)
    assert one(EvalVerdict.FAIL).value is False
    assert one(EvaluationReason(EvalVerdict.FAIL, "why"))[1:4] == (False, "why", EvalVerdict.FAIL)
    assert values({"a": EvalVerdict.PARTIAL, "b": True}) == {"a": False, "b": True}


def test_the_verdict_skip_is_a_skip_and_the_verdict_error_a_failure():
    assert read_output(EvalResult("x", EvalVerdict.SKIP, 0.0, "no tools")) == Skipped("no tools")
    assert message(EvalResult("x", EvalVerdict.ERROR, 0.0, "judge is down")) == "judge is down"
    assert "without a reason" in message(EvalResult("x", EvalVerdict.ERROR, 0.0))


@pytest.mark.parametrize(
    ("result", "hint"),
    [
        (
            EvalResult("x", "passed", 1.0),
            "the verdict 'passed'; verdicts are pass, partial, fail, error, skip",
        ),
        (EvalResult("x", True, 1.0), "the verdict True"),
        (SimpleNamespace(verdict="pass", score=math.nan), "returned nan"),
        (SimpleNamespace(verdict="pass", score=1.5), "from 0 to 1"),
        (SimpleNamespace(verdict="fail", score=-0.1), "from 0 to 1"),
        (SimpleNamespace(verdict="pass", score="1.0"), "the score '1.0', which is no number"),
        (SimpleNamespace(verdict="pass", score=True), "the score True, which is no number"),
        (SimpleNamespace(verdict="pass", score=max), "which is no number"),
    ],
    ids=repr,
)
def test_a_verdict_that_contradicts_its_own_contract_is_refused(result, hint):
    assert hint in message(result)


@dataclass
class Matched:
    passed: Any
    score: Any = None
    reason: Any = None
    metadata: Any = None


@dataclass
class Summarised(Matched):
    def summary(self):
        return "2 of 3 calls matched"


def test_an_object_with_a_passed_flag_is_an_assertion_with_its_summary_as_reason():
    result = Summarised(False, score=np.float32(0.5))
    assert one(result) == Judgement(None, False, "2 of 3 calls matched", None, 0.5, None, result)
    assert one(Matched(True, reason="fine", metadata={"n": 1}))[1:6] == (True, "fine", None, None, {"n": 1})
    assert one(Matched(np.bool_(True))).value is True


@pytest.mark.parametrize(
    ("result", "hint"),
    [
        (Matched(None), "not a judgement"),
        (Matched(1), "not a judgement"),
        (Matched("yes"), "not a judgement"),
        (Matched(True, score="high"), "the score 'high', which is no number"),
        (Matched(True, score=math.inf), "returned inf"),
    ],
    ids=repr,
)
def test_a_passed_flag_is_a_bool_and_its_score_a_number(result, hint):
    assert hint in message(result)


@dataclass
class Metrics:
    overall: Any
    per_turn: Any = ()


def test_a_rollouts_overall_metrics_are_results_and_what_never_happened_is_absent():
    metrics = Metrics({"turns": 3, "toxic": True, "first_toxic_turn": None, "by_role": {"user": 0.5}})
    assert values(metrics) == {"turns": 3, "toxic": True, "by_role.user": 0.5}
    assert all(judgement.original is metrics for judgement in read_output(metrics))
    assert values({"run": metrics}) == {"run.turns": 3, "run.toxic": True, "run.by_role.user": 0.5}


@pytest.mark.parametrize("overall", [{}, {"first_toxic_turn": None}])
def test_a_rollout_without_overall_metrics_is_a_skip(overall):
    assert read_output(Metrics(overall)) == Skipped("the rollout has no overall metrics")


@pytest.mark.parametrize("value", [math.nan, -math.inf, np.float32("nan")], ids=repr)
def test_a_metric_of_a_rollout_that_is_no_number_is_refused_with_what_to_write_instead(value):
    assert "'x' of the rollout is" in message(Metrics({"x": value}))
    assert message(Metrics({"x": value})).endswith("write None for what was not measured")


def test_overall_metrics_without_turns_are_no_rollout():
    assert "not a judgement" in message(types.SimpleNamespace(overall={"turns": 3}))
    assert "not a judgement" in message(types.SimpleNamespace(per_turn=[]))


def test_a_rollout_with_a_bad_metric_fails_and_names_it():
    assert "'reward' of the rollout is nan" in message(Metrics({"turns": 2, "reward": math.nan}))
    assert "under 'rewards': returned {1}" in message(Metrics({"turns": 2, "rewards": {1}}))


@pytest.mark.parametrize("listed", [[1, 2], (1, 2), np.array([1, 2])], ids=["list", "tuple", "array"])
def test_a_list_among_the_metrics_of_a_rollout_is_no_judgement_and_spoils_none(listed):
    metrics = Metrics({"turns": 2, "rewards": listed})
    turns, rewards = read_parts(metrics)
    assert (turns.key, turns.value) == ("turns", 2)
    assert (rewards.key, rewards.reason, rewards.original) == ("rewards", "a list is no judgement", metrics)


def test_a_score_is_read_while_another_thread_loads_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", types.ModuleType("numpy"))
    assert read_output(Fraction(1, 4))[0].value == 0.25
