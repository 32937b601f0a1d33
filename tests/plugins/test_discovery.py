"""Where plugins come from, in which order, and what happens to those that cannot be found."""

import pickle
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import PluginError
from calipers.plugins import EvaluatorPlugin, PluginBase, PluginManager, Source
from calipers.plugins.discovery import failure_of, find_classes, import_plugin_file

PLUGIN = """
    from calipers.plugins import AdapterPlugin, EvaluatorPlugin, PluginBase

    class {cls}(EvaluatorPlugin):
        name = "{name}"

        def create_evaluator(self):
            return lambda output: True
"""


def plugin(name, cls="OfferPlugin"):
    return PLUGIN.format(name=name, cls=cls)


def load(**options):
    manager = PluginManager()
    manager.load_plugins(**{"entry_points": False, **options})
    return manager


def names(manager):
    return [each.name for each in manager.plugins]


def failures(manager):
    return [(each.plugin, each.stage, each.error_message) for each in manager.failures]


# ---------------------------------------------------------------------- order


def test_entry_points_come_first_then_folders_then_classes(folder, install):
    install(offer=plugin("installed"), entry_points={"installed": "offer:OfferPlugin"})

    class AtHand(PluginBase):
        name = "at hand"

    manager = load(entry_points=True, directories=[folder(a=plugin("from a file"))], classes=[AtHand])
    assert names(manager) == ["installed", "from a file", "at hand"]
    assert [each.source.origin for each in manager.plugins] == ["entry point", "file", "class"]
    assert manager.failures == []


def test_entry_points_are_sorted_by_name_whatever_was_installed_first(install):
    install(
        offer=plugin("b") + plugin("d", "Second"),
        entry_points={"d": "offer:Second", "b": "offer:OfferPlugin"},
    )
    install(
        "another", other_offer=plugin("c") + plugin("a", "Second"),
        entry_points={"c": "other_offer:OfferPlugin", "a": "other_offer:Second"},
    )  # fmt: skip
    assert names(load(entry_points=True)) == ["a", "b", "c", "d"]


def test_folders_come_as_given_and_their_files_by_name(folder):
    second = folder("b", z=plugin("1"), a=plugin("2"))
    first = folder("a", m=plugin("3"))
    assert names(load(directories=[second, first])) == ["2", "1", "3"]


def test_a_file_may_define_several_plugins_and_all_are_loaded_in_the_order_of_the_file(folder):
    text = plugin("zebra", "A") + plugin("aardvark", "Z") + plugin("mole", "B") + "\n    Alias = B\n"
    assert names(load(directories=[folder(several=text)])) == ["zebra", "aardvark", "mole"]


# ---------------------------------------------------------------------- what is taken


def test_a_file_that_imports_the_abstract_classes_gives_only_its_own(folder):
    text = (
        plugin("mine")
        + """
    import abc
    from ._shared import Base

    class StillAbstract(Base):
        pass

    class WithMethods(PluginBase, abc.ABC):
        name = "abstract"
        @abc.abstractmethod
        def something(self): ...

    class Concrete(Base):
        name = "concrete"
    """
    )
    shared = """
    from calipers.plugins import PluginBase
    class Base(PluginBase):
        pass
    class Stranger(PluginBase):
        name = "stranger"
    """
    manager = load(directories=[folder(mine=text, _shared=shared)])
    assert names(manager) == ["mine", "concrete"]
    assert manager.failures == []


def test_an_entry_point_may_name_a_whole_module(install):
    install(offer=plugin("a", "A") + plugin("b", "B"), entry_points={"all": "offer"})
    manager = load(entry_points=True)
    assert names(manager) == ["a", "b"]
    assert str(manager.plugins[0].source) == "calipers-offer 1.2, offer"


@pytest.mark.parametrize(
    "content",
    [b"[calipers.plugins]\nnonsense\n", b"[calipers.plugins]\nb\xffd = offer:OfferPlugin\n"],
    ids=["no value", "no text"],
)
def test_a_package_with_damaged_entry_points_takes_no_other_along(install, content):
    install(offer=plugin("sound"), entry_points={"sound": "offer:OfferPlugin"})
    site = install("damaged", entry_points={})
    next(site.glob("*.dist-info/entry_points.txt")).write_bytes(content)
    manager = load(entry_points=True)
    assert names(manager) == ["sound"]
    assert [(each.plugin, each.stage) for each in manager.failures] == [("damaged", "find")]
    assert str(manager.failures[0].source) == "damaged, group calipers.plugins"


def test_a_damaged_package_that_offers_no_plugins_is_none_of_our_failures(install):
    install(offer=plugin("sound"), entry_points={"sound": "offer:OfferPlugin"})
    site = install("damaged", entry_points={})
    next(site.glob("*.dist-info/entry_points.txt")).write_text("[console_scripts]\nnonsense\n")
    manager = load(entry_points=True)
    assert names(manager) == ["sound"]
    assert manager.failures == []


def test_a_package_without_metadata_is_loaded_beside_a_damaged_one(install):
    site = install(offer=plugin("sound"), entry_points={"sound": "offer:OfferPlugin"})
    next(site.glob("*.dist-info/METADATA")).unlink()
    site = install("damaged", entry_points={})
    next(site.glob("*.dist-info/entry_points.txt")).write_text("[console_scripts]\nnonsense\n")
    assert names(load(entry_points=True)) == ["sound"]


def test_each_plugin_of_a_module_that_fails_is_told_of(install):
    fails = "\n        def on_load(self):\n            1 / 0\n"
    install(offer=plugin("a", "A") + fails + plugin("b", "B") + fails, entry_points={"all": "offer"})
    assert [(name, stage) for name, stage, _ in failures(load(entry_points=True))] == [
        ("a", "on_load"),
        ("b", "on_load"),
    ]
    install(
        "another",
        other_offer=(plugin("c", "A") + plugin("d", "B")).replace('name = "', 'name = 5, "'),
        entry_points={"x": "other_offer"},
    )
    assert [name for name, stage, _ in failures(load(entry_points=["x"]))] == ["A", "B"]


def test_entry_points_can_be_chosen_by_name_or_pattern(install):
    points = {name: f"offer:{name.title()}" for name in ("tone", "tact", "size")}
    install(offer="".join(plugin(name, name.title()) for name in points), entry_points=points)
    assert names(load(entry_points=["t*"])) == ["tact", "tone"]
    assert names(load(entry_points=["size", "tone", "t*"])) == ["size", "tact", "tone"]
    assert names(load(entry_points=[])) == []
    manager = load(entry_points=["tone", "tune"])
    assert names(manager) == ["tone"]
    assert failures(manager) == [
        (
            "tune",
            "find",
            "PluginError: no plugin 'tune' is installed: there are 'size', 'tact', 'tone'",
        )
    ]


def test_another_group_of_entry_points_can_be_read(install):
    install(offer=plugin("a"), entry_points={"a": "offer:OfferPlugin"}, group="my.plugins")
    assert names(load(entry_points=True)) == []
    manager = PluginManager("my.plugins")
    manager.load_plugins()
    assert names(manager) == ["a"]


def test_an_entry_point_that_two_places_of_the_path_hold_is_loaded_once(install, monkeypatch):
    site = install(offer=plugin("a"), entry_points={"a": "offer:OfferPlugin"})
    monkeypatch.syspath_prepend(f"{site}/../{site.name}")
    manager = load(entry_points=True)
    assert (names(manager), manager.failures) == (["a"], [])


# ---------------------------------------------------------------------- what fails, fails alone


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("def broken(:", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import asyncio\nraise asyncio.CancelledError", "CancelledError: "),
        ("raise GeneratorExit", "GeneratorExit: "),
        ("def again(): again()\nagain()", "RecursionError: maximum recursion depth exceeded"),
        ("\0", "SyntaxError: source code string cannot contain null bytes"),
        ("class Odd(Exception):\n    def __str__(self): 1 / 0\nraise Odd", "Odd: (the error's own text"),
        ("import pytest\npytest.skip('not here', allow_module_level=True)", "Skipped: not here"),
    ],
    ids=[
        "raises",
        "misses a module",
        "is no Python",
        "exits",
        "cancels",
        "ends a generator",
        "recurses",
        "is binary",
        "raises what cannot be shown",
        "skips",
    ],
)
@pytest.mark.parametrize("origin", ["file", "entry point"])
def test_a_module_that_cannot_be_imported_costs_no_other_plugin(folder, install, origin, text, error):
    if origin == "file":
        manager = load(directories=[folder(a=plugin("a"), broken=text, c=plugin("c"))])
    else:
        install(
            offer=plugin("a", "A") + plugin("c", "C"), broken=text,
            entry_points={"a": "offer:A", "broken": "broken", "c": "offer:C"},
        )  # fmt: skip
        manager = load(entry_points=True)
    assert names(manager) == ["a", "c"]
    (failure,) = manager.failures
    assert (failure.plugin, failure.stage, failure.source.origin) == ("broken", "import", origin)
    assert failure.error_message.startswith(error)
    assert failure.traceback
    assert not [name for name in sys.modules if name.endswith("broken")]


def test_ctrl_c_goes_through(folder, install):
    interrupts = "raise KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        load(directories=[folder(a=plugin("a"), broken=interrupts)])
    install(broken=interrupts, entry_points={"broken": "broken"})
    with pytest.raises(KeyboardInterrupt):
        load(entry_points=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "",
            "derive a class from EvaluatorPlugin, or another class of calipers.plugins; start the name of a helper file",
        ),
        (
            "from calipers.plugins import EvaluatorPlugin as P\nclass Mine(P): pass",
            "Mine has no name: write name = '...' in the class",
        ),
    ],
    ids=["empty", "no name"],
)
def test_a_file_without_a_plugin_is_a_failure_and_not_silence(folder, text, error):
    manager = load(directories=[folder(a=plugin("a"), b=text)])
    assert names(manager) == ["a"]
    ((name, stage, message),) = failures(manager)
    assert (name, stage) == ("b", "find")
    assert message.startswith(f"PluginError: there is no plugin in it: {error}")


@pytest.mark.parametrize(
    ("value", "stage", "error"),
    [
        ("offer:Nothing", "import", "AttributeError: module 'offer' has no attribute 'Nothing'"),
        ("offer:NOT_A_CLASS", "find", "PluginError: a plugin is a class, got 5"),
        ("offer:INSTANCE", "find", "PluginError: a plugin is a class, got <offer.OfferPlugin object"),
        ("offer:Evaluator", "find", "PluginError: Evaluator is not a plugin: derive it from EvaluatorPlugin"),
        ("offer:EvaluatorPlugin", "find", "PluginError: EvaluatorPlugin has no name"),
        ("offer:Unfinished", "find", "PluginError: Unfinished is abstract: it does not define something"),
        ("not a reference", "import", ""),
    ],
)
def test_an_entry_point_must_lead_to_a_class_of_plugins(install, value, stage, error):
    text = (
        plugin("a")
        + """
    import abc

    class Evaluator:
        pass

    class Unfinished(PluginBase, abc.ABC):
        name = "unfinished"
        @abc.abstractmethod
        def something(self): ...

    INSTANCE = OfferPlugin()
    NOT_A_CLASS = 5
    """
    )
    install(offer=text, entry_points={"a": "offer:OfferPlugin", "wrong": value})
    manager = load(entry_points=True)
    assert names(manager) == ["a"]
    (failure,) = manager.failures
    assert (failure.plugin, failure.stage) == ("wrong", stage)
    assert failure.error_message.startswith(error)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path / "missing", "FileNotFoundError"),
        (lambda path: path / "file.txt", "NotADirectoryError"),
        (lambda path: path / "empty", "PluginError: there are no plugins in this folder"),
    ],
    ids=["missing", "file", "empty"],
)
def test_a_folder_that_is_none_or_holds_nothing_is_a_failure_and_not_silence(tmp_path, folder, make, error):
    (tmp_path / "file.txt").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_private.py").write_text("")
    (tmp_path / "empty" / "notes.txt").write_text("")
    manager = load(directories=[make(tmp_path), folder(a=plugin("a"))])
    assert names(manager) == ["a"]
    (failure,) = manager.failures
    assert (failure.stage, failure.source.place) == ("find", str(make(tmp_path)))
    assert failure.error_message.startswith(error)


@pytest.mark.parametrize(
    "wrong", [5, None, b"plugins", "a\0b", object], ids=["5", "None", "bytes", "null", "class"]
)
def test_what_is_no_path_is_a_failure_too(folder, wrong):
    manager = load(directories=[wrong, folder(a=plugin("a"))])
    assert names(manager) == ["a"]
    assert [each.stage for each in manager.failures] == ["find"]


def test_a_file_that_cannot_be_read_is_a_failure(folder):
    path = folder(a=plugin("a"))
    (path / "b.py").symlink_to(path / "nowhere.py")
    manager = load(directories=[path])
    assert names(manager) == ["a"]
    assert failures(manager)[0][:2] == ("b", "import")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (5, "a plugin is a class, got 5"),
        (None, "a plugin is a class, got None"),
        (int, "int is not a plugin"),
        (EvaluatorPlugin, "EvaluatorPlugin has no name"),
        ("name", "a plugin is a class, got 'name'"),
    ],
)
def test_what_is_no_class_of_plugins_is_a_failure_in_its_place(item, message):
    class Fine(PluginBase):
        name = "fine"

    manager = load(classes=[item, Fine])
    assert names(manager) == ["fine"]
    assert message in failures(manager)[0][2]


def test_an_instance_is_told_to_be_given_as_its_class():
    class Fine(PluginBase):
        name = "fine"

    assert "pass the class Fine" in failures(load(classes=[Fine()]))[0][2]


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.binary(), st.builds(object))))
def test_nothing_that_is_given_as_a_class_raises(items):
    assert len(list(find_classes(items))) == len(items)


DATA = """
    from __future__ import annotations
    import dataclasses
    from typing import ClassVar

    @dataclasses.dataclass
    class Point:
        x: int
        origin: ClassVar[int] = 0
"""


def test_dataclasses_and_pickles_work_as_in_any_module(folder):
    module = import_plugin_file(folder(data=DATA) / "data.py")
    point = module.Point(3)
    assert [field.name for field in module.dataclasses.fields(point)] == ["x"]
    assert pickle.loads(pickle.dumps(point)) == point
    assert sys.modules[module.__name__] is module


def test_files_of_one_name_in_two_folders_are_two_modules(folder):
    one = import_plugin_file(folder("one", same="WHO = 1") / "same.py")
    two = import_plugin_file(folder("two", same="WHO = 2") / "same.py")
    assert (one.WHO, two.WHO) == (1, 2)
    assert one.__name__ != two.__name__


def test_the_same_file_is_imported_once_however_its_path_is_written(folder, tmp_path, monkeypatch):
    path = folder(once="import random; VALUE = random.random()") / "once.py"
    (tmp_path / "link").symlink_to(path.parent)
    monkeypatch.chdir(path.parent)
    spellings = [
        path,
        path.parent / "." / "once.py",
        tmp_path / "link" / "once.py",
        path.relative_to(path.parent),
    ]
    assert len({id(import_plugin_file(each)) for each in spellings}) == 1


def test_the_name_is_the_same_in_every_process(folder):
    path = folder(data=DATA) / "data.py"
    code = (
        "import sys, pathlib; from calipers.plugins.discovery import import_plugin_file as load\n"
        "print(load(pathlib.Path(sys.argv[1])).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == import_plugin_file(path).__name__


@pytest.mark.parametrize("stem", ["with-dash", "with.dots.in.it", "with space", "class", "naïve", "json"])
def test_any_name_of_a_file_will_do(folder, stem):
    module = import_plugin_file(folder(**{stem: DATA}) / f"{stem}.py")
    assert pickle.loads(pickle.dumps(module.Point(1))).x == 1
    import json

    assert hasattr(json, "loads")


def test_a_file_may_import_what_stands_beside_it(folder):
    path = folder(
        a="from ._shared import WORD\nfrom .b import OTHER\nfrom . import b",
        b="import sys\nOTHER = 1\nsys.imports = getattr(sys, 'imports', 0) + 1",
        _shared="WORD = 'please'",
    )
    module = import_plugin_file(path / "a.py")
    assert (module.WORD, module.OTHER) == ("please", 1)
    assert import_plugin_file(path / "b.py") is module.b
    assert sys.__dict__.pop("imports") == 1
    assert str(path) not in sys.path


def test_a_package_beside_the_file_does_not_take_its_place(folder):
    path = folder(tone="WHO = 'file'")
    (path / "tone").mkdir()
    (path / "tone" / "__init__.py").write_text("WHO = 'package'")
    assert import_plugin_file(path / "tone.py").WHO == "file"


def test_what_failed_can_be_mended_and_imported_again(folder):
    path = folder(a="1 / 0") / "a.py"
    with pytest.raises(ZeroDivisionError):
        import_plugin_file(path)
    path.write_text("VALUE = 'mended, and of another length'")
    assert import_plugin_file(path).VALUE.startswith("mended")


def test_two_threads_import_a_file_once(folder):
    path = folder(a="import time; time.sleep(0.05); VALUE = object()") / "a.py"
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(import_plugin_file(path).VALUE)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


FILE = Source("file", "plugins/tone.py")
PACKAGE = Source("entry point", "tone:TonePlugin", "calipers-tone 1.2")


@pytest.mark.parametrize(
    ("stage", "error", "source", "line"),
    [
        ("import", ImportError("no"), FILE, "tone (plugins/tone.py): import failed: ImportError: no"),
        (
            "on_load",
            ValueError("no"),
            PACKAGE,
            "tone (calipers-tone 1.2, tone:TonePlugin): on_load failed: ValueError: no",
        ),
        ("find", PluginError("there is none"), FILE, "tone (plugins/tone.py): there is none"),
        ("find", OSError("gone"), FILE, "tone (plugins/tone.py): find failed: OSError: gone"),
        ("on_load", PluginError("no"), FILE, "tone (plugins/tone.py): on_load failed: PluginError: no"),
    ],
)
def test_a_failure_tells_what_failed_where_and_why(stage, error, source, line):
    assert str(failure_of(error, plugin="tone", stage=stage, source=source)) == line


def test_the_traceback_is_that_of_the_error():
    try:
        raise ValueError("here")
    except ValueError as error:
        failure = failure_of(error, plugin="tone", stage="import", source=FILE)
    assert failure.error_type == "ValueError"
    assert "test_the_traceback_is_that_of_the_error" in failure.traceback
