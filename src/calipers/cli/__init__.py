"""The command line: `calipers`, one file per command."""

from .entry import main

__all__ = ["main"]
