"""The group of commands: what it says of them, and how it ends."""

import pytest

from calipers.cli.app import COMMANDS, app


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_teaches_by_example(calipers, command):
    done = calipers(command, "--help")
    assert done.exit_code == 0
    examples = done.stdout.partition("Examples:\n")[2]
    assert f"calipers {command}" in examples


def test_the_help_names_every_command(calipers):
    shown = calipers("--help").stdout
    for name, line in COMMANDS.items():
        assert f"  {name} " in shown
        assert line in shown


def test_the_line_about_a_command_ends_like_a_sentence_and_its_command_exists(calipers):
    assert all(line.endswith(".") for line in COMMANDS.values())
    for name in COMMANDS:
        assert app.get_command(None, name).name == "command"


def test_no_command_at_all_shows_the_help_and_is_wrong_usage(calipers):
    done = calipers()
    assert done.exit_code == 2
    assert "Commands:" in done.output


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rum", "did you mean 'run'?"), ("zzz", "there are init, run, runs, show, view, score")],
)
def test_a_command_that_does_not_exist_is_told_what_does(calipers, name, hint):
    done = calipers(name)
    assert done.exit_code == 2
    assert f"no command is called {name!r}; {hint}" in done.stderr


def test_an_option_of_the_group_that_does_not_exist_is_wrong_usage(calipers):
    done = calipers("--nope", "run")
    assert done.exit_code == 2
    assert "No such option" in done.stderr


@pytest.mark.parametrize(
    ("args", "env", "traced"),
    [
        (["show", "r.json"], {}, False),
        (["--debug", "show", "r.json"], {}, True),
        (["show", "r.json", "--debug"], {}, True),
        (["show", "r.json"], {"CALIPERS_DEBUG": "1"}, True),
        (["show", "r.json"], {"CALIPERS_DEBUG": "0"}, False),
    ],
)
def test_a_traceback_is_shown_only_where_it_is_asked_for(calipers, write, args, env, traced):
    write("r.json", "{}")
    done = calipers(*args, env=env)
    assert done.exit_code == 3
    assert "Error: 'r.json' cannot be shown: this is no stored report" in done.stderr
    assert ("Traceback (most recent call last)" in done.stderr) is traced


def test_debug_also_shows_the_traceback_of_an_evaluation_that_the_run_survives(calipers, write_eval):
    write_eval("def eval_it():\n    return numbers(1, 1), task\n")  # the same name twice
    assert "dataset.py" not in calipers("run", "--task", "nowhere:f").stderr
    done = calipers("run", "--debug")
    assert done.exit_code == 3
    assert "InvalidCaseError: duplicate case name" in done.stderr


def test_what_the_system_refuses_is_told_in_its_words(calipers, folder):
    (folder / "file").touch()
    done = calipers("schema", "--out", "file/s.json")
    assert done.exit_code == 3
    assert done.stderr.startswith(("Error: Not a directory", "Error: File exists"))
