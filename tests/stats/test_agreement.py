"""Raters who agree, more or less."""

import random
from itertools import product
from math import exp, factorial, log, nan, prod

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import cohen_kappa, krippendorff_alpha

RATINGS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=25)

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
PUBLISHED = list(zip(*OBSERVERS, strict=True))


def columns(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_the_published_one(level, alpha):
    found = krippendorff_alpha(PUBLISHED, level=level)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert found.value in found.interval
    assert (found.n_units, found.n_ratings) == (11, 40)  # the unit with a single rating does not count


def test_kappa_is_the_textbook_one():
    # 20 both yes, 5 and 10 split, 15 both no: observed 0.70, by chance 0.50.
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    found = cohen_kappa(*columns(pairs))
    assert found.value == pytest.approx(0.4)
    assert (found.same, found.chance_disagreement) == pytest.approx((0.7, 0.5))
    assert dict(found.base_rates) == pytest.approx({"yes": 0.55, "no": 0.45})
    # Fleiss, Cohen and Everitt's large-sample standard error is 0.1277 here.
    assert found.interval.high - found.value == pytest.approx(2.01 * 0.1277, rel=0.06)
    assert log((1 - found.interval.low) / 0.6) == pytest.approx(2.01 * 0.1277 / 0.6, rel=0.06)


def by_the_matrix(pairs, power):
    """Weighted kappa from the whole table, category by category."""
    numbers = [x for pair in pairs for x in pair]
    low, high = min(numbers), max(numbers)
    size = high - low + 1
    table = np.zeros((size, size))
    for a, b in pairs:
        table[a - low, b - low] += 1 / len(pairs)
    grid = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    weights = (grid > 0).astype(float) if power is None else (grid / max(1, size - 1)) ** power
    chance = (weights * np.outer(table.sum(1), table.sum(0))).sum()
    return None if chance < 1e-15 else 1 - (weights * table).sum() / chance


@given(RATINGS, st.sampled_from([(None, None), ("linear", 1), ("quadratic", 2)]))
def test_kappa_is_that_of_the_table(pairs, kind):
    weights, power = kind
    found = cohen_kappa(*columns(pairs), weights=weights)
    expected = by_the_matrix(pairs, power)
    assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-9))
    if found.interval is not None:
        assert -1 <= found.interval.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.interval.high <= 1


@given(RATINGS, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_is_that_of_the_coincidence_matrix(pairs, level):
    found = krippendorff_alpha(pairs, level=level)
    values = sorted({x for pair in pairs for x in pair})
    coincidences = np.zeros((len(values), len(values)))
    for a, b in pairs:
        i, j = values.index(a), values.index(b)
        coincidences[i, j] += 1
        coincidences[j, i] += 1
    totals = coincidences.sum(1)
    n = totals.sum()

    def distance(i, j):
        if level == "nominal":
            return float(i != j)
        if level == "interval":
            return (values[i] - values[j]) ** 2
        low, high = sorted((i, j))
        return (totals[low : high + 1].sum() - (totals[i] + totals[j]) / 2) ** 2

    places = range(len(values))
    seen = sum(coincidences[i, j] * distance(i, j) for i in places for j in places) / n
    chance = sum(totals[i] * totals[j] * distance(i, j) for i in places for j in places) / (n * (n - 1))
    assert found.value == (None if chance == 0 else pytest.approx(1 - seen / chance, abs=1e-9))


def test_the_interval_leaves_out_one_unit_at_a_time():
    values = [
        krippendorff_alpha(PUBLISHED[:index] + PUBLISHED[index + 1 :]).value
        for index, unit in enumerate(PUBLISHED)
        if sum(rating is not None for rating in unit) > 1
    ]
    n = len(values)
    deviation = ((n - 1) / n * sum((v - sum(values) / n) ** 2 for v in values)) ** 0.5
    found = krippendorff_alpha(PUBLISHED)
    assert found.interval.high == pytest.approx(min(1, found.value + 2.228 * deviation), abs=1e-3)
    other = 1 - found.value
    assert found.interval.low == pytest.approx(1 - other * exp(2.228 * deviation / other), abs=1e-3)


@pytest.mark.parametrize(("kappa", "passes", "n"), [(0.6, 0.8, 100), (0.8, 0.5, 50), (0.8, 0.9, 100)])
def test_a_kappa_at_a_limit_rarely_passes_for_one_above_it(kappa, passes, n):
    """At most 2.5 % is what a gate states; without the logarithm it was 4 to 10 %."""
    chance = passes**2 + (1 - passes) ** 2
    apart = (1 - chance) * (1 - kappa) / 2
    draw = random.Random(n)
    pairs = [(1, 1), (1, 0), (0, 1), (0, 0)]
    weights = [passes - apart, apart, apart, 1 - passes - apart]
    above = 0
    for _ in range(800):
        found = cohen_kappa(*columns(draw.choices(pairs, weights, k=n)))
        above += found.interval is not None and found.interval.low > kappa
    assert above / 800 <= 0.03


@pytest.mark.parametrize(("kappa", "passes"), [(0.2, 0.9), (0.4, 0.9), (0.4, 0.95), (0.6, 0.95), (0.4, 0.5)])
def test_a_kappa_at_a_limit_rarely_fails_for_one_below_it(kappa, passes):
    """Counted over all outcomes: few labels of the rarer answer once failed up to 40 % of such judges."""
    n = 20
    apart = passes * (1 - passes) * (1 - kappa)
    chances = (passes - apart, apart, apart, 1 - passes - apart)
    below = 0.0
    for both, one, other in product(range(n + 1), repeat=3):
        counts = (both, one, other, n - both - one - other)
        if counts[3] < 0:
            continue
        found = cohen_kappa(
            [1] * (both + one) + [0] * (other + counts[3]),
            [1] * both + [0] * one + [1] * other + [0] * counts[3],
        )
        if found.interval is not None and found.interval.high < kappa:
            ways = factorial(n) // prod(map(factorial, counts))
            below += ways * prod(chance**count for chance, count in zip(chances, counts, strict=True))
    assert below <= 0.025


@pytest.mark.parametrize(
    "measure", [cohen_kappa, lambda a, b: krippendorff_alpha(list(zip(a, b, strict=True)))]
)
def test_kappa_and_alpha_cover_the_truth_about_as_often_as_said(measure):
    draw = random.Random(0)
    rate, accuracy, runs = 0.6, 0.85, 300
    passed = rate * accuracy + (1 - rate) * (1 - accuracy)
    chance = passed**2 + (1 - passed) ** 2
    truth = (accuracy**2 + (1 - accuracy) ** 2 - chance) / (1 - chance)
    covered = 0
    for _ in range(runs):
        good = [draw.random() < rate for _ in range(50)]
        raters = [[g if draw.random() < accuracy else not g for g in good] for _ in range(2)]
        covered += truth in measure(*raters).interval
    assert 0.91 <= covered / runs <= 0.985


def test_high_agreement_may_be_little_beyond_chance():
    pairs = [(1, 1)] * 92 + [(1, 0)] * 4 + [(0, 1)] * 4
    found = cohen_kappa(*columns(pairs))
    assert found.same == 0.92
    assert found.value < 0
    assert dict(found.base_rates)[1] == pytest.approx(0.96)


def test_what_was_found_can_be_stored_whatever_the_categories():
    for categories in ((True, False), ("pass", None), (1, 2.5)):
        found = krippendorff_alpha([[categories[0]] * 2, list(categories), [categories[0]] * 2])
        assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)).value == found.value


def test_perfect_agreement_is_no_proof_of_perfection():
    pairs = [("a", "a")] * 15 + [("b", "b")] * 15
    for found in (
        cohen_kappa(*columns(pairs)),
        krippendorff_alpha(pairs),
        krippendorff_alpha([(1, 1)] * 15 + [(5, 5)] * 15, level="interval"),
    ):
        assert found.value == 1
        assert 0.5 < found.interval.low < 0.9
        assert found.interval.high == 1


@pytest.mark.parametrize(
    "found",
    [
        cohen_kappa([1] * 9, [1] * 9),
        krippendorff_alpha([(1, 1)] * 9),
        krippendorff_alpha([(0.1, 0.1)] * 9, level="interval"),
    ],
    ids=["kappa", "alpha", "interval alpha"],
)
def test_where_one_category_was_used_nothing_is_known_beyond_chance(found):
    assert (found.value, found.interval, found.same) == (None, None, 1)


def test_one_unit_of_another_kind_gives_no_interval():
    assert cohen_kappa([1, 1, 1, 0], [1, 1, 1, 0]).interval is None
    assert cohen_kappa([1], [0]).interval is None


@pytest.mark.parametrize("other", [["a"] * 25 + ["b"] * 25, ["b"] * 50])
def test_a_rater_of_one_category_gives_no_interval(other):
    for found in (cohen_kappa(["a"] * 50, other), cohen_kappa(other, ["a"] * 50)):
        assert found is not None
        assert (found.value, found.interval) == (0, None)


def test_without_units_there_is_no_agreement():
    assert cohen_kappa([], []) is None
    assert cohen_kappa([], [], weights="linear") is None
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, None], [None, None], []]) is None


def test_a_step_that_was_not_used_still_counts():
    pairs = [(1, 1)] * 5 + [(3, 3)] * 5 + [(1, 3)] * 2
    numbers = cohen_kappa(*columns(pairs), weights="linear")
    named = cohen_kappa(
        *columns([("low" if a == 1 else "high", "low" if b == 1 else "high") for a, b in pairs]),
        weights="linear",
        categories=["low", "middle", "high"],
    )
    assert numbers.value == pytest.approx(named.value)
    assert {category for category, _ in named.base_rates} == {"low", "high"}
    far = cohen_kappa([1, 10**9, 1], [1, 10**9, 10**9], weights="linear")
    assert far.value == pytest.approx(cohen_kappa([1, 3, 1], [1, 3, 3], weights="linear").value)


def test_a_thousand_scores_on_a_fine_scale_are_no_burden():
    draw = random.Random(1)
    units = [(x, x + draw.gauss(0, 0.5)) for x in (draw.gauss(0, 1) for _ in range(1000))]
    found = krippendorff_alpha(units, level="interval")
    assert found.value == pytest.approx(1 - 0.125 / 1.125, abs=0.02)
    assert found.interval.width < 0.05


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "got 2 and 1 ratings"),
        (lambda: cohen_kappa([1, None], [1, 1]), "got None"),
        (lambda: cohen_kappa(["a"], ["b"], weights="linear"), r"categories=\[.*got 'a'"),
        (lambda: cohen_kappa([1, nan], [1, 1]), "got nan"),
        (lambda: krippendorff_alpha([("a", nan)]), "got nan; write None"),
        (lambda: cohen_kappa(["a"], ["b"], categories=["a"]), r"\['b'\]"),
        (lambda: cohen_kappa(["a"], ["a"], categories=["a", "a"]), "must differ"),
        (lambda: cohen_kappa([1], [1], weights="cubic"), "got 'cubic'"),
        (lambda: cohen_kappa([1], [1], confidence=0), "got 0"),
        (lambda: krippendorff_alpha([(1, 2)], level="ratio"), "got 'ratio'"),
        (lambda: krippendorff_alpha([("a", "b")], level="ordinal"), "got 'a'"),
        (lambda: krippendorff_alpha([(1, nan)], level="interval"), "got nan"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()
