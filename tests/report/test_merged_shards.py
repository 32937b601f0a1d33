"""Shards of a run, run apart and merged, are the run."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, current_attempt, increment_eval_metric
from calipers.errors import InvalidOptionError, ShardsError
from calipers.evaluators import EqualsExpected, MaxDuration
from calipers.gate import Policy, Rules, judge_run
from calipers.report import Report, ScalarResult, Shard, merge_shards
from calipers.stores import open_store
from calipers.testing.engine_check import without_times


def task(inputs):
    increment_eval_metric("size", inputs)
    if inputs % 5 == 4:
        raise ValueError(f"no {inputs}")
    return inputs * 10 + current_attempt().seed % 2


def graded(output):
    return {"even": output % 2 == 0, "size": output} if output else {}


def compared(output, expected_output):
    return {"size": output - expected_output}


def strict(output):
    return output > 0


cases = st.builds(
    lambda inputs, name, tags, cluster, own, expected: Case(
        inputs=inputs,
        name=name,
        tags=tags,
        cluster=cluster,
        evaluators=[strict] if own else [],
        **({"expected_output": inputs * 10} if expected else {}),
    ),
    inputs=st.integers(0, 9),
    name=st.none() | st.text(min_size=1, max_size=3),
    tags=st.lists(st.sampled_from("ab"), unique=True),
    cluster=st.none() | st.sampled_from("xy"),
    own=st.booleans(),
    expected=st.booleans(),
)


@given(
    cases=st.lists(cases, max_size=9, unique_by=lambda case: case.name or id(case)),
    of=st.integers(1, 5),
    repeat=st.integers(1, 2),
    seed=st.integers(0, 99),
    kept=st.booleans(),
)
def test_merged_shards_are_the_run_in_whatever_order_they_come(cases, of, repeat, seed, kept):
    dataset = Dataset(
        name="numbers",
        cases=cases,
        evaluators=[EqualsExpected(), graded, compared],
        report_evaluators=[lambda report: _rate(report)],
    )
    options = {"seed": seed, "repeat": repeat, "metadata": {"commit": "abc"}, "progress": False}
    whole = dataset.evaluate_sync(task, **options)
    parts = []
    for number in range(1, of + 1):
        if kept:
            with open_store("memory:") as store:
                dataset.evaluate_sync(task, shard=f"{number}/{of}", store=store, **options)
                parts.append(store.report("latest"))
        else:
            part = dataset.evaluate_sync(task, shard=Shard(number, of), **options)
            parts.append(Report.from_dict(part.to_dict()))
    random.Random(seed).shuffle(parts)
    merged = merge_shards(parts, evaluators=dataset.evaluators, report_evaluators=dataset.report_evaluators)
    assert without_times(merged) == without_times(whole)
    assert merged.pass_rate(None) == whole.pass_rate(None)
    assert merged.summaries() == whole.summaries()


def _rate(report):
    return ScalarResult(title="passed", value=report.counts().passed)


EQUAL = (EqualsExpected(),)


def dataset_of(count, evaluators=EQUAL, name="numbers", **options):
    return Dataset(
        name=name,
        cases=[Case(inputs=n, expected_output=n) for n in range(count)],
        evaluators=evaluators,
        **options,
    )


def shard(which, *, dataset=None, task=int, **options):
    options = {"seed": 1, "progress": False, **options}
    return (dataset or dataset_of(10)).evaluate_sync(task, shard=which, **options)


def test_shards_are_of_one_size_and_every_case_is_in_one():
    for of in (1, 3, 7):
        parts = [shard(f"{number}/{of}") for number in range(1, of + 1)]
        inputs = [[case.inputs for case in part.cases] for part in parts]
        assert sorted(n for some in inputs for n in some) == list(range(10))
        assert max(map(len, inputs)) - min(map(len, inputs)) <= 1
        assert inputs[0] == list(range(0, 10, of))


def test_a_shard_says_that_it_is_a_part_and_no_gate_takes_it_for_a_run():
    part = shard("2/3")
    assert str(part.incomplete) == "shard 2 of 3, after 3 of 10 attempts"
    assert part.came_to_end
    assert "INCOMPLETE: shard 2 of 3" in part.render(width=120)
    policy = Policy(evaluators={"EqualsExpected": Rules(at_least=0.1)})
    assert judge_run(part, policy).outcome == "INCONCLUSIVE"
    whole = merge_shards([part, shard("1/3"), shard("3/3")])
    assert judge_run(whole, policy).outcome == "PASS"


def lying(output):
    return True


def other(inputs):
    return int(inputs)


@pytest.mark.parametrize(
    ("foreign", "said"),
    [
        ({"which": "2/4"}, r"the number of shards differs: 3 in report 1, report 3; 4 in report 2"),
        ({"seed": 2}, r"the seed differs: 1 in report 1, report 3; 2 in report 2"),
        ({"repeat": 2}, r"the number of repeats differs"),
        ({"dataset": dataset_of(11)}, r"the number of attempts of the whole run differs"),
        ({"dataset": dataset_of(10, name="others")}, r"the dataset differs: 'numbers' in"),
        ({"task": other}, r"the version of the task differs"),
        ({"dataset": dataset_of(10, [lying])}, r"the list of evaluators differs: 'EqualsExpected' in"),
        (
            {"dataset": dataset_of(10, [EqualsExpected(), MaxDuration(1)])},
            r"the list of evaluators differs: 'EqualsExpected' in",
        ),
        ({"which": "1/3"}, r"shard 1 is there twice: report 1, report 2"),
        ({"dataset": dataset_of(10, report_evaluators=[_rate])}, r"the list of report evaluators differs"),
    ],
)
def test_foreign_and_duplicate_shards_are_refused_with_what_is_wrong(foreign, said):
    with pytest.raises(ShardsError, match=said):
        merge_shards([shard("1/3"), shard(**{"which": "2/3", **foreign}), shard("3/3")])


def test_other_content_and_another_version_of_an_evaluator_are_noticed():
    edited = dataset_of(10)
    edited.cases[0].inputs = 99  # a case of another shard
    with pytest.raises(ShardsError, match="the content of the dataset differs"):
        merge_shards([shard("1/2"), shard("2/2", dataset=edited)])
    one, two = (dataset_of(10, [MaxDuration(seconds)]) for seconds in (1, 2))
    with pytest.raises(ShardsError, match="the version of the evaluator MaxDuration differs"):
        merge_shards([shard("1/2", dataset=one), shard("2/2", dataset=two)])


def test_missing_shards_and_those_that_ended_early_leave_the_report_incomplete():
    merged = merge_shards([shard("4/5"), shard("1/5")])
    assert str(merged.incomplete) == "shards 2, 3, 5 of 5 are missing, after 4 of 10 attempts"
    assert not merged.came_to_end

    def stop(record):
        raise OSError("the disk is full")

    broken = shard("2/2", on_record=stop, max_concurrency=1)
    merged = merge_shards([shard("1/2"), broken])
    assert str(merged.incomplete).startswith("shard 2 of 2: on_record failed")


def test_what_is_no_shard_or_does_not_have_its_attempts_is_refused():
    whole = dataset_of(10).evaluate_sync(int, seed=1, progress=False)
    with pytest.raises(ShardsError, match="second is of a whole run"):
        merge_shards([shard("1/2"), whole], labels=["first", "second"])
    lazy = Dataset(cases=(Case(inputs=n) for n in range(10)), evaluators=[lambda output: output != 3])
    part = lazy.evaluate_sync(int, shard="2/2", keep="failed", seed=1, progress=False)
    with pytest.raises(ShardsError, match="has 1 of the 5 attempts of its shard"):
        merge_shards([part])


def test_a_report_evaluator_that_was_not_given_has_failed():
    dataset = dataset_of(4, report_evaluators=[_rate])
    parts = [shard(f"{number}/2", dataset=dataset) for number in (1, 2)]
    assert parts[0].analyses == []
    (failure,) = merge_shards(parts).report_evaluator_failures
    assert (failure.name, failure.error_type) == ("_rate", "NotAnalysed")
    with pytest.raises(
        ShardsError, match="the report evaluators of the run are _rate, and those that were given are none"
    ):
        merge_shards(parts, report_evaluators=[])


@pytest.mark.parametrize("value", ["0/3", "4/3", "3", "a/b", "", 3, (3, 8), "1/9999999"])
def test_what_is_no_shard_is_refused(value):
    with pytest.raises(InvalidOptionError, match="shard must be"):
        shard(value)


def test_a_shard_cannot_end_when_enough_is_known():
    with pytest.raises(InvalidOptionError, match="a shard knows a part"):
        shard("1/2", stop_when=lambda record: None)
