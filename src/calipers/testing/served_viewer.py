"""A viewer on a free port of this machine, for the length of a test.

with ServedViewer("runs.db") as viewer:
    rows = viewer.ask("runs").json()["rows"]
    browser.goto(viewer.address("/runs/latest"))
"""

import http.client
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from time import monotonic, sleep
from typing import Any, Final, Self

import msgspec

from calipers.stores.store import Store
from calipers.viewer.serving import load_server
from calipers.viewer.viewed_store import ViewedStore

_BUSY: Final = 503
_PATIENCE: Final = 20.0
"""Seconds for which a question is asked again."""
_PAUSE: Final = 0.2


class ViewerAnswer(msgspec.Struct, frozen=True):
    """What a viewer answered."""

    status: int
    headers: dict[str, str]
    """By their names in small letters."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """The body as data."""
        return msgspec.json.decode(self.body)


class ViewerEvent(msgspec.Struct, frozen=True):
    """A message of a stream."""

    id: str
    name: str
    data: Any


class ServedViewer:
    """A viewer of a store, and a client that is signed in to it. Entering the block starts it on a free port, leaving it ends it."""

    def __init__(
        self, store: str | os.PathLike[str] | Store, *, read_only: bool = False, **options: Any
    ) -> None:
        """A viewer that is not there yet.

        Args:
            store: its URL or path, or an open store.
            read_only: allow no labels, and write nothing.
            options: as of `calipers.viewer.serve`: `host`, `password`, `trusted_hosts`.

        Raises:
            MissingExtraError: the extra `view` is not installed.
        """
        self._module = load_server()
        self._store = store
        self._read_only = read_only
        self._options = options
        self._ended = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            viewed = stack.enter_context(closing(ViewedStore(self._store, read_only=self._read_only)))
            self.server = self._module.ViewerServer(viewed, port=0, **self._options)
            stack.enter_context(self.server.in_thread())
            self._ended = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.close()

    @property
    def url(self) -> str:
        """Where it is."""
        found: str = self.server.url
        return found

    def address(self, path: str = "/") -> str:
        """The address of a page with a token, which opens once: for a browser."""
        found: str = self.server.address(path)
        return found

    @property
    def headers(self) -> dict[str, str]:
        """What makes a request one of a browser that is signed in, and may write."""
        access = self.server.access
        return {"Cookie": f"{access.cookie}={access.value}", "X-Calipers-CSRF": access.csrf}

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
        is_signed_in: bool = True,
    ) -> ViewerAnswer:
        """What it answers to a request. A question that it is too busy for is asked again for a while, as the page does.

        Args:
            path: with the query; one that does not begin with a slash is of the API: `runs` is `/api/v1/runs`.
            method: of HTTP.
            body: is sent as JSON; bytes are sent as they are.
            headers: beside those of a browser, or in their place; `None` leaves one out.
            is_signed_in: whether to send `ServedViewer.headers`.
        """
        given: dict[str, str | None] = {**(self.headers if is_signed_in else {})}
        sent = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        if sent is not None:
            given["Content-Type"] = "application/json"
        end = monotonic() + _PATIENCE
        while True:
            with closing(self._connection()) as connection:
                answer = _asked(connection, method, path, given | dict(headers or {}), sent)
                found = ViewerAnswer(answer.status, _headers(answer), answer.read())
            if found.status != _BUSY or method != "GET" or monotonic() > end:
                return found
            sleep(_PAUSE)

    @contextmanager
    def events(self, *, last: str | None = None) -> Iterator["ViewerEvents"]:
        """What a browser hears of the store while the block lasts.

        Args:
            last: the id of the last message that it heard before; default: it hears for the first time.
        """
        with closing(self._connection()) as connection:
            headers: dict[str, str | None] = {**self.headers, "Last-Event-ID": last}
            yield ViewerEvents(_asked(connection, "GET", "events", headers, None))

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)


class ViewerEvents:
    """A stream of events, read one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = _headers(answer)
        """By their names in small letters."""
        self._answer = answer

    def lines(self) -> Iterator[str]:
        """The lines as they come, until the stream ends."""
        while line := self._answer.readline():
            yield line.decode().rstrip("\n")

    def __iter__(self) -> Iterator[ViewerEvent]:
        """The events as they come, until the stream ends."""
        parts: dict[str, str] = {}
        for line in self.lines():
            name, _, value = line.partition(": ")
            if name:
                parts[name] = value
            elif not line and "event" in parts:
                yield ViewerEvent(parts["id"], parts["event"], msgspec.json.decode(parts["data"]))
                parts = {}


def _headers(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}


def _asked(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    headers: Mapping[str, str | None],
    body: bytes | None,
) -> http.client.HTTPResponse:
    names = {name.lower() for name in headers}
    connection.putrequest(
        method,
        path if path.startswith("/") else f"/api/v1/{path}",
        skip_host="host" in names,
        skip_accept_encoding=True,
    )
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    return connection.getresponse()
