"""Any evaluator judges every turn."""

import asyncio
from dataclasses import dataclass

import pytest

from calipers import Case, Dataset, Skipped, ToolCall, Trace
from calipers.agents import EvalResult, EvalVerdict
from calipers.errors import InvalidOptionError, InvalidOutputError, NotAnEvaluatorError
from calipers.evaluators import Contains, EvaluationReason, Evaluator
from calipers.rollouts import ASTEvaluator, Graph, JudgeTurns, Node
from calipers.stats import wilson


def talk(*responses, traces=None):
    """A conversation with these responses."""
    node = None
    for place in range(len(responses) - 1, -1, -1):
        trace = traces[place] if traces else None
        node = Node("", f"q{place + 1}", responses[place], 0.0, [] if node is None else [node], trace=trace)
    return Graph("", [node])


def metrics(judge, graph):
    return asyncio.run(judge.compute_metrics(graph))


def polite(output):
    return "please" in output


async def polite_later(output, inputs):
    await asyncio.sleep(0)
    return {"polite": "please" in output, "asked": inputs}


@dataclass
class Polite(Evaluator):
    word: str = "please"

    def evaluate(self, ctx):
        return self.word in ctx.output


class PoliteVerdict:
    name = "polite"

    def evaluate(self, test_case, trace):
        good = "please" in trace.output_text
        return EvalResult(self.name, EvalVerdict.PASS if good else EvalVerdict.FAIL, float(good))


TALK = ("yes please", "no", "please")


@pytest.mark.parametrize(
    ("evaluator", "name"),
    [(polite, "polite"), (polite_later, "polite"), (Polite(), "Polite"), (PoliteVerdict(), "polite"),
     (Contains("please"), "Contains")],
    ids=["function", "async mapping", "dataclass", "verdict", "built-in"],
)  # fmt: skip
def test_an_evaluator_of_any_style_judges_every_turn(evaluator, name):
    graph = talk(*TALK, traces=[Trace(output_text=text) for text in TALK])
    judge = JudgeTurns(evaluator, expected_output="please" if isinstance(evaluator, Contains) else None)
    found = metrics(judge, graph)
    assert [row[name] for row in found.per_turn] == [True, False, True]
    assert [(row["turn"], row["attack"], row["response"]) for row in found.per_turn][1] == (2, "q2", "no")
    assert found.overall[name] is False
    assert found.overall[f"{name}.mean"] == pytest.approx(2 / 3)
    assert found.overall[f"{name}.decided_at"] == 2


@pytest.mark.parametrize(
    ("combine", "said", "held", "decided"),
    [
        ("all", ("please", "please"), True, None),
        ("all", ("please", "no"), False, 2),
        ("any", ("no", "please"), True, 2),
        ("any", ("no", "no"), False, None),
    ],
)
def test_a_flag_holds_in_all_turns_or_in_any_and_one_turn_decides(combine, said, held, decided):
    overall = metrics(JudgeTurns(polite, combine=combine), talk(*said)).overall
    assert (overall["polite"], overall["polite.decided_at"]) == (held, decided)


@pytest.mark.parametrize(
    ("combine", "said", "held", "decided"),
    [
        ("all", ("please", "please"), None, None),
        ("all", ("please", "no"), False, 2),
        ("any", ("no", "please"), True, 2),
        ("any", ("no", "no"), None, None),
    ],
)
def test_a_rollout_that_broke_off_holds_only_what_a_turn_decided(combine, said, held, decided):
    graph = talk(*said)
    graph.broke_off = True
    overall = metrics(JudgeTurns(polite, combine=combine), graph).overall
    assert (overall["polite"], overall["polite.decided_at"]) == (held, decided)


def test_a_rollout_that_broke_off_or_said_nothing_passes_nothing():
    graphs = {"good": talk("please"), "broken": talk("please"), "silent": Graph("", [])}
    graphs["broken"].broke_off = True
    dataset = Dataset(
        name="d", cases=[Case(name=name, inputs=name) for name in graphs], evaluators=[JudgeTurns(polite)]
    )
    report = dataset.evaluate_sync(graphs.__getitem__, progress=False)
    said = {
        case.name: {name: found.value for name, found in case.assertions.items()} for case in report.cases
    }
    assert said == {"good": {"polite": True}, "broken": {}, "silent": {}}


def test_a_result_that_is_called_like_a_column_of_its_row_gets_the_next_name():
    def named(output):
        return {"turn": len(output), "response": "calm", "parent": True, "turn_2": 0.5}

    found = metrics(JudgeTurns(named), talk("a", "bb"))
    row = found.per_turn[1]
    assert (row["turn"], row["response"]) == (2, "bb")
    assert (row["turn_2"], row["response_2"], row["parent_2"], row["turn_2_2"]) == (2, "calm", True, 0.5)
    assert found.overall["turn_2.mean"] == 1.5


def test_what_a_rollout_comes_to_under_two_names_that_meet_is_kept_twice():
    overall = metrics(JudgeTurns(lambda output: {"a": 2, "a.mean": "calm"}), talk("x")).overall
    assert overall == {"a.mean": 2.0, "a.min": 2.0, "a.max": 2.0, "a.mean_2": "calm"}


def test_one_name_has_values_of_one_kind():
    def mixed(output):
        return True if output == "a" else 0.25

    with pytest.raises(InvalidOutputError, match="'mixed' is a flag in some turns and a number in others"):
        metrics(JudgeTurns(mixed), talk("a", "b"))


def test_rollouts_of_one_goal_are_a_cluster():
    judge = JudgeTurns(polite)
    found = []
    for goal, said in (("a", "please"), ("b", "no"), ("c", "please")):
        for _ in range(20):
            graph = talk(said)
            graph.metadata["goal"] = goal
            found.append(metrics(judge, graph))
    combined = judge.aggregate_metrics(found)
    spread = combined["distributions"]["polite"]
    assert spread["high"] - spread["low"] > wilson(2, 3).width, "three goals, however often"
    assert combined["unit"] == "goal"


def test_numbers_have_mean_and_extremes_and_labels_their_most_frequent():
    def length(output):
        return {"length": len(output), "tone": "short" if len(output) < 3 else "long"}

    overall = metrics(JudgeTurns(length), talk("a", "bbbb", "cc")).overall
    assert overall == {"length.mean": 7 / 3, "length.min": 1.0, "length.max": 4.0, "tone": "short"}


def test_a_turn_that_lacks_something_is_skipped_and_counts_for_nothing():
    def called(tool_calls):
        return len(tool_calls) == 1

    trace = Trace(tool_calls=[ToolCall("look")])
    found = metrics(JudgeTurns(called), talk("a", "b", traces=[None, trace]))
    assert [row["called"] for row in found.per_turn] == [None, True]
    assert "no tool call was recorded" in found.per_turn[0]["called.reason"]
    assert found.overall["called.mean"] == 1.0
    assert metrics(JudgeTurns(called), talk("a")).overall == {}


def test_a_reason_stands_beside_its_result():
    def short(output):
        return EvaluationReason(len(output) < 2, f"{len(output)} characters")

    rows = metrics(JudgeTurns(short), talk("a", "bb")).per_turn
    assert [(row["short"], row["short.reason"]) for row in rows] == [
        (True, "1 characters"),
        (False, "2 characters"),
    ]


def test_every_turn_of_a_tree_is_judged():
    graph = Graph("", [Node("", "a", "please", 0.0, []), Node("", "b", "no", 0.0, [])])
    found = metrics(JudgeTurns(polite), graph)
    assert [(row["branch"], row["parent"], row["polite"]) for row in found.per_turn] == [
        (1, None, True),
        (2, None, False),
    ]


def test_an_evaluator_that_fails_in_one_turn_fails_and_says_in_which():
    def fails(output):
        return 1 / len(output) > 0

    with pytest.raises(ZeroDivisionError) as caught:
        metrics(JudgeTurns(fails), talk("a", ""))
    assert caught.value.__notes__ == ["in turn 2 of the rollout"]


def test_in_a_dataset_it_is_an_evaluator_like_any_other():
    def whole(graph):
        return graph.depth == 2

    def short(output):
        return Skipped("not for trees") if isinstance(output, Graph) else True

    dataset = Dataset(
        cases=[Case(name="kind", inputs=("please", "please")), Case(name="rude", inputs=("please", "no"))],
        evaluators=[JudgeTurns(polite), JudgeTurns(polite, combine="any", name="ever"), whole, short],
    )
    report = dataset.evaluate_sync(lambda said: talk(*said), progress=False)
    values = [{name: result.value for name, result in case.assertions.items()} for case in report.cases]
    assert values == [
        {"polite": True, "ever": True, "whole": True},
        {"polite": False, "ever": True, "whole": True},
    ]
    assert report.pass_rate().value == 0.5
    assert [analysis.title for analysis in report.analyses] == ["polite", "ever"]
    assert report.analyses[0].data["summary"] == {
        "n_rollouts": 2,
        "polite": 0.5,
        "polite.mean": 0.75,
        "polite.decided_at": 2.0,
    }
    assert report.cases[1].assertions["polite"].source.arguments == {"evaluator": {"polite": {}}}


def test_it_rolls_out_by_itself():
    class Env:
        def eval_rollout(self, seed):
            return talk("please" if seed else "no")

    judge = JudgeTurns(polite, Env())
    assert judge.evaluate(4, progress=False)["summary"]["polite"] == 0.75
    assert judge.report.pass_rate().value == 0.75


@pytest.mark.parametrize(
    ("evaluator", "options", "error"),
    [
        (5, {}, NotAnEvaluatorError),
        (polite, {"combine": "most"}, InvalidOptionError),
        (ASTEvaluator(), {}, InvalidOptionError),
    ],
    ids=["no evaluator", "unknown", "rollout metric"],
)
def test_what_cannot_judge_a_turn_is_refused(evaluator, options, error):
    with pytest.raises(error):
        JudgeTurns(evaluator, **options)
