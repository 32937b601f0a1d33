"""How well people agree with each other, in the terminal."""

from collections.abc import Iterator

from calipers.data.human_label import Rating
from calipers.gate.people_agreement import PeopleAgreement
from calipers.stats.agreement import Agreement
from calipers.stats.number_text import number, plural

from .text import visible

_MOST = 20
"""Attempts that are listed, on which people differ."""


def agreement_lines(found: PeopleAgreement) -> Iterator[str]:
    """What is known of how well people agree, line by line."""
    who = ", ".join(map(visible, found.people))
    yield f"{visible(found.question)}: {plural(found.labels, 'label')} by {who or 'no one'}"
    if found.alpha is None:
        yield "  no attempt has labels of two people: let a second person label some of the same"
        return
    yield f"  all: {_share(found.alpha)}, Krippendorff's alpha {_value(found.alpha)}"
    for pair in found.pairs:
        kind = "weighted kappa" if found.is_ordered else "kappa"
        yield f"  {visible(pair.first)} and {visible(pair.second)}: {_share(pair.kappa)}, {kind} {_value(pair.kappa)}"
    if found.disagreements:
        yield f"They differ on {plural(len(found.disagreements), 'attempt')}:"
    for each in found.disagreements[:_MOST]:
        attempt = f", attempt {each.repeat}" if each.repeat > 1 else ""
        said = ", ".join(f"{visible(person)} {shown_answer(value)}" for person, value in each.said)
        yield f"  {visible(each.case)}{attempt}: {said}"
    if len(found.disagreements) > _MOST:
        yield f"  … and {len(found.disagreements) - _MOST:,} more"


def shown_answer(value: Rating) -> str:
    """An answer as a person would say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(value) if isinstance(value, str) else number(value)


def _share(agreement: Agreement) -> str:
    return f"{plural(agreement.n_units, 'case')}, the same on {100 * agreement.same:.0f} %"


def _value(agreement: Agreement) -> str:
    if agreement.value is None:
        return "not defined, since only one answer was given"
    if agreement.interval is None:
        return f"{agreement.value:.2f}, without an interval"
    low, high = agreement.interval.low, agreement.interval.high
    return f"{agreement.value:.2f}  [{low:.2f}, {high:.2f}]"
