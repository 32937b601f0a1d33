import json
import os
import subprocess
import sys

import pytest

from calipers import Case, Dataset
from calipers.stores import RunInfo, open_store


def evaluated(store, *inputs, name=None, dataset="numbers", **options):
    """A run of which those attempts pass whose inputs are above 0."""
    cases = [Case(name=f"number {each}", inputs=each) for each in inputs]
    judged = Dataset(name=dataset, cases=cases, evaluators=[positive])
    return judged.evaluate_sync(same, name=name, store=store, progress=False, **options).reuse.run


def same(inputs):
    return inputs


def positive(output):
    return output > 0


def test_a_session_whose_tests_repeat_their_cases_differently_is_listed_by_its_attempts(calipers, kept):
    judged = Dataset(cases=[Case(name=name, inputs=1) for name in ("a", "b")], evaluators=[positive])
    report = judged.evaluate_sync(same, repeat=3, progress=False)
    once = Dataset(cases=[Case(name="c", inputs=1)], evaluators=[positive]).evaluate_sync(
        same, progress=False
    )
    report.cases += once.cases
    kept.add_report(report)
    assert "3, 7 attempts" in calipers("runs", env={"COLUMNS": "160"}).stdout


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        (["rate<0.6"], ["first"]),
        (["name:s* attempts>4"], ["second"]),
        (["dataset:numbers", "-repeat>1"], ["first"]),
        (["rate>2"], []),
    ],
)
def test_a_filter_of_the_viewer_finds_runs(calipers, kept, terms, names):
    evaluated(kept, 1, -1, name="first")
    evaluated(kept, 1, 2, name="second", repeat=3)
    done = calipers("runs", "--json", *(word for each in terms for word in ("--filter", each)))
    assert [run["name"] for run in json.loads(done.stdout)] == names


def test_an_unknown_term_is_refused_with_the_nearest(calipers, kept):
    done = calipers("runs", "--filter", "datset:numbers")
    assert (done.exit_code, "did you mean 'dataset'?" in done.stderr) == (2, True)


def test_runs_are_listed_with_what_became_of_them_newest_first(calipers, kept):
    evaluated(kept, 1, -1, name="first")
    evaluated(kept, 1, 2, name="second", repeat=3)
    done = calipers("runs", env={"COLUMNS": "120"})
    assert done.exit_code == 0
    header, newest, oldest = done.stdout.splitlines()
    assert header.split()[:6] == ["Run", "Begun", "Name", "Dataset", "State", "Cases"]
    assert newest.split()[3:] == [
        "second",
        "numbers",
        "finished",
        "2",
        "x",
        "3",
        "100.0",
        "%",
        "[34.2,",
        "100.0]",
    ]
    assert oldest.split()[3:9] == ["first", "numbers", "finished", "2", "50.0", "%"]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE evaluators SET body = '{' WHERE run = 1",
        "UPDATE attempts SET cells = '{' WHERE run = 1",
        "UPDATE runs SET info = '' WHERE no = 1",
    ],
    ids=["evaluator", "cells", "info"],
)
def test_a_damaged_run_is_listed_as_such_beside_the_others(calipers, kept, damage):
    first = evaluated(kept, 1, name="first")
    evaluated(kept, 1, name="second")
    with kept._writing() as db:
        db.run(damage)
    done = calipers("runs", env={"COLUMNS": "150"})
    assert done.exit_code == 0
    _, newest, oldest = done.stdout.splitlines()
    assert "finished" in newest
    assert ("first" in oldest, "damaged" in oldest) == (True, True)
    assert f"run '{first}'" in " ".join(done.stderr.split())
    told = json.loads(calipers("runs", "--json").stdout)
    assert [(run["status"], run["cases"]) for run in told] == [("finished", 1), ("damaged", None)]


def test_the_id_that_is_shown_names_the_run(calipers, kept):
    run = evaluated(kept, 1)
    shown = calipers("runs").stdout.splitlines()[1].split()[0]
    assert run.startswith(shown)
    assert calipers("show", shown).exit_code == 0


def test_ids_that_differ_only_in_their_random_end_are_shown_whole():
    from calipers.cli.actions.runs import _short_ids

    assert _short_ids(
        [
            "20260101-000000001-aaaaaa",
            "20260101-000000001-bbbbbb",
            "20260101-000000002-cccccc",
            "20260101-000001002-cccccc",
            "x",
        ]
    ) == {
        "20260101-000001002-cccccc": "20260101-000001",
        "20260101-000000001-aaaaaa": "20260101-000000001-aaaaaa",
        "20260101-000000001-bbbbbb": "20260101-000000001-bbbbbb",
        "20260101-000000002-cccccc": "20260101-000000002",
        "x": "x",
    }


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_the_table_is_as_narrow_as_the_terminal_and_keeps_the_id(calipers, kept, columns):
    run = evaluated(kept, 1, name="a name that is rather long " * 10, dataset="漢字" * 50)
    lines = calipers("runs", env={"COLUMNS": str(columns)}).stdout.splitlines()
    from rich.cells import cell_len

    assert all(cell_len(line) <= columns for line in lines)
    assert lines[1].startswith(run[:15])


def test_ids_are_shortened_before_names(calipers, kept):
    for name in ("support-old", "support-new"):
        evaluated(kept, *range(-20, 20), name=name, dataset="support", repeat=5)
    lines = calipers("runs", env={"COLUMNS": "80"}).stdout.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["support-new", "support-old"]
    assert lines[0].split()[:6] == ["Run", "Name", "Dataset", "State", "Cases", "Passed"]


def test_a_short_id_names_one_run_of_the_store_also_where_others_are_not_listed(calipers, kept):
    runs = [evaluated(kept, 1, name=name) for name in ("one", "two")]
    shown = [calipers("runs", "--name", name).stdout.splitlines()[1].split()[0] for name in ("one", "two")]
    assert [kept.run(each).id for each in shown] == runs


def test_names_cannot_change_how_they_are_shown(calipers, kept):
    evaluated(kept, 1, name="\x1b[31mred\n::error::[bold]")
    done = calipers("runs", env={"COLUMNS": "200"})
    assert "\\x1b[31mred" in done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_a_run_without_a_process_is_abandoned_and_one_with_a_process_runs(calipers, kept):
    begun = kept.begin_run(RunInfo(name="mine", total=4))
    assert calipers("runs", "--status", "running").stdout.splitlines()[1].split()[1:4] == [
        "mine",
        "running",
        "0/4",
    ]
    gone = kept.begin_run(RunInfo(name="gone", total=4))
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()  # no process has its number now
    with kept._writing() as db:
        db.run(
            "UPDATE runs SET owner = replace(owner, ?, ?) WHERE id = ?",
            (str(os.getpid()), str(child.pid), gone.id),
        )
    assert calipers("runs", "--status", "abandoned").stdout.splitlines()[1].split()[1:3] == [
        "gone",
        "abandoned",
    ]
    assert "gone" not in calipers("runs", "--status", "running").stdout
    kept.finish_run(begun.id, status="failed")
    assert "mine" in calipers("runs", "--status", "failed").stdout


def test_filters_and_the_limit_narrow_the_list_down(calipers, kept):
    for name in ("a", "b", "a"):
        evaluated(kept, 1, name=name, dataset=f"of {name}")

    def names(*args):
        return [run["name"] for run in json.loads(calipers("runs", "--json", *args).stdout)]

    assert names() == ["a", "b", "a"]
    assert names("--name", "b") == ["b"]
    assert names("--dataset", "of a") == ["a", "a"]
    assert names("--limit", "2") == ["a", "b"]
    assert names("--limit", "0") == ["a", "b", "a"]
    assert "and 1 older ones: --limit 0 lists all" in calipers("runs", "--limit", "2").stderr


def test_json_has_the_numbers_and_the_state(calipers, kept):
    run = evaluated(kept, 1, -1, 2)
    (told,) = json.loads(calipers("runs", "--json").stdout)
    assert (told["id"], told["status"], told["cases"], told["passed"]) == (run, "finished", 3, 2)
    assert told["evaluators"] == ["positive"]
    assert told["pass_rate"]["interval"]["confidence"] == 0.95


def test_a_store_without_runs_is_told_from_no_store(calipers, folder):
    done = calipers("runs")
    assert done.exit_code == 2
    assert "there is no store '.calipers/runs.db' in this folder: `calipers run` makes one" in done.stderr
    assert list(folder.iterdir()) == []
    done = calipers("runs", "--store", "typo.db")
    assert (done.exit_code, "there is no store 'typo.db'" in done.stderr) == (2, True)
    done = calipers("runs", env={"CALIPERS_STORE": "typo.db"})
    assert (done.exit_code, done.stderr) == (
        2,
        "Error: there is no store 'typo.db' (CALIPERS_STORE names it)\n",
    )
    assert list(folder.iterdir()) == []
    open_store("empty.db").close()
    done = calipers("runs", "--store", "empty.db")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "The store 'empty.db' has no runs\n"
    assert calipers("runs", "--store", "empty.db", "--json").stdout == "[]\n"
    assert calipers("runs", "--store", "empty.db", "--name", "x").stderr.endswith(
        "has no runs of that kind\n"
    )


@pytest.mark.parametrize("args", [["--status", "lost"], ["--limit", "-1"], ["--limit", "many"]])
def test_what_makes_no_sense_is_wrong_usage(calipers, kept, args):
    assert calipers("runs", *args).exit_code == 2


def test_a_narrow_screen_names_the_datasets_of_runs_before_it_shows_intervals(calipers, kept):
    run = kept.begin_run(RunInfo(name="a model", dataset_name="simple-questions", repeat=5, total=6500))
    kept.finish_run(run.id, status="interrupted")
    evaluated(kept, *range(-10, 90), name="gpt-oss-120b", dataset="simple-questions", repeat=5)
    for status in ("interrupted", "finished"):
        header, row = calipers("runs", "--status", status, env={"COLUMNS": "80"}).stdout.splitlines()
        assert header.split()[:6] == ["Run", "Name", "Dataset", "State", "Cases", "Passed"]
        assert "simple-q" in row
