"""What analyses say, as rows."""

import pytest

from calipers.report import FaultEffect, FaultTolerance
from calipers.stats import Interval, rate
from calipers.views.analysis_statement import aggregate_rows, fault_rows


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ({}, []),
        ({"n": 3, "ok": True, "note": None}, [("n", 3), ("ok", True), ("note", None)]),
        ({"summary": {"n": 3, "rate": 0.5}}, [("summary.n", 3), ("summary.rate", 0.5)]),
        ({"empty": {}}, [("empty", {})]),
        ({"deep": {"a": {"b": 1}}}, [("deep", {"a": {"b": 1}})]),
        ({"details": [{"a": 1}]}, [("details", [{"a": 1}])]),
    ],
)
def test_an_object_of_plain_values_gives_a_row_for_each_of_them(data, rows):
    assert aggregate_rows(data) == rows


def test_a_fault_has_a_row_with_intervals_and_what_was_not_measured_says_so():
    half = rate([(1, 1), (0, 1), (1, 1), (0, 1)])
    counts = {"attempts": 5, "calls": 9, "strikes": 4, "misses": 1}
    unknown = dict.fromkeys(["success", "clean", "difference", "difference_interval", "recovery", "harm"])
    known = unknown | {
        "success": half,
        "clean": half,
        "difference": -0.25,
        "difference_interval": Interval(-0.7, 0.28),
    }
    effects = [
        FaultEffect(fault="error", struck=4, cases=4, **counts, **known),
        FaultEffect(fault="stale", struck=0, cases=0, **counts, **unknown),
    ]
    assert fault_rows(FaultTolerance(title="Faults of tools", effects=effects)) == [
        ("error", "4 of 5", "50 [15, 85]", "-25 [-70, +28]", *["not measured"] * 3),
        ("stale", "0 of 5", *[""] * 5),
    ]
