"""A limit of requests and tokens for tests."""

import pytest

from calipers.errors import InvalidOptionError
from calipers.testing import RateLimit


def test_what_is_beyond_the_limit_is_refused_and_says_for_how_long() -> None:
    now = [0.0]
    limit = RateLimit(2, 100, seconds=10, clock=lambda: now[0])
    assert limit.ask(10).taken
    assert limit.ask(10).taken
    refused = limit.ask(10, "openai")
    assert not refused.taken
    assert refused.wait == pytest.approx(5)
    assert refused.headers["retry-after-ms"] == "5000"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    now[0] = 5.0
    assert limit.ask(10).taken
    assert (limit.taken, limit.tokens_taken, limit.refused) == (3, 30, 1)


def test_tokens_count_as_well() -> None:
    limit = RateLimit(1000, 100, seconds=10, clock=lambda: 0.0)
    assert limit.ask(90).taken
    assert not limit.ask(20).taken
    assert limit.ask(10).taken


def test_a_limit_that_tells_nothing_sends_no_headers() -> None:
    limit = RateLimit(1, tells=False, clock=lambda: 0.0)
    assert not limit.ask(1, "openai").headers
    assert not limit.ask(1, "anthropic").headers


def test_a_change_keeps_what_is_left() -> None:
    limit = RateLimit(10, seconds=10, clock=lambda: 0.0)
    for _ in range(8):
        limit.ask(1)
    limit.change(100, seconds=10)
    assert [limit.ask(1).taken for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_numbers_are_checked(bad: int) -> None:
    with pytest.raises(InvalidOptionError):
        RateLimit(bad)
