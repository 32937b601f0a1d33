"""What users may import: the lists of names agree with each other, each is documented, and importing stays cheap."""

import ast
import inspect
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import calipers

PACKAGE = Path(calipers.__file__).parent
PACKAGES = ["calipers", *(f"calipers.{path.parent.name}" for path in sorted(PACKAGE.glob("*/__init__.py")))]
LISTED = [name for name in PACKAGES if hasattr(import_module(name), "__all__")]
LAZY = [name for name in LISTED if Path(import_module(name).__file__).with_suffix(".pyi").exists()]

OPTIONAL = {
    "aiohttp",
    "jsonschema_rs",
    "numpy",
    "opentelemetry",
    "rapidfuzz",
    "regex",
    "rich",
    "scipy",
    "soxr",
    "sqlglot",
    "websockets",
}
"""What is loaded only by the feature that needs it."""


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(Path(import_module(module).__file__).read_text(encoding="utf-8"))


@cache
def names_for_checkers(package: str) -> dict[str, str]:
    """The names that the stub of a package re-exports, and the module each comes from."""
    found = {}
    stub = Path(import_module(package).__file__).with_suffix(".pyi")
    for line in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            assert not line.level
            for alias in line.names:
                assert alias.asname == alias.name, f"{alias.name} is not re-exported by {stub}"
                found[alias.name] = line.module
    return found


def home_of(package: str, name: str) -> str:
    """The module that a package takes a name from: by its stub if it loads late, else the package itself."""
    return names_for_checkers(package)[name] if package in LAZY else package


def has_docstring(module: str, name: str) -> bool:
    """Whether a module documents a name where it defines it; an assignment has its docstring below."""
    body = tree_of(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.FunctionDef(decorator_list=[ast.Name(id="overload")]):
                continue  # the one that is called comes last, and has the docstring
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                return bool(ast.get_docstring(node))
            case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
                if target == name:
                    return isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            case ast.ImportFrom() if any((alias.asname or alias.name) == name for alias in node.names):
                home = f"{module if is_package(module) else module.rpartition('.')[0]}.{node.module}"
                return has_docstring(home if node.level else node.module, name)
    raise AssertionError(f"{module} does not define {name}")


def is_package(module: str) -> bool:
    return hasattr(import_module(module), "__path__")


def test_the_lists_to_check_are_not_empty():
    assert {"calipers", "calipers.evaluators", "calipers.stats", "calipers.testing"} <= set(LISTED)
    assert {"calipers", "calipers.agents", "calipers.evaluators", "calipers.stats"} <= set(LAZY)


@pytest.mark.parametrize("package", LISTED)
def test_the_names_of_a_package_are_sorted_and_listed_once(package):
    names = import_module(package).__all__
    assert names == sorted(set(names))


@pytest.mark.parametrize("package", LAZY)
def test_names_that_load_late_are_the_same_for_python_and_for_checkers(package):
    assert sorted(names_for_checkers(package)) == import_module(package).__all__


@pytest.mark.parametrize("package", LAZY)
def test_no_name_that_loads_late_is_also_a_module(package):
    folder = Path(import_module(package).__file__).parent
    modules = {path.stem for path in folder.iterdir()}
    assert not modules.intersection(import_module(package).__all__), (
        "the module would hide the name once loaded"
    )


def test_the_front_page_is_one_that_a_person_can_know():
    assert 20 <= len(calipers.__all__) <= 40


@pytest.mark.parametrize("package", LISTED)
def test_public_names_can_be_imported_and_are_documented(package):
    module = import_module(package)
    for name in module.__all__:
        home = home_of(package, name)
        assert getattr(module, name) is getattr(import_module(home), name)
        assert name in dir(module)
        assert has_docstring(home, name), f"{home}.{name} has no docstring"


@pytest.mark.parametrize("package", LISTED)
def test_the_public_methods_of_public_classes_are_documented(package):
    module = import_module(package)
    undocumented = {name: methods_without_docstring(getattr(module, name)) for name in module.__all__}
    assert not {name: methods for name, methods in undocumented.items() if methods}


def methods_without_docstring(kind: object) -> list[str]:
    if not inspect.isclass(kind) or not kind.__module__.startswith("calipers"):
        return []
    members = {key: member for key, member in vars(kind).items() if not key.startswith("_")}
    methods = {
        key: getattr(member, "__func__", getattr(member, "fget", member))
        for key, member in members.items()
        if isinstance(member, staticmethod | classmethod | property) or inspect.isfunction(member)
    }
    return [key for key, method in methods.items() if not inspect.getdoc(method)]


@pytest.mark.parametrize("package", LAZY)
def test_an_unknown_name_is_an_error_that_says_so(package):
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'Evalutor'"):
        _ = import_module(package).Evalutor


# ---------------------------------------------------------------------- what an import costs


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for a statement, beyond those it has at the start."""
    code = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def top_level(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_importing_calipers_loads_what_loads_its_names_and_little_else():
    loaded = loaded_by("import calipers")
    assert {module for module in loaded if module.startswith("calipers")} == {
        "calipers",
        "calipers.process",
        "calipers.process.lazy_exports",
    }
    assert not top_level(loaded) & (
        OPTIONAL | {"asyncio", "dataclasses", "inspect", "msgspec", "typing_extensions"}
    )
    assert len(loaded) <= 45, sorted(loaded)


def test_describing_a_dataset_loads_no_runner_no_event_loop_and_nothing_optional():
    loaded = loaded_by("from calipers import Case, Dataset")
    assert not top_level(loaded) & (OPTIONAL | {"asyncio"})
    assert not loaded & {
        "calipers.run.evaluation",
        "calipers.run.runner",
        "calipers.report.report",
        "calipers.stats",
    }
    assert len(loaded) <= 120, sorted(loaded)


@pytest.mark.parametrize("package", LISTED)
def test_importing_a_package_loads_nothing_optional(package):
    assert not top_level(loaded_by(f"import {package}")) & OPTIONAL


def test_running_a_dataset_loads_nothing_optional_but_what_draws_progress():
    run = (
        "Dataset(cases=[Case(inputs=1)], evaluators=[lambda output: True]).evaluate_sync(abs, progress=False)"
    )
    loaded = loaded_by(f"from calipers import Case, Dataset\n{run}")
    assert "calipers.run.runner" in loaded
    assert not top_level(loaded) & OPTIONAL
