"""`Jury`: columns, votes, disagreement, and what becomes of jurors that fail."""

import asyncio

import pytest

from calipers import Case, Dataset, Skipped
from calipers.errors import InvalidOptionError, ModelRateError
from calipers.evaluators import InRange
from calipers.identity import evaluator_identity
from calipers.judges import Correct, Jury, LLMJudge
from calipers.testing import ScriptedJudge, make_context


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
