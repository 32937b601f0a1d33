"""Strengths of variants that were judged two at a time."""

import random
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import mean, strengths

POINTS = st.sampled_from([0.0, 0.5, 1.0])


def simulated(draw, true, n, *, ties=0.0):
    """Every two variants at each of n cases; `ties` is the share of what would be surprises and their like that end in a tie."""
    found = []
    for case in range(n):
        for a in range(len(true)):
            for b in range(a + 1, len(true)):
                share = 1 / (1 + exp(true[b] - true[a]))
                tie = 2 * ties * min(share, 1 - share)
                drawn = draw.random()
                points = 0.5 if drawn < tie else float(drawn < tie / 2 + share)
                found.append((case, str(a), str(b), points))
    return found


@given(st.lists(POINTS, min_size=2, max_size=30))
def test_two_variants_have_the_log_odds_of_the_mean_points_and_the_interval_of_that_mean(points):
    found = strengths([(case, "old", "new", 1 - won) for case, won in enumerate(points)])
    direct = mean([[1 - won] for won in points], bounds=(0, 1))
    share = sum(points) / len(points)
    new = found.strengths[1]
    assert found.pairs[0].seen == direct
    if share in {0, 1}:
        assert (new.value, new.unbeaten, new.winless) == (None, share == 1, share == 0)
        assert found.pairs[0].value is None
    else:
        assert new.value == pytest.approx(log(share / (1 - share)))
        assert found.pairs[0].interval == direct.interval
        assert found.connected


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 3), POINTS), min_size=1, max_size=25
    )
)
def test_the_fitted_points_are_the_points_that_were_won_and_no_strength_is_given_across_groups(drawn):
    # The maximum of the likelihood is where each variant is expected to have the points that it has.
    judged = [(case, f"v{a}", f"v{(a + step) % 4}", points) for case, a, step, points in drawn]
    found = strengths(judged)
    groups = {each.name: each.group for each in found.strengths}
    share = {(pair.first, pair.second): pair.value for pair in found.pairs}
    for (first, second), value in share.items():
        assert (value is None) == (groups[first] != groups[second])
    once = {}
    for case, first, second, points in judged:
        key = (case, first, second) if (first, second) in share else (case, second, first)
        once.setdefault(key, []).append(points if key[1] == first else 1 - points)
    surplus = dict.fromkeys(groups, 0.0)
    for (_, first, second), points in once.items():
        expected = share[first, second]
        if expected is not None:
            surplus[first] += sum(points) / len(points) - expected
            surplus[second] -= sum(points) / len(points) - expected
    assert all(abs(each) < 1e-6 for each in surplus.values())
    for each in found.strengths:
        if each.unbeaten or each.winless:
            assert each.value is None or each.name == found.reference


@given(st.lists(st.tuples(st.integers(0, 4), POINTS, POINTS, POINTS), min_size=3, max_size=15), st.randoms())
def test_neither_the_order_of_the_judgements_nor_the_side_of_a_variant_matters(cases, shuffle):
    judged = [
        each
        for number, (case, x, y, z) in enumerate(cases)
        for each in (
            ((case, number), "a", "b", x),
            ((case, number), "b", "c", y),
            ((case, number), "a", "c", z),
        )
    ]
    turned = [(case, b, a, 1 - points) for case, a, b, points in judged]
    shuffle.shuffle(turned)
    clusters = {case: case[0] for case, *_ in judged}
    one = strengths(judged, clusters=clusters, reference="b")
    two = strengths(turned, clusters=clusters, reference="b")
    for each in one.strengths:
        other = next(found for found in two.strengths if found.name == each.name)
        assert (each.value is None) == (other.value is None)
        for first, second in zip(
            (each.value, each.low, each.high), (other.value, other.low, other.high), strict=True
        ):
            if first is not None:
                assert first == pytest.approx(second, abs=1e-6)


def test_an_unbeaten_variant_has_no_number_and_the_others_keep_theirs():
    judged = [(case, "best", other, 1.0) for case in range(10) for other in ("a", "b")]
    judged += [(case, "a", "b", float(case < 7)) for case in range(10)]
    found = strengths(judged, reference="b")
    best, a, b = found.strengths
    assert best.unbeaten
    assert (best.value, best.low, best.high) == (None, None, None)
    assert a.value == pytest.approx(log(7 / 3))
    assert b.value == 0
    assert not found.connected
    assert found.pairs[0].seen.value == 1  # what was counted stays
    assert found.pairs[0].seen.interval.low < 0.8


def test_variants_that_were_never_linked_have_no_common_scale():
    found = strengths([(1, "a", "b", 1), (2, "a", "b", 0), (1, "c", "d", 1), (2, "c", "d", 0)])
    assert [each.group for each in found.strengths] == [1, 1, 2, 2]
    assert [pair.value for pair in found.pairs] == [0.5, None, None, None, None, 0.5]
    assert found.pairs[1].seen is None


def test_repeated_judgements_at_one_case_are_averaged_first():
    once = [(case, "a", "b", points) for case, points in enumerate([1, 1, 0, 0.5, 1])]
    many = [each for each in once for _ in range(7)]
    assert strengths(once).pairs == strengths(many).pairs
    assert strengths(many).n_judgements == 35


def test_what_is_wrong_is_refused_and_nothing_gives_nothing():
    assert strengths([]) is None
    for judged, message in [
        ((1, "a", "a", 1), "compares 'a' with itself"),
        ((1, "a", "b", 2), "between 0 and 1, got 2"),
        ((1, "a", "b", float("nan")), "between 0 and 1, got nan"),
    ]:
        with pytest.raises(ValueError, match=message):
            strengths([judged])
    with pytest.raises(ValueError, match="reference must be one of"):
        strengths([(1, "a", "b", 1)], reference="c")
    with pytest.raises(ValueError, match="every case needs its cluster"):
        strengths([(1, "a", "b", 1)], clusters={})


@pytest.mark.parametrize(
    ("true", "n", "ties"), [((0, 0.5, 1.0), 30, 0.5), ((0, 0, 2.0), 30, 0.0), ((0, 0.2, 0.4, 0.6), 15, 0.3)]
)
def test_known_strengths_are_covered_as_often_as_said(true, n, ties):
    draw = random.Random(1)
    covered = asked = 0
    for _ in range(60):
        for pair in strengths(simulated(draw, true, n, ties=ties)).pairs:
            if pair.interval is not None:
                asked += 1
                covered += 1 / (1 + exp(true[int(pair.second)] - true[int(pair.first)])) in pair.interval
    assert covered / asked >= 0.91


def test_clusters_widen_the_interval_where_their_cases_stand_or_fall_together():
    judged, clusters = [], {}
    for case in range(40):
        clusters[case] = case // 10
        win = float(case // 10 != 0)
        judged += [(case, "a", "b", win), (case, "b", "c", win), (case, "a", "c", 0.5)]
    alone, together = strengths(judged), strengths(judged, clusters=clusters)
    for one, other in zip(alone.pairs, together.pairs, strict=True):
        assert one.value == other.value
        if one.value != 0.5:
            assert one.interval.width < other.interval.width
