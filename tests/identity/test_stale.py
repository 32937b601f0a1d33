"""With reuse, a run says what it says without: whatever was edited, in code or in data, no stale result is shown."""

import importlib
import importlib.util
import os
import random
import re
import sys
import types
from pathlib import Path

import pytest

from calipers import Case, Dataset
from calipers.data.jsonable import plain
from calipers.identity import task_identity
from calipers.identity.fingerprint import Unknown
from calipers.identity.outside import _FUNCTIONS
from calipers.stores import MemoryStore, why

from .programs import NOT_SEEN, SEEN, UNKNOWN, WITHOUT_EFFECT, Program

PRELUDE = "from dataclasses import dataclass\nfrom calipers import Case, CaseLifecycle, Evaluator\n"


class Folder:
    """Loads programs as a new process would, each from a folder of its own, and leaves nothing behind."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0
        self.path = list(sys.path)
        self.environment = dict(os.environ)
        self.library = {name: dict(vars(sys.modules[name])) for name in ("json", "builtins")}
        self.modules: set[str] = set()
        """Those that were loaded when a program came."""

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
        return importlib.import_module("evals")

    def leave(self) -> None:
        """Take back all that a program has done to this process."""
        sys.path[:] = self.path
        os.environ.clear()
        os.environ.update(self.environment)
        for name, before in self.library.items():
            now = vars(sys.modules[name])
            for added in now.keys() - before.keys():
                del now[added]
            now.update(before)
        for name in sys.modules.keys() - self.modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(self.root)):
                del sys.modules[name]
        self.modules = set(sys.modules)


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
            plain(record.output),
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


def test_why_names_the_class_in_a_case_that_was_edited_and_a_resumed_run_makes_its_attempt_again(folder):
    program = SEEN["methods and attributes of the classes of what a case holds"][0]
    with MemoryStore() as store:
        first, _ = run(folder.load(program.source), store)
        run(folder.load(program.edited()), store, reuse=True)
        assert "code in what the case holds changed (evals.Rubric changed)" in why(
            store, "latest", "a", "fits"
        )
        module = folder.load(program.edited())
        dataset = Dataset(name="requests", cases=module.cases, evaluators=module.evaluators)
        report = dataset.evaluate_sync(module.task, store=store, resume=first.reuse.run, progress=False)
        assert (report.reuse.attempts_made, report.cases[0].assertions["fits"].value) == (1, False)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "the code of its output changed, or cannot be found (evals.Answer changed)"),
        (1, "good: computed in this run; the code of the output changed"),
    ],
)
def test_why_names_the_class_of_an_output_that_was_edited(folder, number, said):
    program = SEEN["methods and attributes of the classes of outputs"][number]
    with MemoryStore() as store:
        run(folder.load(program.source), store)
        run(folder.load(program.edited()), store, reuse=True)
        assert said in why(store, "latest", "a", "good")


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_cannot_be_known_is_computed_again_and_a_note_says_why(folder, line):
    for program in UNKNOWN[line]:
        with MemoryStore() as store:
            _, before = run(folder.load(program.source), store)
            report, again = run(folder.load(program.source), store, reuse=True)
            assert repr(again) == repr(before), program
            assert (report.reuse.attempts_reused, len(report.reuse.notes)) == (0, 1), (
                program,
                report.reuse.notes,
            )
            _, after = run(folder.load(program.edited()), store, reuse=True)
            assert repr(after) != repr(before), program


def test_every_way_to_ask_the_outside_is_found_under_every_name_it_may_have(folder):
    for (module, name), reason in _FUNCTIONS.items():
        top = module.partition(".")[0]
        spellings = [
            f"def task(x):\n    import {module}\n    return {module}.{name}",
            f"def task(x):\n    from {module} import {name} as go\n    return go(x)",
        ]
        if importlib.util.find_spec(top) and hasattr(importlib.import_module(module), name):
            spellings += [
                f"import {module} as go\ndef task(x): return go.{name}(x)",
                f"from {module} import {name} as go\ndef task(x): return list(map(go, x))",
            ]
        for spelling in spellings:
            found = task_identity(folder.load(spelling).task)
            assert isinstance(found, Unknown), spelling
            assert reason in found.reason, (spelling, found.reason)


def test_a_function_of_the_project_is_judged_by_its_source_and_not_by_its_name(folder):
    for source in (
        "def read_json(x): return x\ndef task(x): return read_json(x)",
        "from words import glob\ndef task(x): return glob(x)\n# file: words.py\ndef glob(x): return x\n",
        "import words\ndef task(x): return words.read_csv(x)\n# file: words.py\ndef read_csv(x): return x\n",
        (
            "def task(x):\n    from words import task\n    return task(x)\n"
            "# file: words.py\ndef listdir(x): return x\ndef task(x): return listdir(x)\n"
        ),
        (
            "class Agent:\n    def check_output(self, x): return x\n    def run(self, x): return self.check_output(x)\n"
            "    def __call__(self, x): return self.run(x)\ntask = Agent()"
        ),
        "def task(memory): return memory.exists('a') or memory.read('b') or memory.open('c')",
        "class Day:\n    open = 3\ndef task(x): return float(Day().open) + x",
        "def task(open): return open + 1",
        "import glob\nPATTERN = glob = 'a*'\ndef task(x): return glob",
        "import glob\ndef task(x): return glob.escape(x)",
        "import gzip\ndef task(x):\n    with gzip.open('a', 'wb') as file: return file.write(x)",
        "from io import open\ndef task(x):\n    with open('a', 'w') as file: return file.write(x)",
        "class Agent:\n    def __call__(self, x): return vars(self) or self.__dict__ or getattr(self, x)\ntask = Agent()",
        "from configparser import ConfigParser\ndef task(x):\n    found = ConfigParser()\n    found.read_string(x)\n    return found",
        "import urllib.request\ndef task(x): return urllib.request.urlopen(f'https://{x}')",
        "import subprocess\ndef task(x):\n    try: return x\n    except subprocess.CalledProcessError: return None",
    ):
        assert not isinstance(found := task_identity(folder.load(source).task), Unknown), (source, found)


@pytest.mark.parametrize("line", NOT_SEEN)
def test_what_the_documentation_calls_not_seen_is_not_seen(folder, line):
    for program in NOT_SEEN[line]:
        with MemoryStore() as store:
            _, before = run(folder.load(program.source), store)
            _, after = run(folder.load(program.edited()))
            _, reused = run(folder.load(program.edited()), store, reuse=True)
            assert repr(before) == repr(reused) != repr(after), program


def test_an_edit_of_what_an_evaluator_changes_computes_its_own_results_again_and_no_others(folder):
    for program in WITHOUT_EFFECT:
        with MemoryStore() as store:
            _, before = run(folder.load(program.source), store)
            _, after = run(folder.load(program.edited()))
            report, reused = run(folder.load(program.edited()), store, reuse=True)
            assert repr(before) == repr(after) == repr(reused), program
            assert (report.reuse.attempts_made, report.reuse.cells_computed) == (0, 1), program


def test_the_documentation_has_a_line_for_each_of_these_and_no_other():
    page = (
        Path(__file__).parents[2].joinpath("docs", "explanation", "identity.md").read_text(encoding="utf-8")
    )
    for heading, programs in (
        ("What is seen", SEEN),
        ("What is computed again", UNKNOWN),
        ("What is not seen", NOT_SEEN),
    ):
        section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^- (.+)$", section, re.MULTILINE) == [*programs], heading


PIECES = (
    "def part{i}(x): return x * {n}\n",
    "N{i} = {n}\ndef part{i}(x): return x * N{i}\n",
    "def part{i}(x, n={n}): return x * n\n",
    "def make{i}(n):\n    def inner(x): return x * n\n    return inner\npart{i} = make{i}({n})\n",
    "class Part{i}:\n    n = {n}\n    def __call__(self, x): return x * self.n\npart{i} = Part{i}()\n",
    (
        "class Base{i}:\n    def n(self): return {n}\nclass Part{i}(Base{i}):\n    def __call__(self, x): return x * self.n()\n"
        "part{i} = Part{i}()\n"
    ),
    "import functools\ndef times{i}(x, n): return x * n\npart{i} = functools.partial(times{i}, n={n})\n",
    "TABLE{i} = {{'f': lambda x: x * {n}}}\ndef part{i}(x): return TABLE{i}['f'](x)\n",
    "def plus{i}(n):\n    def wrap(f): return lambda x: f(x) * n\n    return wrap\n@plus{i}({n})\ndef part{i}(x): return x\n",
    "import lib\nlib.configure('{i}', {n})\ndef part{i}(x): return lib.times('{i}', x)\n",
    "import helpers{i}\ndef part{i}(x): return helpers{i}.times(x)\n",
    "def part{i}(x):\n    import helpers{i}\n    return helpers{i}.times(x)\n",
    "import enum\nclass Size{i}(enum.Enum):\n    A = {n}\ndef part{i}(x): return x * Size{i}.A.value\n",
    (
        "@dataclass\nclass Box{i}:\n    n: int = {n}\n    @property\n    def more(self): return self.n\n"
        "def part{i}(x): return x * Box{i}().more\n"
    ),
    "import os\nos.environ['CALIPERS_TEST_{i}'] = '{n}'\ndef part{i}(x): return x * int(os.environ['CALIPERS_TEST_{i}'])\n",
)
LIBRARY = "_settings = {}\ndef configure(name, n): _settings[name] = n\ndef times(name, x): return x * _settings[name]\n"


def program_of(pieces, judge, rubric, comment):
    """A program of numbered pieces, each with its number, an evaluator and a class in its case."""
    parts = [PIECES[kind].format(i=i, n=n) for i, (kind, n) in enumerate(pieces)]
    total = " + ".join(f"part{i}(x.n)" for i in range(len(pieces)))
    files = [
        f"# file: helpers{i}.py\nfrom deep{i} import N\ndef times(x): return x * N\n# file: deep{i}.py\nN = {n}\n"
        for i, (kind, n) in enumerate(pieces)
        if "helpers" in PIECES[kind]
    ]
    return (
        f"# {comment}\n{''.join(parts)}@dataclass\nclass Given:\n    n: int\n    def most(self): return {rubric}\n"
        f"cases = [Case(name='a', inputs=Given(3), expected_output=Given(4))]\ndef task(x): return {total}\n"
        f"def big(output, expected_output): return output % {judge} > expected_output.most()\nevaluators = [big]\n"
        f"{''.join(files)}# file: site-packages/lib.py\n{LIBRARY}"
    )


def test_no_random_edit_of_a_random_program_makes_a_stale_result(folder):
    reused = made = 0
    for seed in range(12):
        draw = random.Random(seed)
        pieces = [(draw.randrange(len(PIECES)), draw.randint(1, 9)) for _ in range(draw.randint(1, 4))]
        judge, rubric, comment = 7, 3, 0
        with MemoryStore() as store:
            run(folder.load(program_of(pieces, judge, rubric, comment)), store)
            for _ in range(10):
                match draw.randrange(6):
                    case 0 | 1 | 2:
                        at = draw.randrange(len(pieces))
                        pieces[at] = (pieces[at][0], draw.randint(1, 9))
                    case 3:
                        judge = draw.randint(2, 9)
                    case 4:
                        rubric = draw.randint(1, 5)
                    case _:
                        comment += 1
                source = program_of(pieces, judge, rubric, comment)
                module = folder.load(source)
                report, found = run(module, store, reuse=True)
                assert repr(found) == repr(run(module)[1]), (seed, source)
                reused += report.reuse.attempts_reused
                made += report.reuse.attempts_made
    assert reused > 24, "what was not edited is reused"
    assert made > 24, "and some edits were noticed"
