import typing

import msgspec
import pytest

from calipers.sandbox import Outcome, StoppedBy

PLAIN = Outcome(
    exit_code=0,
    stdout="",
    stderr="",
    stopped_by=None,
    signal=None,
    duration=0.25,
    cpu_seconds=0.1,
    output_truncated=False,
    protection="limits",
    protection_note="resource limits only",
)


def test_a_program_that_ended_by_itself_with_zero_is_ok():
    assert PLAIN.ok


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": 1},
        {"exit_code": None, "signal": 9},
        *({"stopped_by": by} for by in typing.get_args(StoppedBy)),
    ],
)
def test_nothing_else_is_ok(change):
    assert not msgspec.structs.replace(PLAIN, **change).ok


@pytest.mark.parametrize(
    ("change", "summary"),
    [
        ({}, "exit code 0"),
        ({"exit_code": 3}, "exit code 3"),
        ({"exit_code": None, "signal": 11}, "killed by signal 11 (SIGSEGV)"),
        ({"exit_code": None, "signal": 250}, "killed by signal 250"),
        ({"stopped_by": "time"}, "stopped after 0.25 s: the time limit"),
        ({"stopped_by": "cpu"}, "stopped by the limit on processor time"),
        ({"stopped_by": "memory"}, "ran out of the memory it was allowed"),
        ({"stopped_by": "output"}, "stopped for printing more than the output limit"),
        ({"stopped_by": "unknown"}, "ended unseen: its supervisor was killed"),
    ],
)
def test_the_summary_says_how_it_ended(change, summary):
    assert msgspec.structs.replace(PLAIN, **change).summary == summary


def test_an_outcome_can_be_stored_and_read_back():
    assert msgspec.json.decode(msgspec.json.encode(PLAIN), type=Outcome) == PLAIN
