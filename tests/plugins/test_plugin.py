"""What a plugin is."""

import abc
import asyncio
import signal
import threading

import pytest

from calipers import Case, CaseLifecycle, Dataset
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.errors import InvalidOptionError, PluginError
from calipers.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    PluginManager,
    PluginType,
    ReporterPlugin,
    StoragePlugin,
    StorePlugin,
    ViewPlugin,
)
from calipers.plugins.plugin import DETAILS, FACTORIES, defines, hooks_of, is_plugin, types_of


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


def plugin(plugin_name="listener", **members):
    return type("Listener", (PluginBase,), {"name": plugin_name, **members})


def load(*classes):
    manager = PluginManager()
    manager.load_plugins(classes=classes, entry_points=False, strict=True)
    return manager


def recorder(told, name="listener"):
    """A plugin that writes down what it is told."""

    def note(hook):
        return lambda self, **details: told.append((name, hook, details))

    return plugin(name, **{hook: note(hook) for hook in DETAILS})


def run(manager, task=lambda inputs: inputs, n=2, **options):
    cases = [Case(name=f"c{i}", inputs=i) for i in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[lambda output: output != 1])
    return dataset.evaluate_sync(task, plugins=manager, progress=False, **options)


async def async_task(inputs):
    await asyncio.sleep(0)
    return inputs


@pytest.mark.parametrize("task", [lambda inputs: inputs, async_task], ids=["blocking", "async"])
def test_a_run_is_told_from_its_beginning_to_its_end(task):
    told = []
    report = run(load(recorder(told)), task, n=1, seed=7, name="nightly", metadata={"by": "me"}, repeat=2)
    hooks = [(hook, details.get("test_name")) for _, hook, details in told]
    assert hooks[0] == ("on_suite_start", None)
    assert hooks[-1] == ("on_suite_end", None)
    assert sorted(hooks[1:-1]) == [
        (hook, name) for hook in ("on_test_end", "on_test_start") for name in ("c0 [1/2]", "c0 [2/2]")
    ]
    assert told[0][2] == {
        "name": "nightly",
        "dataset_name": "numbers",
        "total": 2,
        "repeat": 2,
        "seed": 7,
        "metadata": {"by": "me"},
    }
    start = told[1][2]
    assert (start["case"].name, start["repeat_index"]) == ("c0", 1)
    ends = [details for _, hook, details in told if hook == "on_test_end"]
    assert sorted(end["record"].name for end in ends) == ["c0 [1/2]", "c0 [2/2]"]
    assert all(isinstance(end["record"], ReportCase) and end["record"].passed for end in ends)
    assert told[-1][2] == {"name": "nightly", "report": report}


def test_each_hook_of_every_plugin_is_called_in_the_order_of_loading():
    told = []
    run(load(recorder(told, "a"), recorder(told, "b")), n=1)
    assert [(name, hook) for name, hook, _ in told] == [(name, hook) for hook in DETAILS for name in "ab"]


def test_a_hook_is_told_what_its_parameters_name():
    seen = []

    class Names(PluginBase):
        name = "names"

        def on_suite_start(self, total, *, seed):
            seen.append((total, seed))

        def on_test_start(self, test_name):
            seen.append(test_name)

        async def on_test_end(self, record, other="default", **rest):
            await asyncio.sleep(0)
            seen.append((record.output, other, sorted(rest)))

        @staticmethod
        def on_suite_end(report):
            seen.append(report.counts().attempts)

    run(load(Names), n=1, seed=3)
    assert seen == [(1, 3), "c0", (0, "default", ["case", "repeat_index", "test_name"]), 1]


@pytest.mark.parametrize(
    "hook",
    [
        lambda self, name, foo: None,
        lambda self, test_name, /: None,
        lambda self, *, foo: None,
    ],
    ids=["unknown", "by position", "unknown by keyword"],
)
def test_a_parameter_that_nothing_is_known_for_is_told_of_when_the_plugin_is_loaded(hook):
    with pytest.raises(PluginError, match=r"on_test_start has an unknown parameter '.*': it may"):
        hooks_of(plugin(on_test_start=hook)())


# ---------------------------------------------------------------------- what fails


def test_a_failed_task_and_a_bad_case_are_attempts_like_any_other():
    told = []

    def cases():
        yield Case(name="good", inputs=1)
        yield "no case"

    Dataset(cases=cases(), evaluators=[lambda output: True]).evaluate_sync(
        lambda inputs: 1 / 0, plugins=load(recorder(told)), progress=False
    )
    assert told[0][2]["total"] is None
    ends = [details["record"] for _, hook, details in told if hook == "on_test_end"]
    assert [type(end) for end in ends] == [ReportCaseFailure] * 2
    assert sorted(end.error_type for end in ends) == ["InvalidCaseError", "ZeroDivisionError"]


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), SystemExit(3), RecursionError("deep"), asyncio.CancelledError(), StopIteration(1)],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("task", [lambda inputs: inputs, async_task], ids=["blocking", "async task"])
def test_a_hook_that_fails_changes_nothing_for_the_run_or_for_other_plugins(error, is_async, task):
    def broken(self, **_):
        raise error

    async def broken_later(self, **_):
        await asyncio.sleep(0)
        raise error

    told = []
    hook = broken_later if is_async else broken
    manager = load(plugin("broken", **dict.fromkeys(DETAILS, hook)), recorder(told))
    report = run(manager, task, n=3)
    assert (report.counts().attempts, report.incomplete) == (3, None)
    assert [case.passed for case in report.cases] == [True, False, True]
    assert len(told) == 2 + 2 * 3
    assert {each.stage: each.count for each in manager.failures} == {
        "on_suite_start": 1,
        "on_test_start": 3,
        "on_test_end": 3,
        "on_suite_end": 1,
    }


def test_a_run_that_breaks_off_is_over_all_the_same():
    told = []

    class Breaks:
        def __call__(self, counts):
            raise ValueError("no progress")

    manager = load(recorder(told))
    dataset = Dataset(cases=[Case(inputs=1)], evaluators=[lambda output: True])
    with pytest.raises(ValueError, match="no progress"):
        dataset.evaluate_sync(lambda inputs: inputs, plugins=manager, progress=Breaks())
    assert [(hook, details.get("report")) for _, hook, details in told if "suite" in hook] == [
        ("on_suite_start", None),
        ("on_suite_end", None),
    ]
    assert manager.failures == []


def test_a_run_that_is_cancelled_tells_so_of_what_was_in_flight():
    told = []

    async def main():
        started = asyncio.Event()

        async def hangs(inputs):
            started.set()
            await asyncio.Event().wait()

        dataset = Dataset(cases=[Case(name="c", inputs=1)], evaluators=[lambda output: True])
        manager = load(recorder(told))
        job = asyncio.create_task(dataset.evaluate(hangs, plugins=manager, progress=False))
        await started.wait()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert manager.failures == []

    asyncio.run(main())
    assert [(hook, details.get("record"), details.get("report")) for _, hook, details in told] == [
        ("on_suite_start", None, None),
        ("on_test_start", None, None),
        ("on_test_end", None, None),
        ("on_suite_end", None, None),
    ]


def test_mistakes_in_the_set_up_are_found_before_any_hook_is_called():
    told = []
    with pytest.raises(InvalidOptionError):
        run(load(recorder(told)), repeat=0)
    assert told == []


def test_ctrl_c_in_a_hook_ends_the_run_and_an_error_that_looks_like_it_does_not():
    def press(self, **_):
        signal.raise_signal(signal.SIGINT)

    def pretend(self, **_):
        raise KeyboardInterrupt

    assert run(load(plugin(on_suite_start=press))).interrupted_by == "Ctrl-C"
    assert run(load(plugin(on_suite_start=pretend))).incomplete is None


@pytest.mark.parametrize(
    "wrong",
    [PluginManager, [], "tone", object(), PluginBase()],
    ids=["class", "list", "text", "object", "plugin"],
)
def test_only_a_manager_can_be_told(wrong):
    with pytest.raises(InvalidOptionError, match="plugins must be a PluginManager, got"):
        run(wrong)


# ---------------------------------------------------------------------- what it costs


def thread_of(manager):
    """The name of the thread in which a blocking task runs."""
    return run(manager, lambda inputs: threading.current_thread().name, n=1).cases[0].output


def test_only_hooks_of_attempts_change_how_a_run_works():
    assert thread_of(None) == thread_of(PluginManager()) == "calipers-task"
    assert thread_of(load(plugin(on_suite_end=lambda self, report: None))) == "calipers-task"
    assert thread_of(load(plugin(on_test_end=lambda self, record: None))) == "calipers-call"


def test_hooks_stand_around_those_of_a_lifecycle():
    seen = []

    class Hooks(CaseLifecycle):
        def setup(self):
            seen.append("setup")

        def teardown(self, result):
            seen.append("teardown")

    class Listens(PluginBase):
        name = "listens"

        def on_test_start(self):
            seen.append("start")

        def on_test_end(self, record):
            seen.append("end")

    run(load(Listens), lambda inputs: seen.append("task"), n=1, lifecycle=Hooks)
    assert seen == ["start", "setup", "task", "teardown", "end"]
