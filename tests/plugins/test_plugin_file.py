"""Plugin files as modules."""

import pickle
import subprocess
import sys
import threading

import pytest

from calipers.plugins.plugin_file import import_plugin_file

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
        "import sys, pathlib; from calipers.plugins.plugin_file import import_plugin_file as load\n"
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
