"""The connection to Ray: to a cluster that is there, or to one that is started on this machine and ends with the last run that uses it.

Ray has one connection for each process. Engines share it, and one that the program has opened itself with `ray.init` is used as it is.

A cluster that is started here listens on 127.0.0.1 alone and asks for a token that no one else knows. Ray would listen on all interfaces and
keep its token in a file that others can read. Nothing is sent anywhere: Ray's usage statistics are off.

Ray's processes end with the thread that has started them, so a thread is kept for the connection.
"""

import json
import logging
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from calipers.errors import EngineError, MissingExtraError

DO_NOT_TRAVEL: Final = (".calipers/", ".git/", ".venv/", "node_modules/", "__pycache__/")
"""What stays here of the folder that goes to the machines of a cluster; so does what `.gitignore` names."""
REACH_SECONDS: Final = 10.0
"""How long a cluster may take to let itself be connected to."""

_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # the engine notices when a worker ends
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of what a later version will do
}
_OWN: Final = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on no system does it listen to others then
    "RAY_process_group_cleanup_enabled": "1",  # what a task has started ends with its worker, however that ends
}


class Wanted(msgspec.Struct, frozen=True):
    """Which connection an engine wants."""

    address: str | None
    """Of a cluster; `None`: one is started here."""
    processors: int
    """Of the cluster that is started here."""
    folder: str
    """What goes to the machines of a cluster; empty for nothing."""
    runtime_env: Mapping[str, Any]


class Connection:
    """A connection that is open."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.uses = 1
        self.is_own = True
        """Whether it was opened here, and is closed here."""
        self.travels = bool(wanted.folder)
        """Whether a copy of the run's folder is the current folder of workers."""
        self._opened: Future[None] = Future()
        self._closing, self._closed = threading.Event(), threading.Event()

    def open(self) -> None:
        """Connect, or use what is open already.

        Raises:
            EngineError: that failed.
        """
        ray = imported_ray()
        if ray.is_initialized():
            self.is_own = False
            self.travels = bool(ray.get_runtime_context().runtime_env.get("working_dir"))
            return
        if self.wanted.address is not None:
            check_reachable(self.wanted.address)
        threading.Thread(target=self._hold, name="calipers-ray", daemon=True).start()
        self._opened.result()

    def close(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        if self.is_own:
            self._closing.set()
            self._closed.wait()

    def _hold(self) -> None:
        ray = imported_ray()
        try:
            with _environment(own=self.wanted.address is None):
                try:
                    self._connect(ray)
                except BaseException as error:
                    self._opened.set_exception(EngineError(self._why(error)))
                    return
                with _without_its_words():
                    self._opened.set_result(None)
                    self._closing.wait()
                    with suppress(Exception):
                        ray.shutdown()
        finally:
            self._closed.set()

    def _connect(self, ray: Any) -> None:
        wanted = self.wanted
        runtime_env = dict(wanted.runtime_env)
        if wanted.folder and not ({"working_dir", "py_modules"} & {*runtime_env, *_env_of_job()}):
            runtime_env["working_dir"] = wanted.folder
            runtime_env["excludes"] = [*DO_NOT_TRAVEL, *runtime_env.get("excludes", ())]
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if runtime_env:
            options["runtime_env"] = runtime_env
        if wanted.address is not None:
            ray.init(address=wanted.address, **options)
            return
        with _on_loopback():
            ray.init(address="local", num_cpus=wanted.processors, include_dashboard=False, **options)

    def _why(self, error: BaseException) -> str:
        text = without_values(
            f"{type(error).__name__}: {error}", self.wanted.runtime_env.get("env_vars") or {}
        )
        address = self.wanted.address
        if address is None:
            return f"Ray could not be started on this machine: {text}"
        way_out = (
            "Is that the port of a Ray cluster, of the same version of Ray and Python? A cluster with a token wants RAY_AUTH_MODE=token "
            "and its token in RAY_AUTH_TOKEN"
        )
        return f"cannot connect to Ray at {address!r}: {text}. {way_out}"


_current: Connection | None = None
_lock = threading.Lock()


def connected(wanted: Wanted) -> Connection:
    """The connection of this process, opened if it is not. Give it back with `released`.

    Raises:
        EngineError: there is none, or one to another cluster.
    """
    global _current  # noqa: PLW0603 - Ray has one connection for each process
    with _lock:
        if _current is None:
            connection = Connection(wanted)
            connection.open()
            _current = connection
            return connection
        has = _current.wanted
        if (has.address, has.folder, has.runtime_env) != (wanted.address, wanted.folder, wanted.runtime_env):
            raise EngineError(
                f"this process is connected to Ray at {has.address or 'a cluster of its own'!r}, and Ray knows one connection for each "
                "process: end the other run first, or give both the same address, folder and runtime environment"
            )
        _current.uses += 1
        return _current


def released(connection: Connection) -> None:
    """Say that a connection is not needed any more; the last one to say so closes it."""
    global _current  # noqa: PLW0603 - the same
    with _lock:
        connection.uses -= 1
        if not connection.uses:
            _current = None
            connection.close()


def imported_ray() -> Any:
    """The module of Ray.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError.of("the engine 'ray'", "ray") from error
    return ray


def without_values(text: str, variables: Mapping[str, Any]) -> str:
    """A text of Ray's without the values of environment variables, which may be secret."""
    for value in variables.values():
        text = text.replace(str(value), "***") if value else text
    return text


def check_reachable(address: str) -> None:
    """Find out at once that nothing listens: Ray takes minutes.

    Raises:
        EngineError: nothing does.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.hostname is None or parts.port is None:  # such as `auto`, which Ray understands
        return
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=REACH_SECONDS).close()
    except OSError as error:
        raise EngineError(
            f"there is no Ray cluster at {address!r}: {error}. `ray status` on its machine says whether it runs; ray://HOST:10001 is the "
            "address for programs outside of it, HOST:6379 for those on one of its machines"
        ) from error


def _env_of_job() -> Mapping[str, Any]:
    """The runtime environment of the job that this process is, where `ray job submit` has started it."""
    with suppress(LookupError, ValueError, TypeError, AttributeError):
        found = json.loads(os.environ["RAY_JOB_CONFIG_JSON_ENV_VAR"]).get("runtime_env") or {}
        return dict(found)
    return {}


@contextmanager
def _environment(*, own: bool) -> Iterator[None]:
    """A block in which the environment has what Ray is to know. Ray's processes inherit it."""
    given = dict(_QUIET)
    if own:
        given |= _OWN | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    elif _has_token():
        given["RAY_AUTH_MODE"] = "token"
    given = {name: value for name, value in given.items() if name not in os.environ}
    os.environ.update(given)
    reread_token()
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)
        reread_token()


def _has_token() -> bool:
    return (
        bool({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys())
        or Path("~/.ray/auth_token").expanduser().is_file()
    )


def reread_token() -> None:
    """Have Ray read mode and token anew: it keeps what it read when it was imported."""
    with suppress(ImportError, AttributeError):
        compiled = import_module("ray._raylet")
        compiled.Config.initialize("")
        compiled.AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _on_loopback() -> Iterator[None]:
    """A block in which Ray takes 127.0.0.1 for the address of this machine. It reads the variable for that when it is imported."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _without_its_words() -> Iterator[None]:
    """A block in which Ray does not write to stdout that a worker has ended: the report may go there, and says so itself."""
    from ray._private import worker

    before = worker.print_to_stdstream
    worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        worker.print_to_stdstream = before
