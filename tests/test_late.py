"""Names of a package that load when they are first used."""

import sys

import pytest

from calipers.late import late_names

HOMES = {"b": ".second", "a": ".first", "sqrt": "math", "gone": ".first", "lost": ".nowhere"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `late_sample` on disk, of which only the front page is imported."""
    folder = tmp_path / "late_sample"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from calipers.late import late_names\n"
        f"__getattr__, __dir__ = late_names(__name__, {HOMES!r}, globals())\n"
    )
    (folder / "first.py").write_text("a = object()\n")
    (folder / "second.py").write_text("b = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import late_sample

    yield late_sample
    for name in [name for name in sys.modules if name.partition(".")[0] == "late_sample"]:
        del sys.modules[name]


def test_a_name_loads_its_own_module_when_it_is_first_used(package):
    assert "late_sample.first" not in sys.modules
    assert package.a is sys.modules["late_sample.first"].a
    assert "late_sample.second" not in sys.modules
    from late_sample import b

    assert b is sys.modules["late_sample.second"].b


def test_a_name_may_live_in_a_module_of_another_package(package):
    assert package.sqrt(9) == 3


def test_a_name_is_asked_for_once(package):
    found = package.a
    del sys.modules["late_sample.first"]
    assert package.a is found
    assert vars(package)["a"] is found


def test_the_names_are_listed_before_any_is_loaded(package):
    assert dir(package) == sorted(HOMES)
    assert "late_sample.first" not in sys.modules


def test_a_name_that_is_not_listed_is_not_there(package):
    with pytest.raises(AttributeError, match="module 'late_sample' has no attribute 'first_name'"):
        _ = package.first_name
    assert not hasattr(package, "__wrapped__")
    assert getattr(package, "c", None) is None


@pytest.mark.parametrize(("name", "error"), [("gone", AttributeError), ("lost", ModuleNotFoundError)])
def test_a_wrong_entry_is_an_error_of_its_own_each_time(package, name, error):
    for _ in range(2):
        with pytest.raises(error):
            getattr(package, name)
    assert name not in vars(package)


def test_what_is_loaded_is_kept_where_the_package_says():
    namespace = {}
    load, names = late_names("calipers", {"ToolCall": ".trace"}, namespace)
    assert names() == ["ToolCall"]
    assert load("ToolCall") is namespace["ToolCall"]
