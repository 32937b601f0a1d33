from hypothesis import given
from hypothesis import strategies as st

from calipers.search import Outcome, Proposal, pareto_front, ranked_failures

SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1)


def dominates(one, other):
    return one[0] >= other[0] and one[1] >= other[1] and one != other


@given(st.lists(st.tuples(SHARES, SHARES), max_size=30))
def test_none_dominates_a_member_and_a_member_dominates_every_other(points):
    front = pareto_front(points)
    members = [point for point, on_front in zip(points, front, strict=True) if on_front]
    for point, on_front in zip(points, front, strict=True):
        if on_front:
            assert not any(dominates(other, point) for other in points)
        else:
            assert any(dominates(member, point) for member in members)
    assert bool(members) is bool(points)


def tried(number, inputs, *, failed=True, severity=1.0, realism=0.5):
    reward = 1.0 if failed else severity
    return Outcome(number, Proposal(inputs), failed=failed, reward=reward, severity=severity, realism=realism)


def test_trials_of_the_same_inputs_are_one_failure_and_a_try_that_held_makes_it_less_bad():
    outcomes = [
        tried(1, {"a": 1, "b": 2}),
        tried(2, {"b": 2, "a": 1}, failed=False, severity=0.3),
        tried(3, {"a": 2}),
        tried(4, {"a": 3}, failed=False),
        tried(5, {"a": 2}, failed=None),
    ]
    ranked = ranked_failures(outcomes)
    assert [(each.outcome.number, each.tries, each.badness) for each in ranked] == [(3, 1, 1.0), (1, 2, 0.5)]
    assert [each.on_front for each in ranked] == [True, False]


def test_the_most_ordinary_comes_first_and_one_that_is_not_known_last_and_not_on_the_front():
    outcomes = [
        tried(1, "odd", realism=0.01),
        tried(2, "unknown", realism=None),
        tried(3, "ordinary", realism=0.6, severity=0.4),
        tried(4, "beaten", realism=0.005, severity=0.9),
    ]
    ranked = ranked_failures(outcomes)
    assert [each.outcome.proposal.inputs for each in ranked] == ["ordinary", "odd", "beaten", "unknown"]
    assert [each.on_front for each in ranked] == [True, True, False, False]
    assert ranked[-1].realism is None
