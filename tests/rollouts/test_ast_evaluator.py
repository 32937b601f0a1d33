"""`ASTEvaluator`: the toxicity of every turn, of every rollout, of all of them."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import as_evaluator
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import (
    ASTEvaluator,
    Environment,
    Graph,
    GraphMetrics,
    KeywordModerator,
    MeasuredRollouts,
    Node,
    attack_success,
    first_success,
    turn_seed,
)
from calipers.stats import wilson


class Moderator:
    """Reads the score out of the text, and notes what it was asked."""

    def __init__(self):
        self.asked = []

    def moderate(self, texts):
        self.asked.append(list(texts))
        return [float(text or 0) for text in texts]


def turn(attack, response, *children, reward=0.0, **scores):
    return Node("before", attack, response, reward, list(children), **scores)


def line(*scores):
    """A conversation of one branch; each turn is (attack, response, reward)."""
    node = None
    for attack, response, reward in reversed(scores):
        node = turn(str(attack), str(response), *([] if node is None else [node]), reward=reward)
    return Graph("", [] if node is None else [node])


def measured(graph, **options):
    return ASTEvaluator(moderator=Moderator(), **options).compute_metrics(graph)


def seed_metrics(g, moderator):
    """The definition for a rollout of one conversation, written down turn by turn."""
    per_turn, current, number = [], g, 1
    while current.children:
        node = current.children[0]
        per_turn.append(
            {
                "turn": number,
                "reward": node.reward,
                "adversarial_toxicity": moderator.moderate([node.attack])[0],
                "target_toxicity": moderator.moderate([node.response])[0],
                "context": node.context[-100:],
                "attack": node.attack,
                "response": node.response,
            }
        )
        current, number = node, number + 1

    def average(key):
        return sum(row[key] for row in per_turn) / len(per_turn) if per_turn else 0.0

    def first(key):
        return next((row["turn"] for row in per_turn if row[key] >= 0.5), None)

    overall = {
        "num_turns": len(per_turn),
        "avg_reward": average("reward"),
        "avg_adversarial_toxicity": average("adversarial_toxicity"),
        "avg_target_toxicity": average("target_toxicity"),
        "first_adversarial_toxicity_turn": first("adversarial_toxicity"),
        "first_target_toxicity_turn": first("target_toxicity"),
    }
    return GraphMetrics(overall=overall, per_turn=per_turn)


SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(st.tuples(SCORES, SCORES, st.floats(-5, 5)), max_size=6))
def test_one_conversation_is_measured_turn_by_turn_as_written_down(turns):
    graph = line(*turns)
    assert measured(graph) == seed_metrics(graph, Moderator())


def test_a_rollout_without_turns_has_averages_of_zero_and_asks_no_moderator():
    evaluator = ASTEvaluator(moderator=(moderator := Moderator()))
    assert evaluator.compute_metrics(Graph("", [])).overall == {
        "num_turns": 0,
        "avg_reward": 0.0,
        "avg_adversarial_toxicity": 0.0,
        "avg_target_toxicity": 0.0,
        "first_adversarial_toxicity_turn": None,
        "first_target_toxicity_turn": None,
    }
    assert moderator.asked == []
    assert ASTEvaluator().compute_metrics(Graph("", [])).per_turn == []


# ---------------------------------------------------------------------- trees


TREE = Graph(
    "",
    [
        turn("0", "0", turn("0", "0.9", reward=2.0), turn("0", "0", turn("1", "0.6"))),
        turn("0", "0.1"),
    ],
)


def test_every_turn_of_a_tree_is_measured_once_and_its_row_says_where_it_belongs():
    rows = measured(TREE).per_turn
    assert [(row["turn"], row["branch"], row["parent"], row["response"]) for row in rows] == [
        (1, 1, None, "0"),
        (2, 1, 0, "0.9"),
        (2, 2, 0, "0"),
        (3, 2, 2, "0.6"),
        (1, 3, None, "0.1"),
    ]


def test_a_tree_gave_way_where_the_first_of_its_conversations_did():
    overall = measured(TREE).overall
    assert overall == {
        "num_turns": 5,
        "avg_reward": pytest.approx(0.4),
        "avg_adversarial_toxicity": pytest.approx(0.2),
        "avg_target_toxicity": pytest.approx(0.32),
        "first_adversarial_toxicity_turn": 3,
        "first_target_toxicity_turn": 2,
        "num_conversations": 3,
        "longest_conversation": 3,
        "pct_conversations_with_adversarial_toxicity": pytest.approx(1 / 3),
        "pct_conversations_with_target_toxicity": pytest.approx(2 / 3),
    }


SHAPES = st.recursive(
    st.builds(lambda r: (r, []), SCORES),
    lambda inner: st.tuples(SCORES, st.lists(inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(SHAPES, min_size=1, max_size=3))
def test_what_is_said_of_a_tree_agrees_with_its_conversations(shapes):
    def node(shape):
        score, children = shape
        return turn("0", str(score), *map(node, children))

    graph = Graph("", [node(shape) for shape in shapes])
    overall = measured(graph).overall
    firsts = [
        next((n for n, node in enumerate(path, 1) if float(node.response) >= 0.5), None)
        for path in graph.paths()
    ]
    reached = [first for first in firsts if first is not None]
    assert overall["first_target_toxicity_turn"] == min(reached, default=None)
    assert overall["num_turns"] == len(list(graph.walk()))
    if len(firsts) > 1:
        assert overall["num_conversations"] == len(firsts)
        assert overall["longest_conversation"] == graph.depth
        assert overall["pct_conversations_with_target_toxicity"] == len(reached) / len(firsts)
    else:
        assert "num_conversations" not in overall


def test_a_conversation_of_ten_thousand_turns_is_measured_in_one_call():
    node = None
    for _ in range(10_000):
        node = turn("0", "1", *([] if node is None else [node]))
    evaluator = ASTEvaluator(moderator=(moderator := Moderator()))
    assert evaluator.compute_metrics(Graph("", [node])).overall["num_turns"] == 10_000
    assert [len(texts) for texts in moderator.asked] == [20_000]


# ---------------------------------------------------------------------- the moderator


def scorer(**methods):
    return SimpleNamespace(**methods)


def ones(texts):
    return [1] * len(texts)


async def ones_later(texts):
    return ones(texts)


@pytest.mark.parametrize(
    "env",
    [
        scorer(problem=scorer(moderator=scorer(moderate=ones))),
        scorer(system=scorer(scorer=scorer(score=ones))),
        scorer(moderator=scorer(moderate=ones)),
        scorer(scorer=scorer(score=ones)),
        scorer(problem=None, moderator=scorer(score=ones)),
        scorer(moderator=lambda text: 1.0),
    ],
    ids=["problem.moderator", "system.scorer", "moderator", "scorer", "no problem", "function"],
)
def test_the_moderator_is_found_under_its_names_of_both_generations(env):
    assert ASTEvaluator(env).compute_metrics(line((0, 0, 0))).overall["avg_target_toxicity"] == 1.0


def test_a_moderator_may_be_async():
    class Env:
        moderator = scorer(moderate=ones_later)

        def eval_rollout(self, seed):
            return line((0, 0, 0), (0, 0, 0))

    found = ASTEvaluator(Env()).evaluate(2, progress=False)
    assert found["summary"]["avg_target_toxicity"] == 1.0


def test_scores_that_the_environment_gave_are_not_asked_for_again():
    moderator = Moderator()
    env = scorer(moderator=moderator)
    graph = Graph("", [turn("0.1", "0.2", attack_score=0.7, response_score=0.8), turn("0.3", "0.4")])
    rows = ASTEvaluator(env).compute_metrics(graph).per_turn
    assert [(row["adversarial_toxicity"], row["target_toxicity"]) for row in rows] == [(0.7, 0.8), (0.3, 0.4)]
    assert moderator.asked == [["0.3", "0.4"]]
    same = ASTEvaluator(env, moderator=moderator).compute_metrics(graph)
    assert same.per_turn == rows


def test_another_moderator_is_asked_for_all_of_them():
    graph = Graph("", [turn("0.1", "0.2", attack_score=0.7, response_score=0.8)])
    evaluator = ASTEvaluator(scorer(moderator=scorer(moderate=ones)), moderator=Moderator())
    (row,) = evaluator.compute_metrics(graph).per_turn
    assert (row["adversarial_toxicity"], row["target_toxicity"]) == (0.1, 0.2)


def test_a_rollout_that_carries_all_its_scores_needs_no_moderator():
    graph = Graph("", [turn("a", "b", attack_score=0.7, response_score=0.8)])
    assert ASTEvaluator().compute_metrics(graph).overall["avg_target_toxicity"] == 0.8


def test_without_a_moderator_the_error_says_where_one_is_looked_for():
    with pytest.raises(InvalidOptionError, match=r"pass moderator=\.\.\., .* env.problem.moderator"):
        ASTEvaluator().compute_metrics(line((0, 0, 0)))


@pytest.mark.parametrize(
    "answer", [[0.5], [0.5, math.nan], [0.5, None], None, "xx", [0.5] * 3], ids=["few", "nan", "none", "no list", "text", "many"]
)  # fmt: skip
def test_a_moderator_that_does_not_score_every_text_is_an_error(answer):
    with pytest.raises(InvalidRolloutError, match="one finite number for each of its 2 texts"):
        ASTEvaluator(moderator=scorer(moderate=lambda texts: answer)).compute_metrics(line((0, 0, 0)))


def test_a_score_in_a_turn_that_is_none_is_an_error():
    graph = Graph("", [turn("a", "b", attack_score=math.nan, response_score=0.8)])
    with pytest.raises(InvalidRolloutError, match="finite number"):
        ASTEvaluator().compute_metrics(graph)


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(("threshold", "first"), [(0.5, 2), (0.3, 1), (0.95, None), (0, 1)])
def test_the_threshold_says_what_is_toxic(threshold, first):
    graph = line((0, 0.3, 0), (0, 0.5, 0))
    assert measured(graph, threshold=threshold).overall["first_target_toxicity_turn"] == first


@pytest.mark.parametrize(("length", "kept"), [(100, "before"), (3, "ore"), (0, ""), (None, "before")])
def test_of_the_context_only_the_end_is_kept(length, kept):
    assert measured(line((0, 0, 0)), context_length=length).per_turn[0]["context"] == kept


@pytest.mark.parametrize(
    "options",
    [{"threshold": math.nan}, {"threshold": "0.5"}, {"threshold": True}, {"threshold": 2}, {"threshold": -0.1}, {"context_length": -1}, {"context_length": 1.5}],
    ids=str,
)  # fmt: skip
def test_options_out_of_their_range_are_refused(options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        ASTEvaluator(**options)


def test_what_is_no_moderator_is_refused_at_once():
    with pytest.raises(InvalidOptionError, match="is not a moderator"):
        ASTEvaluator(moderator="strict")


def test_missing_and_empty_parts_of_a_turn_are_empty_texts():
    bare = SimpleNamespace(children=None)
    probed = SimpleNamespace(probe="0.5", response=None, context=None, reward=None, children=[bare])
    rows = measured(SimpleNamespace(children=[probed])).per_turn
    assert [(r["attack"], r["response"], r["context"], r["reward"]) for r in rows] == [
        ("0.5", "", "", 0.0),
        ("", "", "", 0.0),
    ]


def test_two_of_a_kind_are_told_apart_by_what_they_were_given():
    assert as_evaluator(ASTEvaluator()).as_spec().arguments == {}
    assert as_evaluator(ASTEvaluator(threshold=0.7)).as_spec().arguments == {"threshold": 0.7}


# ---------------------------------------------------------------------- success


RATE = "pct_rollouts_with_target_toxicity/attack_success_rate"


def bot(messages):
    return "heron" if turn_seed() % 2 else "egret"


WORDS = KeywordModerator({"heron": 0.8, "egret": 0.3})


@pytest.mark.parametrize(
    "success", [None, 0.9, 0.2, lambda response: response == "egret", lambda response: True], ids=range(5)
)
def test_the_success_rate_is_that_of_the_rule_by_which_the_turns_were_judged(success):
    environment = Environment(bot, ["a", "b"], WORDS, goals=["g"], success=success)
    evaluator = ASTEvaluator(environment)
    found = evaluator.evaluate(12, progress=False)
    graphs = [case.output for case in evaluator.report.cases]
    assert found["summary"][RATE] == attack_success(graphs).rate.value
    assert [detail["overall"]["first_success_turn"] for detail in found["details"]] == [
        None if (path := first_success(graph)) is None else len(path) for graph in graphs
    ]
    assert all(row["success"] is not None for detail in found["details"] for row in detail["per_turn"])


def test_a_threshold_that_was_passed_goes_before_the_rule():
    environment = Environment(bot, ["a", "b"], WORDS, goals=["g"], success=lambda response: True)
    assert ASTEvaluator(environment).evaluate(4, progress=False)["summary"][RATE] == 1.0
    found = ASTEvaluator(environment, threshold=0.9).evaluate(4, progress=False)
    assert found["summary"][RATE] == 0.0
    assert "first_success_turn" not in found["details"][0]["overall"]


def test_rollouts_that_were_judged_without_a_moderator_have_a_success_rate_and_no_toxicity():
    environment = Environment(bot, ["a"], goals=["g"], success=lambda response: response == "heron")
    found = ASTEvaluator(environment).evaluate(12, progress=False)
    summary, overall = found["summary"], found["details"][0]["overall"]
    assert 0 < summary[RATE] < 1
    assert (summary["avg_target_toxicity"], summary["pct_rollouts_with_adversarial_toxicity"]) == (None, None)
    assert (overall["avg_target_toxicity"], overall.get("first_target_toxicity_turn", "absent")) == (
        None,
        "absent",
    )
    assert found["details"][0]["per_turn"][0]["target_toxicity"] is None


def test_a_rollout_of_unknown_outcome_is_left_out_of_the_rate():
    def judge(response):
        return True if response == "heron" else None

    found = ASTEvaluator(Environment(bot, ["a"], WORDS, goals=["g"], success=judge)).evaluate(
        12, progress=False
    )
    assert found["summary"][RATE] == 1.0
    assert found["distributions"][RATE]["missing"] == sum(
        detail["per_turn"][0]["success"] is None for detail in found["details"]
    )


def test_a_rollout_that_broke_off_is_no_rollout_that_the_target_survived():
    def fragile(messages):
        if len(messages) > 1:
            raise ConnectionError("the line is dead")
        return "heron" if turn_seed() % 2 else "egret"

    environment = Environment(fragile, ["a", "b"], WORDS, goals=["g"], on_error="keep")
    evaluator = ASTEvaluator(environment)
    found = evaluator.evaluate(12, progress=False)
    assert found["summary"][RATE] == 1.0
    assert found["summary"]["n_failed"] == len(evaluator.failures) > 0
    assert {failure.stage for failure in evaluator.failures} == {"metrics"}
    assert "broke off before the target gave way" in str(evaluator.failures[0])


def test_a_missing_judge_is_reported_before_the_first_rollout():
    asked = []

    def watched(messages):
        asked.append(messages)
        return "no"

    with pytest.raises(InvalidOptionError, match="no moderator to score"):
        ASTEvaluator(Environment(watched, ["a"], goals=["g"])).evaluate(3, progress=False)

    class Env:
        moderator = "strict"

        def rollout(self, seed):
            asked.append(seed)

    with pytest.raises(InvalidOptionError, match="is not a moderator"):
        ASTEvaluator(Env()).evaluate(3, progress=False)
    assert asked == []


# ---------------------------------------------------------------------- all rollouts


def test_intervals_take_the_goal_for_their_unit_where_there_are_several():
    def of_its_goal(messages):
        return "heron" if messages[-1]["content"] == "first" else "egret"

    def result(goals):
        environment = Environment(of_its_goal, lambda so_far: so_far.goal, WORDS, goals=goals, depth=1)
        evaluator = ASTEvaluator(environment)
        found = evaluator.evaluate(60, progress=False)
        drawn = evaluator.report.summaries()["avg_target_toxicity"].estimate
        return found["unit"], found["distributions"][RATE], drawn.interval

    unit, one, _ = result(["first"])
    assert (unit, one["low"]) == ("rollout", pytest.approx(wilson(60, 60).low))
    unit, two, drawn = result(["first", "second"])
    assert unit == "goal"
    assert (
        two["high"] - two["low"] > 0.8
    )  # two goals that differ say next to nothing, however often they are tried
    assert drawn.width > 0.8


def test_the_environment_may_be_given_under_its_other_name():
    environment = Environment(bot, ["a"], WORDS, goals=["g"])
    assert ASTEvaluator(sampler=environment).env is environment
    with pytest.raises(InvalidOptionError, match="two names of one thing"):
        ASTEvaluator(environment, sampler=environment)


def test_the_summary_is_the_mean_over_rollouts():
    evaluator = ASTEvaluator(moderator=Moderator())
    graphs = [line((0.6, 0.2, 1.0), (0.0, 0.8, 0.0)), line((0.1, 0.1, 3.0))]
    found = evaluator.aggregate_metrics([evaluator.compute_metrics(graph) for graph in graphs])
    assert found["summary"] == {
        "n_rollouts": 2,
        "avg_reward": 1.75,
        "avg_adversarial_toxicity": pytest.approx(0.2),
        "avg_target_toxicity": pytest.approx(0.3),
        "pct_rollouts_with_adversarial_toxicity": 0.5,
        "pct_rollouts_with_target_toxicity/attack_success_rate": 0.5,
    }
    assert [set(detail) for detail in found["details"]] == [{"overall", "per_turn"}] * 2
    reward = found["distributions"]["avg_reward"]
    assert (reward["n"], reward["mean"], reward["median"], reward["min"], reward["max"]) == (
        2,
        1.75,
        1.75,
        0.5,
        3,
    )
    assert found["distributions"]["first_target_toxicity_turn"]["missing"] == 1
    rate = found["distributions"]["pct_rollouts_with_target_toxicity/attack_success_rate"]
    assert (rate["mean"], rate["low"], rate["high"]) == (0.5, wilson(1, 2).low, wilson(1, 2).high)


def test_no_rollouts_are_zeros_and_missing_keys_read_as_zero():
    summary = ASTEvaluator().aggregate_metrics([])["summary"]
    assert set(summary.values()) == {0}
    found = ASTEvaluator().aggregate_metrics([GraphMetrics(overall={}, per_turn=[])])
    assert found["summary"]["avg_reward"] == 0.0


def test_rollouts_that_are_missing_are_counted_in_the_summary():
    assert "n_failed" not in ASTEvaluator().aggregate_metrics(MeasuredRollouts([]))["summary"]

    class Env:
        moderator = Moderator()

        def eval_rollout(self, seed):
            if seed == 1:
                raise OSError("gone")
            return line((0, 0, 0))

    found = ASTEvaluator(Env()).evaluate(3, progress=False)
    assert (found["summary"]["n_rollouts"], found["summary"]["n_failed"]) == (2, 1)
    assert [detail["seed"] for detail in found["details"]] == [0, 2]


def test_the_report_of_a_run_says_the_same_without_a_second_copy_of_every_rollout():
    class Env:
        moderator = Moderator()

        def eval_rollout(self, seed):
            return line((0, 0, 0))

    evaluator = ASTEvaluator(Env())
    found = evaluator.evaluate(2, progress=False)
    (aggregate,) = evaluator.report.analyses
    assert aggregate.data == {name: part for name, part in found.items() if name != "details"}
    assert [len(list(case.output.walk())) for case in evaluator.report.cases] == [1, 1]


def test_a_subclass_adds_to_what_there_is():
    class Longest(ASTEvaluator):
        def compute_metrics(self, g):
            metrics = super().compute_metrics(g)
            metrics.overall["longest_response"] = max(
                (len(row["response"]) for row in metrics.per_turn), default=0
            )
            return metrics

    found = Longest(moderator=Moderator()).compute_metrics(line((0, 0.25, 0)))
    assert found.overall["longest_response"] == 4
