"""Every built-in evaluator meets what a task might return on a bad day."""

import copy
import math
from decimal import Decimal

import numpy as np
import pytest

from calipers.data.evaluator_output import read_output
from calipers.errors import CalipersError
from calipers.evaluators import (
    CloseTo,
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    EqualsExpected,
    HasMatchingSpan,
    InLanguage,
    InRange,
    IsInstance,
    IsJSON,
    IsReadOnlySQL,
    Length,
    MatchesJSONSchema,
    MatchesRegex,
    MaxDuration,
    MinSentiment,
    NoPersonalData,
    NoProfanity,
    NotContains,
    ParsesAsSQL,
    RunsPython,
    SimilarText,
    Skipped,
    SpanCount,
    TextSentiment,
    TextSimilarity,
)


class OwnError(Exception):
    """What the output's own methods raise."""


class RaisesOnEquality:
    def __eq__(self, other):
        raise OwnError("no comparing")

    __hash__ = object.__hash__


class RaisesOnEverything:
    def __eq__(self, other):
        raise OwnError("no comparing")

    def __repr__(self):
        raise OwnError("no printing")

    __str__ = __repr__

    def __hash__(self):
        raise OwnError("no hashing")

    def __len__(self):
        raise OwnError("no counting")

    def __bool__(self):
        raise OwnError("no truth")


class YesToEverything:
    def __eq__(self, other):
        return "yes"

    __hash__ = object.__hash__


def contains_itself():
    value = {"list": []}
    value["list"].append(value)
    return value


def deep():
    value = []
    for _ in range(5000):
        value = [value]
    return value


ODD = {
    "none": None,
    "not a number": math.nan,
    "infinite": -math.inf,
    "huge integer": 10**5000,
    "complex": 1j,
    "decimal": Decimal("sNaN"),
    "empty text": "",
    "huge text": "x " * 100_000,
    "control characters": "\x00\x1b[31m\u202e\ud800",
    "bytes": b"\xff\x00",
    "empty list": [],
    "huge list": list(range(100_000)),
    "mixed keys": {None: 1, 2: (3,), "a": {4}},
    "array": np.array([[1.0, math.nan]]),
    "empty array": np.array([]),
    "object array": np.array([None, "x"], dtype=object),
    "contains itself": contains_itself(),
    "deep": deep(),
    "raises on equality": RaisesOnEquality(),
    "raises on everything": RaisesOnEverything(),
    "holds one that raises": [RaisesOnEverything()],
    "says yes": YesToEverything(),
    "a class": dict,
    "a function": len,
    "exception": ValueError("returned, not raised"),
    "iterator": iter([1, 2, 3]),
}

EVALUATORS = [
    Equals("x"),
    Equals(np.array([1, 2])),
    EqualsExpected(),
    Contains("x"),
    Contains({"a": 1}, case_sensitive=False),
    NotContains("x"),
    ContainsAny(["x", 1]),
    ContainsAll(["x", 1]),
    MatchesRegex("y$"),
    IsJSON(),
    MatchesJSONSchema({"type": "object"}),
    IsInstance("Invoice"),
    CloseTo(1),
    CloseTo(parse=True),
    InRange(0, 1, parse=True),
    SimilarText("x"),
    TextSimilarity("x", method="part"),
    Length(maximum=3),
    Length(1, 3, unit="items"),
    MaxDuration(1),
    HasMatchingSpan({"name_equals": "a"}),
    SpanCount({"name_equals": "a"}, minimum=1),
    ParsesAsSQL(),
    IsReadOnlySQL("sqlite"),
    RunsPython(seconds=0.5),
    NoPersonalData(),
    NoPersonalData(["date", "ip_address", "zip_code"]),
    InLanguage("en"),
    NoProfanity(),
    MinSentiment(),
    TextSentiment(),
]


def words_about(judge, evaluator, output):
    """What it says beside a verdict; a comparison that raised is an evaluator failure: the answer is unknown."""
    try:
        said = judge(evaluator, output, "x")
    except (CalipersError, OwnError) as error:
        return str(error)
    found = read_output(said)
    if isinstance(found, Skipped):
        return found.reason
    (judgement,) = found
    return judgement.reason or ("no reason needed" if judgement.value is not False else "")


@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda evaluator: type(evaluator).__name__)
def test_odd_outputs_are_judged_skipped_or_refused_in_words(judge, evaluator):
    said = {name: len(words_about(judge, evaluator, output)) for name, output in ODD.items()}
    assert not {name: length for name, length in said.items() if not 0 < length < 1000}


@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda evaluator: type(evaluator).__name__)
def test_the_output_is_left_as_it_was(context, evaluator):
    for output in ({"a": [1, {"b": "X"}]}, ["x", "X"], "SELECT 1", {"x"}):
        before = copy.deepcopy(output)
        attempt = context(output, copy.deepcopy(output))
        evaluator.evaluate_sync(attempt)
        assert attempt.output is output
        assert output == before == attempt.expected_output
