"""What providers say in headers of what is left."""

from datetime import UTC, datetime, timedelta

import pytest

from calipers.data.rate_headers import Allowance, allowances_in


def openai(kind: str, limit: str, left: str, reset: str) -> dict[str, str]:
    parts = {"limit": limit, "remaining": left, "reset": reset}
    return {f"x-ratelimit-{part}-{kind}": value for part, value in parts.items()}


def test_openai_says_when_there_is_all_of_it_again_as_a_duration() -> None:
    headers = {**openai("requests", "500", "499", "120ms"), **openai("tokens", "30000", "12000", "6m0s")}
    assert allowances_in(headers) == [
        Allowance("requests", 500, 499, 0.12),
        Allowance("tokens", 30000, 12000, 360),
    ]


def test_azure_says_it_in_seconds() -> None:
    assert allowances_in(openai("tokens", "1000", "10", "57")) == [Allowance("tokens", 1000, 10, 57)]


def test_anthropic_says_it_as_a_date_and_tells_four_kinds() -> None:
    full = (datetime.now(UTC) + timedelta(seconds=30)).isoformat().replace("+00:00", "Z")
    headers = {}
    for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
        values = {"limit": "4000", "remaining": "1000", "reset": full}
        headers |= {f"anthropic-ratelimit-{kind}-{part}": value for part, value in values.items()}
    found = allowances_in(headers)
    assert [each.kind for each in found] == ["requests", "tokens", "input-tokens", "output-tokens"]
    assert all(28 < each.full_in <= 30 for each in found)


@pytest.mark.parametrize(
    ("limit", "left", "reset"),
    [
        ("-1", "-1", "0"),
        ("", "", ""),
        ("many", "some", "soon"),
        ("nan", "1", "1s"),
        ("0", "0", "1s"),
        ("inf", "5", "1s"),
        ("10", "5", "never"),
    ],
)
def test_what_is_no_number_is_not_told(limit: str, left: str, reset: str) -> None:
    assert allowances_in(openai("requests", limit, left, reset)) == []


def test_a_missing_header_is_no_zero() -> None:
    headers = openai("requests", "10", "5", "1s")
    for name in list(headers):
        assert allowances_in({key: value for key, value in headers.items() if key != name}) == []


def test_more_left_than_there_can_be_counts_as_all_of_it() -> None:
    assert allowances_in(openai("requests", "10", "50", "0s")) == [Allowance("requests", 10, 10, 0)]
