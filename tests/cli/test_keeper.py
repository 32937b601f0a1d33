"""`calipers run` keeps its runs, goes on with them, and takes over what still holds."""

import json
import shlex
import subprocess
import sys

import pytest

from calipers.stores import open_store

COUNTED = """
    import os
    from contextlib import suppress
    from pathlib import Path

    def counted(inputs):
        with Path("calls.txt").open("a") as log:
            log.write(f"{inputs}\\n")
        with suppress(FileNotFoundError):  # not by exists(), since a task that looks at files has no identity
            if inputs == "broken":
                os.utime("down")
                raise OSError("the service is down")
        return 1

    def eval_counted():
        return numbers("a", "b", "broken"), counted
"""
TWO = """
    def eval_first():
        return numbers(1), task

    def eval_second():
        return numbers(2), task
"""


@pytest.fixture
def runs(folder):
    def runs(url=".calipers/runs.db"):
        with open_store(folder / url, existing=True) as store:
            return store.runs()

    return runs


def calls(folder):
    return (folder / "calls.txt").read_text().split()


def test_a_run_is_kept_out_of_sight_of_git_and_told_how_to_see_again(calipers, write_eval, folder, runs):
    write_eval(COUNTED)
    done = calipers("run")
    (run,) = runs()
    assert (run.name, run.dataset_name, run.status, run.attempts) == ("counted", "numbers", "finished", 3)
    assert (
        done.stderr == f"Kept in .calipers/runs.db: calipers show {run.id}, or calipers view --run {run.id}\n"
    )
    assert (folder / ".calipers" / ".gitignore").read_text() == "*\n"
    assert calipers("show", run.id).stdout == done.stdout


def test_the_store_is_where_the_option_says_else_the_variable(calipers, write_eval, folder, runs):
    write_eval(COUNTED)
    told = calipers("run", "--store", "here.db", env={"CALIPERS_STORE": "there.db"}).stderr
    run = runs("here.db")[0].id
    assert told.endswith(f"calipers show {run} --store here.db, or calipers view here.db --run {run}\n")
    assert calipers("run", env={"CALIPERS_STORE": "sqlite:///there.db"}).stderr.startswith(
        "Kept in there.db:"
    )
    assert len(runs("there.db")) == 1
    assert calipers("run", "--no-store", env={"CALIPERS_STORE": "there.db"}).stderr == ""
    assert len(runs("there.db")) == 1
    assert not (folder / ".calipers").exists()
    assert not (folder / ".gitignore").exists(), "only the folder that is ours is hidden"


def test_a_gitignore_that_is_there_is_left_alone(calipers, write_eval, write):
    mine = write(".calipers/.gitignore", "runs.db\n")
    write_eval(COUNTED)
    calipers("run")
    assert mine.read_text() == "runs.db\n"


def test_a_quiet_run_is_kept_without_a_word_and_json_names_it(calipers, write_eval, runs):
    write_eval(COUNTED)
    assert calipers("run", "-q").stderr == ""
    kept = json.loads(calipers("run", "--json", "--reuse").stdout)["evaluations"][0]["kept"]
    assert kept["run"] == runs()[0].id
    assert (kept["store"], kept["attempts_reused"], kept["cells_computed"]) == (".calipers/runs.db", 3, 0)
    assert json.loads(calipers("run", "--json", "--no-store").stdout)["evaluations"][0]["kept"] is None


def test_what_a_resumed_run_lacks_is_said_to_those_who_want_quiet_too(calipers, write_eval, folder, runs):
    write_eval(COUNTED)
    calipers("run", "-q")
    calipers("score", "latest", "--evaluators", "MaxDuration: 60", "-q")
    with open_store(folder / ".calipers/runs.db") as store:
        store.remove_attempts(runs()[0].id, [2])
    done = calipers("run", "--resume", "latest", "-q")
    assert (done.exit_code, "--resume" in done.stderr) == (3, False), (
        "what it lacks is not had by resuming it"
    )
    assert done.stderr.startswith(
        "Error: not all is judged: evaluator MaxDuration has judged 2 of 3 attempts; score the run with it again\n"
    )
    assert calipers("score", "latest", "--evaluators", "MaxDuration: 60", "-q").stderr == ""
    assert calipers("run", "--resume", "latest", "-q").stderr == ""


def test_what_is_stored_is_not_done_again_when_a_run_is_resumed(calipers, write_eval, folder, runs):
    write_eval(COUNTED)
    calipers("run", "--repeat", "2", "--seed", "7")
    with open_store(folder / ".calipers/runs.db") as store:
        store.remove_attempts(runs()[0].id, [1, 2])
        store.finish_run(runs()[0].id, status="interrupted")
    before = len(calls(folder))
    done = calipers("run", "--resume")
    assert len(calls(folder)) == before + 2, "and the repeats are those of the run"
    assert done.stderr.startswith("Not done again: 4 of 6 attempts and 8 of 12 judgements\nKept in")
    assert "seed 7" in done.stdout
    assert [(run.status, run.attempts) for run in runs()] == [("finished", 6)]


def test_without_an_unfinished_run_a_new_one_begins_and_says_so(calipers, write_eval, runs):
    write_eval(COUNTED)
    calipers("run", "-q")
    assert calipers("run", "--resume").stderr.startswith("There was no unfinished run to go on with")
    assert len(runs()) == 2


@pytest.mark.parametrize(
    ("names", "resumed"),
    [((), "first"), (("--name", "first"), "first"), (("--name", "other"), None)],
    ids=["any", "that one", "another"],
)
def test_an_unfinished_run_is_found_whatever_it_is_called_or_told_of(
    calipers, write_eval, folder, runs, names, resumed
):
    write_eval(COUNTED)
    calipers("run", "-q", "--name", "first")
    (begun,) = runs()
    with open_store(folder / ".calipers/runs.db") as store:
        store.remove_attempts(begun.id, [2])
        store.finish_run(begun.id, status="interrupted")
    done = calipers("run", "--resume", *names)
    if resumed:
        assert done.stderr.startswith("Not done again: 2 of 3 attempts")
        assert [(run.id, run.attempts) for run in runs()] == [(begun.id, 3)]
    else:
        assert (
            f"no unfinished run called 'other': this is a new one. Unfinished under other names: 'first' (--resume {begun.id})"
            in done.stderr
        )
        assert len(runs()) == 2


def test_a_finished_run_can_be_resumed_by_name_and_failures_only_if_asked(
    calipers, write_eval, write, folder
):
    write_eval(COUNTED)
    down = write("down", "")
    assert calipers("run", "-q").exit_code == 3
    down.unlink()
    assert calipers("run", "--resume", "latest").exit_code == 3, "a failure is an outcome"
    assert len(calls(folder)) == 3
    done = calipers("run", "--resume", "counted", "--rerun-failed")
    assert done.exit_code == 0
    assert calls(folder)[3:] == ["broken"]


def test_only_what_changed_is_computed_with_reuse(calipers, write_eval, folder):
    path = write_eval(COUNTED)
    calipers("run", "-q")
    path.write_text(path.read_text().replace("return output > 0", "return output >= 0"))
    del_modules("eval_numbers")
    done = calipers("run", "--reuse")
    assert done.stderr.startswith("Not done again: 3 of 3 attempts and 3 of 6 judgements")
    assert len(calls(folder)) == 3


def del_modules(*names):
    for name in names:
        sys.modules.pop(name, None)


def test_a_changed_task_is_not_resumed_and_the_difference_is_told_in_options(calipers, write_eval):
    path = write_eval(COUNTED)
    calipers("run", "-q")
    path.write_text(path.read_text().replace("return 1", "return 2.5"))
    del_modules("eval_numbers")
    done = calipers("run", "--resume", "latest")
    assert done.exit_code == 3
    assert "cannot be resumed, since this is another run: the task changed" in done.stderr
    assert "--reuse in place of --resume" in done.stderr
    assert "reuse=True" not in done.stderr


def test_a_part_of_a_run_is_not_taken_for_the_run(calipers, write_eval, runs):
    write_eval(COUNTED)
    calipers("run", "-q")
    done = calipers("run", "--resume", "latest", "--limit", "1")
    assert done.exit_code == 3
    assert "is of 3 attempts, and this would make it one of 1" in done.stderr
    assert runs()[0].attempts == 3


def test_a_run_that_began_as_a_part_is_not_made_the_whole(calipers, write_eval, runs):
    write_eval(COUNTED)
    calipers("run", "-q", "--limit", "2")
    done = calipers("run", "--resume", "latest")
    assert done.exit_code == 3
    assert "is of 2 attempts, and this would make it one of 3: give the --filter" in done.stderr
    assert calipers("run", "--resume", "latest", "--limit", "2").exit_code == 0
    assert [(run.attempts, run.total) for run in runs()] == [(2, 2)]


TAGGED = """
    def tagged():
        for n in (1, 2, 3, 4):
            word = "lo" if n < 3 else "hi"
            yield Case(name=f"{word} {n}", inputs=n, tags=[word])

    def eval_listed():
        return Dataset(name="numbers", cases=list(tagged()), evaluators=[positive]), task

    def eval_lazy():
        return Dataset(name="lazy", cases=tagged(), evaluators=[positive]), task
"""


@pytest.mark.parametrize("kind", ["listed", "lazy"])
@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        (
            ["--tag", "lo"],
            ["--tag", "hi"],
            "was begun with --tag lo, and this is with --tag hi: give the same",
        ),
        (
            ["--filter", "l*"],
            ["--filter", "h*"],
            "was begun with --filter 'l*', and this is with --filter 'h*'",
        ),
        (["--tag", "lo", "--tag", "hi"], ["--limit", "4"], "and this is with --limit 4"),
    ],
    ids=["tag", "filter", "limit"],
)
def test_other_cases_do_not_take_the_places_of_those_that_a_run_has(
    calipers, write_eval, runs, kind, first, then, said
):
    write_eval(TAGGED)
    args = ["run", f"eval_numbers.py:eval_{kind}", "-q"]
    calipers(*args, *first)
    (before,) = runs()
    done = calipers(*args, *then, "--resume", "latest")
    assert done.exit_code == 3
    assert said in done.stderr
    assert (runs()[0].attempts, runs()[0].status) == (before.attempts, "finished")


def test_the_same_cases_in_other_words_are_those_of_the_run(calipers, write_eval, runs):
    write_eval(TAGGED)
    args = ["run", "eval_numbers.py:eval_listed", "-q", "--redact", "hooks.py:hide"]
    write_eval("from calipers.stores import hide_matches\nhide = hide_matches('lo')", "hooks.py")
    calipers(*args, "--tag", "hi", "--tag", "lo", "--limit", "9")
    assert runs()[0].parameters["selection"] == {"tag": ["hi", "[redacted]"], "limit": 9}
    done = calipers(*args, "--tag", "lo", "--tag", "hi", "--tag", "lo", "--resume", "latest")
    assert (done.exit_code, done.stderr) == (0, "")
    assert calipers(*args, "--resume", "latest").exit_code == 3


STOPPED = """
    import signal
    from pathlib import Path

    def stopped(inputs):
        if inputs == 2 and not Path("stopped").exists():
            Path("stopped").touch()
            signal.raise_signal(signal.SIGINT)
        return 1

    async def gently(inputs):
        return stopped(inputs)

    def eval_gently():
        return numbers(1, 2, 3), gently

    def eval_later():
        return numbers(1), gently
    """


def test_an_interrupted_run_tells_the_command_that_goes_on_with_it(calipers, write_eval, runs):
    write_eval(STOPPED)
    done = calipers("run", ".", "--name", "my run", "--max-concurrency", "1")
    assert done.exit_code == 130
    (run,) = runs()
    command = (
        f"calipers run eval_numbers.py:eval_gently --name 'my run' --max-concurrency 1 --resume {run.id}"
    )
    assert f"Go on with it: {command}\n" in done.stderr
    assert calipers(*shlex.split(command)[1:]).exit_code == 0
    assert [(run.status, run.attempts) for run in runs()] == [("finished", 3)]


def test_the_command_that_goes_on_has_no_password_in_it(calipers, write_eval, runs):
    write_eval(STOPPED)
    name = "http://me:secret@there/model"
    done = calipers("run", "eval_numbers.py:eval_gently", "--name", name, "--max-concurrency", "1")
    assert f"--name http://me@there/model --max-concurrency 1 --resume {runs()[0].id}\n" in done.stderr
    assert "secret" not in done.stderr


def test_a_report_that_came_finished_is_kept_too(calipers, write_eval, runs):
    write_eval("def eval_it():\n    return numbers(1, 2).evaluate_sync(task, progress=False)\n")
    done = calipers("run")
    assert f"calipers show {runs()[0].id}" in done.stderr
    assert runs()[0].attempts == 2


def test_a_finished_report_that_is_not_whole_is_shown_and_not_kept(calipers, write_eval, runs):
    write_eval(
        "def eval_it():\n    return numbers(1, 2).evaluate_sync(task, keep='failed', progress=False)\n"
    )
    done = calipers("run")
    assert done.exit_code == 0
    assert "eval_numbers.py:eval_it is not kept: the report holds 0 of its 2 attempts" in done.stderr
    assert runs() == []


def test_evaluations_of_which_nothing_is_selected_leave_no_run(calipers, write_eval, runs):
    write_eval(TWO)
    calipers("run", "--filter", "number 2")
    assert [run.attempts for run in runs()] == [1]


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--no-store", "--reuse"], 2, "--reuse needs a store: remove --no-store"),
        (["--no-store", "--resume"], 2, "--resume needs a store: remove --no-store"),
        (["--no-store", "--store", "x"], 2, "--store and --no-store exclude each other"),
        (["--rerun-failed"], 2, "--rerun-failed needs --resume"),
        (["--resume", "latets"], 2, "has no run 'latets'; did you mean 'latest'?"),
        (["--resume", "eval_numbers.py"], 2, "Put --resume after the file to run"),
        (["--resume", "latest"], 2, "there are 2 evaluations: name one of them, such as "),
        (["--store", "folder"], 3, "'folder' is a folder: name a file in it"),
        (["--store", "eval_numbers.py"], 3, "is not a store, but a file of another kind"),
        (["--store", ""], 3, "a store is named by"),
        (["--store", "mysql://me:secret@there/db"], 3, "--no-store keeps none"),
        (
            ["--out", "json:.calipers/{name}.db", "--store", ".calipers/second.db"],
            2,
            "would overwrite a file",
        ),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(calipers, write_eval, folder, args, code, told):
    write_eval(TWO)
    calipers("run", "-q")
    (folder / "folder").mkdir()
    done = calipers("run", *args)
    assert (done.exit_code, done.stdout) == (code, ""), done.stderr
    assert told in done.stderr
    assert "secret" not in done.stderr


def test_a_store_that_breaks_during_the_run_costs_nothing_that_was_finished(calipers, write_eval, folder):
    write_eval(
        """
    import sqlite3
    from contextlib import closing

    def breaking(inputs):
        if inputs == 2:
            with closing(sqlite3.connect(".calipers/runs.db", isolation_level=None)) as db:
                db.execute("DROP TABLE attempts")
        return 1

    def eval_it():
        return numbers(1, 2), breaking
    """
    )
    done = calipers("run", "--max-concurrency", "1")
    assert done.exit_code == 3
    assert "Passed 2 of 2 cases" in done.stdout
    assert "Error: not all of it could be stored" in done.stderr
    assert "Go on with it: calipers run --max-concurrency 1 --resume 2" in done.stderr


KILLED = """
    import os
    import time

    def killed(inputs):
        with open("calls.txt", "a") as log:
            log.write(f"{inputs}\\n")
        if inputs == 3 and os.path.exists("kill"):
            time.sleep(0.6)  # so that what is finished is stored
            os.kill(os.getpid(), 9)
        return 1

    def eval_killed():
        return numbers(1, 2, 3, 4), killed
"""


def test_a_killed_run_is_abandoned_and_can_be_resumed(calipers, write_eval, folder, runs):
    write_eval(KILLED)
    command = [sys.executable, "-m", "calipers", "run", "--max-concurrency", "1"]
    (folder / "kill").touch()
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    assert done.returncode == -9
    (folder / "kill").unlink()
    assert calipers("runs").stdout.splitlines()[1].split()[1:5] == ["killed", "numbers", "abandoned", "2/4"]
    assert calls(folder) == ["1", "2", "3"]
    again = calipers("run", "--resume", "--max-concurrency", "1")
    assert again.exit_code == 0
    assert again.stderr.startswith("Not done again: 2 of 4 attempts")
    assert calls(folder) == ["1", "2", "3", "3", "4"]
    assert [(run.status, run.attempts) for run in runs()] == [("finished", 4)]


HOOKS = """
    from calipers.stores import hide_keys

    hooks = [hide_keys("key")]
    nothing = []
    seven = 7
"""
SECRET = """
    def told(inputs):
        return {"key": "s3cret", "n": 1}

    def eval_told():
        return Dataset(name="d", cases=[Case(name="a", inputs={"key": "s3cret"})], evaluators=[]), told
"""


def test_what_must_not_be_kept_is_taken_out_of_runs_and_of_what_is_imported(
    calipers, write_eval, write, folder
):
    write_eval(SECRET)
    write("hooks.py", HOOKS)
    calipers("run", "--redact", "hooks.py:hooks", "--out", "jsonl:report.jsonl")
    assert "s3cret" in (folder / "report.jsonl").read_text(), "only what is kept is redacted"
    calipers("import", "report.jsonl", "--store", "other.db", "--redact", "hooks.py:hooks")
    for place in (".calipers/runs.db", "other.db"):
        with open_store(folder / place, existing=True) as store:
            assert store.report("latest").cases[0].output == {"key": "[redacted]", "n": 1}
        assert b"s3cret" not in (folder / place).read_bytes()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["hooks.py:seven"], "--redact hooks.py:seven: it has to be a function"),
        (["hooks.py:nothing"], "or a list of such functions, got []"),
        (["hooks.py:hoks"], "hoks"),
        (["hooks.py:hooks", "--no-store"], "--redact needs a store: remove --no-store"),
    ],
)
def test_hooks_that_are_none_are_told_before_anything_is_kept(
    calipers, write_eval, write, folder, args, told
):
    write_eval(SECRET)
    write("hooks.py", HOOKS)
    done = calipers("run", "--redact", *args)
    assert (done.exit_code, told in done.stderr) == (2, True), done.stderr
    assert not (folder / ".calipers").exists()
