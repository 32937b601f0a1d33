import json
import os
import re

import pytest

GOOD = "cases: [{inputs: 1}]\nevaluators: [{Equals: 1}]\n"
BAD = "cases:\n  - imputs: 1\n  - inputs: 2\n    name: 3\n"


def test_a_file_without_problems_passes(calipers, write):
    write("good.yaml", GOOD)
    done = calipers("check", "good.yaml")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "No problems in 1 file\n")


def test_every_problem_of_every_file_is_a_line_with_its_place(calipers, write):
    write("good.yaml", GOOD)
    write("bad.yaml", BAD)
    write("worse.jsonl", '{"inputs": 1}\n{"inputs": }\n')
    done = calipers("check", "bad.yaml", "good.yaml", "worse.jsonl")
    assert done.exit_code == 1
    places = [line.partition(": ")[0] for line in done.stdout.splitlines()]
    assert places == ["bad.yaml:2:5", "bad.yaml:2:5", "bad.yaml:4:11", "worse.jsonl:2:12"]
    assert "4 problems in 3 files" in done.stderr


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_what_cannot_be_checked_does_not_keep_the_other_files_from_it(calipers, write, folder, more):
    write("bad.yaml", BAD)
    write("bad.txt", BAD)
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    files = ["nope.yaml", "folder.yaml", "pipe.yaml", "bad.txt", "bad.yaml"]
    done = calipers("check", *files, *more)
    assert done.exit_code == 2
    assert done.stdout.count('"file": "bad.yaml"' if more else "bad.yaml:") == 3
    for message in (
        "Error: file not found: nope.yaml",
        "Error: 'folder.yaml' is a folder: name a file",
        "Error: 'pipe.yaml' is not a regular file",
        "Error: the name of 'bad.txt' does not tell its format",
    ):
        assert message in done.stderr
    assert more or "3 problems in 1 file\n" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "cases: []\n"),
        ("c.json", '{"cases": []}'),
        ("c.jsonl", ""),
        ("c.csv", "name,inputs\n"),
        ("more.yaml", "cases: c.jsonl\n"),
    ],
)
def test_a_file_without_cases_is_a_problem(calipers, write, name, text):
    write("c.jsonl", "")
    write(name, text)
    done = calipers("check", name)
    assert done.exit_code == 1
    assert "there are no cases" in done.stdout


def test_the_problems_are_data_on_request(calipers, write):
    write("bad.yaml", BAD)
    done = calipers("check", "bad.yaml", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert {problem["file"] for problem in found} == {"bad.yaml"}
    assert {problem["line"] for problem in found} == {2, 4}
    write("good.yaml", GOOD)
    assert json.loads(calipers("check", "good.yaml", "--json").stdout) == []


def test_types_and_evaluators_of_your_own_are_named_by_address(calipers, write):
    write("mine.py", "def near(output, by: int): ...\n")
    write("cases.yaml", "cases: [{inputs: one}]\nevaluators: [{near: 3}]\n")
    assert calipers("check", "cases.yaml").exit_code == 1
    assert calipers("check", "cases.yaml", "--evaluator-type", "mine.py:near").exit_code == 0
    typed = calipers("check", "cases.yaml", "--evaluator-type", "mine:near", "--types", "builtins:int")
    assert typed.exit_code == 1
    assert "cases.yaml:1:" in typed.stdout


def test_a_module_may_be_allowed_to_be_named_in_the_file(calipers, write):
    write("mine.py", "def near(output, by: int): ...\n")
    write("cases.yaml", "cases: [{inputs: one}]\nevaluators: [{'mine:near': 3}]\n")
    assert "not allowed here" in calipers("check", "cases.yaml").stdout
    assert calipers("check", "cases.yaml", "--allow-module", "mine").exit_code == 0


def test_one_dataset_type_stands_for_all_types(calipers, write):
    write("mine.py", "from calipers import Dataset\nNumbers = Dataset[int, str, dict]\n")
    write("cases.yaml", "cases: [{inputs: 1, expected_output: 2}]\n")
    done = calipers("check", "cases.yaml", "--types", "mine:Numbers")
    assert done.exit_code == 1
    assert "expected_output" in done.stdout


def test_columns_of_a_table_can_be_named(calipers, write):
    write("table.csv", "question,part a,part b,answer\n1,2,3,4\n")
    assert calipers("check", "table.csv").exit_code == 1
    named = ["--column", "inputs=part a,part b", "--column", "expected_output=answer"]
    assert calipers("check", "table.csv", *named).exit_code == 0


@pytest.mark.parametrize(
    ("files", "args", "message"),
    [
        (
            {"c.yaml": "cases: [{inputs: 1}]\nevaluators: [Mine]\n"},
            [],
            "no evaluator is called 'Mine'; name your own with --evaluator-type module:Name",
        ),
        (
            {"c.yaml": "cases: [{inputs: 1}]\nevaluators: ['mine:judge']\n"},
            [],
            "evaluators of the module 'mine' are not allowed here: --allow-module mine allows them",
        ),
        ({"c.csv": "name\n1\n"}, [], "--column inputs=COLUMN says which it is"),
        ({"c.csv": "inputs,other\n1,2\n"}, [], "--column FIELD=COLUMN says what other columns hold"),
        ({"c.csv": "inputs\n1\n"}, ["--column", "imputs=a"], "--column says where"),
        ({"c.yaml": GOOD}, ["--column", "inputs=a"], "--column is for tables, CSV and Parquet files"),
        ({"c.txt": GOOD}, [], "end it with .yaml, .yml, .json, .jsonl, .csv, .parquet\n"),
        (
            {"c.yaml": GOOD},
            ["--evaluator-type", "mine:judge", "--evaluator-type", "also:judge"],
            "two of --evaluator-type are called 'judge'",
        ),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["run", "--task", "mine:judge"]], ids=["check", "run"])
def test_advice_names_options_and_no_python(calipers, write, command, files, args, message):
    write("mine.py", "def judge(output): ...\n")
    write("also.py", "def judge(output): ...\n")
    for name, text in files.items():
        write(name, text)
    done = calipers(*command, *files, *args)
    assert message in done.output
    assert not re.search(r"columns=|types=|modules=|format=|evaluator_types", done.output)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Missing argument 'FILE...'"),
        (["nowhere.yaml"], "file not found: nowhere.yaml"),
        (["cases.yaml", "--types", "nowhere:X"], "module not found: nowhere"),
        (["cases.yaml", "--column", "inputs"], "--column must be FIELD=COLUMN"),
        (["cases.yaml", *["--types", "builtins:int"] * 4], "in this order: got 4 of them"),
        (["cases.txt"], "does not tell its format"),
    ],
)
def test_wrong_usage_is_told(calipers, write, args, message):
    write("cases.yaml", GOOD)
    write("cases.txt", GOOD)
    done = calipers("check", *args)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_cannot_colour_the_terminal(calipers, write):
    write("bad.jsonl", '{"inputs": 1, "\\u001b[31m": 2}\n')
    done = calipers("check", "bad.jsonl")
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout


VOICE = "agent: offline\nprompts:\n  - prompt: the moon is made of cheese\n    expect: []\n"


def test_a_voice_file_is_checked_as_one(calipers, write):
    write("home.yaml", VOICE)
    write("home.json", json.dumps({"agent": "offline", "expect": [], "prompts": ["hello"]}))
    done = calipers("check", "home.yaml", "home.json")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "No problems in 2 files\n")


def test_all_that_would_fail_every_run_of_a_voice_file_is_told_with_its_place(calipers, write):
    write("noise.wav", "RIFF")
    write(
        "home.yaml",
        "agent:\n  http:\n    url: ftp://home\n    timeout: 0\nsynthesizer: {espeak: en-uk}\n"
        "perturbation: {babble: {snr: 5, voices: [noise.wav]}}\nexpect: []\nprompts: [hello]\n",
    )
    done = calipers("check", "home.yaml")
    assert done.exit_code == 1
    assert [line.split(": ")[:2] for line in done.stdout.splitlines()] == [
        ["home.yaml:3:10", "agent.http.url"],
        ["home.yaml:4:14", "agent.http.timeout"],
        ["home.yaml:5:23", "synthesizer.espeak"],
        ["home.yaml:6:42", "perturbation.babble.voices[0]"],
    ]


def test_a_part_of_ones_own_in_a_voice_file_needs_its_option(calipers, write):
    write("home.yaml", VOICE.replace("offline", "app:hear"))
    write("app.py", "def hear(audio):\n    return []\n")
    done = calipers("check", "home.yaml")
    assert "--allow-module app" in done.stdout
    assert calipers("check", "home.yaml", "--allow-module", "app").exit_code == 0


def test_run_says_which_command_a_voice_file_is_for(calipers, write):
    write("home.yaml", VOICE)
    done = calipers("run", "home.yaml")
    assert done.exit_code == 2
    assert "'home.yaml' is a voice file: run it with calipers voice run" in done.stderr
