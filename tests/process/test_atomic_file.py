"""Files that are written whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from calipers import CalipersError
from calipers.process.atomic_file import changing_alone, write_whole


def test_the_file_holds_all_chunks_and_missing_folders_are_made(tmp_path):
    write_whole(tmp_path / "a" / "b" / "report.json", [b"one\n", b"two\n"])
    assert (tmp_path / "a" / "b" / "report.json").read_bytes() == b"one\ntwo\n"


def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")

    def chunks():
        yield b"new"
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_whole(path, chunks())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_of_any_file_and_an_old_one_keeps_its_own(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "new", [b"x"])
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "new").chmod(0o600)
    write_whole(tmp_path / "new", [b"y"])
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(CalipersError, match="is a folder: name a file in it"):
        write_whole(tmp_path, [b"x"])


def test_a_device_is_written_to_and_not_replaced():
    write_whole("/dev/null", [b"x"])
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_whole(path, [b"one ", b"two"])
    reader.join(timeout=30)
    assert read == [b"one two"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_link_that_leads_to_itself_is_refused(tmp_path):
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    with pytest.raises(CalipersError, match="leads back to itself"):
        write_whole(loop, [b"new"])
    assert loop.is_symlink()


def test_who_changes_a_file_at_the_same_time_waits_and_loses_nothing(tmp_path):
    path = tmp_path / "new" / "count.txt"
    ready = threading.Barrier(8)

    def add():
        ready.wait()
        for _ in range(5):
            with changing_alone(path):
                before = int(path.read_text()) if path.exists() else 0
                write_whole(path, [str(before + 1).encode()])

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "40"
    assert list(path.parent.iterdir()) == [path]
