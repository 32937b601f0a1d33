"""Several runs at once: every two compared, the error of the whole kept, and the places that follow."""

import random

import pytest

from calipers.comparison import compare_many, compare_reports, ranks
from calipers.comparison.change import Question, change_of
from calipers.errors import InvalidOptionError
from calipers.stats import holm


def runs_of(judged_report, *shares, cases=100):
    """Runs over the same cases, of which the given shares pass."""
    return [
        judged_report([[1] if case < share * cases else [0] for case in range(cases)], name=f"run {place}")
        for place, share in enumerate(shares)
    ]


def test_runs_that_differ_certainly_have_one_place_each(judged_report):
    found = compare_many(runs_of(judged_report, 0.2, 0.9, 0.5))
    assert [(rank.label, rank.best, rank.worst, rank.text) for rank in ranks(found)] == [
        ("run 1", 1, 1, "1"),
        ("run 2", 2, 2, "2"),
        ("run 0", 3, 3, "3"),
    ]


def test_runs_that_nobody_can_tell_apart_share_their_places(judged_report):
    found = ranks(compare_many(runs_of(judged_report, 0.5, 0.52, 0.95, 0.5)))
    assert [(rank.label, rank.text) for rank in found] == [
        ("run 2", "1"),
        ("run 0", "2 to 4"),
        ("run 1", "2 to 4"),
        ("run 3", "2 to 4"),
    ]


def test_there_are_no_ranks_of_two_runs_nor_where_some_pairs_or_rates_are_missing(judged_report):
    reports = runs_of(judged_report, 0.2, 0.5, 0.9)
    assert ranks([compare_reports(*reports[:2])]) == []
    assert ranks(compare_many(reports, against_first=True)) == []
    assert ranks(compare_many(reports, evaluators=["ok"])) == []
    assert ranks([]) == []


def test_intervals_of_several_pairs_are_wider_and_say_at_which_confidence_all_hold(judged_report):
    reports = runs_of(judged_report, 0.4, 0.5, 0.6)
    alone, (together, *_) = compare_reports(*reports[:2]), compare_many(reports)
    assert together.pass_rate.interval.width > alone.pass_rate.interval.width
    assert together.pass_rate.interval.confidence == alone.pass_rate.interval.confidence == 0.95
    assert together.evaluators[0].interval.width > alone.evaluators[0].interval.width
    assert (alone.at_once, together.at_once) == (1, 3)
    exact = compare_reports(*reports[:2], confidence=1 - 0.05 / 3)
    assert together.pass_rate.interval.low == exact.pass_rate.interval.low


def test_what_a_store_knows_is_given_for_each_report(judged_report):
    with pytest.raises(InvalidOptionError, match="needs one entry per report: got 3 and 2 entries"):
        compare_many(runs_of(judged_report, 0.2, 0.5, 0.9), known_evaluators=[None, None])


def simulated(draw, rates, cases, doubt=0.05):
    """The changes of all pairs of runs whose cases pass with these chances, and the true differences."""
    pairs = [(one, two) for one in range(len(rates)) for two in range(one + 1, len(rates))]
    passed = []
    for rate in rates:
        # Hard and easy cases: the runs agree on many, as agents do.
        chances = [min(1.0, rate * (0.2 if case % 3 == 0 else 1.4)) for case in range(cases)]
        passed.append([(float(draw.random() < chance),) for chance in chances])
    truth = [
        sum(min(1.0, rate * (0.2 if case % 3 == 0 else 1.4)) for case in range(cases)) / cases
        for rate in rates
    ]
    found = [
        change_of(
            Question(
                name="pass rate",
                kind="pass rate",
                baseline=passed[one],
                candidate=passed[two],
                paired=True,
                smallest=0.03,
                smallest_relative=0.1,
                confidence=1 - doubt / len(pairs),
            )
        )
        for one, two in pairs
    ]
    return found, [truth[two] - truth[one] for one, two in pairs]


@pytest.mark.parametrize(("rates", "cases"), [((0.6, 0.6, 0.6), 60), ((0.5, 0.5, 0.5, 0.5), 100)])
def test_among_equal_runs_any_false_alarm_is_as_rare_as_one_would_be(rates, cases):
    draw, rounds = random.Random(1), 400
    alarms = misses = 0
    for _ in range(rounds):
        found, truth = simulated(draw, rates, cases)
        alarms += any(p <= 0.05 for p in holm([change.p_value for change in found]))
        misses += any(
            not change.interval.low <= true <= change.interval.high
            for change, true in zip(found, truth, strict=True)
        )
    # 5 % of 400 is 20; 31 is two and a half standard deviations above.
    assert alarms <= 31
    assert misses <= 31


def test_intervals_hold_together_where_runs_differ():
    draw, rounds = random.Random(2), 400
    misses = 0
    for _ in range(rounds):
        found, truth = simulated(draw, (0.3, 0.5, 0.65), 80)
        misses += any(
            not change.interval.low <= true <= change.interval.high
            for change, true in zip(found, truth, strict=True)
        )
    assert misses <= 31
