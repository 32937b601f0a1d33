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
    assert f"Not copied: {running.id} is being written: copy it when it has ended" in done.output
    assert "other content: --replace copies it again" in done.output
    assert (
        calipers("store", "copy", ".calipers/runs.db", "there.db", "--run", "now", "--name", "x").exit_code
        == 2
    )
    assert calipers("store", "copy", "nowhere.db", "there.db").exit_code == 2
    assert calipers("store", "copy", ".calipers/runs.db", "there.db", "--run", "no-such").exit_code == 2
    assert calipers("store", "copy", ".calipers/runs.db", ".calipers/runs.db").exit_code == 3


def test_old_values_are_moved_told_shown_and_brought_back(calipers, write_eval, folder, monkeypatch):
    write_eval(
        "import os, random\n"
        "def long(n):\n    return ''.join(random.Random(n + int(os.environ['MORE'])).choices('abcdefghijklmnop', k=9000))\n"
        "def eval_it():\n    return numbers(1, 2), long\n"
    )
    for name, more in (("first", "0"), ("second", "10")):
        monkeypatch.setenv("MORE", more)
        calipers("run", "--quiet", "--name", name)
    shown = calipers("show", "latest", "--case", "number 1").stdout
    done = calipers("store", "offload", "--to", "values", "--min-size", "1kB")
    assert done.exit_code == 0, done.output
    assert "Moved 4 large values" in done.stderr
    places = calipers("store", "offload").stdout
    assert places.startswith("4 large values")
    assert places.strip().endswith(f"file://{folder}/values")
    assert calipers("show", "latest", "--case", "number 1").stdout == shown
    (folder / "values").rename(folder / "gone")
    done = calipers("show", "latest", "--case", "number 1")
    assert done.exit_code == 0, done.output
    assert "not readable now" in done.stdout
    assert calipers("compare", "first", "second").exit_code == 0
    assert calipers("export", "latest", "--to", "csv:out.csv").exit_code == 0
    assert "not readable now" in (folder / "out.csv").read_text()
    done = calipers("store", "offload", "--back")
    assert done.exit_code == 3
    assert "could not be brought back" in done.stderr
    (folder / "gone").rename(folder / "values")
    done = calipers("store", "offload", "--back")
    assert "Brought 4 large values" in done.stderr
    assert [path for path in (folder / "values").rglob("*") if path.is_file()] == []
    assert "All large values are in" in calipers("store", "offload").stderr
    assert calipers("show", "latest", "--case", "number 1").stdout == shown


def test_an_offload_that_makes_no_sense_is_refused(calipers, write_eval, kept):
    write_eval("def eval_it():\n    return numbers(1), task\n")
    calipers("run", "--quiet")
    for options, said in [
        (("--back", "--to", "values"), "give no other option"),
        (("--min-size", "1kB"), "--to needs a place"),
        (("--to", "values", "--older-than", "old"), "--older-than must be a number and a unit"),
        (("--to", "s3://key:s3cret@bucket"), "neither a password nor options"),
    ]:
        done = calipers("store", "offload", *options)
        assert done.exit_code == 2, options
        assert said in " ".join(done.output.split())
        assert "s3cret" not in done.output
    assert "nothing to move out of" in calipers("store", "offload", "--to", "values").stderr
