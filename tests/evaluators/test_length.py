import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.evaluators import EvaluationReason, Length


@given(st.text(), st.integers(0, 10), st.integers(0, 10))
def test_characters_are_code_points_and_words_are_split_at_whitespace(judge, output, minimum, width):
    maximum = minimum + width
    assert judge(Length(minimum, maximum), output).value == (minimum <= len(output) <= maximum)
    words = len(output.split())
    assert judge(Length(minimum, maximum, unit="words"), output).value == (minimum <= words <= maximum)


@given(
    st.lists(st.none()) | st.sets(st.integers()) | st.dictionaries(st.integers(), st.none()),
    st.integers(0, 5),
)
def test_items_are_counted_by_len(judge, output, maximum):
    assert judge(Length(maximum=maximum, unit="items"), output).value == (len(output) <= maximum)
    assert judge(Length(maximum + 1, unit="items"), output).value == (len(output) > maximum)


@pytest.mark.parametrize(
    ("evaluator", "output", "reason"),
    [
        (Length(maximum=3), "abcd", "expected at most 3 characters, got 4"),
        (Length(5), "abcd", "expected at least 5 characters, got 4"),
        (Length(2, 3, unit="words"), "one", "expected 2 to 3 words, got 1"),
        (Length(2, 2, unit="items"), [1], "expected exactly 2 items, got 1"),
        (Length(maximum=3), [1], "expected text, got [1] (list)"),
        (Length(maximum=3), None, "expected text, got None"),
        (Length(maximum=3, unit="items"), "ab", "expected a collection, got 'ab' (str)"),
        (Length(maximum=3, unit="items"), b"ab", "expected a collection, got b'ab' (bytes)"),
        (Length(maximum=3, unit="items"), iter([]), None),
    ],
)
def test_a_failure_gives_the_length_or_says_there_is_none(judge, evaluator, output, reason):
    result = judge(evaluator, output)
    assert result.value is False
    assert reason is None or result == EvaluationReason(value=False, reason=reason)


@pytest.mark.parametrize(
    "options", [{}, {"minimum": 0}, {"minimum": -1}, {"maximum": 1.5}, {"minimum": 2, "maximum": 1}]
)
def test_bounds_that_mean_nothing_are_refused(options):
    with pytest.raises(InvalidOptionError, match="Length"):
        Length(**options)


def test_the_unit_is_one_of_three():
    with pytest.raises(InvalidOptionError, match="characters, words, items, got 'tokens'"):
        Length(1, unit="tokens")
