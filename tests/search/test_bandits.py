import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.search import Factors, Outcome, RandomDraws, ThompsonBandit, UpperBoundBandit
from calipers.testing import ZOO, calls_to_failure

SPACE = Factors({"attack": ["a", "b", "c"], "goal": [1, 2]}, weights={"attack": [1, 0, 3]})
KINDS = [ThompsonBandit, UpperBoundBandit]


@pytest.mark.parametrize("kind", KINDS)
def test_it_needs_a_fifth_of_the_calls_of_random_draws_where_arms_differ(kind):
    target = ZOO["noisy_arms"]()
    learned = [
        calls_to_failure(target, kind(target.space), seed=seed, most=4000) or 4000 for seed in range(15)
    ]
    by_chance = 0.69 / target.probability  # the median of a geometric distribution
    assert median(learned) <= by_chance / 5
    drawn = [
        calls_to_failure(target, RandomDraws(target.space), seed=seed, most=400) or 400 for seed in range(5)
    ]
    assert median(learned) < median(drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_option_is_tried_most(kind):
    bandit, rng = kind(SPACE), random.Random(0)
    for number in range(300):
        proposal = bandit.ask(rng)
        reward = 0.6 if proposal.choices["attack"] == "c" else 0.2
        bandit.tell(Outcome(number, proposal, failed=False, reward=reward))
    tried = {name: arm.asked for name, arm in zip("abc", bandit.arms["attack"], strict=True)}
    assert tried["c"] > 200
    assert tried["b"] == 0, "the space never has it"


@given(st.sampled_from(KINDS), st.booleans(), st.integers(0, 2**32), st.integers(1, 4))
def test_what_it_asks_follows_from_what_it_was_told(kind, joint, seed, in_flight):
    def proposed():
        bandit, waiting, found = kind(SPACE, joint=joint), [], []
        for number in range(1, 30):
            if len(waiting) == in_flight:
                bandit.tell(waiting.pop(0))
            proposal = bandit.ask(random.Random(f"{seed} {number}"))
            reward = random.Random(repr(proposal.inputs)).random()
            waiting.append(Outcome(number, proposal, failed=False, reward=reward))
            found.append(proposal)
        return found

    assert proposed() == proposed()


@pytest.mark.parametrize("kind", KINDS)
def test_many_in_flight_do_not_all_try_the_same(kind):
    bandit, rng = kind(SPACE), random.Random(0)
    assert len({bandit.ask(rng).choices["attack"] for _ in range(12)}) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_of_which_nothing_is_known_counts_for_nothing(kind):
    bandit, rng = kind(SPACE), random.Random(0)
    bandit.tell(Outcome(1, bandit.ask(rng), failed=None, reward=0.0))
    assert all(arm.asked == arm.reward == 0 for arms in bandit.arms.values() for arm in arms)


@pytest.mark.parametrize("kind", KINDS)
def test_combinations_are_arms_where_options_work_only_together(kind):
    bandit, rng = kind(SPACE, joint=True), random.Random(0)
    for number in range(200):
        proposal = bandit.ask(rng)
        reward = float(proposal.choices in ({"attack": "a", "goal": 2}, {"attack": "c", "goal": 1})) / 2
        bandit.tell(Outcome(number, proposal, failed=False, reward=reward))
    most = max(range(6), key=lambda at: bandit.arms["all"][at].asked)
    assert most in {1, 4}


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_arms_is_refused(kind):
    with pytest.raises(InvalidOptionError, match="needs a space of options"):
        kind(["a"])
    with pytest.raises(InvalidOptionError, match="too many arms"):
        kind(Factors({"a": range(1000), "b": range(1000)}), joint=True)
