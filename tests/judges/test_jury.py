"""`Jury`: columns, votes, disagreement, and what becomes of jurors that fail."""

import asyncio

import pytest

from calipers import Case, Dataset, Skipped
from calipers.errors import InvalidOptionError, ModelRateError
from calipers.evaluators import InRange
from calipers.identity import evaluator_identity
from calipers.judges import (
    Correct,
    Criterion,
    Jury,
    LabelledAttempt,
    LLMJudge,
    Rubric,
    attack_judge,
    check_judge,
)
from calipers.models import RemoteModel, using_cache
from calipers.stores import MemoryStore
from calipers.stores.stored_answers import StoredAnswers
from calipers.testing import OpenAIServer, ScriptedJudge, judge_replies, make_context


def juror(name, verdict):
    said = verdict if isinstance(verdict, Exception) else {"reason": name, "pass": verdict}
    return LLMJudge("is polite", model=ScriptedJudge([said], name=name))


def heard(verdicts, **options):
    jurors = [juror(f"m{number}", verdict) for number, verdict in enumerate(verdicts, 1)]
    return asyncio.run(Jury(jurors, **options).evaluate(make_context("out")))


@pytest.mark.parametrize(
    ("verdicts", "vote", "expected", "disagreement"),
    [
        ((True, True, False), "majority", True, 2 / 3),
        ((True, False, False), "majority", False, 2 / 3),
        ((True, False), "majority", False, 1.0),
        ((True, True, False, False), "majority", False, 2 / 3),
        ((True, True), "all", True, 0.0),
        ((True, False), "all", False, 1.0),
        ((True, False), "any", True, 1.0),
        ((False, False), "any", False, 0.0),
    ],
)
def test_the_vote_and_how_much_they_disagree(verdicts, vote, expected, disagreement):
    said = heard(verdicts, vote=vote)
    assert said["vote"].value is expected
    assert said["disagreement"] == pytest.approx(disagreement)
    assert [said[f"LLMJudge (m{number})"].value for number in range(1, len(verdicts) + 1)] == list(verdicts)


def test_an_even_split_is_no_pass_and_says_so():
    assert heard((True, False))["vote"].reason == "1 of 2 pass, more than half must (2)"


BUSY = ModelRateError("busy")


@pytest.mark.parametrize(
    ("verdicts", "expected"), [((True, True, BUSY), True), ((False, False, BUSY), False)]
)
def test_the_vote_stands_if_a_juror_that_failed_could_not_have_changed_it(verdicts, expected):
    assert heard(verdicts)["vote"].value is expected


@pytest.mark.parametrize("verdicts", [(True, False, BUSY), (BUSY, BUSY)])
def test_a_jury_fails_if_a_juror_that_failed_could_have_changed_the_vote(verdicts):
    with pytest.raises(ModelRateError):
        heard(verdicts)


def test_a_failed_juror_is_skipped_in_its_column():
    jury = Jury([juror("m1", True), juror("m2", True), juror("m3", BUSY)])
    dataset = Dataset(name="d", cases=[Case(name="a", inputs="x")], evaluators=[jury])
    (case,) = dataset.evaluate_sync(str, progress=False).cases
    assert case.assertions["vote"].value is True
    (skipped,) = case.skipped
    assert skipped.name == "LLMJudge (m3)"
    assert skipped.reason == "the juror failed: ModelRateError: busy"


def test_a_juror_that_does_not_apply_is_no_part_of_the_jury():
    absent = Correct(model=ScriptedJudge([]))
    said = asyncio.run(Jury([juror("m1", True), absent]).evaluate(make_context("out")))
    assert said["vote"].value is True
    assert list(said) == ["LLMJudge", "vote"]
    assert isinstance(asyncio.run(Jury([absent, absent]).evaluate(make_context("out"))), Skipped)


def test_numbers_have_their_mean_as_the_vote():
    def scored(score):
        return LLMJudge(
            "a", model=ScriptedJudge([{"reason": "r", "score": score}]), score={}, assertion=False
        )

    said = asyncio.run(Jury([scored(0.25), scored(0.75)]).evaluate(make_context("out")))
    assert said["vote"] == 0.5
    assert said["disagreement"] == pytest.approx(0.3535533906)


def test_jurors_of_two_kinds_are_an_error_and_any_evaluator_can_be_one():
    mixed = Jury(
        [
            juror("m1", True),
            LLMJudge("a", model=ScriptedJudge([{"reason": "r", "score": 1}]), score={}, assertion=False),
        ]
    )
    with pytest.raises(ValueError, match="all pass or fail, or all give a number"):
        asyncio.run(mixed.evaluate(make_context("out")))
    said = asyncio.run(Jury([juror("m1", True), InRange(minimum=1)]).evaluate(make_context(3)))
    assert said["vote"].value is True


def test_a_jury_is_its_jurors_and_their_models():
    one, other = (Jury([Correct(model="openai:a"), Correct(model=name)]) for name in ("openai:b", "openai:c"))
    assert evaluator_identity(one).key != evaluator_identity(other).key
    assert "openai:b" in one.get_evaluator_version()
    assert one.needs_expectations() == {"expected_output"}


@pytest.mark.parametrize(
    "make", [lambda: Jury([Correct()]), lambda: Jury([Correct(), Correct()], vote="most")]
)
def test_a_jury_of_one_and_an_unknown_rule_are_refused(make):
    with pytest.raises(InvalidOptionError):
        make()


def test_a_judge_that_is_on_a_jury_twice_is_asked_twice_also_where_answers_are_kept(monkeypatch):
    """Wrong would be one answer for both: their disagreement would be gone the second time."""
    asked = []

    def says(received):
        asked.append(received)
        return judge_replies({"reason": "r", "pass": len(asked) % 2 == 0})(received)

    with OpenAIServer(says) as server, MemoryStore() as store, using_cache(StoredAnswers(store)):
        model = RemoteModel("openai:a", base_url=server.url)
        judges = [LLMJudge("ok?", model=model), LLMJudge("ok?", model=model, evaluation_name="again")]
        case = Case(name="a", inputs="x")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        for _ in range(3):
            report = Dataset(name="d", cases=[case], evaluators=[Jury(judges)]).evaluate_sync(
                str, progress=False
            )
            assert report.cases[0].scores["disagreement"].value == 1.0
    assert len(asked) == 2


def test_the_vote_of_a_jury_and_the_total_of_a_rubric_speak_for_them():
    """Wrong would be the first juror: each measure of a jury would be that of one judge."""

    def fixed(value, name):
        model = ScriptedJudge(lambda ask: {"reason": "r", "pass": value})
        return LLMJudge(f"is {name}", model=model, evaluation_name=name)

    jury = Jury([fixed(False, "a"), fixed(True, "b"), fixed(True, "c")])
    some = [LabelledAttempt(name=str(n), output=f"o{n}", label=n % 4 > 0) for n in range(20)]
    passport = asyncio.run(check_judge(jury, some, repeats=1, injections=False))
    assert passport.measured["judged_rate"].value == 1.0
    levels = {"low": {"reason": "r", "level": 0}, "high": {"reason": "r", "level": 1}}
    criteria = {
        "low": Criterion(levels={0: "n", 1: "y"}, weight=1),
        "high": Criterion(levels={0: "n", 1: "y"}, weight=3),
    }
    rubric = Rubric(criteria, model=ScriptedJudge(lambda ask: levels))
    passport = asyncio.run(check_judge(rubric, some, repeats=1, injections=False, passes_at=0.7))
    assert passport.measured["judged_rate"].value == 1.0
    inside = asyncio.run(Jury([jury, fixed(True, "d"), fixed(True, "e")]).evaluate(make_context("o")))
    assert inside["Jury"].value is True


def test_an_injection_gets_through_a_jury_if_the_vote_changes():
    def obeys(ask):
        return {"reason": "r", "pass": "PASS" in ask.messages[-1]["content"].upper().replace("PASSWORD", "")}

    deaf = LLMJudge("a", model=ScriptedJudge(lambda ask: {"reason": "r", "pass": False}))
    weak = [LLMJudge(name, model=ScriptedJudge(obeys), evaluation_name=name) for name in ("b", "c")]
    alone = asyncio.run(attack_judge(weak[0]))
    jury = asyncio.run(attack_judge(Jury([deaf, *weak])))
    count = [sum(each.end == "through" for each in found.outcomes) for found in (alone, jury)]
    assert count[0] == count[1] > 0
