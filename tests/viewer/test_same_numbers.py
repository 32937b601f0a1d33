"""Every number of a page is what the command line prints for the same run, of a run of every kind.

The command line reads the attempts of a run one by one; the viewer counts in columns that it made of them, and in what the store has counted.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli.app import app
from calipers.exchange.attempt_source import Asked, KeptRun
from calipers.report.attempt_filter import field_text, parse_filter
from calipers.stats.number_text import rate_text
from calipers.stores import SqliteStore
from calipers.viewer.case_tables import cases_answer, selecting, slices_answer
from calipers.viewer.run_answer import run_answer
from calipers.viewer.run_list import runs_answer
from calipers.viewer.trend import trend_answer
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import RunAnswer

from .conftest import in_thread, sorter, support_desk, until
from .gallery import keep_gallery

RUNS = ("agent", "voice", "rollouts", "faults", "charts", "odd", "desk", "clustered")
FILTERS = (
    "status:(failed OR errored)",
    "-status:passed",
    "is:flaky",
    "is:labelled",
    "has:sound",
    "tool:refund -meta.shop:de",
    "tag:long duration>0s",
    "meta.tags:refund",
    "score.politeness>=0.5 rep:2",
    'label.route:refund "late"',
    "error:TimeoutError",
    "output:~delivered",
    "case:order* meta.shop:fr",
    "cost>0.0001",
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with a run of every kind, and their ids."""
    folder = tmp_path_factory.mktemp("same")

    def fill() -> dict[str, str]:
        with SqliteStore(folder / "runs.db") as store:
            found = keep_gallery(store, folder)
            desk = support_desk()
            for name, clusters in (("desk", 0), ("clustered", 20)):
                for place, case in enumerate(desk.cases):
                    case.cluster = f"customer {place % clusters}" if clusters else None
                report = desk.evaluate_sync(
                    sorter(0.7, unsteady=True), store=store, name=name, repeat=2, seed=1, progress=False
                )
                assert report.reuse is not None
                found[name] = report.reuse.run
        return found

    runs: dict[str, str] = in_thread(fill)
    return folder / "runs.db", runs


@pytest.fixture(scope="module")
def viewed(kept: tuple[Path, dict[str, str]]) -> Iterator[ViewedStore]:
    found = ViewedStore(kept[0])
    yield found
    found.close()


def calipers(path: Path, *words: str) -> str:
    """What a command line writes to standard output."""
    done = CliRunner().invoke(app, [*words, "--store", str(path)], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    return done.stdout


def words(text: str) -> str:
    return " ".join(text.split())


def lines_of(found: RunAnswer) -> Iterator[str]:
    """All that a run page says, line by line or cell by cell."""
    if found.headline is not None:
        yield from (found.headline.what, found.headline.text, found.headline.how)
        for name, value, _ in found.headline.readings:
            yield f"{name} {value}"
    for table in (found.evaluators, found.tags):
        for row in () if table is None else table.rows:
            yield from (cell.text for cell in row)
    for line in (found.no_headline or [], *found.alerts, *found.notes):
        yield "".join(part.text for part in line)
    yield from found.facts
    for head, facts in found.measures:
        yield head
        yield from ("".join(part.text for part in line) for line in facts)
    yield from (chart.title for chart in found.charts)


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_page_says_what_calipers_show_prints(
    kept: tuple[Path, dict[str, str]], viewed: ViewedStore, kind: str
) -> None:
    path, runs = kept
    run = runs[kind]
    until(lambda: viewed.index(run).state.state, lambda state: state == "ready")
    printed = words(calipers(path, "show", run, "--include-cases", "none"))
    found = until(lambda: run_answer(viewed, run), lambda answer: answer.index.state == "ready")
    assert [line for line in lines_of(found) if words(line) not in printed] == []


def test_the_list_of_runs_and_the_trend_have_the_numbers_of_calipers_runs(
    kept: tuple[Path, dict[str, str]], viewed: ViewedStore
) -> None:
    path, _ = kept
    printed: list[dict[str, Any]] = json.loads(calipers(path, "runs", "--json", "--limit", "0"))
    rows = until(lambda: runs_answer(viewed).rows, lambda rows: all(row.cases is not None for row in rows))
    assert [row.id for row in rows] == [run["id"] for run in printed]
    for row, run in zip(rows, printed, strict=True):
        rate = None if row.rate is None else row.rate
        assert (row.cases, row.attempts, row.failures) == (run["cases"], run["attempts"], run["failures"])
        assert (rate is None) == (run["pass_rate"] is None)
        if rate is not None and rate.interval is not None:
            told = run["pass_rate"]
            assert (rate.value, rate.n_units) == (told["value"], told["n_units"])
            assert (rate.interval.low, rate.interval.high) == (
                told["interval"]["low"],
                told["interval"]["high"],
            )
    points = {
        point.run: point.estimate
        for dataset in runs_answer(viewed).datasets
        for point in trend_answer(viewed, dataset=dataset).points
    }
    assert points == {row.id: row.rate for row in rows}


@pytest.mark.parametrize("kind", ["desk", "clustered", "agent", "charts", "faults"])
def test_slices_have_the_numbers_that_slice_by_prints(
    kept: tuple[Path, dict[str, str]], viewed: ViewedStore, kind: str
) -> None:
    path, runs = kept
    run = runs[kind]
    until(lambda: viewed.index(run).state.state, lambda state: state == "ready")
    field = "shop" if kind in {"agent", "faults"} else "lang"
    printed = calipers(path, "show", run, "--include-cases", "none", "--slice-by", field)
    for slices, prefix in (
        (slices_answer(viewed, run, by=field_text("meta", field)), f"{field}="),
        (slices_answer(viewed, run, by="tag"), ""),
    ):
        for each in slices.slices:
            if each.is_missing:
                continue
            assert each.estimate is not None
            value, ends = rate_text(each.estimate.value, each.estimate.interval)
            line = next(line for line in printed.splitlines() if line.startswith(f"{prefix}{each.value} "))
            assert words(line).split()[1:3] == words(value).split()
            assert ends in line
            assert line.split()[-1] == str(each.cases)


@pytest.mark.parametrize("q", FILTERS)
def test_a_filter_finds_in_a_page_what_the_command_line_finds_one_by_one(
    kept: tuple[Path, dict[str, str]], viewed: ViewedStore, q: str
) -> None:
    path, runs = kept
    found_any = False
    with SqliteStore(path) as store:
        for run in runs.values():
            until(lambda run=run: viewed.index(run).state.state, lambda state: state == "ready")
            met = dict(Asked(KeptRun(store, store.run(run)), parse_filter(q)).attempts())
            with selecting(viewed, run, q) as selection:
                assert sorted(selection.index.positions[selection.attempts].tolist()) == [*met]
            shown = {row.name for row in cases_answer(viewed, run, q=q, limit=200).rows}
            assert shown == {record.source_case_name or record.name for record in met.values()}
            found_any |= bool(met)
    assert found_any, "a filter that finds nothing tests nothing"
