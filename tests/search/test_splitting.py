"""Splitting and importance sampling, on targets whose failure probability is known."""

import random

import pytest

from calipers.errors import InvalidOptionError
from calipers.search import Factors, ImportanceDraws, Proposal, RandomDraws, Splitting, search_sync
from calipers.testing.planted_failures import keyword_gate, never_fails, rare_conjunction, turn_order


def make_trials(target, strategy, *, seed, most=200_000, in_flight=1):
    """Ask and tell as a search does, without a run around it; returns how many trials there were."""
    waiting, count = [], 0
    while count < most:
        proposal = strategy.ask(random.Random(f"ask {seed} {count}"))
        if proposal is None:
            break
        count += 1
        waiting.append((count, proposal))
        if len(waiting) == in_flight:
            number, first = waiting.pop(0)
            strategy.tell(target.outcome(number, first, random.Random(f"answer {seed} {number}")))
    for number, proposal in waiting:
        strategy.tell(target.outcome(number, proposal, random.Random(f"answer {seed} {number}")))
    return count


@pytest.mark.parametrize(
    "target", [keyword_gate(keywords=5), turn_order(order=4, turns=8)], ids=lambda each: each.name
)
def test_splitting_finds_a_probability_that_plain_draws_do_not_see(target):
    assert target.probability < 6e-4
    covered, values = 0, []
    for seed in range(5):
        strategy = Splitting(target.space, particles=40, steps=5)
        make_trials(target, strategy, seed=seed)
        found = strategy.estimate()
        covered += found.interval is not None and target.probability in found.interval
        values.append(found.value)
    assert covered >= 4
    assert 0.5 < sum(values) / len(values) / target.probability < 1.8


def test_splitting_with_many_in_flight_estimates_the_same_thing():
    target = keyword_gate()
    strategy = Splitting(target.space, particles=40, steps=5)
    make_trials(target, strategy, seed=1, in_flight=64)
    assert target.probability in strategy.estimate().interval


def test_splitting_says_nothing_before_all_runs_are_over():
    target = keyword_gate()
    strategy = Splitting(target.space)
    make_trials(target, strategy, seed=0, most=700)
    found = strategy.estimate()
    assert (found.value, found.interval, found.doubts) == (None, None, ("unfinished",))
    assert "give the search more trials" in str(found)


def test_splitting_says_where_no_run_arrived():
    target = rare_conjunction(matter=5)
    strategy = Splitting(target.space, particles=20, runs=4)
    make_trials(target, strategy, seed=0)
    assert strategy.estimate().doubts == ("no_failure",)
    assert "how likely it fails is not known" in str(strategy.estimate())


def test_splitting_needs_redraws_that_keep_the_distribution():
    class Space:
        keeps_distribution = False

        def sample(self, rng):
            return Proposal(rng.random())

        def redraw(self, proposal, rng):
            return Proposal(proposal.inputs / 2)

    with pytest.raises(InvalidOptionError, match="Space does not: use Factors"):
        Splitting(Space())


def tilted(space, good, times):
    weights = {
        name: [
            chance * (times if option in good else 1)
            for option, chance in zip(options, space.probabilities(name), strict=True)
        ]
        for name, options in space.options.items()
    }
    return Factors(space.options, build=space.build, weights=weights)


def test_importance_sampling_finds_a_probability_that_plain_draws_do_not_see():
    target = rare_conjunction(matter=5)
    assert target.probability < 2e-4
    covered = doubted = 0
    for seed in range(20):
        strategy = ImportanceDraws(target.space, tilted(target.space, [6], 10))
        make_trials(target, strategy, seed=seed, most=600)
        found = strategy.estimate()
        covered += target.probability in found.interval
        doubted += "weights_off" in found.doubts
    assert covered >= 18
    assert doubted <= 1


def test_a_proposal_with_other_factors_is_refused():
    with pytest.raises(InvalidOptionError, match="factors and options of the space, got b for a"):
        ImportanceDraws(Factors({"a": [1, 2]}), Factors({"b": [1, 2]}))


def test_random_draws_have_the_exact_interval_and_tell_of_kinds_not_seen():
    found = search_sync(
        lambda inputs: inputs["n"],
        RandomDraws(Factors({"n": range(1, 31)})),
        evaluators=[lambda output: {f"not {output}": output > 3}],
        trials=80,
        seed=3,
        progress=False,
    )
    assert found.estimate.trials == 80
    assert found.estimate.interval.method == "clopper-pearson"
    assert found.estimate.unseen.seen == len(found.kinds) >= 2
    assert "of failure seen; there are at least" in str(found.estimate)


def test_a_system_that_did_not_fail_has_an_upper_bound_only():
    target = never_fails()
    strategy = RandomDraws(target.space)
    make_trials(target, strategy, seed=0, most=300)
    found = strategy.estimate()
    assert (found.value, found.interval.low, found.doubts) == (0, 0, ("no_failure",))
    assert 0.01 < found.interval.high < 0.013
