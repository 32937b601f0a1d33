"""The two sides of a gate: a case is in its cluster, whichever of the runs says so."""

import random

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.gate import Growth, Policy, Rules, StopWhenDecided, judge_run


def run(*, clustered, skill, seed):
    """Four clusters whose cases all do the same."""

    def task(number):
        return random.Random(f"{seed} {number % 4}").random() < skill

    def good(output):
        return output

    cases = [
        Case(name=f"case {number}", inputs=number, cluster=f"c{number % 4}" if clustered else None)
        for number in range(80)
    ]
    return Dataset(name="d", cases=cases, evaluators=[good]).evaluate_sync(task, progress=False)


@pytest.mark.parametrize("rules", [{"margin": 0.2}, {"at_least": 0.5}], ids=lambda rules: next(iter(rules)))
def test_the_clusters_of_either_run_count(rules):
    policy = Policy(evaluators={"good": Rules(**rules)})
    found = {}
    for ours in (False, True):
        for theirs in (False, True):
            now, old = (run(clustered=each, skill=1.0, seed=1) for each in (ours, theirs))
            found[ours, theirs] = judge_run(now, policy, baseline=old).findings[-1]
    assert found[False, False].outcome == "PASS"
    clustered = {key: finding for key, finding in found.items() if any(key)}
    assert {finding.outcome for finding in clustered.values()} == {"INCONCLUSIVE"}
    assert len({finding.interval for finding in clustered.values()}) == 1


def timed(report, step):
    """The report, with times that are given and not measured."""
    cases = [
        msgspec.structs.replace(case, task_duration=1 + step * (number % 4) / 10)
        for number, case in enumerate(report.cases)
    ]
    return msgspec.structs.replace(report, cases=cases)


def test_growth_has_the_clusters_of_the_baseline_too():
    policy = Policy(duration=Growth(max_growth=1e9))
    now, old = (timed(run(clustered=each, skill=1.0, seed=1), step) for each, step in ((False, 1), (True, 3)))
    alone = [msgspec.structs.replace(case, cluster=None) for case in old.cases]
    other = msgspec.structs.replace(old, cases=alone)
    wide, narrow = (judge_run(now, policy, baseline=each).findings[-1].interval for each in (old, other))
    assert wide != narrow


def test_a_baseline_in_clusters_cannot_decide_a_run_early():
    with pytest.raises(InvalidOptionError, match="of the baseline is in the cluster 'c0'"):
        StopWhenDecided(
            Policy(evaluators={"good": Rules(margin=0.2)}), run(clustered=True, skill=1.0, seed=1)
        )


def alike(names, *, good):
    """Cases of one content."""

    def right(output):
        return output

    cases = [Case(name=name, inputs="the same") for name in names]
    dataset = Dataset(name="d", cases=cases, evaluators=[right])
    return lambda **options: dataset.evaluate_sync(
        lambda _: good, progress=False, max_concurrency=1, seed=1, **options
    )


@pytest.mark.parametrize(("there", "compared"), [(1, 1), (2, 2), (60, 60), (80, 60)])
@pytest.mark.parametrize("name", ["old", "new"])
def test_a_case_of_the_baseline_is_compared_once_also_while_the_run_goes_on(there, compared, name):
    policy = Policy(min_cases=60, evaluators={"right": Rules(margin=0.2)})
    old = alike([f"old {number}" for number in range(there)], good=False)()
    rule = StopWhenDecided(policy, old)
    report = alike([f"{name} {number}" for number in range(60)], good=True)(stop_when=rule)
    verdict = judge_run(report, policy, baseline=old)
    assert verdict.paired == compared
    assert verdict.outcome == ("PASS" if compared == 60 else "INCONCLUSIVE")
    assert (report.stopping.why == "decided: PASS") == (compared == 60)
