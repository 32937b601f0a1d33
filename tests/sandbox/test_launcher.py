import os
import subprocess
import sys

import pytest

from calipers.sandbox import launcher

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the launcher runs on POSIX systems only")


def test_a_hostile_folder_is_removed(tmp_path):
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "locked").mkdir()
    (folder / "locked" / "inner").mkdir()
    (folder / "locked" / "inner" / "file").write_text("x")
    (folder / "locked" / "inner").chmod(0)
    (folder / "locked").chmod(0)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    folder.chmod(0o500)
    launcher.remove_folder(str(folder))
    assert not folder.exists()


def test_a_link_is_removed_and_its_target_left_alone(tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o750)
    (target / "kept").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(target)
    launcher.remove_folder(str(folder))
    assert not folder.exists()
    assert (target / "kept").read_text() == "x"
    assert target.stat().st_mode & 0o777 == 0o750


def test_folders_nested_deeper_than_a_path_can_say_are_removed(tmp_path):
    folder = tmp_path / "deep"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("inner", dir_fd=here)
        inner = os.open("inner", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    launcher.remove_folder(str(folder))
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_children_and_grandchildren_are_descendants_and_others_are_not():
    script = "import subprocess; subprocess.run(['sleep', '30'])"
    with subprocess.Popen([sys.executable, "-c", script]) as child:
        try:
            while len(launcher.descendants(child.pid)) < 1:
                assert child.poll() is None
            (grandchild,) = launcher.descendants(child.pid)
            assert {child.pid, grandchild} <= set(launcher.descendants(os.getpid()))
            assert launcher.descendants(grandchild) == []
            os.kill(grandchild, 9)
        finally:
            child.kill()
