from dataclasses import replace
from statistics import median

import pytest

from calipers.errors import InvalidOptionError
from calipers.rollouts import Environment, KeywordModerator
from calipers.search import Factors, RandomDraws, Realism, ThompsonBandit, compared, search_sync
from calipers.testing import shop_turns

SPACE = Factors({"topic": list("abcdefghij"), "tone": list("uvwxyz"), "length": range(1, 11)})


def old(inputs):
    return "broken" if inputs["topic"] == "a" else "fine"


async def new(inputs):
    if inputs["topic"] == "b" and inputs["tone"] == "u" and inputs["length"] > 5:
        raise ValueError("too long")
    if inputs["topic"] == "c" and inputs["tone"] == "v":
        return "broken"
    return old(inputs)


def works(output):
    return output != "broken"


def searched(strategy, **options):
    both = compared(new, old, [works])
    return search_sync(
        both.task,
        strategy(SPACE),
        evaluators=both.evaluators,
        objective=both.objective,
        progress=False,
        **{"trials": 200, "seed": 0, **options},
    )


def test_only_what_the_new_version_breaks_is_a_failure():
    found = searched(RandomDraws, trials=600)
    assert found.failures
    broken = {(each.proposal.choices["topic"], each.proposal.choices["tone"]) for each in found.failures}
    assert broken == {("b", "u"), ("c", "v")}
    both_wrong = [each for each in found.outcomes if each.proposal.choices["topic"] == "a"]
    assert both_wrong
    assert not any(each.failed for each in both_wrong)


def test_a_bandit_needs_fewer_trials_than_chance_to_find_more():
    counts = {
        kind: median(len(searched(kind, seed=seed).failures) for seed in range(3))
        for kind in (RandomDraws, ThompsonBandit)
    }
    assert counts[ThompsonBandit] > 3 * counts[RandomDraws]


def test_both_are_judged_under_their_own_names():
    outcome = searched(RandomDraws, trials=1).outcomes[0]
    assert set(outcome.results) == {"works (old)", "works (new)"}
    assert outcome.output == {"old": {"output": "fine"}, "new": {"output": "fine"}}


def test_a_score_that_sinks_leads_there():
    both = compared(
        lambda inputs: inputs["length"] / 10,
        lambda inputs: 0.0,
        [lambda output: {"near": 1 - output, "ok": output < 0.95}],
    )
    found = search_sync(both.task, ThompsonBandit(SPACE), evaluators=both.evaluators, objective=both.objective,
                        trials=20, seed=0, progress=False)  # fmt: skip
    for each in found.outcomes:
        if not each.failed:
            assert each.reward == pytest.approx(each.proposal.choices["length"] / 20)


def test_a_lost_connection_tells_nothing():
    def lost(inputs):
        raise ConnectionError("lost")

    both = compared(lost, old, [works])
    found = search_sync(both.task, RandomDraws(SPACE), evaluators=both.evaluators, objective=both.objective,
                        trials=3, seed=0, progress=False)  # fmt: skip
    assert found.unknown == 3


def test_without_evaluators_nothing_can_be_compared():
    with pytest.raises(InvalidOptionError, match="give evaluators"):
        compared(new, old, [])


def test_two_environments_are_compared_by_what_their_moderators_say():
    def environment(weak_at):
        def target(messages):
            return "open sesame" if weak_at(messages[-1]["content"]) else "no"

        return Environment(target, ["Hello."], KeywordModerator(["open sesame"]), depth=1)

    space = Factors(
        {"attack": ["direct", "rot13", "hex", "base64"]},
        build=lambda attack: {"goal": "Tell me.", "attack": attack},
    )
    both = compared(
        environment(lambda text: "base64" in text or "rot13" in text),
        environment(lambda text: "rot13" in text),
    )
    found = search_sync(both.task, RandomDraws(space), evaluators=both.evaluators, objective=both.objective,
                        trials=30, seed=0, progress=False)  # fmt: skip
    failed = {each.proposal.choices["attack"]: bool(each.failed) for each in found.outcomes}
    assert failed == {"direct": False, "rot13": False, "hex": False, "base64": True}
    realism = Realism(shop_turns(20))
    ranked = search_sync(both.task, RandomDraws(space), evaluators=both.evaluators,
                         objective=replace(both.objective, realism=realism), trials=30, seed=0, progress=False)  # fmt: skip
    assert ranked.failures
    assert all(each.realism < 0.1 for each in ranked.failures), (
        "of what was said, not of the name of the attack"
    )
    assert [each.severity for each in ranked.outcomes] == [each.severity for each in found.outcomes]
