"""The template in `examples/plugin`, installed with pip into a fresh environment and used as its reader would use it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

import calipers

TEMPLATE = Path(__file__).resolve().parents[2] / "examples" / "plugin"


def run(*command, cwd=TEMPLATE):
    env = {
        **os.environ,
        "CALIPERS_STORE": "memory:",  # the template is a folder of the checkout: nothing is left in it
        "COLUMNS": "80",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, timeout=300, cwd=cwd, env=env
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment in which the template is installed.

    Calipers and what it depends on are found where they are already: what is tested is the package, and not a download.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    paths = [Path(calipers.__file__).parents[1], sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    (Path(place) / "calipers_here.pth").write_text(
        "\n".join(map(str, dict.fromkeys(paths))), encoding="utf-8"
    )
    options = ["--no-deps", "--quiet"]
    if find_spec("hatchling"):  # what builds the package is here; else pip fetches it
        options.append("--no-build-isolation")
    done = run(sys.executable, "-m", "pip", "--python", python, "install", *options, TEMPLATE)
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def test_it_is_installed_as_a_package_of_its_own(python):
    done = run(
        python, "-c", "import calipers_citations; print(calipers_citations.__file__)", cwd=python.parent
    )
    assert done.stderr == ""
    assert Path(done.stdout).is_relative_to(python.parent.parent), "not taken from the checkout"


def test_python_finds_it_without_being_told_its_name(python):
    code = """
from calipers.plugins import PluginManager

manager = PluginManager()
manager.load_plugins(strict=True)
(loaded,) = manager.plugins
print(loaded.name, loaded.version, loaded.source, manager.get_evaluators())
"""
    done = run(python, "-c", code)
    assert done.stderr == ""
    assert done.stdout.strip() == (
        "citations 0.1.0 calipers-citations 0.1.0, calipers_citations:CitationsPlugin [CitesSources(minimum=1)]"
    )


def test_the_command_line_lists_it_and_its_evaluators(python):
    done = run(python, "-m", "calipers", "plugins", "--json")
    assert done.returncode == 0, done.stderr
    (plugin,) = json.loads(done.stdout)["plugins"]
    assert plugin["summary"] == "Does an answer cite its sources?"
    assert plugin["evaluators"] == ["CitesSources", "cites_only", "citations"]
    page = run(python, "-m", "calipers", "evaluators", "CitesSources").stdout
    assert "minimum  int, default 1. How many are enough; at least one." in page


def test_a_dataset_file_names_its_evaluators_with_parameters(python):
    command = (python, "-m", "calipers", "run", "cases.yaml", "--task", "builtins:str", "--json")
    assert run(*command, "--no-plugins").returncode == 3, "it is left out"
    done = run(*command)
    (evaluation,) = json.loads(done.stdout)["evaluations"]
    rates = {name: each["passed"] for name, each in evaluation["report"]["summaries"].items()}
    assert rates == {"CitesSources": 2, "CitesSources_2": 1, "cites_only": 3}
    assert done.returncode == 1


def test_its_view_writes_a_report(python):
    command = (
        python,
        "-m",
        "calipers",
        "run",
        "cases.yaml",
        "--task",
        "builtins:str",
        "--plugin",
        "citations",
    )
    done = run(*command, "--out", "citations:-")
    assert done.stdout.splitlines() == [
        "- <https://example.org/history>: with two sources",
        "- <https://example.org/tower>: with a source, with two sources",
    ]


def test_its_own_tests_pass(python):
    others = ("anyio", "hypothesispytest", "langsmith_plugin", "xdist")  # they take long to load
    left_out = [word for name in ("cacheprovider", *others) for word in ("-p", f"no:{name}")]
    done = run(python, "-m", "pytest", "-q", *left_out, "tests")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_in_its_readme_runs(python):
    (code,) = re.findall(
        r"```python\n(.*?)```", (TEMPLATE / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    done = run(python, "-c", f"{code}\nprint(report.counts().cases, report.pass_rate().value)")
    assert done.stderr == ""
    assert done.stdout.split()[0] == "3"


def test_its_readme_names_every_file():
    readme = (TEMPLATE / "README.md").read_text(encoding="utf-8")
    files = [path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    named = [
        path.relative_to(TEMPLATE).as_posix()
        for path in files
        if path.name not in {"__init__.py", "README.md"}
    ]
    assert named
    assert [name for name in named if name not in readme] == []
