"""Dates and times, however they are written."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.matching import DateIs, matches
from calipers.matching.value_comparison import differences

DAY = date(2025, 3, 5)
MOMENT = datetime(2025, 3, 5, 14, 30, tzinfo=UTC)
NAIVE = MOMENT.replace(tzinfo=None)


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-05",
        "20250305",
        "2025/03/05",
        "2025.03.05",
        "5 March 2025",
        "5 march 2025",
        "05 Mar 2025",
        "5-Mar-2025",
        "5th of March 2025",
        "5th of March, 2025",
        "Wed, 5 Mar 2025",
        "Wednesday 5 March 2025",
        "March 5, 2025",
        "Mar. 5th 2025",
        "05.03.2025",
        "5. 3. 2025",
        "  2025-03-05\n",
        "2025-03-05T14:30",
        "2025-03-05 23:59:59.999+14:00",
        "March 5, 2025 at 2:30 pm",
        DAY,
        NAIVE,
        MOMENT,
    ],
)
def test_a_date_is_recognised_in_each_of_its_forms(text):
    assert matches(DateIs(DAY), text)
    assert matches(DateIs("2025-03-05"), text)
    assert not matches(DateIs("2025-03-06"), text)


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-05T14:30Z",
        "2025-03-05T14:30:00.000Z",
        "20250305T14:30+0000",
        "2025-03-05 15:30+01:00",
        "5 March 2025, 2:30 pm UTC",
        "Wed, 05 Mar 2025 14:30:00 GMT",
        "2025-03-05 02:30p.m.Z",
        MOMENT,
        MOMENT.astimezone(timezone(timedelta(hours=9))),
    ],
)
def test_a_moment_is_the_same_in_every_zone(text):
    assert matches(DateIs(MOMENT), text)
    assert matches(DateIs("2025-03-05T14:30Z"), text)


@pytest.mark.parametrize(
    "value",
    [
        "05/03/2025",
        "05-03-2025",
        "5.3.25",
        "tomorrow",
        "",
        "2025-02-30",
        "2025-3",
        "2025-03-05T25:00",
        "2025-03-05T14",
        "2025-03-05 13:30 pm",
        "2025-03-05 0:30 am",
        "5 Marchember 2025",
        "2025-03-05 and more",
        "2025-03-05T",
        "2025-0305",
        "0000-01-01",
        "2025-03-05T14:30+99:00",
        "x" * 100_000,
        1741132800,
        20250305,
        None,
        True,
        {},
    ],
)
def test_what_is_no_date_or_could_be_two_does_not_match(value):
    (found,) = differences(DateIs(DAY), value)
    assert "which is no date of a known and unambiguous form" in found.reason


@pytest.mark.parametrize(
    ("text", "day_first", "day"),
    [
        ("05/03/2025", True, date(2025, 3, 5)),
        ("05/03/2025", False, date(2025, 5, 3)),
        ("5-3-2025", True, date(2025, 3, 5)),
        ("25/03/2025", None, date(2025, 3, 25)),
        ("03/25/2025", None, date(2025, 3, 25)),
        ("03/03/2025", None, date(2025, 3, 3)),
    ],
)
def test_who_says_what_comes_first_can_read_the_ambiguous_forms(text, day_first, day):
    assert matches(DateIs(day, day_first=day_first), text)


def test_a_day_and_a_month_that_cannot_be_are_not_exchanged():
    assert not matches(DateIs("2025-03-25", day_first=False), "25/03/2025")


@pytest.mark.parametrize(
    ("matcher", "value", "match"),
    [
        (DateIs(DAY, tolerance=timedelta(days=1)), "2025-03-06", True),
        (DateIs(DAY, tolerance=timedelta(days=1)), "2025-03-07", False),
        (DateIs(MOMENT, tolerance=timedelta(minutes=5)), "2025-03-05T14:34:59Z", True),
        (DateIs(MOMENT, tolerance=timedelta(minutes=5)), "2025-03-05T14:24:59Z", False),
        (DateIs(MOMENT), DAY, False),
        (DateIs(MOMENT), NAIVE, False),
        (DateIs(NAIVE), NAIVE, True),
        (DateIs(NAIVE), MOMENT, False),
        (DateIs(NAIVE, zone="UTC"), MOMENT, True),
        (DateIs(MOMENT, zone="Europe/Paris"), "2025-03-05T15:30", True),
        (DateIs(MOMENT, zone="Europe/Paris"), "2025-03-05T14:30", False),
    ],
)
def test_tolerance_and_zones(matcher, value, match):
    assert matches(matcher, value) is match


@pytest.mark.parametrize(
    ("matcher", "value", "reason"),
    [
        (DateIs(DAY), "6 March 2025", "expected 2025-03-05, got 2025-03-06 ('6 March 2025')"),
        (
            DateIs(DAY, tolerance=timedelta(1)),
            date(2025, 3, 9),
            "expected 2025-03-05 ± 1 day, 0:00:00, got 2025-03-09",
        ),
        (
            DateIs(MOMENT),
            "2025-03-05",
            "expected 2025-03-05 14:30:00+00:00, got 2025-03-05: one of them tells a time, or a zone, that the other does not",
        ),
    ],
)
def test_it_says_why_it_does_not_match(matcher, value, reason):
    (found,) = differences(matcher, value)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DateIs("soon"), "such as '2025-03-05' or '2025-03-05T14:30', got 'soon'"),
        (lambda: DateIs("05/03/2025"), "DateIs needs a date"),
        (lambda: DateIs(5), "DateIs needs a date"),
        (lambda: DateIs(DAY, tolerance=5), "tolerance must be a timedelta from 0 up, got 5"),
        (lambda: DateIs(DAY, tolerance=timedelta(-1)), "tolerance must be a timedelta"),
        (lambda: DateIs(NAIVE, zone="Mars/Base"), "'Mars/Base' is no time zone"),
        (lambda: DateIs(DAY, zone="Mars/Base"), "'Mars/Base' is no time zone"),
    ],
)
def test_what_means_nothing_is_refused(make, message):
    with pytest.raises(InvalidOptionError, match=message):
        make()


@given(st.dates(min_value=date(1000, 1, 1)))
def test_every_date_is_read_back_from_each_way_to_write_it(day):
    month = day.strftime("%B")
    written = [
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day:%d.%m.%Y}",
    ]
    for text in written:
        assert matches(DateIs(day), text)


@given(st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC) | st.none()))  # noqa: DTZ001 - hypothesis asks for it
def test_every_moment_is_read_back(moment):
    assert matches(DateIs(moment), moment.isoformat())
    assert matches(DateIs(moment), str(moment))


@given(st.text())
def test_no_text_is_an_error(text):
    matches(DateIs(DAY), text)
