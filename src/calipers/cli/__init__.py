"""The command line: `calipers`, one file per command."""

from .app import main

__all__ = ["main"]
