"""An evaluator that finds profane words in an output.

The list is that of better-profanity (its extra is `text-checks`): some 900 words and phrases of English, with the signs that people write for
letters (`sh1t`, `a$$`). It is matched here by one pattern, since the package compares each word with each entry and takes 15 seconds for ten pages. Whole words only: Scunthorpe and
classes are no matches. A list knows no context: quoted and harmless uses are found too, and other languages are not.

A reason shows the first letter of each word, and how long it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from calipers.data.argument_checks import check_texts
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import show_typed
from calipers.errors import MissingExtraError
from calipers.stats.number_text import plural

_MOST_TOLD = 5


@dataclass
class NoProfanity(Evaluator):
    """The output holds no profane words, by a list of English ones. An output that is not text fails."""

    words: Sequence[str] = field(default=(), kw_only=True)
    """Further words or phrases that count as profane."""
    allowed: Sequence[str] = field(default=(), kw_only=True)
    """Words of the list that may stand there."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_texts("words of NoProfanity", self.words)
        check_texts("allowed of NoProfanity", self.allowed)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if no word was found; otherwise the reason counts them."""
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=False, reason=f"expected text, got {show_typed(ctx.output)}")
        pattern = _pattern(tuple(self.words), frozenset(word.casefold() for word in self.allowed))
        found = [match[0] for match in pattern.finditer(ctx.output)]
        if not found:
            return EvaluationReason(value=True)
        told = list(dict.fromkeys(f"{word[0]}{'*' * (len(word) - 1)}" for word in found))
        more = " …" if len(told) > _MOST_TOLD else ""
        return EvaluationReason(
            value=False, reason=f"{plural(len(found), 'profane word')}: {', '.join(told[:_MOST_TOLD])}{more}"
        )


@lru_cache(maxsize=32)
def _pattern(words: tuple[str, ...], allowed: frozenset[str]) -> re.Pattern[str]:
    """One pattern of all words, each letter with the signs that stand for it."""
    try:
        from better_profanity import Profanity
        from better_profanity.utils import get_complete_path_of_file, read_wordlist
    except ImportError as error:
        raise MissingExtraError.of("Finding profane words", "text-checks") from error
    signs = Profanity([]).CHARS_MAPPING
    known = {
        word.strip().casefold()
        for word in (*read_wordlist(get_complete_path_of_file("profanity_wordlist.txt")), *words)
    }
    classes = {letter: f"[{re.escape(''.join(others))}]" for letter, others in signs.items()}
    # The longer ones first, so that a phrase is found as a whole.
    entries = sorted((word for word in known - allowed if word), key=lambda word: (-len(word), word))
    written = (
        "".join(r"\s+" if char == " " else classes.get(char, re.escape(char)) for char in word)
        for word in entries
    )
    return re.compile(rf"(?<![\w*$@])(?:{'|'.join(written)})(?![\w*$@])", re.IGNORECASE)
