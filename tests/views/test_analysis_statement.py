"""What a rollout metric says of all rollouts, as rows."""

import pytest

from calipers.views.analysis_statement import aggregate_rows


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
