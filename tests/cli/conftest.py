import shutil
import sys
from textwrap import dedent

import pytest
from click.testing import CliRunner

from calipers.cli.app import app
from calipers.stores import open_store
from calipers.stores.run_info import process_token

NUMBERS = """
    from calipers import Case, Dataset

    def positive(output):
        return output > 0

    def size(output):
        return float(output)

    def task(inputs):
        if inputs == "boom":
            raise ValueError("no number")
        return inputs

    def numbers(*inputs, evaluators=(positive, size)):
        cases = [Case(name=f"number {each}", inputs=each) for each in inputs]
        return Dataset(name="numbers", cases=cases, evaluators=evaluators)
"""
"""The beginning of an evaluation file: a task that gives back its inputs, and two evaluators."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIPERS_DEBUG", raising=False)
    monkeypatch.delenv("CALIPERS_STORE", raising=False)
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        found = getattr(sys.modules[name], "__file__", None)
        if found is not None and found.startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def write(folder):
    """Write a file into the current folder."""

    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def write_eval(write):
    """Write an evaluation file that begins with `NUMBERS`."""
    return lambda text, name="eval_numbers.py": write(name, dedent(NUMBERS) + dedent(text))


@pytest.fixture
def calipers(folder):
    """Run a command line in this process; to a store, each is one of its own."""

    def run(*args, **options):
        process_token.cache_clear()
        return CliRunner().invoke(app, list(args), **options)

    return run


@pytest.fixture(scope="session")
def made():
    """The folders that `once` keeps, by what made them."""
    return {}


@pytest.fixture
def once(folder, made, tmp_path_factory):
    """Fill the current folder with what a function makes, of which all who come later get a copy."""

    def fill(make, *args):
        if make in made:
            shutil.copytree(made[make], folder, dirs_exist_ok=True)
        else:
            make(*args)
            made[make] = shutil.copytree(folder, tmp_path_factory.mktemp("made"), dirs_exist_ok=True)

    return fill


@pytest.fixture
def kept(folder):
    """A store where commands look for one, closed when the test is over."""
    with open_store(folder / ".calipers" / "runs.db") as store:
        yield store
