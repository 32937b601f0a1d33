"""The shape of the package: which module may import which, how large things are, and what never appears."""

import ast
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "calipers"

FLOORS = {
    "nouns": ("errors", "process", "data", "stats", "matching", "spans", "identity"),
    "judging": ("scoring", "report", "comparison", "gate"),
    "running": ("run", "engines"),
    "evaluators": ("sandbox", "models", "evaluators", "judges"),
    "rooms": ("agents", "voice", "rollouts", "search"),
    "doors": (
        "views",
        "plugins",
        "files",
        "stores",
        "exchange",
        "viewer",
        "testing",
        "pytest_plugin",
        "cli",
        "__main__",
    ),
}
"""The floors of `calipers`, from top to bottom, each with its packages in order: a package imports only those before it."""

ORDER = tuple(package for floor in FLOORS.values() for package in floor)
MOST_ENTRIES = 30
"""At the root of the package, besides PYTHONS_OWN: the packages of FLOORS and `errors`."""
PYTHONS_OWN = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "__pycache__"}

FRONT_DOORS = {
    ("calipers.data.case", "calipers.matching.match"),
    ("calipers.data.record", "calipers.matching.matcher_data"),
    ("calipers.data.context", "calipers.rollouts.graph_data"),
    ("calipers.run.dataset", "calipers.engines.engine"),
    ("calipers.run.dataset", "calipers.files.load"),
    ("calipers.run.dataset", "calipers.files.save"),
    ("calipers.run.dataset", "calipers.files.schema"),
    ("calipers.run.dataset", "calipers.process.loop"),
    ("calipers.run.dataset", "calipers.report.report_evaluator"),
    ("calipers.run.dataset", "calipers.report.shard"),
    ("calipers.run.dataset", "calipers.stores.journal"),
    ("calipers.run.dataset", "calipers.views.progress"),
    ("calipers.run.evaluation", "calipers.models.wire_limits"),
    ("calipers.engines.calls", "calipers.models.wire_limits"),
    ("calipers.run.evaluation", "calipers.rollouts.rollout_task"),
    ("calipers.run.task", "calipers.spans.attempt_trace"),
    ("calipers.data.evaluator", "calipers.process.loop"),
    ("calipers.files.case_data", "calipers.matching.matcher_data"),
    ("calipers.gate.policy", "calipers.files.policy_file"),
    ("calipers.identity.case_content", "calipers.matching.matcher_data"),
    ("calipers.comparison.accepted_traces", "calipers.files.baseline_file"),
    ("calipers.comparison.comparison", "calipers.views.notebook"),
    ("calipers.gate.verdict", "calipers.views.notebook"),
    ("calipers.pytest_plugin.session", "calipers.process.interrupt"),
    ("calipers.report.report", "calipers.comparison.comparison"),
    ("calipers.report.report", "calipers.views.comparison.terminal"),
    ("calipers.report.report", "calipers.views.frames"),
    ("calipers.report.report", "calipers.views.notebook"),
    ("calipers.report.report", "calipers.views.terminal"),
    ("calipers.rollouts.curves", "calipers.views.rollout_tree"),
    ("calipers.rollouts.rollout_evaluator", "calipers.exchange.metrics_files"),
    ("calipers.rollouts.graph", "calipers.views.notebook"),
    ("calipers.data.user_turn", "calipers.evaluators.equality"),
    ("calipers.data.trace", "calipers.views.notebook"),
    ("calipers.data.trace", "calipers.views.waterfall"),
    ("calipers.models.accounting", "calipers.agents.recording"),
    ("calipers.judges.judge", "calipers.files.project"),
    ("calipers.judges.pairwise", "calipers.stores.default_store"),
    ("calipers.stores.store", "calipers.comparison.evaluator_changes"),
    ("calipers.stores.sql_runs", "calipers.gate.looks"),
}
"""Methods that open a door to another module when they are called: one-line entry points, and nothing else.

Only these may import inside a function, apart from modules of their own package, and from commands."""

COMMANDS = "calipers.cli.commands."
"""Where a module holds the options of a command, and loads what the command does when it runs."""

TYPING_ONLY = {
    ("calipers.data.context", "calipers.spans"),
    ("calipers.run.dataset", "calipers.files.catalog"),
    ("calipers.run.dataset", "calipers.files.dataset_document"),
    ("calipers.run.dataset", "calipers.files.case_table"),
    ("calipers.run.dataset", "calipers.stores.store"),
    ("calipers.errors", "calipers.files.problem"),
}
"""Imports under `TYPE_CHECKING` that point to a later package."""

LAZY_EXPORTS = "__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())"
"""All the code that a front page may have."""

LONGEST_FUNCTION = 70
MOST_LOADED = 190
"""Modules that `calipers run` loads for a small dataset in YAML: what only some runs need loads late."""

ONE_MEANING = {
    "analyses": "what report evaluators found, drawn",
    "budget": "what a run, or a single attempt, may spend",
    "context": "an attempt as evaluators see it; and one made for a test",
    "csv_file": "a CSV file that is read, and one that is written",
    "demo": "a thing under test that needs no account",
    "drift": "what a run does otherwise than accepted, and how that is shown",
    "failure_groups": "failures that are alike",
    "files": "which files a view can be written to",
    "gemini": "Google's models",
    "google_adk": "agents of Google's Agent Development Kit",
    "html": "a view as a page",
    "judge": "an evaluator that asks a model, and how far to believe one",
    "markdown": "a view as Markdown",
    "openai": "OpenAI's models, and those that speak like them",
    "passport": "what was measured of a judge, and its text",
    "people_agreement": "how well people agree with each other, and how that is shown",
    "plan": "how many cases it takes, and how that is shown",
    "redaction": "secrets that are taken out",
    "result": "what an evaluator says",
    "reuse": "what an earlier run knows",
    "slices": "a run cut by a field",
    "statement": "what a report, a comparison or a verdict says, as data, and how a page draws it",
    "terminal": "a view as text",
}
"""Names of several modules, and the one thing that each of them means. A command and its action share a name, too."""

SENTENCES = {
    "message",
    "reason",
    "note",
    "problem",
    "sentence",
    "why",
    "incomplete",
    "said",
    "advice",
    "hint",
    "words",
}
ERRORS = {"error", "exception", "failure", "cause"}
LOOKING = {
    "startswith",
    "endswith",
    "find",
    "index",
    "partition",
    "rpartition",
    "split",
    "removeprefix",
    "removesuffix",
}
"""What stands for a sentence or an error in the source, and the methods that look into one."""

NOT_OUR_PROSE = {
    "calipers.cli.app": "click tells one error from another only by its message",
    "calipers.cli.completers": "click calls the word that is being typed `incomplete`",
    "calipers.comparison.columns": "why an attempt counts as lost is one of a closed set",
    "calipers.comparison.conclusion": "a comparison gives one advice of a closed set",
    "calipers.files.yaml_file": "PyYAML tells one error from another only by its message",
    "calipers.models.model_errors": "most providers have no code for a question that is too long",
    "calipers.models.openai": "a message is data there: the wire format has that word",
    "calipers.run.dataset": "words are the names of keyword arguments",
    "calipers.stores.postgresql": "a server that refuses a connection says why only in its message",
    "calipers.views.comparison.statement": "a comparison gives one advice of a closed set",
}
"""Modules that look into what others wrote, or into what only has the name of a sentence."""


class Import(NamedTuple):
    """One module of the package imports another."""

    importer: str
    imported: str
    when: str
    """`top`: when the importer is loaded. `late`: when a function is called. `typing`: only for type checkers."""


def module_name(path: Path) -> str:
    parts = ("calipers", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file, read when a first test asks for it: every process collects, and few run these tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


def trees() -> dict[str, ast.Module]:
    return {name: tree_of(path) for name, path in SOURCES.items()}


def imports_of(name: str, tree: ast.Module, *, is_package: bool = False) -> Iterator[Import]:
    """What a module imports from the package, and when."""
    package = name if is_package else name.rpartition(".")[0]

    def visit(node: ast.AST, when: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                continue  # no expression holds an import, and most of a file is expressions
            inside = when
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = "late"
            elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
                inside = "typing"
            if isinstance(child, ast.Import):
                targets = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                targets = list(targets_of(child, package))
            else:
                targets = []
            for target in targets:
                if target.partition(".")[0] == "calipers":
                    yield Import(name, target, inside)
            yield from visit(child, inside)

    return visit(tree, "top")


def targets_of(node: ast.ImportFrom, package: str) -> Iterator[str]:
    """The modules that `from … import …` names: an imported name may be a module itself."""
    parts = package.split(".")
    base = [*parts[: len(parts) - node.level + 1]] if node.level else []
    module = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        yield f"{module}.{alias.name}" if f"{module}.{alias.name}" in SOURCES else module


def package_of(module: str) -> str:
    """The module or package directly below `calipers`; empty for `calipers` itself."""
    return f"{module}.".split(".")[1]


@cache
def all_imports() -> list[Import]:
    return [
        found
        for name, tree in trees().items()
        for found in imports_of(name, tree, is_package=SOURCES[name].name == "__init__.py")
    ]


def points_ahead(found: Import) -> bool:
    """Whether an import leads to a later package, or to the package itself, whose names load everything."""
    importer, imported = package_of(found.importer), package_of(found.imported)
    if importer == imported or not importer:
        return False
    return not imported or ORDER.index(imported) > ORDER.index(importer)


# ---------------------------------------------------------------------- floors


def test_every_package_has_its_place_on_a_floor():
    present = {package_of(name) for name in SOURCES} - {""}
    missing = sorted(present - set(ORDER))
    advice = [
        f"{package} is on no floor: add it to FLOORS after {', '.join(needs) or 'nothing'}"
        for package in missing
        for needs in [
            sorted(
                {package_of(i.imported) for i in all_imports() if package_of(i.importer) == package}
                - {package}
            )
        ]
    ]
    assert not advice, "\n".join(advice)
    gone = sorted(set(ORDER) - present)
    assert not gone, f"FLOORS names what is not there any more: {gone}"
    assert len(set(ORDER)) == len(ORDER), "a package has one place"


def test_the_root_of_the_package_can_be_taken_in_at_a_glance():
    entries = {path.name for path in PACKAGE.iterdir()} - PYTHONS_OWN
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


@pytest.mark.parametrize(("when", "allowed"), [("top", set()), ("typing", TYPING_ONLY)])
def test_imports_point_one_way(when, allowed):
    ahead = {
        i[:2] for i in all_imports() if i.when == when and package_of(i.importer) in ORDER and points_ahead(i)
    }
    assert ahead == allowed, "an import leads to a later package: move the code, or the package in FLOORS"


@pytest.mark.parametrize("kinds", [("top",), ("top", "typing")], ids=" and ".join)
def test_no_module_imports_itself_by_a_detour(kinds):
    needs: dict[str, set[str]] = {name: set() for name in SOURCES}
    for importer, imported, when in all_imports():
        if when in kinds:
            needs[importer].add(imported)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"each of these imports the next: {' -> '.join(reversed(error.args[1]))}")


def test_the_front_doors_are_these_and_no_others():
    late = {
        i[:2]
        for i in all_imports()
        if i.when == "late"
        and package_of(i.importer) != package_of(i.imported)
        and not i.importer.startswith(COMMANDS)
    }
    assert late == FRONT_DOORS, "compare FRONT_DOORS with the imports inside functions"


def test_no_module_of_the_package_goes_through_its_front_page():
    through = {i[:2] for i in all_imports() if i.imported == "calipers"}
    assert not through, "import from the module that defines the name: `calipers` itself loads names late"


def test_the_reader_of_imports_tells_the_three_kinds_apart():
    source = """
import calipers.errors
from . import trace
from .result import Skipped
if TYPE_CHECKING:
    from calipers.report.report import Report
class A:
    from .case import Case
    def method(self):
        from calipers.views.terminal import print_report
        import rich
"""
    assert list(imports_of("calipers.data.x", ast.parse(source))) == [
        Import("calipers.data.x", "calipers.errors", "top"),
        Import("calipers.data.x", "calipers.data.trace", "top"),
        Import("calipers.data.x", "calipers.data.result", "top"),
        Import("calipers.data.x", "calipers.report.report", "typing"),
        Import("calipers.data.x", "calipers.data.case", "top"),
        Import("calipers.data.x", "calipers.views.terminal", "late"),
    ]
    inside = list(imports_of("calipers.spans", ast.parse("from .tree import SpanTree"), is_package=True))
    assert inside == [Import("calipers.spans", "calipers.spans.tree", "top")]
    above = list(imports_of("calipers.spans.tree", ast.parse("from ..errors import CalipersError")))
    assert above == [Import("calipers.spans.tree", "calipers.errors", "top")]


# ---------------------------------------------------------------------- names


def test_a_name_that_occurs_twice_means_the_same():
    places: dict[str, list[str]] = {}
    for name, path in SOURCES.items():
        if path.name != "__init__.py":
            places.setdefault(path.stem, []).append(name)
    halves = {f"calipers.cli.{half}" for half in ("commands", "actions")}
    twice = {
        stem: modules
        for stem, modules in places.items()
        if len([name for name in modules if name.rpartition(".")[0] not in halves]) > 1
    }
    assert sorted(twice) == sorted(ONE_MEANING), f"one name for one thing: {twice}"


# ---------------------------------------------------------------------- decisions


def decisions_on_prose(tree: ast.AST) -> list[str]:
    """Every place that looks into a sentence: a message, a reason, a note, or the text of an error."""

    def is_prose(node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]):
                return name in ERRORS
            case ast.Call(func=ast.Attribute(attr="lower" | "casefold" | "strip", value=value)):
                return is_prose(value)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name in SENTENCES
        return False

    def decides(node: ast.AST) -> bool:
        match node:
            case ast.Call(
                func=ast.Attribute(attr=method, value=value), args=[ast.Constant(value=str(found)), *_]
            ):
                return method in LOOKING and found != "\n" and is_prose(value)
            case ast.Compare(
                left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[value]
            ):
                return is_prose(value)
            case ast.Compare(
                left=value, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str())]
            ):
                return is_prose(value)
        return False

    return [ast.unparse(node) for node in ast.walk(tree) if decides(node)]


def test_no_code_looks_into_a_sentence_to_decide():
    found = {
        name: decisions
        for name, tree in trees().items()
        if not name.startswith("calipers.testing.")  # its servers read what clients send
        and (decisions := decisions_on_prose(tree))
    }
    assert sorted(found) == sorted(NOT_OUR_PROSE), f"decide by data, and make the sentence in a view: {found}"


def test_the_finder_of_decisions_on_prose_finds_them():
    source = """
if report.reason.startswith("interrupted"): ...
if "time-out" in str(error).lower(): ...
if note == "no cases": ...
first = message.partition("; ")[0]
shown = str(error).partition("\\n")[0]
if name.startswith("a") or kind == "interrupted" or path in message: ...
"""
    assert sorted(decisions_on_prose(ast.parse(source))) == [
        "'time-out' in str(error).lower()",
        "message.partition('; ')",
        "note == 'no cases'",
        "report.reason.startswith('interrupted')",
    ]


# ---------------------------------------------------------------------- size and shape


def test_every_module_says_what_it_is_for():
    assert not [name for name, tree in trees().items() if not ast.get_docstring(tree)]


def test_every_function_fits_a_screen():
    lengths = {
        f"{name}.{node.name}": node.end_lineno - node.lineno + 1
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION}


def test_a_run_of_a_small_dataset_loads_only_what_it_needs(tmp_path):
    (tmp_path / "cases.yaml").write_text(
        "name: small\ncases:\n- name: a\n  inputs: 1\n  expected_output: 1\nevaluators:\n- EqualsExpected\n",
        encoding="utf-8",
    )
    (tmp_path / "task.py").write_text("def task(x): return x\n", encoding="utf-8")
    run = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "calipers",
        "run",
        "cases.yaml",
        "--task",
        "task.py:task",
    ]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    ours = sorted(name for name in loaded if name.partition(".")[0] == "calipers")
    assert "calipers.run.runner" in ours
    assert len(ours) <= MOST_LOADED, ours


@pytest.mark.parametrize("name", [name for name, path in SOURCES.items() if path.name == "__init__.py"])
def test_a_front_page_only_re_exports(name):
    allowed_names = {"__all__", "__version__"}

    def is_front_page(node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom() | ast.Import():
                return True
            case ast.Assign(targets=[ast.Name(id=target)]):
                return target in allowed_names
            case ast.Assign(targets=[ast.Tuple()]):
                return ast.unparse(node) == LAZY_EXPORTS
        return False

    others = [
        ast.unparse(node).partition("\n")[0]
        for node in tree_of(SOURCES[name]).body
        if not is_front_page(node)
    ]
    assert not others, f"{name} does more than re-export"


@pytest.mark.parametrize("drawer", ["utils", "util", "common", "helpers", "core", "misc", "base"])
def test_there_is_no_drawer_for_everything(drawer):
    assert not [name for name in SOURCES if name.rpartition(".")[2].strip("_") == drawer]


# ---------------------------------------------------------------------- what never appears


def dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written; empty for anything else, and so for what hangs on a call."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def mocks_in(tree: ast.AST) -> list[str]:
    """Every use of `unittest.mock`, `pytest-mock` or `monkeypatch.setattr`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [
                node.module + "." + alias.name for alias in node.names if node.module.startswith("unittest")
            ]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith(("unittest", "mock"))]
        elif isinstance(node, ast.Attribute) and dotted(node) in {"monkeypatch.setattr", "mocker.patch"}:
            found.append(dotted(node))
    return found


def unexplained_skips_in(tree: ast.AST) -> list[str]:
    """Every skip or expected failure that gives no reason."""
    marks = ("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail", "pytest.skip", "pytest.xfail")
    called = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = []
    for node in ast.walk(tree):
        if dotted(node) in marks:
            call = called.get(node)
            explained = call is not None and (
                any(keyword.arg == "reason" for keyword in call.keywords)
                or (call.args and not dotted(node).startswith("pytest.mark"))
            )
            if not explained:
                found.append(dotted(node))
    return found


@pytest.mark.parametrize(
    ("find", "words"),
    [(mocks_in, ("unittest", "mock", "setattr")), (unexplained_skips_in, ("skip", "xfail"))],
)
def test_no_mock_stands_in_for_a_seam_and_no_test_is_skipped_without_a_reason(find, words):
    paths = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert len(paths) > len(SOURCES), "the tests are looked at too"
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    suspects = [path for path, text in texts.items() if any(word in text for word in words)]
    found = {str(path.relative_to(ROOT)): find(tree_of(path)) for path in suspects}
    assert not {path: uses for path, uses in found.items() if uses}, "build the seam; see calipers.testing"


def test_the_finders_of_mocks_and_skips_find_them():
    source = """
from unittest.mock import Mock
from unittest import mock
import unittest.mock
def test(monkeypatch):
    monkeypatch.setattr(a, "b", 1)
    monkeypatch.setenv("A", "b")
"""
    assert mocks_in(ast.parse(source)) == [
        "unittest.mock.Mock",
        "unittest.mock",
        "unittest.mock",
        "monkeypatch.setattr",
    ]
    skips = """
@pytest.mark.skip
def a(): ...
@pytest.mark.skipif(True)
def b(): ...
@pytest.mark.skipif(True, reason="why")
def c():
    pytest.skip("why")
    pytest.skip()
"""
    assert sorted(unexplained_skips_in(ast.parse(skips))) == [
        "pytest.mark.skip",
        "pytest.mark.skipif",
        "pytest.skip",
    ]


# ---------------------------------------------------------------------- what type checkers read


def test_the_code_for_type_checkers_is_read_by_both_and_every_ignore_in_it_must_be_needed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert "tests/typing" in settings["mypy"]["files"]
    assert settings["mypy"]["strict"] is True
    assert "tests/typing" in settings["basedpyright"]["include"]
    files = sorted((ROOT / "tests" / "typing").glob("*.py"))
    assert files
    directive = "# pyright: reportUnnecessaryTypeIgnoreComment=true\n"
    assert not [path.name for path in files if not path.read_text(encoding="utf-8").startswith(directive)]
    assert not [path.name for path in files if path.name.startswith("test_")], "this code is never run"


def test_the_lists_of_the_tools_name_what_is_there(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))  # as where one of them is run
    left_out = runpy.run_path(str(ROOT / "tools" / "each_python.py"))["missing"]()
    posix_only = runpy.run_path(str(ROOT / "tools" / "other_systems.py"))["POSIX_ONLY"]
    assert left_out == []
    assert [name for name in posix_only if not (ROOT / name).is_file()] == []
