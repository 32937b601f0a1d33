"""A rule that may end a run: asked in a random order that the seed decides, heard in that order, and no attempt is lost."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.run.runner import in_random_order
from calipers.run.work import work_items
from calipers.scoring.evaluator_plan import make_plan


def right(output):
    return output < 1000


def numbers(n):
    return Dataset(cases=[Case(inputs=number) for number in range(n)], evaluators=[right])


class After:
    """Stops after so many attempts, and remembers what it heard."""

    def __init__(self, n):
        self.n = n
        self.heard = []

    def __call__(self, record):
        self.heard.append(record.name)
        return "enough" if len(self.heard) == self.n else None


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 3))
def test_every_case_has_its_place_in_the_order_and_its_attempts_stay_together(seed, n, repeat):
    cases = [Case(inputs=number) for number in range(n)]
    made = list(in_random_order(work_items(cases, make_plan([]), repeat=repeat), seed))
    assert sorted(work.position for work in made) == list(range(n * repeat))
    names = [work.case_name for work in made]
    assert [name for place, name in enumerate(names) if place % repeat == 0] == list(dict.fromkeys(names))
    assert [work.repeat_index for work in made] == list(range(1, repeat + 1)) * n
    again = list(in_random_order(work_items(cases, make_plan([]), repeat=repeat), seed))
    assert [work.position for work in again] == [work.position for work in made]


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_run_ends_when_the_rule_says_so_and_what_was_begun_is_kept(concurrency, is_async):
    async def slow(inputs):
        await asyncio.sleep(0.001 * random.Random(inputs).random())
        return inputs

    rule = After(20)
    report = numbers(200).evaluate_sync(
        slow if is_async else (lambda inputs: inputs),
        stop_when=rule,
        seed=3,
        max_concurrency=concurrency,
        progress=False,
    )
    stopping = report.stopping
    assert (stopping.why, stopping.heard, stopping.total) == ("enough", 20, 200)
    assert len(report.cases) == 200 - stopping.saved == 20 + len(stopping.unheard)
    assert {case.name for case in report.cases} == {*rule.heard, *stopping.unheard}
    assert report.incomplete is None
    assert report.unfinished == 0
    assert "enough after 20 of 200 attempts" in str(stopping)


def test_the_rule_hears_cases_in_the_order_of_the_seed_however_long_they_take():
    async def slow(inputs):
        await asyncio.sleep(0.002 if inputs % 3 else 0)
        return inputs

    rules = []
    for concurrency in (1, 16):
        rules.append(After(25))
        numbers(40).evaluate_sync(
            slow, stop_when=rules[-1], seed=3, max_concurrency=concurrency, progress=False
        )
    assert rules[0].heard == rules[1].heard
    assert rules[0].heard != sorted(rules[0].heard, key=lambda name: int(name.split()[1]))


def test_the_report_is_in_the_order_of_the_dataset():
    report = numbers(30).evaluate_sync(
        lambda inputs: inputs, stop_when=lambda _: None, seed=3, progress=False
    )
    assert [case.inputs for case in report.cases] == list(range(30))
    assert (report.stopping.why, report.stopping.heard, report.stopping.saved) == (None, 30, 0)
    assert str(report.stopping) == "not decided after 30 of 30 attempts"
    assert numbers(3).evaluate_sync(lambda inputs: inputs, progress=False).stopping is None


def test_failed_tasks_are_heard_of_too():
    rule = After(100)
    report = numbers(10).evaluate_sync(
        lambda inputs: 1 // (inputs % 2), stop_when=rule, seed=1, progress=False
    )
    assert len(rule.heard) == 10
    assert len(report.failures) == 5


def test_a_rule_that_fails_ends_the_run_with_the_reason():
    report = numbers(50).evaluate_sync(
        lambda inputs: inputs, stop_when=lambda record: 1 // 0, progress=False, seed=1
    )
    assert "stop_when failed" in str(report.incomplete)
    assert report.cases


def test_a_stored_run_remembers_what_the_rule_said(tmp_path):
    store = tmp_path / "runs.db"
    report = numbers(60).evaluate_sync(
        lambda inputs: inputs, stop_when=After(10), seed=2, store=store, progress=False
    )
    from calipers.stores import open_store

    with open_store(store) as opened:
        kept = opened.report(opened.run("latest").id)
        assert opened.run("latest").status == "finished"
    assert kept.stopping == report.stopping
    assert len(kept.cases) == len(report.cases)


@pytest.mark.parametrize("rule", [3, "stop"])
def test_a_rule_must_be_callable_and_the_cases_a_list(rule):
    with pytest.raises(InvalidOptionError, match="stop_when"):
        numbers(3).evaluate_sync(lambda inputs: inputs, stop_when=rule, progress=False)
    lazy = Dataset(cases=(Case(inputs=number) for number in range(3)))
    with pytest.raises(InvalidOptionError, match="random order"):
        lazy.evaluate_sync(lambda inputs: inputs, stop_when=lambda _: None, progress=False)
