"""`KeywordModerator`: words and patterns that a text should not have."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import regex

from calipers.data.argument_checks import check_share, check_text
from calipers.errors import InvalidOptionError, InvalidRolloutError

from .moderator import TextModerator

_SECONDS = 1.0
"""A pattern that searches one text for longer than this goes astray."""


@dataclass(frozen=True)
class KeywordModerator(TextModerator):
    r"""Scores a text by the worst of the words and patterns that are in it; 0 if none is.

    ```python
    KeywordModerator({"discount": 0.4, "free of charge": 1.0}, patterns={r"\b[5-9]\d ?%": 0.8})
    ```

    Words are found whole and in any case; white space within one stands for any. It reads letters, not meaning: "no
    discount" has the word too.
    """

    words: Sequence[str] | Mapping[str, float] = ()
    """What to look for, each with its score; in a list, each counts 1."""
    _: KW_ONLY
    patterns: Sequence[str] | Mapping[str, float] = field(default=())
    """Regular expressions, likewise; in any case."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        if not self.words and not self.patterns:
            raise InvalidOptionError(
                "a KeywordModerator needs words or patterns: with none, nothing would be found"
            )
        _ = self._rules  # says now what is wrong with a word or pattern

    def score_text(self, text: str) -> float:
        """The score of the worst that is found."""
        try:
            return max(
                (worth for rule, worth in self._rules if rule.search(text, timeout=_SECONDS)), default=0.0
            )
        except TimeoutError as error:
            raise InvalidRolloutError(
                f"a pattern of {self!r:.200} took more than {_SECONDS:g} s for one text of {len(text)} characters: simplify it"
            ) from error

    @cached_property
    def _rules(self) -> list[tuple[Any, float]]:
        return [
            *((_compiled(_whole(word), word), worth) for word, worth in _worths("words", self.words)),
            *((_compiled(pattern, pattern), worth) for pattern, worth in _worths("patterns", self.patterns)),
        ]


def _worths(name: str, given: Any) -> list[tuple[str, float]]:
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise InvalidOptionError(
            f"{name} is a list of texts, or a mapping of texts to scores, got {given!r:.200}"
        )
    pairs = list(given.items()) if isinstance(given, Mapping) else [(text, 1.0) for text in given]
    for text, worth in pairs:
        check_text(f"each of {name}", text)
        check_share(f"the score of {text!r}", worth)
    return [(text, float(worth)) for text, worth in pairs]


def _whole(word: str) -> str:
    return r"(?<!\w)" + r"\s+".join(regex.escape(part) for part in word.split()) + r"(?!\w)"


def _compiled(pattern: str, given: str) -> Any:
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        raise InvalidOptionError(f"{given!r} is no regular expression: {error}") from None
