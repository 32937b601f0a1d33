import functools
import sys
import textwrap
from dataclasses import dataclass

import pytest

from calipers.agents import LatencyBudgetEvaluator
from calipers.errors import InvalidOptionError
from calipers.evaluators import (
    Contains,
    EqualsExpected,
    Evaluator,
    InRange,
    Length,
    MaxDuration,
    ParsesAsSQL,
    ROCEvaluator,
)
from calipers.files import dataset_schema
from calipers.files.catalog import Catalog, built_in_types
from calipers.files.problem import Problems
from calipers.plugins import EvaluatorPlugin, PluginManager
from calipers.plugins.evaluator_factory import name_of
from calipers.rollouts import RolloutCurves, TargetHeld


def test_evaluators_of_packages_that_build_on_files_are_known_by_name_too():
    assert {TargetHeld, RolloutCurves} <= set(built_in_types())
    problems = Problems("f.yaml")
    assert Catalog().build("TargetHeld", (), problems) == TargetHeld()
    curves = Catalog().build({"RolloutCurves": {"trees": 1}}, (), problems, of_report=True)
    assert (curves, problems.found) == (RolloutCurves(trees=1), [])


@dataclass
class Polite(Evaluator):
    word: str = "please"
    times: int = 1

    def evaluate(self, ctx):
        return ctx.output.count(self.word) >= self.times


@dataclass
class Renamed(Evaluator):
    def evaluate(self, ctx):
        return True

    @classmethod
    def get_serialization_name(cls):
        return "OtherName"


class Pair:
    def evaluate(self, expected, actual):
        return expected == actual


class Demanding(Pair):
    def __init__(self, level: int):
        if level > 3:
            raise ValueError(f"level is {level}")
        self.level = level


def close(output, expected_output, tolerance: float = 0.1):
    return abs(output - expected_output) <= tolerance


def needs(output, limit: int):
    return output < limit


def between(output, low: int, high: int):
    return low < output < high


def claim(report):
    return []


MINE = [Polite, Renamed, Pair, Demanding, close, needs, between, claim]


def build(spec, *, of_report=False, **options):
    problems = Problems("a")
    found = Catalog(**{"evaluator_types": MINE, **options}).build(spec, ("e",), problems, of_report=of_report)
    return found, [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("spec", "evaluator"),
    [
        ("EqualsExpected", EqualsExpected()),
        ({"EqualsExpected": {}}, EqualsExpected()),
        ({"EqualsExpected": {"evaluation_name": "right"}}, EqualsExpected(evaluation_name="right")),
        ({"Contains": "x"}, Contains("x")),
        ({"Contains": {"value": None}}, Contains(None)),
        ({"ParsesAsSQL": None}, ParsesAsSQL()),
        ({"Contains": ["x"]}, Contains(["x"])),
        ({"Contains": {1: "x"}}, Contains({1: "x"})),
        ({"Contains": {"value": {"a": 1}, "as_strings": True}}, Contains({"a": 1}, as_strings=True)),
        ({"Length": {"maximum": 5}}, Length(maximum=5)),
        ({"MaxDuration": 2}, MaxDuration(2.0)),
        ("Polite", Polite()),
        ({"Polite": "thanks"}, Polite("thanks")),
        ({"Polite": {"times": 2}}, Polite(times=2)),
        ("OtherName", Renamed()),
        ("close", close),
    ],
)
def test_an_evaluator_has_three_forms(spec, evaluator):
    assert build(spec) == (evaluator, [])


def test_a_function_is_given_what_no_attempt_has():
    found, problems = build({"close": 0.5})
    assert problems == []
    assert isinstance(found, functools.partial)
    assert (found.func, found.keywords) == (close, {"tolerance": 0.5})
    assert build({"needs": {"limit": 3}})[0].keywords == {"limit": 3}


def test_report_evaluators_have_the_same_forms():
    assert build({"ROCEvaluator": "score"}, of_report=True) == (ROCEvaluator("score"), [])
    assert build("claim", of_report=True) == (claim, [])


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("Contain", "a: e: no evaluator is called 'Contain' (did you mean 'Contains'?)"),
        ("Polit", "a: e: no evaluator is called 'Polit' (did you mean 'Polite'?)"),
        (
            "Xyz",
            "a: e: no evaluator is called 'Xyz'; your own, and those of plugins, go into evaluator_types=[...]",
        ),
        ("Evaluator", "a: e: no evaluator is called 'Evaluator'"),
        ("EvaluatorContext", "a: e: no evaluator is called 'EvaluatorContext'"),
        ("", "a: e: expected an evaluator as Name"),
        (5, "a: e: expected an evaluator as Name, {Name: value} or {Name: {parameter: value}}, got 5"),
        ({"A": 1, "B": 2}, "a: e: expected an evaluator as Name"),
        ({}, "a: e: expected an evaluator as Name"),
        ({1: 2}, "a: e: expected an evaluator as Name"),
        ({"MaxDuration": "abc"}, "a: e.MaxDuration: expected a valid number, or a valid duration"),
        ({"MaxDuration": -1}, "a: e.MaxDuration: seconds of MaxDuration must be a number of seconds above 0"),
        ("MaxDuration", "a: e: the parameter 'seconds' is missing"),
        ("between", "a: e: the parameters 'low', 'high' are missing"),
        (
            {"Contains": None},
            "a: e.Contains: Contains needs a value, and there is none: write {value: null} if you mean null",
        ),
        ({"ParsesAsSQL": "nope"}, "a: e.ParsesAsSQL: Unknown dialect 'nope'"),
        (
            {"EqualsExpected": None},
            "a: e.EqualsExpected: EqualsExpected takes no value: write its name alone, or",
        ),
        ({"Pair": 1}, "a: e.Pair: Pair takes no value: write its name alone, got 1"),
        (
            {"Length": {"minimun": 1}},
            "a: e.Length.minimun: no parameter is called 'minimun' (did you mean 'minimum'?)",
        ),
        ({"InRange": {"minimum": 5, "maximum": 1}}, "a: e.InRange: InRange has a minimum of 5"),
        ({"Demanding": 4}, "a: e.Demanding: level is 4"),
        ("ROCEvaluator", "a: e: ROCEvaluator judges a whole report: list it under report_evaluators"),
        ("claim", "a: e: "),
        ("needs", "a: e: the parameter 'limit' is missing"),
        (
            "os:system",
            "a: e: evaluators of the module 'os' are not allowed here: allow_modules=['os'] allows them",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(spec, problem):
    found, problems = build(spec)
    assert found is None
    assert len(problems) == 1
    assert problems[0].startswith(problem)
    assert "\n" not in problems[0]


def test_a_mapping_that_was_meant_as_a_value_is_told_apart():
    _, problems = build({"Contains": {"a": 1}})
    assert "(a mapping as a value needs its parameter's name: {value: {...}})" in problems[0]
    assert problems[1] == "a: e.Contains: the parameter 'value' is missing"


def test_an_evaluator_of_attempts_makes_no_claim_about_a_report():
    _, problems = build("EqualsExpected", of_report=True)
    assert problems == ["a: e: EqualsExpected judges single attempts: list it under evaluators"]


def test_a_type_given_by_the_caller_comes_before_a_built_in_one():
    @dataclass
    class Contains(Evaluator):
        def evaluate(self, ctx):
            return True

    assert build("Contains", evaluator_types=[Contains]) == (Contains(), [])


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([Polite()], "an evaluator type is a class or a function, got .*: pass the class Polite"),
        ([lambda output: True], "has no name that a file could hold"),
        ([dict], "is not an evaluator type"),
        ([5], "an evaluator type is a class or a function, got 5"),
        ([Polite, type("Polite", (Pair,), {})], "two of evaluator_types are called 'Polite'"),
    ],
)
def test_an_evaluator_type_must_be_one_that_a_file_can_name(types, message):
    with pytest.raises(InvalidOptionError, match=message):
        Catalog(types)


def test_the_same_type_may_be_given_twice():
    assert build("Polite", evaluator_types=[Polite, Polite]) == (Polite(), [])


# ---------------------------------------------------------------------- modules


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package with evaluators, and a module beside it; both tell when they are imported."""
    package = tmp_path / "my_project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = """
        import subprocess
        from subprocess import Popen
        class Tone:
            def evaluate(self, expected, actual):
                return True
        def short(output, limit: int = 3):
            return len(output) < limit
        anonymous = lambda output: True
    """
    (package / "evals.py").write_text(textwrap.dedent(source))
    (package / "broken.py").write_text("1 / 0")
    (tmp_path / "secret.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in {"my_project", "secret"}]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("patterns", "module", "allowed"),
    [
        (["my_project.*"], "my_project.evals", True),
        (["my_project.evals"], "my_project.evals", True),
        (["other", "my_*"], "my_project.evals", True),
        (["my_project"], "my_project.evals", False),
        (["my_project.*"], "secret", False),
        (["my_project.*"], "my_project_2.evals", False),
        ([], "secret", False),
    ],
)
def test_a_module_is_imported_only_if_the_caller_allowed_it(project, patterns, module, allowed):
    found, problems = build(f"{module}:Tone", allow_modules=patterns)
    assert (found is not None) is allowed
    assert (module in sys.modules) is allowed
    assert bool(problems) is not allowed


def test_the_package_itself_belongs_to_its_pattern(project):
    _, problems = build("my_project:Nothing", allow_modules=["my_project.*"])
    assert problems == [
        "a: e: my_project:Nothing could not be imported: AttributeError: module 'my_project' has no attribute 'Nothing'"
    ]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("my_project.broken:X", "could not be imported: ZeroDivisionError"),
        ("my_project.none:X", "could not be imported: ModuleNotFoundError"),
        ({"my_project.evals:Popen": "ls"}, "is not an evaluator type"),
        ({"my_project.evals:subprocess.run": "ls"}, "has no attribute 'subprocess.run'"),
        ("my_project.evals:subprocess", "an evaluator type is a class or a function"),
        ("my_project.evals:anonymous", "has no name that a file could hold"),
        ({"my_project.evals:short": "x"}, "expected a valid integer"),
    ],
)
def test_only_evaluators_are_taken_from_a_module(project, spec, problem):
    found, problems = build(spec, allow_modules=["my_project.*"])
    assert found is None
    assert problem in problems[0]


def test_parameters_follow_the_name_of_a_module_too(project):
    found, _ = build({"my_project.evals:short": 5}, allow_modules=["my_project.*"])
    assert found.keywords == {"limit": 5}


def test_one_pattern_is_no_list_of_them():
    with pytest.raises(
        InvalidOptionError, match="allow_modules must be a list of texts that are not empty, got 'my_project'"
    ):
        Catalog([], "my_project")


def test_every_built_in_evaluator_has_its_own_name():
    kinds = built_in_types()
    assert len(kinds) > 20
    assert len({name_of(kind) for kind in kinds}) == len(kinds)
    assert {InRange, ROCEvaluator} <= set(kinds)
    assert Evaluator not in kinds


# ---------------------------------------------------------------------- agents


def test_verdict_evaluators_have_the_same_forms_and_need_no_permission():
    assert build("LatencyBudgetEvaluator") == (LatencyBudgetEvaluator(), [])
    assert build({"LatencyBudgetEvaluator": 3000}) == (LatencyBudgetEvaluator(3000), [])
    assert build({"LatencyBudgetEvaluator": {"warn_pct": 1}}) == (LatencyBudgetEvaluator(warn_pct=1), [])
    assert build({"LatencyBudgetEvaluator": "soon"})[1] == [
        "a: e.LatencyBudgetEvaluator: expected a valid number, got 'soon'"
    ]
    assert LatencyBudgetEvaluator in built_in_types()


@pytest.mark.parametrize("name", ["BaseEvaluator", "Trace", "TestCase", "EvalVerdict"])
def test_only_evaluators_of_the_room_of_agents_can_be_named(name):
    found, problems = build(name)
    assert found is None
    assert f"no evaluator is called {name!r}" in problems[0]


# ---------------------------------------------------------------------- plugins


class Tone(EvaluatorPlugin):
    """Checks the tone."""

    name = "tone"
    evaluator_types = (Polite, close)

    def create_evaluator(self, word: str = "please", *, times: int = 1):
        if times > 3:
            raise ValueError("too often")
        return Polite(word, times)


class Exits(EvaluatorPlugin):
    name = "exits"

    def create_evaluator(self):
        raise SystemExit(1)


@pytest.fixture
def types():
    manager = PluginManager()
    manager.load_plugins(classes=[Tone, Exits], entry_points=False)
    return manager.get_evaluator_types()


@pytest.mark.parametrize(
    ("spec", "evaluator"),
    [
        ("tone", Polite()),
        ({"tone": {}}, Polite()),
        ({"tone": "thanks"}, Polite("thanks")),
        ({"tone": {"times": 2}}, Polite(times=2)),
        ({"Polite": {"times": 2}}, Polite(times=2)),
        ("close", close),
    ],
)
def test_a_plugin_offers_its_own_evaluator_by_its_name_and_types_by_theirs(types, spec, evaluator):
    assert build(spec, evaluator_types=types) == (evaluator, [])


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"tone": 5}, "a: e.tone: expected a valid string, got 5"),
        ({"tone": {"tmes": 2}}, "a: e.tone.tmes: no parameter is called 'tmes' (did you mean 'times'?)"),
        ({"tone": {"times": 4}}, "a: e.tone: too often"),
        ("tune", "a: e: no evaluator is called 'tune' (did you mean 'tone'?)"),
        ("exits", "a: e: exits could not make its evaluator: SystemExit: 1"),
    ],
)
def test_what_is_wrong_with_the_evaluator_of_a_plugin_is_a_problem_like_any_other(types, spec, problem):
    found, problems = build(spec, evaluator_types=types)
    assert found is None
    assert problems == [problem]


def test_editors_know_the_evaluators_of_plugins(types):
    forms = dataset_schema(evaluator_types=types)["$defs"]["dataset.evaluator"]["anyOf"]
    assert {"tone", "Polite"} <= set(forms[0]["enum"])
    tone = forms[2]["properties"]["tone"]
    assert tone["description"] == "Checks the tone."
    assert tone["anyOf"][1]["properties"] == {"word": {"type": "string"}, "times": {"type": "integer"}}


def test_an_installed_package_alone_makes_no_code_run(tmp_path, monkeypatch):
    (tmp_path / "tone_plugin.py").write_text("raise AssertionError('it was not asked for')")
    info = tmp_path / "tone_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tone-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[calipers.plugins]\ntone = tone_plugin:TonePlugin\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found, problems = build("tone", evaluator_types=[])
    assert found is None
    assert "those of plugins, go into evaluator_types=[...]" in problems[0]
    assert "tone_plugin" not in sys.modules
