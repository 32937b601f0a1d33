"""Errors that say nothing about the agent's answer, and what a report makes of them."""

import errno
import http.client
import ssl
import urllib.error
from pathlib import Path

import aiohttp
import httpx
import openai
import pytest

from calipers import Case, Dataset
from calipers.data.infrastructure import is_infrastructure
from calipers.errors import AgentConnectionError, AttemptTimeoutError, RolloutError
from calipers.stores import open_store

REQUEST = httpx.Request("POST", "http://127.0.0.1/")


def reply(status):
    return httpx.Response(status, request=REQUEST)


def raised_from(error, cause):
    error.__cause__ = cause
    return error


OURS = [
    TimeoutError("late"),
    AttemptTimeoutError("the task exceeded 1 s"),
    ConnectionRefusedError("down"),
    AgentConnectionError("down"),
    OSError(errno.EHOSTUNREACH, "no route"),
    OSError(errno.EMFILE, "too many open files"),
    ssl.SSLError("handshake"),
    urllib.error.URLError(ConnectionResetError()),
    urllib.error.HTTPError("http://x", 503, "busy", http.client.HTTPMessage(), None),
    httpx.ConnectError("down"),
    httpx.PoolTimeout("no connection was free"),
    httpx.HTTPStatusError("busy", request=REQUEST, response=reply(502)),
    httpx.HTTPStatusError("slow down", request=REQUEST, response=reply(429)),
    aiohttp.ServerDisconnectedError(),
    openai.APITimeoutError(request=REQUEST),
    openai.APIConnectionError(request=REQUEST),
    openai.InternalServerError("busy", response=reply(500), body=None),
    openai.RateLimitError("slow down", response=reply(429), body=None),
    raised_from(RuntimeError("the agent could not be asked"), httpx.ReadTimeout("late")),
    raised_from(RolloutError("the target failed"), TimeoutError()),
    ExceptionGroup("both", [TimeoutError(), httpx.ConnectError("down")]),
]
THEIRS = [
    ValueError("a bug"),
    KeyError("x"),
    SystemExit(503),
    FileNotFoundError(errno.ENOENT, "no such file"),
    httpx.HTTPStatusError("what is this", request=REQUEST, response=reply(400)),
    openai.AuthenticationError("no key", response=reply(401), body=None),
    ExceptionGroup("both", [TimeoutError(), ValueError("a bug")]),
]


class Unreadable(Exception):
    """An error whose attributes cannot be read."""

    @property
    def status_code(self):
        raise RuntimeError("no")


def test_time_outs_connections_and_servers_are_told_from_the_rest():
    assert [error for error in OURS if not is_infrastructure(error)] == []
    assert [error for error in [*THEIRS, Unreadable(), None] if is_infrastructure(error)] == []


def test_an_error_that_was_only_being_handled_does_not_count():
    error = ValueError("no answer could be read")
    error.__context__ = TimeoutError()
    assert not is_infrastructure(error)


def test_a_circle_of_causes_ends():
    one, two = ValueError("a"), ValueError("b")
    one.__cause__, two.__cause__ = two, one
    assert not is_infrastructure(one)


# ---------------------------------------------------------------------- in a report


async def agent(inputs: int) -> int:
    if inputs % 4 == 0:
        raise httpx.ConnectError("down")
    if inputs % 10 == 0:
        raise ValueError("a bug")
    return inputs


def judge(output: int) -> bool:
    if output % 10 == 7:
        raise TimeoutError("the judge did not answer")
    return output % 10 != 9


def ran(task=agent, inputs=range(40), **options):
    cases = [Case(name=f"c{i}", inputs=i) for i in inputs]
    return Dataset(name="d", cases=cases, evaluators=[judge]).evaluate_sync(
        task, progress=False, seed=0, **options
    )


def shares(report):
    found = report.infrastructure()
    return (
        dict(found.failures),
        round(report.pass_rate().value, 4),
        round(found.without.value, 4),
        round(found.at_most.value, 4),
    )


@pytest.mark.parametrize("repeat", [1, 3])
def test_the_rate_is_told_with_and_without_them(repeat):
    # Of 40: 10 refused; of the 30 others 2 have a bug, 4 a judge that is out of reach, 4 a wrong answer; 20 pass.
    report = ran(repeat=repeat)
    assert shares(report) == (
        {"ConnectError": 10 * repeat, "TimeoutError": 4 * repeat},
        20 / 40,
        round(20 / 26, 4),
        34 / 40,
    )
    found = report.infrastructure()
    assert found.count == 14 * repeat
    assert (found.without.n_units, found.at_most.n_units) == (26, 40)
    assert found.without.interval.low < 20 / 26 < found.without.interval.high


def test_they_are_told_apart_after_storage_and_where_attempts_are_dropped(tmp_path):
    report = ran(store=tmp_path / "runs.db")
    with open_store(tmp_path / "runs.db") as store:
        for keep in ("all", "failed", "none"):
            assert store.report(report.reuse.run, keep=keep).infrastructure() == report.infrastructure()
    assert ran(keep="failed").infrastructure() == report.infrastructure()
    assert type(report).from_dict(report.to_dict()).infrastructure() == report.infrastructure()


def test_where_everything_reached_an_answer_there_is_nothing_to_tell():
    report = ran(inputs=(1, 2, 3))
    assert report.infrastructure() is None
    assert "got no answer" not in report.render()


def test_where_nothing_did_no_rate_is_left_without_them():
    found = ran(inputs=(4, 8)).infrastructure()
    assert (found.without, found.at_most.value) == (None, 1.0)
    assert "without them  nothing is left" in ran(inputs=(4, 8)).render()


def test_a_judge_out_of_reach_alone_leaves_no_rate_and_no_error():
    report = ran(inputs=(7, 17))
    assert (report.pass_rate().value, report.infrastructure().without) == (0.0, None)


def test_the_report_shows_both_readings_and_the_way_to_make_them_again(tmp_path):
    text = ran().render(width=120, include_cases=False)
    assert (
        "14 attempts got no answer because of a time-out, a connection or a server: ConnectError (10), TimeoutError (4)."
        in text
    )
    assert "  without them   76.9 %  [57.9, 89.0]" in text
    assert "  at most        85.0 %  [70.9, 92.9]    if all of them had passed" in text
    assert "with a store, rerun_failed makes them again" in text
    kept = ran(store=tmp_path / "runs.db")
    assert "resume the run with --rerun-failed (rerun_failed=True) to make them again" in " ".join(
        kept.render().split()
    )


def test_one_attempt_without_an_answer_is_not_called_them():
    text = " ".join(ran(inputs=(1, 4)).render(include_cases=False).split())
    assert "1 attempt got no answer" in text
    assert "without it 100.0 %" in text
    assert "counts it as not passed; with a store, rerun_failed makes it again" in text


def unsteady(flag: str) -> int:
    if not Path(flag).exists():
        raise httpx.ConnectError("down")
    return 1


def test_rerun_failed_makes_them_again_and_the_note_goes(tmp_path):
    flags = [str(tmp_path / name) for name in "abc"]
    Path(flags[0]).touch()
    kept = ran(unsteady, flags, store=tmp_path / "runs.db")
    assert (kept.infrastructure().count, kept.pass_rate().value) == (2, 1 / 3)
    for flag in flags:
        Path(flag).touch()
    again = ran(unsteady, flags, store=tmp_path / "runs.db", resume=kept.reuse.run, rerun_failed=True)
    assert (again.infrastructure(), again.pass_rate().value) == (None, 1)
