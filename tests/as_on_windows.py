"""A stand-in for Windows, as far as a Linux machine can be one: a plugin of pytest that takes away what Windows lacks.

Taken away are modules, functions of `os`, signals and `/proc`; `os.kill`, which ends a process on Windows whatever the
signal, may not be called. Libraries other than Calipers are loaded before, since they rightly look for more of Windows
than is here.
"""

import importlib
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import psutil
import pytest

OURS = str(Path(__file__).parents[1] / "src" / "calipers")
LOADED = [
    "asyncio",
    "concurrent.futures",
    "multiprocessing",
    "sqlite3",
    "ctypes",
    "uuid",
    "ssl",
    "socket",
    "logging.handlers",
    "tempfile",
    "shutil",
    "platform",
    "webbrowser",
    "getpass",
    "click",
    "rich.console",
    "rich.progress",
    "rich.live",
    "pydantic",
    "msgspec",
    "yaml",
    "regex",
    "pyarrow",
    "pyarrow.parquet",
    "lxml.etree",
    "psycopg",
    "numpy",
    "scipy.stats",
    "opentelemetry.sdk.trace",
    "aiohttp",
    "httpx",
    "hypothesis",
]
LACKING = {
    os: "fork forkpty register_at_fork getuid geteuid getgid getegid getpgid getpgrp setsid setuid setgid setpgid killpg "
    "chown fchown lchown mkfifo mknod uname wait wait3 wait4 WNOHANG set_blocking getloadavg nice sync sysconf confstr "
    "statvfs pread pwrite posix_spawn sched_getaffinity sched_yield pidfd_open getgroups setgroups initgroups ttyname",
    signal: "SIGKILL SIGCHLD SIGHUP SIGALRM SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU SIGWINCH alarm pause "
    "setitimer pthread_sigmask pthread_kill sigwait SIG_SETMASK SIG_BLOCK siginterrupt",
}


def caller() -> str:
    """The file of ours, or of psutil, that is at work; psutil knows every system."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith((OURS, str(Path(psutil.__file__).parent))):
            return frame.f_code.co_filename
        frame = frame.f_back
    return ""


def look(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse what would be refused, or do harm, on Windows."""
    if event == "open" and str(arguments[0]).startswith("/proc") and caller().startswith(OURS):
        raise FileNotFoundError(f"there is no {arguments[0]} on Windows")
    if event == "os.kill" and caller().startswith(OURS):
        raise AssertionError("os.kill ends a process on Windows, whatever the signal")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Become another system before the first module of ours is loaded."""
    for name in LOADED:
        importlib.import_module(name)
    early = [name for name in sys.modules if name.partition(".")[0] == "calipers"]
    assert not early, f"{early[0]} is loaded already, and would have seen this system"
    for module, names in LACKING.items():
        whole = ModuleType(module.__name__)
        vars(whole).update(vars(module))
        for other in list(sys.modules.values()):  # those that are loaded go on as they are
            for name in [name for name, value in vars(other).items() if value is module]:
                if other is not sys.modules[__name__]:
                    setattr(other, name, whole)
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"):
        sys.modules[name] = None  # type: ignore[assignment]  # importing it is an ImportError
    sys.addaudithook(look)
    sys.platform = "win32"
