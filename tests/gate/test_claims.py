"""How several claims share one chance of a false alarm, and how a claim is decided."""

from dataclasses import dataclass
from random import Random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.gate.claims import Claim, failing, judge_claims
from calipers.gate.measure import Level, MeanDifference
from calipers.stats import Interval, holm

P_VALUES = st.lists(st.floats(0.0001, 1), max_size=8)


@given(P_VALUES)
def test_the_step_down_by_intervals_is_holms(p_values):
    """A claim whose p-value is p fails at every confidence up to 1 - p."""
    found = failing(
        len(p_values), lambda index, level: p_values[index] < 1 - level, confidence=0.95, correct=True
    )
    assert found == {index for index, p in enumerate(holm(p_values)) if p < 0.05 * (1 - 1e-9)} or any(
        abs(p - 0.05) < 1e-6 for p in holm(p_values)
    )


@given(P_VALUES)
def test_the_correction_never_fails_more_claims(p_values):
    def fails(index, level):
        return p_values[index] < 1 - level

    corrected = failing(len(p_values), fails, confidence=0.95, correct=True)
    assert corrected <= failing(len(p_values), fails, confidence=0.95, correct=False)


values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


@given(values, st.floats(0.05, 0.95))
def test_a_claim_and_its_opposite_never_both_pass(scores, limit):
    level = Level(cases=[[score] for score in scores], bounds=(0.0, 1.0))
    claims = [Claim(subject="x", rule="", measure=level, limit=limit, above=above) for above in (True, False)]
    first, second = judge_claims(claims, confidence=0.95, correct=False)
    assert {first.outcome, second.outcome} in ({"PASS", "FAIL"}, {"INCONCLUSIVE"})


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_swapping_the_runs_mirrors_the_difference(pairs):
    new, old = ([[float(pair[side])] for pair in pairs] for side in (0, 1))
    for bounds in (None, (-1.0, 1.0)):
        there = MeanDifference(run=new, baseline=old, bounds=bounds)
        back = MeanDifference(run=old, baseline=new, bounds=bounds)
        assert there.value == pytest.approx(-back.value)
        found, mirrored = there.interval(0.95), back.interval(0.95)
        assert (found is None) == (mirrored is None)
        if found is not None:
            assert (found.low, found.high) == pytest.approx((-mirrored.high, -mirrored.low))


def test_two_identical_agents_are_failed_at_most_at_the_stated_rate():
    draw = Random(7)
    failed = 0
    for _ in range(400):
        chances = [draw.betavariate(2, 1) for _ in range(60)]
        new, old = ([[float(draw.random() < chance)] for chance in chances] for _ in range(2))
        claim = Claim(
            subject="x", rule="", measure=MeanDifference(run=new, baseline=old), limit=0.0, signed=True
        )
        failed += judge_claims([claim], confidence=0.95, correct=True)[0].outcome == "FAIL"
    assert failed <= 20, "2.5 % of 400 is 10, and 20 is beyond any luck"


def advised(measure, limit, **options):
    claim = Claim(subject="x", rule="", measure=measure, limit=limit, **options)
    return judge_claims([claim], confidence=0.95, correct=True)[0]


SPREAD = [0.9, 0.2, 0.6, 0.1]
"""The scores of four clusters."""


def test_clusters_are_asked_for_where_clusters_are_too_few():
    """Sixteen independent cases would do for such a limit."""
    cases, clusters = [[score] for score in SPREAD * 4], [*range(4)] * 4
    assert advised(Level(cases=cases, bounds=(0.0, 1.0)), 0.1).outcome == "PASS"
    few = advised(Level(cases=cases, clusters=clusters, bounds=(0.0, 1.0)), 0.1, in_clusters=True)
    assert few.outcome == "INCONCLUSIVE"
    assert few.more_cases > 16
    assert few.advice == f"needs about {few.more_cases} more cases in more clusters"


def test_only_what_lies_at_the_limit_is_called_too_close_to_it():
    cases = [[score] for score in SPREAD]
    at_limit = advised(Level(cases=cases, bounds=(0.0, 1.0)), 0.45)
    assert at_limit.more_cases is None
    assert at_limit.advice.startswith("too close to the limit for any number of cases")


class Surprising(Level):
    """Says that it has cases enough, though its interval does not tell."""

    def needed(self, limit, confidence):
        del limit, confidence
        return 2


def test_a_plan_that_was_too_hopeful_is_no_reason_to_give_up():
    found = advised(Surprising(cases=[[score] for score in SPREAD], bounds=(0.0, 1.0)), 0.4)
    assert (found.more_cases, found.advice) == (None, "more cases would tell; how many is not known")


def test_no_number_of_cases_gives_clusters_an_interval_for_many_looks():
    level = Level(cases=[[1.0], [0.0]] * 8, clusters=[*range(4)] * 4, is_rate=True, anytime=True)
    found = advised(level, 0.4, anytime=True, in_clusters=True)
    assert found.advice == "gate a run by it that was not stopped early"


def margin_claim(worse: int, better: int, cases: int, margin: float = 0.05) -> Claim:
    new = [[0.0]] * worse + [[1.0]] * (cases - worse)
    old = [[1.0]] * worse + [[0.0]] * better + [[1.0]] * (cases - worse - better)
    change = MeanDifference(run=new, baseline=old, bounds=(-1.0, 1.0))
    return Claim(subject="x", rule="", measure=change, limit=-margin, par=0.0, unit="rate", signed=True)


def test_a_run_that_is_worse_by_an_open_amount_has_an_outcome_of_its_own():
    def outcome(*counts):
        return judge_claims([margin_claim(*counts)], confidence=0.95, correct=True)[0].outcome

    assert outcome(10, 0, 100) == "WORSE", "all of the interval is below 0, and it holds the margin"
    assert outcome(30, 0, 100) == "FAIL"
    assert outcome(6, 5, 100) == "INCONCLUSIVE"
    assert outcome(60, 20, 2000) == "PASS", "a loss of 2 points is a loss, and one that would be shipped"


def test_many_rules_share_the_chance_of_a_false_worse():
    alone = judge_claims([margin_claim(10, 2, 100)], confidence=0.95, correct=True)
    assert [finding.outcome for finding in alone] == ["WORSE"]
    many = [margin_claim(10, 2, 100), *[margin_claim(5, 5, 100)] * 19]
    assert {finding.outcome for finding in judge_claims(many, confidence=0.95, correct=True)} == {
        "INCONCLUSIVE"
    }
    found = judge_claims(many, confidence=0.95, correct=False)
    assert [finding.outcome for finding in found].count("WORSE") == 1


def test_a_rule_that_is_shown_to_be_worse_leaves_its_doubt_to_the_others():
    clear, close = margin_claim(20, 0, 100, margin=0.2), margin_claim(10, 2, 100)
    found = judge_claims([close, clear], confidence=0.95, correct=True)
    assert [finding.outcome for finding in found] == ["WORSE", "WORSE"]
    found = judge_claims([close, margin_claim(5, 5, 100)], confidence=0.95, correct=True)
    assert [finding.outcome for finding in found] == ["INCONCLUSIVE", "INCONCLUSIVE"]


def test_a_loss_that_may_be_luck_among_the_rules_shows_the_interval_that_decided():
    close, others = margin_claim(10, 2, 100), [margin_claim(5, 5, 100)] * 7
    (alone,) = judge_claims([close], confidence=0.95, correct=True)
    found, *rest = judge_claims([close, *others], confidence=0.95, correct=True)
    assert (alone.outcome, alone.alone, alone.interval.high < 0) == ("WORSE", None, True)
    assert (found.outcome, found.alone) == ("INCONCLUSIVE", "WORSE")
    assert found.interval.confidence == pytest.approx(1 - 0.05 / 8)
    assert found.interval.low < -0.05 < 0 < found.interval.high
    assert "99.38 % interval" in found.said
    assert found.advice.startswith(
        "alone it would be WORSE; 8 rules share the doubt, and among so many it may be luck"
    )
    assert {(each.alone, each.interval.confidence) for each in rest} == {(None, 0.95)}


def test_a_failure_that_may_be_luck_among_the_rules_says_what_is_shown():
    level = Level(cases=[[0.0]] * 36 + [[1.0]] * 64, is_rate=True)
    claim = Claim(subject="x", rule="", measure=level, limit=0.75, unit="rate")
    assert judge_claims([claim], confidence=0.95, correct=True)[0].outcome == "FAIL"
    found = judge_claims([claim, *[margin_claim(5, 5, 100)] * 19], confidence=0.95, correct=True)[0]
    assert (found.outcome, found.alone) == ("INCONCLUSIVE", "FAIL")
    assert found.interval.high > 0.75
    beyond = margin_claim(13, 0, 100)
    assert judge_claims([beyond], confidence=0.95, correct=True)[0].outcome == "FAIL"
    found = judge_claims([beyond, *[margin_claim(5, 5, 100)] * 3], confidence=0.95, correct=True)[0]
    assert (found.outcome, found.alone) == ("WORSE", "FAIL")
    assert found.interval.low < -0.05 < found.interval.high < 0
    assert "alone it would be FAIL" in found.advice


OUTCOMES = ["PASS", "INCONCLUSIVE", "WORSE", "FAIL"]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=4))
@settings(max_examples=30)
def test_the_interval_of_a_finding_says_what_its_outcome_says(flips):
    claims = [margin_claim(worse, better, 40) for worse, better in flips]
    for claim, finding in zip(claims, judge_claims(claims, confidence=0.95, correct=True), strict=True):
        assert claim.fails(finding.interval) == (finding.outcome == "FAIL")
        assert claim.is_worse(finding.interval) == (finding.outcome in {"WORSE", "FAIL"})
        assert OUTCOMES.index(finding.alone or finding.outcome) >= OUTCOMES.index(finding.outcome)


@dataclass(frozen=True)
class Normal:
    """A difference that is drawn from a normal distribution of spread 1, with the interval that is right for it."""

    value: float
    n: int = 100

    def interval(self, confidence):
        reach = NormalDist().inv_cdf((1 + confidence) / 2)
        return Interval(self.value - reach, self.value + reach, confidence, "normal")

    def needed(self, limit, confidence):
        del limit, confidence


def test_equal_agents_beside_one_that_is_worse_are_told_to_be_worse_at_the_stated_rate():
    draw = Random(12)
    wrong = 0
    for _ in range(2000):
        told = [(-9.0, -10.0), *((draw.gauss(), -1.0) for _ in range(4))]
        claims = [
            Claim(subject="x", rule="", measure=Normal(value), limit=limit, par=0.0, signed=True)
            for value, limit in told
        ]
        first, *rest = judge_claims(claims, confidence=0.95, correct=True)
        assert first.outcome == "WORSE"
        wrong += any(each.outcome in {"WORSE", "FAIL"} for each in rest)
    assert 30 <= wrong <= 70, "2.5 % of 2,000 is 50, and 20 more or less is beyond any luck"


def test_a_level_without_a_baseline_is_never_worse():
    level = Level(cases=[[0.0]] * 30 + [[1.0]] * 70, is_rate=True)
    claim = Claim(subject="x", rule="", measure=level, limit=0.75)
    assert judge_claims([claim], confidence=0.95, correct=True)[0].outcome == "INCONCLUSIVE"


def test_equal_agents_are_told_to_be_worse_at_most_at_the_stated_rate():
    draw = Random(11)
    wrong = 0
    for _ in range(400):
        flips = [draw.random() for _ in range(100)]
        worse, better = sum(each < 0.1 for each in flips), sum(each > 0.9 for each in flips)
        found = judge_claims([margin_claim(worse, better, 100)], confidence=0.95, correct=True)[0]
        wrong += found.outcome in {"WORSE", "FAIL"}
    assert wrong <= 20, "2.5 % of 400 is 10, and 20 is beyond any luck"
