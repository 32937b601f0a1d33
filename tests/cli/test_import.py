"""`calipers import`: runs that were made elsewhere."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "samples"
PYDANTIC, INSPECT = str(DATA / "pydantic_evals_report.json"), str(DATA / "inspect_log.eval")


def test_runs_of_others_are_kept_and_shown(calipers):
    done = calipers("import", PYDANTIC, INSPECT)
    assert done.exit_code == 0
    first, second = done.stdout.splitlines()
    assert (
        "report of pydantic_evals 'cities v1' with 3 attempts, kept in .calipers/runs.db as run 0000" in first
    )
    assert "log of Inspect AI 'sums' with 4 attempts" in second
    assert "events other than requests" in done.stderr
    assert "Passed 1 of 3 cases" in calipers("show", "cities v1").stdout
    assert "sums" in calipers("runs").stdout


def test_a_second_import_changes_nothing(calipers):
    calipers("import", PYDANTIC)
    done = calipers("import", PYDANTIC)
    assert (done.exit_code, "it is kept already as run" in done.stdout) == (0, True)
    assert calipers("runs").stdout.count("cities v1") == 1


def test_a_run_goes_from_one_store_to_another(write_eval, calipers):
    write_eval("def eval_numbers():\n    return numbers(1, -1, 'boom'), task\n")
    calipers("run", "--quiet")
    calipers("export", "latest", "--to", "jsonl:run.jsonl")
    done = calipers("import", "run.jsonl", "--store", "other.db")
    assert "exported run 'task' with 3 attempts, kept in other.db" in done.stdout
    here, there = calipers("show", "latest"), calipers("show", "latest", "--store", "other.db")
    assert here.stdout == there.stdout


def test_traces_are_called_as_you_say_and_other_runs_keep_their_name(calipers):
    done = calipers("import", str(DATA / "agent_spans.json"), "--name", "week 31")
    assert (done.exit_code, "traces 'week 31' with 1 attempt" in done.stdout) == (0, True)
    done = calipers("import", PYDANTIC, "--name", "week 31")
    assert (done.exit_code, "'cities v1'" in done.stdout) == (0, True)
    assert "--name week 31 is not used: it is for traces" in done.stderr
    assert calipers("runs").stdout.count("week 31") == 1


def test_a_file_that_cannot_be_read_does_not_keep_the_others_out(calipers, write):
    write("notes.txt", "no run\n")
    done = calipers("import", "notes.txt", PYDANTIC)
    assert done.exit_code == 3
    assert "Error: notes.txt: 'notes.txt' holds no run" in done.stderr
    assert "cities v1" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "Missing argument 'FILE...'"),
        (["nothing.json"], 2, "file not found: nothing.json"),
        ([PYDANTIC, "nothing.json"], 2, "file not found: nothing.json"),
        ([PYDANTIC, "--store", "."], 3, "'.'"),
    ],
    ids=["nothing", "missing", "one missing", "no store"],
)
def test_what_is_wrong_is_told_before_anything_is_kept(calipers, folder, words, code, says):
    done = calipers("import", *words)
    assert (done.exit_code, says in done.stderr) == (code, True), done.stderr
    assert not (folder / ".calipers").exists()
