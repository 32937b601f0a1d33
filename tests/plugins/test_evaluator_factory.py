"""Evaluators of plugins, as files name them."""

import inspect

import pytest

from calipers.errors import PluginError
from calipers.plugins import EvaluatorFactory, EvaluatorPlugin
from calipers.plugins.evaluator_factory import name_of


class Budget(EvaluatorPlugin):
    """Checks a budget."""

    name = "budget"

    def create_evaluator(self, limit: int = 5, *, strict: bool = False):
        return ("evaluator", limit, strict)


class Exits(EvaluatorPlugin):
    name = "exits"

    def create_evaluator(self):
        raise SystemExit(3)


def test_a_factory_has_the_name_the_parameters_and_the_words_of_its_plugin():
    factory = EvaluatorFactory("budget", Budget().create_evaluator, Budget.__doc__)
    assert name_of(factory) == "budget"
    assert list(inspect.signature(factory).parameters) == ["limit", "strict"]
    assert inspect.getdoc(factory) == "Checks a budget."
    assert repr(factory) == "EvaluatorFactory('budget')"
    assert factory(limit=3, strict=True) == ("evaluator", 3, True)
    assert factory() == ("evaluator", 5, False)


def test_a_factory_that_would_end_the_process_raises_instead():
    with pytest.raises(PluginError, match="exits could not make its evaluator: SystemExit: 3"):
        EvaluatorFactory("exits", Exits().create_evaluator, None)()
