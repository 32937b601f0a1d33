"""Large work is done a few at a time, and no one waits longer than a request may."""

import threading

import pytest

from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.refusal import Refusal
from calipers.viewer.turns import AT_ONCE, in_turn


def test_large_work_is_done_a_few_at_a_time() -> None:
    inside, most = [], []
    lock = threading.Lock()

    def work() -> None:
        with in_turn(is_large=True):
            with lock:
                inside.append(1)
                most.append(len(inside))
            with lock:
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(most) == 20
    assert max(most) <= AT_ONCE


def test_who_waits_for_a_turn_waits_no_longer_than_the_request_may() -> None:
    held = [threading.Event() for _ in range(AT_ONCE)]
    done = threading.Event()

    def hold(mine: threading.Event) -> None:
        with in_turn(is_large=True):
            mine.set()
            done.wait()

    threads = [threading.Thread(target=hold, args=[each]) for each in held]
    for thread, mine in zip(threads, held, strict=True):
        thread.start()
        mine.wait()
    try:
        with working_until(Deadline(0.01)):
            with in_turn(is_large=False):
                pass
            with pytest.raises(Refusal, match="took longer"), in_turn(is_large=True):
                raise AssertionError("there was no turn to have")
    finally:
        done.set()
        for each in threads:
            each.join()
    with in_turn(is_large=True):
        pass
