import ast
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "calipers.pytest_plugin"

ORDINARY = """
import pytest
import sys
import warnings

@pytest.fixture
def case():
    return "mine"

@pytest.fixture
def evaluate():
    return "mine, too"

def test_passes(case, evaluate):
    assert (case, evaluate) == ("mine", "mine, too")

def test_fails():
    assert 1 == 2

@pytest.mark.skip(reason="a reason")
def test_skipped():
    pass

@pytest.mark.xfail(reason="a reason")
def test_expected_to_fail():
    raise ValueError

@pytest.mark.parametrize("case", ["of my own"])
def test_parametrized(case):
    assert case == "of my own"

def test_error(nothing_like_that):
    pass

def test_nothing_was_loaded():
    loaded = {name for name in sys.modules if name.partition(".")[0] in {"calipers", "rich", "msgspec"}}
    assert loaded <= {"calipers", "calipers.process", "calipers.process.lazy_exports", "calipers.pytest_plugin", "calipers.pytest_plugin.hooks",
                      "calipers.pytest_plugin.session", "calipers.pytest_plugin.hooks"}
"""


def test_the_plugin_is_there_wherever_calipers_is_installed():
    (found,) = entry_points(group="pytest11", name="calipers")
    assert found.value == PLUGIN


def test_loading_the_plugin_loads_the_hooks_and_nothing_else_of_calipers():
    code = (
        f"import pytest, sys; before = set(sys.modules); import {PLUGIN}; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "calipers",
        "calipers.process",
        "calipers.process.lazy_exports",
        PLUGIN,
        f"{PLUGIN}.hooks",
        f"{PLUGIN}.session",
    }


@pytest.mark.parametrize("module", ["hooks", "session"])
def test_what_every_pytest_loads_keeps_to_names_that_pytest_has_had_for_long(module):
    """An entry point that cannot be loaded ends every pytest of its environment, whether it uses the plugin or not."""
    in_pytest_7 = {
        "Config",
        "ExitCode",
        "FixtureRequest",
        "Function",
        "Item",
        "Mark",
        "Metafunc",
        "Parser",
        "Session",
    }
    in_pytest_7 |= {"mark", "StashKey", "TestReport", "UsageError", "fail", "fixture", "hookimpl"}
    source = Path(import_module(f"{PLUGIN}.{module}").__file__).read_text(encoding="utf-8")
    used = {
        node.attr
        for node in ast.walk(ast.parse(source))  # an annotation in quotes is no attribute
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest"
    }
    assert used <= in_pytest_7
    assert "(wrapper=" not in source, "older ones know hookwrapper only"


def test_a_suite_that_does_not_use_it_runs_as_if_it_were_not_there(folder):
    (folder.path / "test_it.py").write_text(ORDINARY)
    arguments = ["-p", "no:cacheprovider", "-rA", "--strict-config", "--color=no"]
    without = folder.pytest(*arguments, plugins=[], fresh=True)
    with_it = folder.pytest(*arguments, fresh=True)

    def told(outcome):
        lines = outcome.out.replace("INI: ", "").splitlines()
        return [
            line.partition(" in 0.")[0].rstrip("= ") for line in lines if "available fixtures" not in line
        ]

    assert without.code == with_it.code == 1
    assert told(with_it) == told(without)
    assert with_it.err == without.err
    assert with_it.counts == {"failed": 1, "passed": 3, "skipped": 1, "xfailed": 1, "error": 1}


def test_its_marker_options_and_fixtures_are_told_to_those_who_ask(folder):
    folder.write("test_it.py", "")
    assert (
        "@pytest.mark.calipers(dataset, *, task=None, repeat=1, min_pass=None"
        in folder.pytest("--markers").out
    )
    shown = folder.pytest("--help").out
    assert "--calipers-out=FORMAT:PATH" in shown
    assert "--calipers-seed=N" in shown
    fixtures = folder.pytest("--fixtures").out
    assert "evaluate [session scope]" in fixtures
    assert "evaluate_case -- " in fixtures


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--calipers-out=jsn:out.json", "no report format is called 'jsn', did you mean 'json'?"),
        ("--calipers-seed=many", "invalid int value: 'many'"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_runs(folder, argument, problem):
    folder.write("test_it.py", "def test_it(): raise SystemExit('ran')")
    done = folder.pytest(argument)
    assert done.code == 4
    assert problem in done.err
    assert not done.out


def test_the_seed_of_the_session_is_that_of_every_evaluation(folder):
    folder.write(
        "test_it.py",
        """
from calipers import current_attempt

def draw(country):
    return current_attempt().seed

def seeds(report):
    return [record.output for record in report.cases]

def test_seeds(evaluate):
    report = evaluate(dataset, draw)
    assert report.seed == 7
    assert seeds(report) == seeds(dataset.evaluate_sync(draw, seed=7))
    assert seeds(evaluate(dataset, draw, seed=8)) == seeds(dataset.evaluate_sync(draw, seed=8))

@pytest.mark.calipers(dataset)
def test_case(case, evaluate_case):
    alone = evaluate_case(draw).output
    assert alone in seeds(dataset.evaluate_sync(draw, seed=7)), "the same as in a run over all cases"
""",
    )
    done = folder.pytest("-q", "--calipers-seed=7")
    assert done.counts == {"passed": 4}, done.out
    assert "seed 7: --calipers-seed=7 draws the same again" in done.section


def test_it_can_be_found_and_left_out_by_its_name(folder):
    folder.write("test_it.py", "@pytest.mark.calipers(dataset, task=right)\ndef test_it(): ...\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    slow = [
        word
        for name in ("anyio", "asyncio", "hypothesispytest", "langsmith_plugin", "xdist", "xdist.looponfail")
        for word in ("-p", f"no:{name}")
    ]
    for arguments, said in ([], "3 passed"), (["-p", "no:calipers"], "'calipers' not found in `markers`"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--strict-markers", *slow, *arguments],
            cwd=folder.path,
            env=env,
            capture_output=True,
            text=True,
        )
        assert said in done.stdout
