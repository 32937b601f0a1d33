"""`calipers dataset from`: files of cases, and what is said of those that were left out."""

import json
import sys
from pathlib import Path

import pytest

from calipers.evaluators import personal_data
from calipers.files import load_dataset
from calipers.stores import open_store
from calipers.stores.run_info import RunInfo


def history(asked, answered="fine"):
    return {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]}


@pytest.fixture
def traces(write):
    return lambda *asked: write("traces.jsonl", "\n".join(json.dumps(history(each)) for each in asked))


def test_cases_are_written_and_run(calipers, traces, write):
    traces("Where is my order? I am anna@example.org", "where is my  order? I am bob@example.org", "Bye")
    done = calipers("dataset", "from", "traces.jsonl", "--out", "cases.yaml")
    assert (done.exit_code, done.stdout) == (0, "")
    for line in (
        "Read 3 attempts",
        "Same request: 1 left out",
        "Personal data: 1 e-mail address in 1 case; names of people are not looked for",
        "Wrote cases.yaml: 2 cases",
    ):
        assert line in done.stderr
    assert "example.org" not in done.stderr
    assert calipers("check", "cases.yaml").exit_code == 0
    write("agent.py", "def ask(inputs):\n    return inputs\n")
    cases = Path("cases.yaml").read_text(encoding="utf-8")
    write("cases.yaml", f"{cases}evaluators:\n  - Contains: order\n")
    ran = calipers("run", "cases.yaml", "--task", "agent.py:ask", "--no-store")
    assert "Passed 1 of 2 cases" in ran.stdout, ran.stderr


@pytest.mark.parametrize("suffix", ["yaml", "csv"])
def test_a_file_is_written_and_added_to(calipers, traces, suffix):
    traces("one", "two", "three")
    out = f"cases.{suffix}"
    assert (
        calipers("dataset", "from", "traces.jsonl", "--out", out, "--sample", "2", "--seed", "1").exit_code
        == 0
    )
    first = [case.inputs for case in load_dataset(out).cases]
    done = calipers("dataset", "from", "traces.jsonl", "--out", out, "--append")
    assert f"Added to {out}: 1 case" in done.stderr
    cases = list(load_dataset(out).cases)
    assert [case.inputs for case in cases][:2] == first
    assert {case.inputs for case in cases} == {"one", "two", "three"}
    assert float(cases[0].metadata["sample_probability"]) == pytest.approx(2 / 3)
    nothing = calipers("dataset", "from", "traces.jsonl", "--out", out, "--append")
    assert (nothing.exit_code, "the requests of 3 attempts are in the dataset already" in nothing.stderr) == (
        4,
        True,
    )


def test_a_file_that_is_there_is_kept_unless_the_command_says_otherwise(calipers, traces, write):
    traces("one")
    write("cases.json", "precious")
    done = calipers("dataset", "from", "traces.jsonl", "--out", "cases.json")
    assert (done.exit_code, "--append adds to it, --force writes over it" in done.stderr) == (2, True)
    assert calipers("dataset", "from", "traces.jsonl", "--out", "cases.json", "--force").exit_code == 0
    assert [case.inputs for case in load_dataset("cases.json").cases] == ["one"]


def test_a_file_that_came_to_be_there_meanwhile_is_kept(calipers, traces, write):
    traces("one")
    write(
        "late.py",
        "from pathlib import Path\n\ndef hide(data):\n    Path('cases.json').write_text('precious')\n    return data\n",
    )
    done = calipers("dataset", "from", "traces.jsonl", "--out", "cases.json", "--redact", "late.py:hide")
    assert (done.exit_code, "came to be there meanwhile" in done.stderr) == (2, True)
    assert Path("cases.json").read_text(encoding="utf-8") == "precious"


def test_of_a_run_that_still_goes_on_it_is_said_that_not_all_was_there(calipers, traces):
    traces("one", "two")
    assert calipers("import", "traces.jsonl", "--store", "runs.db").exit_code == 0
    with open_store("runs.db") as store:
        going = store.begin_run(RunInfo(name="going"))
        (done,) = [run for run in store.runs() if run.id != going.id]
        store.append(going.id, list(store.attempts(done.id)))
        for name, is_told in (("going", True), (done.id, False)):
            made = calipers("dataset", "from", name, "--store", "runs.db", "--out", f"{name}.jsonl")
            told = f"Run {going.id} is running: cases were made of the attempts that it had"
            assert (made.exit_code, told in made.stderr) == (0, is_told), made.stderr


def test_the_answers_that_people_confirmed_are_expected(calipers, write, write_eval):
    write_eval("def eval_numbers():\n    return numbers(1, 2, 'boom'), task\n")
    calipers("run", "--quiet")
    write("labels.csv", "case,human\nnumber 1,true\nnumber 2,false\n")
    calipers("label", "latest", "--import", "labels.csv", "--question", "right?", "--as", "ann")
    done = calipers("dataset", "from", "latest", "--out", "c.yaml", "--confirmed-by", "right?", "--json")
    cases = load_dataset("c.yaml").cases
    assert [case.has_expected_output for case in cases] == [True, False, False]
    told = json.loads(done.stdout)
    assert (told["read"], told["confirmed"], told["written"]) == (3, 1, 3)


def test_without_what_finds_personal_data_nothing_is_written_unless_the_command_says_so(
    calipers, traces, folder, monkeypatch
):
    monkeypatch.setitem(sys.modules, "datafog.processing.text_processing.regex_annotator", None)
    personal_data._annotator.cache_clear()
    traces("I am anna@example.org")
    done = calipers("dataset", "from", "traces.jsonl", "--out", "c.yaml")
    assert (done.exit_code, (folder / "c.yaml").exists()) == (3, False)
    assert "calipers[text-checks]'. --keep-personal-data writes personal data as it is" in done.stderr
    done = calipers("dataset", "from", "traces.jsonl", "--out", "c.yaml", "--keep-personal-data")
    assert (done.exit_code, "Personal data: kept as it is" in done.stderr) == (0, True)
    assert "anna@example.org" in (folder / "c.yaml").read_text(encoding="utf-8")


def test_a_function_of_the_user_hides_more(calipers, traces, write, folder):
    write(
        "privacy.py",
        "def no_names(data):\n    return data.replace('Anna', '[name]') if isinstance(data, str) else {\n"
        "        key: no_names(value) for key, value in data.items()} if isinstance(data, dict) else data\n",
    )
    traces("I am Anna")
    for keep in ([], ["--keep-personal-data"]):
        words = ["--out", "c.yaml", "--force", "--redact", "privacy.py:no_names", *keep]
        assert calipers("dataset", "from", "traces.jsonl", *words).exit_code == 0
        assert "Anna" not in (folder / "c.yaml").read_text(encoding="utf-8")


def test_strata_and_near_duplicates_are_listed(calipers, traces):
    traces(*(f"please cancel flight {place}" for place in "ABCDEFGHIJKLMN"), "hello")
    done = calipers("dataset", "from", "traces.jsonl", "--out", "c.jsonl", "--near", "0.7", "--json")
    assert json.loads(done.stdout)["near_duplicates"][0]["similarity"] >= 0.7
    done = calipers("dataset", "from", "traces.jsonl", "--out", "d.jsonl", "--near", "0.7")
    assert "more; --json lists all" in done.stderr
    done = calipers(
        "dataset",
        "from",
        "traces.jsonl",
        "--out",
        "e.jsonl",
        "--sample",
        "3",
        "--by",
        "input",
        "--filter",
        "-flight",
    )
    assert "Filter: 14 left out" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["traces.jsonl"], 2, "Missing option '--out'"),
        (["traces.jsonl", "--out", "c.txt"], 2, "does not tell its format"),
        (["nothing.jsonl", "--out", "c.yaml"], 2, "file not found: nothing.jsonl"),
        (["latest", "--out", "c.yaml"], 2, "there is no store"),
        (["traces.jsonl", "--out", "c.yaml", "--expect", "output"], 2, "with --confirmed-by QUESTION"),
        (["traces.jsonl", "--out", "c.yaml", "--force", "--append"], 2, "give one of them"),
        (["traces.jsonl", "--out", "c.yaml", "--filter", "foo:bar"], 2, "unknown field 'foo'"),
        (["traces.jsonl", "--out", "c.yaml", "--filter", "status:passed"], 4, "the filter left none of 1 attempt: status:passed"),
        (["traces.jsonl", "--out", "c.yaml", "--confirmed-by", "right?"], 2, "it has no labels of people"),
        (["notes.txt", "--out", "c.yaml"], 3, "no conversation found"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_reported_and_nothing_is_written(
    calipers, traces, write, folder, words, code, says
):
    traces("one")
    write("notes.txt", "no traces")
    done = calipers("dataset", "from", *words)
    assert (done.exit_code, says in done.stderr) == (code, True), done.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith("c.")]
