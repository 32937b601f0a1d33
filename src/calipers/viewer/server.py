"""The viewer's server: listens on this machine, or on an address with a password, until it is told to end."""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from calipers.errors import InvalidOptionError

from .application import Application, make_starlette
from .gatekeeper import LOOPBACK, Access, Gatekeeper, is_loopback
from .pages import NOT_BUILT, is_built
from .request_body import PATIENCE
from .running_viewer import noted
from .server_memory import give_back_large_blocks
from .tokens import new_token
from .viewed_store import ViewedStore

PORT: Final = 8400
"""Where a viewer listens, unless another program does."""
_LAST_ANSWERS: Final = 2
"""Seconds that requests may take to end when all is over."""
_CONNECTIONS: Final = 500
"""Connections at the same time; more are refused."""
_TICKS: Final = 5
"""Tenths of a second between looks at the connections."""
_WILDCARDS: Final = ("0.0.0.0", "::", "")  # noqa: S104 - they are what needs a trusted host


class ViewerServer:
    """A viewer that is served at an address."""

    def __init__(
        self,
        viewed: ViewedStore,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        password: str | None = None,
        trusted_hosts: Sequence[str] = (),
        patience: float = PATIENCE,
    ) -> None:
        """Take the port. `run` or `in_thread` serves.

        Args:
            viewed: the store.
            host: the address to listen on. One that other machines reach needs a password.
            port: to listen on; 0 for any that is free. Default: 8400 or, if that is taken, any that is free.
            password: that lets someone in, besides tokens.
            trusted_hosts: further names of this server in the addresses of browsers.
            patience: seconds that a client may take to send a request.

        Raises:
            InvalidOptionError: the port is taken, the address is not one of this machine, or lacks a password or a trusted host.
        """
        check_address(host, password, trusted_hosts)
        self.viewed = viewed
        self.host = host
        self._sockets = _bound_anywhere(host) if port is None else _bound(host, port)
        self.port: int = self._sockets[0].getsockname()[1]
        try:
            self.access = Access(
                hosts=hosts_of(host, self.port, trusted_hosts),
                name=str(self.port),
                password=password,
                csrf=viewed.csrf,
            )
        except BaseException:
            self._close_sockets()
            raise
        self.application = Application(viewed, patience=patience)
        self._server = _Server(
            uvicorn.Config(
                Gatekeeper(make_starlette(self.application), self.access, patience=patience),
                http="h11",
                log_level="error",  # anyone who reaches the port could fill the terminal with warnings
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                limit_concurrency=_CONNECTIONS,
                timeout_graceful_shutdown=2 * _LAST_ANSWERS,
            ),
            self.application,
            patience,
        )

    @property
    def url(self) -> str:
        """Where the viewer is, without a token."""
        host = "127.0.0.1" if self.host in _WILDCARDS else self.host
        return f"http://{_in_address(host)}:{self.port}"

    @property
    def without_page(self) -> str | None:
        """What to tell the user where the page was not built; `None` where it was."""
        return None if is_built() else NOT_BUILT

    def address(self, path: str = "/") -> str:
        """The address of a page with a new token, which opens once."""
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={new_token(self.access.secret)}"

    def run(self) -> None:
        """Serve until the process is told to end, by Ctrl-C or SIGTERM."""
        if threading.current_thread() is threading.main_thread():  # else the process is not ours
            give_back_large_blocks()
        try:
            with noted(self.url, self.viewed.url, self.access.secret):
                self._server.run(sockets=self._sockets)
        finally:
            self.close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._server.stop()

    def close(self) -> None:
        """Give back the port, and end what is being worked on."""
        self._close_sockets()
        self.application.close()

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()

    @contextmanager
    def in_thread(self) -> Iterator["ViewerServer"]:
        """Serve in a thread for the length of a block."""
        thread = threading.Thread(target=self.run, name="calipers-viewer", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()


class _Server(uvicorn.Server):
    """A server that Ctrl-C ends, and nothing else: uvicorn would raise the signal again. It closes connections on which no request comes."""

    def __init__(self, config: uvicorn.Config, application: Application, patience: float) -> None:
        super().__init__(config)
        self._application = application
        self._patience = patience
        self._silent: dict[Any, float] = {}
        """Connections without a request, and since when."""

    @override
    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            self._close_silent()
        return await super().on_tick(counter)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Who reads a long answer slowly is cut off; uvicorn would tell of that in a traceback.
        last = asyncio.get_running_loop().call_later(_LAST_ANSWERS, self._cut_off)
        try:
            await super().shutdown(sockets)
        finally:
            last.cancel()

    def _cut_off(self) -> None:
        for each in list(self.server_state.connections):
            if each.transport is not None:
                each.transport.abort()

    def _close_silent(self) -> None:
        """Close connections that take too long to send the head of a request: each takes one of those that there may be."""
        silent = [each for each in self.server_state.connections if _is_silent(each)]
        now = monotonic()
        self._silent = {each: self._silent.get(each, now) for each in silent}
        for each, since in self._silent.items():
            if now - since > self._patience and each.transport is not None:
                each.transport.close()

    @contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGINT, signal.SIGTERM]
        if sys.platform == "win32":
            numbers.append(signal.SIGBREAK)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._application.end()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """End, from any thread."""
        self._application.end()
        self.should_exit = True


def _is_silent(connection: Any) -> bool:
    """Whether no request is worked on in a connection."""
    return connection.cycle is None or connection.cycle.response_complete


def app_of(viewed: ViewedStore, *, hosts: Iterable[str], password: str) -> ASGIApp:
    """A viewer for another server, behind its gatekeeper."""
    access = Access(hosts=hosts, name="shared", csrf=viewed.csrf, password=password)
    return Gatekeeper(make_starlette(Application(viewed)), access)


def check_address(host: str, password: str | None, trusted_hosts: Sequence[str]) -> None:
    """See that an address that others can reach has a password, and one that stands for many a name.

    Raises:
        InvalidOptionError: it lacks one.
    """
    if is_loopback(host):
        return
    if password is None:
        raise InvalidOptionError(
            f"{host!r} can be reached from other machines, so it needs a password: set CALIPERS_VIEW_PASSWORD, or give --password to be "
            "asked for one. To look from your machine at a viewer on a server, leave --host out and forward the port: "
            "ssh -L 8400:127.0.0.1:8400 SERVER"
        )
    if host in _WILDCARDS and not trusted_hosts:
        raise InvalidOptionError(
            f"{host!r} stands for every address of this machine: say with --trusted-host by which name or address browsers reach it, "
            "such as --trusted-host evals.example.com"
        )


def hosts_of(host: str, port: int, trusted_hosts: Iterable[str]) -> list[str]:
    """What `Host` may say to a server: its own address, and the names that were given, each with its port or ours."""
    own = [] if host in _WILDCARDS else [_in_address(host)]
    found = [f"{each}:{port}" for each in dict.fromkeys([*LOOPBACK, *own])]
    for each in trusted_hosts:
        has_port = ":" in each.rpartition("]")[2] if each.startswith("[") else ":" in each
        found += [each] if has_port else [each, f"{each}:{port}"]
    return found


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _bound_anywhere(host: str) -> list[socket.socket]:
    try:
        return _bound(host, PORT)
    except InvalidOptionError:
        return _bound(host, 0)


def _bound(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen; of this machine's own address both kinds, where it has both, since `localhost` may mean either."""
    if host not in {"127.0.0.1", "localhost"}:
        return [_listening(host, port)]
    first = _listening("127.0.0.1", port)
    try:
        return [first, _listening("::1", first.getsockname()[1])]
    except InvalidOptionError as error:
        if _is_missing(error.__cause__):
            return [first]
        first.close()
        if port:
            raise
        return _bound(host, 0)  # another program has the port of the other kind


def _is_missing(error: BaseException | None) -> bool:
    """Whether this machine has no addresses of that kind."""
    import errno

    return isinstance(error, OSError) and error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def _listening(host: str, port: int) -> socket.socket:
    shown = f"{_in_address(host)}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidOptionError(f"cannot listen on {shown}: {error.strerror or error}") from error
    try:
        if sys.platform != "win32":  # where it would let two servers have one port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        found.close()
        raise InvalidOptionError(
            f"cannot listen on {shown}: {error.strerror or error}. Leave --port out, or give another, to take a free one"
        ) from error
    return found
