import json
import re
from pathlib import Path

import pytest

EVALS = """
    from calipers import Case, Dataset

    def correct(output):
        return output

    def old(inputs):
        return False

    def new(inputs):
        return True

    cases = [Case(name=f"question {each}", inputs=each) for each in range(4)]

    def eval_old():
        return Dataset(name="questions", cases=cases, evaluators=[correct]), old

    def eval_new():
        return Dataset(name="questions", cases=cases, evaluators=[correct]), new
"""


def squeezed(text):
    return " ".join(text.split())


def make_runs(calipers, write):
    write("eval_questions.py", EVALS)
    for name in ("old", "new"):
        done = calipers(
            "run", f"eval_questions.py:eval_{name}", "--repeat", "3", "--quiet", "--out", f"json:{name}.json"
        )
        assert done.exit_code in {0, 1}, done.output


@pytest.fixture
def two_runs(once, calipers, write):
    """A store with two runs, `old` and `new`, of 4 cases with 3 attempts each, and a file of each."""
    once(make_runs, calipers, write)
    return calipers


@pytest.mark.parametrize(
    "names", [("old", "new"), ("old.json", "new.json"), ("old.json", "latest")], ids=" ".join
)
def test_four_cases_of_three_attempts_give_the_p_value_of_four_cases(two_runs, names):
    """Pooled, the twelve attempts would give 1 in 4096."""
    done = two_runs("compare", *names)
    assert done.exit_code == 0, done.output
    text = squeezed(done.stdout)
    assert (
        "? Cannot tell which is better Pass rate 0.0 % → 100.0 %: better by 100.0 points, 95 % interval "
        in text
    )
    assert "→ Add cases: these are too few to exclude luck" in text
    assert "p 0.125 (one-sided 0.0625)" in text
    assert "4 cases in both · 12 attempts of the baseline · 12 attempts of the candidate" in text
    data = json.loads(two_runs("compare", *names, "--out", "json:-").stdout)
    headline = data["comparisons"][0]["pass_rate"]
    assert (headline["p_value"], headline["one_sided_p"]) == (1 / 8, 1 / 16)


def test_runs_are_named_by_id_and_by_its_beginning(two_runs, kept):
    new, old = kept.runs()
    done = two_runs("compare", old.id, new.id[:-3])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("new against old\n")


def test_runs_of_the_same_name_are_told_apart_by_their_ids(two_runs, kept):
    (old,) = kept.runs(name="old")
    again = two_runs("run", "eval_questions.py:eval_old", "--quiet")
    assert again.exit_code in {0, 1}, again.output
    done = two_runs("compare", old.id, "old", "--out", "text:-")
    newest = kept.runs(name="old")[0]
    assert f"old ({newest.id}) against old ({old.id})" in done.stdout.splitlines()[0]


def test_every_two_of_several_runs_are_compared(two_runs):
    done = two_runs("compare", "old.json", "new.json", "old", "--out", "json:-")
    data = json.loads(done.stdout)
    assert [(each["baseline"]["name"], each["candidate"]["name"]) for each in data["comparisons"]] == [
        ("old", "new"),
        ("old", "old"),
        ("new", "old"),
    ]
    assert {each["at_once"] for each in data["comparisons"]} == {3}
    assert [(rank["label"].split()[0], rank["best"]) for rank in data["ranks"]] == [
        ("new.json", 1),
        ("old.json", 2),
        ("old", 2),
    ]


def test_several_candidates_are_each_compared_with_the_first_if_asked(two_runs):
    done = two_runs("compare", "old.json", "new.json", "old", "--max-flips", "1", "--against-first")
    assert done.exit_code == 0, done.output
    assert re.findall(r"^(\S+) against old\.json$", done.stdout, re.MULTILINE) == ["new.json", "old"]
    assert "… and 3 more: --max-flips 0 lists all" in done.stdout


@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_a_comparison_can_be_written_to_a_file_beside_the_tables(two_runs, folder, suffix):
    done = two_runs("compare", "old", "new", "--out", f"out/found.{suffix}")
    assert done.exit_code == 0, done.output
    assert "Pass rate" in done.stdout
    assert f"Wrote out/found.{suffix}" in done.stderr
    assert "better by 100.0 points" in squeezed(
        (folder / "out" / f"found.{suffix}").read_text(encoding="utf-8")
    )


def test_an_evaluator_whose_code_changed_is_compared_with_a_warning(calipers, write, folder):
    for rule in ("output > 0", "output >= 0"):
        text = f"""
            from calipers import Case, Dataset

            def positive(output):
                return {rule}

            def eval_it():
                return Dataset(cases=[Case(inputs=1), Case(inputs=2)], evaluators=[positive]), abs
        """
        name = f"eval_{'strict' if '>=' not in rule else 'lax'}"
        write(f"{name}.py", text)
        calipers("run", f"{name}.py", "--quiet", "--name", name)
    done = calipers("compare", "eval_strict", "eval_lax")
    assert done.exit_code == 0, done.output
    assert "Note: not the same evaluator: its source changed" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([], 2, "Missing argument"),
        (["old"], 2, "a comparison needs a baseline and a candidate, got 'old' alone"),
        (["old", "old.json", "old"], 2, "'old' and 'old' are the same run: name two that differ"),
        (["old.json", "./old.json"], 2, "'old.json' and './old.json' are the same file"),
        (["old", "nwe"], 2, "has no run 'nwe'; did you mean 'new'?"),
        (["old", "nowhere.json"], 2, "file not found: nowhere.json"),
        (["old", "other.json"], 3, "'other.json' cannot be compared: this is no stored report"),
        (["old", "new", "--evaluator", "corect"], 2, "no evaluator of these reports is called 'corect'"),
        (
            ["old", "new", "--confidence", "95"],
            2,
            "'--confidence': 95 does not lie between 0 and 1: write 0.95 for 95 %",
        ),
        (["old", "new", "--confidence", "nan"], 2, "'--confidence': nan does not lie between 0 and 1"),
        (
            ["old", "new", "--smallest", "3"],
            2,
            "'--smallest': 3 does not lie between 0 and 1: write 0.03 for 3 %",
        ),
        (
            ["old", "new", "--smallest", "3%"],
            2,
            "'--smallest': 3% does not lie between 0 and 1: write 0.03 for 3 %",
        ),
        (["old", "new", "--smallest-relative", "x"], 2, "'--smallest-relative': 'x' is not a number"),
        (["old", "new", "--out", "x.xml"], 2, "a comparison is written as json, markdown, html, text"),
        (["old.json", "new.json", "--out", "new.json"], 2, "would overwrite 'new.json', which is read"),
        (["old", "new", "--out", "x.md", "--out", "./x.md"], 2, "two --out write to './x.md'"),
        (["old", "new", "--store", "nowhere.db"], 2, "nowhere.db"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_way_out(two_runs, write, args, code, message):
    write("other.json", "{}")
    done = two_runs("compare", *args)
    assert message in done.stderr
    assert done.exit_code == code
    assert done.stdout == ""


def test_without_a_store_files_can_be_compared_and_runs_are_told_where_to_look(two_runs, folder):
    (folder / ".calipers").rename(folder / "moved")
    assert two_runs("compare", "old.json", "new.json").exit_code == 0
    done = two_runs("compare", "old.json", "new")
    assert (done.exit_code, "there is no store" in done.stderr) == (2, True)
    assert two_runs("compare", "old", "new.json", "--store", "moved/runs.db").exit_code == 0


def test_other_cases_of_the_same_name_are_named_and_left_out(calipers, write_eval):
    write_eval(
        """
        def eval_one():
            return numbers(1, 2, 3), task

        def eval_two():
            data = numbers(1, 2, 3)
            data.cases[0].inputs = -1
            return data, task
        """
    )
    for name in ("one", "two"):
        calipers("run", f"eval_numbers.py:eval_{name}", "--quiet", "--name", name)
    done = calipers("compare", "one", "two")
    assert "2 cases in both" in done.stdout
    assert "1 case has the same name and another content, and is left out" in squeezed(done.stdout)
    assert "number 1: another inputs" in done.stdout
    assert "3 cases in both" in calipers("compare", "one", "two", "--pair-by", "name").stdout


@pytest.mark.parametrize("arguments", [("old", "loop.json"), ("old", "new", "--out", "loop.json")])
def test_a_link_that_leads_to_itself_is_told(two_runs, arguments):
    loop = Path("loop.json")
    loop.symlink_to(loop)
    done = two_runs("compare", *arguments)
    assert done.exit_code in {2, 3}
    assert "loop.json" in done.stderr
    assert "should not have happened" not in done.stderr


def test_runs_can_be_sliced_by_metadata_when_they_are_made_shown_and_compared(calipers, write):
    write(
        "eval_levels.py",
        """
        from calipers import Case, Dataset

        cases = [Case(name=f"c{i}", inputs=i, metadata={"level": "hard" if i % 2 else "easy"}) for i in range(6)]

        def right(output):
            return output

        def eval_levels(easy: bool = True):
            return Dataset(name="levels", cases=cases, evaluators=[right]), lambda inputs: easy and inputs % 2 == 0
        """,
    )
    first = calipers("run", "--slice-by", "level", "--no-store", "--out", "json:sliced.json")
    assert "level=easy  100.0 %" in first.stdout
    assert "level=hard    0.0 %" in first.stdout
    calipers("run", "--param", "easy=false", "--quiet", "--out", "json:plain.json")
    for name in ("plain.json", "latest"):
        assert "level=easy    0.0 %" in calipers("show", name, "--slice-by", "level").stdout
    assert "level=" not in calipers("show", "plain.json").stdout
    compared = calipers("compare", "sliced.json", "plain.json", "--slice-by", "level").stdout
    assert "level=easy  100.0 % → 0.0 %" in squeezed_columns(compared)
    missing = calipers("run", "--slice-by", "lvl", "--quiet")
    assert missing.exit_code == 2
    assert "--slice-by lvl: the metadata of no case has a field 'lvl'" in missing.stderr
    assert calipers("show", "plain.json", "--slice-by", "lvl").exit_code == 2


def squeezed_columns(text):
    return re.sub(r" {2,}", "  ", text)


LETTERS = """
    name: letters
    cases:
      - {name: a, inputs: alpha, evaluators: [{Contains: a}]}
      - {name: b, inputs: bravo, evaluators: [{Contains: b}]}
      - {name: c, inputs: charlie, evaluators: [{Contains: LETTER}]}
"""


@pytest.fixture
def letters(calipers, write):
    """Runs `one` and `two` of cases that each look for a letter of their own, and `three`, where one looks for another one."""
    write("task.py", "def echo(text):\n    return text\n")
    write("gate.yaml", "pass_rate: {margin: 0.9}\n")
    for name, letter in (("one", "c"), ("two", "c"), ("three", "x")):
        write("cases.yaml", LETTERS.replace("LETTER", letter))
        done = calipers(
            "run", "cases.yaml", "--task", "task.py:echo", "--name", name, "--quiet", "--out", f"{name}.json"
        )
        assert done.exit_code == (name == "three"), done.output
    return calipers


@pytest.mark.parametrize("suffix", ["", ".json"], ids=["runs", "files"])
def test_cases_of_a_file_that_bring_evaluators_are_compared_and_gated_case_by_case(letters, suffix):
    one, two, three = (f"{name}{suffix}" for name in ("one", "two", "three"))
    same, other = (letters("compare", one, each).stdout for each in (two, three))
    assert "another evaluator" not in same
    assert "not the same evaluator" not in same + other
    said = "c: Contains(value='c') in the baseline, Contains(value='x') in the candidate"
    assert said in squeezed(other)
    for each, named in ((two, False), (three, True)):
        done = letters("gate", each, "--baseline", one, "--policy", "gate.yaml")
        assert done.exit_code == 0, done.output
        assert ("not compared on 1 case" in squeezed(done.stdout)) is named


def test_one_case_is_shown_side_by_side(letters):
    done = letters("compare", "one", "three.json", "--case", "c")
    assert done.exit_code == 0, done.output
    for line in (
        "inputs charlie charlie",
        "output charlie charlie",
        "Contains Contains(value='c') Contains(value='x') ✓ ✗ expected 'x' in 'charlie'",
    ):
        assert line in squeezed(done.stdout)
    done = letters("compare", "one", "two", "--case", "d")
    assert (done.exit_code, "no case of these runs is called 'd'" in done.stderr) == (2, True)
    done = letters("compare", "one", "two", "--case", "c", "--out", "x.md")
    assert (done.exit_code, "use one of them" in done.stderr) == (2, True)


def test_these_cases_are_told_apart_by_their_attempts_alone(two_runs):
    """Four cases of three attempts that all differ: few as cases, and certain as these cases."""
    done = two_runs("compare", "old", "new", "--these-cases", "--out", "these.json")
    assert done.exit_code == 0, done.output
    assert "about these cases" in squeezed(done.stdout)
    assert "▲ Better Pass rate 0.0 % → 100.0 %" in squeezed(done.stdout)
    assert json.loads(Path("these.json").read_text())["comparisons"][0]["population"] == "these-cases"
    assert "about cases like these" in squeezed(two_runs("compare", "old", "new").stdout)


def test_show_and_compare_have_the_same_rate_of_the_same_run_though_tasks_crash(calipers, write):
    """Of 25 cases, 16 state an expectation; every fifth crashes."""
    write(
        "evals.py",
        """
        from calipers import Case, Dataset
        from calipers.evaluators import EqualsExpected

        def task(number):
            if number % 5 == 0:
                raise ValueError(number)
            return number if number % 3 else -1

        def eval_numbers():
            stated = [Case(name=str(n), inputs=n, expected_output=n) for n in range(16)]
            bare = [Case(name=str(n), inputs=n) for n in range(16, 25)]
            return Dataset(name="numbers", cases=[*stated, *bare], evaluators=[EqualsExpected()]), task
        """,
    )
    for name in ("old", "new"):
        calipers("run", "evals.py:eval_numbers", "--name", name, "--quiet")
    shown = squeezed(calipers("show", "new").stdout)
    (compared,) = json.loads(calipers("compare", "old", "new", "--out", "json:-").stdout)["comparisons"]
    (column,) = compared["evaluators"]
    assert "Passed 8 of 17 cases 47.1 %" in shown
    assert re.search(r"EqualsExpected 50\.0 % .* 16 4 ", shown)
    assert (column["candidate"], column["candidate_cases"]) == (0.5, 16)
    assert (compared["pass_rate"]["candidate"], compared["pass_rate"]["candidate_cases"]) == (8 / 17, 17)
