"""One child process, seen from outside: started, read, stopped if need be, gone when `hold` returns.

Everything arrives as a callback of the event loop; there is no task of its own and none of asyncio's subprocess machinery.
So a cancelled caller, or a loop that shuts down, can always wait for the end of the child, and the caller's way of handling
SIGCHLD does not matter.

The program runs in the Python of Calipers, without its virtual environment. It sees the standard library and nothing else,
unless `Sandbox.packages` names folders to import from.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import marshal
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import msgspec

from calipers.errors import SandboxError
from calipers.sandbox import launcher
from calipers.sandbox.confinement import HOME, Confinement, borrowed_user, bubblewrap_command
from calipers.sandbox.system_calls import system_call_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from calipers.sandbox.program import Limits


# Beyond these, the supervisor is taken for dead. The first spans the start of an interpreter on a busy machine.
_START_GRACE = 30.0
_STOP_GRACE = 10.0
# For output that is still in a pipe when the child is gone; only a process that got away can hold a pipe longer.
_DRAIN_GRACE = 1.0

_MESSAGES_BYTES = 4096
_MARKER = "CALIPERS_SANDBOX"


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The supervisor's report. A program of the same user might tamper with it, so it is validated."""

    exit_code: Annotated[int, msgspec.Meta(ge=-128, le=255)]
    """The program's exit code, or minus the signal that ended it."""
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    cpu_seconds: Annotated[float, msgspec.Meta(ge=0)]
    timed_out: bool


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about a child that is gone."""

    stdout: bytes
    stderr: bytes
    overflowed: bool
    """Whether a stream went past its limit."""
    abandoned: bool
    """Whether the supervisor did not end in time and was killed from here."""
    started: bool
    """Whether the program was reached; if not, `stderr` tells why."""
    unset: tuple[str, ...]
    """Limits that the system refused to set, by their names in the `resource` module."""
    report: Report | None
    """None if the supervisor did not live to write it."""
    seconds: float
    """From start to end as seen from here, the start of the interpreter included."""


async def hold(
    confinement: Confinement, code: str, *, stdin: str, limits: Limits, packages: Sequence[str]
) -> Ending:
    """Runs a program from start to end; when this returns or raises, no process of it is left."""
    with contextlib.ExitStack() as stack:
        user = stack.enter_context(borrowed_user()) if confinement.own_user else None
        folder = None if confinement.bubblewrap else stack.enter_context(_fresh_folder())
        control, theirs = socket.socketpair()
        stack.enter_context(control)
        job = {
            "code": code,
            "filter": None if confinement.bubblewrap else system_call_filter(),
            "limits": confinement.process_limits(limits),
            "own_namespace": confinement.bubblewrap is not None,
            "packages": tuple(packages),
            "seconds": limits.seconds,
            "user": user,
        }
        marker = secrets.token_hex(16)
        with (
            theirs,
            _file_of(marshal.dumps(job)) as job_file,
            _file_of(stdin.encode("utf-8", "replace")) as source,
            _filter_file(confinement) as filter_file,
        ):
            inner = _supervisor_command(theirs.fileno(), job_file)
            passed = [theirs.fileno(), job_file, *([] if filter_file is None else [filter_file])]
            environment = _environment(folder or HOME, marker)
            wrapped = (
                inner
                if confinement.bubblewrap is None
                else bubblewrap_command(
                    inner,
                    bubblewrap=confinement.bubblewrap,
                    readable=[*_interpreter_folders(), *packages],
                    folder_bytes=limits.folder_bytes,
                    environment=environment,
                    root=confinement.own_user,
                    filter_file=filter_file,
                )
            )
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - as long as in asyncio, which calls it the same way
                wrapped,
                bufsize=0,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder or "/",
                env=environment,
                pass_fds=passed,
                start_new_session=True,
            )
        return await _Child(
            process, control, limits=limits, marker=None if confinement.bubblewrap else marker
        ).live()


def _environment(home: str, marker: str) -> dict[str, str]:
    """All that the program sees of the environment: nothing of the caller's."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        _MARKER: marker,
    }


@contextlib.contextmanager
def _fresh_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="calipers-sandbox-")
    try:
        yield folder
    finally:
        launcher.remove_folder(folder)  # the supervisor did it already, unless it was killed


@contextlib.contextmanager
def _file_of(content: bytes) -> Iterator[int]:
    """An open file without a name. Unlike a pipe it never blocks, even if it is not read."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


@contextlib.contextmanager
def _filter_file(confinement: Confinement) -> Iterator[int | None]:
    """The filter of system calls, as a file for bubblewrap to read; without bubblewrap the supervisor sets it."""
    found = system_call_filter() if confinement.bubblewrap else None
    if found is None:
        yield None
        return
    with _file_of(found) as file:
        yield file


class _Child:
    """The child process and the three ends it is known by: stdout, stderr and the control socket."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, *, limits: Limits, marker: str | None
    ) -> None:
        self._process = process
        self._control = control
        self._limits = limits
        self._marker = marker
        self._loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._begun = time.monotonic()
        self._timers: list[asyncio.TimerHandle] = []
        self._streams: list[IO[bytes]] = []
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._said = b""
        self._overflowed = False
        self._abandoned = False

    async def live(self) -> Ending:
        """Waits for the end. Cancelled, it hurries the end, waits for it all the same, and then is cancelled."""
        cancelled: asyncio.CancelledError | None = None
        self._listen()
        try:
            while not self._gone.done():
                try:
                    await asyncio.shield(self._gone)
                except asyncio.CancelledError as error:
                    cancelled = error
                    self._stop()
        finally:
            self._close()
        if cancelled is not None:
            raise cancelled
        return self._ending()

    def _listen(self) -> None:
        for stream, kept in ((self._process.stdout, self._stdout), (self._process.stderr, self._stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._streams.append(stream)
            self._loop.add_reader(stream, self._hear_output, stream, kept)
        self._control.setblocking(False)
        self._loop.add_reader(self._control, self._hear_supervisor)
        self._after(self._limits.seconds + _START_GRACE, self._abandon)

    def _hear_output(self, stream: IO[bytes], kept: bytearray) -> None:
        data = stream.read(1 << 16)
        if data is None:  # nothing there after all
            return
        if not data:
            self._close_stream(stream)
            return
        room = self._limits.output_bytes - len(kept)
        kept += data[:room]
        if len(data) > room and not self._overflowed:
            self._overflowed = True
            self._stop()

    def _hear_supervisor(self) -> None:
        try:
            data = self._control.recv(_MESSAGES_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._said = (self._said + data)[:_MESSAGES_BYTES]
        if not data:
            self._loop.remove_reader(self._control)
            self._reap(0.001)

    def _reap(self, pause: float) -> None:
        """Collects the exit of a child that is about to end: bubblewrap outlives the supervisor by a moment."""
        if self._process.poll() is None:
            self._after(pause, self._reap, min(2 * pause, 0.05))
            return
        if self._marker is not None and self._report() is None:
            _kill_marked(self._marker)
        self._after(_DRAIN_GRACE, self._close_streams)
        self._settle()

    def _settle(self) -> None:
        if self._process.returncode is not None and not self._streams and not self._gone.done():
            self._gone.set_result(None)

    def _stop(self) -> None:
        """Asks the supervisor to end everything."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        self._after(_STOP_GRACE, self._abandon)

    def _abandon(self) -> None:
        self._abandoned = True
        if self._process.poll() is None:
            # The group: bubblewrap killed alone while it starts leaves a child that waits for it forever.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap(0.001)

    def _after(self, seconds: float, call: Callable[..., None], *arguments: object) -> None:
        self._timers.append(self._loop.call_later(seconds, call, *arguments))

    def _close_stream(self, stream: IO[bytes]) -> None:
        self._loop.remove_reader(stream)
        self._streams.remove(stream)
        stream.close()
        self._settle()

    def _close_streams(self) -> None:
        for stream in list(self._streams):
            self._close_stream(stream)

    def _close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._loop.remove_reader(self._control)
        self._close_streams()

    def _ending(self) -> Ending:
        first = self._said.partition(b"\n")[0].decode("ascii", "replace")
        return Ending(
            stdout=bytes(self._stdout),
            stderr=bytes(self._stderr),
            overflowed=self._overflowed,
            abandoned=self._abandoned,
            started=first.startswith("started "),
            unset=tuple(filter(None, first.removeprefix("started ").split(","))),
            report=self._report(),
            seconds=time.monotonic() - self._begun,
        )

    def _report(self) -> Report | None:
        try:
            return msgspec.json.decode(self._said.splitlines()[-1], type=Report)
        except (IndexError, msgspec.DecodeError):
            return None


def _kill_marked(marker: str) -> None:
    """Kills the processes that still carry the marker in their environment.

    For a program that killed its own supervisor, which only a program of the caller's own user can do. What it started
    with another environment is out of reach without bubblewrap.
    """
    wanted = f"{_MARKER}={marker}".encode()
    for _ in range(200):
        found = False
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # other users' processes are closed to us, and processes end
                said = environment.read_bytes()
                if wanted in said.split(b"\0"):
                    found = True
                    os.kill(int(environment.parent.name), signal.SIGKILL)
                elif not said and (environment.parent / "exe").exists():
                    # It is just becoming another program, and has an environment again in a moment. A process of the
                    # kernel never has one.
                    found = True
        if not found:
            return
        time.sleep(0.001)


def _supervisor_command(control: int, job_file: int) -> list[str]:
    """The command line of the supervisor, which finds its two files under these numbers."""
    # -I: no environment, no user packages, no current folder on the path. -S: no packages at all, and a faster start.
    # -B: leaves no compiled files behind.
    flags = ["-I", "-S", "-B", "-X", "utf8"]
    return [_executable(), *flags, "-c", f"{inspect.getsource(launcher)}\nmain({control}, {job_file})\n"]


def _interpreter_folders() -> list[str]:
    """The folders that hold the interpreter and its standard library, as real paths."""
    candidates = [sys.base_prefix, sys.base_exec_prefix, os.path.dirname(_executable())]  # noqa: PTH120
    return sorted({os.path.realpath(folder) for folder in candidates})


def _executable() -> str:
    # In a virtual environment made of copies, sys.executable is a copy that a sandbox could not see.
    executable = getattr(sys, "_base_executable", None) or sys.executable
    if not executable:
        raise SandboxError(
            "sys.executable is empty: this Python is embedded, and has no interpreter to start"
        )
    return os.path.realpath(executable)
