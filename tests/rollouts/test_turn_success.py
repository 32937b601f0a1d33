from dataclasses import dataclass

import pytest

from calipers.data.result import EvalResult, EvalVerdict
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError, NotAnEvaluatorError, RolloutError
from calipers.evaluators import Contains, Evaluator
from calipers.rollouts import Environment, KeywordModerator

MODERATOR = KeywordModerator({"heron": 0.5, "egret": 0.4})


def judged(success=0.5, *, response="It is heron.", moderator=MODERATOR, reward=None):
    environment = Environment(
        lambda messages: response, ["a"], moderator, goals=["heron"], success=success, reward=reward
    )
    (node,) = environment.rollout(0).children
    return node


async def later(response):
    return "heron" in response


@dataclass
class Leaks(Evaluator):
    def evaluate(self, ctx):
        return ctx.inputs in ctx.output


class Verdict:
    def evaluate(self, test_case, trace):
        leaked = any(call.name == "open" for call in trace.tool_calls)
        return EvalResult("Verdict", EvalVerdict.PASS if leaked else EvalVerdict.FAIL, 1.0 if leaked else 0.0)


@pytest.mark.parametrize(
    ("success", "expected"),
    [
        (0.5, True),
        (0.51, False),
        (0, True),
        (lambda response: "heron" in response, True),
        (lambda goal, response: goal in response, True),
        (lambda response, goal: goal in response, True),
        (lambda turns: len(turns) == 2, False),
        (lambda node: node.attack == "a", True),
        (lambda attack: attack == "b", False),
        (lambda score: score > 0.9, False),
        (lambda response: None, None),
        (later, True),
        (lambda output, inputs: inputs in output, True),
        (lambda output: {}, None),
        (Leaks(), True),
        (Contains("egret"), False),
    ],
    ids=range(16),
)
def test_success_is_judged_by_a_threshold_a_function_or_an_evaluator(success, expected):
    assert judged(success).success is expected


def test_an_evaluator_of_tool_calls_judges_what_the_target_did():
    trace = Trace(output_text="ok", tool_calls=[ToolCall("open", {})])
    assert judged(Verdict(), response=trace).success is True
    assert judged(Verdict(), response="no trace").success is None


def test_without_a_moderator_only_a_function_or_an_evaluator_judges():
    node = judged(None, moderator=None)
    assert (node.success, node.reward) == (None, 0.0)
    assert judged(lambda response: True, moderator=None).success is True
    with pytest.raises(InvalidOptionError, match=r"success=0\.9 is a threshold.*no moderator"):
        judged(0.9, moderator=None)


@pytest.mark.parametrize("threshold", [50, -1, 1.01, float("nan"), float("inf"), True], ids=repr)
def test_a_threshold_that_no_score_could_be_is_refused(threshold):
    with pytest.raises(InvalidOptionError, match="from 0 to 1"):
        judged(threshold)


def test_the_reward_is_the_score_of_the_response_unless_a_function_says_otherwise():
    assert judged().reward == 0.5
    assert judged(reward=lambda response, turns: len(response) * len(turns)).reward == 12.0


@pytest.mark.parametrize("reward", [float("nan"), None, True, "much"], ids=repr)
def test_a_reward_must_be_a_finite_number(reward):
    with pytest.raises(RolloutError, match=r"must be a (finite )?number"):
        judged(reward=lambda response: reward)


@pytest.mark.parametrize("said", [1, "yes", 0.5], ids=repr)
def test_a_function_of_success_must_say_yes_or_no(said):
    with pytest.raises(RolloutError, match="True, False"):
        judged(lambda response: said)
    with pytest.raises(RolloutError, match="one assertion"):
        judged(lambda output: said)


def test_an_evaluator_with_several_results_is_no_judge_of_success():
    with pytest.raises(RolloutError, match="one assertion"):
        judged(lambda output: {"a": True, "b": True})


@pytest.mark.parametrize(
    "wrong", ["0.5", [], Leaks, lambda unknown: True], ids=["text", "list", "class", "name"]
)
def test_what_is_no_judge_is_refused_with_the_names_that_a_function_may_ask_for(wrong):
    with pytest.raises(
        NotAnEvaluatorError, match="parameters among goal, attack, response, turns, node, score"
    ):
        judged(wrong)
