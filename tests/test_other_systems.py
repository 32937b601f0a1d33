"""What can be said on one system of others: no such machine is at hand, so what others lack is taken away here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="plays another system on Linux only")

EVERYDAY = (
    "tests/cli/test_compare.py",
    "tests/cli/test_init.py",
    "tests/cli/test_runs.py",
    "tests/files/test_yaml_file.py",
    "tests/stores/test_store_url.py",
    "tests/stores/test_run_info.py",
    "tests/run/test_evaluation.py",
    "tests/views/test_formats.py",
)
"""Tests of what everyone uses, on any system."""


def as_on_windows(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    plugins = ("-p", "as_on_windows", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_what_everyone_uses_needs_nothing_that_windows_lacks():
    done = as_on_windows("--hypothesis-profile=brief", *EVERYDAY)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert " failed" not in done.stdout


def test_the_stand_in_notices_what_would_be_wrong_on_windows(tmp_path):
    own = tmp_path / "test_it.py"
    own.write_text(
        """
import os, sys, types
import pytest

def ours(source):
    code = compile(source, OURS + "/made_up.py", "exec")
    return lambda: exec(code, {})

from as_on_windows import OURS

@pytest.mark.parametrize("source, error", [
    ("import os; os.kill(os.getpid(), 0)", AssertionError),
    ("open('/proc/self/stat')", FileNotFoundError),
    ("import os; os.fork()", AttributeError),
    ("import fcntl", ImportError),
    ("import signal; signal.SIGKILL", AttributeError),
])
def test_it(source, error):
    assert sys.platform == "win32"
    with pytest.raises(error):
        ours(source)()

def test_sandbox():
    from calipers.errors import SandboxError
    from calipers.sandbox import run_python_sync
    with pytest.raises(SandboxError, match="on Windows, run it in WSL"):
        run_python_sync("print(1)")
""",
        encoding="utf-8",
    )
    done = as_on_windows(
        *("-c", os.devnull, "--rootdir", str(tmp_path), "--confcutdir", str(tmp_path), str(own)),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout
