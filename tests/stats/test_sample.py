from math import inf, nan

import numpy as np
import pytest

from calipers.stats import (
    cases_needed,
    compare_paired,
    decide,
    jeffreys,
    mean,
    noise_floor,
    pass_at_k,
    pass_hat_k,
    rate,
    wilson,
)
from calipers.stats.sample import case_means, finite_values


def test_booleans_and_integers_become_floats():
    sample = finite_values([True, 2, 0.5])
    assert sample == [1.0, 2.0, 0.5]
    assert all(type(value) is float for value in sample)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(ValueError, match=f"scores must be finite numbers, got {bad!r} at index 1"):
        finite_values([0.0, bad, 1.0], name="scores")


def test_attempts_at_a_case_are_averaged():
    assert case_means([[1, 0, 0.5], [True]]) == [0.5, 1.0]
    assert case_means([]) == []


@pytest.mark.parametrize(
    ("cases", "shown"),
    [([[1.0], []], "old: case 1 has no scores"), ([[nan]], "old: scores of case 0 .* got nan")],
)
def test_a_case_without_a_score_is_refused(cases, shown):
    with pytest.raises(ValueError, match=shown):
        case_means(cases, name="old")


def test_scores_that_are_not_in_lists_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"case 0 must be the list .* got 0.5; write \[\[0.5\], \[1.0\]\]"):
        case_means([0.5, 1.0])


ATTEMPTS = [[1, 1], [0, 1], [1, 1], [0, 1]]
"""Cases by their attempts, which could be taken for counts: one of one, none of one."""


@pytest.mark.parametrize(
    "of_counts",
    [rate, noise_floor, lambda cases: pass_at_k(cases, 1), lambda cases: pass_hat_k(cases, 1)],
    ids=["rate", "noise_floor", "pass_at_k", "pass_hat_k"],
)
@pytest.mark.parametrize(
    ("cases", "shown"),
    [
        (ATTEMPTS, r"case 0 must be the tuple \(passes, attempts\), got \[1, 1\]; .*\(sum\(attempts\), len"),
        ([[1, 0, 1], [1, 1, 1]], r"got \[1, 0, 1\]"),
        ([(1, 1), (1, 0, 1)], r"case 1 .* got \(1, 0, 1\)"),
        ([True, False], r"got True; write \(1, 1\) or \(0, 1\)"),
        ([(True, True)], r"got \(True, True\); two attempts of which one passed are \(1, 2\)"),
        ([(1, 1.5)], r"whole number, got \(1, 1.5\)"),
        ([("1", 1)], r"got \('1', 1\)"),
    ],
)
def test_lists_of_attempts_are_never_taken_for_counts(of_counts, cases, shown):
    with pytest.raises(TypeError, match=shown):
        of_counts(cases)


def test_the_way_from_attempts_to_counts_gives_the_rate_of_the_attempts():
    counts = [(sum(attempts), len(attempts)) for attempts in ATTEMPTS]
    assert rate(counts).value == mean(ATTEMPTS).value == 0.75
    assert rate([(np.int64(1), np.int64(2))]).value == 0.5


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: mean([0.5, 0.6]), r"case 0 must be the list .* got 0.5; write \[\[0.5\], \[1.0\]\]"),
        (lambda: mean([[0.5], [None]]), "values must be numbers, got None at index 1"),
        (lambda: mean([[0.5, "x"]]), "scores of case 0 must be numbers, got 'x' at index 1"),
        (lambda: mean(["ab"]), "case 0 must be the list .* got 'ab'"),
        (lambda: compare_paired([[None]], [[1]]), "must be numbers, got None at index 0"),
        (
            lambda: decide(compare_paired([[1]] * 9, [[0]] * 9), margin=0.05),
            r"difference\.interval, got Diff",
        ),
        (
            lambda: cases_needed(0.05, 0.4),
            r"spread must be VarianceComponents, got 0.4; .*Components\(v, 0.0\)",
        ),
        (lambda: wilson("8", 10), "successes must be a number, got '8'"),
        (lambda: jeffreys(8, None), "n must be a number, got None"),
    ],
)
def test_what_is_no_number_is_refused_with_its_value(call, shown):
    with pytest.raises(TypeError, match=shown):
        call()


def test_cases_may_be_rows_of_an_array():
    assert mean(np.array([[0.0, 1.0], [1.0, 1.0]])).value == 0.75
