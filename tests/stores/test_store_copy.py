"""Runs of one store in another: the same, all of them or none, and checked."""

import sqlite3
from contextlib import closing

import msgspec
import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import RunMissingError, StoreDamagedError, StoreError
from calipers.gate.looks import Look
from calipers.stores import HumanLabel, MemoryStore, RunInfo, SqliteStore, copy_store, score_again


def echo(inputs):
    increment_eval_metric("size", len(inputs))
    if "fails" in inputs:
        raise ValueError("it fails")
    return {"said": inputs, "again": inputs * 40}


def short(output):
    return len(output["said"]) < 10


def graded(output):
    return {"length": len(output["said"]), "reason": "x" * 2000}


def own(output):
    return True


def fill(store):
    """Runs with all that a run may have."""
    texts = ["a", "b" * 3000, "fails", "nul \0 and \udcff", "ü"]
    cases = [
        Case(name=f"case {n} {text[:9]}", inputs=text, tags=["odd"] * (n % 2), evaluators=[own] * (n == 3))
        for n, text in enumerate(texts)
    ]
    dataset = Dataset(name="texts\0", cases=cases, evaluators=[short, graded])
    dataset.evaluate_sync(echo, store=store, repeat=2, progress=False, metadata={"by": "me"})
    first = store.run("latest").id
    dataset.evaluate_sync(echo, store=store, repeat=2, reuse=True, progress=False)
    score_again(store, first, evaluators=[own], keep="all")
    score_again(store, first, drop=["short"])
    store.add_labels(
        [
            HumanLabel(
                run=first,
                position=1,
                case="a",
                question="good?",
                person="ann",
                value=True,
                at="2026-01-01T00:00:00+00:00",
            )
        ]
    )
    store.add_look("question", Look(run=first, attempts=10, number=1, outcome="PASS"), after=0)
    store.keep_model_answer(b"k" * 32, b"answer")
    store.finish_run(store.begin_run(RunInfo(name="empty")).id, status="interrupted")
    return first


def told(store):
    """All that a store says of its runs."""
    return [
        (
            msgspec.structs.replace(info, totals=None),
            store.report(info.id).to_dict(),
            list(store.attempts(info.id)),
            list(store.judged(info.id)),
            store.labels(run=info.id),
            store.changes(info.id),
        )
        for info in store.runs()
    ]


@pytest.fixture
def filled():
    with MemoryStore() as store:
        store.first = fill(store)
        yield store


def test_runs_are_the_same_in_every_kind_of_store_and_back(
    filled, sqlite_store, postgresql_store, memory_store
):
    copies = copy_store(filled, sqlite_store, page=3)
    assert [copy.became for copy in copies] == ["copied"] * 3
    assert [copy.attempts for copy in copies] == [10, 10, 0]
    again = copy_store(sqlite_store, postgresql_store)
    back = copy_store(postgresql_store, memory_store, page=4)
    assert (
        [copy.checksum for copy in copies]
        == [copy.checksum for copy in again]
        == [copy.checksum for copy in back]
    )
    for target in (sqlite_store, postgresql_store, memory_store):
        assert told(target) == told(filled)
        assert target.looks() == filled.looks()
        assert target.model_answer(b"k" * 32) == b"answer"
        # What is superseded is kept, too: the evaluator may come back.
        score_again(target, filled.first, evaluators=[short], replace=True, keep="all")
        assert "short" in target.run(filled.first).columns
    assert {copy.became for copy in copy_store(filled, sqlite_store)} == {"there", "differs"}


class Breaking(MemoryStore):
    """A target that cannot be written any more after some pages."""

    pages = 2

    def write_page(self, *args, **options):
        if self.pages == 0:
            raise StoreError("the disk is gone")
        self.pages -= 1
        super().write_page(*args, **options)


def test_a_copy_that_was_broken_off_shows_nothing_and_goes_on(filled):
    with Breaking() as target:
        with pytest.raises(StoreError, match="the disk is gone"):
            copy_store(filled, target, page=3)
        assert target.runs() == target.progress() == []
        for ask in (target.run, target.attempts, target.done, target.report):
            with pytest.raises(RunMissingError):
                list(ask(filled.first))
        assert target.find([attempt.key for attempt in filled.attempts(filled.first)]) == {}
        target.pages = 99
        first, *_ = copy_store(filled, target, page=3)
        assert (first.became, first.attempts, first.written) == ("copied", 10, 4)
        assert told(target) == told(filled)


def test_a_copy_that_no_one_goes_on_with_is_removed_with_what_it_took(filled):
    with Breaking() as target:
        with pytest.raises(StoreError):
            copy_store(filled, target, page=3)
        target.prune()
        ((count,),) = target._writer.execute("SELECT COUNT(*) FROM attempts")
        assert count == 6, "it may still be gone on with"
        target._writer.execute("UPDATE runs SET heartbeat = '2020-01-01T00:00:00+00:00'")
        target.prune()
        for table in ("runs", "attempts", "blobs", "blob_uses"):
            ((count,),) = target._writer.execute(f"SELECT COUNT(*) FROM {table}")
            assert count == 0, table


def test_an_attempt_that_does_not_come_out_as_it_went_in_is_an_error(filled, tmp_path):
    with SqliteStore(tmp_path / "bad.db") as target:
        target._writer.execute(
            "CREATE TRIGGER flip AFTER INSERT ON attempts WHEN NEW.position = 4 "
            "BEGIN UPDATE attempts SET facts = replace(facts, '1', '2') WHERE run = NEW.run AND position = 4; END"
        )
        with pytest.raises(
            StoreDamagedError, match=r"the attempts at the positions \[4\] are not what was written"
        ):
            copy_store(filled, target)
        assert target.runs() == []


def test_a_damaged_source_is_not_copied(filled, tmp_path):
    copy_store(filled, source := SqliteStore(tmp_path / "a.db"))
    with closing(sqlite3.connect(tmp_path / "a.db")) as file, file:
        file.execute(
            "UPDATE blobs SET body = x'00' WHERE length(body) = (SELECT MAX(length(body)) FROM blobs)"
        )
    with source, MemoryStore() as target:
        with pytest.raises(StoreDamagedError, match="is not what was written"):
            copy_store(source, target)
        assert target.runs() == []


def test_a_run_that_says_something_else_in_the_target_stays_unless_it_is_to_be_replaced(filled, memory_store):
    copy_store(filled, memory_store)
    score_again(memory_store, filled.first, evaluators=[echoed := lambda output: True], keep="all")
    kept = memory_store.report(filled.first).to_dict()
    first, *_ = copy_store(filled, memory_store)
    assert first.became == "differs"
    assert memory_store.report(filled.first).to_dict() == kept
    first, *_ = copy_store(filled, memory_store, replace=True)
    assert (first.became, first.written) == ("copied", 8), "all that finished had one more result"
    assert told(memory_store) == told(filled)
    assert echoed


def test_a_run_that_is_written_is_left_for_later(filled, memory_store):
    running = filled.begin_run(RunInfo(name="now"))
    copies = {copy.run: copy.became for copy in copy_store(filled, memory_store)}
    assert copies[running.id] == "running"
    assert running.id not in {info.id for info in memory_store.runs()}


def test_a_run_that_another_process_copies_is_not_touched(filled):
    with Breaking() as target:
        with pytest.raises(StoreError):
            copy_store(filled, target, page=3)
        target._writer.execute('UPDATE runs SET owner = replace(owner, \'"host":"\', \'"host":"other\')')
        with pytest.raises(StoreError, match="is being copied into 'memory:' by another process"):
            copy_store(filled, target)


def test_some_runs_and_only_what_has_rows_can_be_copied(filled, memory_store, sqlite_store):
    copy_store(filled, memory_store, runs=[filled.first])
    assert [info.id for info in memory_store.runs()] == [filled.first]
    with pytest.raises(RunMissingError):
        copy_store(filled, memory_store, runs=["no-such-run"])
    with pytest.raises(StoreError, match="cannot be copied to itself"):
        copy_store(sqlite_store, sqlite_store)
