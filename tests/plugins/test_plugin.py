"""What a plugin is."""

import abc

import pytest

from calipers.errors import PluginError
from calipers.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    PluginType,
    ReporterPlugin,
    StoragePlugin,
    StorePlugin,
    ViewPlugin,
)
from calipers.plugins.plugin import FACTORIES, defines, is_plugin, types_of


class Both(EvaluatorPlugin, ViewPlugin):
    name = "both"

    def create_evaluator(self):
        return lambda output: True

    def create_reporter(self):
        return print


@pytest.mark.parametrize(
    ("ours", "theirs"), [(PluginType.VIEW, PluginType.REPORTER), (PluginType.STORE, PluginType.STORAGE)]
)
def test_a_type_has_one_word_of_ours_and_answers_to_another(ours, theirs):
    assert ours is theirs
    assert PluginType(theirs.name.lower()) is ours


def test_the_types_are_these_and_no_others():
    assert [each.value for each in PluginType] == ["evaluator", "adapter", "view", "store", "hooks"]
    with pytest.raises(ValueError, match="'judge' is not a valid PluginType"):
        PluginType("judge")


def test_the_classes_answer_to_other_words_too():
    assert ReporterPlugin is ViewPlugin
    assert StoragePlugin is StorePlugin


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        (PluginBase, ["hooks"]),
        (EvaluatorPlugin, ["evaluator"]),
        (AdapterPlugin, ["adapter"]),
        (ViewPlugin, ["view"]),
        (StorePlugin, ["store"]),
        (Both, ["evaluator", "view"]),
    ],
)
def test_what_a_plugin_provides_follows_from_what_it_derives_from(kind, types):
    assert list(types_of(kind)) == types
    assert kind.plugin_type == types[0]


class Named(PluginBase):
    name = "named"


class ByProperty(PluginBase):
    @property
    def name(self):
        return "by property"


class Unnamed(PluginBase):
    pass


class Unfinished(PluginBase, abc.ABC):
    name = "unfinished"

    @abc.abstractmethod
    def something(self): ...


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Named, True),
        (ByProperty, True),
        (Both, True),
        (Unnamed, False),
        (Unfinished, False),
        (PluginBase, False),
        (EvaluatorPlugin, False),
        (Named(), False),
        (int, False),
        (None, False),
    ],
)
def test_a_plugin_is_a_class_with_a_name_and_nothing_abstract(kind, expected):
    assert is_plugin(kind) is expected


@pytest.mark.parametrize(
    ("base", "method"),
    [
        (EvaluatorPlugin, "create_evaluator"),
        *((base, method) for base, methods in FACTORIES.items() for method in methods),
    ],
)
def test_a_method_that_a_plugin_did_not_define_says_so(base, method):
    class Forgetful(base):
        name = "forgetful"

    with pytest.raises(PluginError, match="the plugin 'forgetful' makes no"):
        getattr(Forgetful(), method)()
    assert not defines(Forgetful, method)


@pytest.mark.parametrize(
    ("base", "defined", "asked"),
    [(ViewPlugin, "create_reporter", "create_view"), (StorePlugin, "create_storage", "create_store")],
)
def test_a_method_may_be_defined_under_its_other_word(base, defined, asked):
    kind = type("Mine", (base,), {"name": "mine", defined: lambda self: "made"})
    assert getattr(kind(), asked)() == "made"
    assert defines(kind, defined)


def test_all_hooks_do_nothing_unless_they_are_defined():
    plugin = Named()
    for hook in ("on_load", "on_unload", "on_suite_start", "on_test_start", "on_test_end", "on_suite_end"):
        assert getattr(plugin, hook)() is None
        assert not defines(Named, hook)
