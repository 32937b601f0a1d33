"""Running many rollouts: seeds, environments, failures."""

import asyncio
import threading
import time

import numpy as np
import pytest

from calipers.data.retry import Retry
from calipers.errors import InvalidOptionError, InvalidOutputError, RolloutError
from calipers.rollouts import Evaluator, Graph, GraphMetrics, MeasuredRollouts, Node
from calipers.rollouts.rollout_run import planned_seeds


def graph(seed, turns=1):
    return Graph(str(seed), [Node(str(seed), "a", f"to {seed}", 1.0, [])] * turns)


class Env:
    def eval_rollout(self, seed=None):
        return graph(seed)


class Responses(Evaluator):
    """The response of each rollout, in the order of the seeds."""

    def compute_metrics(self, g):
        return GraphMetrics(
            overall={"turns": len(g.children)}, per_turn=[{"said": n.response} for n in g.children]
        )

    def aggregate_metrics(self, all_metrics):
        return [metrics.per_turn[0]["said"] for metrics in all_metrics]


def responses(env, seeds=None, n=None, **options):
    evaluator = Responses(env, seeds)
    return evaluator.evaluate(n, progress=False, **options), evaluator


# ---------------------------------------------------------------------- seeds


@pytest.mark.parametrize(
    ("seeds", "n", "planned"),
    [
        (None, 3, [0, 1, 2]),
        (["a", "b", "c"], None, ["a", "b", "c"]),
        (["a", "b", "c"], 2, ["a", "b"]),
        ([0], 1, [0]),
        ([None, None], None, [None, None]),
        (range(4), 2, [0, 1]),
        (("a",), np.int64(1), ["a"]),
    ],
)
def test_the_seeds_of_a_run_are_the_first_or_all_and_else_the_integers_from_zero(seeds, n, planned):
    assert planned_seeds(seeds, n) == planned


def test_a_number_of_numpy_is_a_number_of_python_to_the_environment():
    assert [type(seed) for seed in planned_seeds(np.arange(2), None)] == [int, int]


@pytest.mark.parametrize(
    ("seeds", "n", "says"),
    [
        (None, None, "how many rollouts"),
        (None, 0, "n_rollouts must be a whole number from 1, or None, got 0"),
        (None, -1, "got -1"),
        (None, True, "got True"),
        (None, 2.5, "got 2.5"),
        (None, "3", "got '3'"),
        ([], None, "there are no seeds"),
        ([], 1, "there are no seeds"),
        (["a"], 2, "2 rollouts need as many seeds, got 1"),
        ("abc", None, "seeds must be a list, with one seed per rollout, got 'abc'"),
        ({"a"}, None, "seeds must be a list"),
        (5, None, "seeds must be a list"),
    ],
)
def test_nothing_to_roll_out_and_more_than_there_are_seeds_are_errors(seeds, n, says):
    with pytest.raises(ValueError, match=says):
        planned_seeds(seeds, n)


# ---------------------------------------------------------------------- environments


class Keyword:
    def eval_rollout(self, *, seed):
        return graph(seed)


class OnlyRollout:
    def rollout(self, seed):
        return graph(seed)


class Async:
    async def eval_rollout(self, seed=None):
        await asyncio.sleep(0)
        return graph(seed)


class Twin(Env):
    def eval_rollout(self, seed=None):
        raise AssertionError("there is an async twin")

    async def eval_rollout_async(self, seed=None):
        return graph(seed)


class OwnSay(Twin):
    def eval_rollout(self, seed=None):
        return graph(seed)

    async def rollout_async(self, seed=None):
        raise AssertionError("eval_rollout is for measuring")


class Awaitable:
    def eval_rollout(self, seed=None):
        async def later():
            return graph(seed)

        return later()


@pytest.mark.parametrize("env", [Env, Keyword, OnlyRollout, Async, Twin, OwnSay, Awaitable])
def test_an_environment_may_be_sync_or_async_and_have_either_method(env):
    assert responses(env(), n=3)[0] == ["to 0", "to 1", "to 2"]


@pytest.mark.parametrize("env", [None, object(), Env, 5], ids=["None", "object", "class", "5"])
def test_what_is_no_environment_is_refused_before_anything_runs(env):
    with pytest.raises(InvalidOptionError, match=r"has a method eval_rollout\(seed\) or rollout\(seed\)"):
        responses(env, n=1)


def test_rollouts_run_side_by_side_and_stay_in_the_order_of_their_seeds():
    together = threading.Barrier(4)

    class Waits:
        def eval_rollout(self, seed):
            together.wait(timeout=20)  # breaks unless four rollouts are under way at once
            return graph(seed)

    assert responses(Waits(), n=8, max_concurrency=4)[0] == [f"to {seed}" for seed in range(8)]


def test_one_at_a_time_is_one_at_a_time():
    busy, most = [0], [0]

    class Counts:
        async def rollout(self, seed):
            busy[0] += 1
            most[0] = max(most[0], busy[0])
            await asyncio.sleep(0)
            busy[0] -= 1
            return graph(seed)

    responses(Counts(), n=5, max_concurrency=1)
    assert most == [1]


def test_a_rollout_learns_its_seed_unless_it_knows_one():
    class Knows:
        def eval_rollout(self, seed):
            return Graph("", [Node("", "a", "r", 0.0, [])], seed="own" if seed else None)

    _, evaluator = responses(Knows(), n=2)
    assert [case.output.seed for case in evaluator.report.cases] == [0, "own"]
    assert [metrics.seed for metrics in evaluator.metrics] == [0, 1]


# ---------------------------------------------------------------------- failures


class Breaks:
    """Some seeds break the rollout, some give no rollout, and some break off."""

    def eval_rollout(self, seed):
        if seed == 1:
            raise ConnectionError("the target hung up")
        if seed == 2:
            return "no tree"
        if seed == 3:
            raise RolloutError("the tester gave up", graph=graph(3))
        return graph(seed)


class Unlucky(Responses):
    def compute_metrics(self, g):
        if g.context == "4":
            raise ZeroDivisionError("no turns")
        return super().compute_metrics(g)


def test_a_failing_rollout_is_recorded_with_its_seed_and_ends_no_other():
    evaluator = Unlucky(Breaks())
    assert evaluator.evaluate(6, progress=False) == ["to 0", "to 5"]
    assert [(f.seed, f.error_type, f.stage) for f in evaluator.failures] == [
        (1, "ConnectionError", "rollout"),
        (2, "InvalidRolloutError", "rollout"),
        (3, "RolloutError", "rollout"),
        (4, "ZeroDivisionError", "metrics"),
    ]
    assert str(evaluator.failures[0]) == "seed 1, rollout: ConnectionError: the target hung up"
    assert "got 'no tree'" in evaluator.failures[1].error_message
    assert [f.graph and f.graph.context for f in evaluator.failures] == [None, None, "3", "4"]
    assert (len(evaluator.report.cases), len(evaluator.report.failures)) == (3, 3)


def test_the_aggregation_knows_what_is_missing_from_the_metrics():
    class Counting(Unlucky):
        def aggregate_metrics(self, all_metrics):
            assert isinstance(all_metrics, MeasuredRollouts)
            return {"measured": len(all_metrics), "planned": all_metrics.planned, **all_metrics.missing()}

    assert Counting(Breaks()).evaluate(6, progress=False) == {"measured": 2, "planned": 6, "n_failed": 4}
    assert Counting(Env()).evaluate(2, progress=False) == {"measured": 2, "planned": 2}


def test_if_every_rollout_fails_there_is_no_success_to_report():
    class Dead:
        def eval_rollout(self, seed):
            raise ConnectionError(f"no server for {seed}")

    evaluator = Responses(Dead())
    with pytest.raises(RolloutError) as caught:
        evaluator.evaluate(5, progress=False)
    assert str(caught.value).splitlines() == [
        "none of 5 rollouts could be measured:",
        "  seed 0, rollout: ConnectionError: no server for 0",
        "  seed 1, rollout: ConnectionError: no server for 1",
        "  seed 2, rollout: ConnectionError: no server for 2",
        "  and 2 more",
    ]
    assert len(evaluator.failures) == len(evaluator.report.failures) == 5


def test_a_rollout_that_takes_too_long_is_a_failure():
    class Slow:
        async def rollout(self, seed):
            await asyncio.sleep(60 if seed == 1 else 0)
            return graph(seed)

    found, evaluator = responses(Slow(), n=2, rollout_timeout=0.2)
    assert found == ["to 0"]
    assert [(f.seed, f.error_type) for f in evaluator.failures] == [(1, "AttemptTimeoutError")]


def test_measuring_that_takes_too_long_is_a_failure():
    class Slow(Responses):
        def compute_metrics(self, g):
            if g.context == "1":
                time.sleep(1)
            return super().compute_metrics(g)

    evaluator = Slow(Env())
    assert evaluator.evaluate(2, progress=False, metrics_timeout=0.3) == ["to 0"]
    assert [(f.seed, f.stage) for f in evaluator.failures] == [(1, "metrics")]


def test_a_rollout_may_be_tried_again():
    tried = []

    class Flaky:
        def eval_rollout(self, seed):
            tried.append(seed)
            if tried.count(seed) == 1:
                raise ConnectionError
            return graph(seed)

    assert responses(Flaky(), n=1, retry=Retry(attempts=2, backoff=0))[0] == ["to 0"]
    assert tried == [0, 0]


def test_a_failure_does_not_show_the_turns_of_an_earlier_try():
    class Worse:
        tries = 0

        def eval_rollout(self, seed):
            self.tries += 1
            if self.tries == 1:
                raise RolloutError("broke off", graph=graph(seed))
            raise ConnectionError

    evaluator = Responses(Worse())
    with pytest.raises(RolloutError):
        evaluator.evaluate(1, progress=False, retry=Retry(attempts=2, backoff=0))
    (failure,) = evaluator.failures
    assert (failure.error_type, failure.graph) == ("ConnectionError", None)


def test_what_cannot_be_combined_is_raised_and_the_run_is_kept():
    class Wrong(Responses):
        def aggregate_metrics(self, all_metrics):
            raise KeyError("no such metric")

    evaluator = Wrong(Env())
    with pytest.raises(KeyError, match="no such metric"):
        evaluator.evaluate(2, progress=False)
    assert len(evaluator.metrics) == len(evaluator.report.cases) == 2


def test_metrics_without_overall_and_per_turn_are_refused():
    class Bare(Responses):
        def compute_metrics(self, g):
            return {"turns": 1}

    with pytest.raises(InvalidOutputError, match="no metrics object with `overall` and `per_turn`"):
        Bare(Env()).evaluate(2, progress=False)


def test_a_stored_run_goes_on_where_it_was_and_combines_all_of_it(tmp_path):
    working = tmp_path / "working"
    rolled = []

    class Starts:
        """Is up once a file is there, so that it is the same environment before and after."""

        def eval_rollout(self, seed):
            rolled.append(seed)
            if seed == 1 and not working.exists():
                raise ConnectionError("not yet")
            return graph(seed)

    store = tmp_path / "runs.db"
    first, evaluator = responses(Starts(), n=3, store=store)
    assert (first, [f.seed for f in evaluator.failures]) == (["to 0", "to 2"], [1])
    working.touch()
    rolled.clear()
    again, evaluator = responses(Starts(), n=3, store=store, resume="latest", rerun_failed=True)
    assert (again, rolled) == (["to 0", "to 1", "to 2"], [1])
    assert [metrics.seed for metrics in evaluator.metrics] == [0, 1, 2]
    assert not evaluator.failures


def test_of_a_stored_run_no_finished_rollout_passes_for_one_that_was_not_run(tmp_path):
    class OnlyFirst(Responses):
        """Has nothing to say of most rollouts."""

        def compute_metrics(self, g):
            return GraphMetrics({"first": 1 if g.context == "0" else None}, per_turn=[])

        def aggregate_metrics(self, all_metrics):
            return len(all_metrics)

    assert OnlyFirst(Env()).evaluate(3, progress=False, store=tmp_path / "runs.db") == 3
    again = OnlyFirst(Env())
    measured = again.evaluate(3, progress=False, store=tmp_path / "runs.db", reuse=True)
    assert measured + len(again.failures) == 3
    assert again.metrics.not_run == 0


def test_ctrl_c_keeps_what_is_done_and_says_what_is_not():
    import signal

    class Interrupted:
        async def rollout(self, seed):
            if seed == 1:
                signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60 if seed else 0)
            return graph(seed)

    evaluator = Responses(Interrupted())
    assert evaluator.evaluate(3, progress=False, max_concurrency=1) == ["to 0"]
    assert evaluator.metrics.missing() == {"n_not_run": 2}
    assert str(evaluator.report.incomplete).startswith("interrupted by Ctrl-C")


def test_ctrl_c_before_the_first_rollout_is_done_is_no_result():
    import signal

    class Interrupted:
        async def rollout(self, seed):
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        Responses(Interrupted()).evaluate(3, progress=False, max_concurrency=1)


@pytest.mark.parametrize(
    ("seeds", "names"),
    [
        ([0, 1, 0], ["seed 0", "seed 1", "seed 0_2"]),
        (["hi", "hi", ""], ["hi", "hi_2", "(nothing)"]),
        (["x" * 100, None], ["x" * 60 + "…", "seed None"]),
        ([("a", 1)], ["seed ('a', 1)"]),
    ],
)
def test_each_rollout_has_a_name_of_its_own_in_the_report(seeds, names):
    _, evaluator = responses(Env(), seeds)
    assert [case.name for case in evaluator.report.cases] == names
