"""With reuse, a run says what it says without: whatever was edited, in code or in data, no stale result is shown."""

import importlib
import linecache
import os
import sys
import types
from pathlib import Path

import pytest

from calipers import Case, Dataset
from calipers.stores import MemoryStore

from .programs import SEEN, Program

PRELUDE = "from dataclasses import dataclass\nfrom calipers import Case, CaseLifecycle, Evaluator\n"


class Folder:
    """Loads programs as a new process would, each from a folder of its own, and leaves nothing behind."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0
        self.path = list(sys.path)
        self.environment = dict(os.environ)
        self.library = {name: dict(vars(sys.modules[name])) for name in ("json",)}

    def load(self, source: str) -> types.ModuleType:
        """Write the files of a program, and import `evals`."""
        self.leave()
        self.count += 1
        folder = self.root / str(self.count)
        name, text = "evals.py", PRELUDE
        for part in f"\n{source}".split("\n# file: "):
            if part is not None and not part.startswith("\n"):
                name, _, part = part.partition("\n")  # noqa: PLW2901
                text = ""
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + part, encoding="utf-8")
        sys.path[:0] = [str(folder), str(folder / "site-packages")]
        importlib.invalidate_caches()
        linecache.clearcache()
        return importlib.import_module("evals")

    def leave(self) -> None:
        """Take back all that a program has done to this process."""
        sys.path[:] = self.path
        os.environ.clear()
        os.environ.update(self.environment)
        for name, before in self.library.items():
            vars(sys.modules[name]).update(before)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self.root)):
                del sys.modules[name]


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    yield made
    made.leave()


def run(module, store=None, *, reuse=False):
    """A run of a program, and what it says."""
    dataset = Dataset(
        name="requests",
        cases=getattr(module, "cases", None)
        or [Case(name=name, inputs=n) for name, n in (("a", 3), ("b", 5))],
        evaluators=getattr(module, "evaluators", ()),
    )
    hooks = {name: getattr(module, name) for name in ("lifecycle", "plugins") if hasattr(module, name)}
    report = dataset.evaluate_sync(module.task, store=store, reuse=reuse, progress=False, **hooks)
    says = [
        (
            record.name,
            record.output,
            [(result.name, result.value, result.reason) for result in record.results],
        )
        for record in report.cases
    ]
    failed = [(record.name, record.error_message) for record in report.failures]
    broken = [(one.name, one.error_message) for record in report.cases for one in record.evaluator_failures]
    return report, (says, failed, broken)


def looked_at(folder: Folder, program: Program) -> None:
    """See that an unchanged program is reused as a whole, and that an edit of it is noticed."""
    with MemoryStore() as store:
        _, before = run(folder.load(program.source), store)
        report, again = run(folder.load(program.source), store, reuse=True)
        assert repr(again) == repr(before), program
        assert (report.reuse.attempts_made, report.reuse.cells_computed) == (0, 0), (
            program,
            report.reuse.notes,
        )
        _, after = run(folder.load(program.edited()))
        _, reused = run(folder.load(program.edited()), store, reuse=True)
        assert repr(after) != repr(before), f"the edit has to change what the program does: {program}"
        assert repr(reused) == repr(after), program


@pytest.mark.parametrize("line", SEEN)
def test_an_edit_is_noticed_and_nothing_else_is_computed_again(folder, line):
    for program in SEEN[line]:
        looked_at(folder, program)
