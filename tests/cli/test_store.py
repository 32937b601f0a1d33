"""`calipers store copy`: what becomes of each run, and the exit codes."""

import json

from calipers.stores import RunInfo, SqliteStore


def test_runs_are_copied_once_and_told(calipers, write_eval, folder, kept):
    write_eval("def eval_it():\n    return numbers(1, 2), task\n")
    for name in ("one", "two"):
        calipers("run", "--quiet", "--name", name)
    done = calipers("store", "copy", ".calipers/runs.db", "there.db", "--name", "one")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    assert line.startswith(kept.run("one").id)
    assert "2 attempts, checksum" in line
    told = json.loads(calipers("store", "copy", ".calipers/runs.db", "there.db", "--json").stdout)
    assert [(run["name"], run["became"]) for run in told] == [("one", "there"), ("two", "copied")]
    with SqliteStore("there.db") as there:
        assert [info.id for info in there.runs()] == [info.id for info in kept.runs()]


def test_what_is_left_out_is_an_error_with_the_way_out(calipers, write_eval, kept):
    write_eval("def eval_it():\n    return numbers(1, 2), task\n")
    calipers("run", "--quiet")
    calipers("store", "copy", ".calipers/runs.db", "there.db")
    running = kept.begin_run(RunInfo(name="now"))
    calipers("score", kept.runs()[1].id, "--evaluators", "Contains: x", "--quiet", "--store", "there.db")
    done = calipers("store", "copy", ".calipers/runs.db", "there.db")
    assert done.exit_code == 3
    assert f"Not copied: {running.id} is being written: copy it when it is over" in done.output
    assert "says something else: --replace copies it again" in done.output
    assert (
        calipers("store", "copy", ".calipers/runs.db", "there.db", "--run", "now", "--name", "x").exit_code
        == 2
    )
    assert calipers("store", "copy", "nowhere.db", "there.db").exit_code == 2
    assert calipers("store", "copy", ".calipers/runs.db", "there.db", "--run", "no-such").exit_code == 2
    assert calipers("store", "copy", ".calipers/runs.db", ".calipers/runs.db").exit_code == 3
