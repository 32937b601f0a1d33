from datetime import UTC, datetime

import pytest

from calipers.data.retry_after import seconds_in, wait_of

NOW = datetime(2026, 11, 16, 11, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("12ms", 0.012),
        ("1h2m3.5s", 3723.5),
        ("34.074824224s", 34.074824224),
        ("0", 0),
        ("-1", None),
        ("", None),
        ("1.5", 1.5),
        ("Mon, 16 Nov 2026 12:00:00 GMT", 60),
        ("2026-11-16T12:00:00Z", 60),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("2015-10-21T07:28:00Z", 0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("1s later", None),
        ("5 s", None),
    ],
)
def test_a_wait_is_read_in_each_of_its_forms(text, seconds):
    found = seconds_in(text, now=NOW)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_date_far_ahead_is_far_ahead():
    assert seconds_in("Wed, 21 Oct 2037 07:28:00 GMT", now=NOW) > 3e8


def test_milliseconds_come_before_seconds_and_the_body_last():
    body = {
        "error": {"details": [{"@type": "…QuotaFailure"}, {"@type": "…RetryInfo", "retryDelay": "34.5s"}]}
    }
    assert wait_of({"retry-after-ms": "250", "retry-after": "3"}, body) == 0.25
    assert wait_of({"retry-after-ms": "?", "retry-after": "3"}, body) == 3
    assert wait_of({}, body) == 34.5
    assert wait_of({}, {"error": "busy"}) is None
    assert wait_of({"x-ratelimit-reset-tokens": "6m0s"}) is None
