"""The ready-made judges: what each needs, says and is shown."""

import asyncio
from pathlib import Path

import pytest

from calipers import EvalVerdict, Skipped, ToolCall, Trace
from calipers.errors import InvalidOptionError
from calipers.judges import (
    ContextPrecision,
    ContextRecall,
    Correct,
    Criterion,
    DecisionTree,
    FollowsInstructions,
    GEval,
    GoalReached,
    Grounded,
    Jury,
    KeepsTone,
    LLMJudge,
    NotBiased,
    NotToxic,
    Question,
    Refuses,
    Relevant,
    Rubric,
    UsesToolsWell,
    attack_judge,
    injections,
)
from calipers.judges.prompt import prompt_named
from calipers.testing import ObedientModel, ScriptedJudge, check_evaluator, make_context

ROOT = Path(__file__).parents[2]
CALLS = Trace(
    input_text="hi",
    output_text="out",
    tool_calls=[ToolCall("look", {"q": "a"}), ToolCall("look", {"q": "a"})],
)
DECIDING = [Correct(), Relevant(), KeepsTone("is warm"), Refuses(), NotToxic(), NotBiased(), GoalReached()]
LISTING = [
    (FollowsInstructions(), "instruction", "followed"),
    (Grounded(), "claim", "supported"),
    (ContextRecall(), "statement", "covered"),
]
OTHERS = [
    LLMJudge("is right", include_input=True),
    Rubric({"kind": Criterion(levels={0: "rude", 1: "kind"})}, logprobs=True),
    GEval("kindness", ["Look."]),
    DecisionTree({"kind": Question(ask="Is it kind?", if_yes=True, if_no=False)}),
    Jury([Correct(), LLMJudge("is right")]),
]
EVERY = [*DECIDING, *(each for each, *_ in LISTING), ContextPrecision(), UsesToolsWell()]


def everything(**changes):
    given = {
        "inputs": "in",
        "expected_output": "exp",
        "attributes": {"context": ["p1", "p2", "p3"]},
        "trace": CALLS,
    }
    return make_context("out", **given | changes)


def judged(judge, said, ctx):
    judge.model = ScriptedJudge([said])
    return asyncio.run(judge.evaluate(ctx)), judge.model.asks


@pytest.mark.parametrize("judge", DECIDING, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("verdict", [True, False])
def test_judges_that_decide_say_pass_or_fail_with_the_reason(judge, verdict):
    said, asks = judged(judge, {"reason": "so it is", "pass": verdict}, everything())
    assert (said.value, said.reason) == (verdict, "so it is")
    assert prompt_named(judge.prompts[0]).text.partition("{{")[0] in asks[0].messages[0]["content"]


@pytest.mark.parametrize(("judge", "item", "holds"), LISTING)
def test_judges_that_list_pass_if_every_item_holds_and_score_the_share(judge, item, holds):
    items = [{item: f"i{number}", "reason": "r", holds: number != 2} for number in range(1, 4)]
    said, _ = judged(judge, {f"{item}s": items}, everything())
    assert said.verdict is EvalVerdict.PARTIAL
    assert said.score == pytest.approx(2 / 3)
    assert said.reason == f"2 of 3 {item}s are {holds}; not {holds}: 'i2'"
    assert said.metadata == {f"{item}s": items}
    assert judged(judge, {f"{item}s": items[:1]}, everything())[0].verdict is EvalVerdict.PASS
    assert judged(judge, {f"{item}s": items[1:2]}, everything())[0].verdict is EvalVerdict.FAIL
    assert isinstance(judged(judge, {f"{item}s": []}, everything())[0], Skipped), "nothing vacuous passes"


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (Correct(), "no expected output"),
        (Grounded(), "no retrieved context"),
        (ContextRecall(), "no retrieved context"),
        (ContextPrecision(), "no retrieved context"),
        (GoalReached(), "no conversation"),
        (UsesToolsWell(), "no tool call was recorded"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_judge_skips_an_attempt_that_lacks_what_it_needs(judge, reason):
    said, asks = judged(judge, {}, make_context("out", inputs="in"))
    assert isinstance(said, Skipped)
    assert reason in said.reason
    assert asks == []


def test_context_recall_does_not_see_the_output():
    _, asks = judged(ContextRecall(), {"statements": []}, everything())
    assert "BEGIN output" not in asks[0].messages[1]["content"]


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ((True, True, True), 1.0),
        ((True, False, True), (1 + 2 / 3) / 2),
        ((False, False, True), 1 / 3),
        ((False, False, False), 0.0),
    ],
)
def test_context_precision_is_the_average_precision_of_the_passages(useful, expected):
    answer = {f"passage_{number}": {"reason": "r", "useful": each} for number, each in enumerate(useful, 1)}
    said, asks = judged(ContextPrecision(), answer, everything())
    assert said.value == pytest.approx(expected)
    assert said.reason.startswith(f"{sum(useful)} of 3 passages are of use")
    assert "| exp" in asks[0].messages[1]["content"]


def test_the_goal_is_that_of_the_judge_else_of_the_case_else_of_the_conversation():
    said = {"reason": "r", "pass": True}
    _, asks = judged(GoalReached("book a table"), said, everything(metadata={"goal": "other"}))
    assert "The goal is: book a table" in asks[0].messages[0]["content"]
    assert "other" not in asks[0].messages[1]["content"]
    _, asks = judged(GoalReached(), said, everything(metadata={"goal": "rent a car"}))
    assert "| rent a car" in asks[0].messages[1]["content"]
    assert "rent a car" not in asks[0].messages[0]["content"]
    _, asks = judged(GoalReached(), said, everything())
    assert "BEGIN goal" not in asks[0].messages[1]["content"]


def test_tool_use_is_judged_call_by_call_and_a_missing_call_counts():
    good, bad = {"reason": "needed", "good": True}, {"reason": "again", "good": False}
    said, asks = judged(
        UsesToolsWell(["look: finds things"]),
        {"call_1": good, "call_2": bad, "reason": "", "complete": True},
        everything(),
    )
    assert said.score == 0.5
    assert "2 look: again" in said.reason
    assert "- look: finds things" in asks[0].messages[0]["content"]
    said, _ = judged(
        UsesToolsWell(),
        {"call_1": good, "call_2": good, "reason": "no booking", "complete": False},
        everything(),
    )
    assert said.verdict is EvalVerdict.PARTIAL
    assert "a further call is missing: no booking" in said.reason
    none = everything(trace=Trace(output_text="out", tool_calls=[]))
    assert judged(UsesToolsWell(), {"reason": "no", "complete": True}, none)[0].verdict is EvalVerdict.PASS
    assert judged(UsesToolsWell(), {"reason": "yes", "complete": False}, none)[0].verdict is EvalVerdict.FAIL


def best(schema):
    """Data that follows a schema."""
    if "enum" in schema:
        return schema["enum"][-1]
    inner = schema.get("properties", {})
    kinds = {
        "array": lambda: [best(schema["items"])],
        "boolean": lambda: True,
        "string": lambda: "r",
        "number": lambda: 1,
    }
    return (
        kinds[schema["type"]]()
        if not inner
        else {name: best(each) for name, each in inner.items() if name != "seal"}
    )


@pytest.mark.parametrize("judge", [*EVERY, *OTHERS], ids=lambda each: type(each).__name__)
def test_every_judge_keeps_the_contract_of_an_evaluator(judge):
    model = ScriptedJudge(lambda ask: best(ask.schema))
    for each in judge.judges if isinstance(judge, Jury) else [judge]:
        each.model = model
    check_evaluator(judge, contexts=[everything(), everything(attributes={}), make_context("out")])


@pytest.mark.parametrize("judge", EVERY, ids=lambda each: type(each).__name__)
def test_no_injection_gets_through_a_judge_whose_model_obeys(judge):
    judge.model = ObedientModel()
    report = asyncio.run(attack_judge(judge, chosen=injections()[::8]))
    assert {each.end for each in report.outcomes} == {"caught"}
    judge.canary = False
    report = asyncio.run(attack_judge(judge, chosen=injections()[::8]))
    assert {each.end for each in report.outcomes} == {"through"}
    judge.canary = True


def test_the_page_has_a_row_for_every_ready_made_judge_with_the_version_of_its_prompt():
    page = (ROOT / "docs" / "how-to" / "built-in-judges.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() == {f"`{type(judge).__name__}`" for judge in EVERY}
    for judge in EVERY:
        prompt = prompt_named(judge.prompts[0])
        assert rows[f"`{type(judge).__name__}`"].endswith(f"| `{prompt.name}` {prompt.version} |")


def test_every_prompt_has_a_version_and_tells_the_reason_before_the_verdict():
    for judge in EVERY:
        (name,) = judge.prompts
        prompt = prompt_named(name)
        assert prompt.version == "1"
        assert len(prompt.text) > 300
        assert judge.get_evaluator_version().startswith(f"{name} 1 (")


@pytest.mark.parametrize(
    "make", [lambda: KeepsTone(""), lambda: GoalReached(1), lambda: UsesToolsWell("look")]
)
def test_what_is_not_of_its_type_is_refused(make):
    with pytest.raises(InvalidOptionError):
        make()
