"""Attempts in other processes of this machine."""

import pytest

from calipers import Case, Dataset
from calipers.engines import ProcessEngine
from calipers.errors import InvalidOptionError, TravelError
from calipers.evaluators import EqualsExpected


@pytest.fixture(scope="module")
def engine():
    with ProcessEngine(2) as engine:
        yield engine


def test_attempts_run_in_other_processes_in_the_order_of_the_dataset(engine):
    dataset = Dataset(
        cases=[Case(inputs=str(number), expected_output=number) for number in range(50)],
        evaluators=[EqualsExpected()],
    )
    report = dataset.evaluate_sync(int, engine=engine, progress=False)
    assert [case.output for case in report.cases] == list(range(50))
    assert report.pass_rate().value == 1


def test_a_task_that_cannot_be_pickled_is_refused_before_the_run_with_the_part():
    lock = open

    def task(inputs):
        return lock

    with pytest.raises(TravelError, match=r"the task 'task' is <function .*task"):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, engine="processes", progress=False)


@pytest.mark.parametrize("value", ["process", "processes:0", "processes:x", "", 3, ProcessEngine])
def test_what_is_no_engine_is_refused(value):
    with pytest.raises(InvalidOptionError, match="engine must be"):
        Dataset(cases=[Case(inputs="1")]).evaluate_sync(int, engine=value, progress=False)
