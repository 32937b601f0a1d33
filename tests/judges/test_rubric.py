"""`Rubric` and `GEval`: levels, weights, totals and the probabilities of tokens."""

import asyncio
import json
import math

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.judges import Criterion, GEval, Rubric
from calipers.judges.fence import seal_in
from calipers.judges.rubric import weighted_levels
from calipers.models import Completion, Token
from calipers.testing import ScriptedJudge, ScriptedModel, make_context

CRITERIA = {
    "right": Criterion(levels={0: "wrong", 1: "vague", 2: "exact"}, weight=3),
    "how kind it is": Criterion(levels={1: "rude", 5: "warm"}, description="its manner"),
}
SAID = {"right": {"reason": "a", "level": 1}, "criterion_2": {"reason": "b", "level": 5}}


def judged(judge):
    return asyncio.run(judge.evaluate(make_context("out")))


def test_one_call_gives_a_score_for_each_criterion_and_their_mean_by_weight():
    model = ScriptedJudge([SAID])
    said = judged(Rubric(CRITERIA, model=model, pass_at=0.6, steps=["Read.", "Grade."]))
    assert said["right"].value == 0.5
    assert said["right"].reason == "level 1: a"
    assert said["how kind it is"].value == 1.0
    assert said["total"] == pytest.approx((3 * 0.5 + 1) / 4)
    assert said["passed"].value is True
    system = model.asks[0].messages[0]["content"]
    assert "- level 2: exact" in system
    assert "`criterion_2`, how kind it is: its manner" in system
    assert "1. Read.\n2. Grade." in system
    assert model.asks[0].schema["properties"]["right"]["properties"]["level"]["enum"] == [0, 1, 2]


def test_a_level_that_is_none_of_the_rubrics_is_no_verdict():
    wrong = {**SAID, "right": {"reason": "a", "level": 7}}
    with pytest.raises(Exception, match="does not follow the schema"):
        judged(Rubric(CRITERIA, model=ScriptedJudge([wrong, wrong])))


def tokens(text, level, top, *, at):
    """The tokens of a text, of which one holds a level with its likely alternatives."""
    before, after = text[:at], text[at + len(level) :]
    return (Token(before, -0.1), Token(level, top[0][1], tuple(top)), Token(after, -0.1))


def test_a_level_is_weighted_by_the_probabilities_of_its_tokens():
    text = '{"reason": "it says \\"level\\": 1", "level": 4, "seal": "x"}'
    top = [("4", math.log(0.6)), (" 5", math.log(0.2)), ("9", math.log(0.1)), ("four", math.log(0.1))]
    found = weighted_levels(
        Completion(text=text, logprobs=tokens(text, "4", top, at=text.index("4,"))), [range(1, 6)]
    )
    assert found == [pytest.approx((0.6 * 4 + 0.2 * 5) / 0.8)]


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        (),
        (Token('{"reason": "a", "level": 4}', -0.1),),
        (Token('{"reason": "a", "lev', -0.1), Token('el": ', -0.1), Token("4}", -0.1)),
        (Token("something else", -0.1),),
    ],
)
def test_without_a_token_that_is_the_level_there_is_nothing_to_weigh(logprobs):
    assert weighted_levels(Completion(text="", logprobs=logprobs), [range(1, 6)]) is None


def test_a_number_that_is_written_digit_by_digit_is_not_taken_for_its_first_digit():
    """Wrong would be 1 for a 10, and 1 for the beginning of a 10 that the model was about to write."""
    split = (Token('{"level": ', -0.1), Token("1", -0.1, (("1", -0.1),)), Token("0", 0.0), Token("}", 0.0))
    assert weighted_levels(Completion(logprobs=split), [range(11)]) is None
    almost = (Token('{"level": ', -0.1), Token("9", -0.4, (("9", -0.4), ("1", -1.1))), Token("}", 0.0))
    assert weighted_levels(Completion(logprobs=almost), [range(11)]) is None
    whole = (Token('{"level": ', -0.1), Token("9", -0.4, (("9", -0.4), ("10", -1.1), ("1", -99.0))))
    (level,) = weighted_levels(Completion(logprobs=whole), [range(11)]) or [0]
    assert 9 < level < 10


def test_the_level_that_was_written_counts_also_where_it_is_not_among_the_likeliest():
    text = (Token('{"level": ', -0.1), Token("4", -5.0, (("```", -0.1), ("5", -5.0))), Token("}", 0.0))
    assert weighted_levels(Completion(logprobs=text), [range(1, 6)]) == [pytest.approx(4.5)]


def test_g_eval_says_whether_it_could_weigh_the_levels():
    def with_probabilities(ask):
        text = json.dumps({"reason": "a", "level": 4, "seal": seal_in(ask.messages)})
        top = [("4", math.log(0.5)), ("3", math.log(0.5))]
        return Completion(text=text, finish="stop", logprobs=tokens(text, "4", top, at=text.index("4,")))

    judge = GEval("kindness", ["Look."], model=ScriptedModel(with_probabilities))
    plain = GEval(
        "kindness", ["Look."], model=ScriptedJudge([{"reason": "a", "level": 4}]), evaluation_name="plain"
    )
    cases = [Case(name="a", inputs="x")]
    report = Dataset(name="d", cases=cases, evaluators=[judge, plain]).evaluate_sync(str, progress=False)
    scores = report.cases[0].scores
    assert scores["GEval"].value == 3.5
    assert scores["GEval"].metadata["attributes"]["levels"].startswith("weighted")
    assert scores["plain"].value == 4
    assert scores["plain"].metadata["attributes"]["levels"].startswith("as written")
    assert judge.as_spec().score_range == (1.0, 5.0)


def test_weights_follow_the_order_in_which_the_model_answers():
    def reversed_answer(ask):
        said = {"criterion_2": SAID["criterion_2"], "right": SAID["right"], "seal": seal_in(ask.messages)}
        return json.dumps(said)

    said = judged(Rubric(CRITERIA, model=ScriptedModel(reversed_answer), logprobs=True))
    assert (said["right"].value, said["how kind it is"].value) == (0.5, 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rubric({}),
        lambda: Rubric({"total": CRITERIA["right"]}),
        lambda: Rubric({"a": "b"}),
        lambda: Rubric(CRITERIA, pass_at=2),
        lambda: Criterion(levels={1: "one"}),
        lambda: Criterion(levels={1: "one", 2: ""}),
        lambda: Criterion(levels={1: "one", 2: "two"}, weight=0),
        lambda: GEval("a", []),
        lambda: GEval("a", ["b"], score_range=(5, 1)),
    ],
)
def test_a_rubric_that_cannot_be_is_refused_when_it_is_made(make):
    with pytest.raises(InvalidOptionError):
        make()
