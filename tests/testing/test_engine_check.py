"""`check_engine` finds what an engine gets wrong."""

import asyncio
import copy
from contextlib import asynccontextmanager

import pytest

from calipers.data.attempt import begin
from calipers.errors import TravelError
from calipers.process.user_code import settled
from calipers.run.task import settle
from calipers.testing import ConformanceError, check_engine


class Here:
    """An engine that calls the task in this process, and does one thing wrong."""

    def __init__(self, wrong=None):
        self.wrong = wrong
        self.opened_before = False

    def check(self, task):
        if hasattr(task.function, "lock") and self.wrong != "takes any task":
            raise TravelError("the task holds a lock")

    @asynccontextmanager
    async def opened(self, job):
        if self.wrong == "opens once" and self.opened_before:
            raise RuntimeError("no more")
        self.opened_before = True
        yield HerePlace(job, self.wrong)


class HerePlace:
    limit = 100

    def __init__(self, job, wrong):
        self.job, self.wrong = job, wrong

    async def room(self):
        pass

    async def call(self, attempt, seconds):
        task = self.job.task
        if self.wrong == "sends a copy":
            attempt.inputs = copy.deepcopy(attempt.inputs)
        try:
            async with asyncio.timeout(None if self.wrong == "forgets the time" else seconds):
                return await self._called(attempt, task, seconds)
        except TimeoutError:
            return False

    async def _called(self, attempt, task, seconds):
        begin(attempt)
        if not task.is_async and seconds is not None and "wait" in attempt.inputs:
            return False
        output, attempt.error = await settled(task.function, attempt.inputs)
        if isinstance(attempt.error, asyncio.CancelledError):
            raise attempt.error
        if isinstance(output, dict) and "lock" in output and self.wrong != "sends anything":
            attempt.error = TravelError("output['lock'] cannot be pickled")
        if attempt.error is None:
            settle(attempt, output)
        if self.wrong == "loses metrics":
            attempt.metrics = {}
        if self.wrong == "loses traces":
            attempt.trace, attempt.recorded = None, []
        return True


def test_an_engine_that_does_what_it_should_is_fine():
    check_engine(Here())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("takes any task", "refusal: a task that holds a lock was not refused; 1 attempts"),
        ("opens once", "again: it raised RuntimeError: no more"),
        (
            "sends anything",
            "travel: an output that cannot be sent back is not the failure of its attempt alone",
        ),
        ("loses metrics", "same: metrics of act"),
        ("loses traces", "same: results of act({'ask': 'word'})"),
    ],
)
def test_each_mistake_is_found(wrong, said):
    with pytest.raises(ConformanceError, match="breaks the contract of an engine") as found:
        check_engine(Here(wrong))
    assert said in str(found.value)


def test_an_engine_that_does_nothing_right_is_told_all_of_it():
    class Nothing(Here):
        @asynccontextmanager
        async def opened(self, job):
            raise RuntimeError("there are no machines")
            yield

    with pytest.raises(ConformanceError) as found:
        check_engine(Nothing())
    assert {finding.rule for finding in found.value.findings} == {"same", "in time", "travel", "again"}
