"""A small project on disk, whose modules can be edited and read anew."""

import importlib
import itertools
import linecache
import sys
import textwrap

import pytest


class Project:
    """Modules in a folder; each `load` reads them as a new process would."""

    def __init__(self, folder, monkeypatch):
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._numbers = itertools.count()

    def load(self, **sources):
        """Write the modules to a folder of their own, and import the last of them."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
            self._monkeypatch.delitem(sys.modules, name, raising=False)
        self._monkeypatch.syspath_prepend(folder)
        importlib.invalidate_caches()
        linecache.clearcache()
        loaded = importlib.import_module(list(sources)[-1])
        for name in sources:  # so that they are gone after the test
            if name in sys.modules:
                self._monkeypatch.setitem(sys.modules, name, sys.modules[name])
        return loaded


@pytest.fixture
def project(tmp_path, monkeypatch):
    return Project(tmp_path, monkeypatch)
