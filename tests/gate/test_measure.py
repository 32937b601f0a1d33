"""The intervals that a gate decides by are never surer than the bounds of the values allow."""

from math import comb, isfinite
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.gate import Growth, Policy, Rules, judge_run
from calipers.gate.agreement_rules import Ratings
from calipers.gate.measure import Level, MeanDifference, TotalGrowth
from calipers.views.gate.markdown import verdict_markdown


def test_two_cases_that_differ_by_a_hair_prove_nothing():
    for second in (0.9, 0.9 + 1e-7, 0.9001):
        interval = Level(cases=[[0.9], [second]], bounds=(0.0, 1.0)).interval(0.95)
        assert interval.low < 0.2


def test_rare_failures_that_were_not_seen_are_reckoned_with():
    draw = Random(2)
    wrong = 0
    for _ in range(200):
        cases = [[0.0 if draw.random() < 0.03 else 0.99 + 0.01 * draw.random()] for _ in range(20)]
        wrong += Level(cases=cases, bounds=(0.0, 1.0)).interval(0.95).low > 0.97 * 0.995
    assert wrong <= 12, "2.5 % of 200 is 5, and 12 is beyond luck; a t interval is wrong in half of them"


@pytest.mark.parametrize("is_rate", [False, True])
@pytest.mark.parametrize(("n", "margin"), [(20, 0.1), (40, 0.05), (60, 0.04), (100, 0.02), (100, 0.05)])
def test_agents_that_mostly_agree_are_not_passed_for_it(n, margin, is_rate):
    """The new one loses as many cases as the margin says, and wins none: the number that it loses is binomial."""
    passed = failed = 0.0
    for lost in range(n + 1):
        chance = comb(n, lost) * margin**lost * (1 - margin) ** (n - lost)
        change = MeanDifference(
            run=[[0.0]] * lost + [[1.0]] * (n - lost),
            baseline=[[1.0]] * n,
            bounds=(-1.0, 1.0),
            is_rate=is_rate,
        ).interval(0.95)
        passed += chance * (change.low > -margin)
        failed += chance * (change.high < -margin)
    assert passed <= 0.0251
    assert failed <= 0.0251


def test_only_passes_of_cases_that_were_attempted_once_have_the_exact_interval():
    """A score of 0 or 1 may be another time in between, and so may the mean of several attempts."""
    new, old = [[0.0]] * 11 + [[1.0]] * 89, [[1.0]] * 100

    def method(run, baseline, **fields):
        return MeanDifference(run=run, baseline=baseline, bounds=(-1.0, 1.0), **fields).interval(0.95).method

    assert method(new, old, is_rate=True) == "tango-exact"
    assert method(new, old) == "gaffke"
    assert method([case * 2 for case in new], old, is_rate=True) == "gaffke"
    assert method(new, old, is_rate=True, clusters=[place // 2 for place in range(100)]) == "gaffke"


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("limit", [0.02, 0.1, 0.5, 0.9, 0.98])
def test_a_rate_at_its_limit_is_decided_as_rarely_as_promised(n, limit):
    passed = failed = 0.0
    for right in range(n + 1):
        chance = comb(n, right) * limit**right * (1 - limit) ** (n - right)
        found = Level(cases=[[1.0]] * right + [[0.0]] * (n - right), is_rate=True).interval(0.95)
        passed += chance * (found.low > limit)
        failed += chance * (found.high < limit)
        said = ["yes"] * n
        share = Ratings(judge=said, human=["yes"] * right + ["no"] * (n - right), by="share").interval(0.95)
        assert (share.low, share.high) == (pytest.approx(found.low), pytest.approx(found.high))
    assert max(passed, failed) <= 0.025 + 1e-9


def test_cases_of_one_cluster_are_no_evidence_of_their_own():
    cases = [[1.0], [1.0], [0.0], [1.0]]
    alone = Level(cases=cases, is_rate=True).interval(0.95)
    copies = Level(cases=cases * 5, clusters=list(range(4)) * 5, is_rate=True).interval(0.95)
    assert copies.low <= alone.low
    assert copies.high >= alone.high
    assert Level(cases=cases, clusters=["one"] * 4, is_rate=True).interval(0.95) is None


def test_values_outside_the_bounds_have_the_interval_of_values_without_any():
    cases = [[3.0], [4.0], [5.0]]
    assert Level(cases=cases, bounds=(0.0, 1.0)).interval(0.95) == Level(cases=cases).interval(0.95)


def test_more_cases_are_asked_for_where_only_the_unseen_stands_in_the_way():
    level = Level(cases=[[0.99], [0.995]] * 5, bounds=(0.0, 1.0))
    needed = level.needed(0.95, 0.95)
    assert level.interval(0.95).low < 0.95
    enough = Level(cases=[[0.99], [0.995]] * (needed // 2 + 2), bounds=(0.0, 1.0))
    assert enough.interval(0.95).low > 0.95


def test_clusters_that_agree_by_luck_prove_nothing():
    found = MeanDifference(run=[[3], [6], [6], [3]], baseline=[[4], [5], [5], [4]], clusters=[0, 0, 1, 1])
    assert found.interval(0.95) is None


def test_a_spread_beyond_floats_proves_nothing():
    found = MeanDifference(run=[[1e-200], [2e-200], [1e-200]], baseline=[[0.0], [0.0], [0.0]])
    assert found.interval(0.95) is None


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_numbers_are_as_uncertain_in_whatever_unit_they_are_written(unit):
    draw = Random(5)
    costs = [[draw.gauss(2.9, 2.0)] for _ in range(40)]
    plain, written = (Level(cases=[[cost * by] for (cost,) in costs]) for by in (1.0, unit))
    assert written.interval(0.95).width == pytest.approx(plain.interval(0.95).width * unit)
    assert written.needed(3.0 * unit, 0.95) == plain.needed(3.0, 0.95) is not None


def test_a_small_spread_of_large_numbers_is_one():
    cases = [[1e9 + 0.1 * (number % 3)] for number in range(40)]
    assert Level(cases=cases).interval(0.95).width > 0.01


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_numbers_that_agree_but_for_rounding_are_taken_at_their_word(unit):
    third, same = [0.1 * unit] * 3, [0.3 * unit / 3]
    level = Level(cases=[third, same] * 20)
    assert level.interval(0.95).width == pytest.approx(0, abs=1e-12 * unit)
    change = MeanDifference(run=[third, same] * 20, baseline=[same, third] * 20)
    assert change.interval(0.95).width == pytest.approx(0, abs=1e-12 * unit)


def test_the_cases_that_are_asked_for_tell_four_times_in_five():
    seen = [1.0] * 45 + [0.0] * 5
    needed = Level(cases=[[value] for value in seen], is_rate=True).needed(0.8, 0.95)
    draw = Random(3)
    told = 0
    for _ in range(400):
        drawn = [[value] for value in draw.choices(seen, k=needed)]
        told += Level(cases=drawn, is_rate=True).interval(0.95).low > 0.8
    assert told / 400 == pytest.approx(0.8, abs=0.06)
    turned = Level(cases=[[1 - value] for value in seen], is_rate=True)
    assert turned.needed(0.2, 0.95) == needed


def in_clusters(scores, size):
    """Cases of which each cluster scores alike, and their clusters."""
    cases = [[score] for score in scores for _ in range(size)]
    return cases, [cluster for cluster, _ in enumerate(scores) for _ in range(size)]


@pytest.mark.parametrize("bounds", [(0.0, 1.0), None])
def test_the_cases_that_are_asked_for_in_clusters_tell_four_times_in_five(bounds):
    seen = [0.9, 0.8, 1.0, 0.7, 0.95, 0.6]
    cases, clusters = in_clusters(seen, 4)
    needed = Level(cases=cases, clusters=clusters, bounds=bounds).needed(0.7, 0.95)
    assert needed > 2 * Level(cases=cases, bounds=bounds).needed(0.7, 0.95)
    draw = Random(4)
    told = 0
    for _ in range(300):
        drawn, groups = in_clusters(draw.choices(seen, k=needed // 4), 4)
        interval = Level(cases=drawn, clusters=groups, bounds=bounds).interval(0.95)
        told += interval is not None and interval.low > 0.7
    assert told / 300 == pytest.approx(0.82, abs=0.08)


def test_a_total_in_clusters_needs_as_many_more_cases_as_the_clusters_hold():
    costs = [1.0, 1.4, 0.8, 1.3, 0.9, 1.2]
    alone = TotalGrowth(run=[[cost] for cost in costs], baseline=[[1.0]] * 6)
    cases, clusters = in_clusters(costs, 5)
    grown = TotalGrowth(run=cases, baseline=[[1.0]] * 30, clusters=clusters)
    assert grown.interval(0.95).low == pytest.approx(alone.interval(0.95).low)
    assert grown.needed(0.3, 0.95) == 5 * alone.needed(0.3, 0.95)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=30),
    st.floats(0.05, 0.95),
    st.booleans(),
)
def test_what_has_as_many_cases_as_it_needs_is_told(scored, limit, is_clustered):
    clusters = [cluster for _, cluster in scored] if is_clustered else None
    level = Level(cases=[[score] for score, _ in scored], clusters=clusters, bounds=(0.0, 1.0))
    needed, interval = level.needed(limit, 0.95), level.interval(0.95)
    if needed is not None and needed <= level.n:
        assert interval.low > limit or interval.high < limit


# ---------------------------------------------------------------------- large values


def costs(*values):
    def task(number):
        increment_eval_metric("cost", values[number % len(values)])
        return number

    cases = [Case(name=f"case {number}", inputs=number) for number in range(60)]
    dataset = Dataset(name="costs", cases=cases, evaluators=[lambda output: True])
    return dataset.evaluate_sync(task, progress=False)


CHEAP = costs(0.8, 1.0, 1.2)


def findings(verdict, subject):
    return [finding for finding in verdict.findings if finding.subject == subject]


def test_without_a_largest_value_a_rule_says_that_it_is_approximate():
    verdict = judge_run(CHEAP, Policy(metrics={"cost": Growth(at_most=1.2)}))
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("PASS", True)
    assert "approximate 95 % interval" in found.said
    assert any("max_possible" in note for note in verdict.notes)


def test_a_largest_value_makes_the_rule_reckon_with_calls_that_were_not_seen():
    policy = Policy(metrics={"cost": Growth(at_most=1.2, max_possible=100)})
    verdict = judge_run(CHEAP, policy)
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("INCONCLUSIVE", False)
    assert not any("max_possible" in note for note in verdict.notes)
    tight = Policy(metrics={"cost": Growth(at_most=1.2, max_possible=2)})
    assert judge_run(CHEAP, tight).outcome == "PASS"


def test_a_growth_is_bounded_too():
    policy = Policy(metrics={"cost": Growth(max_growth=0.3, max_possible=2)})
    verdict = judge_run(CHEAP, policy, baseline=costs(0.8, 1.0, 1.2))
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("PASS", False)
    verdict = judge_run(costs(1.6, 1.9, 2.0), policy, baseline=CHEAP)
    assert findings(verdict, "cost")[0].outcome == "FAIL"


def test_a_value_beyond_the_largest_is_inconclusive_and_named():
    policy = Policy(metrics={"cost": Growth(at_most=1.1, max_possible=1.15)})
    (found,) = findings(judge_run(CHEAP, policy), "cost")
    assert found.outcome == "INCONCLUSIVE"
    assert "1.2 of case 'case 2'" in found.said


def test_a_limit_that_nothing_could_miss_is_refused():
    with pytest.raises(InvalidOptionError, match="nothing could miss it"):
        Growth(at_most=60, max_possible=60)


def test_the_time_out_of_the_runs_bounds_their_times_unless_one_took_longer():
    policy = Policy(duration=Growth(at_most=5))
    assert findings(judge_run(CHEAP, policy), "task time")[0].approximate
    assert not findings(judge_run(CHEAP, policy, task_timeout=10.0), "task time")[0].approximate
    assert findings(judge_run(CHEAP, policy, task_timeout=1e-9), "task time")[0].approximate


def test_the_ends_of_a_bounded_growth_are_where_the_bounded_difference_is_open():
    draw = Random(3)
    new, old = ([[draw.uniform(0, 2)] for _ in range(40)] for _ in range(2))
    found = TotalGrowth(run=new, baseline=old, most=3.0).interval(0.95)
    for end, side in ((found.high, "high"), (found.low, "low")):
        times = 1 + end
        values = [[a - times * b] for (a,), (b,) in zip(new, old, strict=True)]
        inner = Level(cases=values, bounds=(-times * 3.0, 3.0)).interval(0.95)
        assert getattr(inner, side) == pytest.approx(0, abs=1e-3)
    assert found.low < TotalGrowth(run=new, baseline=old).value < found.high


def test_rare_hangs_pass_at_most_at_the_stated_rate_where_the_time_out_is_known():
    draw = Random(5)
    truth = 0.02 * 60 + 0.98
    passed = {None: 0, (0.0, 60.0): 0}
    for _ in range(300):
        cases = [[60.0 if draw.random() < 0.02 else draw.uniform(0.5, 1.5)] for _ in range(30)]
        for bounds in passed:
            passed[bounds] += Level(cases=cases, bounds=bounds).interval(0.95).high < truth
    assert passed[None] > 120, "the t interval passes it about half of the time"
    assert passed[0.0, 60.0] <= 15, "2.5 % of 300 is 7.5"


# ---------------------------------------------------------------------- huge numbers


HUGE = 1e308


def good(output):
    return True


def grade(output):
    return output


def run(score, cost, **options):
    def task(number):
        increment_eval_metric("cost", cost if number else 1.0)
        return score(number)

    cases = [Case(name=f"case {number}", inputs=number) for number in range(40)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[good, grade])
    return dataset.evaluate_sync(task, progress=False, **options)


def wild(number):
    return HUGE if number % 3 else -HUGE


SMALL = run(lambda number: 1.0, 1.0)
LARGE = run(wild, HUGE)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(metrics={"cost": Growth(at_most=5)}),
        Policy(metrics={"cost": Growth(max_growth=0.1)}),
        Policy(evaluators={"grade": Rules(at_least=0.5)}),
        Policy(evaluators={"grade": Rules(at_most=0.5)}),
        Policy(evaluators={"grade": Rules(margin=0.5)}),
        Policy(evaluators={"grade": Rules(margin=0.5, better="lower")}),
    ],
)
@pytest.mark.parametrize(("now", "old"), [(LARGE, SMALL), (LARGE, LARGE), (SMALL, LARGE)])
def test_a_claim_about_numbers_that_are_too_large_never_passes(policy, now, old):
    both = msgspec.structs.replace(policy, evaluators={**policy.evaluators, "good": Rules(at_least=0.5)})
    verdict = judge_run(now, both, baseline=old)
    for finding in verdict.findings:
        ends = () if finding.interval is None else (finding.interval.low, finding.interval.high)
        assert all(isfinite(number) for number in (finding.value or 0.0, *ends))
    assert verdict_markdown(verdict)
    if now is LARGE:
        assert verdict.outcome != "PASS"
    (fine,) = [finding for finding in verdict.findings if finding.subject == "good"]
    assert fine.outcome == "PASS"


def test_the_reason_is_told():
    verdict = judge_run(LARGE, Policy(metrics={"cost": Growth(at_most=5)}))
    assert verdict.outcome == "INCONCLUSIVE"
    assert verdict.findings[-1].said.startswith("it cannot be computed from these numbers: ")
    assert "another unit" in verdict.findings[-1].advice
