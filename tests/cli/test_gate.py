import json

import pytest

NUMBERS = """
    from calipers import Case, Dataset

    def positive(output):
        return output > 0

    def numbers(shift, n):
        cases = [Case(name=f"n{each}", inputs=each) for each in range(n)]
        return Dataset(name="numbers", cases=cases, evaluators=[positive]), lambda inputs: inputs % 10 - shift

    def eval_good(n: int = 120):
        return numbers(0, n)

    def eval_bad(n: int = 120):
        return numbers(6, n)
"""


def make_runs(calipers, write):
    write("evals.py", NUMBERS)
    for name in ("good", "bad"):
        calipers(
            "run",
            f"evals.py:eval_{name}",
            "--name",
            name,
            "--out",
            f"{name}.json",
            "--fail-under",
            "0",
            "--quiet",
        )
    write("gate.yaml", "evaluators: {positive: {margin: 0.1}}\n")


@pytest.fixture
def runs(once, calipers, write):
    once(make_runs, calipers, write)


@pytest.mark.parametrize(
    ("run", "baseline", "policy", "word", "code"),
    [
        ("good", "bad.json", "evaluators: {positive: {margin: 0.1}}", "PASS", 0),
        ("bad.json", "good", "evaluators: {positive: {margin: 0.1}}", "FAIL", 1),
        ("bad.json", "good", "evaluators: {positive: {margin: 0.6}}", "WORSE", 6),
        ("good", None, "evaluators: {positive: {margin: 0.1}}", "INCONCLUSIVE", 5),
        ("good", None, "evaluators: {positive: {at_least: 0.9}}", "INCONCLUSIVE", 5),
        ("good", None, "evaluators: {positive: {at_least: 0.7}}", "PASS", 0),
        ("good", None, "evaluators: {missing: {at_least: 0.5}}", "FAIL", 1),
        ("good", None, "{min_cases: 500, evaluators: {positive: {max_errors: 0}}}", "INCONCLUSIVE", 5),
    ],
)
def test_each_outcome_has_its_exit_code(calipers, runs, write, run, baseline, policy, word, code):
    write("policy.yaml", policy)
    against = [] if baseline is None else ["--baseline", baseline]
    done = calipers("gate", run, "--policy", "policy.yaml", *against)
    assert done.exit_code == code
    assert done.stdout.startswith(f"{word}  ")
    quiet = calipers("gate", run, "--policy", "policy.yaml", "--quiet", *against)
    assert (quiet.exit_code, quiet.stdout) == (code, "")


def test_the_verdict_is_written_for_people_and_programs(calipers, runs, folder, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = calipers(
        *("gate", "bad", "--baseline", "good", "--policy", "gate.yaml"),
        *("--out", "v.json", "--out", "v.md", "--out", "v.html"),
    )
    assert done.exit_code == 1
    assert "<svg" in (folder / "v.html").read_text()
    found = json.loads((folder / "v.json").read_text())
    assert (found["calipers_gate"], found["outcome"]) == (1, "FAIL")
    markdown = (folder / "v.md").read_text()
    assert markdown.startswith("## ❌ FAIL: `bad (")
    assert markdown.strip() in (folder / "summary.md").read_text()
    alone = calipers("gate", "bad", "--baseline", "good", "--policy", "gate.yaml", "--out", "json:-")
    assert json.loads(alone.stdout)["outcome"] == "FAIL"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["good"], 2, "--policy"),
        (["good", "--policy", "none.yaml"], 2, "file not found: none.yaml"),
        (["missing", "--policy", "gate.yaml"], 2, "has no run 'missing'"),
        (["good", "--policy", "gate.yaml", "--baseline", "good"], 2, "same run"),
        (["good", "--policy", "broken.yaml"], 3, "broken.yaml:1:1: unknown key 'evaluator'"),
        (["good", "--policy", "judge.yaml"], 3, "labels.csv', line 2: expected UTF-8"),
        (["good", "--policy", "unlabelled.yaml"], 2, "file not found: no.csv"),
        (
            ["good", "--policy", "sure.yaml"],
            3,
            "sure.yaml: evaluators, 'positive': at_least 1 is 100 %: results lie",
        ),
        (
            ["good", "old", "--policy", "gate.yaml"],
            2,
            "(old): the run to compare with is named by --baseline",
        ),
        (["good", "--policy", "gate.yaml", "--out", "csv:x.csv"], 2, "not as csv"),
        (["good.json", "--policy", "gate.yaml", "--out", "json:good.json"], 2, "overwrite"),
        (["good", "--policy", "gate.yaml", "--out", "v.md", "--out", "v.md"], 2, "two --out"),
    ],
)
def test_what_cannot_be_gated_is_told(calipers, runs, write, folder, args, code, words):
    write("broken.yaml", "evaluator: {}\n")
    write("sure.yaml", "evaluators: {positive: {at_least: 1}}\n")
    write("unlabelled.yaml", "evaluators: {positive: {agreement: {labels: no.csv, kappa: 0.6}}}\n")
    write("judge.yaml", "evaluators: {positive: {agreement: {labels: labels.csv, kappa: 0.6}}}\n")
    (folder / "labels.csv").write_bytes(b"judge,human\nyes,\xe9\n")
    done = calipers("gate", *args)
    assert done.exit_code == code
    assert words in done.stderr.replace("evaluator: unknown", "unknown")


def test_a_run_ends_when_its_gate_is_decided(calipers, runs, write):
    write("stop.yaml", "evaluators: {positive: {margin: 0.2}}\n")
    options = [
        "--stop-when-decided",
        "stop.yaml",
        "--baseline",
        "good",
        "--seed",
        "1",
        "--max-concurrency",
        "1",
    ]
    done = calipers("run", "evals.py:eval_bad", "--name", "early", "--param", "n=120", *options)
    assert done.exit_code == 1
    assert "decided: FAIL" in done.stdout
    assert "the gate says FAIL: positive" in done.stderr
    again = calipers("gate", "early", "--baseline", "good", "--policy", "stop.yaml")
    assert again.exit_code == 1
    assert "valid at every look" in again.stdout


def test_a_run_that_is_decided_well_passes_though_single_cases_do_not(calipers, runs, write):
    write("stop.yaml", "evaluators: {positive: {at_least: 0.6}}\n")
    done = calipers("run", "evals.py:eval_good", "--stop-when-decided", "stop.yaml", "--seed", "1")
    assert done.exit_code == 0, done.stderr
    write("tight.yaml", "evaluators: {positive: {at_least: 0.9}}\n")
    done = calipers("run", "evals.py:eval_good", "--stop-when-decided", "tight.yaml", "--seed", "1")
    assert done.exit_code == 5
    assert "Inconclusive: the gate says INCONCLUSIVE" in done.stderr


def test_cases_of_a_file_that_is_read_while_it_runs_come_in_a_random_order_too(calipers, runs, write):
    lines = "".join(json.dumps({"name": f"n{each}", "inputs": each}) + "\n" for each in range(200))
    write("cases.jsonl", lines)
    write("task.py", "def task(inputs):\n    return inputs\n\ndef right(output):\n    return True\n")
    write("doc.yaml", "cases: cases.jsonl\nevaluators: [right]\n")
    write("stop.yaml", "evaluators: {right: {at_least: 0.5}}\n")
    done = calipers(
        *("run", "doc.yaml", "--task", "task.py:task", "--evaluator-type", "task.py:right"),
        *("--stop-when-decided", "stop.yaml", "--seed", "1"),
    )
    assert done.exit_code == 0, done.stderr
    assert "decided: PASS" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--baseline", "good"], "--stop-when-decided"),
        (["--stop-when-decided", "gate.yaml"], "name one"),
        (["--stop-when-decided", "timed.yaml"], "no bounds"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_anything_runs(calipers, runs, write, options, words):
    write("timed.yaml", "duration: {at_most: 3}\n")
    done = calipers("run", "evals.py:eval_good", *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not done.stdout


def test_clusters_and_slips_of_the_pen_cost_no_run(calipers, runs, write, folder):
    text = NUMBERS.replace("inputs=each)", 'inputs=each, cluster="same")')
    write(
        "clustered.py",
        text.replace("lambda inputs: inputs", 'lambda inputs: open("called", "a").close() or inputs'),
    )
    write("stop.yaml", "evaluators: {positive: {at_least: 0.6}}\n")
    done = calipers("run", "clustered.py:eval_good", "--stop-when-decided", "stop.yaml")
    assert done.exit_code == 2
    assert "is in the cluster 'same'" in done.stderr
    assert "--resume" not in done.stderr
    assert not (folder / "called").exists()
    write("typo.yaml", "evaluators: {positve: {at_least: 0.6}}\n")
    done = calipers("run", "evals.py:eval_good", "--stop-when-decided", "typo.yaml")
    assert done.exit_code == 1
    assert "decided: FAIL (positve: has to be there)" in done.stdout
    assert "there are 'positive'" in done.stderr


def test_a_run_that_is_stopped_when_decided_is_not_held_against_another_evaluator(calipers, runs, write):
    write("lenient.py", NUMBERS.replace("return output > 0", "return output > -100"))
    stop = ("--stop-when-decided", "gate.yaml", "--baseline", "bad", "--seed", "1")
    done = calipers("run", "lenient.py:eval_bad", *stop)
    assert done.exit_code == 5
    assert "another evaluator" in done.stdout


def test_whether_files_were_judged_by_the_same_code_is_not_known_and_told(calipers, runs):
    for baseline, told in (("bad.json", True), ("bad", False)):
        done = calipers("gate", "good", "--baseline", baseline, "--policy", "gate.yaml")
        assert ("is not known" in " ".join(done.stdout.split())) == told


TWO = """
    from calipers import Case, Dataset

    def right(output):
        return output

    def cases(name):
        return Dataset(name=name, cases=[Case(inputs=f"{name} {each}") for each in range(60)], evaluators=[right])

    def answer(inputs):
        return "a" not in inputs

    def eval_a():
        return cases("a"), answer

    def eval_b():
        return cases("b"), answer
"""


@pytest.fixture
def two(calipers, write):
    """Runs of two datasets under each of two names; of dataset a nothing is right."""
    write("evals.py", TWO)
    write("least.yaml", "evaluators: {right: {at_least: 0.75}}\n")
    calipers("run", "evals.py:eval_b", "--name", "alone", "--quiet")
    for name in ("main", "pr"):
        calipers("run", "evals.py", "--name", name, "--fail-under", "0", "--quiet")


def test_a_name_that_stands_for_runs_of_several_datasets_means_none_of_them(calipers, two):
    by_id, by_dataset = "Name one by its id", "Name one by its id, or say --dataset NAME"
    for command, way in (
        (["gate", "pr", "--policy", "least.yaml"], by_dataset),
        (["gate", "alone", "--baseline", "main", "--policy", "least.yaml"], by_dataset),
        (["gate", "latest", "--policy", "least.yaml"], by_dataset),
        (["compare", "main", "pr"], by_dataset),
        (["plan", "pr", "--effect", "0.05"], by_dataset),
        (["show", "pr"], by_id),
        (["why", "pr", "Case 1", "right"], by_id),
        (["score", "pr", "--drop", "right"], by_id),
        (["export", "pr", "--to", "x.jsonl"], by_id),
        (["prune", "--run", "pr", "--yes"], by_id),
        (["run", "evals.py:eval_b", "--stop-when-decided", "least.yaml", "--baseline", "main"], by_id),
    ):
        done = calipers(*command)
        assert (done.exit_code, done.stdout) == (2, ""), command
        assert "of the dataset 'a'" in done.stderr
        assert "of the dataset 'b'" in done.stderr
        assert done.stderr.endswith(f"{way}\n")


@pytest.mark.parametrize(("dataset", "code"), [("a", 1), ("b", 0)])
@pytest.mark.parametrize("run", ["pr", "latest"])
def test_the_dataset_says_which_of_the_runs_is_gated(calipers, two, run, dataset, code):
    policy = ("--policy", "least.yaml", "--baseline", "main")
    done = calipers("gate", run, *policy, "--dataset", dataset)
    assert done.exit_code == code
    assert "60 compared" in done.stdout
    assert calipers("compare", "main", run, "--dataset", dataset).exit_code == 0
    planned = calipers("plan", "main", "--baseline", run, "--dataset", dataset, "--effect", "0.05")
    assert "60 cases, all alike" in planned.stderr, "the run was found"
    refused = calipers("plan", "--rate", "0.8", "--effect", "0.05", "--dataset", dataset)
    assert "--dataset" in refused.stderr
    assert "need a pilot" in refused.stderr


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("pr", "'pr' is the name of several runs, none of them of 'c': "),
        ("alone", "is of the dataset 'b', not of 'c'"),
        ("latest", "is of the dataset 'b', not of 'c'"),
    ],
)
def test_a_dataset_that_no_run_is_of_is_told(calipers, two, run, words):
    done = calipers("gate", run, "--policy", "least.yaml", "--dataset", "c")
    assert done.exit_code == 2
    assert words in done.stderr


def test_one_command_gives_no_two_runs_of_a_dataset_the_same_name(calipers, write):
    write("evals.py", TWO.replace('cases("b")', 'cases("a")'))
    done = calipers("run", "evals.py", "--name", "pr", "--fail-under", "0")
    assert done.exit_code == 2
    assert "--name 'pr' names the run of evals.py:eval_a over the dataset 'a' already" in done.stderr
    assert calipers("run", "evals.py", "--name", "pr", "--fail-under", "0", "--no-store").exit_code == 0
    assert calipers("run", "evals.py", "--fail-under", "0").exit_code == 0


def test_datasets_without_a_name_are_told_apart_by_their_tasks(calipers, write):
    write(
        "evals.py", TWO.replace("name=name, ", "") + "\n    def eval_c():\n        return cases('c'), bool\n"
    )
    done = calipers("run", "evals.py:eval_a", "evals.py:eval_c", "--name", "pr", "--fail-under", "0")
    assert done.exit_code == 0, done.stderr
    done = calipers("show", "pr")
    assert done.exit_code == 2
    assert "of a dataset without a name, with the task 'bool'" in done.stderr
    assert calipers("run", "evals.py:eval_a", "evals.py:eval_b", "--name", "x").exit_code == 2


@pytest.fixture
def twins(calipers, write):
    """Two evaluations of one dataset, run by one command without a name; nothing is right by the task of the first."""
    write("evals.py", TWO.replace('cases("b"), answer', 'cases("a"), bool'))
    write("least.yaml", "evaluators: {right: {at_least: 0.75}}\n")
    calipers("run", "evals.py", "--fail-under", "0", "--quiet")


@pytest.mark.parametrize("more", [(), ("--dataset", "a")], ids=["latest", "dataset"])
def test_runs_of_one_dataset_that_one_process_made_are_not_chosen_from(calipers, twins, kept, more):
    done = calipers("gate", "latest", "--policy", "least.yaml", *more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'latest' is one of several runs of the dataset 'a' that one process made: " in done.stderr
    newest, older = kept.runs()
    assert f"{newest.id} with the task 'bool'; {older.id} with the task 'answer'. Name one" in done.stderr
    for info, code in ((newest, 0), (older, 1)):
        assert calipers("gate", info.id, "--policy", "least.yaml").exit_code == code
    assert calipers("show", "latest").exit_code == 0


def test_the_name_of_a_task_does_not_choose_either(calipers, write):
    write("evals.py", TWO.replace('cases("b")', 'cases("a")'))
    write("least.yaml", "evaluators: {right: {at_least: 0.75}}\n")
    calipers("run", "evals.py", "--fail-under", "0", "--quiet")
    done = calipers("gate", "answer", "--policy", "least.yaml")
    assert done.exit_code == 2
    assert "'answer' is one of several runs of the dataset 'a' that one process made: " in done.stderr


def test_a_run_of_another_command_is_no_twin(calipers, twins):
    calipers("run", "evals.py:eval_b", "--quiet")
    for run in ("latest", "bool"):
        assert calipers("gate", run, "--policy", "least.yaml").exit_code == 0


def test_the_time_out_of_kept_runs_bounds_their_times(calipers, write):
    write("evals.py", NUMBERS)
    write("time.yaml", "duration: {at_most: 5}\n")
    for name, options in (("free", ()), ("limited", ("--task-timeout", "10"))):
        calipers("run", "evals.py:eval_good", "--name", name, "--quiet", "--fail-under", "0", *options)
        done = calipers("gate", name, "--policy", "time.yaml", "--out", "json:-")
        (found,) = [each for each in json.loads(done.stdout)["findings"] if each["subject"] == "task time"]
        assert (found["outcome"], found["approximate"]) == ("PASS", name == "free")


def test_a_further_look_at_the_same_agent_has_less_of_the_doubt(calipers, write):
    write("evals.py", NUMBERS)
    write("gate.yaml", "evaluators: {positive: {at_least: 0.85}}\n")

    def judged(n):
        calipers(
            "run", "evals.py:eval_good", "--limit", str(n), "--name", "pr", "--quiet", "--fail-under", "0"
        )
        return verdict()

    def verdict():
        return json.loads(calipers("gate", "pr", "--policy", "gate.yaml", "--out", "json:-").stdout)

    first, again, second = judged(60), verdict(), judged(120)
    assert [each["look"] for each in (first, again, second)] == [1, 1, 2]
    assert first["confidence"] == again["confidence"] == pytest.approx(0.96)
    assert second["confidence"] == pytest.approx(0.995)
    assert any("look 2 at the same agent" in note for note in second["notes"])
    write("gate.yaml", "evaluators: {positive: {at_least: 0.84}}\n")
    assert verdict()["look"] == 1


def test_judging_again_with_more_labels_is_a_further_look(calipers, write):
    write("evals.py", NUMBERS)
    write(
        "gate.yaml", "evaluators: {positive: {at_least: 0.85, agreement: {labels: a.csv, corrects: true}}}\n"
    )
    calipers("run", "evals.py:eval_good", "--name", "pr", "--quiet", "--fail-under", "0")

    def look(labels):
        write("a.csv", "case,human\n" + "".join(f"n{name},true\n" for name in range(labels)))
        return json.loads(calipers("gate", "pr", "--policy", "gate.yaml", "--out", "json:-").stdout)["look"]

    assert [look(5), look(5), look(8)] == [1, 1, 2]
