"""How many labels a judge lacks, until its agreement with people is told from what the policy asks for."""

from random import Random

import pytest

from calipers.gate.ratings import Ratings


def alike(n, by="share"):
    answers = (["yes", "no"] * n)[:n]
    return Ratings(judge=answers, human=answers, by=by)


@pytest.mark.parametrize(("n", "limit", "needed"), [(30, 0.9, 36), (30, 0.95, 72), (10, 0.95, 72)])
def test_labels_that_all_agree_are_too_few_until_their_interval_clears_the_share(n, limit, needed):
    assert alike(n).needed(limit, 0.95) == needed
    assert alike(needed).interval(0.95).low > limit >= alike(needed - 1).interval(0.95).low


@pytest.mark.parametrize("limit", [0.5, 0.7, 0.9])
def test_labels_that_all_agree_are_too_few_until_their_interval_clears_kappa(limit):
    needed = alike(20, "kappa").needed(limit, 0.95)
    assert alike(needed + needed % 2, "kappa").interval(0.95).low > limit
    assert alike(needed - 2 - needed % 2, "kappa").interval(0.95).low < limit


SEEN = [("yes", "yes")] * 24 + [("no", "no")] * 20 + [("yes", "no")] * 3 + [("no", "yes")] * 3


def ratings(pairs, by):
    return Ratings(judge=[judge for judge, _ in pairs], human=[human for _, human in pairs], by=by)


@pytest.mark.parametrize(("by", "limit"), [("share", 0.8), ("share", 0.94), ("kappa", 0.6), ("kappa", 0.88)])
def test_as_many_labels_as_are_asked_for_tell_four_times_in_five(by, limit):
    seen = ratings(SEEN, by)
    needed, above = seen.needed(limit, 0.95), seen.value > limit
    assert needed > len(SEEN)
    draw = Random(6)
    told = 0
    for _ in range(200):
        interval = ratings(draw.choices(SEEN, k=needed), by).interval(0.95)
        told += interval.low > limit if above else interval.high < limit
    assert told / 200 == pytest.approx(0.8, abs=0.09)


@pytest.mark.parametrize("by", ["share", "kappa"])
def test_no_number_of_labels_tells_what_lies_at_the_limit(by):
    seen = ratings(SEEN, by)
    assert seen.needed(seen.value, 0.95) is None
    assert seen.needed(seen.value + 1e-7, 0.95) is None
