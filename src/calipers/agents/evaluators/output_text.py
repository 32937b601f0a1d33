"""Evaluators of the text that an agent answers: that there is one, that it is not too short, and its patterns.

Words are what white space separates. A language written without spaces has few of them.

Patterns are those of the `regex` package, which reads what `re` reads and more, and can be stopped: a search that takes
too long gives the verdict ERROR, not "no match".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import (
    ALL_OR_NOTHING,
    ALL_OR_SOME,
    BaseEvaluator,
    check_items,
    instead,
    skip,
    some_of,
    weighted_share,
)
from calipers.data.argument_checks import check_flag, check_number, check_text, check_whole_number
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError
from calipers.evaluators.pattern import compile_pattern, is_found


@dataclass
class NonEmptyOutputEvaluator(BaseEvaluator):
    """PASS if the output has more than white space."""

    name: str = "non-empty-output"

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        said = bool(trace.output_text.strip())
        reason = "the output is not empty" if said else "the output is empty"
        return ALL_OR_NOTHING.result(self.name, float(said), reason)


@dataclass
class MinWordCountEvaluator(BaseEvaluator):
    """PASS if the output has enough words, else FAIL; the score is the share of them that is there."""

    min_words: int = 10
    """How many words are enough."""
    name: str = "min-word-count"

    def __post_init__(self) -> None:
        check_whole_number("min_words of MinWordCountEvaluator", self.min_words, at_least=1)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        count = len(trace.output_text.split())
        return ALL_OR_NOTHING.result(
            self.name,
            min(1.0, count / self.min_words),
            f"expected at least {_words(self.min_words)}, got {count}",
            word_count=count,
            min_words=self.min_words,
        )


def _words(count: int) -> str:
    return "1 word" if count == 1 else f"{count} words"


_KEYS = ("pattern", "weight", "must_match", "description")


class _Pattern(NamedTuple):
    """One pattern to look for."""

    pattern: str
    weight: float = 1.0
    must_match: bool = True
    description: str = ""


@dataclass
class RegexPatternMatcher(BaseEvaluator):
    """PASS if each pattern is found, or not found, as it should be; PARTIAL if some are, else FAIL. Weights make the score.

    Without patterns the verdict is SKIP.
    """

    patterns: list[dict[str, Any]]
    """Each a dict with its `pattern`, and where they differ from the default: `weight` (1.0), `must_match` (True; False
    for what must not be there) and `description` (the pattern)."""
    name: str = "regex-matcher"
    timeout_seconds: float = field(default=1.0, kw_only=True)
    """How long one search may take before the verdict is ERROR."""

    def __post_init__(self) -> None:
        check_items("RegexPatternMatcher", "patterns", self.patterns, "dicts such as {'pattern': '...'}")
        check_number("timeout_seconds of RegexPatternMatcher", self.timeout_seconds, above=0)
        for number, given in enumerate(self.patterns, 1):
            compile_pattern(_read(number, given).pattern)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        if not self.patterns:
            return skip(self.name, "there are no patterns to look for")
        results = [
            self._look_for(_read(number, given), trace.output_text)
            for number, given in enumerate(self.patterns, 1)
        ]
        failed = [_describe(result) for result in results if not result["passed"]]
        return ALL_OR_SOME.result(
            self.name,
            weighted_share([each["passed"] for each in results], [each["weight"] for each in results]),
            f"{len(failed)} of {len(results)} patterns failed: {some_of(failed)}"
            if failed
            else f"{len(results)} of {len(results)} patterns passed",
            pattern_results=results,
        )

    def _look_for(self, wanted: _Pattern, text: str) -> dict[str, Any]:
        matched = is_found(compile_pattern(wanted.pattern), text, self.timeout_seconds)
        return {
            "pattern": wanted.pattern,
            "description": wanted.description or wanted.pattern,
            "matched": matched,
            "must_match": wanted.must_match,
            "passed": matched == wanted.must_match,
            "weight": wanted.weight,
        }


def _read(number: int, given: Any) -> _Pattern:
    """One entry of the list, checked."""
    where = f"pattern {number} of RegexPatternMatcher"
    if not isinstance(given, Mapping):
        raise InvalidOptionError(f"{where} must be a dict such as {{'pattern': '...'}}, got {given!r:.200}")
    for key in given:
        if key not in _KEYS:
            raise InvalidOptionError(f"{where} has the unknown key {key!r}{instead(key, _KEYS)}")
    wanted = _Pattern(**given) if "pattern" in given else _Pattern("", **given)
    if not isinstance(wanted.pattern, str) or not wanted.pattern:
        raise InvalidOptionError(f"{where} needs its pattern as non-empty text, got {dict(given)!r:.200}")
    check_number(f"weight of {where}, {wanted.pattern!r:.100}", wanted.weight, above=0)
    check_flag(f"must_match of {where}, {wanted.pattern!r:.100}", wanted.must_match)
    check_text(f"description of {where}, {wanted.pattern!r:.100}", wanted.description, or_empty=True)
    return wanted


def _describe(result: dict[str, Any]) -> str:
    return f"{result['description']} ({'found' if result['matched'] else 'not found'})"
