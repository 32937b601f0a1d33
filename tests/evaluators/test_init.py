import inspect
import subprocess
import sys
from dataclasses import fields

import pytest

import calipers.evaluators
from calipers.evaluators import Evaluator

BUILT_IN = [
    kind
    for kind in (getattr(calipers.evaluators, name) for name in calipers.evaluators.__all__)
    if inspect.isclass(kind) and issubclass(kind, Evaluator) and kind is not Evaluator
]


def test_the_list_of_names_is_sorted_and_agrees_with_the_namespace():
    names = calipers.evaluators.__all__
    assert names == sorted(set(names))
    assert dir(calipers.evaluators) == names
    for name in names:
        assert getattr(calipers.evaluators, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        calipers.evaluators.Nonsense  # noqa: B018 - the access is the test


def test_importing_one_name_does_not_load_the_dependencies_of_others():
    heavy = ("regex", "jsonschema_rs", "rapidfuzz", "sqlglot", "numpy", "opentelemetry", "rich")
    program = (
        "import sys\n"
        "from calipers.evaluators import Contains, Equals, Evaluator, IsJSON, MatchesJSONSchema, ParsesAsSQL, SimilarText\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_evaluator_can_be_named_and_by_default_is_called_by_its_class(kind):
    last = fields(kind)[-1]
    assert (last.name, last.default, last.kw_only) == ("evaluation_name", None, True)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_evaluator_and_every_option_is_documented(kind):
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")  # what dataclass writes when there is none
    source = inspect.getsource(kind)
    for each in fields(kind):
        _, _, after = source.partition(f"    {each.name}: ")
        assert after.partition("\n")[2].lstrip().startswith('"""'), each.name
