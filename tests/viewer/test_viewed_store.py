"""The store that a viewer serves, shared by the threads that read from it."""

import threading

import pytest

from calipers.stores import MemoryStore
from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore


def waiting(viewed, deadline):
    """A thread that wants to read while this one does, and the refusals that it meets."""
    refused = []

    def read():
        try:
            with working_until(deadline), viewed.reading():
                pass
        except Refusal as error:
            refused.append(error.code)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread, refused


def test_who_waits_for_a_reader_hears_that_the_viewer_ends():
    with MemoryStore() as store:
        viewed = ViewedStore(store)
        with viewed.reading():
            thread, refused = waiting(viewed, Deadline(float("inf")))
            thread.join(0.05)
            viewed.close()
            thread.join(60)
        assert refused == ["gone"]


def test_who_waits_for_a_reader_and_is_not_wanted_any_more_ends():
    with MemoryStore() as store:
        viewed = ViewedStore(store)
        deadline = Deadline(float("inf"))
        with viewed.reading():
            thread, refused = waiting(viewed, deadline)
            thread.join(0.05)
            deadline.cancel()
            thread.join(60)
        viewed.close()
        assert refused == ["busy"]


@pytest.mark.parametrize("free", [False, True])
def test_who_waits_for_a_reader_gets_it_or_is_refused(free):
    with MemoryStore() as store:
        viewed = ViewedStore(store)
        with viewed.reading():
            thread, refused = waiting(viewed, Deadline(60 if free else 0.2))
            thread.join(0.05 if free else 60)
        thread.join(60)
        viewed.close()
        assert refused == ([] if free else ["busy"])
