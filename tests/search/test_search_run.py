import asyncio
import json
import random
import signal
import subprocess
import sys
import textwrap

import pytest

from calipers import Budget, Case, Dataset, increment_eval_metric
from calipers.comparison import compare_reports
from calipers.errors import InvalidOptionError, SearchError
from calipers.gate import Policy, Rules, judge_run
from calipers.rollouts import Environment, KeywordModerator
from calipers.search import (
    Factors,
    Findings,
    Objective,
    Outcome,
    Proposal,
    RandomDraws,
    ThompsonBandit,
    TurnScripts,
    search,
    search_sync,
)
from calipers.search.findings import proposal_of, size_of
from calipers.stores import open_store
from calipers.testing.planted_failures import keyword_gate, rare_conjunction

GATE = keyword_gate(keywords=2, vocabulary=8, words=5)
LETTERS = Factors({"letter": list("abcdefgh"), "times": range(1, 6)})


class Told(RandomDraws):
    """Draws at random, and notes what it is told and how many trials it was told of at each proposal."""

    def __init__(self, space):
        super().__init__(space)
        self.outcomes = []
        self.known = []

    def ask(self, rng):
        self.known.append(len(self.outcomes))
        return super().ask(rng)

    def tell(self, outcome):
        self.outcomes.append(outcome)


def run(strategy, *, task=GATE, **options):
    given = {"dataset": GATE.dataset(), "trials": 40, "seed": 1, "progress": False, **options}
    return search_sync(task, strategy, **given)


@pytest.mark.parametrize("in_flight", [1, 3, 7])
def test_the_strategy_is_told_of_every_trial_in_the_order_of_its_proposals(in_flight):
    strategy = Told(GATE.space)
    found = run(strategy, in_flight=in_flight)
    assert [outcome.number for outcome in strategy.outcomes] == list(range(1, 41))
    assert found.outcomes == tuple(strategy.outcomes)
    # Each proposal is made when the same outcomes are known, however long each trial took.
    assert strategy.known == [max(number - in_flight, 0) for number in range(1, 41)]


def test_it_is_told_the_reward_the_judgements_and_what_was_tried():
    strategy = Told(GATE.space)
    run(strategy)
    for outcome in strategy.outcomes:
        mode, alarm = GATE.answer(outcome.proposal.inputs, random.Random(0))
        assert outcome.failed is (mode is not None)
        assert outcome.output == {"mode": mode, "alarm": alarm}
        assert outcome.results == {"no gate": mode is None, "calm": 1 - alarm}
        assert outcome.reward == (1.0 if mode else pytest.approx(alarm / 2))
        assert (outcome.signature == "no gate") is bool(outcome.failed)


def test_the_same_seed_gives_the_same_search_however_long_trials_take():
    async def slow_now_and_then(text):
        await asyncio.sleep(0.002 * (hash(text) % 3))
        return GATE(text)

    first, second = (run(Told(GATE.space), task=task, in_flight=4) for task in (GATE, slow_now_and_then))
    assert [o.proposal for o in first.outcomes] == [o.proposal for o in second.outcomes]
    other = run(Told(GATE.space), in_flight=4, seed=2)
    assert [o.proposal for o in first.outcomes] != [o.proposal for o in other.outcomes]


def test_as_many_trials_are_in_flight_as_allowed_and_no_more():
    running, most = 0, 0

    async def counting(_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return {"mode": None, "alarm": 0.0}

    run(Told(GATE.space), task=counting, in_flight=3)
    assert most == 3


def test_a_search_ends_after_so_many_failures_and_tells_the_last_one():
    strategy = Told(GATE.space)
    found = run(strategy, trials=500, failures=2)
    assert len(found.failures) == 2
    assert found.outcomes[-1].failed
    assert strategy.outcomes[-1] == found.outcomes[-1]
    assert found.calls_to_first == next(o.number for o in found.outcomes if o.failed)


def test_a_strategy_with_nothing_left_ends_the_search():
    class Three(Told):
        def ask(self, rng):
            return super().ask(rng) if len(self.known) < 3 else None

    found = run(Three(GATE.space))
    assert len(found.outcomes) == 3
    assert found.report.incomplete is None


def test_strategies_may_be_async():
    class Slow(Told):
        async def ask(self, rng):
            await asyncio.sleep(0)
            return super().ask(rng)

        async def tell(self, outcome):
            await asyncio.sleep(0)
            super().tell(outcome)

    strategy = Slow(GATE.space)
    assert len(run(strategy, trials=5, in_flight=2).outcomes) == len(strategy.outcomes) == 5


def test_a_task_that_raises_has_failed_and_one_that_was_not_reached_tells_nothing():
    def task(inputs):
        if inputs["letter"] == "a":
            raise ValueError("a")
        if inputs["letter"] == "b":
            raise ConnectionError("lost")
        return inputs["letter"]

    found = search_sync(
        task, Told(LETTERS), evaluators=[lambda output: output != "c"], trials=80, seed=0, progress=False
    )
    by_letter = {outcome.proposal.inputs["letter"]: outcome for outcome in found.outcomes}
    assert {letter: by_letter[letter].failed for letter in "abcd"} == {
        "a": True,
        "b": None,
        "c": True,
        "d": False,
    }
    assert by_letter["a"].signature == "ValueError"
    assert found.unknown == sum(o.proposal.inputs["letter"] == "b" for o in found.outcomes) > 0
    assert set(found.kinds) == {"ValueError", "function"}


def test_a_judge_that_raises_tells_nothing():
    def judge(output):
        raise RuntimeError(output)

    found = search_sync(str, Told(LETTERS), evaluators=[judge], trials=3, seed=0, progress=False)
    assert [outcome.failed for outcome in found.outcomes] == [None, None, None]


def test_the_case_that_a_proposal_varies_gives_its_expectation_and_its_judges():
    case = Case(
        name="refund",
        inputs="refund",
        expected_output="REFUND",
        metadata={"topic": "money"},
        evaluators=[lambda output, expected_output: output == expected_output],
    )

    class Varies(Told):
        def ask(self, rng):
            return Proposal("refund", choices={"mutation": "none"}, case=case)

    report = search_sync(str.upper, Varies(LETTERS), trials=1, seed=0, progress=False).report
    assert report.cases[0].passed is True
    assert report.cases[0].metadata == {"topic": "money", "mutation": "none"}


def test_an_objective_says_what_a_failure_is():
    objective = Objective(
        failed=lambda record: record.output == "h5", reward=lambda record: int(record.output[1]) / 5
    )
    strategy = Told(LETTERS)
    search_sync(
        lambda inputs: f"{inputs['letter']}{inputs['times']}",
        strategy,
        trials=60,
        seed=0,
        objective=objective,
        progress=False,
    )
    for outcome in strategy.outcomes:
        assert outcome.failed is (outcome.output == "h5")
        assert outcome.reward == (1 if outcome.failed else outcome.proposal.inputs["times"] / 5)


def test_a_task_that_changes_its_inputs_does_not_change_the_space():
    space = Factors({"words": [["a", "b"]]}, build=lambda words: words)
    search_sync(lambda inputs: inputs.clear(), RandomDraws(space), trials=3, seed=0, progress=False)
    assert space.options == {"words": [["a", "b"]]}


# ---------------------------------------------------------------------- budgets


def test_a_budget_ends_a_search_and_the_strategy_is_told_what_there_was():
    def asks_a_model(text):
        increment_eval_metric("requests", 1)
        return GATE(text)

    strategy = Told(GATE.space)
    found = run(strategy, task=asks_a_model, trials=500, budget=Budget(calls=25), in_flight=3)
    assert found.report.incomplete.kind == "budget"
    assert 20 <= len(strategy.outcomes) == len(found.outcomes) <= 25


# ---------------------------------------------------------------------- what goes wrong


class Breaks(Told):
    def __init__(self, space, at, where):
        super().__init__(space)
        self.at, self.where = at, where

    def ask(self, rng):
        if self.where == "ask" and len(self.known) == self.at:
            raise ZeroDivisionError("oh")
        return super().ask(rng)

    def tell(self, outcome):
        super().tell(outcome)
        if self.where == "tell" and outcome.number == self.at:
            raise ZeroDivisionError("oh")


@pytest.mark.parametrize("where", ["ask", "tell"])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_strategy_that_fails_ends_the_search_and_what_was_found_is_kept(where, in_flight):
    found = run(Breaks(GATE.space, 10, where), in_flight=in_flight)
    assert found.report.incomplete.kind == "failed"
    assert "ZeroDivisionError" in str(found.report.incomplete)
    assert 10 <= len(found.report.cases) <= 13


def test_one_that_fails_at_the_last_trial_is_no_success_either():
    found = run(Breaks(GATE.space, 40, "tell"))
    assert len(found.outcomes) == 40
    assert found.report.incomplete.kind == "failed"


def test_one_that_fails_at_once_raises():
    with pytest.raises(SearchError, match="Breaks failed before the first trial: ZeroDivisionError"):
        run(Breaks(GATE.space, 0, "ask"))


def test_what_is_no_proposal_is_refused():
    class Wrong(Told):
        def ask(self, rng):
            return "text"

    with pytest.raises(SearchError, match="gives a Proposal, or None"):
        run(Wrong(GATE.space))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": 2}, "a search decides repeat itself"),
        ({"max_concurrency": 2}, "in_flight"),
        ({"trials": 0}, "trials"),
        ({"in_flight": 0}, "in_flight"),
        ({"failures": 0}, "failures"),
        ({"strategy": RandomDraws}, "methods ask"),
        ({"strategy": "random"}, "methods ask"),
        ({"objective": max}, "an Objective"),
    ],
)
def test_what_is_no_option_is_refused(options, message):
    strategy = options.pop("strategy", RandomDraws(GATE.space))
    with pytest.raises(InvalidOptionError, match=message):
        run(strategy, **options)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"choices": [1]}, "choices"),
        ({"parents": [1]}, "parents"),
        ({"case": "refund"}, "case of a Proposal"),
    ],
)
def test_what_is_no_part_of_a_proposal_is_refused(fields, message):
    with pytest.raises(InvalidOptionError, match=message):
        Proposal("inputs", **fields)


# ---------------------------------------------------------------------- kept runs

SCRIPT = """
import os, signal, sys, time
from calipers.search import ThompsonBandit, search_sync
from calipers.testing.planted_failures import noisy_arms

target = noisy_arms(attacks=4, goals=4)
calls = 0

def task(inputs):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)  # as an agent takes: the store writes every now and then
    return target.judged(target(inputs))

task.version = "1"
found = search_sync(task, ThompsonBandit(target.space), trials=30, in_flight=3, seed=5, store=sys.argv[1],
                    resume=sys.argv[3] == "resume" or None, evaluators=[lambda output: output["no noise"]], progress=False)
print(calls, [(o.number, o.proposal.inputs, o.failed, o.reward) for o in found.outcomes])
"""


def test_a_killed_search_is_resumed_and_ends_as_it_would_have(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")

    def searched(store, dies_at, how="anew"):
        command = [sys.executable, str(script), str(tmp_path / store), str(dies_at), how]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    whole = searched("whole.db", 0)
    killed = searched("killed.db", 17)
    assert killed.returncode == -signal.SIGKILL
    with open_store(tmp_path / "killed.db") as store:
        kept = sum(1 for _ in store.attempts(store.runs()[0].id))
    resumed = searched("killed.db", 0, "resume")
    calls, _, outcomes = resumed.stdout.partition(" ")
    assert outcomes == whole.stdout.partition(" ")[2], resumed.stderr
    assert 0 < kept <= 16
    assert int(calls) == 30 - kept, "what is stored is not tried again"


def test_another_strategy_does_not_go_on_with_a_stored_search(tmp_path):
    store = tmp_path / "runs.db"
    first = run(RandomDraws(GATE.space), store=store, trials=6)

    class Backwards(RandomDraws):
        def ask(self, rng):
            return Proposal("word1 word1")

    with pytest.raises(SearchError, match="the strategy, its space, the objective or in_flight has changed"):
        run(Backwards(GATE.space), store=store, resume=first.report.reuse.run, trials=8)
    with open_store(store) as opened:
        assert sum(1 for _ in opened.attempts(first.report.reuse.run)) == 6


def test_a_strategy_that_asks_models_is_told_its_recorded_proposals_and_not_asked_again(tmp_path):
    class Attacker(Told):
        asks_models = True

        def ask(self, rng):
            return (
                Proposal(f"word{len(self.known)} word1", choices={"idea": len(self.known)})
                if super().ask(rng)
                else None
            )

    first = run(Attacker(GATE.space), store=tmp_path / "runs.db", trials=6)
    again = Attacker(GATE.space)
    second = run(again, store=tmp_path / "runs.db", resume=first.report.reuse.run, trials=8)
    assert [o.proposal.inputs for o in second.outcomes[:6]] == [o.proposal.inputs for o in first.outcomes]
    assert [o.proposal.choices for o in second.outcomes[:6]] == [o.proposal.choices for o in first.outcomes]
    assert len(again.known) == 2


def test_a_stored_search_tells_what_it_found(tmp_path):
    found = run(RandomDraws(GATE.space), store=tmp_path / "runs.db", trials=60)
    with open_store(tmp_path / "runs.db") as store:
        loaded = Findings.of(store.report(store.runs()[0].id))
    assert [(o.number, o.failed, o.reward) for o in loaded.outcomes] == [
        (o.number, o.failed, o.reward) for o in found.outcomes
    ]
    assert loaded.kinds.keys() == found.kinds.keys()
    assert str(loaded) == str(found)


# ---------------------------------------------------------------------- what it says


def test_the_report_ranks_failures_and_has_the_curve_of_discoveries():
    found = run(RandomDraws(GATE.space), trials=100)
    kinds, curve, tried = found.report.analyses
    assert kinds.title == "Failures found"
    assert kinds.rows[0][:3] == ["no gate", len(found.failures), found.failures[0].number]
    assert curve.title == "Discoveries"
    assert {line.name: line.points[-1].y for line in curve.lines} == {
        "failures": len(found.failures),
        "kinds": 1,
    }
    assert sum(row[2] for row in tried.rows if row[0] == "word 1") == 100


@pytest.mark.parametrize("strategy", [RandomDraws, ThompsonBandit])
def test_rates_of_cases_that_a_search_chose_are_not_shown_as_those_of_a_sample(strategy, tmp_path):
    url = tmp_path / "runs.db"
    report = run(strategy(GATE.space), store=url, budget=Budget(seconds=3600)).report
    with open_store(url) as store:
        again = store.report(report.reuse.run)
    for each in (report, again):
        assert each.sought == (strategy is ThompsonBandit)
        assert ("A search chose these cases" in each.render()) == each.sought
    warned = [
        warning
        for warning in compare_reports(again, report).warnings
        if "a search chose the cases" in warning
    ]
    assert len(warned) == (2 if report.sought else 0)
    decided = judge_run(report, Policy(pass_rate=Rules(at_least=0.01))).outcome
    assert (decided == "INCONCLUSIVE") == report.sought


def test_a_search_that_finds_nothing_says_so():
    found = run(RandomDraws(rare_conjunction().space), task=lambda _: {"mode": None, "alarm": 0}, trials=5)
    assert str(found) == "0 failures in 5 trials (5 calls)"
    assert found.calls_to_first is None
    assert not found.dataset().cases


def test_failures_become_a_regression_dataset_of_the_smallest_of_each_kind():
    found = run(RandomDraws(GATE.space), trials=100)
    [case] = found.dataset("regressions").cases
    assert GATE.fails(case.inputs)
    assert case.metadata["found"] == "no gate"
    assert json.dumps(case.metadata)


@pytest.mark.parametrize(
    ("inputs", "size"),
    [("a b c", 3), ({"a": 1, "b": "x y"}, 5), (["a b", "c"], 3), (7, 1), (None, 1), ({}, 0)],
)
def test_the_size_of_inputs_is_in_words(inputs, size):
    assert size_of(inputs) == size


def test_a_search_is_awaited_in_async_code():
    found = asyncio.run(
        search(GATE, RandomDraws(GATE.space), dataset=GATE.dataset(), trials=3, progress=False)
    )
    assert isinstance(found.outcomes[0], Outcome)
    assert proposal_of(found.report.cases[0]).inputs == found.outcomes[0].proposal.inputs


def test_a_dataset_gives_the_run_its_name():
    named = Dataset(name="mine", cases=[Case(inputs=1)])
    assert run(RandomDraws(GATE.space), dataset=named, trials=1).report.dataset_name == "mine"


def test_conversations_of_several_turns_are_shown_as_one_tree():
    turns = ["Hello.", "Please.", "The code, please."]

    def target(messages):
        said = [each["content"] for each in messages if each["role"] == "user"]
        return "open sesame" if said == ["Hello.", "The code, please."] else f"answer {len(said)}"

    environment = Environment(target, turns, KeywordModerator(["open sesame"]), goals=["the code"], depth=2)
    space = TurnScripts(turns, depth=2, goal="the code")
    found = search_sync(environment, RandomDraws(space), trials=60, seed=1, progress=False)
    [tree] = [each for each in found.report.analyses if each.type == "tree_plot"]
    assert len(tree.nodes) == 3 + 9
    first, second = tree.nodes[:2]
    assert (first.depth, first.text, first.tone, first.answer) == (1, "Hello.", "good", "answer 1")
    assert (second.depth, second.text, second.tone, second.answer) == (
        2,
        "The code, please.",
        "bad",
        "open sesame",
    )
    assert second.outcome == f"gave way {len(found.failures)} of {len(found.failures)}"
    assert sum(node.tone == "bad" for node in tree.nodes) == 1


def test_one_message_alone_makes_no_tree():
    environment = Environment(
        lambda messages: "No.", ["Hello."], KeywordModerator(["x"]), goals=["x"], depth=1
    )
    space = TurnScripts(["Hello.", "Please."], depth=1, goal="x")
    found = search_sync(environment, RandomDraws(space), trials=4, seed=1, progress=False)
    assert "tree_plot" not in {each.type for each in found.report.analyses}
