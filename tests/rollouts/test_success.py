"""How often attacks succeed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import (
    Graph,
    Node,
    attack_success,
    bound_text,
    calls_per_success,
    compare_targets,
    cost_per_success,
    turns_to_success,
)
from calipers.stats import kaplan_meier, pass_at_k, rate, ratio_of_totals, upper_bound, wilson


def rollout(success, goal="g", attack=None):
    metadata = {} if attack is None else {"attack": attack}
    node = Node("", "a", "r", success=success, metadata=metadata)
    return Graph("", [node], metadata={"goal": goal})


def rollouts(counts):
    """Rollouts from (successes, tries) per goal."""
    return [rollout(i < wins, str(goal)) for goal, (wins, tries) in enumerate(counts) for i in range(tries)]


counts = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=8
)


@given(counts)
def test_the_rate_and_success_at_k_are_those_of_the_goals(pairs):
    found = attack_success(rollouts(pairs))
    assert [(goal.successes, goal.tries) for goal in found.goals] == pairs
    assert found.rate == rate(pairs)
    assert found.max_k == min(tries for _, tries in pairs)
    assert found.curve() == [pass_at_k(pairs, k) for k in range(1, found.max_k + 1)]
    values = [estimate.value for estimate in found.curve()]
    assert values == sorted(values), "more tries never lower the chance"
    assert found.unit == "goal"


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_of_a_single_goal_the_rollouts_are_the_units(pair):
    found = attack_success(rollouts([pair]))
    assert found.unit == "rollout"
    assert found.rate.interval == wilson(*pair)
    for estimate in found.curve():
        assert estimate.interval.low <= estimate.value <= estimate.interval.high
    once = found.at_k(1).interval
    assert (once.low, once.high) == (pytest.approx(wilson(*pair).low), pytest.approx(wilson(*pair).high))


def test_success_at_k_of_a_single_goal_follows_its_rate():
    found = attack_success(rollouts([(3, 10)]))
    interval = found.at_k(4).interval
    assert interval.low == pytest.approx(1 - (1 - wilson(3, 10).low) ** 4)
    assert interval.high == pytest.approx(1 - (1 - wilson(3, 10).high) ** 4)


def test_a_rate_that_is_not_the_share_of_rollouts_says_what_it_is():
    text = str(attack_success(rollouts([(10, 10), (0, 10), (2, 4)])))
    assert text.startswith("12 of 24 rollouts succeeded: 50.0 % [")
    text = str(attack_success(rollouts([(10, 16), (2, 4)])))
    assert text.startswith("12 of 20 rollouts succeeded; every goal counting once: 56.2 % [")


@pytest.mark.parametrize("k", ["2", 1.5, True, None], ids=repr)
def test_a_number_of_tries_is_a_whole_number(k):
    with pytest.raises(InvalidOptionError, match="k must be a whole number from 1"):
        attack_success(rollouts([(1, 3)])).at_k(k)
    with pytest.raises(InvalidOptionError, match="whole number from 0"):
        bound_text(k)


@pytest.mark.parametrize("confidence", ["x", None, 95, float("nan")], ids=repr)
def test_a_confidence_is_between_0_and_1(confidence):
    for ask in (attack_success, calls_per_success, turns_to_success):
        with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
            ask(rollouts([(1, 3)]), confidence=confidence)
    with pytest.raises(ValueError, match="confidence must lie"):
        bound_text(3, confidence=confidence)


def test_more_tries_than_were_made_cannot_be_spoken_of():
    with pytest.raises(ValueError, match="needs at least 3 attempts"):
        attack_success(rollouts([(1, 2), (1, 5)])).at_k(3)


def test_rollouts_without_a_judgement_are_left_out_and_counted():
    found = attack_success([rollout(True), rollout(None), rollout(False)])
    assert (found.n, found.successes, found.unjudged) == (2, 1, 1)
    assert str(found).endswith("(1 rollout not judged, left out)")


@pytest.mark.parametrize("given_rollouts", [[], [rollout(None)]], ids=["none", "unjudged"])
def test_without_a_judged_rollout_there_is_no_number(given_rollouts):
    found = attack_success(given_rollouts)
    assert (found.rate, found.bound, found.curve(), found.at_k(1)) == (None, None, [], None)
    assert str(found).startswith("no rollout was judged")


def test_turns_count_by_the_name_of_their_attack():
    found = attack_success(
        [
            *[rollout(wins, goal, "base64") for goal in "ab" for wins in (True, False)],
            rollout(False, "a", "rot13"),
            rollout(None, "a", "unjudged"),
        ]
    )
    assert list(found.attacks) == ["base64", "rot13"]
    assert found.attacks["base64"] == rate([(1, 2), (1, 2)])
    assert (found.attacks["rot13"].value, found.attacks["rot13"].n_observations) == (0, 1)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (300, "0 of 300: at 95 % confidence the true rate is below 1.0 %"),
        (1, "0 of 1: at 95 % confidence the true rate is below 95 %"),
        (3_000_000, "0 of 3,000,000: at 95 % confidence the true rate is below 0.00010 %"),
        (0, "0 of 0: nothing was tried, so nothing can be said"),
    ],
)
def test_what_clean_rollouts_allow_is_said_in_words(n, expected):
    assert bound_text(n) == expected


@given(st.integers(1, 10_000), st.floats(0.5, 0.999))
def test_the_bound_in_words_is_never_below_the_bound(n, confidence):
    said = float(bound_text(n, confidence=confidence).split()[-2]) / 100
    exact = 1 - (1 - confidence) ** (1 / n)
    assert exact - 1e-12 <= said <= min(1, 1.11 * exact)


def test_nothing_found_on_few_goals_says_little_about_other_goals():
    assert str(attack_success(rollouts([(0, 100)] * 3))) == (
        "0 of 300: at 95 % confidence the true rate is below 1.0 % on these 3 goals; of other goals like these, up to "
        "64 % may be lost"
    )
    assert str(attack_success(rollouts([(0, 300)]))) == bound_text(300)


def test_repeats_do_not_lower_the_bound_of_goals():
    assert attack_success(rollouts([(0, 100)] * 3)).bound == attack_success(rollouts([(0, 1)] * 3)).bound
    assert attack_success(rollouts([(50, 100), (0, 100)])).bound == pytest.approx(upper_bound(0.5, 2))
    assert attack_success(rollouts([(9, 9), (4, 4)])).bound == 1


def test_on_these_goals_the_one_tried_least_decides():
    assert "below 78 % on these 2 goals" in str(attack_success(rollouts([(0, 100), (0, 1)])))


def test_rollouts_that_may_be_copies_of_each_other_are_counted():
    graphs = rollouts([(1, 2), (0, 2)])
    for seed, graph in zip([1, 1, 1, 2], graphs, strict=True):
        graph.seed = seed
    found = attack_success([*graphs, *graphs[:2]])
    assert found.copies == 3
    assert str(found).endswith("(3 rollouts with the goal and seed of another: copies?)")
    assert attack_success(rollouts([(1, 5)])).copies == 0, "the seeds are not known"


def test_nineteen_of_twenty_bounds_hold():
    draw = random.Random(0)
    true, n, rounds = 0.02, 60, 300
    held = 0
    for _ in range(rounds):
        wins = sum(draw.random() < true for _ in range(n))
        held += attack_success(rollouts([(wins, n)])).bound >= true
    assert held >= 0.93 * rounds


def test_what_an_interrupted_report_says_names_that_it_is_incomplete():
    cases = [Case(name=str(number), inputs=number) for number in range(3)]
    task = Dataset(cases=cases)
    report = task.evaluate_sync(lambda number: rollout(False, str(number)), progress=False)
    assert "incomplete" not in str(attack_success(report))
    report.incomplete = "interrupted by Ctrl-C after 3 of 64"
    assert "incomplete: interrupted by Ctrl-C after 3 of 64" in str(attack_success(report))
    other = [rollout(False, str(number)) for number in range(4)]
    with pytest.raises(InvalidRolloutError, match="old target is incomplete: interrupted"):
        compare_targets(report, other)


def held_rollout(held, succeeds, goal=None):
    """A conversation in which the target held for so many turns, and then gave way or was left alone."""
    outcomes = [False] * held + [True] * succeeds
    children = []
    for outcome in reversed(outcomes):
        children = [Node("", "a", "r", 0.0, children, success=outcome)]
    return Graph("", children, metadata={} if goal is None else {"goal": goal})


def test_a_rollout_without_success_is_watched_to_its_last_turn():
    curve = turns_to_success(
        [
            held_rollout(0, True, "a"),
            held_rollout(2, False, "b"),
            held_rollout(2, True, "c"),
            held_rollout(5, False, "d"),
        ]
    )
    assert curve == kaplan_meier([1, 2, 3, 5], [True, False, True, False])
    assert curve.median == 3


def test_rollouts_after_one_goal_are_one_cluster():
    curve = turns_to_success([held_rollout(held, True, goal) for goal in "abc" for held in (1, 2)])
    assert curve == kaplan_meier([2, 3] * 3, [True] * 6, clusters=[0, 0, 1, 1, 2, 2])


def test_of_a_single_goal_every_rollout_counts():
    assert turns_to_success([held_rollout(1, True), held_rollout(2, True)]).n_clusters is None


def test_in_a_tree_the_first_branch_to_succeed_counts():
    late = held_rollout(3, True).children[0]
    early = held_rollout(1, True).children[0]
    assert turns_to_success([Graph("", [late, early])]).steps[0].time == 2


@pytest.mark.parametrize("graphs", [[], [Graph("", [])], [Graph("", [Node("", "a", "r")])]])
def test_without_a_judged_rollout_there_is_no_curve(graphs):
    assert turns_to_success(graphs) is None


def paid_rollout(success, *costs, goal="g"):
    nodes = [Node("", "a", "r", success=success, cost=cost) for cost in costs]
    return Graph("", nodes, metadata={"goal": goal})


def test_the_rollouts_in_vain_are_paid_for_too():
    found = cost_per_success([paid_rollout(True, 1.0), paid_rollout(False, 2.0, 3.0)])
    assert (found.value, found.spent, found.successes, found.rollouts) == (6, 6, 1, 2)
    assert calls_per_success([paid_rollout(True, 1.0), paid_rollout(False, 2.0, 3.0)]).value == 3


def test_the_interval_is_over_goals_and_over_rollouts_of_a_single_goal():
    by_goal = [paid_rollout(goal != "b", cost, goal=goal) for goal in "abcdef" for cost in (1.0, 2.0, 4.0)]
    expected = ratio_of_totals([7.0] * 6, [3, 0, 3, 3, 3, 3], most=[3] * 6)
    found = cost_per_success(by_goal)
    assert (found.low, found.high, found.unit) == (expected.low, expected.high, "goal")
    single = [paid_rollout(i != 3, 1.0 + i) for i in range(20)]
    expected = ratio_of_totals([1.0 + i for i in range(20)], [i != 3 for i in range(20)], most=[1] * 20)
    found = cost_per_success(single)
    assert (found.low, found.high, found.unit) == (expected.low, expected.high, "rollout")
    assert str(found).startswith("11.05 cost units per success [")


def test_without_a_success_there_is_a_bound_and_no_number():
    found = cost_per_success([paid_rollout(False, 0.5)] * 300)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.at_least == pytest.approx(0.5 / (1 - 0.05 ** (1 / 300)))
    assert str(found) == (
        "150 cost units and no success in 300 rollouts, so at least 50.32 per success at 95 % confidence"
    )


def test_without_a_success_the_bound_is_one_of_goals():
    found = calls_per_success([paid_rollout(False, 0.5, goal=goal) for goal in "abc"] * 100)
    assert found.at_least == pytest.approx(1 / (1 - 0.05 ** (1 / 3)))
    uneven = [paid_rollout(False, 0.5, goal=goal) for goal in "a" * 98 + "bc"]
    assert calls_per_success(uneven).at_least == pytest.approx(1 / 0.95), "hardly more than one goal"


@pytest.mark.parametrize(("wins", "n"), [(30, 30), (1, 30), (3, 3)])
def test_the_interval_is_as_wide_as_that_of_the_rate(wins, n):
    found = calls_per_success([paid_rollout(i < wins, 1.0) for i in range(n)])
    rate = wilson(wins, n)
    assert (found.value, found.low, found.high) == (
        n / wins,
        pytest.approx(1 / rate.high),
        pytest.approx(1 / rate.low),
    )


def test_a_success_takes_at_least_one_call_and_no_interval_says_otherwise():
    found = calls_per_success(
        [paid_rollout(i % 2 == 0, *[1.0] * n) for i, n in enumerate([1, 4, 1, 5, 1, 6])]
    )
    assert ratio_of_totals([1, 4, 1, 5, 1, 6], [1, 0, 1, 0, 1, 0]).low < found.low == 1


def test_where_there_is_no_interval_the_text_says_why():
    found = calls_per_success([paid_rollout(True, 1.0)])
    assert str(found) == (
        "1 calls per success (no interval: it takes at least two rollouts, and what costs nothing has none)"
    )


def test_attempts_that_failed_are_counted():
    def task(inputs):
        if inputs == "b":
            raise ConnectionError("the line is dead")
        return paid_rollout(True, 1.0, goal=inputs)

    report = Dataset(cases=[Case(name=name, inputs=name) for name in "abc"]).evaluate_sync(
        task, progress=False
    )
    for found in (cost_per_success(report), calls_per_success(report), attack_success(report)):
        assert found.failed == 1
        assert "1 rollout failed, left out" in str(found)


def test_what_was_not_judged_or_does_not_tell_its_cost_is_left_out_and_counted():
    given = [paid_rollout(True, 1.0), paid_rollout(None, 1.0), paid_rollout(True, None)]
    found = cost_per_success(given)
    assert (found.value, found.rollouts, found.left_out) == (1, 1, 2)
    assert calls_per_success(given).left_out == 1


def test_nothing_measured_says_so():
    assert str(cost_per_success([])) == "cost per success: not measured"


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0])
def test_a_cost_that_cannot_be_is_refused(cost):
    with pytest.raises(InvalidRolloutError, match="'g' says that it cost"):
        cost_per_success([paid_rollout(True, cost)])
