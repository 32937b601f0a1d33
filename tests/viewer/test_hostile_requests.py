"""Requests that mean harm, or nothing: whatever is asked for, the server answers in words and goes on."""

import re
import socket
import string
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stores import SqliteStore
from calipers.testing import ServedViewer
from calipers.viewer.application import CALLS
from calipers.viewer.case_id import case_id
from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.export import TABLES
from calipers.viewer.run_indexes import RunIndexes

from .conftest import keep_run

ODD = (
    *("", " ", "0", "-1", "1e999", "nan", "9" * 400, "1,2,3", ",,,", "\0", "a\0b", "\ud800", "\u202e", "../../x", "%", "x" * 9000),
    *("(", "((((((((((", "a OR b", "tag:(a OR b)", "*", '"', '""', "\\", "eval.:x", "score.x<", "cost>1e400", "time>9999999-01-01"),
    *("is:flaky", "status:failed", "rep:-1", "-value.nothing", "latest", "step-0-output", "step-999999999999-output", "details-99999999"),
)  # fmt: skip
"""Values that were not thought of."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("attacked") / "runs.db"
    with SqliteStore(path) as store:
        return path, [keep_run(store, name=name, wrong=[1]) for name in ("first", "second")]


@pytest.fixture(scope="module")
def attacked(kept: Any) -> Any:
    path, runs = kept
    with ServedViewer(path, patience=0.3) as served:
        yield served, runs


@pytest.fixture
def terminal(kept: Any, capfd: pytest.CaptureFixture[str]) -> Any:
    """A viewer, and what its terminal shows since it began."""
    with ServedViewer(kept[0], patience=0.3) as served:
        yield served, lambda: capfd.readouterr().err


def parameters(call: Any, of: str | None) -> list[str]:
    known = TABLES[of] if of else call
    return [name for name in known._parameters if name != "body" and f"{{{name}}}" not in call.path]


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    """A call with its parameters, some of which are right: its method, and its address with places for two runs."""
    call = draw(st.sampled_from(CALLS))
    texts = st.sampled_from(ODD) | st.text(st.characters(codec=None), max_size=12)
    right = {
        "run": st.sampled_from(["{a}", "{b}"]),
        "a": st.just("{a}"),
        "b": st.just("{b}"),
        "case": st.just(case_id("case 1")),
    }
    right |= dict.fromkeys(("position", "at_a", "at_b"), st.sampled_from(["0", "3"]))

    def value(name: str) -> str:
        known = right.get(name, texts)
        text = draw(known | texts if name in right else texts)
        return text if text in {"{a}", "{b}"} else quote(text.encode("utf-8", "surrogatepass"), safe="")

    path = re.sub(r"\{(\w+)\}", lambda name: value(name[1]) or "x", call.path)
    of = draw(st.sampled_from(sorted(TABLES))) if call.path == "/export.csv" else None
    names = draw(st.lists(st.sampled_from(parameters(call, of) or ["x"]), max_size=4))
    query = [f"of={of}"] if of else []
    query += [f"{name}={value(name)}" for name in names]
    return call.method, path, query


bodies = st.sampled_from(
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 5000,
        b'{"run":1}',
        b'{"value":1e999}',
        b'"' + b"x" * 5000 + b'"',
    ]
) | st.binary(max_size=20)


@given(requests(), bodies, st.sampled_from([None, "bytes=0-1", "bytes=" + "9" * 400 + "-", "x"]))
def test_no_request_breaks_the_server(attacked: Any, request: Any, body: bytes, part: str | None) -> None:
    served, (a, b) = attacked
    method, path, query = request
    address = f"/api/v1{path}?{'&'.join(query)}".replace("{a}", a).replace("{b}", b)
    answer = served.ask(
        address, method=method, body=None if method == "GET" else body, headers={"Range": part}
    )
    assert answer.status < 500, (method, address, body, answer.body)
    if answer.status >= 400:
        assert answer.status == 416 or answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "query", ["&".join(f"p{number}=1" for number in range(3000)), "q=tag:" + "(" * 5000, "x=1&x=1"]
)
def test_a_query_of_any_size_is_answered_in_words(attacked: Any, query: str) -> None:
    served, _ = attacked
    answer = served.ask(f"runs?{query}")
    assert answer.status == 400
    assert answer.json()["error"]["code"] in {"bad_request", "bad_filter"}


def heard(served: ServedViewer, *sent: str) -> bytes:
    """All that the server says to some lines, until it closes the connection."""
    with closing(socket.create_connection(("127.0.0.1", served.server.port), timeout=30)) as connection:
        host = f"Host: 127.0.0.1:{served.server.port}"
        own = [f"{name}: {value}" for name, value in served.headers.items()]
        text = "\r\n".join(sent).replace("HOST", "\r\n".join([host, *own]))
        connection.sendall(text.encode())
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def test_who_does_not_send_the_head_of_a_request_is_let_go(attacked: Any) -> None:
    served, _ = attacked
    assert heard(served, "GET / HTTP/1.1", "HOST", "X-Slow: ") == b""
    assert heard(served) == b""


def test_who_does_not_send_the_rest_of_a_request_is_told(attacked: Any) -> None:
    served, _ = attacked
    said = heard(
        served,
        *("PUT /api/v1/label HTTP/1.1", "HOST", "Content-Type: application/json", "Connection: close"),
        *("Content-Length: 99", "", "{"),
    )
    assert said.startswith(b"HTTP/1.1 503")
    assert b"did not arrive within 0.3 s" in said


def test_who_leaves_while_sending_leaves_no_traceback(terminal: Any) -> None:
    served, shown = terminal
    with closing(socket.create_connection(("127.0.0.1", served.server.port))) as connection:
        head = [f"{name}: {value}" for name, value in served.headers.items()]
        lines = [
            *("PUT /api/v1/label HTTP/1.1", f"Host: 127.0.0.1:{served.server.port}", *head),
            *("Content-Type: application/json", "Content-Length: 99", "", "{"),
        ]
        connection.sendall("\r\n".join(lines).encode())
    assert served.ask("session").status == 200
    assert shown() == ""


@pytest.mark.parametrize(
    "junk", ["\x16\x03\x01\x02", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", string.ascii_letters + "\r\n\r\n"]
)
def test_what_is_no_request_is_refused_and_not_told_on_the_terminal(terminal: Any, junk: str) -> None:
    served, shown = terminal
    said = heard(served, junk)
    assert said == b"" or said.startswith(b"HTTP/1.1 400")
    assert shown() == ""


def test_an_end_waits_neither_for_who_reads_slowly_nor_for_what_is_being_read(tmp_path: Any) -> None:
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        run = keep_run(store, cases=3000)
    with ServedViewer(path) as served, closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", served.server.port))
        head = f"Host: 127.0.0.1:{served.server.port}\r\nCookie: {served.headers['Cookie']}\r\n\r\n"
        connection.sendall(f"GET /api/v1/export.csv?of=cases&run={run} HTTP/1.1\r\n{head}".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        port = served.server.port
    with closing(socket.socket()) as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_who_waits_for_a_run_to_be_read_is_let_go_when_the_viewer_ends(tmp_path: Any) -> None:
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        run = keep_run(store, cases=2)
    may_read = threading.Event()
    with SqliteStore(path) as store:

        @contextmanager
        def reading() -> Iterator[SqliteStore]:
            if threading.current_thread().name.startswith("index of"):
                may_read.wait()
            yield store

        indexes = RunIndexes(reading, lambda *_: None)
        deadline = Deadline(3600)
        deadline.cancel()
        with working_until(deadline):
            assert indexes.of(run, patience=3600).state.state == "reading"
        indexes.close()
        assert indexes.of(run, patience=3600).state.state == "reading"
        may_read.set()
