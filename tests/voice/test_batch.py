"""Many spoken requests judged."""

from calipers.voice.result import BatchResult, EvalResult, SingleRunResult


def runs(*passed):
    return [SingleRunResult("hi", index, EvalResult(ok, [], [])) for index, ok in enumerate(passed)]


def test_the_repr_of_a_batch_is_short_however_many_runs_it_has():
    """`asyncio.run` asks for the repr of what it gives back, twice."""
    assert repr(BatchResult(runs(*[True] * 999, False), None)) == "<BatchResult: 999 of 1000 passed>"


def test_a_run_that_ended_in_an_error_did_not_pass():
    batch = BatchResult(runs(True, True), None)
    batch.runs[1].error = "AgentTimeoutError: too late"
    assert (batch.passed_count, batch.error_count, batch.match_rate, batch.passed) == (1, 1, 0.5, False)
