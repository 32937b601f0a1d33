"""Numbers that stand in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.matching.constraints import stands_in
from calipers.matching.numbers import holds_number, numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3.42", [3.42]),
        ("420 EUR", [420]),
        ("420EUR, 5kg and 20%", [420, 5, 20]),
        ("-5 °C, \u22123, +7", [-5, -3, 7]),
        ("$1,299.99 or -$5 or $-6 or € 420", [1299.99, -5, -6, 420]),
        ("1,234.50 or 1.234,50 or 1.234.567,89", [1234.5, 1234.5, 1234567.89]),
        ("1'234 and 1_000_000", [1234, 1_000_000]),
        ("1,234", [1234, 1.234]),
        ("1 234.5", [1234.5, 1, 234.5]),
        ("1 234 567 people", [1234567, 1, 234, 567]),
        ("(42), a=43. It is 44.", [42, 43, 44]),
        ("1e3, 1.5e-3, .5, 0.500", [1000, 0.0015, 0.5, 0.5]),
        ("12, 13, 14", [12, 13, 14]),
        ("3-5, ORD-77, 10:30", [3, 5, 77, 10, 30]),
        ("2024-05-01, 1/5/2024; 2024-05-01T10:30:00.5+02:00 2024-05-01 10:30Z", []),
        ("on 2024-05-01 12 came", [12]),
        ("1,2,3", [1, 2, 3]),
        ("-1,20,30 and 1.5,2.5", [-1, 20, 30, 1.5, 2.5]),
        ("id,42,name", [42]),
        ("1,234,567 or 12,34,567.5", [1234567, 1234567.5]),
        ("EUR420, -USD5, USD 1,299.99", [420, -5, 1299.99]),
        ("SKU420 AZ611, x42, 42x9, 4_a, 192.168.0.1, 2.1.3, 1.20.300", []),
    ],
)
def test_the_numbers_of_a_text(text, numbers):
    assert list(numbers_in(text)) == pytest.approx(numbers)


@given(
    st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9).map(lambda each: round(each, 3)),
    st.sampled_from(["{}", "{} EUR", "€{}", "it is {}.", "({})", "{}kg"]),
)
def test_a_number_stands_in_a_text_that_says_it(number, text):
    said = text.format(f"{number:f}" if isinstance(number, float) else number)
    assert holds_number(said, number)
    assert holds_number(text.format(f"{number:,}"), number)
    assert not holds_number(said, number + 1)


@pytest.mark.parametrize(
    ("result", "value", "found"),
    [
        ("the total is 3.42", 42, False),
        ("the total is 3.42", "42", False),
        ("the total is 4.75", 4, False),
        ("420 EUR", 420.0, True),
        ("420 EUR", 420, True),
        ("420.00 EUR", "420", True),
        ("1,234.50 USD", 1234.5, True),
        ("-5 degrees", 5, False),
        ("-5 degrees", -5, True),
        (420, "420 EUR", True),
        (420, "EUR420", True),
        ("EUR420", 420, True),
        ("1,2,3", 2, True),
        ("1,2,3", "2", True),
        ("2024-01-05", 1, False),
        ("2024-01-05", 2024, False),
        ("2024-01-05", "2024", False),
        ("2024-01-05", "2024-01-05", True),
        (1234.5, "1,234.50", True),
        (9, "X9", False),
        ("order 0042", "0042", True),
        ("order 0042", "042", False),
        ("order 42", "0042", False),
        ({"total": "€ 99"}, 99, True),
        ('{"ids": [7, 8]}', [8, 7], True),
        ("true", 1, False),
        ([True], 1, False),
        ("flight X9", "X9", True),
        ("flight X95", "X9", False),
    ],
)
def test_a_number_flows_as_a_number(result, value, found):
    assert stands_in(result, value) is found
