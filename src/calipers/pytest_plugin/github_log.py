"""pytest's summary in the log of GitHub Actions: nothing that a model wrote may become a command there.

Why a test failed is shown by pytest, not by the plugin, so it is the whole summary that stands between the lines that
turn commands off and on again: also what other plugins add to it.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO, cast

from calipers.views.github import commands_off

if TYPE_CHECKING:
    import pytest


def without_commands(terminal: "pytest.TerminalReporter") -> AbstractContextManager[None]:
    """A block during which GitHub Actions obeys nothing that pytest shows; elsewhere it does nothing."""
    return commands_off(cast("TextIO", terminal))  # it has what print asks for: write and flush
