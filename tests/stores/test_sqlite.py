"""One file: opening it, versions, several processes, a process that is killed, a disk that is full."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import pytest

from calipers.errors import StoreError, StoreUnavailableError
from calipers.stores import EvaluatorSlots, Pace, RunInfo, SqliteStore, Writer, open_store, pack
from calipers.stores.sql import MIGRATIONS, VERSION
from calipers.stores.sqlite import APPLICATION_ID
from calipers.testing import check_store
from calipers.testing.store_check import record

WRITER = """
import sys
from calipers.stores import EvaluatorSlots, RunInfo, SqliteStore, pack
from calipers.testing.store_check import _EVALUATORS, record

with SqliteStore(sys.argv[1]) as store:
    run = store.begin_run(RunInfo(name=sys.argv[2], evaluators=_EVALUATORS))
    slots = EvaluatorSlots(run.evaluators)
    print(run.id, flush=True)
    for start in range(0, int(sys.argv[3]), 10):
        packed = [pack(record(n), n, slots) for n in range(start, start + 10)]
        store.append(run.id, [a for a, _ in packed], [cell for _, cells in packed for cell in cells])
    store.finish_run(run.id)
"""


def start_writer(path, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, name, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_a_file_can_be_opened_again_and_reads_the_same(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        run = store.begin_run(RunInfo(name="r"))
    with SqliteStore(path) as store:
        assert store.run(run.id).name == "r"


def test_a_store_for_reading_only_reads_and_writes_nothing(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        run = store.begin_run(RunInfo(name="r"))
        store.finish_run(run.id)
    with SqliteStore(path, read_only=True) as store:
        assert store.run("r").id == run.id
        assert store.totals(run.id).counts.attempts == 0, "what is counted is not kept then"
        with pytest.raises(StoreError, match="opened for reading only: leave out mode=ro"):
            store.begin_run(RunInfo(name="s"))
        with pytest.raises(StoreError, match="reading only"):
            store.prune()


@pytest.fixture
def read_only_folder():
    """A folder with a store, in which neither may be written, not even by root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SqliteStore(folder / "runs.db") as store:
            store.begin_run(RunInfo(name="r"))
        (folder / "runs.db").chmod(0o444)
        folder.chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.setresuid(65534, 65534, 0)
        try:
            yield folder
        finally:
            if is_root:
                os.setresuid(0, 0, 0)
            folder.chmod(0o755)


@pytest.mark.parametrize("url", ["sqlite:///{}?mode=ro", "{}"])
def test_a_store_that_is_read_only_together_with_its_folder_can_be_read(read_only_folder, url):
    with open_store(url.format(read_only_folder / "runs.db"), existing=True) as store:
        assert [run.name for run in store.runs()] == ["r"]
        assert store.totals(store.run("r").id).counts.attempts == 0
        with pytest.raises(StoreError, match=r"runs.db' was opened for reading only: make it and its folder"):
            store.begin_run(RunInfo(name="s"))
    assert [file.name for file in read_only_folder.iterdir()] == ["runs.db"]


def test_a_new_store_in_a_folder_that_may_not_be_written_names_permissions(read_only_folder):
    with pytest.raises(StoreError, match="no permission to write in its folder"):
        open_store(read_only_folder / "new.db")
    with pytest.raises(StoreError, match="cannot be opened: Permission denied"):
        open_store(read_only_folder / "sub" / "new.db")


def a_folder(path):
    path.mkdir()


def a_text(path):
    path.write_text("name,score\nall,1\n")


def another_database(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()


def a_later_version(path):
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def half_a_file(path):
    SqliteStore(path).close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_folder, r"is a folder: name a file in it, such as '.*runs\.db/runs\.db'"),
        (os.mkfifo, "is a pipe, a socket or a device: name a regular file"),
        (a_text, "is not a store, but a file of another kind"),
        (another_database, "is a database of another program; it was not changed"),
        (
            a_later_version,
            f"has version {VERSION + 1}, and this release reads up to {VERSION}: install a newer",
        ),
        (half_a_file, "is damaged"),
    ],
)
def test_what_cannot_be_a_store_is_named_and_left_alone(tmp_path, make, said):
    path = tmp_path / "runs.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=said):
        SqliteStore(path).runs()
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_parent_that_is_a_file_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be opened: "):
        SqliteStore(tmp_path / "file" / "runs.db")


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "runs.db").touch()
    with SqliteStore(tmp_path / "runs.db") as store:
        assert store.runs() == []


def test_a_store_of_an_older_version_is_brought_up_to_date_and_keeps_its_runs(tmp_path):
    # A store as version 1 wrote it, statement by statement, whatever today's version is.
    path = tmp_path / "runs.db"
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in MIGRATIONS[0]:
        connection.execute(statement.format(number="INTEGER", bytes="BLOB", clustered="WITHOUT ROWID"))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute(
        "INSERT INTO runs (id, name, status, attempts, info) VALUES ('R1', 'old', 'finished', 1, ?)",
        ('{"name":"old","id":"R1","started_at":"2026-01-01T00:00:00+00:00"}',),
    )
    connection.execute(
        "INSERT INTO evaluators VALUES (1, 0, NULL, ?)", ('{"name":"Right","spec":{"name":"Right"}}',)
    )
    connection.execute(
        "INSERT INTO attempts (run, position, name, repeat, failed, facts, cells, given, output) "
        "VALUES (1, 0, 'a', 1, 0, ?, ?, ?, ?)",
        (
            '{"format":1,"task_duration":0.5,"total_duration":0.5}',
            '{"0":true}',
            '{"format":1,"inputs":3}',
            '{"format":1,"output":6}',
        ),
    )
    connection.close()
    with SqliteStore(path) as store:
        report = store.report(store.run("old").id)
        assert [(case.name, case.inputs, case.output, case.passed) for case in report.cases] == [
            ("a", 3, 6, True)
        ]
        check_store(store)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "runs.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("CREATE TABLE blobs (theirs)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="blobs already exists"):
        SqliteStore(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("blobs",)]
    connection.close()


def test_two_processes_write_one_file_while_a_third_reads(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        writers = [start_writer(path, name, 300) for name in ("one", "two")]
        ids = [writer.stdout.readline().strip() for writer in writers]
        seen = 0
        while any(writer.poll() is None for writer in writers):
            found = sum(1 for _ in store.attempts(ids[0], parts=False))
            assert found % 10 == 0, "a batch is there whole or not at all"
            assert found >= seen
            seen = found
            time.sleep(0.01)
        assert [writer.wait() for writer in writers] == [0, 0]
        for writer, run in zip(writers, ids, strict=True):
            writer.stdout.close()
            assert store.done(run) == [range(300)]
            assert store.run(run).status == "finished"


def test_several_processes_may_make_the_same_file(tmp_path):
    path = tmp_path / "new" / "runs.db"
    writers = [start_writer(path, f"run {n}", 10) for n in range(4)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    with SqliteStore(path) as store:
        assert {run.name for run in store.runs(status="finished")} == {f"run {n}" for n in range(4)}


def test_a_writer_that_is_killed_leaves_whole_batches_and_a_run_that_reads_as_abandoned(tmp_path):
    path = tmp_path / "runs.db"
    for again in range(3):
        writer = start_writer(path, "killed", 100_000)
        run = writer.stdout.readline().strip()
        time.sleep(0.05 * (again + 1))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        with SqliteStore(path) as store:
            info = store.run(run)
            assert info.is_abandoned()
            assert (
                str(store.report(run, keep="none").incomplete)
                == f"abandoned after {info.attempts:,} attempts"
            )
            attempts = [attempt.position for attempt, cells in store.judged(run) if len(cells) == 3]
            assert attempts == list(range(info.attempts)), "as many as it says, each with all its cells"
            assert info.attempts % 10 == 0
            assert store.resume_run(run).status == "running"


def test_a_full_disk_is_said_to_pass_and_what_was_stored_stays(sqlite_store):
    run = sqlite_store.begin_run(RunInfo(name="r"))
    first, _ = pack(record(0, failed=True), 0, EvaluatorSlots(()))
    sqlite_store.append(run.id, [first])
    (pages,) = sqlite_store._writer.execute("PRAGMA page_count").fetchone()
    sqlite_store._writer.execute(f"PRAGMA max_page_count = {pages}")
    many = [pack(record(n, failed=True), n, EvaluatorSlots(()))[0] for n in range(1, 2000)]
    with pytest.raises(
        StoreUnavailableError, match=r"cannot be used now \(database or disk is full\): what was stored"
    ):
        sqlite_store.append(run.id, many)
    assert sqlite_store.done(run.id) == [range(1)]
    sqlite_store._writer.execute("PRAGMA max_page_count = 1000000")
    sqlite_store.append(run.id, many)
    assert sqlite_store.done(run.id) == [range(2000)]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of half a megabyte."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk; max_page_count stands for it above")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_run_on_a_disk_that_fills_up_waits_for_room_or_ends_with_what_is_stored_whole(small_disk):
    store = SqliteStore(small_disk / "runs.db")
    run = store.begin_run(RunInfo(name="r"))
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 80_000)
    batch = [pack(record(n, failed=True), n, EvaluatorSlots(()))[0] for n in range(300)]
    done = 0
    with pytest.raises(StoreUnavailableError, match="cannot be used now"):
        for done in range(100):
            store.append(
                run.id, [msgspec.structs.replace(a, position=a.position + 300 * done) for a in batch]
            )
    assert store.done(run.id) == [range(300 * done)]
    store.close()
    with SqliteStore(small_disk / "runs.db", read_only=True) as again:
        assert again.done(run.id) == [range(300 * done)], "a full disk can be read"
    with SqliteStore(small_disk / "runs.db") as again:
        assert again._writer.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        writer = Writer(again, run.id, pace=Pace(batch=300, every=0.01, patience=30))
        for attempt in batch:
            writer.add(msgspec.structs.replace(attempt, position=attempt.position + 300 * done))
        time.sleep(0.05)
        filler.unlink()
        writer.close()
        assert again.done(run.id) == [range(300 * (done + 1))]


def test_a_closed_store_says_that_it_is_closed(tmp_path):
    store = SqliteStore(tmp_path / "runs.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="used after it was closed"):
        store.runs()


def test_what_a_run_shared_is_given_up_when_no_run_uses_it(sqlite_store):
    run = sqlite_store.begin_run(RunInfo(name="r"))
    attempt, _ = pack(record(0, failed=True), 0, EvaluatorSlots(()))
    attempt.output = '{"format":1,"output":"' + "x" * 5000 + '"}'
    sqlite_store.append(run.id, [attempt])
    assert sqlite_store.prune() == 0
    sqlite_store.delete_run(run.id)
    assert sqlite_store.prune() == 1
    assert sqlite_store.runs() == []
    with pytest.raises(StoreError, match="the store has no run"):
        sqlite_store.delete_run(run.id)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_path_that_no_file_can_have_is_refused_and_nothing_is_made(tmp_path, name):
    with pytest.raises(StoreError, match="is not a valid path"):
        open_store(str(tmp_path / name))
    with pytest.raises(StoreError, match="is not a valid path"):
        open_store(tmp_path / name, existing=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only here a file name may be any bytes")
def test_a_store_may_be_in_a_folder_whose_name_is_not_text(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    with open_store(f"{folder}/runs.db") as store:
        store.begin_run(RunInfo(name="it"))
    with open_store(Path(folder) / "runs.db", existing=True) as store:
        assert [run.name for run in store.runs()] == ["it"]
