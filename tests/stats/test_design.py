import pytest

from calipers.stats import VarianceComponents, cases_needed
from calipers.stats.design import ComparisonDesign, GateDesign

SPREAD = VarianceComponents(0.05, 0.1)
TEST = ComparisonDesign(spread=SPREAD, power=0.8, confidence=0.95)
GATE = GateDesign(spread=SPREAD, power=0.8, confidence=0.95)


@pytest.mark.parametrize("design", [TEST, GATE], ids=["test", "gate"])
@pytest.mark.parametrize("repeats", [1, 4])
def test_units_and_reach_and_repeats_agree(design, repeats):
    n = design.units(0.05, repeats)
    assert design.reach(n, repeats) <= 0.05 < design.reach(n - 1, repeats)
    assert design.repeats(0.05, n) == repeats
    assert design.repeats(0.05, 20) is None


def test_a_gate_takes_more_than_a_test():
    assert GATE.units(0.05, 1) > TEST.units(0.05, 1) == cases_needed(0.05, SPREAD)
    assert GATE.reach(100, 1) > TEST.reach(100, 1)


def test_a_gate_of_few_clusters_takes_what_students_t_does():
    wide = VarianceComponents(0.002, 0.0)
    gate = GateDesign(spread=wide, power=0.8, confidence=0.95, is_clustered=True)
    test = ComparisonDesign(spread=wide, power=0.8, confidence=0.95)
    assert gate.units(0.5, 1) >= test.units(0.5, 1)
    assert gate.reach(3, 1) >= test.reach(3, 1)


@pytest.mark.parametrize("margin", [0.0, -0.1, 1.0, float("nan")])
def test_a_margin_that_cannot_be_is_refused(margin):
    with pytest.raises(ValueError, match="between 0 and 1"):
        GATE.units(margin, 1)
