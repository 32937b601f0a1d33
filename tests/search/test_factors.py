import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.errors import InvalidOptionError
from calipers.search import Factors, Proposal, Space

OPTIONS = st.dictionaries(
    st.text(min_size=1), st.lists(st.integers(), min_size=1, unique=True), min_size=1, max_size=4
)


@given(OPTIONS, st.integers())
def test_the_same_seed_draws_the_same(options, seed):
    space = Factors(options)
    assert space.sample(random.Random(seed)) == space.sample(random.Random(seed))


@given(OPTIONS, st.integers())
def test_a_redraw_changes_one_factor_at_most(options, seed):
    space, rng = Factors(options), random.Random(seed)
    before = space.sample(rng)
    after = space.redraw(before, rng)
    assert sum(before.choices[name] != after.choices[name] for name in options) <= 1


def test_the_probabilities_of_all_choices_add_up_to_one():
    space = Factors({"a": [1, 2, 3], "b": ["x", "y"]}, weights={"a": [1, 0, 3]})
    chances = [math.exp(space.log_probability({"a": a, "b": b})) for a in (1, 2, 3) for b in "xy"]
    assert sum(chances) == pytest.approx(1)
    assert min(chances) == 0


def test_draws_follow_the_weights():
    space, rng = Factors({"a": [1, 2]}, weights={"a": [9, 1]}), random.Random(0)
    drawn = Counter(space.sample(rng).inputs["a"] for _ in range(5000))
    assert drawn[1] / 5000 == pytest.approx(0.9, abs=0.02)


def test_a_function_makes_inputs_of_the_choices():
    space = Factors(
        {"tone": ["please", "now"], "what": ["a refund"]}, build=lambda tone, what: f"{what}, {tone}"
    )
    proposal = space.sample(random.Random(0))
    assert proposal.inputs == f"a refund, {proposal.choices['tone']}"
    assert isinstance(space, Space)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({}, None, "at least one factor"),
        ({"a": []}, None, "options of the factor 'a'"),
        ({"a": "xyz"}, None, "options of the factor 'a'"),
        ({"a": [1]}, {"a": [1, 2]}, "one number from 0 for each of its 1 options"),
        ({"a": [1]}, {"b": [1]}, "factor 'b'"),
        ({"a": [1, 2]}, {"a": [0, 0]}, "weight above 0"),
    ],
)
def test_what_is_no_space_is_refused(options, weights, message):
    with pytest.raises(InvalidOptionError, match=message):
        Factors(options, weights=weights)


@given(OPTIONS, st.integers())
def test_a_variation_changes_one_factor_at_most(options, seed):
    space, rng = Factors(options), random.Random(seed)
    before = space.sample(rng)
    after = space.vary(before, rng)
    changed = [name for name in options if before.choices[name] != after.choices[name]]
    assert len(changed) <= 1
    assert changed or all(len(each) == 1 or len(each) > 2 for each in options.values())


def test_a_build_may_give_a_proposal_of_its_own():
    case = Case(name="base", inputs="x")
    space = Factors({"tone": ["loud"]}, build=lambda tone: Proposal(f"x {tone}", case=case))
    proposal = space.sample(random.Random(0))
    assert (proposal.inputs, proposal.choices, proposal.case) == ("x loud", {"tone": "loud"}, case)
