import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.evaluators import Equals, EqualsExpected, EvaluationReason, Skipped

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(0, 2))
)


@given(VALUES, VALUES)
def test_equals_agrees_with_python(judge, value, output):
    assert judge(Equals(value), output).value == (output == value)


@given(VALUES, VALUES)
def test_equals_expected_agrees_with_python(judge, expected, output):
    assert judge(EqualsExpected(), output, expected).value == (output == expected)


def test_a_difference_is_explained_and_equality_is_not(judge):
    assert judge(Equals("a"), "a") == EvaluationReason(value=True)
    assert judge(Equals({"a": 1}), {"a": 2}) == EvaluationReason(
        value=False, reason="at ['a']: expected 1, got 2"
    )


def test_a_case_without_expectation_is_skipped(judge):
    assert judge(EqualsExpected(), "anything") == Skipped("the case states no expected output")


@pytest.mark.parametrize(("output", "passes"), [(None, True), (0, False)])
def test_a_case_may_expect_none(judge, output, passes):
    assert judge(EqualsExpected(), output, None).value is passes


def test_nan_equals_nothing(judge):
    result = judge(Equals(math.nan), math.nan)
    assert result.value is False
    assert "NaN equals nothing" in result.reason
