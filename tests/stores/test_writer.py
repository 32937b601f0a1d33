"""Writing beside a run: batches, back-pressure, and a store that cannot be written."""

import threading
import time

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, StoreError, StoreUnavailableError
from calipers.stores import EvaluatorSlots, MemoryStore, Pace, PostgresqlStore, RunInfo, Writer, pack
from calipers.testing.store_check import record

QUICK = Pace(every=0.01, patience=0.3)


def attempts(numbers):
    return [pack(record(n, failed=True), n, EvaluatorSlots(()))[0] for n in numbers]


class Watched(MemoryStore):
    """A store that notes its batches, and can be made to wait or fail."""

    def __init__(self):
        super().__init__()
        self.batches = []
        self.inside = 0
        self.most_inside = 0
        self.failures = []
        self.gate = threading.Event()
        self.gate.set()

    def append(self, run, attempts=(), cells=(), **options):
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            self.gate.wait(10)
            if self.failures:
                raise self.failures.pop(0)
            super().append(run, attempts, cells, **options)
            self.batches.append(len(attempts))
        finally:
            self.inside -= 1


@pytest.fixture
def watched():
    with Watched() as store:
        yield store


def begin(store):
    return store.begin_run(RunInfo(name="r")).id


def test_everything_is_stored_when_the_block_is_left_in_batches_one_at_a_time(watched):
    run = begin(watched)
    with Writer(watched, run, pace=Pace(batch=100)) as writer:
        for attempt in attempts(range(1050)):
            writer.add(attempt)
    assert watched.done(run) == [range(1050)]
    assert max(watched.batches) == 100
    assert watched.most_inside == 1
    assert (writer.stored, writer.waiting, writer.error) == (1050, 0, None)


def test_a_small_batch_is_written_after_a_while(watched):
    run = begin(watched)
    with Writer(watched, run, pace=QUICK) as writer:
        writer.add(*attempts([0]))
        for _ in range(500):
            if watched.batches:
                break
            time.sleep(0.01)
        assert watched.done(run) == [range(1)]


def test_the_run_does_not_wait_for_a_slow_disk_until_too_much_is_unwritten(watched):
    run = begin(watched)
    watched.gate.clear()
    writer = Writer(watched, run, pace=Pace(batch=5, most_waiting=20))
    for attempt in attempts(range(20)):
        writer.add(attempt)  # returns at once, though nothing can be written
    added = []

    def more():
        for attempt in attempts(range(20, 60)):
            writer.add(attempt)
            added.append(attempt)

    thread = threading.Thread(target=more)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), "now it waits"
    assert writer.waiting <= 25
    watched.gate.set()
    thread.join(10)
    writer.close()
    assert (len(added), watched.done(run)) == (40, [range(60)])


def test_what_waits_is_bounded_by_its_size_too(watched):
    run = begin(watched)
    watched.gate.clear()
    writer = Writer(watched, run, pace=Pace(batch=1, most_text=1000))
    large = attempts(range(3))
    for attempt in large:
        attempt.output = '{"format":1,"output":"' + "x" * 900 + '"}'
    writer.add(large[0])
    thread = threading.Thread(target=lambda: [writer.add(attempt) for attempt in large[1:]])
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    watched.gate.set()
    thread.join(10)
    writer.close()
    assert watched.done(run) == [range(3)]


def test_flushing_waits_until_all_is_stored(watched):
    run = begin(watched)
    with Writer(watched, run, pace=Pace(every=60)) as writer:
        writer.flush()
        for again in range(3):
            writer.add(*attempts([again]))
            writer.flush()
            assert watched.done(run) == [range(again + 1)]


def test_cells_can_be_added_alone(memory_store):
    from calipers.testing.store_check import _EVALUATORS

    run = memory_store.begin_run(RunInfo(name="r", evaluators=_EVALUATORS))
    attempt, cells = pack(record(1), 0, EvaluatorSlots(run.evaluators))
    memory_store.append(run.id, [attempt])
    with Writer(memory_store, run.id) as writer:
        writer.add_cells(cells)
    assert len(list(memory_store.cells(run.id))) == 3
    assert writer.stored == 0


def test_a_store_that_is_unavailable_for_a_moment_is_tried_again(watched):
    run = begin(watched)
    watched.failures = [StoreUnavailableError("full"), StoreUnavailableError("still full")]
    with Writer(watched, run, pace=Pace(every=0.01, patience=30)) as writer:
        writer.add(*attempts([0]))
    assert watched.done(run) == [range(1)]


def test_who_waits_is_told_why_and_when_it_is_over(watched, caplog):
    watched.failures = [StoreUnavailableError("the disk is full")] * 2
    with Writer(watched, begin(watched), pace=Pace(every=0.01, patience=7)) as writer:
        writer.add(attempts([0])[0])
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "the disk is full. Trying again for 7 s",
        "the store can be used again",
    ]
    assert {entry.name for entry in caplog.records} == {"calipers.stores"}


def test_a_store_that_stays_unavailable_ends_with_an_error_that_says_what_is_safe(watched):
    run = begin(watched)
    writer = Writer(watched, run, pace=QUICK)
    writer.add(*attempts([0]))
    writer.flush()
    watched.failures = [StoreUnavailableError("the disk is full")] * 100
    writer.add(*attempts([1]))
    said = r"could not be stored any further after 0.3 s of trying: the disk is full. 1 of its attempts are stored and whole, 1 were"
    with pytest.raises(StoreError, match=said) as error:
        writer.flush()
    assert not isinstance(error.value, StoreUnavailableError), "it was waited for"
    with pytest.raises(StoreError, match=said):
        writer.add(*attempts([2]))
    with pytest.raises(StoreError, match=said):
        writer.close()
    writer.close()
    assert watched.done(run) == [range(1)]


def test_an_error_that_does_not_pass_is_not_tried_again(watched):
    run = begin(watched)
    watched.failures = [StoreError("no"), RuntimeError("worse")]
    for why in ("no", "worse"):
        writer = Writer(watched, run)
        writer.add(*attempts([0]))
        with pytest.raises(StoreError, match=f"could not be stored any further: {why}"):
            writer.close()
    assert watched.batches == []


def test_a_run_whose_store_fails_begins_no_new_work_and_keeps_what_it_has(watched):
    run = begin(watched)
    watched.failures = [StoreError("no")]
    writer = Writer(watched, run, pace=Pace(batch=5, every=0, most_waiting=5))
    numbers = iter(range(10**6))

    def keep(record):
        writer.add(pack(record, next(numbers), EvaluatorSlots(()))[0])

    dataset = Dataset(name="d", cases=[Case(inputs=n) for n in range(5000)])
    report = dataset.evaluate_sync(lambda n: n, progress=False, on_record=keep)
    assert "could not be stored any further" in str(report.incomplete)
    assert 0 < len(report.cases) < 5000


def test_a_closed_writer_takes_no_more(watched):
    writer = Writer(watched, begin(watched))
    writer.close()
    with pytest.raises(StoreError, match="is closed"):
        writer.add(*attempts([0]))


@pytest.mark.parametrize(
    "wrong",
    [{"batch": 0}, {"every": -1}, {"patience": float("nan")}, {"most_waiting": "many"}, {"most_text": True}],
)
def test_a_pace_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidOptionError, match=f"{next(iter(wrong))} must be a (whole |finite )?number"):
        Pace(**wrong)


def test_a_server_that_is_stopped_and_started_again_loses_nothing(fragile):
    with PostgresqlStore(fragile.url) as store:
        run = begin(store)
        with Writer(store, run, pace=Pace(batch=10, every=0.01, patience=60)) as writer:
            for number, attempt in enumerate(attempts(range(400))):
                if number == 200:
                    writer.flush()
                    fragile.stop()
                if number == 300:
                    fragile.start()
                writer.add(attempt)
        assert store.done(run) == [range(400)]
        assert store.run(run).attempts == 400
