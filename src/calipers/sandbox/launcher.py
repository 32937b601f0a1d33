"""The supervisor: what runs first inside the child process, watches the untrusted program and ends it.

This file is sent as text to a bare interpreter (`python -I -S -c`), because inside a sandbox nothing of Calipers is
visible. So it imports the standard library only, and late: each import is paid for in every run.

The supervisor forks. The child of the fork lowers its own limits and becomes the program; the supervisor waits for
the program's end, for the time limit, or for the other end of the control socket to close (the caller asked to stop, or
died), then kills every descendant, writes one line of JSON about what it saw and removes the folder. A daemon that
detached itself from the program is handed to the supervisor, not to init: in a process namespace of its own because
the supervisor is the first process there, elsewhere on Linux because it declares itself a "child subreaper".

Messages on the control socket, in order: `started` with the limits that this system could not set, written by the
program's process just before it gives up the socket; then the report.
"""

# ruff: noqa: PTH100, PTH101, PTH106, PTH109, PTH123, PTH208
# pathlib, contextlib, typing and signal (for its enums) would each cost every run some milliseconds.

from __future__ import annotations

import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType, TracebackType
    from typing import Any, TypeAlias

    Ending: TypeAlias = tuple[int, float]  # exit code, or minus the signal; CPU seconds
else:
    import _signal as signal  # the same functions and numbers, without enums

SCRIPT = "main.py"

_SET_PARENT_DEATH_SIGNAL, _SET_FILTER, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 22, 36, 38


def main(control: int, job_file: int) -> None:
    """Reads the job, forks the program and supervises it; in the program's process it returns after the program."""
    with open(job_file, "rb") as file:
        job: dict[str, Any] = marshal.load(file)  # noqa: S302 - written by the process that started this one
    with _Suppressed(OSError), open(SCRIPT, "w", encoding="utf-8", errors="replace") as script:
        script.write(job["code"])  # only so that tracebacks can quote its lines
    if job["own_namespace"]:
        prctl = None
    else:
        prctl = _prctl()
        prctl(_SET_CHILD_SUBREAPER, 1)
    if job["user"] is not None:
        # So that the program can open /dev/stdin and its like, and write to its folder.
        for file_or_folder in (0, 1, 2) if job["own_namespace"] else (0, 1, 2, "."):
            os.chown(file_or_folder, job["user"], job["user"])
    # A caller may have left signals blocked or SIGCHLD ignored, and both survive an exec.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGCHLD, _wake)
    begun = time.monotonic()
    program = os.fork()
    if program == 0:
        _become_program(job, control=control, prctl=prctl)
    else:
        _supervise(job, control=control, program=program, begun=begun)
        os._exit(0)  # nothing to tear down: what is left of an orderly end would only take time


def _wake(number: int, frame: FrameType | None) -> None:
    """A handler that does nothing, so that a child's end interrupts the wait through the wakeup pipe."""


def _prctl() -> Any:
    """The Linux system call of that name, or a stand-in that does nothing elsewhere."""
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_: None
    return lambda option, value: call(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)


class _Suppressed:
    """`contextlib.suppress`, without its imports."""

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


# The program's process.


def _become_program(job: dict[str, Any], *, control: int, prctl: Any) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.umask(0o022)
    missing = _lower_limits(job["limits"])
    if job["user"] is not None:
        os.setgroups([])
        os.setregid(job["user"], job["user"])
        os.setreuid(job["user"], job["user"])
    if prctl is not None:
        prctl(_SET_NO_NEW_PRIVILEGES, 1)
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)  # after the change of user, which clears it
        missing += _refuse_system_calls(job["filter"])
    os.write(control, f"started {','.join(missing)}\n".encode())
    os.closerange(3, 256)
    sys.path.extend(job["packages"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what was printed survives a kill
    _run_as_main(job["code"])


def _lower_limits(limits: dict[str, int | None]) -> list[str]:
    """Sets each limit named as in the `resource` module; returns those that are None or that this system refused."""
    import resource

    missing = []
    for name, value in limits.items():
        if value is None:
            missing.append(name)
            continue
        try:
            number = getattr(resource, name)
            ceiling = resource.getrlimit(number)[1]
            soft = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
            # One second between SIGXCPU, which tells why the program ends, and SIGKILL, which ends it for certain.
            spare = 1 if name == "RLIMIT_CPU" and soft != ceiling else 0
            resource.setrlimit(number, (soft, soft + spare))
        except (AttributeError, ValueError, OSError):
            missing.append(name)
    return missing


def _refuse_system_calls(instructions: bytes | None) -> list[str]:
    """Sets the filter of system calls for this process and all that it starts; a name for it if that cannot be done."""
    if instructions is not None:
        with _Suppressed(ImportError, OSError, AttributeError):
            import ctypes

            class Program(ctypes.Structure):
                _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

            program = Program(len(instructions) // 8, instructions)
            filter_mode = ctypes.c_ulong(2)
            if ctypes.CDLL(None).prctl(_SET_FILTER, filter_mode, ctypes.byref(program)) == 0:
                return []
    return ["SECCOMP"]


def _run_as_main(code: str) -> None:
    import site

    site.setquit()  # `-S` leaves out exit() and quit(), which many short programs call
    site.sethelper()
    path = os.path.abspath(SCRIPT)
    module = type(sys)("__main__")
    module.__dict__["__file__"] = path
    sys.modules["__main__"] = module
    sys.argv = [path]
    sys.excepthook = _print_own_frames
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the purpose of this process


def _print_own_frames(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints an uncaught exception as if the program had been started alone."""
    while trace is not None and trace.tb_frame.f_code.co_filename == _OWN_FILE:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


_OWN_FILE = main.__code__.co_filename


# The supervisor's process.


def _supervise(job: dict[str, Any], *, control: int, program: int, begun: float) -> None:
    # A program of the same user can send any signal; of those that end a process, SIGKILL alone cannot be ignored.
    for number in signal.valid_signals() - {signal.SIGCHLD, signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    wakeup, wakeup_sender = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(wakeup_sender, False)
    signal.set_wakeup_fd(wakeup_sender, warn_on_full_buffer=False)
    deadline = begun + job["seconds"]
    timed_out = False
    ended, _ = _reap(program)
    while ended is None:
        left = deadline - time.monotonic()
        if left <= 0:
            timed_out = True
            break
        ready = select.select([control, wakeup], [], [], left)[0]
        with _Suppressed(BlockingIOError):
            os.read(wakeup, 4096)
        ended, _ = _reap(program)
        if control in ready and ended is None:
            break
    seconds = time.monotonic() - begun
    ended = _kill_descendants(program) or ended
    # Without a report the end counts as unseen; a made-up one could say that all went well.
    if ended is not None:
        facts = (*ended, seconds, "true" if timed_out else "false")
        report = '{"exit_code":%d,"cpu_seconds":%r,"seconds":%r,"timed_out":%s}\n' % facts  # noqa: UP031 - JSON has braces
        with _Suppressed(OSError):
            os.write(control, report.encode())
    if not job["own_namespace"]:
        remove_folder(os.getcwd())


def _reap(program: int) -> tuple[Ending | None, bool]:
    """Collects every child that ended: the program's end, if it is among them, and whether no child is left."""
    ended = None
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, True
        if pid == 0:
            return ended, False
        if pid == program:
            ended = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def _kill_descendants(program: int) -> Ending | None:
    """Kills until no child is left: what a dying process forked meanwhile is found in the next round."""
    seen = None
    while True:
        ended, alone = _reap(program)
        seen = ended or seen
        if alone:
            return seen
        for pid in descendants(os.getpid()) or [-program]:  # without /proc: the program's process group
            with _Suppressed(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def descendants(ancestor: int) -> list[int]:
    """The living processes below one process, as /proc tells; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    with _Suppressed(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with _Suppressed(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    # The command name stands in parentheses and may itself hold spaces and parentheses.
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def remove_folder(folder: str) -> None:
    """Deletes a folder that a hostile program filled.

    Folders without permissions are opened first. Nested ones are walked a step at a time: a chain of them can be deeper
    than Python's recursion limit and longer than a path may be. An error leaves the rest behind.
    """
    with _Suppressed(OSError):
        os.chmod(folder, 0o700)
        here = os.open(folder, os.O_RDONLY)
        try:
            # The folders left to remove, a list for each level on the way down.
            waiting = [_unlink_files(here)]
            while waiting:
                if waiting[-1]:
                    os.chmod(waiting[-1][-1], 0o700, dir_fd=here)
                    here = _step(here, waiting[-1][-1])
                    waiting.append(_unlink_files(here))
                    continue
                waiting.pop()
                if waiting:
                    here = _step(here, "..")
                    os.rmdir(waiting[-1].pop(), dir_fd=here)
        finally:
            os.close(here)
        os.rmdir(folder)


def _step(here: int, name: str) -> int:
    there = os.open(name, os.O_RDONLY, dir_fd=here)
    os.close(here)
    return there


def _unlink_files(folder: int) -> list[str]:
    """Deletes what is not a folder, links included; returns the names of the folders."""
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in listed if is_folder]
