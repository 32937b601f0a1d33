"""What happens in the store reaches every browser, in order, and nothing is lost unsaid."""

import socket
import subprocess
import sys
from contextlib import ExitStack, closing, suppress

import pytest

from calipers.stores import SqliteStore
from calipers.testing import ServedViewer
from calipers.viewer import events as events_module
from calipers.viewer.events import MOST_STREAMS

from .conftest import keep_run, until

WRITER = """
import sys, time
from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.stores import SqliteStore

def task(n):
    while n > 2 and not sys.stdin.readline():
        time.sleep(0.01)
    return n

dataset = Dataset(name="slow", cases=[Case(name=str(n), inputs=n, expected_output=n) for n in range(6)], evaluators=[EqualsExpected()])
with SqliteStore(sys.argv[1]) as store:
    dataset.evaluate_sync(task, store=store, name="elsewhere", progress=False, max_concurrency=1)
"""
"""A run of another process, whose last cases each wait for a line."""


@pytest.fixture
def path(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        keep_run(store, name="first")
    return tmp_path / "runs.db"


@pytest.fixture
def elsewhere(path):
    """Starts a run in another process."""
    with ExitStack() as stack:

        def start():
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def first(stream, name, is_right=lambda data: True):
    """The first event of a name, of which something holds."""
    for event in stream:
        if event.name == name and is_right(event.data):
            return event
    raise AssertionError(f"the stream ended without {name}")


def heard_beginning(stream):
    """Wait until the stream is followed, so that what happens next is told."""
    assert next(iter(stream.lines())) == "retry: 2000"
    return stream


def test_runs_of_another_process_are_told_from_their_beginning_to_their_end(path, elsewhere):
    with ServedViewer(path) as viewer, viewer.events() as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        heard_beginning(stream)
        until(lambda: viewer.server.application._watcher._seen, bool)
        writer = elsewhere()
        began = first(stream, "runs").data
        (run,) = began["began"]
        progress = first(stream, "progress", lambda data: data["run"] == run).data
        assert (progress["state"], progress["total"]) == ("running", 6)
        writer.stdin.write("\n" * 6)
        writer.stdin.flush()
        last = first(stream, "progress", lambda data: data["state"] == "finished").data
        assert (last["run"], last["attempts"], last["failures"]) == (run, 6, 0)
        assert [row["state"] for row in viewer.ask("runs").json()["rows"]] == ["finished", "finished"]


def test_a_run_that_ends_and_one_that_is_deleted_are_told(path, elsewhere):
    with ServedViewer(path) as viewer, viewer.events() as stream, SqliteStore(path) as store:
        heard_beginning(stream)
        until(lambda: viewer.server.application._watcher._seen, bool)
        added = keep_run(store, name="added")
        assert first(stream, "runs").data["began"] == [added]
        store.delete_run(added)
        assert first(stream, "runs").data["gone"] == [added]
        assert viewer.ask(f"runs/{added}").status == 404


def test_a_run_that_was_counted_in_flight_is_counted_again_when_it_ends(path, elsewhere):
    writer = elsewhere()
    with ServedViewer(path) as viewer:

        def row():
            return viewer.ask("runs").json()["rows"][0]

        def point():
            return viewer.ask("trend?dataset=slow").json()["points"][-1]

        until(row, lambda found: found["name"] == "elsewhere" and found["cases"] == 3)
        assert point()["estimate"]["n_units"] == 3
        writer.communicate("\n\n\n")
        until(row, lambda found: found["state"] == "finished")
        # Between its end and its count it has no rate, and never that of half of it.
        seen = [
            (found["cases"], found["rate"] and found["rate"]["n_units"])
            for found in [row() for _ in range(20)]
        ]
        assert set(seen) <= {(None, None), (6, 6)}
        until(row, lambda found: found["cases"] == 6)
        assert until(point, lambda found: found["estimate"])["estimate"]["n_units"] == 6


def test_a_run_in_flight_has_a_rate_of_what_was_judged_so_far(path, elsewhere):
    with ServedViewer(path) as viewer, viewer.events() as stream:
        writer = elsewhere()
        told = first(stream, "progress", lambda data: data["attempts"] == 3 and data["rate"]).data
        assert told["rate"]["value"] == 1.0
        assert told["rate"]["interval"]["low"] < 0.5, "of three cases little is known"
        assert (told["cases"], told["seconds"] > 0) == (3, True)
        until(lambda: viewer.ask("runs").json()["rows"][0]["cases"], lambda cases: cases == 3)
        writer.kill()
        died = first(stream, "progress", lambda data: data["state"] != "running").data
        assert died["state"] == "abandoned"


def test_who_was_cut_off_hears_what_was_missed(path):
    with ServedViewer(path) as viewer, SqliteStore(path) as store:
        with viewer.events() as stream:
            heard_beginning(stream)
            until(lambda: viewer.server.application._watcher._seen, bool)
            one = keep_run(store, name="one")
            event = first(stream, "runs")
            assert event.data["began"] == [one]
            with viewer.events() as other:
                heard_beginning(other)
                store.delete_run(one)
                first(other, "runs")
            with viewer.events(last=event.id) as again:
                assert next(iter(again)).data["gone"] == [one]
        with viewer.events(last=event.id) as later:
            assert next(iter(later)).data["gone"] == [one]


@pytest.mark.parametrize("last", ["0badcafe.3", "nonsense", "1", "{name}.999999", "{name}.x"])
def test_who_cannot_be_told_what_was_missed_asks_for_everything_again(path, last):
    with ServedViewer(path) as viewer:
        name = viewer.server.application._watcher._name
        with viewer.events(last=last.format(name=name)) as stream:
            assert next(iter(stream)).name == "resync"


def test_streams_are_bounded_and_a_place_is_free_again_when_a_browser_leaves(path):
    with ServedViewer(path) as viewer:
        with ExitStack() as stack:
            for _ in range(MOST_STREAMS):
                assert stack.enter_context(viewer.events()).status == 200
            with viewer.events() as refused:
                assert refused.status == 503
            assert viewer.ask("runs").status == 200
        watcher = viewer.server.application._watcher
        until(lambda: len(watcher._listeners), lambda count: count == 0)
        with viewer.events() as stream:
            assert stream.status == 200


def test_the_store_is_left_alone_while_no_one_listens(path):
    with ServedViewer(path) as viewer:
        watcher = viewer.server.application._watcher
        assert watcher._looking is None
        with viewer.events() as stream:
            heard_beginning(stream)
            until(lambda: watcher._seen, bool)
        until(lambda: watcher._looking.done(), bool)


def test_streams_end_when_the_server_does(path):
    with ExitStack() as stack:
        with ServedViewer(path) as viewer:
            stream = stack.enter_context(viewer.events())
            heard_beginning(stream)
        assert [line for line in stream.lines() if line] == []


def test_a_stream_takes_nothing_it_does_not_know(path):
    with ServedViewer(path) as viewer:
        assert viewer.ask("events?run=x").status == 400
        assert viewer.ask("events", method="POST").status == 405
        assert viewer.ask("events", is_signed_in=False).status == 401
        assert viewer.ask("events", headers={"Sec-Fetch-Site": "cross-site"}).status == 403


def test_a_browser_that_does_not_read_is_told_to_ask_again(path):
    import asyncio

    from calipers.viewer.events import Event, Watcher
    from calipers.viewer.request_threads import RequestThreads
    from calipers.viewer.viewed_store import ViewedStore

    async def overflow():
        viewed, threads = ViewedStore(path), RequestThreads()
        watcher = Watcher(viewed, threads)
        queue: asyncio.Queue[Event] = asyncio.Queue(events_module._WAITING)
        watcher._listeners.add(queue)
        for _ in range(events_module._WAITING + 1):
            watcher._tell("progress", b"{}")
        threads.close()
        viewed.close()
        return queue.get_nowait(), queue.empty()

    event, is_last = asyncio.run(overflow())
    assert event.name == "resync"
    assert is_last


def test_a_client_that_only_connects_holds_up_no_end(path):
    with ServedViewer(path) as viewer:
        silent = socket.create_connection(("127.0.0.1", viewer.server.port))
    with closing(silent), suppress(ConnectionResetError):  # which is an end, too
        assert silent.recv(10) == b""
