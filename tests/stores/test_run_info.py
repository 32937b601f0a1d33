"""What a store knows of a run besides its attempts."""

import os
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from calipers.errors import StoreError
from calipers.stores import Owner, RunInfo
from calipers.stores.run_info import (
    SILENT_SECONDS,
    git_state,
    new_run_id,
    this_environment,
    this_host,
    this_process,
    timestamp,
)


def test_ids_sort_in_the_order_they_were_made_and_are_never_the_same():
    ids = [new_run_id() for _ in range(200)]
    assert sorted(ids) == ids
    assert len({run[-6:] for run in ids}) > 190
    assert re.fullmatch(r"\d{8}-\d{9}-[0-9a-f]{6}", ids[0])


def gone():
    """The pid of a process that is over."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.mark.parametrize(
    ("status", "owner", "beat", "abandoned"),
    [
        ("running", lambda: this_process(), 0, False),
        ("running", lambda: this_process(), SILENT_SECONDS + 5, True),
        ("running", lambda: Owner(pid=gone(), host=this_host()), 0, True),
        ("running", lambda: Owner(pid=1, host=this_host()), 0, False),
        ("running", lambda: Owner(pid=1, host="elsewhere"), 0, False),
        ("running", lambda: Owner(pid=1, host="elsewhere"), SILENT_SECONDS + 5, True),
        ("running", lambda: None, 0, True),
        ("finished", lambda: None, 0, False),
        ("interrupted", lambda: this_process(), 1e6, False),
    ],
)
def test_a_run_is_abandoned_when_its_owner_is_gone_or_silent(status, owner, beat, abandoned):
    at = datetime.now(UTC) - timedelta(seconds=beat)
    run = RunInfo(name="r", status=status, owner=owner(), heartbeat=at.isoformat())
    assert run.is_abandoned() is abandoned


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell of zombies")
def test_a_process_that_only_waits_for_its_parent_to_notice_is_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = Owner(pid=process.pid, host=this_host())
        run = RunInfo(name="r", owner=owner, heartbeat=timestamp())
        assert not run.is_abandoned()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is over, and stays a zombie
        assert run.is_abandoned()


def test_a_run_that_another_process_writes_is_not_taken_over(memory_store):
    run = memory_store.begin_run(RunInfo(name="r"))
    memory_store._writer.execute('UPDATE runs SET owner = \'{"pid":1,"host":"elsewhere"}\'')
    with pytest.raises(StoreError, match="is being written by another process"):
        memory_store.resume_run(run.id)
    memory_store._writer.execute("UPDATE runs SET heartbeat = '2020-01-01T00:00:00+00:00'")
    assert memory_store.resume_run(run.id).owner == this_process()


def test_nothing_that_is_kept_names_the_machine_or_the_person(memory_store):
    run = memory_store.begin_run(RunInfo(name="r"))
    told = repr(run)
    assert socket.gethostname() not in told
    assert str(Path.home()) not in told
    assert set(run.environment) == {"calipers", "python", "implementation", "system", "machine"}
    assert run.environment == this_environment()


def test_the_commit_is_noted_inside_a_repository_and_only_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state() is None
    me = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "init", "-q"], check=True)
    assert git_state() is None, "no commit yet"
    (tmp_path / "a").write_text("1")
    subprocess.run(["git", "add", "a"], check=True)
    subprocess.run(["git", *me, "commit", "-qm", "m"], check=True)
    state = git_state()
    assert len(state.commit) == 40
    assert state.dirty is False
    (tmp_path / "a").write_text("2")
    assert git_state().dirty is True
    monkeypatch.setenv("PATH", "")
    assert git_state() is None


def test_a_timestamp_is_in_utc():
    assert datetime.fromisoformat(timestamp()).utcoffset() == timedelta(0)
