"""Judges of pairs, cascades and judges of traces keep the contract that every evaluator keeps."""

from calipers import Case, Dataset
from calipers.agents import ToolCall, Trace, Turn
from calipers.evaluators import Contains
from calipers.judges import Cascade, LLMJudge, Pairwise, TraceJudge
from calipers.judges.fence import seal_in
from calipers.models.model_answer import Completion
from calipers.testing import ScriptedJudge, ScriptedModel, check_evaluator, make_context


def says(**answer):
    return ScriptedJudge(lambda _: {"reason": "so it is", **answer})


def reads_one(ask):
    name, arguments = "read_turn", {"turn": 1}
    if len(ask.messages) > 2:
        seal = seal_in(ask.messages)
        name, arguments = "give_verdict", {"reason": "it is", "evidence": [1], "pass": True, "seal": seal}
    return Completion(tool_calls=[ToolCall(name, arguments)], finish="tool_call")


def test_they_keep_the_contract():
    old = Dataset(name="d", cases=[Case(name="case", inputs="q")]).evaluate_sync(
        lambda _: "no", name="old", progress=False
    )
    check_evaluator(
        Pairwise(baseline=old, model=says(winner="tie")),
        contexts=[make_context("yes", inputs="q", name="case")],
    )
    judge = LLMJudge("is kind", model=says(**{"pass": True}))
    check_evaluator(
        Cascade([Contains("e")], judge=judge, expensive=judge, share=0.5), contexts=[make_context("yes")]
    )
    trace = Trace(turns=[Turn(tool_call=ToolCall("search", {"for": "it"}, output="found"))])
    check_evaluator(
        TraceJudge("finds it", model=ScriptedModel(reads_one)), contexts=[make_context(trace=trace)]
    )
