"""Runs untrusted Python code in a child process that ends together with everything it started."""

from calipers.errors import SandboxError
from calipers.sandbox.program import Limits, Outcome, Protection, StoppedBy
from calipers.sandbox.python import Sandbox, run_python, run_python_sync

__all__ = [
    "Limits",
    "Outcome",
    "Protection",
    "Sandbox",
    "SandboxError",
    "StoppedBy",
    "run_python",
    "run_python_sync",
]
