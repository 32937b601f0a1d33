import re

from calipers.stores import open_store


def test_the_section_has_each_test_with_its_pass_rate_and_its_evaluators(folder):
    folder.write(
        "test_it.py",
        """
def brief(output):
    return len(output) < 6

both = Dataset(name="capitals", cases=dataset.cases, evaluators=[EqualsExpected(), brief])

@pytest.mark.calipers(both)
@pytest.mark.parametrize("model", [paris, right])
def test_models(model, case, evaluate_case):
    assert evaluate_case(model).name == case.name

def test_mean(evaluate):
    assert_mean(evaluate(Dataset(cases=dataset.cases, evaluators=[lambda output: len(output)]), right),
                "function", at_least=1)
""",
    )
    done = folder.pytest("-q", "--calipers-seed=1")
    assert done.code == 0
    drawn = re.compile("[├─●┤ ]+")
    assert [drawn.sub(" ", line).strip() for line in done.section.splitlines()] == [
        "test_it.py::test_models[paris]",
        "Passed 1 of 3 cases 33.3 % [6.1, 79.2] 95 % Wilson interval",
        "Evaluator Kind Result [95 % interval] 0 % 100 % n",
        "EqualsExpected assertion 33.3 % [6.1, 79.2] 3",
        "brief assertion 100.0 % [43.9, 100.0] 3",
        "",
        "test_it.py::test_models[right]",
        "Passed 2 of 3 cases 66.7 % [20.8, 93.9] 95 % Wilson interval",
        "Evaluator Kind Result [95 % interval] 0 % 100 % n",
        "EqualsExpected assertion 100.0 % [43.9, 100.0] 3",
        "brief assertion 66.7 % [20.8, 93.9] 3",
        "",
        "test_it.py::test_mean",
        "No pass rate: nothing was asserted.",
        "Evaluator Kind Result [95 % interval] n",
        "function score 6.00 [-0.57, 12.57] 3",
        "",
        "seed 1: --calipers-seed=1 draws the same again",
    ]
    silent = folder.pytest("-q", "-q")
    assert "calipers" not in silent.out
    no_terminal = folder.pytest("-p", "no:terminal")
    assert (no_terminal.code, no_terminal.out, no_terminal.err) == (0, "", "")


CHOSEN = """
def length(output):
    return len(output)

scored = Dataset(cases=dataset.cases, evaluators=[EqualsExpected(), length])

@pytest.mark.calipers(scored, task=paris)
def test_chosen(): ...

def test_gate(evaluate, gate):
    gate(evaluate(dataset, right), at_least=0.2, margin=0.9, baseline="pytest")
"""


def test_a_rate_of_chosen_cases_is_not_shown_as_one_and_is_no_baseline(folder):
    folder.write("test_it.py", CHOSEN)
    whole = folder.pytest("-q", "--calipers-store=runs.db", "--lf")
    assert "Passed 1 of 3 cases   33.3 %" in whole.section
    told = "2 of 3 cases, chosen: passed 0 of 2 attempts. That is no pass rate: run all cases to measure it."
    options = ("-q", "--calipers-store=runs.db", "--deselect=test_it.py::test_gate")
    workers = ("calipers.pytest_plugin", "xdist.plugin")
    names = ("test_it.py::test_chosen[Peru]", "test_it.py::test_chosen[Chad]")
    for chosen in (
        folder.pytest("--lf", *options),
        folder.pytest("-k", "Peru or Chad", *options),
        folder.pytest(*options, *names),
        folder.pytest("-n2", *options, *names, plugins=workers),
    ):
        assert told in chosen.section, chosen.out
        assert "length: mean of these 5" in chosen.section
        assert "interval" not in chosen.section
    with open_store(folder.path / "runs.db", existing=True) as store:
        runs = store.runs()
        assert [run.status for run in runs] == [*["interrupted"] * 4, "finished"]
        assert str(store.report(runs[0].id).incomplete) == "test_it.py::test_chosen: 2 of 3 cases, chosen"
    gated = folder.pytest("-q", "--calipers-store=runs.db", "--calipers-inconclusive=fail", "-k", "test_gate")
    assert gated.counts == {"passed": 1, "deselected": 3}, "against the whole session"


def test_what_evaluators_and_cases_are_called_cannot_disturb_the_section(folder):
    folder.write(
        "test_it.py",
        """
def hostile(output):
    return {"\\x1b[31m[bold]red\\n=== FAILURES ===": True, "名" * 200: False}

@pytest.mark.calipers(Dataset(cases=[Case(name="[/bold]\\x1b[2J", inputs=1)], evaluators=[hostile]), task=str)
def test_it(): ...
""",
    )
    done = folder.pytest("-q", "--color=yes", COLUMNS="30")
    assert r"\x1b[31m[bold]red\n=== FAILURES" in done.section
    assert "\x1b[31m[bold]" not in done.out
    assert "\x1b[2J" not in done.out
    assert "\x1b[1m" in done.section, "colours are there where they are asked for"
    ascii_only = folder.pytest("-q", "--color=no", PYTHONIOENCODING="ascii")
    assert ascii_only.section.isascii()
    assert "[--" in ascii_only.section
    assert "\x1b" not in ascii_only.out


def test_of_very_many_tests_the_first_are_shown_with_the_number_of_the_others(folder):
    folder.write(
        "test_it.py",
        """
@pytest.mark.parametrize("number", range(23))
def test_it(number, evaluate):
    evaluate(dataset, right)
""",
    )
    section = folder.pytest("-q").section
    assert section.count("Passed 3 of 3 cases") == 20
    assert "… and 3 more tests: --calipers-out=report.html shows all" in section


def test_evaluators_that_gave_no_result_are_named_with_the_reason(folder):
    folder.write(
        "test_it.py",
        """
from calipers import Skipped

def path(output):
    return Skipped("the attempt has no trace")

def test_it(evaluate):
    evaluate(Dataset(cases=[Case(inputs=1), Case(inputs=2)], evaluators=[path, lambda output: True]), str)

@pytest.mark.calipers(Dataset(cases=[Case(inputs=1)], evaluators=[path]), task=str)
def test_skipped(): ...
""",
    )
    done = folder.pytest("-q")
    assert "path: skipped in all 2 attempts: the attempt has no trace" in done.section
    failures = done.out.partition("= calipers =")[0]
    assert "path: skipped: the attempt has no trace" in failures
    assert "the evaluators above were skipped" in failures
    assert "add an evaluator" not in failures


# ---------------------------------------------------------------------- the log of GitHub Actions


PLUGINS = ("calipers.pytest_plugin", "xdist.plugin")

FORGED = """
hostile = Dataset(cases=[Case(name="::error::forged", inputs=1, expected_output=2)], evaluators=[EqualsExpected()])

@pytest.mark.calipers(hostile, task=str)
def test_it(): ...
"""


def test_in_github_actions_nothing_in_the_summary_is_a_command(folder):
    folder.write("test_it.py", FORGED)
    for plugins, more in (PLUGINS[:1], []), (PLUGINS, ["-n1"]):
        lines = folder.pytest("-q", *more, plugins=plugins, GITHUB_ACTIONS="true").out.splitlines()
        (start,) = (number for number, line in enumerate(lines) if line.startswith("::stop-commands::"))
        end = lines.index(f"::{lines[start].removeprefix('::stop-commands::')}::")
        commands = [number for number, line in enumerate(lines) if line.startswith("::error")]
        assert commands, "pytest shows the name of the case at the beginning of a line"
        assert all(start < number < end for number in commands)
        assert any(start < number < end for number, line in enumerate(lines) if "= calipers =" in line)
    elsewhere = folder.pytest("-q", GITHUB_ACTIONS="")
    assert "stop-commands" not in elsewhere.out
    folder.write("test_it.py", "def test_ordinary(): ...\n")
    assert "stop-commands" not in folder.pytest("-q", GITHUB_ACTIONS="true").out, "nothing was measured"
