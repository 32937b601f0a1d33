"""Large values that are moved out of a store: read as before, never lost, and never left behind."""

import hashlib
import multiprocessing
import os
import shutil
import signal
import time
import zlib
from datetime import timedelta
from pathlib import Path

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, StoreError, ValueAwayError
from calipers.stores import (
    MemoryStore,
    SqliteStore,
    bring_back_values,
    copy_store,
    offload_values,
    score_again,
)
from calipers.stores.value_place import ValuePlace, place_address

EVIL = "../../etc/passwd\0 <script> "


def noise(seed, size):
    """A text that hardly gets smaller."""
    rounds = range(size // 64 + 1)
    return "".join(hashlib.blake2b(f"{seed} {n}".encode()).hexdigest() for n in rounds)[:size]


def long_answer(inputs):
    if "fails" in inputs:
        raise ValueError("it fails")
    return {"text": EVIL + noise(inputs[:20], 8000)}


def graded(output):
    return {"length": len(output["text"]), "reason": noise("reason", 5000)}


def is_long(output):
    return len(output["text"]) > 10


def fill(store, *, count=3, name="old"):
    cases = [Case(name=f"case {n}", inputs=f"{n} {noise(n, 6000)}") for n in range(count)]
    cases.append(Case(name="fails", inputs="fails"))
    dataset = Dataset(name="texts", cases=cases, evaluators=[graded])
    dataset.evaluate_sync(long_answer, store=store, name=name, progress=False)
    return store.run("latest").id


def told(store):
    return [(store.report(info.id).to_dict(), list(store.judged(info.id))) for info in store.runs()]


def bodies(store):
    """How many values are in the store."""
    return sum(bool(body) for (body,) in store._reader.execute("SELECT body FROM blobs").fetchall())


def objects(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


@pytest.fixture(params=["folder", "local", "memory"])
def place(request, tmp_path):
    """A folder as it is, and through fsspec; and a place in memory."""
    pytest.importorskip("fsspec")
    name = {"folder": "", "local": "local://", "memory": "memory://"}[request.param]
    return f"{name}{tmp_path}/values"


def test_values_are_read_as_before_and_come_back(store, place):
    fill(store)
    before = told(store)
    moved = offload_values(store, place, min_size=1000)
    assert moved.values >= 6
    assert [(each.values, each.size) for each in store.places()] == [tuple(moved)]
    assert told(store) == before
    assert offload_values(store, place, min_size=1000).values == 0
    store.prune()
    assert told(store) == before
    assert bring_back_values(store) == moved
    assert told(store) == before
    store.prune()
    assert ValuePlace(place_address(place)).get(["00/0"])["00/0"]
    assert store.places() == []
    assert told(store) == before


def test_a_value_leaves_the_store_and_its_object_has_a_name_of_our_own(sqlite_store, tmp_path):
    fill(sqlite_store)
    kept = bodies(sqlite_store)
    moved = offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    assert bodies(sqlite_store) == kept - moved.values
    for path in objects(tmp_path / "values"):
        digest = hashlib.blake2b(zlib.decompress(path.read_bytes()), digest_size=16).hexdigest()
        assert path.parent.name == digest[:2]
        assert path.name.startswith(f"{digest}-")
        assert set(path.name) <= set("0123456789abcdef-")


def test_results_stay_in_the_store(sqlite_store, tmp_path):
    run = fill(sqlite_store)
    before = [cells for _, cells in sqlite_store.judged(run, parts=False)]
    offload_values(sqlite_store, tmp_path / "values", min_size=1)
    shutil.rmtree(tmp_path / "values")
    after = [cells for _, cells in sqlite_store.judged(run, parts=False)]
    assert after == before
    assert max(len(cell.body) for cells in after for cell in cells) > 5000, "one is large"
    assert sqlite_store.report(run, keep="none").counts().attempts == 4


def test_only_what_is_old_and_large_is_moved(sqlite_store, tmp_path):
    first = fill(sqlite_store)
    assert offload_values(sqlite_store, tmp_path / "v", older_than=timedelta(hours=1), min_size=1).values == 0
    assert offload_values(sqlite_store, tmp_path / "v", min_size=10_000_000).values == 0
    info = sqlite_store._writer.execute("SELECT info FROM runs").fetchone()[0]
    year = sqlite_store.run(first).started_at[:4]
    sqlite_store._writer.execute("UPDATE runs SET info = ?", (info.replace(f'"{year}-', '"2020-', 1),))
    fill(sqlite_store, count=2, name="new")  # it has the inputs and outputs of two of the three
    moved = offload_values(sqlite_store, tmp_path / "v", older_than=timedelta(days=30), min_size=1000)
    assert moved.values == 2, "the input and the output of the third case"


def test_a_value_that_is_used_again_is_in_the_store_again(sqlite_store, tmp_path):
    fill(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    moved = objects(tmp_path / "values")
    fill(sqlite_store, name="again")
    for path in moved:
        path.unlink()
    assert len(told(sqlite_store)) == 2, "nothing needs what was moved"


def test_without_its_place_a_value_is_an_error_and_the_rest_can_be_read(store, tmp_path, caplog):
    run = fill(store)
    before = store.report(run)
    offload_values(store, tmp_path / "values", min_size=1000)
    (tmp_path / "values").rename(tmp_path / "gone")
    with pytest.raises(ValueAwayError, match=r"was moved to file://.*values, and cannot be read there now"):
        store.report(run)
    assert store.report(run, keep="none").counts().attempts == 4
    assert [attempt.name for attempt in store.attempts(run, parts=False)][-1] == "fails"

    store.can_lack_values = True
    report = store.report(run)
    shown = report.cases[0]
    assert shown.output.startswith("[not readable now: ")
    assert str(tmp_path / "values") in shown.inputs
    assert shown.results == before.cases[0].results
    assert report.failures[0].inputs == "fails", "what is small is there"
    assert "perhaps others lack a large value" in caplog.text
    assert caplog.text.count("perhaps others") == 1

    (tmp_path / "gone").rename(tmp_path / "values")
    store.can_lack_values = False
    assert store.report(run).to_dict() == before.to_dict()


def test_what_cannot_be_read_is_not_judged_and_judged_when_it_can_be(sqlite_store, tmp_path):
    run = fill(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    (tmp_path / "values").rename(tmp_path / "gone")
    report = score_again(sqlite_store, run, evaluators=[is_long], keep="all")
    assert report.incomplete
    assert [failure.error_type for case in report.cases for failure in case.evaluator_failures] == [
        "NotJudged"
    ] * 3
    assert "cannot be read from where they were moved to" in report.reuse.notes[-1]
    (tmp_path / "gone").rename(tmp_path / "values")
    report = score_again(sqlite_store, run, evaluators=[is_long], keep="all")
    assert [case.assertions["is_long"].value for case in report.cases] == [True] * 3
    assert not report.incomplete


def test_what_cannot_be_read_is_not_reused(sqlite_store, tmp_path):
    run = fill(sqlite_store)
    keys = [attempt.key for attempt in sqlite_store.attempts(run) if attempt.key is not None]
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    known = sqlite_store.find(keys, failed=True)
    (tmp_path / "values").rename(tmp_path / "gone")
    assert len(sqlite_store.find(keys, failed=True)) < len(known)


def test_what_was_changed_there_is_never_taken_for_the_value(sqlite_store, tmp_path):
    run = fill(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    for path in objects(tmp_path / "values"):
        path.write_bytes(zlib.compress(b'{"format":1,"output":"forged"}'))
    with pytest.raises(ValueAwayError, match="what is there is not what was written"):
        sqlite_store.report(run)


def test_a_deleted_run_takes_only_the_objects_that_no_other_run_needs(store, tmp_path):
    first = fill(store, count=3)
    fill(store, count=2, name="two")
    offload_values(store, tmp_path / "values", min_size=1000)
    assert len(objects(tmp_path / "values")) == 6
    store.delete_run(first)
    store.prune()
    assert len(objects(tmp_path / "values")) == 4
    assert len(store.report("two").cases) == 2
    store.delete_run(store.run("two").id)
    store.prune()
    assert objects(tmp_path / "values") == []
    assert store.places() == []


def test_objects_that_cannot_be_removed_now_are_removed_by_the_next_prune(sqlite_store, tmp_path, caplog):
    run = fill(sqlite_store)
    folder = tmp_path / "values"
    offload_values(sqlite_store, folder, min_size=1000)
    sqlite_store.delete_run(run)
    folder.rename(tmp_path / "moved")
    folder.write_text("a file in the way")
    sqlite_store.prune()
    assert "cannot be removed now" in caplog.text
    folder.unlink()
    (tmp_path / "moved").rename(folder)
    sqlite_store.prune()
    assert objects(folder) == []


class Slow(MemoryStore):
    """A store in which something happens between the copy of a value and its leaving."""

    def end_move(self, given):
        self.before()
        return super().end_move(given)


def test_what_is_deleted_or_moved_by_another_meanwhile_leaves_one_object_for_each_value(tmp_path):
    with Slow() as store:
        fill(store)
        store.before = lambda: None
        outer = iter([lambda: offload_values(store, tmp_path / "values", min_size=1000)])

        def once():
            for act in outer:
                act()

        store.before = once
        offload_values(store, tmp_path / "values", min_size=1000)
        store.prune()
        assert len(objects(tmp_path / "values")) == 6
        assert len(told(store)) == 1

        store.before = lambda: (store.delete_run(store.run("latest").id), MemoryStore.prune(store))
        bring_back_values(store)
        offload_values(store, tmp_path / "values", min_size=1000)
        store.prune()
        assert store.runs() == []
        assert objects(tmp_path / "values") == []


def test_an_offload_that_was_broken_off_loses_nothing_and_can_be_repeated(tmp_path):
    with Slow() as store:
        fill(store)
        before = told(store)

        def broken():
            raise KeyboardInterrupt

        store.before = broken
        with pytest.raises(KeyboardInterrupt):
            offload_values(store, tmp_path / "values", min_size=1000)
        assert told(store) == before
        store.prune()
        assert len(objects(tmp_path / "values")) == 6, "who wrote them may still come back"
        store.before = lambda: None
        assert offload_values(store, tmp_path / "values", min_size=1000).values == 6
        assert told(store) == before
        store._writer.execute(
            "UPDATE moved_values SET at = '2020-01-01T00:00:00+00:00' WHERE state = 'writing'"
        )
        store.prune()
        assert len(objects(tmp_path / "values")) == 6
        assert told(store) == before


def _offload(path, folder):
    with SqliteStore(path) as store:
        offload_values(store, folder, min_size=1000)


def test_a_killed_offload_and_two_at_once_lose_nothing(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        fill(store, count=60)
        before = told(store)
        context = multiprocessing.get_context("spawn")
        killed = context.Process(target=_offload, args=(path, tmp_path / "values"))
        killed.start()
        while killed.is_alive() and not objects(tmp_path / "values"):
            time.sleep(0.002)
        if killed.is_alive():
            os.kill(killed.pid, signal.SIGKILL)
        killed.join()
        assert told(store) == before
        both = [context.Process(target=_offload, args=(path, tmp_path / "values")) for _ in range(2)]
        for each in both:
            each.start()
        for each in both:
            each.join()
        assert [each.exitcode for each in both] == [0, 0]
        assert told(store) == before
        assert bodies(store) < 10
        store._writer.execute(
            "UPDATE moved_values SET at = '2020-01-01T00:00:00+00:00' WHERE state = 'writing'"
        )
        store.prune()
        assert told(store) == before
        assert len(objects(tmp_path / "values")) == 120


def test_a_copy_brings_the_values_with_it(sqlite_store, postgresql_store, tmp_path):
    fill(sqlite_store)
    before = told(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    copy_store(sqlite_store, postgresql_store)
    offload_values(postgresql_store, tmp_path / "others", min_size=1000)
    for path in objects(tmp_path / "others"):
        path.unlink()
    with pytest.raises(ValueAwayError):
        told(postgresql_store)
    # What the target lost is brought by a copy that writes the run again.
    score_again(sqlite_store, "latest", evaluators=[is_long])
    copy_store(sqlite_store, postgresql_store, replace=True)
    score_again(postgresql_store, "latest", drop=["is_long"])
    ((report, _),) = told(postgresql_store)
    assert report["cases"] == before[0][0]["cases"]


def test_a_copy_of_what_cannot_be_read_is_an_error(sqlite_store, memory_store, tmp_path):
    fill(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    (tmp_path / "values").rename(tmp_path / "gone")
    with pytest.raises(ValueAwayError, match="cannot be copied"):
        copy_store(sqlite_store, memory_store)
    assert memory_store.runs() == []


def test_what_can_be_brought_back_is_when_some_cannot(sqlite_store, tmp_path):
    fill(sqlite_store)
    offload_values(sqlite_store, tmp_path / "values", min_size=1000)
    objects(tmp_path / "values")[0].unlink()
    with pytest.raises(StoreError, match=r"1 large values could not be brought back.*; 5 are back"):
        bring_back_values(sqlite_store)
    sqlite_store.prune()
    assert len(objects(tmp_path / "values")) == 0
    assert [each.values for each in sqlite_store.places()] == [1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("s3://key:s3cret@bucket/folder", "neither a password nor options"),
        ("s3://bucket/folder?secret=s3cret", "neither a password nor options"),
        ("s3://bucket#s3cret", "neither a password nor options"),
        ("https://example.org/values", "a place for large values is"),
        ("simplecache::s3://bucket/x", "a place for large values is"),
        ("s3://", "names no bucket"),
        ("file://host/folder", "three slashes"),
        ("s3://bucket/a*", "none of"),
        ("", "a place for large values is"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(given, said):
    with pytest.raises(InvalidOptionError, match=said) as refused:
        place_address(given)
    assert "s3cret" not in str(refused.value)


def test_an_address_is_stored_as_it_is_found_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert place_address("values/") == place_address(tmp_path / "values") == f"file://{tmp_path}/values"
    assert place_address("s3://bucket/folder/") == "s3://bucket/folder"
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidOptionError, match="is not a folder"):
        place_address("file")


def test_a_kind_of_place_that_is_not_known_is_an_error_with_what_is(sqlite_store):
    pytest.importorskip("fsspec")
    fill(sqlite_store)
    with pytest.raises(StoreError, match="fsspec knows no place such as nowhere://bucket"):
        offload_values(sqlite_store, "nowhere://bucket", min_size=1000)
    assert len(told(sqlite_store)) == 1


def test_a_place_that_cannot_be_reached_is_not_asked_for_every_value(sqlite_store, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    asked = []

    class Unreachable(fsspec.get_filesystem_class("memory")):
        """A bucket behind a network that breaks down."""

        protocol = "unreachable"
        is_down = False

        def cat_file(self, path, start=None, end=None, **options):
            if Unreachable.is_down:
                asked.append(path)
                raise ConnectionError("no route to the bucket")
            return super().cat_file(path, start, end, **options)

    fsspec.register_implementation("unreachable", Unreachable, clobber=True)
    run = fill(sqlite_store, count=8)
    before = told(sqlite_store)
    offload_values(sqlite_store, "unreachable://bucket/values", min_size=1000)
    assert told(sqlite_store) == before
    Unreachable.is_down = True
    sqlite_store.can_lack_values = True
    for _ in range(3):
        shown = [case.output for case in sqlite_store.report(run).cases]
        assert all("ConnectionError: no route to the bucket" in text for text in shown)
    assert len(asked) == 16, "once for the first page, and then not for a while"
