import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import EvalVerdict
from calipers.agents.evaluators.scale import (
    ALL_OR_NOTHING,
    ALL_OR_SOME,
    Scale,
    skip,
    some_of,
    weighted_mean,
    weighted_share,
)

SCORES = st.floats(0, 1)
WEIGHTS = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
ORDER = [EvalVerdict.FAIL, EvalVerdict.PARTIAL, EvalVerdict.PASS]


@pytest.mark.parametrize(
    ("scale", "score", "verdict"),
    [
        (ALL_OR_NOTHING, 1.0, "pass"),
        (ALL_OR_NOTHING, math.nextafter(1.0, 0.0), "fail"),
        (ALL_OR_SOME, 1.0, "pass"),
        (ALL_OR_SOME, math.ulp(0.0), "partial"),
        (ALL_OR_SOME, 0.0, "fail"),
        (Scale(0.8, 0.5), 0.8, "pass"),
        (Scale(0.8, 0.5), 0.5, "partial"),
        (Scale(0.8, 0.5), 0.49, "fail"),
        (Scale(0.4, 0.5), 0.45, "pass"),
    ],
)
def test_a_verdict_is_read_off_the_score(scale, score, verdict):
    assert scale.verdict(score) == verdict
    assert scale.result("name", score, "why", seen=1).verdict == verdict


@given(SCORES, SCORES, SCORES, SCORES)
def test_a_better_verdict_has_a_higher_score(passes, partial, one, other):
    scale = Scale(passes, partial)
    if ORDER.index(scale.verdict(one)) > ORDER.index(scale.verdict(other)):
        assert one > other


def test_a_skip_has_no_score_and_a_reason():
    result = skip("name", "nothing there", seen=0)
    assert (result.verdict, result.score, result.reason) == ("skip", 0.0, "nothing there")
    assert result.metadata == {"seen": 0}


@given(st.lists(st.tuples(st.booleans(), WEIGHTS), min_size=1))
def test_a_share_is_whole_only_if_all_passed_and_nothing_only_if_none_did(parts):
    passed, weights = [each for each, _ in parts], [weight for _, weight in parts]
    share = weighted_share(passed, weights)
    assert (share == 1.0) is all(passed)
    assert (share == 0.0) is not any(passed)
    assert 0 <= share <= 1


@given(st.lists(st.tuples(SCORES, WEIGHTS), min_size=1))
def test_a_mean_lies_between_its_scores_however_large_the_weights(parts):
    scores, weights = [each for each, _ in parts], [weight for _, weight in parts]
    mean = weighted_mean(scores, weights)
    assert min(scores) - 1e-12 <= mean <= max(scores) + 1e-12
    assert 0 <= mean <= 1
    assert (mean == 1) is all(score == 1 for score in scores)
    assert (mean == 0) is not any(scores)


def test_what_floats_make_of_a_sum_decides_no_verdict():
    assert sum([1, 1, 0.4]) / 3 < 0.8
    assert weighted_mean([1, 1, 0.4], [1, 1, 1]) == 0.8


@pytest.mark.parametrize(
    ("count", "shown"), [(1, "t0"), (5, "t0; t1; t2; t3; t4"), (7, "t0; t1; t2; t3; t4; and 2 more")]
)
def test_a_reason_lists_the_first_few_things(count, shown):
    assert some_of([f"t{number}" for number in range(count)]) == shown


def test_a_reason_stays_short_however_long_the_things_are():
    assert len(some_of(["x" * 10_000] * 10_000)) < 1_200
