"""`calipers run` as its users see it: what is run, what is printed, and with which code it ends."""

import json
import os

import pytest

from calipers.views.formats import read_report

PASSES = """
    def eval_passes():
        return numbers(1, 2), task
"""
FAILS = """
    def eval_fails():
        return numbers(1, -2), task
"""
ERRORS = """
    def eval_errors():
        return numbers(1, "boom"), task
"""
BREAKS = """
    def judge(output):
        raise RuntimeError("no verdict")

    def eval_breaks():
        return numbers(1, evaluators=[judge]), task
"""
EMPTY = """
    def eval_empty():
        return numbers(), task
"""
UNJUDGED = """
    def eval_unjudged():
        return numbers(1, evaluators=[]), task
"""
SKIPPED = """
    def eval_skipped():
        from calipers.evaluators import EqualsExpected

        return numbers(1, evaluators=[EqualsExpected()]), task
"""
SCORED = """
    def eval_scored():
        return numbers(1, 2, evaluators=[size]), task
"""
BROKEN = """
    def cases():
        yield Case(inputs=1)
        raise OSError("the file is gone")

    def eval_broken():
        return Dataset(cases=cases(), evaluators=[positive]), task
"""


CHAT = """
    async def chat(messages, state):
        state["turns"] = state.get("turns", 0) + 1
        return f"turn {state['turns']} of {len(messages)} messages"

    class Bot:
        name = "bot"

        def reply(self, messages):
            return chat(messages, {"turns": len(messages) // 2})

    bot = Bot()
"""
TALK = """
    name: talk
    cases:
    - name: two turns
      turns:
      - Hello
      - {user: And now?, expected_output: turn 2 of 3 messages}
"""


# ---------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("text", "args", "code", "message"),
    [
        (PASSES, [], 0, ""),
        (FAILS, [], 1, "Failed: 1 of 2 cases did not pass"),
        (FAILS, ["--repeat", "3"], 1, "Failed: 3 of 6 attempts did not pass"),
        (FAILS, ["--fail-under", "0.5"], 0, ""),
        (FAILS, ["--fail-under", "50%"], 0, ""),
        (FAILS, ["--fail-under", "0.6"], 1, "Failed: the pass rate is 0.5, which is below 0.6"),
        (FAILS, ["--fail-under", "positive=0.5", "--fail-under", "size=-1"], 0, ""),
        (FAILS, ["--fail-under", "size=0"], 1, "Failed: size is -0.5, which is below 0"),
        (FAILS, ["--fail-under", "positve=0.5"], 2, "did you mean 'positive'? There are 'positive', 'size'."),
        (FAILS, ["--fail-under", "nine"], 2, "--fail-under must be a number or NAME=number, got 'nine'"),
        (FAILS, ["--fail-under", "90"], 2, "a pass rate is from 0 to 1; write 0.9 or 90%"),
        (ERRORS, [], 3, "Error: 1 of 2 tasks did not finish"),
        (ERRORS, ["--fail-under", "0.5"], 3, "Error: 1 of 2 tasks did not finish"),
        (ERRORS, ["--fail-under", "0.5", "--allow-errors"], 0, ""),
        (ERRORS, ["--allow-errors"], 1, "Failed: 1 of 2 cases did not pass"),
        (BREAKS, [], 3, "Error: evaluator judge did not finish on 1 attempt"),
        (BROKEN, [], 3, "could not be read any further after 1 attempt: OSError: the file is gone"),
        (EMPTY, [], 4, "Error: there are no cases: nothing ran"),
        (
            UNJUDGED,
            [],
            4,
            "Error: no evaluator gave a result: nothing was judged (give the dataset evaluators)",
        ),
        (
            SKIPPED,
            [],
            4,
            "Error: no evaluator gave a result: nothing was judged\n  - EqualsExpected: skipped in the only attempt: ",
        ),
        (SCORED, [], 0, "Nothing was asserted, so nothing could fail: --fail-under NAME=NUMBER"),
        (SCORED, ["--fail-under", "0.5"], 1, "the pass rate should be at least 0.5 and was not measured"),
    ],
)
def test_the_exit_code_says_what_came_of_it_and_a_sentence_says_why(
    calipers, write_eval, text, args, code, message
):
    write_eval(text)
    done = calipers("run", "--no-store", *args)
    assert (done.exit_code, message in done.stderr) == (code, True), done.output
    if not message:
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("texts", "args", "code"),
    [
        ([PASSES, FAILS], [], 1),
        ([FAILS, EMPTY], [], 4),
        ([EMPTY, FAILS, ERRORS], [], 3),
        ([ERRORS, FAILS], ["--fail-under", "missing=1"], 2),
    ],
)
def test_of_several_outcomes_the_one_that_leaves_least_to_trust_decides(
    calipers, write_eval, texts, args, code
):
    write_eval("".join(texts))
    assert calipers("run", *args).exit_code == code


@pytest.mark.parametrize("args", [[], ["--filter", "x"]], ids=["all", "some"])
def test_a_dataset_that_cannot_even_begin_is_an_error_and_not_an_empty_one(calipers, write_eval, args):
    write_eval(BROKEN.replace("        yield Case(inputs=1)\n", "        if False: yield\n"))
    done = calipers("run", *args)
    assert done.exit_code == 3
    assert "the file is gone" in done.stderr
    assert "nothing ran" not in done.stderr


def test_a_threshold_for_an_unknown_evaluator_costs_neither_the_report_nor_its_file(
    calipers, write_eval, folder
):
    write_eval(PASSES)
    done = calipers("run", "--fail-under", "missing=1", "--out", "report.json")
    assert done.exit_code == 2
    assert "Passed 2 of 2 cases" in done.stdout
    assert len(read_report(folder / "report.json").cases) == 2


def test_a_threshold_concerns_the_evaluations_that_have_its_evaluator(calipers, write_eval):
    write_eval(PASSES + SCORED)
    assert calipers("run", "--fail-under", "positive=1").exit_code == 0
    assert calipers("run", "--fail-under", "size=1.6").exit_code == 1


def test_a_label_has_no_rate_to_compare(calipers, write_eval):
    write_eval("""
        def colour(output):
            return "red"

        def eval_colours():
            return numbers(1, evaluators=[colour]), task
    """)
    done = calipers("run", "--fail-under", "colour=0.5")
    assert done.exit_code == 2
    assert "it gives labels, which have no rate to compare" in done.stderr


# ---------------------------------------------------------------------- what is run


def test_a_folder_runs_every_evaluation_file_in_it_and_below_in_order(calipers, write_eval, write):
    write_eval(PASSES, "b/eval_second.py")
    write_eval(PASSES, "a/eval_first.py")
    write("a/other.py", "raise AssertionError('not an evaluation')")
    for skipped in (".hidden", "node_modules", "__pycache__", "venv"):
        write(f"{skipped}/eval_no.py", "raise AssertionError('not ours')")
    write("venv/pyvenv.cfg", "")
    done = calipers("run", ".", "--json")
    assert [each["target"] for each in json.loads(done.stdout)["evaluations"]] == [
        "a/eval_first.py:eval_passes",
        "b/eval_second.py:eval_passes",
    ]


def test_the_names_of_several_evaluations_stand_above_their_reports(calipers, write_eval):
    write_eval(PASSES + FAILS)
    done = calipers("run")
    assert "== eval_numbers.py:eval_passes ==" in done.stdout
    assert "== eval_numbers.py:eval_fails ==" in done.stdout
    assert "Failed: eval_numbers.py:eval_fails: 1 of 2 cases did not pass" in done.stderr


def test_faults_try_each_case_again_and_say_if_there_was_nothing_to_strike(calipers, write_eval):
    write_eval(PASSES)
    done = calipers("run", "--faults", "error", "--faults", "stale@0.5")
    assert "fault=stale@0.5" in done.stdout
    assert "no tool call went through the faults" in done.stdout
    wrong = calipers("run", "--faults", "eror")
    assert wrong.exit_code == 2
    assert "unknown fault 'eror' (did you mean 'error'?); known faults: latency, error" in wrong.stderr
    assert "no fault was given: add --faults" in calipers("run", "--harm", "safe").stderr


def test_a_folder_without_evaluations_says_how_to_get_one(calipers):
    done = calipers("run")
    assert done.exit_code == 4
    assert "there is no eval_*.py in the current folder (`calipers init` makes an example)" in done.stderr


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("dataset = numbers(1)", "eval_numbers.py"),
        ("def eval_it(): return numbers(1)", "eval_numbers.py"),
        ("def eval_it(): return numbers(1), task", "eval_numbers.py:eval_it"),
        ("def eval_it(): return numbers(1), task", "eval_numbers:eval_it"),
        ("def whatever(): return numbers(1), task", "eval_numbers:whatever"),
        (
            "class Suite:\n    @staticmethod\n    def make(): return numbers(1), task",
            "eval_numbers:Suite.make",
        ),
        ("found = numbers(1)", "eval_numbers:found"),
        ("async def eval_it(): return numbers(1), task", "eval_numbers.py"),
        ("def eval_it(): return numbers(1).evaluate_sync(task)", "eval_numbers.py"),
        ("async def eval_it(): return await numbers(1).evaluate(task)", "eval_numbers.py"),
    ],
)
def test_what_can_be_run(calipers, write_eval, text, target):
    write_eval(text)
    done = calipers("run", target)
    assert done.exit_code == 0, done.output
    assert "Passed 1 of 1 case" in done.stdout


AGENT = """
class Agent:
    name = "agent"
    def __len__(self): return 0  # a task is one whatever `bool` says of it
    def invoke(self, input_text): return input_text

"""


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("def eval_it(): return numbers(1), Agent()", []),
        ("def eval_it(): return numbers(1)\ntask = Agent()", []),
        ("dataset = numbers(1)\ntask = str\nagent = Agent()", ["--task", "eval_numbers:agent"]),
        ("def eval_it(): return numbers(1), str\nagent = Agent()", ["--task", "eval_numbers:agent"]),
    ],
    ids=["returned", "of the module", "instead of the module's", "instead of the returned"],
)
def test_an_object_with_invoke_is_a_task_wherever_one_is_expected(calipers, write_eval, text, args):
    write_eval(AGENT + text)
    done = calipers("run", *args)
    assert done.exit_code == 0, done.output
    assert "agent on numbers" in done.stdout


def test_an_async_evaluation_and_its_task_share_an_event_loop(calipers, write_eval):
    write_eval("""
        import asyncio

        async def eval_loop():
            here = asyncio.get_running_loop()

            async def same_loop(inputs):
                return int(asyncio.get_running_loop() is here)

            return numbers(1), same_loop
    """)
    assert calipers("run").exit_code == 0


def test_a_dataset_file_runs_with_a_task_from_a_module_or_a_file(calipers, write, write_eval):
    write("cases.yaml", "cases: [{inputs: 1, expected_output: 1}]\nevaluators: [EqualsExpected]\n")
    write_eval("", "app.py")
    for address in ("app:task", "app.py:task"):
        assert calipers("run", "cases.yaml", "--task", address).exit_code == 0
    done = calipers("run", "cases.yaml")
    assert done.exit_code == 2
    assert "'cases.yaml' needs a task to run on its cases: give --task module:function" in done.stderr


def test_a_dataset_file_is_read_with_the_types_evaluators_and_columns_that_options_name(
    calipers, write, write_eval
):
    write_eval("def near(output, by=1):\n    return abs(output) <= by", "app.py")
    write("cases.yaml", "cases: cases.csv\nevaluators: [{near: {by: 3}}]\n")
    write("cases.csv", "question,why\n3,it is at the edge\n4,it is beyond\n")
    args = ["--evaluator-type", "app:near", "--column", "inputs=question", "--types", "builtins:int"]
    done = calipers("run", "cases.yaml", "--task", "app:task", *args, "--fail-under", "near=0.5")
    assert done.exit_code == 0, done.output
    assert "Passed 1 of 2 cases" in done.stdout


def test_a_dataset_file_that_cannot_be_read_is_told_with_its_places(calipers, write, write_eval):
    write_eval("", "app.py")
    write("cases.yaml", "cases:\n  - imputs: 1\n")
    done = calipers("run", "cases.yaml", "--task", "app:task")
    assert done.exit_code == 3
    assert "cases.yaml:2:5" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("target", "args", "code", "message"),
    [
        ("cases.yaml", ["--column", "inputs"], 2, "--column must be FIELD=COLUMN"),
        ("cases.yaml", ["--types", "nowhere:X"], 2, "module not found: nowhere"),
        ("cases.txt", [], 2, "does not tell its format"),
        ("gone.yaml", [], 3, "nowhere.jsonl"),
    ],
)
def test_what_options_say_of_a_dataset_file_and_what_is_wrong_with_it_are_told_apart(
    calipers, write, write_eval, target, args, code, message
):
    write_eval("", "app.py")
    write("cases.yaml", "cases: [{inputs: 1}]\n")
    write("cases.txt", "cases: [{inputs: 1}]\n")
    write("gone.yaml", "cases: nowhere.jsonl\n")
    done = calipers("run", target, "--task", "app:task", *args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr


def test_a_file_of_cases_without_evaluators_says_where_they_go(calipers, write, write_eval):
    write_eval("", "app.py")
    write("cases.jsonl", '{"inputs": 1}\n')
    done = calipers("run", "cases.jsonl", "--task", "app:task")
    assert done.exit_code == 4
    assert "write a YAML file with `cases: cases.jsonl` and `evaluators: [...]`, and run that" in done.stderr
    write("cases.yaml", "cases: cases.jsonl\nevaluators: [{Equals: 1}]\n")
    assert calipers("run", "cases.yaml", "--task", "app:task").exit_code == 0


def test_a_task_option_replaces_the_task_of_a_file(calipers, write_eval, write):
    write_eval(FAILS)
    write("app.py", "def better(inputs):\n    return abs(inputs)\n")
    assert calipers("run", "--task", "app:better").exit_code == 0


def test_an_environment_of_rollouts_is_no_task_and_the_message_says_what_makes_it_one(
    write, write_eval, calipers
):
    write_eval(FAILS)
    write(
        "app.py",
        "from calipers.rollouts import Environment\nbot = Environment(lambda text: 'no', ['a' * 500])\n",
    )
    result = calipers("run", "--task", "app:bot")
    assert result.exit_code == 2
    assert "…: expected a function of the inputs" in result.stderr
    assert "becomes a task as calipers.rollouts.RolloutTask(environment)" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nowhere.py"], 2, "file not found: nowhere.py"),
        (["nowhere"], 2, "file not found: nowhere"),
        (["nowhere:f"], 2, "module not found: nowhere"),
        (["eval_numbers:eval_pases"], 2, "has no 'eval_pases'; did you mean 'eval_passes'"),
        (["eval_numbers:positive"], 2, "has parameters without a value"),
        (["--task", "eval_numbers:dataset_name"], 2, "has no 'dataset_name'"),
        (
            ["--task", "eval_numbers:__name__"],
            2,
            "expected a function of the inputs, or an object with invoke",
        ),
        (["eval_numbers:__name__"], 2, "is 'eval_numbers': expected a function or a Dataset"),
        (["--task", "eval_numbers"], 2, "'eval_numbers' names no object: write module:name"),
        (["--repeat", "0"], 2, "Invalid value for '--repeat'"),
        (["--task-timeout", "0"], 2, "Invalid value for '--task-timeout'"),
        (["--task-timeout", "nan"], 2, "Invalid value for '--task-timeout': 'nan' is not a time"),
        (["--out", "jsn:report"], 2, "no report format is called 'jsn', did you mean 'json'?"),
        (["--out", "a.json", "--out", "html:./a.json"], 2, "two --out write to './a.json'"),
        (["--out", "x{nme}.json"], 2, "unknown placeholder {nme}; {name} stands for the evaluation"),
        (["--out", "json:new/"], 2, "--out 'new/' is a folder: name a file in it"),
        (["--out", "json:."], 2, "--out '.' is a folder: name a file in it"),
        (["--json", "--out", "json:-"], 2, "exclude each other"),
        (
            [
                "--types",
                "builtins:int",
                "--column",
                "inputs=x",
                "--evaluator-type",
                "no:X",
                "--allow-module",
                "m",
            ],
            2,
            "so --types, --evaluator-type, --allow-module, --column would have no effect",
        ),
        (["--param", "x"], 2, "--param must be NAME=VALUE, got 'x'"),
        (
            ["--param", "x=1"],
            2,
            "--param x: no parameter 'x' in eval_numbers.py:eval_passes; there are no parameters",
        ),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(calipers, write_eval, args, code, message):
    write_eval(PASSES)
    done = calipers("run", *args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def eval_it(): return 3",
            "eval_numbers.py:eval_it gave 3: expected (dataset, task), a Dataset or a Report",
        ),
        (
            "def eval_it(): return numbers(1), 3",
            "gave a dataset with the task 3, which is not a function and has no method `invoke`: write a function",
        ),
        ("del task\ndef eval_it(): return numbers(1)", "gives a dataset and no task: return (dataset, task)"),
        ("", "eval_numbers.py has nothing to run: define functions named eval_*"),
    ],
)
def test_an_evaluation_that_gives_something_else_is_told_what_is_expected(
    calipers, write_eval, text, message
):
    write_eval(text)
    done = calipers("run")
    assert done.exit_code == 2
    assert message in done.stderr


def test_what_an_evaluation_raises_is_shown_from_its_own_first_line_and_the_others_go_on(
    calipers, write_eval
):
    write_eval(
        PASSES
        + """
    def eval_raises():
        raise LookupError("no such model")
    """
    )
    done = calipers("run")
    assert done.exit_code == 3
    assert "eval_raises failed:" in done.stderr
    assert "LookupError: no such model" in done.stderr
    assert "running.py" not in done.stderr
    assert "Passed 2 of 2 cases" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def eval_it(): raise SystemExit('no key')",
        "async def eval_it(): raise LookupError('no key')",
        "def eval_it(): return Dataset(cases=[Case(name='no key', inputs=1)] * 2)",
    ],
)
def test_however_an_evaluation_fails_it_is_an_error_with_its_own_line(calipers, write_eval, text):
    write_eval(text)
    done = calipers("run")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "eval_numbers.py:eval_it failed:" in done.stderr
    assert "in eval_it" in done.stderr
    assert "no key" in done.stderr


def test_a_file_that_cannot_be_imported_is_shown_with_its_own_traceback_and_nothing_runs(
    calipers, write_eval
):
    write_eval(PASSES, "eval_a.py")
    write_eval("import not_there_at_all", "eval_b.py")
    done = calipers("run")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "importing eval_b.py failed:" in done.stderr
    assert "ModuleNotFoundError: No module named 'not_there_at_all'" in done.stderr
    assert "importlib" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "def eval_it(): return load_dataset(PATH), task",
        "async def eval_it(): return load_dataset(PATH), task",
        "dataset = load_dataset(PATH)",
    ],
    ids=["function", "async", "import"],
)
def test_what_is_wrong_with_a_dataset_file_is_told_without_the_code_that_loads_it(
    calipers, write, write_eval, text
):
    write("data/cases.yaml", "cases:\n  - imputs: 1\nevaluators: [Mine]\n")
    write_eval(
        f"""
        from pathlib import Path
        from calipers.files import load_dataset
        PATH = Path(__file__).with_name("data") / "cases.yaml"
        {text}
        """
    )
    done = calipers("run")
    assert (done.exit_code, done.stdout) == (3, "")
    first, *rest = done.stderr.splitlines()
    assert first == "Error: 3 problems in data/cases.yaml:"
    assert [line.partition(": ")[0] for line in rest] == ["  data/cases.yaml:2:5"] * 2 + [
        "  data/cases.yaml:3:14"
    ]
    # The file is loaded by Python code, so the argument is the way out there.
    assert "evaluator_types=[...]" in done.stderr


def test_what_several_targets_name_runs_once(calipers, write_eval):
    write_eval(PASSES)
    done = calipers(
        "run", ".", "eval_numbers.py", "./eval_numbers.py:eval_passes", "eval_numbers:eval_passes", "--json"
    )
    assert [each["target"] for each in json.loads(done.stdout)["evaluations"]] == [
        "eval_numbers.py:eval_passes"
    ]


def test_functions_that_were_imported_run_where_they_are_defined(calipers, write_eval, write):
    write_eval(PASSES, "eval_a.py")
    write(
        "eval_b.py",
        "from eval_a import eval_passes, numbers, task\n\ndef eval_b():\n    return numbers(1), task\n",
    )
    done = calipers("run", "--json")
    assert [each["target"] for each in json.loads(done.stdout)["evaluations"]] == [
        "eval_a.py:eval_passes",
        "eval_b.py:eval_b",
    ]


# ---------------------------------------------------------------------- how it is run


def test_parameters_are_filled_and_converted(calipers, write_eval):
    write_eval("""
        def eval_many(count: int, sign: int = 1):
            return numbers(*(sign * (i + 1) for i in range(count))), task
    """)
    done = calipers("run", "--param", "count=3")
    assert "Passed 3 of 3 cases" in done.stdout
    assert calipers("run", "--param", "count=3", "--param", "sign=-1").exit_code == 1
    assert "give --param count=..." in calipers("run").stderr
    assert "--param count=x does not fit eval_numbers.py:eval_many, which takes int" in (
        calipers("run", "--param", "count=x").stderr
    )


def test_the_options_of_a_run_reach_it(calipers, write_eval, folder):
    write_eval("""
        def eval_seeds():
            from calipers import current_attempt
            return numbers(1), lambda inputs: 1 + current_attempt().seed % 97
    """)
    args = ["--repeat", "2", "--seed", "7", "--name", "mine", "--max-concurrency", "1", "--task-timeout", "5"]
    args += ["--evaluator-timeout", "5", "--out", "report.json", "--retry", "0", "--no-progress"]
    assert calipers("run", *args).exit_code == 0
    first = read_report(folder / "report.json")
    assert (first.name, first.seed, first.repeat, len(first.cases)) == ("mine", 7, 2, 2)
    calipers("run", *args)
    assert [c.output for c in read_report(folder / "report.json").cases] == [c.output for c in first.cases]


def test_retry_counts_the_tries_beyond_the_first(calipers, write_eval, folder):
    write_eval("""
        tries = []

        def flaky(inputs):
            tries.append(inputs)
            if len(tries) < 3:
                raise OSError("busy")
            return 1

        def eval_flaky():
            return numbers(1), flaky
    """)
    assert calipers("run", "--retry", "2", "--out", "report.json").exit_code == 0
    assert read_report(folder / "report.json").cases[0].tries == 3


def test_options_that_cannot_change_a_finished_report_are_named(calipers, write_eval):
    write_eval("def eval_it(): return numbers(1).evaluate_sync(task)")
    done = calipers("run", "--limit", "1", "--seed", "0")
    assert "eval_it returned a finished report: --limit, --seed had no effect on it" in done.stderr
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--filter", "number 1"], ["number 1", "number 10", "number 11"]),
        (["--filter", "NUMBER 2"], ["number 2"]),
        (["--filter", "*1"], ["number 1", "number 11"]),
        (["--filter", "number ?", "--limit", "2"], ["number 1", "number 2"]),
        (["--filter", "10", "--filter", "2"], ["number 10", "number 2"]),
        (["--tag", "even"], ["number 10", "number 2"]),
        (["--tag", "even", "--tag", "odd", "--limit", "3"], ["number 1", "number 10", "number 11"]),
        (["--tag", "even", "--filter", "number 1"], ["number 10"]),
        (["--limit", "1"], ["number 1"]),
    ],
)
@pytest.mark.parametrize("lazy", [False, True], ids=["list", "lazy"])
def test_cases_are_selected_by_name_by_tag_and_by_number(calipers, write_eval, folder, args, names, lazy):
    write_eval(f"""
        def eval_some():
            cases = [
                Case(name=f"number {{n}}", inputs=n, tags=["odd" if n % 2 else "even"]) for n in (1, 10, 11, 2)
            ]
            return Dataset(cases=iter(cases) if {lazy} else cases, evaluators=[positive]), task
    """)
    assert calipers("run", *args, "--out", "report.jsonl").exit_code == 0
    assert sorted(case.name for case in read_report(folder / "report.jsonl").cases) == names


@pytest.mark.parametrize("lazy", [False, True], ids=["list", "lazy"])
def test_a_filter_that_matches_nothing_is_an_outcome_of_its_own_and_names_what_is_near(
    calipers, write_eval, folder, lazy
):
    write_eval(f"""
        def eval_some():
            cases = [Case(name=name, inputs=1, tags=["fast"]) for name in ("refund", "parrot")]
            return Dataset(cases=iter(cases) if {lazy} else cases, evaluators=[positive]), task
    """)
    done = calipers("run", "--filter", "refnud", "--out", "report.json", "--out", "lines.jsonl")
    assert (done.exit_code, done.stdout) == (4, "")
    assert "nothing ran: no case is called 'refnud'; did you mean 'refund'?" in done.stderr
    assert not [path for path in folder.iterdir() if path.suffix in {".json", ".jsonl"}]
    assert "no case has the tag 'slow'; there are 'fast'" in calipers("run", "--tag", "slow").stderr


def test_a_filter_may_leave_out_whole_evaluations(calipers, write_eval):
    write_eval("""
        def eval_one():
            return numbers(1), task

        def eval_two():
            return numbers(2), task
    """)
    done = calipers("run", "--filter", "number 2", "--json")
    assert done.exit_code == 0
    assert [each["target"] for each in json.loads(done.stdout)["evaluations"]] == ["eval_numbers.py:eval_two"]


# ---------------------------------------------------------------------- what is shown and written


def test_quiet_shows_only_what_is_wrong(calipers, write_eval):
    write_eval(FAILS)
    done = calipers("run", "--quiet", "--out", "report.json")
    assert (done.stdout, done.stderr) == ("", "Failed: 1 of 2 cases did not pass\n")


@pytest.mark.parametrize(
    ("args", "listed"),
    [
        ([], ["number -2"]),
        (["--include-cases", "all"], ["number -2", "number 1"]),
        (["--include-cases", "none"], []),
        (["--include-cases", "all", "--max-cases", "1"], ["number 1"]),
    ],
)
def test_the_attempts_that_are_listed_can_be_chosen(calipers, write_eval, args, listed):
    write_eval(FAILS)
    shown = calipers("run", *args).stdout
    assert [name for name in ("number -2", "number 1") if f"{name}  " in shown] == listed


def test_tracebacks_are_shown_on_request(calipers, write_eval):
    write_eval(ERRORS)
    assert 'raise ValueError("no number")' not in calipers("run").stdout
    assert 'raise ValueError("no number")' in calipers("run", "--tracebacks").stdout


def test_json_is_all_that_standard_output_gets_whatever_the_task_prints(calipers, write_eval):
    write_eval("""
        print("while importing")

        def loud(inputs):
            print("while running")
            return inputs

        def eval_loud():
            print("while preparing")
            return numbers(1, -2), loud
    """)
    done = calipers("run", "--json", "--fail-under", "0.75", "--fail-under", "positive=0.5")
    found = json.loads(done.stdout)
    assert done.stderr.count("while running") == 2
    assert (found["exit_code"], found["outcome"], found["problems"]) == (1, "failed", [])
    (evaluation,) = found["evaluations"]
    assert evaluation["thresholds"] == [
        {"evaluator": None, "minimum": 0.75, "value": 0.5, "met": False},
        {"evaluator": "positive", "minimum": 0.5, "value": 0.5, "met": True},
    ]
    assert evaluation["problems"] == ["the pass rate is 0.5, which is below 0.75"]
    report = evaluation["report"]
    assert (report["attempts"], report["cases"], report["passed"]) == (2, 2, 1)
    assert report["pass_rate"]["value"] == 0.5
    assert report["summaries"]["size"]["estimate"]["value"] == -0.5


def test_a_report_on_standard_output_is_alone_there(calipers, write_eval):
    write_eval(FAILS)
    done = calipers("run", "--out", "json:-")
    assert len(json.loads(done.stdout)["cases"]) == 2
    assert done.exit_code == 1


def test_reports_are_written_in_every_format_and_each_is_told(calipers, write_eval, folder):
    write_eval(PASSES)
    names = ["a.json", "b.jsonl", "c.csv", "d.md", "e.xml", "f.html", "sub/g.txt"]
    done = calipers("run", "--no-store", *(part for name in names for part in ("--out", name)))
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        f"Wrote {name}{': open it in a browser' if name == 'f.html' else ''}" for name in names
    ]
    assert all((folder / name).stat().st_size for name in names)


def test_files_are_written_where_the_command_was_given_wherever_the_task_goes(
    calipers, write_eval, folder, monkeypatch
):
    monkeypatch.chdir(folder)  # undone afterwards
    write_eval("""
        import os

        def eval_wanders():
            os.mkdir("elsewhere")
            os.chdir("elsewhere")
            return numbers(1), task
    """)
    assert calipers("run", "--out", "a.json", "--out", "b.jsonl", "--out", "c.csv").exit_code == 0
    assert {path.name for path in folder.iterdir()} >= {"a.json", "b.jsonl", "c.csv"}


def test_several_evaluations_write_to_files_of_their_own(calipers, write_eval, folder):
    write_eval(PASSES + FAILS)
    assert "2 evaluations would write to 'report.json': put {name} into the path" in (
        calipers("run", "--out", "report.json").stderr
    )
    calipers("run", "--out", "out/{name}.json")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["fails.json", "passes.json"]


@pytest.mark.parametrize(
    ("target", "out"),
    [
        ("c.yaml", "c.jsonl"),
        ("c.yaml", "json:./c.yaml"),
        ("c.yaml", "{name}.jsonl"),
        ("t.csv", "t.csv"),
        ("c.yaml", "text:app.py"),
        ("eval_numbers.py", "text:eval_numbers.py"),
        ("eval_numbers.py", "c.jsonl"),
        ("eval_later.py", "c.jsonl"),
    ],
)
def test_no_report_is_written_over_what_the_run_is_made_of(calipers, write, write_eval, folder, target, out):
    write("c.yaml", "cases: c.jsonl\nevaluators: [{Equals: 1}]\n")
    write("c.jsonl", '{"inputs": 1}\n')
    write("t.csv", "inputs\n1\n")
    write_eval("", "app.py")
    text = """
        from calipers.files import load_dataset

        {0}def eval_lazy():
            return load_dataset("c.jsonl"), task
    """
    write_eval(text.format(""))
    write_eval(text.format("async "), "eval_later.py")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = calipers("run", target, "--task", "app.py:task", "--out", out)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "would overwrite a file that the run is made of" in done.stderr
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_dataset_is_safe_from_the_report_of_an_earlier_one(calipers, write, write_eval, folder):
    write_eval("", "app.py")
    write("first.yaml", "cases: [{inputs: 1}]\nevaluators: [{Equals: 1}]\n")
    write("second.yaml", "cases: first.jsonl\nevaluators: [{Equals: 1}]\n")
    write("first.jsonl", '{"inputs": 1}\n')
    done = calipers("run", "first.yaml", "second.yaml", "--task", "app:task", "--out", "{name}.jsonl")
    assert (done.exit_code, done.stdout) == (2, "")
    assert (folder / "first.jsonl").read_text(encoding="utf-8") == '{"inputs": 1}\n'


def test_a_report_may_replace_an_earlier_one(calipers, write_eval):
    write_eval(PASSES)
    for _ in range(2):
        assert calipers("run", "--out", "report.json", "--out", "report.jsonl").exit_code == 0


def test_a_file_that_cannot_be_written_costs_neither_the_report_nor_the_other_files(
    calipers, write_eval, write, folder
):
    write_eval(PASSES)
    write("taken", "")
    bad = ["--out", "taken/a.json", "--out", "taken/b.jsonl", "--out", "taken/c.csv"]
    done = calipers("run", *bad, "--out", "good.json")
    assert done.exit_code == 3
    assert "Passed 2 of 2 cases" in done.stdout
    assert [f"'taken/{name}' could not be written" in done.stderr for name in ("a.json", "b.jsonl", "c.csv")]
    assert done.stderr.count("could not be written") == 3
    assert (folder / "good.json").exists()


def test_a_lazy_dataset_keeps_failures_only_while_lines_and_tables_hold_every_attempt(
    calipers, write_eval, folder
):
    write_eval("""
        def eval_lazy():
            cases = (Case(name=f"number {n}", inputs=n) for n in range(50))
            return Dataset(cases=cases, evaluators=[positive]), task
    """)
    outs = ["report.json", "lines.jsonl", "table.csv"]
    done = calipers("run", *(part for name in outs for part in ("--out", name)))
    assert done.exit_code == 1
    assert "Passed 49 of 50 cases" in done.stdout
    kept, lines = read_report(folder / "report.json"), read_report(folder / "lines.jsonl")
    assert [case.name for case in kept.cases] == ["number 0"]
    assert kept.pass_rate() == lines.pass_rate()
    assert len(lines.cases) == 50
    assert len((folder / "table.csv").read_text(encoding="utf-8").splitlines()) == 51
    assert "✓ number 7" in calipers("run", "--include-cases", "all").stdout


# ---------------------------------------------------------------------- conversations


@pytest.mark.parametrize("task", ["chat", "bot"])
def test_a_task_that_answers_conversations_runs_from_a_dataset_file_and_from_an_eval_file(
    write, calipers, task
):
    write("chat.py", CHAT)
    write("talk.yaml", TALK)
    write(
        "eval_talk.py",
        f"""
    from calipers import Dataset
    from chat import {task} as task

    dataset = Dataset.from_file("talk.yaml")
    """,
    )
    for target in (["talk.yaml", "--task", f"chat.py:{task}"], ["eval_talk.py"]):
        result = calipers("run", *target, "--out", "report.json")
        assert result.exit_code == 0, result.output
        report = read_report("report.json")
        assert report.name == task
        assert [each.value for each in report.cases[0].results] == [True]


def test_a_target_of_conversations_is_refused_where_no_case_has_turns(write, calipers):
    write("chat.py", CHAT)
    write("plain.yaml", "cases: [{inputs: Hello}]")
    result = calipers("run", "plain.yaml", "--task", "chat.py:bot", "--no-store")
    assert result.exit_code == 3
    assert "answers cases with turns, and these cases have inputs" in result.output


# ---------------------------------------------------------------------- in other processes


SIGNED = """
    import os
    from calipers import Case, Dataset, set_eval_attribute
    from calipers.evaluators import EqualsExpected

    def agent(inputs):
        set_eval_attribute("pid", os.getpid())
        return "SIGN" + inputs

    def eval_agent():
        cases = [Case(name="a", inputs="a", expected_output="SIGNa")]
        return Dataset(name="agent", cases=cases, evaluators=[EqualsExpected()]), agent
"""


def test_workers_call_the_very_files_that_were_loaded(calipers, write, folder):
    """Each file has a module of its own, though an import would find but one of them."""
    for sign in ("first", "second"):
        write(f"{sign}/eval_agent.py", SIGNED.replace("SIGN", sign))
    targets = ["first/eval_agent.py", "second/eval_agent.py"]
    done = calipers("run", *targets, "--engine", "processes:1", "--quiet", "--out", "json:{name}.json")
    assert (done.exit_code, done.output) == (0, "")
    reports = [read_report(file) for file in sorted(folder.glob("*.json"))]
    assert {report.cases[0].output for report in reports} == {"firsta", "seconda"}
    (pid,) = {report.cases[0].attributes["pid"] for report in reports}
    assert pid != os.getpid(), "one worker served both"


def test_an_engine_that_there_is_not_is_wrong_usage_and_so_is_one_with_a_tape(calipers, write):
    write("eval_agent.py", SIGNED)
    done = calipers("run", "--engine", "process", "--quiet")
    assert done.exit_code == 2
    assert "engine must be 'processes'" in done.output
    done = calipers("run", "--engine", "processes", "--record-tape", "a.tape")
    assert done.exit_code == 2
    assert "a tape is written and read by one" in done.output


def test_workers_count_costs_by_the_prices_of_the_project(calipers, write, folder):
    write("calipers.toml", '[prices."my-model"]\ninput = 1.0\noutput = 2.0\n')
    write(
        "eval_model.py",
        """
        from calipers import Case, Dataset
        from calipers.models.accounting import count
        from calipers.models.model_answer import Completion, Usage

        def agent(inputs):
            count(Completion("hello", usage=Usage(1_000_000, 500_000)), "openai:my-model")
            return "hello"

        dataset, task = Dataset(cases=[Case(inputs=n) for n in range(3)], evaluators=[lambda output: True]), agent
        """,
    )
    calipers("run", "--engine", "processes:1", "--quiet", "--out", "report.json")
    report = read_report(folder / "report.json")
    assert [case.metrics["cost"] for case in report.cases] == [2.0] * 3
    assert "my-model: input 1, output 2" in report.prices
