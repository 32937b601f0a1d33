"""What is asked of a whole list of calls."""

from dataclasses import fields
from typing import get_type_hints

import pytest

from calipers.errors import InvalidOptionError
from calipers.matching import CallRules, MatchOptions
from calipers.matching.match_options import MatchKeywords


@pytest.mark.parametrize(
    ("mode", "order_counts", "missing_allowed", "extra_allowed"),
    [
        ("exact", True, False, False),
        ("contiguous", True, False, True),
        ("in_order", True, False, True),
        ("subsequence", True, False, True),
        ("unordered", False, False, False),
        ("superset", False, False, True),
        ("subset", False, True, False),
    ],
)
def test_the_table_of_modes(mode, order_counts, missing_allowed, extra_allowed):
    options = MatchOptions(mode=mode)
    assert (options.order_counts, options.missing_allowed, options.extra_allowed) == (
        order_counts,
        missing_allowed,
        extra_allowed,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "strict"}, "mode must be one of exact, contiguous, in_order, subsequence, unordered"),
        ({"mode": None}, "mode must be one of"),
        ({"mode": ["exact"]}, "mode must be one of"),
        ({"failed": True}, "failed must be one of count, skip, got True"),
        ({"retried": "drop"}, "retried must be one of count, skip, got 'drop'"),
        ({"arguments": "some"}, "arguments must be one of"),
    ],
)
def test_what_means_nothing_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        MatchOptions(**options)


def test_options_are_rules_too():
    assert isinstance(MatchOptions(arguments="subset"), CallRules)
    assert MatchOptions(arguments="subset").mode_for("f") == "subset"


def test_the_keywords_are_the_options():
    options = {field.name: get_type_hints(MatchOptions)[field.name] for field in fields(MatchOptions)}
    assert get_type_hints(MatchKeywords) == options
