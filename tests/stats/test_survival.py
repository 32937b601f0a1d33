"""Time to an event, with subjects that were not watched to the end."""

import random
import warnings
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import kaplan_meier, wilson

# Freireich et al. (1963): weeks of remission under 6-MP, the example of most textbooks; + is censored.
REMISSION = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"

watched = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=60)


def curve(subjects, **options):
    return kaplan_meier([time for time, _ in subjects], [event for _, event in subjects], **options)


def read(marks):
    return [(int(mark.rstrip("+")), not mark.endswith("+")) for mark in marks.split()]


def test_the_curve_of_the_textbooks():
    found = curve(read(REMISSION))
    steps = {step.time: step for step in found.steps if step.events}
    # Survival and Greenwood's standard error as printed in Kalbfleisch & Prentice and in Collett.
    expected = {6: (0.8571, 0.0764), 7: (0.8067, 0.0869), 10: (0.7529, 0.0963), 13: (0.6902, 0.1068)}
    expected |= {16: (0.6275, 0.1141), 22: (0.5378, 0.1282), 23: (0.4482, 0.1346)}
    assert {time: step.survival for time, step in steps.items()} == {
        time: pytest.approx(survival, abs=5e-5) for time, (survival, _) in expected.items()
    }
    for time, (survival, error) in expected.items():
        reach = 1.959964 * error / (survival * -log(survival))
        interval = steps[time].interval
        assert interval.low == pytest.approx(survival ** exp(reach), abs=5e-4)
        assert interval.high == pytest.approx(survival ** exp(-reach), abs=5e-4)
        assert interval.method == "log-log"
    assert (found.n, found.n_events, found.median) == (21, 9, 23)
    assert found.median_interval == (13, None)


def test_a_curve_worked_by_hand():
    # At turn 1 one of four; at 2 none, one leaves; at 3 one of two; the last is watched through 5.
    found = curve([(1, True), (2, False), (3, True), (5, False)])
    assert [(step.at_risk, step.events, step.censored) for step in found.steps] == [
        (4, 1, 0),
        (3, 0, 1),
        (2, 1, 0),
        (1, 0, 1),
    ]
    assert [step.survival for step in found.steps] == [0.75, 0.75, 0.375, 0.375]
    assert [found.at(time) for time in (0, 1, 1.5, 3, 5, 6)] == [1, 0.75, 0.75, 0.375, 0.375, None]


def test_once_all_had_the_event_none_is_left_ever_after():
    assert curve([(1, True), (2, True)]).at(100) == 0


def test_a_subject_censored_at_the_time_of_an_event_was_still_at_risk():
    assert curve([(3, True), (3, False)]).steps[0].survival == 0.5


@given(watched)
def test_the_curve_is_that_of_scipy(subjects):
    found = curve(subjects)
    events = [float(time) for time, event in subjects if event]
    right = [float(time) for time, event in subjects if not event]
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(action="ignore"),
    ):  # theirs is undefined at 0 and 1
        oracle = stats.ecdf(stats.CensoredData(uncensored=events, right=right)).sf
        theirs = oracle.confidence_interval(method="log-log")
    highest = 1.0
    for step in found.steps:
        assert step.survival == pytest.approx(oracle.evaluate(step.time))
        if 0 < step.survival < 1:
            assert step.interval.low == pytest.approx(theirs.low.evaluate(step.time))
            highest = min(highest, theirs.high.evaluate(step.time))  # theirs may rise again
            assert step.interval.high == pytest.approx(highest)


@given(watched)
def test_the_curve_never_rises_and_stays_in_its_interval(subjects):
    found = curve(subjects)
    before = highest = 1.0
    for step in found.steps:
        assert 0 <= step.survival <= before
        assert step.interval.high <= highest, "what is excluded once stays excluded"
        highest = step.interval.high
        assert 0 <= step.interval.low <= step.survival <= step.interval.high <= 1
        assert step.interval.width > 0, "a few subjects are no proof"
        before = step.survival
    assert sum(step.events + step.censored for step in found.steps) == found.n


@given(watched)
def test_without_censoring_the_curve_is_the_share_still_to_come(subjects):
    times = [time for time, _ in subjects]
    for step in kaplan_meier(times, [True] * len(times)).steps:
        assert step.survival == pytest.approx(sum(time > step.time for time in times) / len(times))


@given(watched.filter(lambda subjects: len(subjects) > 1))
def test_clusters_of_one_give_greenwoods_variance(subjects):
    alone, clustered = curve(subjects), curve(subjects, clusters=range(len(subjects)))
    n = len(subjects)
    reach = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975) * sqrt(n / (n - 1))
    for one, other in zip(alone.steps, clustered.steps, strict=True):
        assert one.survival == other.survival
        if 0 < one.survival < 1 and other.interval.low > 1e-300:
            # On the log-log scale the half-widths differ by Student's factor and n / (n - 1), and by nothing else.
            ours = log(log(other.interval.low) / log(other.survival))
            assert ours == pytest.approx(reach * log(log(one.interval.low) / log(one.survival)))
        elif one.survival == 1:
            assert one.interval == other.interval


def test_copies_of_the_same_subjects_teach_nothing_if_they_are_clusters():
    subjects = read(REMISSION)
    once = curve(subjects, clusters=range(21))
    again = curve(subjects * 5, clusters=[*range(21)] * 5)
    for one, other in zip(once.steps, again.steps, strict=True):
        assert other.interval.low == pytest.approx(one.interval.low)
        assert other.interval.high == pytest.approx(one.interval.high)
    assert again.n_clusters == 21


def test_clusters_that_happen_to_agree_are_no_proof():
    # Every cluster loses one of its two subjects: between the clusters there is no spread at all.
    grouped = curve([(1, True), (2, False)] * 5, clusters=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    alone = curve([(1, True), (2, False)] * 5)
    for one, other in zip(alone.steps, grouped.steps, strict=True):
        assert other.interval.low <= one.interval.low < one.interval.high <= other.interval.high


def test_the_median_survives_the_rounding_of_many_factors():
    missed = [n for n in range(2, 201, 2) if kaplan_meier(range(1, n + 1), [True] * n).median != n / 2]
    assert not missed


def test_clusters_may_be_an_array():
    named = kaplan_meier([1, 2, 3], [True, False, True], clusters=["a", "a", "b"])
    assert kaplan_meier([1, 2, 3], np.array([True, False, True]), clusters=np.array([0, 0, 1])) == named


def test_clusters_and_events_are_checked():
    with pytest.raises(ValueError, match=r"True or False, got \[True\] at index 0"):
        kaplan_meier([1], [[True]])
    with pytest.raises(TypeError, match=r"hashable, got \[1\] at index 0"):
        kaplan_meier([1], [True], clusters=[[1]])


def test_when_nothing_happened_the_bound_is_that_of_the_subjects_watched():
    step = curve([(5, False)] * 20).steps[0]
    assert step.survival == 1
    assert step.interval.low == pytest.approx(0.025 ** (1 / 20))
    assert step.interval.low < wilson(20, 20).low
    grouped = curve([(5, False)] * 20, clusters=[0, 1] * 10).steps[0]
    assert grouped.interval.low == pytest.approx(0.025 ** (1 / 2))


def test_one_cluster_says_nothing_about_the_next():
    assert [step.interval for step in curve([(1, True), (2, False)], clusters="aa").steps] == [None, None]


def test_without_subjects_there_is_no_curve():
    assert kaplan_meier([], []) is None


@pytest.mark.parametrize(
    ("times", "happened", "message"),
    [
        ([-1], [True], "must not be negative"),
        ([float("nan")], [True], "finite"),
        ([1, 2], [True], "2 times and 1"),
        ([1], [None], "True or False, got None"),
    ],
)
def test_what_cannot_be_is_refused(times, happened, message):
    with pytest.raises(ValueError, match=message):
        kaplan_meier(times, happened)


def test_time_must_be_a_number():
    with pytest.raises(ValueError, match="nan"):
        curve([(1, True)]).at(float("nan"))


@pytest.mark.parametrize(("goals", "each", "spread"), [(40, 1, 0.0), (15, 4, 0.15)])
def test_nineteen_of_twenty_intervals_cover_the_truth(goals, each, spread):
    draw = random.Random(0)

    def hazard():
        return min(0.9, max(0.02, draw.gauss(0.2, spread)))

    turn, rounds = 3, 400
    truth = sum((1 - hazard()) ** turn for _ in range(20_000)) / 20_000
    covered = 0
    for _ in range(rounds):
        subjects, clusters = [], []
        for goal in range(goals):
            chance = hazard()
            for _ in range(each):
                end, time = draw.randint(turn, 8), 1
                while time <= end and draw.random() >= chance:
                    time += 1
                subjects.append((min(time, end), time <= end))
                clusters.append(goal)
        steps = curve(subjects, clusters=clusters if each > 1 else None).steps
        covered += truth in [step for step in steps if step.time <= turn][-1].interval
    assert 0.92 <= covered / rounds <= 0.985
