"""Whether a policy asks about these cases, or about cases like these."""

from random import Random

import pytest

from calipers import Case, Dataset, current_attempt
from calipers.errors import InvalidOptionError
from calipers.gate import Policy, Rules, StopWhenDecided, judge_run
from calipers.gate.measure import MeanDifference, attempts_apart
from calipers.views.gate.terminal import verdict_text

THESE = Policy(pass_rate=Rules(margin=0.1), population="these-cases")
LIKE_THESE = Policy(pass_rate=Rules(margin=0.1))


def right(output):
    return output


def run(version, *, repeat=10, n=30):
    def task(number):
        attempt = current_attempt().repeat_index
        return Random(f"{version} {number} {attempt}").random() < (0.95 if number % 3 else 0.3)

    cases = [Case(name=str(number), inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[right])
    return dataset.evaluate_sync(task, repeat=repeat, progress=False, name=version)


OLD, NEW = run("old"), run("new")


def margin(verdict):
    return next(finding for finding in verdict.findings if "not worse" in finding.rule)


def test_repeats_decide_about_these_cases_and_not_about_cases_like_these():
    like, these = (judge_run(NEW, policy, baseline=OLD) for policy in (LIKE_THESE, THESE))
    assert (like.outcome, like.population) == ("INCONCLUSIVE", "cases-like-these")
    assert (these.outcome, these.population) == ("PASS", "these-cases")
    assert margin(like).value == pytest.approx(margin(these).value)
    assert margin(these).said.endswith("on 300 attempts")


def test_every_verdict_says_which_question_it_answers():
    assert "about cases like these" in verdict_text(judge_run(NEW, LIKE_THESE, baseline=OLD))
    assert "about these cases" in verdict_text(judge_run(NEW, THESE, baseline=OLD))


def test_with_one_attempt_at_each_case_both_questions_take_the_same_evidence():
    old, new = run("old", repeat=1), run("new", repeat=1)
    like, these = (margin(judge_run(new, policy, baseline=old)) for policy in (LIKE_THESE, THESE))
    assert like.interval == these.interval


def test_each_case_counts_alike_however_often_it_was_attempted():
    assert attempts_apart([[1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]) == [[[1.0], [0.0], [1.0, 1.0], [0.0, 0.0]]]
    new, old = attempts_apart([[1.0, 0.0]], [[1.0]])
    assert (new, old) == ([[1.0, 0.0]], [[1.0]])
    assert attempts_apart([], []) == [[], []]


def test_these_cases_are_not_decided_while_they_run():
    with pytest.raises(InvalidOptionError, match="cannot be decided while they run"):
        StopWhenDecided(THESE, OLD)
    with pytest.raises(InvalidOptionError, match="cannot be decided while they run"):
        judge_run(NEW, THESE, baseline=OLD, anytime=True)


def test_an_agent_that_lost_the_margin_on_these_cases_passes_at_most_at_the_stated_rate():
    draw = Random(8)
    passed = 0
    for _ in range(300):
        old = [draw.choice((0.2, 0.9, 1.0)) for _ in range(20)]
        lost = 20 * 0.05 / sum(chance > 0.5 for chance in old)
        new = [chance - lost if chance > 0.5 else chance for chance in old]
        after, before = (
            [[float(draw.random() < chance) for _ in range(10)] for chance in side] for side in (new, old)
        )
        pair = attempts_apart(after, before)
        passed += MeanDifference(run=pair[0], baseline=pair[1], is_rate=True).interval(0.95).low > -0.05
    assert passed <= 15, "2.5 % of 300 is 7.5"
