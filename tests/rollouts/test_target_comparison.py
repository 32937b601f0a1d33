"""Two targets on the same rollouts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import InvalidRolloutError
from calipers.rollouts import Graph, Node, compare_targets
from calipers.stats import paired_difference


def rollout(success, seed=0, goal="g", attack="please"):
    return Graph("", [Node("", attack, "r", success=success)], seed=seed, metadata={"goal": goal})


@given(st.lists(st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))))
def test_every_pair_is_counted_once_and_the_order_does_not_matter(outcomes):
    old = [rollout(before, seed) for seed, (before, _) in enumerate(outcomes)]
    new = [rollout(after, seed) for seed, (_, after) in enumerate(outcomes)]
    found = compare_targets(old, list(reversed(new)))
    assert [pair.seed for pair in found.newly_failing] == [
        seed for seed, pair in enumerate(outcomes) if pair == (False, True)
    ]
    assert [pair.seed for pair in found.fixed] == [
        seed for seed, pair in enumerate(outcomes) if pair == (True, False)
    ]
    parts = (found.newly_failing, found.fixed, found.both_failing, found.both_held, found.unjudged)
    assert sum(map(len, parts)) == len(outcomes)
    counts = [len(part) for part in (found.both_failing, found.newly_failing, found.fixed, found.both_held)]
    expected = paired_difference(*counts)
    assert (found.difference is None) is (expected is None)
    if expected is not None:
        assert found.difference.interval == expected.interval
        assert found.p_value == expected.p_value
    assert str(found)
    assert all(pair.old.seed == pair.new.seed for part in parts for pair in part)


def test_the_difference_is_positive_where_the_new_target_is_worse():
    old = [rollout(False, seed) for seed in range(20)]
    new = [rollout(seed < 8, seed) for seed in range(20)]
    found = compare_targets(old, new)
    assert found.difference.value == 0.4
    assert found.p_value == pytest.approx(0.5**8)
    assert str(found) == (
        "8 newly failing, 0 fixed, 0 failing and 12 holding in both: the rate of giving way changed by +40.0 points "
        "[+15.8, +61.3] (95 % over 20 rollouts), p = 0.003906"
    )


def test_many_seeds_of_two_goals_are_two_observations():
    old = [rollout(False, seed, goal) for goal in "ab" for seed in range(50)]
    new = [rollout(seed < {"a": 30, "b": 20}[goal], seed, goal) for goal in "ab" for seed in range(50)]
    found = compare_targets(old, new)
    assert (found.unit, found.difference.n_first) == ("goal", 2)
    assert (found.difference.test, found.p_value) == ("sign-flip", 0.5)
    assert found.difference.interval.low < 0 < found.difference.interval.high <= 1
    assert "changed, every goal counting once, by +50.0 points [" in str(found)
    assert "] (95 % over 2 goals), p = " in str(found)
    unequal = compare_targets([*old, rollout(False, 50, "a")], [*new, rollout(True, 50, "a")])
    assert unequal.difference.value == pytest.approx((31 / 51 + 20 / 50) / 2)


def test_one_seed_of_each_goal_is_tested_exactly():
    goals = [f"goal {place}" for place in range(8)]
    found = compare_targets(
        [rollout(False, 0, goal) for goal in goals], [rollout(True, 0, goal) for goal in goals]
    )
    assert (found.unit, found.difference.test) == ("goal", "mcnemar")
    assert found.p_value == pytest.approx(0.5**8)
    assert "counting once" not in str(found)


def test_the_changes_are_a_table_for_a_report():
    found = compare_targets(
        [rollout(False, 1), rollout(True, "x", "h", attack="old one")],
        [rollout(True, 1, attack="new one"), rollout(False, "x", "h")],
    )
    table = found.table()
    assert table.rows == [["newly failing", "g", "1", 1, "new one"], ["fixed", "h", "x", 1, "old one"]]
    assert table.note == str(found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ([rollout(True, 0)], [rollout(True, 1)], "1 rollout of the new target .* goal 'g' with seed 1"),
        ([rollout(True, 0), rollout(True, 1)], [rollout(True, 1)], "of the old target .* seed 0"),
        ([rollout(True, 0, "a")], [rollout(True, 0, "b")], "no counterpart"),
        ([rollout(True, seed) for seed in range(9)], [], "9 rollouts .* and 4 more"),
        ([rollout(True), rollout(True)], [rollout(True)], "two rollouts of the old target"),
    ],
)
def test_what_is_not_the_same_rollout_is_not_paired(old, new, message):
    with pytest.raises(InvalidRolloutError, match=message):
        compare_targets(old, new)


def test_seeds_of_different_kinds_are_different_seeds():
    with pytest.raises(InvalidRolloutError, match="no counterpart"):
        compare_targets([rollout(True, 1)], [rollout(True, "1")])


def test_attempts_that_failed_in_one_report_are_left_out_of_both():
    def run(*, broken):
        def task(seed):
            if seed == broken:
                raise ConnectionError("gone")
            return rollout(seed > 2, seed)

        return Dataset(cases=[Case(name=f"c{i}", inputs=i) for i in range(5)]).evaluate_sync(
            task, progress=False
        )

    found = compare_targets(run(broken=0), run(broken=4))
    assert (found.broke_off, found.difference.n_first) == (2, 3)
    assert str(found).endswith("; 2 pairs broke off, left out")


def test_where_every_pair_broke_off_the_text_says_so():
    def gone(seed):
        raise ConnectionError("gone")

    dataset = Dataset(cases=[Case(name=f"c{i}", inputs=i) for i in range(3)])
    report = dataset.evaluate_sync(gone, progress=False)
    assert str(compare_targets(report, report)) == "nothing to compare: 0 pairs not judged, 3 broke off"
