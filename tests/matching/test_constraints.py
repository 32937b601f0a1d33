"""What must hold for a whole path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import AtLeast, AtMost, Before, CallRules, Exactly, Flow, Never
from calipers.matching.constraints import holds_number, numbers_in, stands_in

RULES = CallRules(arguments="subset")


def path(*names):
    return [ToolCall(name) for name in names]


@pytest.mark.parametrize(
    ("constraint", "names", "holds", "exercised"),
    [
        (Before("a", "b"), "ab", True, True),
        (Before("a", "b"), "ba", False, True),
        (Before("a", "b"), "bab", False, True),
        (Before("a", "b"), "acbb", True, True),
        (Before("a", "b"), "aa", True, False),
        (Before("a", "b"), "", True, False),
        (Before("a", "b"), "b", False, True),
        (Before("a", "a"), "aa", False, True),
        (Never("a"), "bcb", True, True),
        (Never("a"), "bab", False, True),
        (AtMost("a", 2), "aba", True, True),
        (AtMost("a", 2), "aaa", False, True),
        (AtLeast("a", 1), "", False, True),
        (AtLeast("a", 1), "ba", True, True),
        (Exactly("a", 1), "aa", False, True),
        (Exactly("a", 0), "bb", True, True),
    ],
)
def test_order_and_counts(constraint, names, holds, exercised):
    finding = constraint.check(path(*names), RULES)
    assert (finding.violation is None) is holds
    assert finding.exercised is exercised


def test_a_constraint_may_speak_of_arguments():
    paid_twice = [ToolCall("pay", {"to": "Ann"}), ToolCall("pay", {"to": "Bob"})]
    assert Exactly(ToolCall("pay", {"to": "Ann"}), 1).check(paid_twice, RULES).violation is None
    found = Never(ToolCall("pay", {"to": "Bob"})).check(paid_twice, RULES)
    assert found.violation == "pay(to='Bob') was called once (call 2), and should be called never"


def search(output, **more):
    return ToolCall("search", {"q": "x"}, output=output, **more)


FLOW = Flow("search", "book", "flight")


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([search({"flights": [{"id": "X9"}]}), ToolCall("book", {"flight": "X9"})], None),
        ([search("Found flight X9 at 10:40"), ToolCall("book", {"flight": "X9"})], None),
        ([search(["X9", "X8"]), ToolCall("book", {"flight": ["X8", "X9"]})], None),
        ([search({"id": 4}), ToolCall("book", {"flight": "4"})], None),
        ([search('{"id": 40}'), ToolCall("book", {"flight": 4})], "flight=4 of book (call 2)"),
        ([search("[1,2,40]"), ToolCall("book", {"flight": 2})], None),
        ([search({"id": True}), ToolCall("book", {"flight": 1})], "came from no earlier result"),
        ([search({"id": "X9"}), ToolCall("book", {"flight": "X7"})], "flight='X7' of book (call 2)"),
        ([ToolCall("book", {"flight": "X9"}), search({"id": "X9"})], "no earlier result of search"),
        ([search({"id": "X9"}, success=False), ToolCall("book", {"flight": "X9"})], "no earlier result"),
        ([search({"id": "X9"}), ToolCall("book")], "has no argument 'flight'"),
        ([search(None), ToolCall("book", {"flight": "X9"})], "no earlier result"),
        ([search({"id": "X9"}), ToolCall("book", {"flight": []})], "no earlier result"),
    ],
)
def test_an_argument_must_come_from_an_earlier_result(calls, says):
    violation = FLOW.check(calls, RULES).violation
    assert violation is None if says is None else says in violation


def test_a_flow_without_a_call_to_flow_into_is_not_exercised():
    assert FLOW.check([search("X9")], RULES) == (None, False)


def test_a_function_may_say_what_comes_from_what():
    flow = Flow("search", "book", "flight", by=lambda result, value: value == result.upper())
    assert flow.check([search("x9"), ToolCall("book", {"flight": "X9"})], RULES).violation is None


values = st.recursive(
    st.integers() | st.text(min_size=1) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


@given(values, values)
def test_a_value_stands_in_whatever_holds_it(value, other):
    assert stands_in(value, value)
    assert stands_in({"a": [other, {"b": value}]}, value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AtMost("a", -1), "got -1"),
        (lambda: AtMost("a", True), "got True"),
        (lambda: AtLeast("a", 0), "holds for every path"),
        (lambda: AtMost(3, 1), "a step is"),
        (lambda: Before("", "b"), "a step is"),
        (lambda: Flow("a", "b", ""), "argument"),
    ],
)
def test_a_constraint_that_says_nothing_sensible_is_refused(make, says):
    with pytest.raises(InvalidOptionError, match=says):
        make()


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
        ("3-5, ORD-77, 16:9", [3, 5, 77, 16, 9]),
        ("10:30, at 9:05:30.5, 7:30 pm, 7:30pm. (12:30) 12:30.", []),
        ("5:3 in 12:30 h, 12:345, 12:75", [5, 3, 12, 345, 12, 75]),
        ("500-1500 users, 100-200, 1990-2024", [500, 1500, 100, 200, 1990, 2024]),
        (
            "555-1234, 555-0199, 5551-034, 1-555-123-4567, +1-555-123-4567, (555) 123-4567, +1 (555) 123 4567",
            [],
        ),
        ("123-45-6789, 978-3-16-148410-0, 4111-1111-1111-1111", []),
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
        ("12:30", 30, False),
        ("12:30", "30", False),
        ("12:30", "12:30", True),
        ("555-1234", 1234, False),
        ("555-1234", "1234", False),
        ("call 555-1234", "555-1234", True),
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
