"""The rollout evaluator: two methods to write, and what comes of them."""

import asyncio
import json

import pytest

from calipers import Case, Dataset, Report
from calipers.evaluators import EqualsExpected
from calipers.rollouts import ASTEvaluator, Evaluator, Graph, GraphMetrics, Node
from calipers.views.html import report_html
from calipers.views.markdown import report_markdown
from calipers.views.terminal import report_text


class Env:
    def eval_rollout(self, seed=None):
        return Graph(str(seed), [Node(str(seed), "bad", "bad" if seed else "ok", float(seed), [])])


class Rewards(Evaluator):
    def compute_metrics(self, g):
        rewards = [node.reward for node in g.walk()]
        return GraphMetrics(
            overall={"reward": sum(rewards), "won": sum(rewards) > 0, "rewards": rewards, "never": None},
            per_turn=[{"turn": 1, "reward": reward} for reward in rewards],
        )

    def aggregate_metrics(self, all_metrics):
        return {"total": sum(metrics.overall["reward"] for metrics in all_metrics)}


def test_both_methods_are_to_be_written_and_no_others():
    assert Evaluator.__abstractmethods__ == {"compute_metrics", "aggregate_metrics"}
    with pytest.raises(TypeError, match="abstract"):
        Evaluator(Env())


def test_the_environment_has_two_names():
    env = Env()
    evaluator = Rewards(env, seeds=[1])
    assert evaluator.env is evaluator.sampler is env
    evaluator.sampler = None
    assert (evaluator.env, evaluator.seeds) == (None, [1])
    assert (evaluator.report, evaluator.metrics, evaluator.failures) == (None, None, ())


def test_what_the_last_method_returns_comes_back_as_it_is():
    returned = {"x": object()}

    class Same(Rewards):
        def aggregate_metrics(self, all_metrics):
            return returned

    assert Same(Env()).evaluate(1, progress=False) is returned


def test_both_methods_may_be_async_and_so_may_the_caller():
    class Async(Rewards):
        async def compute_metrics(self, g):
            await asyncio.sleep(0)
            return super().compute_metrics(g)

        async def aggregate_metrics(self, all_metrics):
            await asyncio.sleep(0)
            return super().aggregate_metrics(all_metrics)

    async def main():
        return await Async(Env()).evaluate_async(3, progress=False)

    assert asyncio.run(main()) == Async(Env()).evaluate(3, progress=False) == {"total": 3.0}


def test_evaluate_works_where_an_event_loop_already_runs():
    async def main():
        return Rewards(Env()).evaluate(2, False)

    assert asyncio.run(main()) == {"total": 1.0}


def test_a_subclass_that_makes_itself_needs_no_help():
    class Own(Rewards):
        def __init__(self, env):
            self.env = env
            self.seeds = None

    assert Own(Env()).evaluate(2, progress=False) == {"total": 1.0}


def test_every_run_has_a_report_with_an_interval_for_each_overall_metric():
    evaluator = Rewards(Env())
    evaluator.evaluate(4, progress=False, name="mine", metadata={"model": "m"})
    report = evaluator.report
    assert (report.name, report.dataset_name, report.metadata) == ("mine", "rollouts", {"model": "m"})
    summaries = report.summaries()
    assert set(summaries) == {"reward", "won"}
    assert summaries["reward"].estimate.value == 1.5
    assert summaries["reward"].estimate.interval.low < 1.5
    assert (summaries["won"].kind, summaries["won"].estimate.value) == ("assertion", 0.75)
    assert report.analyses[0].data == {"total": 6.0}
    assert [metrics.overall["rewards"] for metrics in evaluator.metrics] == [[0.0], [1.0], [2.0], [3.0]]


def test_the_progress_is_shown_as_in_any_run():
    seen = []

    class Shown:
        def __init__(self, counts):
            seen.append(counts.total)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            seen.append("done")

    Rewards(Env()).evaluate(3, Shown)
    assert seen == [3, "done"]


# ---------------------------------------------------------------------- in a dataset


class Moderator:
    def moderate(self, texts):
        return [float("bad" in text) for text in texts]


def in_a_dataset(*evaluators):
    dataset = Dataset(
        cases=[Case(name=f"goal {seed}", inputs=seed) for seed in range(4)], evaluators=[*evaluators]
    )
    return dataset.evaluate_sync(Env().eval_rollout, progress=False)


def test_a_rollout_evaluator_judges_the_rollouts_of_a_dataset_without_an_environment():
    def gave_way(graph):
        return any(node.response == "bad" for node in graph.walk())

    report = in_a_dataset(ASTEvaluator(moderator=Moderator()), gave_way, EqualsExpected())
    scores = report.cases[1].scores
    assert (scores["avg_target_toxicity"].value, scores["first_target_toxicity_turn"].value) == (1.0, 1)
    assert report.summaries()["avg_target_toxicity"].estimate.value == 0.75
    assert report.cases[0].assertions["gave_way"].value is False
    (aggregate,) = report.analyses
    assert aggregate.title == "ASTEvaluator"
    assert aggregate.data["summary"]["n_rollouts"] == 4
    assert aggregate.data["summary"]["pct_rollouts_with_target_toxicity/attack_success_rate"] == 0.75


def test_what_it_says_of_all_rollouts_stands_in_every_view():
    report = in_a_dataset(ASTEvaluator(moderator=Moderator()))
    for text in (report_text(report), report_html(report), report_markdown(report)):
        assert "ASTEvaluator" in text
        assert "attack_success_rate" in text
    again = Report.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.analyses == report.analyses
    assert again.cases[1].output["turns"][0]["response"] == "bad"


def test_what_a_model_said_does_no_harm_in_a_page():
    class Hostile(Env):
        def eval_rollout(self, seed=None):
            return Graph("<script>", [Node("", "<img src=x onerror=alert(1)>", "</script>", 0.0, [])])

    evaluator = ASTEvaluator(Hostile(), moderator=Moderator())
    evaluator.evaluate(1, progress=False)
    assert "<img src=x" not in report_html(evaluator.report)
