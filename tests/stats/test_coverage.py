"""The table of coverage in the documentation is the one that benchmarks/coverage.py prints."""

import importlib.util
import sys
from pathlib import Path

import pytest

from calipers import stats
from calipers.stats.estimate import bounded_mean

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
    "rate, four large clusters, each as one": 88,
    "rate, clusters of lognormal sizes, each as one": 85,
    "score between bounds, most at the upper one: the same": 90.5,
    "score without bounds: Student t": 89.5,
    "score between bounds, two thirds of the cases in two clusters: the same": 88.5,
    "difference, two thirds of the cases in two clusters: clustered t": 90.0,
    "score of two kinds: Wilson of an effective size": 0,
    "score of two kinds, near 0 and near 1: Student t": 0,
    "score: BCa bootstrap": 0,
    "difference, paired scores: BCa": 0,
}
"""Rows that may fall below 92: rates of few cases, and intervals that go by the spread they see, which are called approximate."""


def test_no_other_interval_of_the_page_covers_less_than_92_percent():
    low = {row: min(map(float, cells)) for row, cells in shown().items()}
    assert {row: least for row, least in low.items() if least < DIPS.get(row, 92)} == {}


def test_repeats_with_rare_failures_are_covered():
    row = f"rate, {COVERAGE.REPEATS} repeats: two levels"
    assert COVERAGE.share_covered((row, 30, 0.95, 400)) > 0.93


def test_intervals_that_go_by_the_spread_between_scores_or_clusters_are_approximate():
    passed, scores, clusters = [(1, 1), (0, 1), (1, 1), (1, 1)], [[0.1], [0.4], [0.9], [0.7]], [0, 0, 1, 2]
    flags = [[float(count)] for count, _ in passed]
    others = [[1.0], [1.0], [0.0], [1.0]]
    cases = {
        "rate": (stats.rate(passed), False),
        "rate of repeated cases": (stats.rate([(1, 2), (2, 2), (0, 2)]), False),
        "rate, every case a cluster of its own": (stats.rate(passed, clusters=range(4)), False),
        "rate in clusters": (stats.rate(passed, clusters=clusters), True),
        "pass@2 in clusters": (bounded_mean([1, 0.5, 0.3], n_observations=6, clusters=[0, 0, 1]), True),
        "score": (stats.mean(scores), True),
        "score between bounds": (stats.mean(scores, bounds=(0, 1)), True),
        "score between bounds in clusters": (stats.mean(scores, bounds=(0, 1), clusters=clusters), True),
        "difference of rates": (stats.compare_paired(flags, others), False),
        "difference of rates in clusters": (stats.compare_paired(flags, others, clusters=clusters), True),
        "unpaired": (stats.compare_unpaired(flags, others), False),
        "unpaired, in clusters": (stats.compare_unpaired(flags, others, first_clusters=clusters), True),
        "unpaired scores": (stats.compare_unpaired(scores, [*others[:3], [0.5]]), True),
    }
    assert {name: found.interval.approximate for name, (found, _) in cases.items()} == {
        name: expected for name, (_, expected) in cases.items()
    }
