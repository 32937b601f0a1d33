"""What the exit code of a command says.

Where several would apply, the one that leaves the least to trust comes first: interrupted, terminated, wrong usage, errored, nothing
ran, failed, worse, inconclusive, passed.
"""

from collections.abc import Iterable
from typing import Final

PASSED: Final = 0
"""All is well."""
FAILED: Final = 1
"""A threshold was not met, or a file has problems."""
USAGE: Final = 2
"""The command was not understood, or names what is not there."""
ERRORED: Final = 3
"""A task, an evaluator or a hook did not finish, or something could not be read, written or imported."""
NOTHING: Final = 4
"""Nothing ran, or nothing was judged: there is nothing to say about it."""
INCONCLUSIVE: Final = 5
"""A gate could not decide: nothing failed, and not everything passed."""
WORSE: Final = 6
"""A gate found the run to be worse than its baseline; whether by more than the policy allows is open."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells number it."""
TERMINATED: Final = 143
"""SIGTERM, as shells number it."""

FROM_OUTSIDE: Final = {"Ctrl-C": INTERRUPTED, "SIGTERM": TERMINATED}
"""The codes for what ends a run from outside, by its name in the report."""

PRECEDENCE: Final = (INTERRUPTED, TERMINATED, USAGE, ERRORED, NOTHING, FAILED, WORSE, INCONCLUSIVE, PASSED)
"""Of several codes, the first of these is the one."""

WORDS: Final = {
    PASSED: "passed",
    FAILED: "failed",
    USAGE: "usage",
    ERRORED: "errored",
    NOTHING: "nothing",
    INCONCLUSIVE: "inconclusive",
    WORSE: "worse",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}
"""The codes in words."""


def first_of(codes: Iterable[int]) -> int:
    """The one code for several."""
    return min(codes, key=PRECEDENCE.index, default=PASSED)
