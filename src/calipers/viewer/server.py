"""The viewer's server: listens on an address of this machine until it is told to end."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from calipers.errors import InvalidOptionError

from .application import Application, make_starlette
from .viewed_store import ViewedStore


def make_app(viewed: ViewedStore) -> Any:
    """The viewer as an ASGI application."""
    return make_starlette(Application(viewed))


class ViewerServer:
    """A viewer that is served at an address."""

    def __init__(self, viewed: ViewedStore, *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Take the port; `run` or `in_thread` serves.

        Raises:
            InvalidOptionError: the port is taken, or the address is not one of this machine.
        """
        self.viewed = viewed
        self.host = host
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.application = Application(viewed)
        config = uvicorn.Config(
            make_starlette(self.application),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=True,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=3,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """Where the viewer is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def run(self) -> None:
        """Serve until the process is told to end."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()

    def close(self) -> None:
        """End what is being worked on."""
        self._socket.close()
        self.application.close()

    @contextmanager
    def in_thread(self) -> Iterator["ViewerServer"]:
        """Serve in a thread for the length of a block."""
        thread = threading.Thread(target=self.run, name="calipers-viewer", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.should_exit = True
            thread.join()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise InvalidOptionError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; --port 0 takes any that is free"
        ) from error
    return found
