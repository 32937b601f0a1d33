"""Draws by strata: how many each gives, and with which probability."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.stats import draw_by_strata

_STRATA = st.lists(st.sampled_from("aaaaabbc"), min_size=1, max_size=60)
_SHARES = st.sampled_from(["proportional", "equal"])


@given(_STRATA, st.integers(3, 70), _SHARES, st.integers(0, 9))
def test_a_draw_has_its_size_and_each_stratum_gives_at_least_one_with_its_own_probability(
    strata, count, shares, seed
):
    draw = draw_by_strata(strata, count, seed=seed, shares=shares)
    assert len(set(draw.places)) == len(draw.places) == min(count, len(strata))
    assert list(draw.places) == sorted(draw.places)
    sizes, taken = Counter(strata), Counter(strata[place] for place in draw.places)
    assert {each.stratum: (each.size, each.drawn) for each in draw.strata} == {
        stratum: (sizes[stratum], taken[stratum]) for stratum in sizes
    }
    assert min(taken[stratum] for stratum in sizes) >= 1
    assert sum(Fraction(each.size, each.drawn) * each.drawn for each in draw.strata) == len(strata)


@given(_STRATA, st.integers(3, 70), _SHARES)
def test_the_seed_settles_a_draw_and_leaves_alone_how_many_each_stratum_gives(strata, count, shares):
    draws = [draw_by_strata(strata, count, seed=seed, shares=shares) for seed in (0, 0, 1)]
    assert draws[0] == draws[1]
    assert draws[0].strata == draws[2].strata


@pytest.mark.parametrize(
    ("sizes", "count", "shares", "gives"),
    [
        ({"a": 80, "b": 20}, 10, "proportional", [8, 2]),
        ({"a": 99, "b": 1}, 10, "proportional", [9, 1]),
        ({"a": 80, "b": 20}, 10, "equal", [5, 5]),
        ({"a": 80, "b": 2, "c": 18}, 12, "equal", [5, 2, 5]),
        ({"a": 3, "b": 3}, 10, "equal", [3, 3]),
    ],
)
def test_shares_are_as_near_as_whole_numbers_allow(sizes, count, shares, gives):
    strata = [stratum for stratum, size in sizes.items() for _ in range(size)]
    assert [each.drawn for each in draw_by_strata(strata, count, seed=3, shares=shares).strata] == gives


def test_each_of_a_stratum_is_drawn_as_often_as_its_probability_says():
    strata = ["a"] * 8 + ["b"] * 2
    drawn = Counter(place for seed in range(2000) for place in draw_by_strata(strata, 5, seed=seed).places)
    probability = {each.stratum: each.probability for each in draw_by_strata(strata, 5, seed=0).strata}
    for place, stratum in enumerate(strata):
        assert abs(drawn[place] / 2000 - probability[stratum]) < 0.06  # five standard errors


def test_a_draw_that_would_leave_a_stratum_out_is_refused():
    with pytest.raises(InvalidOptionError, match="2 cannot be drawn from 3 strata: each has to give one"):
        draw_by_strata(["a", "b", "c", "c"], 2, seed=0)
