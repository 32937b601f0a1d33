import random
from statistics import median

import pytest

from calipers.errors import InvalidOptionError
from calipers.search import Evolution, Factors, SchemaInputs, search_sync
from calipers.testing import ZOO, calls_to_failure


@pytest.mark.parametrize(
    ("name", "by"), [("keyword_gate", None), ("length_threshold", None), ("distractor", ["style"])]
)
def test_it_needs_a_fifth_of_the_calls_of_random_draws_where_failures_are_approached(name, by):
    target = ZOO[name]()
    calls = [
        calls_to_failure(target, Evolution(target.space, by=by), seed=seed, most=2000) or 2000
        for seed in range(15)
    ]
    assert median(calls) <= 0.69 / target.probability / 5


def test_the_archive_holds_different_failures():
    space = Factors({"mode": list("abcdef"), "push": range(1, 30)})

    def task(inputs):
        return inputs

    def holds(output):
        return {f"no {mode}": not (output["mode"] == mode and output["push"] > 25) for mode in "abcd"} | {
            "calm": 1 - output["push"] / 30
        }

    strategy = Evolution(space, by=["mode"])
    found = search_sync(task, strategy, evaluators=[holds], trials=250, seed=0, progress=False)
    assert set(found.kinds) == {"no a", "no b", "no c", "no d"}
    assert {niche for niche, elites in strategy.archive.items() if elites[0].failed} == {
        ("a",),
        ("b",),
        ("c",),
        ("d",),
    }
    assert all(len(elites) <= strategy.elites for elites in strategy.archive.values())


def test_a_child_names_its_parents_and_differs_in_one_factor():
    target = ZOO["keyword_gate"]()
    strategy, proposals = Evolution(target.space, fresh=0), {}
    for number in range(1, 80):
        proposal = strategy.ask(random.Random(number))
        proposals[number] = proposal
        if len(proposal.parents) == 1:
            parent = proposals[proposal.parents[0]].choices
            assert sum(parent[name] != proposal.choices[name] for name in parent) == 1
        elif proposal.parents:
            first, second = (proposals[each].choices for each in proposal.parents)
            assert all(value in {first[name], second[name]} for name, value in proposal.choices.items())
        strategy.tell(target.outcome(number, proposal, random.Random(0)))
    assert any(len(proposal.parents) == 2 for proposal in proposals.values())


def test_it_changes_values_of_any_space():
    space = SchemaInputs({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
                          "required": ["n"]})  # fmt: skip

    def far(output):
        return {"far": output["n"] < 97, "near": 1 - output["n"] / 100}

    found = search_sync(
        lambda value: value, Evolution(space), evaluators=[far], trials=80, seed=1, progress=False
    )
    assert found.failures


def test_niches_may_be_a_function():
    strategy = Evolution(ZOO["keyword_gate"]().space, by=lambda outcome: outcome.number % 2)
    target = ZOO["keyword_gate"]()
    for number in range(1, 20):
        strategy.tell(target.outcome(number, strategy.ask(random.Random(number)), random.Random(0)))
    assert set(strategy.archive) == {0, 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "style"}, "a list of names"),
        ({"elites": 0}, "elites"),
        ({"fresh": 2}, "fresh"),
        ({"first": 0}, "first"),
    ],
)
def test_what_is_no_option_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        Evolution(ZOO["keyword_gate"]().space, **options)
    with pytest.raises(InvalidOptionError, match="sample and redraw"):
        Evolution(["a"])
