"""How well people agree with each other on one question.

It bounds what a judge can reach: one that agrees with people better than they with each other has learnt one person's taste. Krippendorff's alpha
is over all people, and Cohen's kappa over each two who labelled the same; both with intervals (`calipers.stats.agreement`). Numbers of a scale
count as ordered, by ranks in alpha and by squared distance in kappa; words, and yes and no, as categories.

The case is the unit: of a repeated case, the first attempt with two labels counts. Attempts on which people differ are all named.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec

from calipers.data.human_label import HumanLabel, Rating, answer_kind
from calipers.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha


class Disagreement(msgspec.Struct, frozen=True):
    """An attempt on which people differ."""

    position: int
    case: str
    repeat: int
    said: tuple[tuple[str, Rating], ...]
    """Each person, with the answer."""


class TwoPeople(msgspec.Struct, frozen=True):
    """How well two people agree."""

    first: str
    second: str
    kappa: Agreement
    """Its value is `None` if only one answer was ever given."""


class PeopleAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How well people agree on one question."""

    question: str
    people: tuple[str, ...]
    labels: int
    alpha: Agreement | None
    """Krippendorff's; `None` if no attempt has two labels."""
    is_ordered: bool
    """Whether the answers are numbers of a scale."""
    pairs: tuple[TwoPeople, ...]
    """Each two people who labelled the same attempts."""
    disagreements: tuple[Disagreement, ...]


def people_agreement(question: str, labels: Iterable[HumanLabel]) -> PeopleAgreement:
    """How well people agree on a question about the attempts of one run.

    Args:
        question: that was asked.
        labels: of one run; those of other questions are ignored.
    """
    said = [label for label in labels if label.question == question]
    attempts: dict[int, list[HumanLabel]] = {}
    for label in sorted(said, key=lambda label: (label.position, label.person)):
        attempts.setdefault(label.position, []).append(label)
    units: dict[str, list[HumanLabel]] = {}
    for one in sorted(attempts.values(), key=lambda some: (some[0].case, some[0].repeat)):
        if len(one) > 1:
            units.setdefault(one[0].case, one)
    is_ordered = bool(said) and all(answer_kind(label.value) == "number" for label in said)
    people = sorted({label.person for label in said})
    return PeopleAgreement(
        question=question,
        people=tuple(people),
        labels=len(said),
        alpha=krippendorff_alpha(
            ([_answer(label) for label in unit] for unit in units.values()),
            level="ordinal" if is_ordered else "nominal",
        ),
        is_ordered=is_ordered,
        pairs=tuple(_pairs(people, list(attempts.values()), is_ordered=is_ordered)),
        disagreements=tuple(
            Disagreement(
                one[0].position,
                one[0].case,
                one[0].repeat,
                tuple((label.person, label.value) for label in one),
            )
            for one in attempts.values()
            if len({_answer(label) for label in one}) > 1
        ),
    )


def _pairs(
    people: Sequence[str], attempts: Sequence[Sequence[HumanLabel]], *, is_ordered: bool
) -> Iterable[TwoPeople]:
    for first, second in combinations(people, 2):
        both: dict[str, tuple[object, object]] = {}
        for one in attempts:
            by = {label.person: label for label in one}
            if first in by and second in by:
                both.setdefault(one[0].case, (_answer(by[first]), _answer(by[second])))
        ratings = [[pair[side] for pair in both.values()] for side in (0, 1)]
        kappa = cohen_kappa(ratings[0], ratings[1], weights="quadratic" if is_ordered else None)
        if kappa is not None:
            yield TwoPeople(first, second, kappa)


def _answer(label: HumanLabel) -> object:
    """What a label counts as: `True` is not 1, and 4.0 is 4."""
    value = label.value
    return float(value) if answer_kind(value) == "number" else str(value).strip().lower()
