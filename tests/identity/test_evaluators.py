import functools
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.evaluators import Contains, EqualsExpected
from calipers.identity import Identity, Unknown, differences, evaluator_identity

SOURCE = """
from dataclasses import dataclass, field
from calipers import Evaluator

def normalise(text):
    return text.lower()

@dataclass
class Close(Evaluator):
    threshold: float = 0.5
    cache: dict = field(default_factory=dict, compare=False)
    computed: list = field(default_factory=list, init=False)

    def evaluate(self, ctx):
        self.computed.append(1)
        return len(normalise(ctx.output)) > self.threshold

@dataclass
class Versioned(Evaluator):
    client: object
    version: str = "1"

    def evaluate(self, ctx):
        return True

    def get_evaluator_version(self):
        return self.version

def polite(output, words=("please",)):
    return any(word in normalise(output) for word in words)

def greets(output, name):
    return name in output

def of_case(ctx):
    return ctx.case.tags == ()

class Pair:
    def __init__(self, strict):
        self.strict = strict

    def evaluate(self, expected, actual):
        return expected == actual

class Metric:
    def compute_metrics(self, graph):
        return {"turns": 1}

    def aggregate_metrics(self, all_metrics):
        return {}
"""


@pytest.fixture
def module(project):
    return project.load(judges=SOURCE)


def parts_of(evaluator):
    found = evaluator_identity(evaluator)
    assert isinstance(found, Identity), found
    return found.parts


def test_a_changed_parameter_is_named_with_its_values(module):
    before, after = parts_of(module.Close()), parts_of(module.Close(threshold=0.6))
    assert differences(before, after) == ["parameter threshold changed from 0.5 to 0.6"]


def test_fields_that_are_not_compared_are_no_parameters(module):
    assert evaluator_identity(module.Close(cache={"a": 1})) == evaluator_identity(module.Close())


@pytest.mark.parametrize("make", ["Close()", "polite", "Pair(True)", "Metric()"])
def test_equal_evaluators_of_every_style_have_equal_identities(module, make):
    one, two = (evaluator_identity(eval(make, vars(module))) for _ in range(2))
    assert isinstance(one, Identity)
    assert one == two


def test_different_evaluators_have_different_identities(module):
    made = [
        *(
            module.Close(),
            module.Close(0.1),
            module.polite,
            functools.partial(module.polite, words=("thanks",)),
        ),
        *(
            module.Pair(True),
            module.Pair(False),
            module.Metric(),
            Contains("a"),
            Contains("b"),
            EqualsExpected(),
        ),
    ]
    assert len({evaluator_identity(one).key for one in made}) == len(made)


def test_a_changed_helper_is_named(project, module):
    edited = project.load(judges=SOURCE.replace("text.lower()", "text.casefold()"))
    for name in ("Close", "polite"):
        old, new = getattr(module, name), getattr(edited, name)
        one, two = (parts_of(kind() if name == "Close" else kind) for kind in (old, new))
        assert differences(one, two) == ["helper judges.normalise() changed"]


def test_an_edit_of_one_evaluator_leaves_the_others_alone(project, module):
    edited = project.load(judges=SOURCE.replace("> self.threshold", ">= self.threshold"))
    assert differences(parts_of(module.Close()), parts_of(edited.Close())) == ["its source changed"]
    assert evaluator_identity(edited.polite) == evaluator_identity(module.polite)
    assert evaluator_identity(edited.Pair(True)) == evaluator_identity(module.Pair(True))


def test_a_built_in_evaluator_is_its_type_its_parameters_and_the_release(module):
    assert parts_of(Contains("a"))["library calipers"]
    assert parts_of(Contains("a"))["parameter value"] == "'a'"


def test_a_declared_version_is_one_part_among_others(module):
    one, two = parts_of(module.Versioned(1, "1")), parts_of(module.Versioned(1, "2"))
    assert "version changed from 1 to 2" in differences(one, two)
    assert "source" in one


def test_a_declared_version_stands_for_what_cannot_be_known(module):
    one, same, other = (evaluator_identity(module.Versioned(object(), v)) for v in ("1", "1", "2"))
    assert isinstance(one, Identity)
    assert one == same
    assert one != other


def test_what_cannot_be_known_says_why_and_what_to_do():
    found = evaluator_identity(eval("lambda output: True"))
    assert isinstance(found, Unknown)
    assert "its source cannot be read" in found.reason
    assert "get_evaluator_version" in found.reason


def asserts(output):
    assert output


def test_assertions_that_pytest_has_rewritten_are_not_known_by_their_source():
    found = evaluator_identity(asserts)
    assert isinstance(found, Unknown)
    assert found.reason.startswith("asserts: pytest has rewritten its assertions")


@pytest.mark.parametrize(
    "body",
    [
        "match ctx:\n        case EvaluatorContext(name=found): return found",
        "return getattr(ctx, 'name', None)",
        "return operator.attrgetter('case.name')(ctx)",
    ],
    ids=["match", "getattr", "attrgetter"],
)
def test_however_an_evaluator_reads_the_name_of_a_case_it_is_seen(project, body):
    head = "import operator\nfrom calipers import EvaluatorContext\n"
    judges = project.load(judges=f"{head}def found(ctx):\n    {body}\ndef other(ctx): return ctx.output\n")
    assert evaluator_identity(judges.found).reads_name
    assert not evaluator_identity(judges.other).reads_name


@pytest.mark.parametrize(
    ("name", "reads"), [("polite", False), ("greets", True), ("of_case", True), ("Close", False)]
)
def test_it_is_known_whether_an_evaluator_may_look_at_the_name_of_a_case(module, name, reads):
    made = getattr(module, name)
    assert evaluator_identity(made() if name == "Close" else made).reads_name is reads


SHOWN = """
from calipers.identity import evaluator_identity, task_identity
import judges
def f(x, y=3):
    return f"{x=} {x!r:>{y}} a" "b" f"{judges.normalise(x)}", [n for n in (x,) if n], {**{}}
print(task_identity(f).key, evaluator_identity(judges.Close(0.7)).key, evaluator_identity(judges.polite).key)
"""


def test_identities_are_the_same_in_every_process_and_on_every_python(tmp_path):
    (tmp_path / "judges.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "shown.py").write_text(SHOWN, encoding="utf-8")
    root = Path(__file__).parents[2]
    others = [path for path in sorted(root.glob(".venv-3.1?/bin/python")) if path.exists()]
    printed = {
        str(python): subprocess.run(
            [python, "shown.py"],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for python, seed in [(sys.executable, "1"), *((python, "2") for python in others)]
    }
    assert len(set(printed.values())) == 1, printed
