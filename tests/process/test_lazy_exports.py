"""Names of a package that load when they are first used."""

import sys
import zipfile

import pytest

STUB = """from lazy_sample.first import a as a
from lazy_sample.first import gone as gone
from lazy_sample.nowhere import lost as lost
from lazy_sample.second import b as b

from math import sqrt as sqrt

__version__: str
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `lazy_sample` on disk, of which only the front page is imported."""
    folder = tmp_path / "lazy_sample"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from calipers.process.lazy_exports import lazy_exports\n"
        "__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())\n"
    )
    (folder / "__init__.pyi").write_text(STUB)
    (folder / "first.py").write_text("a = object()\n")
    (folder / "second.py").write_text("b = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_sample

    yield lazy_sample
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_sample"]:
        del sys.modules[name]


def test_a_name_loads_its_own_module_when_it_is_first_used(package):
    assert "lazy_sample.first" not in sys.modules
    assert package.a is sys.modules["lazy_sample.first"].a
    assert "lazy_sample.second" not in sys.modules
    from lazy_sample import b

    assert b is sys.modules["lazy_sample.second"].b


def test_a_name_may_live_in_a_module_of_another_package(package):
    assert package.sqrt(9) == 3


def test_a_name_is_asked_for_once(package):
    found = package.a
    del sys.modules["lazy_sample.first"]
    assert package.a is found
    assert vars(package)["a"] is found


def test_the_names_are_listed_before_any_is_loaded(package):
    assert dir(package) == package.__all__ == ["a", "b", "gone", "lost", "sqrt"]
    assert "lazy_sample.first" not in sys.modules


def test_a_name_that_is_not_listed_is_not_there(package):
    with pytest.raises(AttributeError, match="module 'lazy_sample' has no attribute 'first_name'"):
        _ = package.first_name
    assert not hasattr(package, "__wrapped__")
    assert getattr(package, "c", None) is None


@pytest.mark.parametrize(("name", "error"), [("gone", AttributeError), ("lost", ModuleNotFoundError)])
def test_a_wrong_entry_is_an_error_of_its_own_each_time(package, name, error):
    for _ in range(2):
        with pytest.raises(error):
            getattr(package, name)
    assert name not in vars(package)


def test_a_package_in_an_archive_has_its_names(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(
            "lazy_packed/__init__.py",
            "from calipers.process.lazy_exports import lazy_exports\n"
            "__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())\n",
        )
        file.writestr(
            "lazy_packed/__init__.pyi", "from math import sqrt as sqrt\r\nfrom math import sin as sin\n"
        )
    monkeypatch.syspath_prepend(archive)
    import lazy_packed

    assert (lazy_packed.sqrt(9), lazy_packed.__all__) == (3, ["sin", "sqrt"])
