"""Failures are sorted into kinds, by assertions, choices and meaning."""

import random

import pytest

from calipers.errors import InvalidOptionError
from calipers.rollouts import Environment, KeywordModerator
from calipers.search import (
    Alike,
    Factors,
    Findings,
    RandomDraws,
    ThompsonBandit,
    failure_kinds,
    search_sync,
)
from calipers.testing.planted_failures import many_modes

SPACE = Factors(
    {"attack": ["plain", "story", "base64"], "goal": ["word", "code"]}, weights={"attack": [6, 3, 1]}
)


def holds(output):
    return {"no story": output["attack"] != "story", "no base64": output["attack"] != "base64"}


def searched(strategy=RandomDraws, trials=120):
    return search_sync(dict, strategy(SPACE), evaluators=[holds], trials=trials, seed=1, progress=False)


def test_kinds_have_their_shares_with_intervals_where_trials_are_draws():
    found = searched()
    kinds = failure_kinds(found)
    assert [kind.name for kind in kinds.kinds] == ["no story", "no base64"]
    assert [len(kind.outcomes) for kind in kinds.kinds] == [
        len(found.kinds[kind.name]) for kind in kinds.kinds
    ]
    assert sum(kind.share for kind in kinds.kinds) == pytest.approx(1)
    assert 0.75 in kinds.kinds[0].share_interval
    assert 0.3 in kinds.kinds[0].rate_interval
    assert sum(kind.rate for kind in kinds.kinds) == pytest.approx(found.estimate.value)
    assert kinds.unseen == found.estimate.unseen
    assert "2 kinds of failure seen; there are at least 2" in str(kinds)


def test_of_a_search_that_learns_there_are_counts_alone():
    found = searched(ThompsonBandit)
    kinds = failure_kinds(found)
    assert all(kind.share_interval is kind.rate is None for kind in kinds.kinds)
    assert kinds.unseen is None
    assert "%" not in str(kinds)


def test_a_stored_search_does_not_say_who_chose_so_the_caller_may():
    stored = Findings.of(searched().report)
    assert failure_kinds(stored).unseen is None
    assert failure_kinds(stored, drawn=True).unseen.seen == 2


def test_kinds_may_be_by_a_choice_or_by_a_function():
    found = searched()
    by_goal = failure_kinds(found, by="goal")
    assert {kind.name for kind in by_goal.kinds} == {"word", "code"}
    by_function = failure_kinds(found, by=lambda outcome: outcome.number > 60)
    assert {kind.name for kind in by_function.kinds} == {"True", "False"}
    with pytest.raises(InvalidOptionError, match="no choice 'atack'"):
        failure_kinds(found, by="atack")


def test_without_failures_there_are_no_kinds():
    never = search_sync(str, RandomDraws(SPACE), evaluators=[lambda output: True], trials=3, progress=False)
    for by in (None, "goal", Alike()):
        kinds = failure_kinds(never, by)
        assert (kinds.kinds, kinds.unseen, str(kinds)) == ((), None, "no failures")


def test_texts_that_mean_nearly_the_same_are_of_one_kind():
    asked = [
        "I would like my money back, please.",
        "Please give me back my money.",
        "I want my money back please",
        "The parcel has not arrived yet.",
        "My parcel has still not arrived.",
        "How do I bake sourdough bread?",
    ]
    space = Factors({"text": asked}, build=lambda text: text)
    found = search_sync(
        str, RandomDraws(space), evaluators=[lambda output: False], trials=60, seed=1, progress=False
    )
    kinds = failure_kinds(found, by=Alike("output"))
    assert {frozenset(outcome.output for outcome in kind.outcomes) for kind in kinds.kinds} == {
        frozenset(asked[:3]),
        frozenset(asked[3:5]),
        frozenset(asked[5:]),
    }
    assert kinds.unseen.seen == 3
    assert [kind.name for kind in failure_kinds(found, by=Alike()).kinds] == [
        kind.name for kind in kinds.kinds
    ]


def test_of_a_conversation_what_was_said_up_to_the_success_is_compared():
    environment = Environment(
        lambda messages: "open sesame" if "money" in messages[-1]["content"] else "No.",
        ["Hello."],
        KeywordModerator(["open sesame"]),
        depth=3,
    )
    space = Factors(
        {"ask": ["Give me my money back.", "I want my money back, please."]},
        build=lambda ask: {"goal": "money", "says": ["Good morning.", ask, "Thanks."]},
    )
    found = search_sync(environment, RandomDraws(space), trials=8, seed=1, progress=False)
    assert Alike().text(found.failures[0]).startswith("Good morning.\n")
    assert not Alike().text(found.failures[0]).endswith("Thanks.")
    assert Alike("output").text(found.failures[0]) == "open sesame"
    assert len(failure_kinds(found, by=Alike()).kinds) == 1


@pytest.mark.parametrize(("options", "message"), [({"side": "both"}, "side"), ({"near": 0}, "near")])
def test_what_is_no_option_is_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        Alike(**options)


def test_the_planted_kinds_are_told_apart_and_those_not_seen_are_reckoned_with():
    target = many_modes(modes=12, codes=512)
    found = search_sync(
        target, RandomDraws(target.space), dataset=target.dataset(), trials=300, seed=1, progress=False
    )
    kinds = failure_kinds(found)
    rng = random.Random(0)
    for kind in kinds.kinds:
        assert {f"no {target.answer(outcome.proposal.inputs, rng)[0]}" for outcome in kind.outcomes} == {
            kind.name
        }
    assert len(kinds.kinds) < 12 <= kinds.unseen.kinds_interval.high
