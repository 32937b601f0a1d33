"""Numbers that no float can add up prove nothing, and do not end the gate with an error."""

from math import isfinite

import msgspec
import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.gate import Growth, Policy, Rules, judge_run
from calipers.views.gate.markdown import verdict_markdown

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
