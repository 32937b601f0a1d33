import random
from statistics import median

import pytest

from calipers.errors import InvalidOptionError
from calipers.search import CrossEntropy, Factors, Outcome
from calipers.testing import ZOO, calls_to_failure


def test_it_needs_a_fifth_of_the_calls_of_random_draws_where_parameters_lead_to_failures():
    target = ZOO["keyword_gate"]()
    calls = [
        calls_to_failure(target, CrossEntropy(target.space), seed=seed, most=1500) or 1500
        for seed in range(15)
    ]
    assert median(calls) <= 0.69 / target.probability / 5


def test_its_distribution_moves_to_what_comes_near_a_failure():
    space = Factors({"length": range(1, 101), "style": ["a", "b", "c"]}, weights={"style": [8, 1, 1]})
    strategy = CrossEntropy(space)
    for number in range(1, 300):
        proposal = strategy.ask(random.Random(number))
        near = 1 - abs(proposal.choices["length"] - 80) / 100
        reward = 0.9 * near * (1.0 if proposal.choices["style"] == "b" else 0.5)
        strategy.tell(Outcome(number, proposal, failed=False, reward=reward))
    learned = strategy.probabilities
    assert all(sum(weights) == pytest.approx(1) for weights in learned.values())
    assert learned["style"][1] > 0.8
    mean = sum(length * weight for length, weight in zip(range(1, 101), learned["length"], strict=True))
    assert mean == pytest.approx(80, abs=8)


def test_without_a_difference_it_learns_nothing():
    space = Factors({"style": ["a", "b"]}, weights={"style": [3, 1]})
    strategy = CrossEntropy(space)
    for number in range(1, 60):
        strategy.tell(Outcome(number, strategy.ask(random.Random(number)), failed=False, reward=0.0))
    assert strategy.probabilities == {"style": [0.75, 0.25]}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"batch": 1}, "batch"), ({"memory": 3}, "memory"), ({"elite": 0}, "elite"), ({"floor": 2}, "floor")],
)
def test_what_is_no_option_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        CrossEntropy(Factors({"a": [1]}), **options)
    with pytest.raises(InvalidOptionError, match="needs Factors"):
        CrossEntropy(["a"])
