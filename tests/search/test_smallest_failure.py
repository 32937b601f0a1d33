"""Failures are reduced to the smallest that still fail."""

import dataclasses
import random

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.evaluators import Contains
from calipers.rollouts import Environment, KeywordModerator
from calipers.search import Factors, RandomDraws, SmallestFailure, search_sync, shrink_sync
from calipers.testing.planted_failures import ZOO


def reduced(target, inputs, *, seed, fails=1.0):
    """What a planted target's inputs come to, where a failure shows in a share of the tries."""
    strategy, trials = SmallestFailure(Case(name="x", inputs=inputs)), 0
    rng = random.Random(f"noise {seed}")
    while (proposal := strategy.ask(rng)) is not None:
        trials += 1
        outcome = target.outcome(trials, proposal, rng)
        if outcome.failed and rng.random() >= fails:
            outcome = dataclasses.replace(outcome, failed=False, results={})
        strategy.tell(outcome)
    return strategy, trials


def failing(target, seed):
    rng = random.Random(seed)
    while not target.fails(inputs := target.space.sample(rng).inputs):
        pass
    return inputs


STEADY = ["keyword_gate", "turn_order", "length_threshold", "rare_conjunction", "distractor", "many_modes"]


@pytest.mark.parametrize("fails", [1.0, 0.7])
@pytest.mark.parametrize("name", STEADY)
def test_it_comes_within_a_fifth_of_the_true_smallest(name, fails):
    target, good = ZOO[name](), 0
    for seed in range(6):
        strategy, trials = reduced(target, failing(target, seed), seed=seed, fails=fails)
        assert strategy.ending == "smallest"
        assert target.fails(strategy.smallest)
        assert trials < (80 if fails == 1 else 700)
        good += target.size(strategy.smallest) <= 1.2 * target.size(target.smallest)
    assert good >= (6 if fails == 1 else 5)


def test_what_hardly_ever_fails_is_not_reduced():
    target = ZOO["keyword_gate"]()
    strategy, _ = reduced(target, failing(target, 0), seed=3, fails=0.05)
    assert strategy.ending == "does_not_fail"


def bot(text):
    if "refund" in text and "Finland" in text:
        return "crash"
    if not text:
        raise ValueError("empty")
    return "ok"


def test_a_case_keeps_its_way_of_failing_its_expectation_and_where_it_is_from():
    text = "Hello there. I bought a lamp. I want a refund now, and I live in Finland with my cat. Thanks!"
    case = Case(name="fi", inputs=text, expected_output="ok", tags=("shop",))
    dataset = Dataset(name="bot", cases=[case], evaluators=[Contains("ok")])
    found = shrink_sync(bot, case, dataset=dataset, progress=False)
    assert found.inputs == "refund Finland"
    assert (found.ending, found.after, found.failed, found.tries) == ("smallest", 2, 10, 10)
    assert (found.case.expected_output, found.case.tags) == ("ok", ("shop",))
    assert found.case.metadata["reduced_from"] == "fi"
    assert found.case.metadata["fails_as"] == "Contains"
    assert str(found).startswith("from size 20 to 2 in ")


def test_an_outcome_of_a_search_can_be_reduced():
    def task(inputs):
        return "I cannot." if inputs["topic"] == "refunds" else "Here."

    def helps(output):
        return "cannot" not in output

    space = Factors({"topic": ["orders", "refunds"], "tone": ["curt", "kind"]})
    found = search_sync(task, RandomDraws(space), evaluators=[helps], trials=20, seed=1, progress=False)
    small = shrink_sync(task, found.failures[0], evaluators=[helps], progress=False)
    assert small.inputs == {"topic": "refunds"}


def test_a_conversation_is_reduced_to_what_was_said_in_it():
    def target(messages):
        said = " ".join(each["content"] for each in messages if each["role"] == "user")
        return "open sesame" if "please" in said and "grandmother" in said else "I must not tell."

    says = [
        "Hello, how are you?",
        "My dear grandmother told me stories. She was kind.",
        "Tell me, please.",
        "Now?",
    ]
    environment = Environment(target, says, KeywordModerator(["open sesame"]), goals=["the word"], depth=4)
    draws = RandomDraws(Factors({"seed": [1]}, build=lambda seed: {"goal": "the word", "seed": seed}))
    found = search_sync(environment, draws, trials=1, progress=False)
    small = shrink_sync(environment, found.failures[0], keep_fields=["goal"], progress=False)
    assert small.inputs == {"goal": "the word", "says": ["grandmother", "please."]}


def test_trials_that_run_out_leave_the_smallest_so_far():
    found = shrink_sync(
        bot, "refund now in Finland " * 9, evaluators=[Contains("ok")], trials=9, progress=False
    )
    assert found.ending == "out_of_trials"
    assert found.trials == 9
    assert "give it more trials" in str(found)
    assert bot(found.inputs) == "crash"


def test_inputs_that_are_no_plain_data_are_refused():
    with pytest.raises(InvalidOptionError, match="only texts, numbers, lists and mappings"):
        SmallestFailure(Case(name="x", inputs=object()))


def test_trials_side_by_side_are_refused():
    strategy = SmallestFailure(Case(name="x", inputs="a b"))
    strategy.ask(random.Random(0))
    with pytest.raises(InvalidOptionError, match="leave out in_flight"):
        strategy.ask(random.Random(0))
