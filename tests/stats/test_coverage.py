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
