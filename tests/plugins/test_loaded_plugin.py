"""Loading one plugin is all or nothing."""

import sys
from dataclasses import dataclass

import pytest

from calipers.errors import PluginError
from calipers.evaluators import Evaluator
from calipers.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    PluginManager,
    PluginType,
    StorePlugin,
    ViewPlugin,
)
from calipers.plugins.loaded_plugin import satisfies

OURS = sys.modules["calipers"].__version__


def judge(output):
    return True


@dataclass
class Warm(Evaluator):
    least: int = 1

    def evaluate(self, ctx):
        return ctx.output.count("thank") >= self.least


def make(name="mine", base=EvaluatorPlugin, **members):
    """A class of plugins."""
    if base is EvaluatorPlugin and not {"create_evaluator", "evaluator_types"} & set(members):
        members["create_evaluator"] = lambda self: judge
    return type(f"{str(name).title()}Plugin", (base,), {"name": name, **members})


def load(*classes, **options):
    manager = PluginManager()
    manager.load_plugins(classes=classes, entry_points=False, **options)
    return manager


def raising(error):
    def method(self, *_, **__):
        raise error

    return method


def names(manager):
    return [each.name for each in manager.plugins]


@pytest.mark.parametrize(
    ("members", "stage", "message"),
    [
        ({"__init__": raising(ValueError("no"))}, "create", "ValueError: no"),
        ({"__init__": lambda self, needed: None}, "create", "TypeError: "),
        ({"__init__": raising(SystemExit(1))}, "create", "SystemExit: 1"),
        ({"name": property(raising(ValueError("no")))}, "name", "ValueError: no"),
        (
            {"name": ""},
            "name",
            "PluginError: the name of a plugin must be one line of text without a colon, got ''",
        ),
        ({"name": None}, "name", "got None"),
        ({"name": 5}, "name", "got 5"),
        ({"name": float("nan")}, "name", "got nan"),
        ({"name": " mine"}, "name", "got ' mine'"),
        ({"name": "two\nlines"}, "name", r"got 'two\nlines'"),
        ({"name": "a:b"}, "name", "got 'a:b'"),
        ({"version": property(raising(ValueError("no")))}, "version", "ValueError: no"),
        ({"version": 1.0}, "version", "PluginError: version must be a text, or None, got 1.0"),
        ({"version": ""}, "version", "got ''"),
        (
            {"requires_calipers": ">=99"},
            "requires_calipers",
            f"PluginError: it needs calipers >=99, and this is {OURS}",
        ),
        (
            {"requires_calipers": "99"},
            "requires_calipers",
            "PluginError: '99' is not a version requirement",
        ),
        ({"requires_calipers": 99}, "requires_calipers", "PluginError: requires_calipers must be a text"),
        ({"evaluator_types": 5}, "provides", "TypeError: 'int' object is not iterable"),
        ({"evaluator_types": property(raising(ValueError("no")))}, "provides", "ValueError: no"),
        ({"evaluator_types": [Warm()]}, "provides", "InvalidOptionError: an evaluator type is a class or a"),
        ({"evaluator_types": [lambda output: 1]}, "provides", "has no name that a file could hold"),
        (
            {"evaluator_types": [Warm, type("Warm", (Warm,), {})]},
            "provides",
            "two of its evaluator_types are",
        ),
        (
            {"evaluator_types": [type("Contains", (Warm,), {})]},
            "provides",
            "Calipers itself has a 'Contains'",
        ),
        ({"name": "Equals"}, "provides", "Calipers itself has a 'Equals'"),
        ({"plugin_type": "view"}, "provides", "plugin_type is 'view', but its base classes make it of type"),
        (
            {"on_test_start": lambda self, other: None},
            "hooks",
            "on_test_start has an unknown parameter 'other'",
        ),
        ({"on_load": raising(ValueError("no"))}, "on_load", "ValueError: no"),
        ({"on_load": raising(SystemExit("bye"))}, "on_load", "SystemExit: bye"),
        ({"on_load": lambda self: self.on_load()}, "on_load", "RecursionError: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_plugin_is_loaded_as_a_whole_or_not_at_all(members, stage, message):
    unloaded = []
    wrong = make(**{"on_unload": lambda self: unloaded.append(1), **members})
    manager = load(make("before"), wrong, make("after"))
    assert names(manager) == ["before", "after"]
    (failure,) = manager.failures
    assert failure.stage == stage
    assert message in failure.error_message
    assert failure.source.origin == "class"
    assert "Traceback" in failure.traceback
    assert len(manager.get_evaluators()) == 2
    assert [kind.name for kind in manager.get_evaluator_types()] == ["before", "after"]
    manager.unload_all()
    assert not unloaded


async def later(self):
    return None


def test_hooks_outside_of_runs_cannot_be_async():
    manager = load(make(on_load=later), make("other", on_unload=later))
    manager.unload_all()
    assert [(each.plugin, each.stage) for each in manager.failures] == [
        ("mine", "on_load"),
        ("other", "on_unload"),
    ]
    assert all("it is async" in each.error_message for each in manager.failures)


@pytest.mark.parametrize(
    ("base", "members"),
    [
        (EvaluatorPlugin, "create_evaluator or evaluator_types"),
        (AdapterPlugin, "create_adapter"),
        (ViewPlugin, "create_view or create_reporter"),
        (StorePlugin, "create_store or create_storage"),
    ],
)
def test_a_plugin_that_provides_nothing_is_no_plugin(base, members):
    manager = load(type("Empty", (base,), {"name": "empty"}), make("none", evaluator_types=[]))
    assert manager.failures[0].error_message == (
        f"PluginError: it provides no {base.plugin_type}: define {members}"
    )
    assert (
        manager.failures[1].summary == "it provides no evaluator: define create_evaluator or evaluator_types"
    )
    assert len(manager) == 0


@pytest.mark.parametrize("kind", [*PluginType, "evaluator", "something else"])
def test_a_plugin_that_only_listens_may_say_that_it_is_of_any_type(kind):
    manager = load(type("Listens", (PluginBase,), {"name": "listens", "plugin_type": kind}))
    assert not manager.failures
    assert names(manager) == ["listens"]


@pytest.mark.parametrize("name", ["html", "md", "JSON", "c"])
def test_a_view_may_not_have_a_name_that_means_something_else_before_a_colon(name):
    manager = load(make(name, base=ViewPlugin, create_view=lambda self: str), make(name))
    assert [type(plugin).__mro__[1] for plugin in manager] == [EvaluatorPlugin]
    (failure,) = manager.failures
    assert (failure.plugin, failure.stage, failure.error_type) == (name, "provides", "InvalidOptionError")


@pytest.mark.parametrize("where", ["__init__", "name", "on_load"])
def test_ctrl_c_goes_through_and_leaves_what_was_loaded(where):
    interrupt = raising(KeyboardInterrupt())
    manager = load(make("before"))
    with pytest.raises(KeyboardInterrupt):
        manager.load_plugins(
            classes=[make(**{where: property(interrupt) if where == "name" else interrupt})],
            entry_points=False,
        )
    assert names(manager) == ["before"]


def test_of_two_plugins_with_one_name_the_first_is_loaded_and_the_second_told_of():
    first, second = make("tone"), type("Other", (make("tone"),), {"on_load": raising(AssertionError())})
    manager = load(first, make("between"), second)
    assert names(manager) == ["tone", "between"]
    assert type(manager.get("tone")) is first
    (failure,) = manager.failures
    assert failure.stage == "duplicate"
    assert "another plugin has this name: " in failure.error_message


def test_of_two_evaluators_with_one_name_the_first_is_loaded():
    again = type("Warm", (Warm,), {})
    manager = load(make("a", evaluator_types=[Warm]), make("b", evaluator_types=[again]), make("Warm"))
    assert names(manager) == ["a"]
    assert [each.error_message for each in manager.failures] == [
        "PluginError: the plugin 'a' also provides an evaluator 'Warm'"
    ] * 2


def test_the_same_plugin_is_loaded_once_however_often_it_is_found(folder):
    loads = []
    kind = make(on_load=lambda self: loads.append(1))
    manager = load(kind, kind)
    manager.load_plugins(classes=[kind], entry_points=False)
    path = folder(a="from calipers.plugins import PluginBase\nclass A(PluginBase): name = 'a'")
    for _ in range(2):
        manager.load_plugins(directories=[path, f"{path}/../{path.name}"], entry_points=False)
    assert (names(manager), loads, manager.failures) == (["mine", "a"], [1], [])


def test_a_file_that_is_both_installed_and_in_a_folder_is_one_plugin(install):
    text = "from calipers.plugins import PluginBase\nclass A(PluginBase): name = 'a'"
    site = install(offer=text, entry_points={"a": "offer:A"})
    manager = PluginManager()
    manager.load_plugins(directories=[site])
    assert (names(manager), manager.failures) == (["a"], [])


@pytest.mark.parametrize(
    ("version", "requirement", "holds"),
    [
        ("0.1.0", ">=0.1", True),
        ("0.1.0", " >= 0.1 , < 2 ", True),
        ("0.1.0", ">=0.2", False),
        ("0.1.0", "==0.1.*", True),
        ("0.1.0", "~=0.1", True),
        ("1.2.3", "~=1.2.0", True),
        ("1.0.post1", ">1.0", False),
        ("1.0.post1", ">=1.0", True),
        ("1.0.post1", "==1.0", False),
        ("1.0.post1", "~=1.0", True),
        ("1.0.post2", ">1.0.post1", True),
        ("1.0.post1", "<1.0.1", True),
        ("1.0.post1.dev1", "<1.0.post1", False),
        ("1.0", "<1.0.post1", True),
        ("1.0rc1", "<1.0", False),
        ("1.0rc1", "<1.0rc2", True),
        ("1.0rc1", ">=0.9", True),
        ("1.0.dev1", "<1.0a1", True),
    ],
)
def test_a_requirement_means_what_it_means_to_the_tools_of_python(version, requirement, holds):
    assert satisfies(version, requirement) is holds


@pytest.mark.parametrize(
    "requirement",
    ["0.1", "", ",", ">=1.0,=2", ">=one", ">=1.*", "~=1", pytest.param("1.0", id="no operator")],
)
def test_a_requirement_that_cannot_be_read_is_refused(requirement):
    with pytest.raises(PluginError) as refused:
        satisfies("0.1.0", requirement)
    assert str(refused.value).startswith(f"{requirement!r} is not a version requirement: write an operator")
