"""Cases that are summed up say what the list of them says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import compare_unpaired, mean, rate
from calipers.stats.case_moments import CaseMoments, compare_moments

passes = st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4), min_size=1, max_size=30)
once = st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=1), min_size=1, max_size=30)
scores = st.lists(
    st.lists(st.integers(0, 100).map(lambda n: n / 100), min_size=1, max_size=3), min_size=1, max_size=30
)


def summed_up(cases: list[list[float]]) -> CaseMoments:
    found = CaseMoments.of(cases)
    assert found is not None
    return found


def same(found, wanted) -> None:
    """Equal but for rounding."""
    if found is None or wanted is None:
        assert found is wanted
        return
    for name in wanted.__struct_fields__:
        one, two = getattr(found, name), getattr(wanted, name)
        if isinstance(two, float):
            assert one == pytest.approx(two, rel=1e-6, abs=1e-9), name
        elif hasattr(two, "__struct_fields__"):
            same(one, two)
        else:
            assert one == two, name


@given(passes | once)
def test_a_rate_is_that_of_the_list(cases: list[list[float]]) -> None:
    same(summed_up(cases).rate(), rate([(sum(case), len(case)) for case in cases]))


@given(scores, st.sampled_from([None, (0.0, 1.0), (-1.0, 3.0)]))
def test_a_mean_is_that_of_the_list(cases: list[list[float]], bounds: tuple[float, float] | None) -> None:
    same(summed_up(cases).score(bounds=bounds), mean(cases, bounds=bounds))


@given(passes | once | scores, passes | once | scores)
def test_a_difference_is_that_of_the_lists(first: list[list[float]], second: list[list[float]]) -> None:
    same(compare_moments(summed_up(first), summed_up(second)), compare_unpaired(first, second))


def test_a_difference_between_very_many_cases_has_a_p_value_of_few_steps() -> None:
    def of(passed: int, n: int) -> CaseMoments:
        rate = passed / n
        return CaseMoments(
            n=n,
            n_attempts=n,
            mean=rate,
            variance=rate * (1 - rate) * n / (n - 1),
            lowest=0,
            highest=1,
            passed_or_not=True,
        )

    alike = compare_moments(of(450_000, 500_000), of(45_000, 50_000))
    assert alike.p_value == pytest.approx(1)
    apart = compare_moments(of(450_000, 500_000), of(44_000, 50_000))
    assert apart.p_value is not None
    assert 0 <= apart.p_value < 1e-30


def test_no_cases_have_no_moments() -> None:
    assert CaseMoments.of([]) is None
