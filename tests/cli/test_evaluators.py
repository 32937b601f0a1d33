import json

import pytest

from calipers import agents, evaluators, judges, rollouts
from calipers.cli.actions.evaluators import built_in, describe
from calipers.files import load_dataset


def test_every_built_in_evaluator_is_listed_with_its_first_line(calipers):
    shown = calipers("evaluators").stdout
    some = {
        "Contains",
        "EqualsExpected",
        "ROCEvaluator",
        "LatencyBudgetEvaluator",
        "TargetHeld",
        "RolloutCurves",
    }
    packages = (evaluators, judges, agents, rollouts)
    assert some <= set(built_in()) <= {name for each in packages for name in each.__all__}
    for name, kind in built_in().items():
        assert f"  {name} " in shown
        assert " ".join(kind.__doc__.split()[:3]) in shown
    assert "EvaluationReason" not in shown


@pytest.mark.parametrize("name", built_in())
def test_an_evaluator_is_described_with_a_line_for_each_parameter(calipers, name):
    described = describe(built_in()[name])
    shown = " ".join(calipers("evaluators", name, env={"COLUMNS": "100"}).stdout.split())
    assert described["parameters"] or name == "TargetHeld"
    for parameter in described["parameters"]:
        assert parameter["doc"], f"{name}.{parameter['name']} says nothing"
        assert f"{parameter['name']} {parameter['type']}, " in shown
        assert "calipers." not in parameter["type"]


def test_types_and_defaults_are_those_of_the_constructor():
    value, case_sensitive, *_ = describe(evaluators.Contains)["parameters"]
    assert value == {
        "name": "value",
        "type": "Any",
        "required": True,
        "default": None,
        "doc": "What to look for.",
    }
    assert case_sensitive == {
        "name": "case_sensitive",
        "type": "bool",
        "required": False,
        "default": "True",
        "doc": "Whether upper and lower case differ.",
    }


def test_everything_is_data_on_request(calipers):
    every = json.loads(calipers("evaluators", "--json").stdout)
    assert [each["name"] for each in every] == list(built_in())
    one = json.loads(calipers("evaluators", "Equals", "--json").stdout)
    assert one == describe(evaluators.Equals)
    assert {each["judges"] for each in every} == {"attempt", "report"}


@pytest.mark.parametrize(
    "name", [name for name, kind in built_in().items() if ":" not in describe(kind)["in_a_file"]]
)
def test_what_can_be_named_alone_in_a_file_can(write, name):
    where = "evaluators" if describe(built_in()[name])["judges"] == "attempt" else "report_evaluators"
    path = write("cases.yaml", f"cases: [{{inputs: 1}}]\n{where}: [{name}]\n")
    load_dataset(path)


@pytest.mark.parametrize(
    ("name", "hint"), [("Contians", "did you mean 'Contains'?"), ("zzz", "`calipers evaluators` lists them")]
)
def test_an_unknown_name_is_told_what_is_near(calipers, name, hint):
    done = calipers("evaluators", name)
    assert done.exit_code == 2
    assert f"no evaluator is called {name!r}; {hint}" in done.stderr
