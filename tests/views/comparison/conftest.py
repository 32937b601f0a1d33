"""Comparisons whose every number is known."""

import pytest

from calipers.comparison import Change, compare_many
from calipers.data.trace import ToolCall, Trace
from calipers.report import Incomplete
from calipers.stats import Interval

HOSTILE = "\x1b[31m<script>alert(1)</script> | `x` [/bold]\n@team"
"""A name that would like to be markup."""


def change(low=None, high=None, **fields):
    """A change with a 95 % interval."""
    known = {
        "name": "ok",
        "kind": "assertion",
        "scale": "points",
        "better": "higher",
        "paired": True,
        "baseline": 0.7,
        "candidate": 0.741,
        "difference": 0.041,
        "interval": None if low is None else Interval(low, high),
        "baseline_cases": 100,
        "candidate_cases": 100,
        "smallest": 0.03,
    }
    return Change(**(known | fields))


@pytest.fixture(scope="session", name="change")
def _change():
    return change


@pytest.fixture
def comparisons(records):
    """Two candidates against a baseline: with flips, labels, metrics, a changed case, a lost evaluator and hostile names."""

    def report(name, shift, **fields):
        cases = [
            records.case(
                f"case {number}",
                records.result("ok", number % 10 >= 4 - shift, reason=HOSTILE),
                records.result("size", number / 40 + 0.01 * shift * (number % 3)),
                records.result("mood", "calm" if number % 2 else "cross" if shift else HOSTILE),
                records.result(HOSTILE, number != 3),
                metrics={"cost": 1 + number + shift},
                task_duration=0.1 + number / 100 + shift / 50,
                trace=Trace(tool_calls=[ToolCall(HOSTILE, {"n": shift, "text": HOSTILE})]),
            )
            for number in range(40)
        ]
        changed = records.case("changed", records.result("ok", True), inputs=f"question {shift}")
        broken = records.case("lost", evaluator_failures=(records.broken("ok", "TimeoutError: slow"),))
        lost = broken if shift else records.case("lost", records.result("ok", True))
        return records.report(*cases, changed, lost, name=name, **fields)

    return compare_many(
        [
            report("old", 0),
            report("new", 3),
            report(HOSTILE, 1, incomplete=Incomplete("interrupted", "Ctrl-C")),
        ],
    )
