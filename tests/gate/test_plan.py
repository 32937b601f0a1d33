"""How large a comparison has to be: from a pilot, from two, from a guess."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, current_attempt, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.gate.looks import confidence_at
from calipers.gate.measure import MeanDifference
from calipers.gate.plan import plan_from_pilot, plan_from_rate
from calipers.stats import cases_needed, paired_components, spread_of_paired_rates
from calipers.views.plan import plan_json, plan_text


def right(output):
    return output > 0.3


def grade(output):
    return output


def kind(output):
    return "x"


def run(version, *, repeat=1, n=40, evaluators=(right, grade, kind)):
    def task(number):
        increment_eval_metric("cost_usd", 0.5)
        increment_eval_metric("steps", 3)
        return random.Random(f"{version} {number} {current_attempt().repeat_index}").random()

    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(task, repeat=repeat, seed=1, progress=False)


ONCE, OTHER = run("a"), run("b")
REPEATED, REPEATED_TOO = run("a", repeat=3), run("b", repeat=3)


def values(report):
    return [[case.scores["grade"].value for case in group.runs] for group in report.case_groups()]


def test_two_repeated_pilots_plan_by_the_parts_of_their_difference():
    plan = plan_from_pilot(REPEATED, baseline=REPEATED_TOO, evaluator="grade", effect=0.1)
    spread = paired_components(values(REPEATED), values(REPEATED_TOO))
    assert plan.spread == spread
    assert [(row.repeats, row.cases) for row in plan.rows] == [
        (repeats, cases_needed(0.1, spread, repeats=repeats)) for repeats in (1, 2, 3, 5, 10)
    ]
    assert all(row.calls == row.cases * row.repeats for row in plan.rows)
    assert plan.knows_repeats
    assert plan.unit == "number"


def test_a_pilot_attempted_once_plans_for_one_attempt_and_says_so():
    for baseline in (None, OTHER):
        plan = plan_from_pilot(ONCE, baseline=baseline, effect=0.1)
        assert [row.repeats for row in plan.rows] == [1]
        assert not plan.knows_repeats
        assert "What repeats would save is not known" in plan_text(plan)


def test_a_repeated_pilot_without_repeats_on_the_other_side_plans_for_as_many_attempts():
    plan = plan_from_pilot(REPEATED, baseline=OTHER, effect=0.1)
    assert [row.repeats for row in plan.rows] == [3]
    assert plan.rows[0].calls == 3 * plan.rows[0].cases


def test_cost_and_time_are_those_of_the_pilot():
    (row,) = plan_from_pilot(ONCE, effect=0.1).rows
    assert row.costs == {"cost_usd": pytest.approx(0.5 * row.calls)}
    assert row.seconds == pytest.approx(ONCE.duration / 40 * row.calls)


def test_the_more_alike_the_two_are_the_fewer_cases_it_takes():
    needed = [plan_from_pilot(ONCE, effect=0.1, correlation=each).rows[0].cases for each in (0.0, 0.5, 0.9)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > needed[-1]


def test_a_pilot_attempted_once_plans_as_if_the_two_had_nothing_in_common_and_says_so():
    plan = plan_from_pilot(ONCE, effect=0.1)
    assert plan.rows == plan_from_pilot(ONCE, effect=0.1, correlation=0).rows
    assert plan.spread.between > plan_from_pilot(ONCE, effect=0.1, correlation=0.5).spread.between
    assert "nothing in common (correlation 0), which is the cautious end" in plan_text(plan)
    assert "with --repeat 2, a second one, or --correlation would tell" in plan_text(plan)
    for told in (
        plan_from_pilot(ONCE, effect=0.1, correlation=0.3),
        plan_from_pilot(REPEATED, effect=0.1),
        plan_from_pilot(ONCE, baseline=OTHER, effect=0.1),
    ):
        assert "nothing in common" not in told.source
    repeated = plan_from_pilot(REPEATED, effect=0.1)
    assert repeated.rows == plan_from_pilot(REPEATED, effect=0.1, correlation=0.5).rows


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_gate_on_an_agent_of_pure_noise_passes_as_often_as_one_pilot_planned(repeat):
    """Each attempt succeeds by itself in 85 of 100, so whatever two versions have in common, it is not their luck."""
    draw = random.Random(3)

    def resolved(output):
        return output

    dataset = Dataset(cases=[Case(inputs=number) for number in range(300)], evaluators=[resolved])
    pilot = dataset.evaluate_sync(
        lambda number: draw.random() < 0.85, repeat=repeat, progress=False, max_concurrency=1
    )
    n = plan_from_pilot(pilot, margin=0.05).rows[0].cases
    passed = 0
    for _ in range(150):
        new, old = ([[float(draw.random() < 0.85)] for _ in range(n)] for _ in range(2))
        passed += MeanDifference(run=new, baseline=old, bounds=(-1.0, 1.0)).interval(0.95).low > -0.05
    assert passed / 150 == pytest.approx(0.8, abs=0.1), "half the cases would pass in one of two"


def test_without_an_effect_it_says_what_the_cases_can_show():
    plan = plan_from_pilot(ONCE, cases=200)
    assert not plan.rows
    assert [reach.cases for reach in plan.reaches] == [200]
    assert "smallest difference that shows" in plan_text(plan)


@given(st.floats(0.05, 0.9), st.floats(0.005, 0.09))
def test_a_guess_without_flips_is_the_most_cautious(rate, effect):
    plan = plan_from_rate(rate, effect=effect)
    fewer = plan_from_rate(rate, effect=effect, flips=effect + 0.001)
    assert fewer.rows[0].cases <= plan.rows[0].cases
    assert plan_from_rate(rate, effect=effect, flips=0.5).spread == spread_of_paired_rates(
        (0.5 + effect) / 2, (0.5 - effect) / 2
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: plan_from_pilot(ONCE, effect=0),
        lambda: plan_from_pilot(ONCE, effect=float("nan")),
        lambda: plan_from_pilot(ONCE, effect=0.1, power=1.0),
        lambda: plan_from_pilot(ONCE, effect=0.1, power="0.8"),
        lambda: plan_from_pilot(ONCE, effect="0.1"),
        lambda: plan_from_pilot(ONCE, effect=0.1, cases="40"),
        lambda: plan_from_pilot(ONCE, effect=0.1, cases=0),
        lambda: plan_from_pilot(ONCE, effect=0.1, correlation="0.5"),
        lambda: plan_from_pilot(ONCE, margin=0.1, confidence="0.95"),
        lambda: plan_from_rate(0.8, effect="0.1"),
        lambda: plan_from_rate(0.8, effect=0.1, flips="0.2"),
        lambda: plan_from_pilot(ONCE, effect=0.1, confidence=1.0),
        lambda: plan_from_pilot(ONCE, effect=0.1, correlation=2),
        lambda: plan_from_pilot(ONCE, evaluator="gone"),
        lambda: plan_from_pilot(ONCE, evaluator="kind"),
        lambda: plan_from_pilot(run("a", n=0)),
        lambda: plan_from_pilot(run("a", n=1), effect=0.1),
        lambda: plan_from_pilot(run("a", evaluators=[kind])),
        lambda: plan_from_pilot(run("a", evaluators=[lambda output: True]), effect=0.1),
        lambda: plan_from_pilot(ONCE, baseline=run("b", n=1), effect=0.1),
        lambda: plan_from_pilot(ONCE, baseline=run("b", evaluators=[kind]), evaluator="grade"),
        lambda: plan_from_rate(1.0, effect=0.1),
        lambda: plan_from_rate(0.95, effect=0.1),
        lambda: plan_from_rate(0.8, effect=0.1, flips=0.05),
        lambda: plan_from_rate(0.8, effect=0.1, flips=float("nan")),
        lambda: plan_from_rate(float("nan"), effect=0.1),
    ],
    ids=lambda make: "",
)
def test_what_nothing_can_be_planned_from_is_refused(make):
    with pytest.raises(InvalidOptionError):
        make()


def test_a_plan_is_shown_and_written():
    plan = plan_from_pilot(REPEATED, effect=0.05)
    text = plan_text(plan)
    assert "To see a difference of 5 points:" in text
    assert f"{plan.rows[0].cases:,}" in text
    assert '"calipers_plan": 1' in plan_json(plan)


def test_a_pilot_whose_evaluator_gives_several_kinds_is_refused():
    def even(output):
        return output % 2 == 0 and 0.5 + output / 100

    dataset = Dataset(cases=[Case(inputs=number) for number in range(20)], evaluators=[even])
    with pytest.raises(InvalidOptionError, match="several kinds"):
        plan_from_pilot(
            dataset.evaluate_sync(lambda number: number, progress=False), evaluator="even", effect=0.1
        )


@pytest.mark.parametrize("broken", ["task", "evaluator"])
@pytest.mark.parametrize("pilots", [1, 2])
def test_a_pilot_that_crashed_counts_as_the_comparison_will_count_it(broken, pilots):
    """Of 40 attempts 10 crash and 1 leaks: where less is good that is 11 of 40, not 1."""

    def leaks(output):
        if output == "crash":
            raise ValueError(output)
        return output == "leak"

    def task(number):
        if number % 4 == 0 and broken == "task":
            raise ValueError(number)
        return "crash" if number % 4 == 0 else "leak" if number == 1 else "fine"

    cases = [Case(name=f"case {number}", inputs=number) for number in range(40)]
    dataset = Dataset(cases=cases, evaluators=[leaks])
    report = dataset.evaluate_sync(task, progress=False)
    baseline = None if pilots == 1 else dataset.evaluate_sync(lambda _: "fine", progress=False)
    more, less = (
        plan_from_pilot(
            report, baseline=baseline, evaluator="leaks", margin=0.1, lower_is_better=each
        ).spread.between
        for each in (True, False)
    )
    double = 2 if pilots == 1 else 1
    assert more == pytest.approx(double * 11 / 40 * 29 / 40 * 40 / 39)
    assert less == pytest.approx(double * 1 / 40 * 39 / 40 * 40 / 39)


# ---------------------------------------------------------------------- clusters


def clustered(version, *, copies, repeat=1, alone=False, n=30):
    """A run in which each document has so many cases, all with the same result."""

    def task(inputs):
        return random.Random(f"{version} {inputs[0]} {current_attempt().repeat_index}").random()

    cases = [
        Case(
            name=f"{document}/{copy}",
            inputs=[document, copy],
            cluster=None if alone else f"document {document}",
        )
        for document in range(n)
        for copy in range(copies)
    ]
    return Dataset(cases=cases, evaluators=[right, grade]).evaluate_sync(
        task, repeat=repeat, seed=1, progress=False
    )


@pytest.mark.parametrize("evaluator", [None, "grade"])
@pytest.mark.parametrize("two", [False, True])
def test_copies_of_a_case_in_one_cluster_tell_nothing_more(evaluator, two):
    def plan(**how):
        baseline = clustered("b", **how) if two else None
        return plan_from_pilot(clustered("a", **how), baseline=baseline, evaluator=evaluator, effect=0.1)

    once, four = plan(copies=1, alone=True), plan(copies=4)
    assert (once.clusters, once.design_effect) == (None, None)
    assert four.clusters == 30
    assert four.design_effect == pytest.approx(4, rel=0.05)
    assert four.rows[0].cases == pytest.approx(4 * once.rows[0].cases, rel=0.01), (
        "planned by t, and by McNemar's test"
    )
    assert four.reaches[0].effect == pytest.approx(once.reaches[0].effect)
    assert "30 clusters of about 4" in plan_text(four)
    assert plan(copies=4, alone=True).rows[0].cases < once.rows[0].cases, (
        "which is what ignoring them would give"
    )


def test_clusters_of_one_case_change_nothing():
    alone = plan_from_pilot(clustered("a", copies=1, alone=True), effect=0.1)
    named = plan_from_pilot(clustered("a", copies=1), effect=0.1)
    assert [row.cases for row in named.rows] == [row.cases for row in alone.rows]
    assert (named.reaches, named.design_effect) == (alone.reaches, 1)


def test_repeats_do_not_help_against_clusters():
    pilots = {copies: clustered("a", copies=copies, repeat=3) for copies in (1, 4)}
    found = {
        copies: plan_from_pilot(pilot, evaluator="grade", effect=0.1) for copies, pilot in pilots.items()
    }
    assert found[4].spread.within == pytest.approx(found[1].spread.within)
    assert found[4].spread.between > found[1].spread.between


def test_too_few_clusters_are_refused():
    with pytest.raises(InvalidOptionError, match="in one cluster, 'document 0'"):
        plan_from_pilot(clustered("a", copies=8, n=1), evaluator="grade", effect=0.1)
    with pytest.raises(InvalidOptionError, match="fewer than two clusters"):
        plan_from_pilot(clustered("a", copies=4), effect=0.1, cases=7)


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: plan_from_pilot(ONCE, effect=5), "effect 5 is 500 points: .* write 0.05 for 5 points"),
        (lambda: plan_from_pilot(ONCE, effect=-1), "effect -1 is -100 points: .* choose a smaller one"),
        (lambda: plan_from_pilot(ONCE, evaluator="right", effect=5), "effect 5 is 500 points"),
        (lambda: plan_from_pilot(ONCE, evaluator="grade", effect=3), "effect 3 is 300 points"),
        (lambda: plan_from_rate(0.8, effect=5), "effect 5 is 500 points"),
        (
            lambda: plan_from_rate(0.98, effect=0.05),
            "make 1.03, and no rate is above 1: plan for a loss: effect -0.05",
        ),
        (
            lambda: plan_from_rate(0.02, effect=-0.05),
            "make -0.03, and no rate is below 0: plan for a gain: effect 0.05",
        ),
        (
            lambda: plan_from_rate(80, effect=0.05),
            "rate must be a number above 0 and below 1, got 80; 80 % is written 0.8",
        ),
        (lambda: plan_from_pilot(ONCE, effect=0.1, correlation=1), "correlation 1 says .* give one below 1"),
    ],
)
def test_a_plan_that_cannot_be_meant_so_is_refused_with_the_way_out(make, shown):
    with pytest.raises(InvalidOptionError, match=shown):
        make()


def test_a_score_on_a_larger_scale_may_differ_by_more_than_one():
    wide = run("a", evaluators=[right, lambda output: 10 * output])
    name = next(name for name in wide.cases[0].scores)
    assert plan_from_pilot(wide, evaluator=name, effect=2).rows[0].cases > 2
    assert plan_from_rate(0.98, effect=-0.05).rows[0].cases > 2
    assert plan_from_pilot(REPEATED, effect=0.1, correlation=1).rows[0].cases > 2


@pytest.mark.parametrize(("flips", "margin"), [(0.1, 0.05), (0.05, 0.05), (0.02, 0.02)])
def test_a_gate_is_passed_as_often_as_was_planned(flips, margin):
    n = plan_from_rate(0.8, margin=margin, flips=flips).rows[0].cases
    assert n > plan_from_rate(0.8, effect=margin, flips=flips).rows[0].cases
    draw = random.Random(7)
    passed = 0
    for _ in range(200):
        drawn = draw.choices(((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)), (flips / 2, flips / 2, 1 - flips), k=n)
        change = MeanDifference(
            run=[[new] for new, _ in drawn], baseline=[[old] for _, old in drawn], bounds=(-1.0, 1.0)
        )
        passed += change.interval(0.95).low > -margin
    assert passed / 200 == pytest.approx(0.8, abs=0.08)


def test_a_gate_is_planned_from_pilots_with_the_cases_that_there_are():
    plan = plan_from_pilot(REPEATED, baseline=REPEATED_TOO, evaluator="grade", margin=0.1)
    other = plan_from_pilot(REPEATED, baseline=REPEATED_TOO, evaluator="grade", effect=0.1)
    assert (plan.margin, plan.effect) == (0.1, None)
    assert all(gate.cases > test.cases for gate, test in zip(plan.rows, other.rows, strict=True))
    again = plan_from_pilot(
        REPEATED, baseline=REPEATED_TOO, evaluator="grade", margin=0.1, cases=plan.rows[1].cases
    )
    assert again.reaches[1].effect == pytest.approx(0.1, rel=0.01)
    assert again.repeats_enough == 2
    assert "To pass a gate with a margin of 0.1, where nothing differs:" in plan_text(plan)
    assert "2 attempts at each of them would pass 0.1." in plan_text(again)
    few = plan_from_pilot(REPEATED, baseline=REPEATED_TOO, evaluator="grade", margin=0.01, cases=20)
    assert few.repeats_enough is None


def test_a_gate_on_scores_without_bounds_is_planned_by_the_interval_that_it_will_have():
    def large(output):
        return 10 * output

    pilots = [run(version, evaluators=[large]) for version in "ab"]
    gate, test = (
        plan_from_pilot(
            pilots[0], baseline=pilots[1], evaluator="large", confidence=confidence, **{what: 1.0}
        )
        for what, confidence in (("margin", 0.95), ("effect", confidence_at(0.95, 1)))
    )
    assert [row.cases for row in gate.rows] == [row.cases for row in test.rows]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effect": 0.1, "margin": 0.1}, "0.1 and 0.1"),
        ({}, "either an effect or the margin"),
        ({"margin": 0.0}, "got 0.0"),
        ({"margin": 5.0}, "got 5.0"),
        ({"margin": float("nan")}, "got nan"),
        ({"margin": 0.1, "flips": 0.0}, "got 0.0"),
        ({"margin": 1e-5}, "too small"),
    ],
)
def test_a_gate_that_cannot_be_planned_is_told(options, words):
    with pytest.raises(InvalidOptionError, match=words):
        plan_from_rate(0.8, **options)
    if "effect" in options:
        with pytest.raises(InvalidOptionError, match="not both"):
            plan_from_pilot(ONCE, **options)
