"""An evaluator that finds personal data in an output.

The patterns are those of datafog (its extra is `text-checks`): they are made for many formats of each kind and reject numbers that were never issued. What
datafog leaves to its compiled edition is done here: a card number must have a valid check digit (Luhn), and a bank account number is any IBAN whose
check digits are right (ISO 13616). Nothing is sent anywhere: the patterns run in this process, and datafog's own telemetry is not loaded.

Patterns find what has a form. They know no names and no street addresses, and a number of ten digits may be a telephone number or an order.
Dates, postal codes and addresses of computers occur in harmless texts, so they are looked for only if you ask.

A reason tells kind and place of what was found, never the value itself: reports are passed on.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from calipers.data.argument_checks import check_texts, did_you_mean
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.jsonable import plain
from calipers.data.result import EvaluationReason, Skipped
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.stats.number_text import plural

PersonalDataKind: TypeAlias = Literal[
    "email", "phone", "ssn", "credit_card", "iban", "ip_address", "date", "zip_code"
]
"""What can be looked for; `ssn` is the social security number of the United States."""

USUAL_KINDS: tuple[PersonalDataKind, ...] = ("email", "phone", "ssn", "credit_card", "iban")
"""What is looked for unless you say otherwise: what seldom occurs in harmless texts."""

_DATAFOG: dict[PersonalDataKind, str] = {
    "email": "EMAIL",
    "phone": "PHONE",
    "ssn": "SSN",
    "credit_card": "CREDIT_CARD",
    "ip_address": "IP_ADDRESS",
    "date": "DOB",
    "zip_code": "ZIP",
}
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)
_MOST_TOLD = 5


class FoundData(NamedTuple):
    """A piece of personal data in a text."""

    kind: PersonalDataKind
    start: int
    text: str


@dataclass
class NoPersonalData(Evaluator):
    """The output holds no personal data: e-mail addresses, telephone, card, account and social security numbers.

    Data that is not text is looked through as JSON. An output of `None` is skipped.
    """

    kinds: Sequence[PersonalDataKind] = USUAL_KINDS
    """What to look for; also `ip_address`, `date` and `zip_code`."""
    allowed: Sequence[str] = field(default=(), kw_only=True)
    """Values that may stand there, such as the address of your support; upper and lower case are the same."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_texts("kinds of NoPersonalData", self.kinds)
        check_texts("allowed of NoPersonalData", self.allowed)
        if not self.kinds:
            raise InvalidOptionError("kinds of NoPersonalData must name at least one kind, got none")
        for kind in self.kinds:
            if kind not in get_args(PersonalDataKind):
                known = ", ".join(get_args(PersonalDataKind))
                hint = did_you_mean(kind, get_args(PersonalDataKind))
                raise InvalidOptionError(f"kinds of NoPersonalData must be among {known}, got {kind!r}{hint}")

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if nothing was found; otherwise the reason has kinds and places."""
        if ctx.output is None:
            return Skipped("the output is None: there is nothing to look through")
        allowed = {value.casefold() for value in self.allowed}
        found = [
            each
            for each in find_personal_data(_text_of(ctx.output), self.kinds)
            if each.text.casefold() not in allowed
        ]
        if not found:
            return EvaluationReason(value=True)
        told = [
            f"{each.kind.replace('_', ' ')} at character {each.start + 1:,}" for each in found[:_MOST_TOLD]
        ]
        more = f" and {len(found) - _MOST_TOLD:,} more" if len(found) > _MOST_TOLD else ""
        return EvaluationReason(
            value=False, reason=f"{plural(len(found), 'piece')} of personal data: {', '.join(told)}{more}"
        )


def _text_of(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(plain(output), ensure_ascii=False)


def find_personal_data(text: str, kinds: Sequence[PersonalDataKind]) -> list[FoundData]:
    """The personal data in a text, in its order; a card number is not also a telephone number.

    Raises:
        MissingExtraError: datafog is not installed.
    """
    found: list[FoundData] = []
    if "iban" in kinds:
        found += [
            FoundData("iban", match.start(), match[0]) for match in _IBAN.finditer(text) if _is_iban(match[0])
        ]
    wanted: dict[str, PersonalDataKind] = {_DATAFOG[kind]: kind for kind in kinds if kind != "iban"}
    if wanted:
        _, marked = _annotator().annotate_with_spans(text)
        for span in marked.spans:
            kind = wanted.get(span.label)
            if kind is not None and (kind != "credit_card" or _is_card(span.text)):
                found.append(FoundData(kind, span.start, span.text))
    kept: list[FoundData] = []
    for each in sorted(found, key=lambda each: each.start):
        if not kept or each.start >= kept[-1].start + len(kept[-1].text):
            kept.append(each)
        elif len(each.text) > len(kept[-1].text):
            kept[-1] = each
    return kept


@lru_cache(maxsize=1)
def _annotator() -> Any:
    try:
        from datafog.processing.text_processing.regex_annotator import RegexAnnotator
    except ImportError as error:
        raise MissingExtraError.of("Finding personal data", "text-checks") from error
    return RegexAnnotator()


def _is_card(text: str) -> bool:
    """Whether the check digit is right (Luhn)."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right: the number, its first four characters moved to the end, is 1 modulo 97."""
    compact = text.replace(" ", "")
    return (
        15 <= len(compact) <= 34
        and int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1
    )
