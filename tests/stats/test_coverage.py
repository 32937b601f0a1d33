"""The table of coverage in the documentation is the one that benchmarks/coverage.py prints."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def load():
    spec = importlib.util.spec_from_file_location("coverage_table", ROOT / "benchmarks" / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "benchmarks"))  # for the modules beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


COVERAGE = load()


def shown():
    """The rows of the page's table: name and cells."""
    text = COVERAGE.PAGE.read_text(encoding="utf-8")
    table = text.split("<!-- coverage: begin -->")[1].split("<!-- coverage: end -->")[0].strip().splitlines()
    return {cells[0]: cells[1:] for cells in ([c.strip() for c in row.split("|")[1:-1]] for row in table[2:])}


def test_the_page_shows_every_interval():
    assert list(shown()) == list(COVERAGE.ROWS)
    assert {len(cells) for cells in shown().values()} == {len(COVERAGE.SIZES) * len(COVERAGE.TRUTHS)}
    assert COVERAGE.SETS >= 2000


@pytest.mark.parametrize(
    "row", ["rate: Wilson", "rate: Clopper-Pearson", "rate: Jeffreys", "score without bounds: Student t"]
)
def test_a_cell_of_the_page_is_what_the_script_finds(row):
    found = 100 * COVERAGE.share_covered((row, 10, 0.05, COVERAGE.SETS))
    assert shown()[row][0] == f"{found:.1f}"


def test_clopper_and_pearson_never_fall_short_beyond_chance():
    assert min(map(float, shown()["rate: Clopper-Pearson"])) >= 94
    assert min(map(float, shown()["rate, looked at after every case: betting"])) >= 94


DIPS = {
    "rate: Wilson": 91.5,
    "score between bounds, most at the upper one: the same": 90.5,
    "score without bounds: Student t": 89.5,
    "score between bounds, two thirds of the cases in two clusters: the same": 88.5,
    "difference, two thirds of the cases in two clusters: clustered t": 90.0,
    "score of two kinds: Wilson of an effective size": 0,
    "score of two kinds, near 0 and near 1: Student t": 0,
    "score: BCa bootstrap": 0,
    "difference, paired scores: BCa": 0,
}
"""Rows that may fall below 92: rates of few cases, scores and unequal clusters, whose intervals are called approximate, and bootstraps, which none
shows."""


def test_no_other_interval_of_the_page_covers_less_than_92_percent():
    low = {row: min(map(float, cells)) for row, cells in shown().items()}
    assert {row: least for row, least in low.items() if least < DIPS.get(row, 92)} == {}


def test_repeats_with_rare_failures_are_covered():
    row = f"rate, {COVERAGE.REPEATS} repeats: two levels"
    assert COVERAGE.share_covered((row, 30, 0.95, 400)) > 0.93
