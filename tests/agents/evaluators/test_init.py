import inspect
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import calipers.agents
from calipers.agents import BaseEvaluator

KINDS = [
    kind
    for kind in (getattr(calipers.agents, name) for name in calipers.agents.__all__)
    if inspect.isclass(kind) and issubclass(kind, BaseEvaluator) and kind is not BaseEvaluator
]
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "judge-an-agent.md"


def test_there_are_evaluators_to_look_at():
    assert len(KINDS) >= 10


def test_the_page_about_judging_agents_lists_every_evaluator():
    table = PAGE.read_text(encoding="utf-8").split("| evaluator | PASS |", 1)[1].split("\n\n", 1)[0]
    listed = re.findall(r"^\| `(\w+)", table, re.MULTILINE)
    assert sorted(listed) == sorted(kind.__name__ for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_page_about_judging_agents_tells_of_every_option(kind):
    text = PAGE.read_text(encoding="utf-8")
    options = {each.name for each in fields(kind)} - {"name"}
    assert not {option for option in options if not re.search(rf"\b{option}\b", text)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_evaluator_is_a_dataclass_whose_options_are_documented(kind):
    assert is_dataclass(kind)
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")  # what dataclass writes when there is none
    source = inspect.getsource(kind)
    for each in fields(kind):
        if each.name != "name":  # told once, by BaseEvaluator
            after = source.partition(f"    {each.name}: ")[2]
            assert after.partition("\n")[2].lstrip().startswith('"""'), each.name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_evaluator_can_be_named(kind):
    assert "name" in {each.name for each in fields(kind)}


def test_importing_evaluators_loads_no_dependency_that_they_may_not_need():
    heavy = ("jsonschema_rs", "numpy", "wordllama", "scipy", "rapidfuzz")
    names = ", ".join(kind.__name__ for kind in KINDS)
    program = (
        f"import sys\nfrom calipers.agents import {names}\nprint([n for n in {heavy!r} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
