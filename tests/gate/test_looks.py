"""Looks at the same agent by the same policy share one doubt, and the advice does not follow the luck of a run."""

from random import Random

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.gate import Policy, Rules, judge_run
from calipers.gate.claims import Claim, judge_claims
from calipers.gate.looks import Look, confidence_at, number_of, question_of, share_of
from calipers.gate.measure import MeanDifference
from calipers.stores import open_store


def test_all_looks_together_have_the_doubt_of_the_policy():
    shares = [share_of(number) for number in range(1, 60)]
    assert shares[:3] == pytest.approx([0.8, 0.1, 0.05])
    assert sum(shares) == pytest.approx(1)
    assert confidence_at(0.95, 1) == pytest.approx(0.96)


def look(run, number, outcome="INCONCLUSIVE", attempts=10):
    return Look(run=run, attempts=attempts, number=number, outcome=outcome)


def test_a_look_is_numbered_by_what_was_looked_at_before():
    assert number_of([], "a", 10) == 1
    assert number_of([look("a", 1)], "b", 20) == 2
    assert number_of([look("a", 1)], "a", 20) == 2, "the run has grown"
    assert number_of([look("a", 1), look("b", 2)], "a", 10) == 1, "the same attempts are the same look"
    assert number_of([look("a", 1), look("b", 2, "FAIL")], "c", 10) == 3
    assert number_of([look("a", 1, "PASS")], "b", 10) == 1, "the question was answered"


@pytest.mark.parametrize("number", [0, 1.5, "1", [1]])
def test_a_look_is_numbered_from_1(number):
    report = Dataset(cases=[Case(inputs=1)], evaluators=[lambda output: True]).evaluate_sync(
        lambda inputs: inputs, progress=False
    )
    with pytest.raises(InvalidOptionError, match="look must be a whole number from 1"):
        judge_run(report, Policy(pass_rate=Rules(at_least=0.5)), look=number)


def test_another_policy_or_agent_is_another_question():
    policy, other = (Policy(pass_rate=Rules(at_least=least)) for least in (0.8, 0.9))
    side = ("dataset", "pr", "v1")
    assert question_of(policy, side) == question_of(policy, side)
    assert len({question_of(policy, side), question_of(other, side), question_of(policy, side, side)}) == 3


def test_a_store_remembers_looks(tmp_path):
    where = str(tmp_path / "runs.db")
    with open_store(where) as store:
        store.add_look("q", look("a", 1), after=0)
        store.add_look("q", look("b", 2, "PASS"), after=1)
    with open_store(where) as store:
        assert store.looks("q") == [look("a", 1), look("b", 2, "PASS")]
        assert store.looks("other") == []


def change(better, worse, n):
    same = n - better - worse
    return MeanDifference(
        run=[[1.0]] * better + [[0.0]] * (worse + same),
        baseline=[[0.0]] * better + [[1.0]] * worse + [[0.0]] * same,
        bounds=(-1.0, 1.0),
    )


def margin_claim(better, worse, n, margin=0.05):
    return Claim(
        subject="x",
        rule="",
        measure=change(better, worse, n),
        limit=-margin,
        par=0.0,
        unit="rate",
        signed=True,
    )


def test_how_many_cases_an_equal_agent_needs_does_not_follow_its_luck():
    lucky, unlucky = change(24, 16, 200).needed(-0.05, 0.95), change(16, 24, 200).needed(-0.05, 0.95)
    assert lucky == unlucky
    assert 600 < lucky < 800, "20 % of the cases flip"


def test_following_the_advice_six_times_keeps_false_passes_rare():
    draw = Random(5)
    passed = 0
    for _ in range(120):
        better = worse = total = 0
        wanted = 60
        for number in range(1, 8):
            for _ in range(wanted - total):
                place = draw.random()
                better += place < 0.025
                worse += place > 0.925
            total = wanted
            level, later = confidence_at(0.95, number), confidence_at(0.95, number + 1)
            claim = margin_claim(better, worse, total)
            found = judge_claims([claim], confidence=level, correct=True, next_confidence=later)[0]
            if found.outcome in {"PASS", "FAIL"} or total > 4000:
                passed += found.outcome == "PASS"
                break
            wanted = total + (found.more_cases or total // 2)
    assert passed <= 9, "2.5 % of 120 is 3"
