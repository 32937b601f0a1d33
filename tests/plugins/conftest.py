import sys
from textwrap import dedent

import pytest


@pytest.fixture
def clean_modules():
    """What is imported during the test is forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("calipers_plugins_") or name.partition(".")[0] in {
            "offer",
            "other_offer",
            "broken",
        }:
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path, clean_modules):
    """Makes a folder of plugin files, by name and text; returns its path."""

    def make(_name="plugins", **files):
        folder = tmp_path / _name
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        return folder

    return make


@pytest.fixture
def install(tmp_path, monkeypatch, clean_modules):
    """Installs a package: modules by name and text, and the entry points it has."""

    def install(
        package="calipers-offer", *, entry_points, version="1.2", group="calipers.plugins", **modules
    ):
        site = tmp_path / "site" / package
        info = site / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        for name, text in modules.items():
            (site / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = "\n".join(f"{name} = {value}" for name, value in entry_points.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    return install
