"""The documentation keeps up with the code: every public name is on a reference page, and hand-made tables are whole."""

import ast
import re
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from pydoc import locate

import pytest

import calipers.errors
import calipers.evaluators
from calipers.data.evaluator_styles import _SOURCES
from calipers.report.report_evaluator import ReportEvaluator
from calipers.run.dataset import EvaluateOptions
from calipers.spans import SpanQuery

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
PACKAGES = [
    *(
        "calipers",
        "evaluators",
        "judges",
        "files",
        "matching",
        "stats",
        "comparison",
        "spans",
        "plugins",
        "testing",
        "sandbox",
        "stores",
        "exchange",
        "gate",
        "models",
        "voice",
    ),
    *("voice.adapters", "voice.demo", "voice.parsers", "voice.perturbations", "voice.recognition"),
    "voice.synthesizers",
    *("rollouts", "rollouts.attacks", "rollouts.demo", "rollouts.moderators"),
    "rollouts.strategies",
    "search",
    "search.mutations",
]


@cache
def documented():
    """The paths of the objects that reference pages show: `::: calipers.data.case.Case`."""
    return [
        path
        for page in PAGES
        for path in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]


@cache
def resolve(path):
    """The object at a dotted path; a module that shares its name with a function is reached by import."""
    try:
        return import_module(path)
    except ImportError:
        home, _, name = path.rpartition(".")
        return getattr(import_module(home), name)


def public_names():
    for package in PACKAGES:
        name = package if package == "calipers" else f"calipers.{package}"
        module = import_module(name)
        yield from ((name, public, getattr(module, public)) for public in module.__all__)
    for name, value in vars(calipers.errors).items():
        if isinstance(value, type) and value.__module__ == "calipers.errors":
            yield "calipers.errors", name, value


def rows(page, first_column):
    """The first cells of the table that has this heading."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    table = text.split(f"| {first_column} |", 1)[1].split("\n\n", 1)[0]
    return [line.split("|")[1] for line in table.splitlines()[2:]]


def code_in(cells):
    return [name for cell in cells for name in re.findall(r"`(\w+)", cell)]


@cache
def shown():
    """Which objects reference pages show: some cannot be hashed, and equal ones are not the same."""
    return {id(resolve(path)) for path in documented()}


def test_every_public_name_is_on_a_reference_page():
    names = {f"{module}.{name}": value for module, name, value in public_names()}
    assert not [f"put `::: {path}` on a page" for path, value in names.items() if id(value) not in shown()]


def test_every_reference_leads_to_something():
    for path in documented():
        assert resolve(path) is not None


def test_nothing_is_on_two_places_of_the_reference():
    assert sorted(set(documented())) == sorted(documented())


def test_the_table_of_parameters_lists_what_a_function_may_ask_for():
    assert sorted(code_in(rows("how-to/write-an-evaluator.md", "parameter"))) == sorted(_SOURCES)


def test_the_table_of_options_lists_those_of_a_run():
    assert code_in(rows("how-to/control-a-run.md", "option")) == list(EvaluateOptions.__annotations__)


def test_the_table_of_conditions_lists_those_of_a_span_query():
    text = (ROOT / "docs/how-to/read-spans.md").read_text(encoding="utf-8")
    table = text.split("| about | keys |", 1)[1].split("\n\n", 1)[0]
    assert sorted(re.findall(r"`([a-z]+_[a-z_]*)`", table)) == sorted(SpanQuery.__annotations__)


@pytest.mark.parametrize(
    ("heading", "of_reports"), [("evaluator", False), ("report evaluator", True)], ids=["attempts", "reports"]
)
def test_the_tables_of_built_in_evaluators_are_whole(heading, of_reports):
    base = {"Evaluator", "ReportEvaluator"}
    kinds = {name: getattr(calipers.evaluators, name) for name in calipers.evaluators.__all__}
    built_in = {
        name
        for name, kind in kinds.items()
        if name not in base and isinstance(kind, type) and hasattr(kind, "as_spec")
    }
    expected = {name for name in built_in if issubclass(kinds[name], ReportEvaluator) is of_reports}
    listed = code_in(rows("how-to/built-in-evaluators.md", heading))
    assert sorted(listed) == sorted(expected)
    assert expected


def floors() -> dict[str, tuple[str, ...]]:
    """What `tests/test_architecture.py` says of the floors."""
    tests = ast.parse((ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8"))
    return next(
        ast.literal_eval(node.value)
        for node in tests.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLOORS"
    )


def test_the_floors_are_told_as_they_are():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.split("| floor | packages |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    told = {line.split("|")[1].strip(): re.findall(r"`(\w+)`", line) for line in table}
    assert told == {floor: list(packages) for floor, packages in floors().items()}


def test_the_picture_of_the_floors_shows_every_package():
    drawn = (ROOT / "docs" / "floors.svg").read_text(encoding="utf-8")
    shown = re.findall(r">([a-z_]+)</text>", drawn)
    packages = [name for name in chain(*floors().values()) if name not in {"errors", "__main__"}]
    assert shown == packages


def test_the_modules_that_the_architecture_names_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = set(chain(*floors().values()))
    named = {name for name in re.findall(r"`(\w+(?:\.\w+)+)`", text) if name.partition(".")[0] in packages}
    assert len(named) > 30
    for name in named:
        assert locate(f"calipers.{name}") is not None, (
            f"docs/architecture.md names {name}, which is not there"
        )


def test_the_usual_changes_name_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| you add |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    assert len(table) == 15
    for row in table:
        paths = re.findall(r"`([\w/.-]+/[\w.-]+)`", row)
        assert paths, row
        for path in paths:
            home = ROOT if path.startswith(("docs/", "tests/")) else ROOT / "src" / "calipers"
            there = (home / path).parent if "NAME" in path else home / path
            assert there.exists(), f"CONTRIBUTING.md names {path}, which is not there"
