"""Which cases people should label next."""

from collections import Counter

import pytest

from calipers import Case, Dataset
from calipers.comparison.case_pairs import cases_of
from calipers.comparison.columns import Columns
from calipers.errors import InvalidOptionError
from calipers.gate import choose_labels
from calipers.gate.label_choice import CaseStratum, strata_of


def report(judges, *, n=60, repeat=1, task=lambda number: number):
    cases = [Case(name=f"c{number}", inputs=number) for number in range(n)]
    return Dataset(name="d", cases=cases, evaluators=judges).evaluate_sync(
        task, progress=False, repeat=repeat, seed=1
    )


def kind(output):
    return output % 3 > 0


def strict(output):
    return output % 4 > 1


def broken(number):
    if number < 10:
        raise ValueError(number)
    return number


def strata(found, judge="kind"):
    run = Columns(cases_of(found))
    return strata_of(run, (judge, "assertion"))


def test_cases_are_told_apart_by_the_verdict():
    assert Counter(strata(report([kind])).by_case.values()) == {
        CaseStratum("passed"): 40,
        CaseStratum("failed"): 20,
    }


def test_jurors_are_the_other_columns_of_a_vote():
    def jury(output):
        return {"vote": kind(output), "one": kind(output), "two": strict(output)}

    found = report([jury])
    assert strata(found, "vote").by_case["c1"].in_doubt
    assert not strata(found, "one").by_case["c1"].in_doubt


def test_a_repeated_case_that_is_judged_differently_is_in_doubt():
    said = {}

    def wavering(output):
        said[output] = said.get(output, 0) + 1
        return output % 2 == 0 or said[output] > 1

    found = strata(report([wavering], repeat=2), "wavering")
    assert found.by_case["c1"].in_doubt
    assert not found.by_case["c2"].in_doubt


def test_few_doubtful_cases_are_no_stratum():
    def jury(output):
        return {"vote": kind(output), "one": kind(output), "two": strict(output)}

    found = strata(report([jury], n=8), "vote")
    assert not any(stratum.in_doubt for stratum in found.by_case.values())


def test_a_case_whose_task_failed_is_not_drawn():
    found = report([kind], task=broken)
    assert strata(found).without_task == [f"c{number}" for number in range(10)]
    drawn = choose_labels(found, "kind", {}, 60, seed=0)
    assert {each.case for each in drawn} == {f"c{number}" for number in range(10, 60)}


def test_labelled_cases_are_not_drawn_again():
    first = choose_labels(report([kind]), "kind", {}, 20, seed=0)
    assert len(first) == 20
    second = choose_labels(report([kind]), "kind", {each.case: 1.0 for each in first}, 60, seed=0)
    assert len(second) == 40
    assert not {each.case for each in first} & {each.case for each in second}


def test_of_a_repeated_case_one_attempt_is_drawn():
    drawn = choose_labels(report([kind], repeat=3), "kind", {}, 40, seed=0)
    assert len({each.case for each in drawn}) == 40
    assert {each.attempt for each in drawn} == {1, 2, 3}


def test_scores_are_told_apart_by_thirds():
    def score(output):
        return output / 10

    found = report([score])
    run = Columns(cases_of(found))
    assert Counter(each.verdict for each in strata_of(run, ("score", "score")).by_case.values()) == {
        "low": 20,
        "middle": 20,
        "high": 20,
    }
    assert len(choose_labels(found, "score", {"c1": 4.0}, 10, seed=0)) == 10


def test_an_unknown_judge_is_named_with_those_there_are():
    with pytest.raises(InvalidOptionError, match="there are 'kind'"):
        choose_labels(report([kind]), "cruel", {}, 5, seed=0)
    with pytest.raises(InvalidOptionError, match="numbers such as 4: ask them for yes or no"):
        choose_labels(report([kind]), "kind", {"c1": 4.0}, 5, seed=0)
