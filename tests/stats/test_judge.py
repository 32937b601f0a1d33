"""A judged rate, corrected by what people said."""

import random
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import mean, prediction_powered, rate_from_counts, rogan_gladen


def labelled(draw, n, rate, *, false_pass, false_fail):
    """Cases as (label, judgement)."""
    cases = []
    for _ in range(n):
        good = draw.random() < rate
        passed = draw.random() >= false_fail if good else draw.random() < false_pass
        cases.append((float(good), float(passed)))
    return cases


def powered(draw, n, m, rate, **errors):
    labels, judged = zip(*labelled(draw, n, rate, **errors), strict=True)
    return prediction_powered(labels, judged, [f for _, f in labelled(draw, m, rate, **errors)])


def test_the_correction_inverts_the_error_rates():
    # 90 % of the good and 20 % of the bad pass: of 60 % good ones, 62 % pass.
    found = rogan_gladen(
        620, 1000, true_passes=90, passed_by_people=100, true_failures=80, failed_by_people=100
    )
    assert found.value == pytest.approx(0.6)
    assert (found.judged.value, found.sensitivity.value, found.specificity.value) == (0.62, 0.9, 0.8)
    assert found.value in found.interval
    assert found.interval.method == "rogan-gladen"


def test_the_interval_is_wider_than_the_judge_alone_would_have_it_and_narrows_with_labels():
    few, many = (
        rogan_gladen(
            620,
            1000,
            true_passes=9 * k,
            passed_by_people=10 * k,
            true_failures=8 * k,
            failed_by_people=10 * k,
        )
        for k in (2, 50)
    )
    assert many.judged.interval.width < many.interval.width < few.interval.width


@given(st.integers(0, 50), st.integers(0, 20), st.integers(0, 20))
def test_a_corrected_rate_is_a_rate_within_its_interval(passes, true_passes, true_failures):
    found = rogan_gladen(
        passes,
        50,
        true_passes=true_passes,
        passed_by_people=20,
        true_failures=true_failures,
        failed_by_people=20,
    )
    if true_passes + true_failures <= 20:
        assert (found.value, found.interval) == (None, None)  # no better than guessing
    else:
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


def test_labels_of_one_kind_only_do_not_tell():
    nothing = {"true_passes": 0, "passed_by_people": 0}
    assert rogan_gladen(5, 10, **nothing, true_failures=5, failed_by_people=5) is None
    assert rogan_gladen(0, 0, true_passes=5, passed_by_people=5, true_failures=5, failed_by_people=5) is None


@pytest.mark.parametrize(
    ("n", "good", "bad", "rate", "sensitivity", "specificity"),
    [(300, 50, 20, 0.9, 0.95, 0.7), (200, 30, 30, 0.1, 0.9, 0.9), (100, 20, 20, 0.5, 0.9, 0.8)],
)
def test_corrected_rates_are_covered_as_often_as_said(n, good, bad, rate, sensitivity, specificity):
    draw = random.Random(0)
    runs, covered = 400, 0
    for _ in range(runs):
        chance = rate * sensitivity + (1 - rate) * (1 - specificity)
        covered += (
            rate
            in rogan_gladen(
                sum(draw.random() < chance for _ in range(n)),
                n,
                true_passes=sum(draw.random() < sensitivity for _ in range(good)),
                passed_by_people=good,
                true_failures=sum(draw.random() < specificity for _ in range(bad)),
                failed_by_people=bad,
            ).interval
        )
    assert 0.925 <= covered / runs <= 0.995


def test_a_biased_judge_is_corrected_and_the_interval_is_narrower_than_the_labels_alone():
    draw = random.Random(1)
    found = powered(draw, 100, 5000, 0.7, false_pass=0.3, false_fail=0.02)
    assert found.judged.interval.low > 0.7  # sure, and wrong
    assert 0.7 in found.interval
    assert found.interval.method == "prediction-powered"
    assert found.interval.width < 0.9 * found.labelled.interval.width
    assert 0.5 < found.tuning <= 1


@pytest.mark.parametrize(
    ("n", "rate", "false_pass", "false_fail"),
    [(15, 0.5, 0.1, 0.0), (30, 0.7, 0.1, 0.01), (50, 0.9, 0.3, 0.01), (30, 0.5, 0.5, 0.5)],
)
def test_few_labels_and_rare_errors_of_the_judge_are_covered_all_the_same(n, rate, false_pass, false_fail):
    draw = random.Random(2)
    runs = 300
    covered = sum(
        rate in powered(draw, n, 300, rate, false_pass=false_pass, false_fail=false_fail).interval
        for _ in range(runs)
    )
    assert covered / runs >= 0.92


def test_scores_are_covered_as_often_as_said_however_good_the_judge():
    draw = random.Random(3)
    runs = 300
    for noise in (0.3, 1.0, 10.0):
        covered = 0
        for _ in range(runs):
            truth = [draw.gauss(0, 1) for _ in range(320)]
            judged = [y + draw.gauss(0.5, noise) for y in truth]
            covered += 0 in prediction_powered(truth[:20], judged[:20], judged[20:]).interval
        assert 0.915 <= covered / runs <= 0.995


def test_a_useless_judge_never_makes_the_interval_wider():
    draw = random.Random(4)
    for _ in range(60):
        found = powered(draw, 30, 100, 0.6, false_pass=0.5, false_fail=0.5)
        assert found.interval.width <= found.labelled.interval.width + 1e-12


def same_as_the_labels(found, expected):
    return (found.value, found.interval, found.tuning) == (expected.value, expected.interval, 0)


@pytest.mark.parametrize(
    ("labels", "judged", "judged_only"),
    [
        ([1, 0, 1, 1], [1, 0, 1, 1], [1, 0] * 50),
        ([1, 0] * 10, [1, 0] * 10, []),
        ([1, 0] * 10, [1, 0] * 10, [1]),
        ([1, 0] * 10, [1] * 20, [1] * 90),
        ([1, 0] * 10, [0, 1] * 10, [0, 1] * 90),
        ([1] * 20, [1, 0] * 10, [1, 0] * 90),
    ],
    ids=[
        "few labels",
        "none without labels",
        "one without a label",
        "a judge that always passes",
        "a judge that is always wrong",
        "labels that all pass",
    ],
)
def test_where_the_judge_cannot_help_the_labels_alone_are_the_answer(labels, judged, judged_only):
    found = prediction_powered(labels, judged, judged_only)
    assert same_as_the_labels(found, rate_from_counts(sum(labels), len(labels)))
    assert found.labelled == rate_from_counts(sum(labels), len(labels))


def test_scores_that_the_judge_does_not_know_are_averaged_alone():
    labels = [0.2, 0.5, 0.9, 0.4]
    assert same_as_the_labels(prediction_powered(labels, labels, [0.1] * 9), mean([[x] for x in labels]))
    single = prediction_powered([0.2], [0.2], [0.1] * 9)
    assert (single.value, single.interval) == (0.2, None)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_a_rate_stays_a_rate(pairs):
    labels, judged = zip(*pairs, strict=True)
    found = prediction_powered(labels, judged, [0, 1, 1] * 20)
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


def test_without_labels_there_is_nothing_to_correct_by():
    assert prediction_powered([], [], [1, 0, 1]) is None


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: prediction_powered([1], [], []), "1 labels and 0 judgements"),
        (lambda: prediction_powered([nan], [1], []), "labels .* got nan"),
        (lambda: prediction_powered([1], [1], [nan]), "judged_only .* got nan"),
        (lambda: prediction_powered([1], [1], [], confidence=95), "got 95"),
        (
            lambda: rogan_gladen(
                11, 10, true_passes=1, passed_by_people=1, true_failures=1, failed_by_people=1
            ),
            "got 11 of 10",
        ),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()
