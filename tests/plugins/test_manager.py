"""A manager knows its plugins and what went wrong; what they provide is made anew each time it is asked for."""

import logging
import sys
from dataclasses import dataclass

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, PluginError
from calipers.evaluators import Evaluator
from calipers.plugins import (
    AdapterPlugin,
    EvaluatorFactory,
    EvaluatorPlugin,
    PluginBase,
    PluginManager,
    PluginType,
    StorePlugin,
    UnavailableEvaluator,
    ViewPlugin,
)
from calipers.plugins.manager import Provided, satisfies
from calipers.views.formats import write_report


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


# ---------------------------------------------------------------------- loading


def test_a_file_that_was_mended_has_no_failure_any_more(folder):
    path = folder(a="1 / 0", b="2 / 0")
    manager = PluginManager()
    manager.load_plugins(directories=[path], entry_points=False)
    assert [each.plugin for each in manager.failures] == ["a", "b"]
    folder(a="from calipers.plugins import PluginBase\nclass A(PluginBase): name = 'a'")
    manager.load_plugins(directories=[path], entry_points=False)
    assert (names(manager), [each.plugin for each in manager.failures]) == (["a"], ["b"])


def test_what_went_wrong_after_loading_is_not_forgotten_by_loading_more():
    kind = make(create_evaluator=raising(ValueError("no")))
    manager = load(kind)
    manager.get_evaluators()
    manager.load_plugins(classes=[kind, make("other")], entry_points=False, strict=True)
    assert [(each.plugin, each.stage) for each in manager.failures] == [("mine", "create_evaluator")]


def test_types_may_be_settled_when_the_plugin_is_made():
    def __init__(self):
        self.evaluator_types = [Warm]

    kind = type("Late", (EvaluatorPlugin,), {"name": "late", "__init__": __init__})
    assert load(kind).get_evaluator_types() == [Warm]


def test_each_manager_has_its_own_plugins():
    kind = make()
    one, other = load(kind), load(kind)
    assert one.get("mine") is not other.get("mine")
    one.unload_all()
    assert len(other) == 1


def test_strict_raises_once_the_others_are_loaded_and_lists_everything():
    manager = PluginManager()
    with pytest.raises(PluginError) as caught:
        manager.load_plugins(
            classes=[make("a", version=1), make("b"), make("c", on_load=raising(ValueError("no")))],
            entry_points=False,
            strict=True,
        )
    assert names(manager) == ["b"]
    assert str(caught.value).startswith("not all plugins could be loaded:\n- a (")
    assert "on_load failed: ValueError: no" in str(caught.value)
    manager.load_plugins(classes=[make("d")], entry_points=False, strict=True)
    assert names(manager) == ["b", "d"]


def test_a_failure_is_logged_once(caplog):
    manager = load(make(create_evaluator=raising(ValueError("no"))))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            manager.get_evaluators()
    assert [record.name for record in caplog.records] == ["calipers.plugins"]
    assert "create_evaluator failed: ValueError: no" in caplog.text
    assert manager.failures[0].count == 3
    assert "create_evaluator failed (3 times): ValueError: no" in str(manager.failures[0])


def test_what_options_name_is_a_folder_or_an_installed_plugin(folder, install):
    text = "from calipers.plugins import PluginBase\nclass P(PluginBase): name = {!r}"
    install(offer=text.format("tone"), entry_points={"tone": "offer:P"})
    install(package="other", other_offer="1 / 0", entry_points={"other": "other_offer:P"})
    manager = PluginManager()
    manager.load_named(["to*", str(folder(a=text.format("from a file")))])
    assert (names(manager), manager.failures) == (["tone", "from a file"], [])
    manager.load_named(["plugins", "./nowhere"])
    assert [(each.plugin, each.stage) for each in manager.failures] == [
        ("plugins", "find"),
        ("nowhere", "find"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directories": "plugins"}, "directories must be a list, got 'plugins'"),
        ({"directories": None}, "directories must be a list, got None"),
        ({"classes": PluginBase}, "classes must be a list, got <class"),
        ({"entry_points": "tone"}, "entry_points must be True, False or a list of names, got 'tone'"),
        ({"entry_points": None}, "entry_points must be True, False or a list of names, got None"),
        ({"entry_points": [5]}, r"entry_points must be True, False or a list of names, got \[5\]"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        PluginManager().load_plugins(**options)


# ---------------------------------------------------------------------- what is loaded


def test_a_manager_is_a_collection_of_plugins():
    manager = load(make("a"), make("b", base=PluginBase))
    assert [plugin.name for plugin in manager] == ["a", "b"]
    assert (len(manager), "a" in manager, "c" in manager) == (2, True, False)
    assert repr(manager) == "PluginManager(a, b; 0 failures)"
    with pytest.raises(PluginError, match="no plugin 'c' is loaded; loaded are: 'a', 'b'"):
        manager.get("c")
    with pytest.raises(PluginError, match="loaded are: none"):
        PluginManager().get("c")


@pytest.mark.parametrize(("own", "shown"), [(None, "1.2"), ("3.0", "3.0")])
def test_the_version_is_the_plugins_own_or_that_of_its_package(install, own, shown):
    text = f"from calipers.plugins import PluginBase\nclass A(PluginBase):\n    name, version = 'a', {own!r}"
    install(offer=text, entry_points={"a": "offer:A"})
    manager = PluginManager()
    manager.load_plugins()
    assert [each.version for each in manager.plugins] == [shown]
    assert load(make()).plugins[0].version is None


def test_unloading_tells_every_plugin_in_order_and_forgets_them():
    told = []
    manager = load(
        make("a", on_unload=lambda self: told.append("a")),
        make("b", on_unload=raising(ValueError("no")), on_suite_end=lambda self: None),
        make("c", on_unload=lambda self: told.append("c")),
    )
    with manager:
        assert len(manager) == 3
    assert told == ["a", "c"]
    assert (len(manager), manager.get_evaluators(), manager.get_evaluator_types()) == (0, [], [])
    assert not manager.listens("on_suite_end")
    assert [(each.plugin, each.stage) for each in manager.failures] == [("b", "on_unload")]
    manager.unload_all()
    assert told == ["a", "c"]


# ---------------------------------------------------------------------- what they provide


def test_evaluators_are_made_anew_each_time_in_the_order_of_loading():
    manager = load(
        make("b", create_evaluator=lambda self: Warm(2)),
        make("only types", evaluator_types=[Warm]),
        make("a", create_evaluator=lambda self: Warm(1)),
    )
    one, other = manager.get_evaluators(), manager.get_evaluators()
    assert one == other == [Warm(2), Warm(1)]
    assert one[0] is not other[0]


@pytest.mark.parametrize(
    ("create", "why"),
    [
        (raising(ValueError("no model")), "ValueError: no model"),
        (raising(SystemExit(1)), "SystemExit: 1"),
        (lambda self: None, "NotAnEvaluatorError"),
        (lambda self: Warm, "NotAnEvaluatorError"),
        (lambda self, needed: judge, "TypeError"),
    ],
)
def test_an_evaluator_that_cannot_be_made_fails_on_every_case_and_is_never_a_pass(create, why):
    manager = load(make("lost", create_evaluator=create), make("fine"))
    lost, fine = manager.get_evaluators()
    assert isinstance(lost, UnavailableEvaluator)
    assert fine is judge
    report = Dataset(cases=[Case(inputs=1), Case(inputs=2)], evaluators=[lost, fine]).evaluate_sync(
        abs, progress=False
    )
    assert report.pass_rate().value == 0
    failure = report.cases[0].evaluator_failures[0]
    assert failure.name == "lost"
    assert f"the plugin 'lost' could not make its evaluator: {why}" in failure.error_message
    assert manager.failures[0].stage == "create_evaluator"


def test_ctrl_c_goes_through_what_makes_things():
    manager = load(
        make(create_evaluator=raising(KeyboardInterrupt())),
        make("view", base=ViewPlugin, create_view=raising(KeyboardInterrupt())),
    )
    with pytest.raises(KeyboardInterrupt):
        manager.get_evaluators()
    with pytest.raises(KeyboardInterrupt):
        manager.get_views()


@pytest.mark.parametrize(
    ("base", "method", "get", "also"),
    [
        (AdapterPlugin, "create_adapter", "get_adapters", "get_adapters"),
        (ViewPlugin, "create_view", "get_views", "get_reporters"),
        (StorePlugin, "create_store", "get_stores", "get_storage_backends"),
    ],
)
def test_other_things_that_cannot_be_made_are_left_out_and_told_of(base, method, get, also):
    manager = load(
        make("first", base=base, **{method: lambda self: "made"}),
        make("second", base=base, **{method: raising(SystemExit(2))}),
        make("evaluator"),
        make("third", base=base, **{method: lambda self: "made, too"}),
    )
    assert getattr(manager, get)() == getattr(manager, also)() == ["made", "made, too"]
    assert [(each.plugin, each.stage, each.count) for each in manager.failures] == [("second", method, 2)]


class Agent:
    name = "agent"

    def invoke(self, input_text):
        return input_text.upper()


PROVIDERS = pytest.mark.parametrize(
    ("base", "method", "by_name", "create"),
    [
        (AdapterPlugin, "create_adapter", "adapters", Agent),
        (ViewPlugin, "create_view", "views", lambda: lambda report: report.name),
    ],
    ids=["adapters", "views"],
)


@PROVIDERS
def test_a_view_and_an_adapter_can_be_looked_up_by_the_name_of_its_plugin(base, method, by_name, create):
    made = []

    def make_one(self):
        made.append(create())
        return made[-1]

    manager = load(make("first", base=base, **{method: make_one}), make("evaluator"))
    provided = getattr(manager, by_name)
    assert list(provided) == ["first"]
    assert ("first" in provided, "evaluator" in provided, made) == (True, False, [])
    assert provided["first"] is provided["first"]
    assert getattr(manager, by_name)["first"] is not provided["first"]
    with pytest.raises(KeyError):
        provided["evaluator"]


@PROVIDERS
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (raising(OSError("no model")), "failed: OSError: no model"),
        (raising(SystemExit(2)), "failed: SystemExit: 2"),
        (lambda self, needed: None, "failed: TypeError"),
        (lambda self: None, "must return .* got None"),
        (lambda self: 5, "must return .* got 5"),
    ],
    ids=["raises", "exits", "needs arguments", "none", "number"],
)
def test_one_that_cannot_be_made_is_an_error_that_names_the_plugin(base, method, by_name, create, wrong, why):
    manager = load(
        make("wrong", base=base, **{method: wrong}), make("fine", base=base, **{method: lambda _: create()})
    )
    provided = getattr(manager, by_name)
    with pytest.raises(PluginError, match=f"{method} of the plugin 'wrong' {why}"):
        provided["wrong"]
    assert provided["fine"]


def test_views_and_adapters_fit_where_they_are_used(tmp_path):
    manager = load(
        make("agent", base=AdapterPlugin, create_adapter=lambda self: Agent()),
        make("title", base=ViewPlugin, create_view=lambda self: lambda report: report.name),
    )
    report = Dataset(cases=[Case(inputs="a")]).evaluate_sync(manager.adapters["agent"], progress=False)
    assert (report.name, report.cases[0].output) == ("agent", "A")
    write_report(report, f"title:{tmp_path / 'title'}", views=manager.views)
    assert (tmp_path / "title").read_text(encoding="utf-8") == "agent"


def test_a_plugin_may_provide_several_kinds_of_things():
    class Both(EvaluatorPlugin, ViewPlugin):
        name = "both"
        evaluator_types = (Warm, judge)

        def create_evaluator(self):
            return judge

        def create_view(self):
            return print

    manager = load(Both)
    assert manager.plugins[0].types == ("evaluator", "view")
    assert (manager.get_evaluators(), manager.get_views()) == ([judge], [print])
    warm, function, own = manager.get_evaluator_types()
    assert (warm, function) == (Warm, judge)
    assert isinstance(own, EvaluatorFactory)


def test_a_type_of_the_plugins_own_name_stands_for_its_evaluator():
    manager = load(make("Warm", evaluator_types=[Warm], create_evaluator=lambda self: Warm(3)))
    assert manager.get_evaluator_types() == [Warm]
    assert manager.get_evaluators() == [Warm(3)]


def test_a_thing_is_made_by_the_first_that_looks_it_up_and_kept():
    made = []

    def make():
        made.append(object())
        return made[-1]

    things = Provided({"one": make, "other": make})
    assert (len(things), list(things), "one" in things, "none" in things) == (
        2,
        ["one", "other"],
        True,
        False,
    )
    assert repr(things) == "Provided(one, other)"
    assert made == []
    assert things["one"] is things.get("one") is made[0]
    assert len(made) == 1
    assert things.get("none") is None
    with pytest.raises(KeyError):
        things["none"]


def test_what_could_not_be_made_is_tried_again():
    attempts = iter([ValueError("not yet"), "made"])

    def make():
        found = next(attempts)
        if isinstance(found, Exception):
            raise found
        return found

    things = Provided({"one": make})
    with pytest.raises(ValueError, match="not yet"):
        things["one"]
    assert things["one"] == "made"


# ---------------------------------------------------------------------- loading one plugin


OURS = sys.modules["calipers"].__version__


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
