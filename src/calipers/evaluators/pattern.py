"""Evaluators that look for a pattern in the output's text.

Patterns are those of the `regex` package, which reads what `re` reads and more, and can be stopped: a pattern with
catastrophic backtracking is an evaluator failure, not a run that hangs, and not "no match".
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import regex

from calipers.data.argument_checks import check_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import show, show_typed
from calipers.errors import AttemptTimeoutError, InvalidOptionError


@dataclass
class MatchesRegex(Evaluator):
    """The output is text that matches a pattern, somewhere or as a whole. An output that is not text fails."""

    pattern: str
    """What to look for; flags beyond those below can be given inside, as in `(?x)`."""
    full: bool = field(default=False, kw_only=True)
    """Whether the pattern must match the whole text rather than a part of it."""
    ignore_case: bool = field(default=False, kw_only=True)
    """Whether upper and lower case are the same."""
    multiline: bool = field(default=False, kw_only=True)
    """Whether `^` and `$` match at every line."""
    dot_all: bool = field(default=False, kw_only=True)
    """Whether `.` matches line breaks too."""
    timeout_seconds: float = field(default=1.0, kw_only=True)
    """How long one search may take before the evaluator fails."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:
            raise InvalidOptionError(f"MatchesRegex needs a pattern as non-empty text, got {self.pattern!r}")
        check_number("timeout_seconds", self.timeout_seconds, above=0, of="seconds")
        self._compiled()

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if the pattern matches.

        Raises:
            AttemptTimeoutError: the search took too long.
        """
        text = ctx.output
        if not isinstance(text, str):
            return EvaluationReason(value=False, reason=f"expected text, got {show_typed(text)}")
        if is_found(self._compiled(), text, self.timeout_seconds, full=self.full):
            return EvaluationReason(value=True)
        how = "the whole text to match" if self.full else "a match of"
        return EvaluationReason(value=False, reason=f"expected {how} {self.pattern!r}, got {show(text)}")

    def _compiled(self) -> Any:
        flags = (
            (regex.IGNORECASE if self.ignore_case else 0)
            | (regex.MULTILINE if self.multiline else 0)
            | (regex.DOTALL if self.dot_all else 0)
        )
        return compile_pattern(self.pattern, flags)


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, flags: int = 0) -> Any:
    """The pattern, ready to search."""
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError) as error:
        raise InvalidOptionError(f"{pattern!r} is not a valid pattern: {error}") from error


def is_found(compiled: Any, text: str, seconds: float, *, full: bool = False) -> bool:
    """Whether a compiled pattern matches a part of the text, or all of it; raises `AttemptTimeoutError` when it takes too long."""
    search = compiled.fullmatch if full else compiled.search
    try:
        # `concurrent` lets other threads run during the search.
        return search(text, timeout=seconds, concurrent=True) is not None
    except TimeoutError as error:
        raise AttemptTimeoutError(
            f"the pattern {compiled.pattern!r} was still running after {seconds:g} s on a text of "
            f"{len(text)} characters: make it less ambiguous, or raise timeout_seconds"
        ) from error
