"""How well people agree with each other."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.gate.people_agreement import people_agreement
from calipers.stats import cohen_kappa, krippendorff_alpha
from calipers.stores import HumanLabel
from calipers.views.people_agreement import agreement_lines


def label(case, person, value, *, repeat=1, question="q"):
    return HumanLabel(
        run="r",
        position=2 * case + repeat - 1,
        case=f"case {case}",
        repeat=repeat,
        question=question,
        person=person,
        value=value,
        at="",
    )


def both(first, second):
    return [
        label(case, person, value)
        for person, said in (("ann", first), ("bob", second))
        for case, value in enumerate(said)
    ]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12), st.randoms()
)
def test_it_is_that_of_the_statistics_whatever_the_order_of_the_labels(pairs, draw):
    first, second = zip(*pairs, strict=True)
    labels = both(first, second)
    draw.shuffle(labels)
    found = people_agreement("q", labels)
    kappa, alpha = cohen_kappa(first, second), krippendorff_alpha(pairs)
    assert found.pairs[0].kappa.value == pytest.approx(kappa.value, nan_ok=True)
    assert found.alpha.value == (None if alpha.value is None else pytest.approx(alpha.value))
    assert len(found.disagreements) == sum(one != other for one, other in pairs)


def test_numbers_of_a_scale_that_are_close_agree_better_than_those_that_are_apart():
    draw = Random(1)
    first = [draw.randint(1, 5) for _ in range(40)]
    close = people_agreement("q", both(first, [min(5, n + 1) for n in first]))
    apart = people_agreement("q", both(first, [6 - n for n in first]))
    assert close.is_ordered
    assert close.alpha.value > 0.6
    assert apart.alpha.value < 0
    assert close.pairs[0].kappa.value > 0.6
    assert any("weighted kappa" in line for line in agreement_lines(close))


def test_yes_is_not_one():
    found = people_agreement("q", [label(0, "ann", value=True), label(0, "bob", value=1)])
    assert not found.is_ordered
    assert len(found.disagreements) == 1


def test_the_case_is_the_unit_and_every_disagreement_is_named():
    labels = [
        label(0, person, value, repeat=repeat)
        for person, value in (("ann", True), ("bob", False))
        for repeat in (1, 2)
    ]
    labels += [label(1, "ann", value=True), label(2, "ann", value=True), label(2, "bob", value=True)]
    labels += [label(3, "cat", value=True, question="other")]
    found = people_agreement("q", labels)
    assert (found.people, found.labels, found.alpha.n_units) == (("ann", "bob"), 7, 2)
    assert [(each.case, each.repeat) for each in found.disagreements] == [("case 0", 1), ("case 0", 2)]


def test_what_people_wrote_is_shown_safely_and_long_lists_are_cut():
    found = people_agreement(
        "q\u202e",
        [
            label(case, person, f"\x1b[31m{person}", question="q\u202e")
            for case in range(30)
            for person in ("ann", "bob")
        ],
    )
    lines = list(agreement_lines(found))
    assert all(line.isprintable() for line in lines)
    assert lines[-1] == "  … and 10 more"
    assert "not defined" in "".join(agreement_lines(people_agreement("q", both([True], [True]))))
    assert next(agreement_lines(people_agreement("q", []))) == "q: 0 labels by no one"
