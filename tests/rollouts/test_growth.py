"""What a rollout costs, and what a tester that learns is told of it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import RolloutError
from calipers.rollouts import (
    Attack,
    Budget,
    ChatTarget,
    Environment,
    KeywordModerator,
    ModelTester,
    ModelUser,
    Node,
    OnSuccess,
    Reply,
    cost_per_success,
)
from calipers.rollouts.growth import Bill, is_priced
from calipers.rollouts.rollout_outcome import cost_of


def rollout(target, tester, *, seed=0, depth=3, **options):
    return Environment(target, tester, goals=["g"], depth=depth, **options).rollout(seed)


def costs(graph):
    return [node.cost for node in graph.walk()]


def paid(*amounts, text="no"):
    """A target that tells these costs, one after the other, and then the last one."""
    told = itertools.chain(amounts, itertools.repeat(amounts[-1]))

    async def reply(messages):
        return Reply(text, cost=next(told))

    return reply


def test_a_turn_costs_what_both_players_told():
    graph = rollout(paid(2.0), lambda so_far: Attack("a", cost=1.0))
    assert costs(graph) == [3.0] * 3
    assert cost_of(graph) == 9.0


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((1.0, None, 1.0), [2.0, None, 2.0]),
        ((None, 1.0, 1.0), [None, 2.0, 2.0]),
        ((None, None, None), [1.0, 1.0, 1.0]),
    ],
    ids=["not the second", "not the first", "never"],
)
def test_a_priced_player_that_does_not_tell_leaves_the_turn_unknown(told, expected):
    graph = rollout(paid(*told), lambda so_far: Attack("a", cost=1.0))
    assert costs(graph) == expected
    assert cost_of(graph) == (None if None in expected else sum(expected))


def test_a_player_that_says_that_it_is_priced_is():
    class Priced:
        priced = True

        async def reply(self, messages):
            return "no"

    graph = rollout(Priced(), lambda so_far: Attack("a", cost=1.0))
    assert costs(graph) == [None] * 3


def test_a_chat_target_is_priced_by_its_prices():
    address = "http://127.0.0.1:9/v1"
    with_prices = ChatTarget(address, "m", input_price=1, output_price=2)
    assert is_priced(with_prices)
    assert not is_priced(ChatTarget(address, "m"))
    assert is_priced(ModelTester(with_prices))
    assert is_priced(ModelUser(with_prices))


@pytest.mark.parametrize(
    "tester", [lambda model: ModelTester(model, stop_token="[DONE]"), ModelUser], ids=["tester", "user"]
)
def test_the_call_that_ends_a_conversation_is_paid_for(tester):
    def player():
        calls = itertools.count(1)

        async def model(messages):
            return Reply("[DONE]" if next(calls) % 2 == 0 else "please", cost=1.0)

        return model

    environment = Environment(
        lambda text: "yes", tester(player()), goals=["g"], success=lambda response: True
    )
    graphs = [environment.rollout(seed) for seed in range(10)]
    assert [graph.metadata["cost"] for graph in graphs] == [1.0] * 10
    assert {graph.stopped for graph in graphs} == {"the tester had nothing left to say"}
    found = cost_per_success(graphs)
    assert (found.value, found.spent, found.left_out) == (2.0, 20.0, 0)


def test_an_end_that_does_not_tell_its_cost_leaves_the_rollout_unknown():
    graph = rollout(
        lambda text: "no",
        lambda so_far: Attack("a", cost=1.0) if so_far.turn == 1 else Attack("", stop=True),
    )
    assert (graph.depth, graph.metadata["cost"], cost_of(graph)) == (1, None, None)


def test_an_end_that_costs_nothing_is_no_cost():
    graph = rollout(paid(1.0), lambda so_far: "a" if so_far.turn == 1 else Attack("", stop=True))
    assert (cost_of(graph), "cost" in graph.metadata) == (1.0, False)


def test_an_attack_that_the_target_failed_to_answer_is_paid_for():
    def target(text):
        raise ConnectionError("the line is dead")

    with pytest.raises(RolloutError) as caught:
        rollout(target, lambda so_far: Attack("a", cost=0.5))
    assert caught.value.graph.metadata["cost"] == 0.5
    assert cost_of(caught.value.graph) == 0.5


def test_a_budget_counts_what_belongs_to_no_turn():
    def target(text):
        if text == "dead":
            raise ConnectionError("the line is dead")
        return "no"

    tester = lambda so_far: Attack("dead" if so_far.branch else "a", cost=1.0)
    graph = rollout(target, tester, width=2, depth=9, stop=Budget(cost=5), on_error="keep")
    assert (graph.depth, cost_of(graph)) == (3, 6.0)


def test_a_budget_refuses_to_count_as_soon_as_a_turn_does_not_tell():
    with pytest.raises(RolloutError, match="did not tell it of every turn") as caught:
        rollout(paid(1.0, None), lambda so_far: "a", depth=9, stop=Budget(cost=3))
    assert caught.value.graph.depth == 2


@given(
    st.lists(st.tuples(st.none() | st.just(0.25), st.none() | st.just(2.0)), max_size=8),
    st.lists(st.none() | st.just(0.5), max_size=3),
)
def test_the_total_is_the_sum_of_all_or_nothing(turns, moves):
    bill = Bill(None, None)
    nodes = [Node("", "a", "r") for _ in turns]
    for node, told in zip(nodes, turns, strict=True):
        bill.add_turn(node, *told)
        bill.settle()
    for move in moves:
        bill.add_move(move)
    bill.settle()
    told = [*(cost for turn in turns for cost in turn), *moves]
    known = [cost for cost in told if cost is not None]
    by_tester = [*(attack for attack, _ in turns), *moves]
    by_target = [reply for _, reply in turns]
    complete = all(None not in each or set(each) == {None} for each in (by_tester, by_target))
    assert bill.total == (sum(known) if known and complete else None)


# ---------------------------------------------------------------------- a tester that learns


class Learner:
    """Says a number, and notes what it is told."""

    blocking = False

    def __init__(self):
        self.outcomes = []

    def next_attack(self, so_far):
        return Attack(f"turn {so_far.turn}", name="counting")

    def told(self, outcome):
        self.outcomes.append(outcome)


def test_a_tester_that_learns_is_told_of_every_turn_of_every_rollout():
    tester = Learner()
    environment = Environment(
        lambda messages: "no" if len(messages) < 5 else "open sesame",
        tester,
        KeywordModerator(["open sesame"]),
        goals=["learn the code word"],
        depth=5,
        stop=OnSuccess(),
    )
    graphs = [environment.rollout(seed) for seed in range(200)]
    assert len(tester.outcomes) == sum(len(list(graph.walk())) for graph in graphs) == 600
    first, second, last = tester.outcomes[:3]
    assert [first.success, second.success, last.success] == [False, False, True]
    assert [first.reward, last.reward] == [0, 1]
    assert last.turn.response_score == 1
    assert last.rollout is graphs[0]
    assert [turn.attack for turn in last.turns] == ["turn 1", "turn 2", "turn 3"]
    assert last.attack == "counting"
    assert last.goal == "learn the code word"


def test_it_is_told_of_each_branch():
    tester = Learner()
    Environment(lambda messages: "no", tester, goals=["x"], depth=2, width=3).rollout(0)
    assert [len(outcome.turns) for outcome in tester.outcomes] == [1] * 3 + [2] * 9


def test_a_tester_that_cannot_take_what_it_is_told_breaks_the_rollout():
    class Deaf(Learner):
        async def told(self, outcome):
            raise LookupError("what?")

    with pytest.raises(
        RolloutError, match="turn 1: the tester, told of the turn, failed: LookupError: what"
    ) as broken:
        Environment(lambda messages: "no", Deaf(), goals=["x"]).rollout(0)
    assert len(broken.value.graph.children) == 1
