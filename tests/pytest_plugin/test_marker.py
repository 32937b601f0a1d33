import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.pytest_plugin.marker import _UNESCAPED, _ascii, case_ids, named_cases

# ---------------------------------------------------------------------- from cases to tests


def test_a_dataset_becomes_one_test_per_case(folder):
    folder.write(
        "test_it.py",
        """
import unittest
hostile = Dataset(
    cases=[Case(name=name, inputs=1) for name in ["a b/c::d[1]", "new\\nline", "é", "\\x1b[31mred", "x" * 300, "x" * 301]],
    evaluators=[lambda output: True],
)

@pytest.mark.calipers(dataset)
@pytest.mark.parametrize("model", ["small", "large"])
def test_both(model, case):
    assert case.inputs in CAPITALS

class TestGroup:
    @pytest.mark.calipers(dataset, task=right)
    def test_method(self):
        pass

@pytest.mark.calipers(Dataset(cases=[Case(inputs=1), Case(inputs=2, name="two")]))
def test_without_names(case, request):
    assert request.node.name == f"test_without_names[{case.name}]"

@pytest.mark.calipers(hostile)
def test_hostile(case):
    pass
""",
    )
    listed = folder.pytest("--collect-only", "-q", "--calipers-out", "out.json")
    assert listed.code == 0
    assert listed.out.splitlines()[:17] == [
        *[f"test_it.py::test_both[{m}-{c}]" for m in ("small", "large") for c in ("France", "Peru", "Chad")],
        *[f"test_it.py::TestGroup::test_method[{c}]" for c in ("France", "Peru", "Chad")],
        "test_it.py::test_without_names[Case 1]",
        "test_it.py::test_without_names[two]",
        "test_it.py::test_hostile[a b/c::d[1]]",
        r"test_it.py::test_hostile[new\nline]",
        r"test_it.py::test_hostile[\xe9]",
        r"test_it.py::test_hostile[\x1b[31mred]",
        f"test_it.py::test_hostile[{'x' * 80}...]",
        f"test_it.py::test_hostile[{'x' * 80}..._2]",
    ]
    assert not (folder.path / "out.json").exists(), "nothing was run, so there is nothing to write"
    chosen = folder.pytest(
        "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-k", "Peru or Case", "test_it.py"
    )
    assert (chosen.code, chosen.counts) == (0, {"passed": 4, "deselected": 13})
    by_name = folder.pytest(
        "-q", "test_it.py::test_hostile[a b/c::d[1]]", "test_it.py::test_both[small-Chad]"
    )
    assert (by_name.code, by_name.counts) == (0, {"passed": 2})


@given(st.lists(st.text(max_size=120), unique=True))
def test_the_names_of_tests_are_different_and_bounded_and_short_ones_stay(names):
    ids = case_ids(names, _ascii)
    assert len(set(map(_ascii, ids))) == len(names)
    assert all(len(_ascii(each)) <= 90 for each in ids)
    short = [name for name in names if len(_ascii(name)) <= 80]
    assert case_ids(short, _ascii) == short


def test_names_stay_readable_for_those_who_asked_pytest_for_it(folder):
    folder.write("pytest.ini", f"[pytest]\n{_UNESCAPED} = true\n")
    folder.write(
        "test_it.py",
        """
cases = [Case(name=name, inputs=name, expected_output=name) for name in ["你好", "bell\\x07"]]

@pytest.mark.calipers(Dataset(cases=cases, evaluators=[EqualsExpected()]), task=str)
def test_it(): ...
""",
    )
    done = folder.pytest("-v")
    assert done.counts == {"passed": 2}
    assert "test_it.py::test_it[你好]" in done.out
    assert r"test_it.py::test_it[bell\x07]" in done.out
    assert "test_it.py::test_it\nPassed 2 of 2 cases" in done.section, "all cases are one test in the summary"


def test_an_object_with_invoke_is_a_task_for_the_marker_and_for_the_fixtures(folder):
    folder.write(
        "test_it.py",
        """
class Agent:
    name = "agent"

    def invoke(self, input_text):
        return CAPITALS[input_text]

@pytest.mark.calipers(dataset, task=Agent())
def test_marked(): ...

@pytest.mark.calipers(dataset)
def test_case(evaluate_case):
    assert_passed(evaluate_case(Agent()))

def test_all(evaluate):
    assert evaluate(dataset, Agent()).name == "agent"
""",
    )
    done = folder.pytest("-q")
    assert (done.code, done.counts) == (0, {"passed": 7})


def test_cases_without_a_name_get_that_of_the_report_and_are_left_alone():
    unnamed, named = Case(inputs=1), Case(inputs=2, name="Case 1")
    first, second = named_cases([unnamed, named])
    assert (first.name, first.inputs) == ("Case 1_2", 1)
    assert second is named
    assert unnamed.name is None


# ---------------------------------------------------------------------- what is refused

REFUSED = {
    "calipers()": "takes a Dataset and then options by name, got none",
    "calipers([1, 2])": "takes a Dataset and then options by name, got [1, 2]",
    "calipers(dataset, right)": "takes a Dataset and then options by name, got Dataset(name='capitals'",
    "calipers('x.yaml')": "got 'x.yaml': if that is a file, write Dataset.from_file('x.yaml')",
    "calipers(__import__('pathlib').Path('x.yaml'))": "write Dataset.from_file('x.yaml')",
    "calipers(Dataset(cases=(Case(inputs=n) for n in [1])))": "is lazy, and pytest has to know all tests before",
    "calipers(Dataset(cases=iter([Case(inputs=1)])))": (
        "Dataset(cases=list(dataset.cases), evaluators=dataset.evaluators), or evaluate it in one test"
    ),
    "calipers(Dataset(cases=[]))": "has no cases: there is nothing to test",
    "calipers(dataset, task='an agent')": (
        "task= must be a function of a case's inputs, an object with invoke, or the name of a fixture that gives one, got 'an "
    ),
    "calipers(dataset, repeat=2)": "repeat= without task=: the body of the test makes the attempt; give the marker the task",
    "calipers(dataset, repeat=2, min_pass=1)": "repeat= and min_pass= without task=",
    "calipers(dataset, concurrent=True)": "concurrent= without task=",
    "calipers(dataset, task=right, concurrent=4)": "concurrent= must be True or False, got 4",
    "calipers(dataset, task=right, repeat=0)": "whole numbers from 1, min_pass at most repeat, got 0 and 0",
    "calipers(dataset, task=right, repeat=2, min_pass=3)": "min_pass at most repeat, got 2 and 3",
    "calipers(dataset, task=right, timeout=3)": "knows no option 'timeout', did you mean 'task_timeout'? It takes",
    "calipers(dataset, taks=right)": "option 'taks', did you mean 'task'? It takes task, repeat, min_pass, concurrent, budget, engine, eval",
    "calipers(dataset, task=right, keep='failed')": "knows no option 'keep'. It takes task, repeat, min_pass, concurrent, budget, engine, eval",
    "calipers(dataset, zz=1, task=right, yy=2)": "knows no option 'zz', 'yy'. It takes",
}


def test_a_marker_that_cannot_be_meant_is_an_error_of_its_file_in_words(folder):
    for number, mark in enumerate(REFUSED):
        folder.write(f"test_{number:02}.py", f"@pytest.mark.{mark}\ndef test_it(case): pass\n")
    done = folder.pytest("-q")
    assert done.code == 2
    errors = done.out.split("ERROR collecting ")[1:]
    assert len(errors) == len(REFUSED)
    for error, (mark, problem) in zip(errors, REFUSED.items(), strict=True):
        assert problem in error.partition("short test summary")[0], mark
    assert "marker.py" not in done.out, "no traceback of the plugin"


NOTHING = """
@pytest.mark.calipers(dataset)
def test_it({}): ...
"""
TWO = """
other = Dataset(cases=[Case(inputs=1)], evaluators=dataset.evaluators)

@pytest.mark.calipers(dataset, task=right)
@pytest.mark.calipers(other, task=right)
def test_it(): ...
"""


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        (NOTHING.format(""), "test_it would measure nothing: give the marker task=, or let the test take"),
        (NOTHING.format("evaluate"), "test_it would measure nothing"),
        (TWO, "this test has several calipers markers, and only one dataset can be what it is about"),
        (TWO.replace("def test_it()", "class TestIt:\n    def test_it(self)"), "several calipers markers"),
    ],
    ids=["no argument", "another argument", "two markers", "two markers of a class"],
)
def test_a_test_that_cannot_measure_what_its_markers_say_is_an_error_of_its_file(folder, test, problem):
    folder.write("test_it.py", test)
    done = folder.pytest("-q")
    assert (done.code, done.counts) == (2, {"error": 1})
    assert problem in done.out
    assert "marker.py" not in done.out


def test_what_a_test_is_about_can_be_said_nearer_to_it_and_taken_by_its_fixtures(folder):
    folder.write(
        "test_it.py",
        """
pytestmark = pytest.mark.calipers(dataset, task=right)
one = Dataset(cases=[Case(name="one", inputs="France", expected_output="Paris")], evaluators=[EqualsExpected()])

@pytest.fixture
def record(evaluate_case):
    return evaluate_case(paris)

def test_of_the_module(): ...

@pytest.mark.calipers(one, task=paris)
class TestNearer:
    def test_of_the_class(self): ...

    @pytest.mark.calipers(one)
    def test_of_the_function(self, record):
        assert_passed(record)

@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.calipers(one)), 2])
@pytest.mark.calipers(dataset, task=right)
def test_of_a_parameter(n): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"passed": 8, "error": 3}
    assert done.out.partition("short test summary")[0].count("this test has several calipers markers") == 3


def test_a_test_that_takes_evaluate_case_and_makes_no_attempt_fails(folder):
    folder.write(
        "test_it.py",
        """
@pytest.mark.calipers(dataset)
def test_forgot(case, evaluate_case):
    if case.inputs == "Peru":
        pytest.skip("a test that was not run to its end has its own news")
    if case.inputs == "Chad":
        assert_passed(evaluate_case(right))

@pytest.mark.calipers(dataset, task=right)
def test_measured_by_the_marker(evaluate_case): ...

@pytest.mark.calipers(dataset)
def test_case_alone(case): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"failed": 1, "passed": 7, "skipped": 1}
    (failure,) = done.out.partition("= calipers =")[0].split("FAILURES")[1].split("test_forgot[France]")[1:]
    assert failure.splitlines()[1] == (
        "nothing was measured: the test takes evaluate_case and made no attempt with it; "
        "call evaluate_case(task), or take case alone"
    )
    assert "src/calipers" not in done.out


def test_a_marker_that_comes_to_nothing_is_no_pass(folder):
    folder.write(
        "test_it.py",
        """
import unittest
class TestOld(unittest.TestCase):
    @pytest.mark.calipers(dataset, task=right)
    def test_method(self):
        pass

def test_unmarked(evaluate_case):
    evaluate_case(right)

@pytest.mark.calipers(dataset, task=right, max_concurrency=0)
def test_bad_option():
    pass

@pytest.mark.calipers(dataset, task=lambda: 1)
def test_bad_task():
    pass
""",
    )
    done = folder.pytest("-q")
    assert done.code == 1
    assert done.counts == {"failed": 6, "error": 2}
    assert "not of unittest.TestCase" in done.out
    assert "mark the test with @pytest.mark.calipers(dataset), or use evaluate(dataset, task)" in done.out
    assert "max_concurrency must be a whole number from 1, or None, got 0" in done.out
    failures = done.out.partition("short test summary")[0]
    assert failures.count("TaskContractError: the task <function <lambda>") == 3
    assert failures.count("must accept one argument") == 3, "once for each test"
    assert "During handling" not in done.out
    assert "Traceback" not in done.out
    assert "marker.py" not in done.out


# ---------------------------------------------------------------------- attempts of the marker


def test_a_marker_with_a_task_fails_the_tests_whose_attempts_do_not_pass(folder):
    folder.write(
        "test_it.py",
        """
from calipers.testing import BlockingScriptedTask, InTurn

turns = BlockingScriptedTask({
    "France": InTurn("Paris", "no", "Paris"), "Peru": InTurn("no", "Lima", "no"), "Chad": InTurn(*["N'Djamena"] * 3),
})
ran = []

@pytest.mark.calipers(dataset, task=paris)
def test_once(case):
    assert case.inputs != "Peru", "the body does not run if the attempt did not pass"

@pytest.mark.calipers(dataset, task=turns, repeat=3, min_pass=2, max_concurrency=1)
def test_repeated(): ...

@pytest.mark.calipers(dataset, task=right)
def test_body(case):
    assert case.inputs != "Peru", "the body runs after the attempt"

def broken(country):
    raise LookupError(country)

@pytest.mark.calipers(dataset, task=broken)
def test_broken(): ...

@pytest.mark.calipers(Dataset(cases=[Case(inputs="x")], evaluators=[lambda output: 0.5]), task=str)
def test_nothing_asserted(): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"failed": 8, "passed": 5}
    failures = done.out.partition("= calipers =")[0]
    once = failures.split("test_once[Peru]")[1].split("\n___")[0]
    assert once.splitlines()[1:] == [
        "Peru: did not pass EqualsExpected",
        "  inputs    'Peru'",
        "  expected  'Lima'",
        "  got       'Paris'",
        "  EqualsExpected: expected 'Lima', got 'Paris'",
    ], "the reason, and nothing of the plugin"
    assert "Peru: 1 of 3 attempts passed, and 2 should have:" in failures
    assert "test_repeated[France]" not in failures
    assert "the body runs after the attempt" in failures
    assert "the body does not run" not in failures
    assert "Chad: the task failed: LookupError: Chad" in failures
    assert "raise LookupError(country)" in failures
    assert "add an evaluator that returns True or False" in failures
    assert "src/calipers" not in failures


@pytest.mark.parametrize("choice", ["-x", "--sw"])
def test_after_the_first_failure_pytest_ends_where_it_should_and_can_go_on_there(folder, choice):
    folder.write("test_it.py", "@pytest.mark.calipers(dataset, task=paris)\ndef test_it(): ...\n")
    done = folder.pytest("-q", choice)
    assert done.counts == {"failed": 1, "passed": 1}
    assert "INCOMPLETE: the tests ended early: " in done.section
    if choice == "-x":
        again = folder.pytest("-q", "--lf", "--collect-only")
        assert "test_it.py::test_it[Peru]" in again.out
        assert "France" not in again.out


def test_a_conversation_is_answered_by_a_chat_function_with_state_and_by_a_target(folder):
    folder.write(
        "test_it.py",
        """
from calipers import UserTurn

talk = Dataset(cases=[Case(name="talk", turns=["Hello", UserTurn("And now?", expected_output="turn 2 of 3")])])

async def chat(messages, state):
    state["turns"] = state.get("turns", 0) + 1
    return f"turn {state['turns']} of {len(messages)}"

class Bot:
    def reply(self, messages):
        return f"turn {len(messages) // 2 + 1} of {len(messages)}"

@pytest.mark.calipers(talk, task=chat)
def test_chat(): ...

@pytest.mark.calipers(talk, task=Bot())
def test_bot(): ...
""",
    )
    done = folder.pytest("-q")
    assert (done.code, done.counts) == (0, {"passed": 2})
