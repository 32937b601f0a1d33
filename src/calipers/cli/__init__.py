"""The command line: `calipers`, one file per command."""

from calipers.cli.entry import main

__all__ = ["main"]
