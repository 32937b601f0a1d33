import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import Interval, wilson
from calipers.stats.number_text import (
    METHODS,
    confidence_text,
    dollars,
    interval_line,
    mean_text,
    number,
    percent,
    plural,
    rate_text,
    seconds,
)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (0.925, "92.5 %"),
        (0, "0.0 %"),
        (1, "100.0 %"),
        (1 / 3, "33.3 %"),
        (0.9999, "99.99 %"),
        (0.99996, "99.996 %"),
        (0.00004, "0.004 %"),
        (0.9995, "99.95 %"),
        (0.999, "99.9 %"),
        (1e-7, "0.00001 %"),
        (1e-13, "<0.00001 %"),
        (1 - 1e-13, ">99.99999 %"),
    ],
)
def test_rates_are_percentages(rate: float, shown: str):
    assert percent(rate) == shown
    assert percent(rate, unit=False) == shown.removesuffix(" %")


@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_only_none_of_all_is_shown_as_0_and_only_all_of_all_as_100(counts: tuple[int, int]):
    passed, n = counts
    shown = float(percent(passed / n, unit=False))
    assert (shown == 0) == (passed == 0)
    assert (shown == 100) == (passed == n)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (3, "3"),
        (1234567, "1,234,567"),
        (0.08696, "0.08696"),
        (0.123456, "0.1235"),
        (130.75, "130.8"),
        (12345.678, "12,346"),
        (-0.5, "-0.5"),
        (1.5e-7, "1.5e-07"),
        (2e20, "2e+20"),
        pytest.param(10**400, "1.000e+400", id="too large for a float"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_have_about_four_digits(value: float, shown: str):
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.873, 0.852, 0.894, ("0.873", "[0.852, 0.894]")),
        (1, 1, 1, ("1.000", "[1.000, 1.000]")),
        (0, 0, 0, ("0.000", "[0.000, 0.000]")),
        (87.31, 80.2, 94.4, ("87.31", "[80.20, 94.40]")),
        (12345.6, 12000.1, 12700.2, ("12,346", "[12,000, 12,700]")),
        (0.99991, 0.99985, 0.99997, ("0.99991", "[0.99985, 0.99997]")),
        (-0.2, -0.5, 0.1, ("-0.200", "[-0.500, 0.100]")),
        (2e-9, 1e-9, 3e-9, ("2.000e-09", "[1.000e-09, 3.000e-09]")),
        (2e15, 1e15, 3e15, ("2.000e+15", "[1.000e+15, 3.000e+15]")),
    ],
)
def test_a_mean_has_the_digits_that_tell_its_interval_apart(
    value: float, low: float, high: float, shown: tuple[str, str]
):
    assert mean_text(value, Interval(low, high)) == shown


def test_without_an_interval_there_is_the_value_alone():
    assert mean_text(0.5, None) == ("0.5", "")
    assert rate_text(0.5, None) == ("50.0 %", "")


def test_a_rate_and_its_interval_are_percentages():
    assert rate_text(37 / 40, wilson(37, 40)) == ("92.5 %", "[80.1, 97.4]")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 µs"),
        (0.0000124, "12 µs"),
        (0.00099999, "1 ms"),
        (0.34, "340 ms"),
        (0.99999, "1 s"),
        (1.24, "1.24 s"),
        (12.44, "12.4 s"),
        (59.99, "1 min"),
        (125, "2 min 5 s"),
        (3599.9, "1 h"),
        (4320, "1 h 12 min"),
        (360_000, "100 h"),
        (float("inf"), "inf s"),
    ],
)
def test_times_have_a_unit_that_keeps_them_short(value: float, shown: str):
    assert seconds(value) == shown


def test_plurals_and_confidence_levels():
    assert [plural(n, "case") for n in (0, 1, 1200)] == ["0 cases", "1 case", "1,200 cases"]
    assert plural(2, "try", "tries") == "2 tries"
    assert [confidence_text(c) for c in (0.95, 0.9, 0.999)] == ["95 %", "90 %", "99.9 %"]


@pytest.mark.parametrize(
    ("value", "interval", "shown"),
    [
        (0.5, Interval(0.2, 0.8), "  ├──●──┤ "),
        (1.0, Interval(0.9, 1.0), "         ●"),
        (0.0, Interval(0.0, 0.3), "●──┤      "),
        (0.5, None, "     ●    "),
    ],
)
def test_an_interval_is_drawn_from_0_to_1(value: float, interval: Interval | None, shown: str):
    assert interval_line(value, interval, 10) == shown


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 60))
def test_a_drawn_interval_fills_its_cells_and_shows_the_value(a: float, b: float, c: float, width: int):
    low, value, high = sorted([a, b, c])
    line = interval_line(value, Interval(low, high), width, glyphs="[-o]")
    assert len(line) == width
    assert line.count("o") == 1


def test_every_method_of_making_an_interval_has_its_words():
    from typing import get_args

    from calipers.stats.interval import Method

    assert set(METHODS) == set(get_args(Method))


def test_the_same_amounts_added_in_another_order_are_shown_alike():
    assert (
        dollars(0.005255)
        == dollars(0.005255 + 1e-17)
        == dollars(0.005255 - 1e-17)
        == dollars(0.00525500000000001)
    )
    assert dollars(0.0) == "$0.00"
    assert dollars(1234.5) == "$1,234.50"
