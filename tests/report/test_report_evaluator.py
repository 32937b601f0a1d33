import asyncio
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from calipers import Case, Dataset, Report
from calipers.errors import NotAnEvaluatorError
from calipers.evaluators import ConfusionMatrixEvaluator, Equals, ReportEvaluator, ReportEvaluatorContext
from calipers.report.analysis import Aggregate, ScalarResult, TableResult
from calipers.report.report_evaluator import as_report_evaluator, check_report_evaluators


def echo(x):
    if x == "boom":
        raise RuntimeError("the task failed")
    return x


def run(*report_evaluators, inputs=(1, 2, 3), evaluators=(), **options):
    dataset = Dataset(
        cases=[Case(inputs=x) for x in inputs],
        evaluators=list(evaluators),
        report_evaluators=list(report_evaluators),
    )
    return dataset.evaluate_sync(echo, progress=False, **options)


@dataclass
class Mean(ReportEvaluator):
    title: str = "mean"

    def evaluate(self, ctx: ReportEvaluatorContext) -> ScalarResult:
        outputs = [case.output for case in ctx.report.cases]
        return ScalarResult(title=self.title, value=sum(outputs) / len(outputs))


@dataclass
class AsyncSize(ReportEvaluator):
    async def evaluate(self, ctx: ReportEvaluatorContext) -> list[ScalarResult | TableResult]:
        await asyncio.sleep(0)
        return [
            ScalarResult(title="size", value=len(ctx.report.cases)),
            TableResult(title="names", columns=["name"], rows=[[case.name] for case in ctx.report.cases]),
        ]


class Bare:
    def evaluate(self, anything):
        return ScalarResult(title="bare", value=len(anything.report.cases))


class TakesReport:
    def evaluate(self, report):
        return ScalarResult(title="bare", value=len(report.cases))


def of_report(report):
    return ScalarResult(title="function", value=len(report.cases))


async def of_context(ctx):
    return ScalarResult(title="async function", value=len(ctx.report.cases))


def of_parts(name, metadata, report, unit="cases"):
    return ScalarResult(title=f"{name} {metadata}", value=len(report.cases), unit=unit)


def scaled(report, factor):
    return ScalarResult(title="scaled", value=factor * len(report.cases))


# ---------------------------------------------------------------------- what they find


def test_one_analysis_is_appended_and_a_list_extends_in_order():
    report = run(Mean(), AsyncSize(), Mean(title="again"))
    assert [analysis.title for analysis in report.analyses] == ["mean", "size", "names", "again"]
    assert report.analyses[0] == ScalarResult(title="mean", value=2.0)
    assert report.report_evaluator_failures == []


def test_an_empty_list_says_that_there_is_nothing_to_report():
    report = run(lambda report: [])
    assert (report.analyses, report.report_evaluator_failures) == ([], [])


@pytest.mark.parametrize(
    "evaluator",
    [
        Bare(),
        TakesReport(),
        of_report,
        of_context,
        of_parts,
        partial(scaled, factor=1),
        lambda report: of_report(report),
    ],
    ids=["object", "object of report", "report", "async ctx", "several", "partial", "lambda"],
)
def test_every_style_is_accepted(evaluator):
    (found,) = run(evaluator).analyses
    assert found.value == 3


def test_the_context_has_the_run_and_what_its_caller_noted():
    seen = []

    def look(ctx):
        seen.append((ctx.name, ctx.metadata, ctx.report.name, len(ctx.report.cases)))
        return []

    run(look, name="trial", metadata={"model": "m"})
    assert seen == [("trial", {"model": "m"}, "trial", 3)]


def test_a_report_evaluator_sees_the_analyses_before_it():
    def count(report):
        return ScalarResult(title="count", value=len(report.analyses))

    report = run(count, AsyncSize(), count)
    assert [a.value for a in report.analyses if a.title == "count"] == [0, 3]


def test_failed_attempts_are_in_the_report_that_they_see():
    def failures(report):
        return ScalarResult(title="failures", value=len(report.failures))

    (found,) = run(failures, inputs=[1, "boom", "boom"]).analyses
    assert found.value == 2


def test_analyses_survive_storing_the_report():
    report = run(Mean(), AsyncSize())
    assert Report.from_dict(report.to_dict()).analyses == report.analyses


# ---------------------------------------------------------------------- failures


def raises(report):
    raise ZeroDivisionError("no cases of this kind")


def exits(report):
    raise SystemExit(1)


class Panic(BaseException):
    pass


def panics(report):
    raise Panic("no more")


async def cancels_itself(report):
    raise asyncio.CancelledError


def returns_nothing(report):
    pass


@pytest.mark.parametrize(
    ("evaluator", "kind", "message"),
    [
        (raises, "ZeroDivisionError", "ZeroDivisionError: no cases of this kind"),
        (exits, "SystemExit", "SystemExit: 1"),
        (panics, "Panic", "Panic: no more"),
        (cancels_itself, "CancelledError", "CancelledError: "),
        (returns_nothing, "InvalidOutputError", "returned None, which is no analysis"),
        (lambda report: 0.5, "InvalidOutputError", "returned 0.5, which is no analysis"),
        (lambda report: ScalarResult(title="x", value=math.nan), "InvalidOutputError", "not finite at value"),
        (lambda report: [of_report(report), "text"], "InvalidOutputError", "returned 'text'"),
    ],
)
def test_a_failure_is_data_and_the_others_still_run(evaluator, kind, message):
    report = run(Mean(), evaluator, of_report)
    assert [analysis.title for analysis in report.analyses] == ["mean", "function"]
    (failure,) = report.report_evaluator_failures
    assert failure.error_type == kind
    assert message in failure.error_message
    assert Report.from_dict(report.to_dict()).report_evaluator_failures == [failure]


def test_a_failure_names_its_evaluator_and_the_arguments_it_had():
    @dataclass
    class Breaks(ReportEvaluator):
        limit: int = 0
        names: list[str] = field(default_factory=list)

        def evaluate(self, ctx):
            raise KeyError("x")

    first, second, third = run(Breaks(limit=3), Breaks(), raises).report_evaluator_failures
    assert (first.name, first.source.name, first.source.arguments) == ("Breaks", "Breaks", {"limit": 3})
    assert (second.name, second.source.arguments) == ("Breaks_2", {})
    assert third.name == "raises"
    assert "KeyError" in first.error_stacktrace


def test_one_added_later_that_is_no_report_evaluator_is_a_failure_of_the_run():
    dataset = Dataset(cases=[Case(inputs=1)])
    dataset.report_evaluators.extend([42, of_report])
    report = dataset.evaluate_sync(echo, progress=False)
    (failure,) = report.report_evaluator_failures
    assert (failure.name, failure.error_type) == ("int", "NotAnEvaluatorError")
    assert len(report.analyses) == 1


def test_cancelling_the_run_cancels_the_report_evaluator():
    async def main():
        entered = asyncio.Event()

        async def waits(report):
            entered.set()
            await asyncio.Event().wait()

        dataset = Dataset(cases=[Case(inputs=1)], report_evaluators=[waits])
        running = asyncio.ensure_future(dataset.evaluate(echo, progress=False))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())


# ---------------------------------------------------------------------- which shapes are accepted


def unknown_parameter(reprot):
    pass


def takes_nothing(*args, **kwargs):
    pass


class TwoParameters:
    def evaluate(self, expected, actual):
        pass


class Metric:
    def compute_metrics(self, graph):
        pass

    def aggregate_metrics(self, all_metrics):
        pass


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (42, "42 is not a report evaluator: it has no evaluate method and cannot be called"),
        (Mean, r"Mean is a class, not a report evaluator: make one with Mean\(...\)"),
        (Equals(1), r"judges single attempts, not a whole report: pass it in evaluators=\[...\]"),
        (Metric(), "judges single attempts"),
        (TwoParameters(), "asks for 'expected', which no report has"),
        (unknown_parameter, r"asks for 'reprot' \(did you mean 'report'\?\)"),
        (takes_nothing, "takes nothing that a report evaluator can look at"),
        (dict.fromkeys, "A report evaluator is:"),
    ],
)
def test_an_object_of_another_shape_is_refused_with_the_reason(wrong, message):
    with pytest.raises(NotAnEvaluatorError, match=message):
        check_report_evaluators([wrong])


@pytest.mark.parametrize("wrong", ["Mean", Mean(), None])
def test_report_evaluators_come_as_a_list(wrong):
    with pytest.raises(NotAnEvaluatorError, match="report_evaluators must be a list"):
        check_report_evaluators(wrong)


def test_those_that_are_right_are_given_back_unchanged():
    good = (Mean(), of_report)
    assert check_report_evaluators(good) == list(good)
    assert as_report_evaluator(good[0]) is good[0]


# ---------------------------------------------------------------------- rollout metrics


@dataclass
class Node:
    children: list[Any] = field(default_factory=list)


@dataclass
class GraphMetrics:
    overall: dict[str, Any]
    per_turn: list[dict[str, Any]]


@dataclass
class Turns:
    """A rollout metric with several overall numbers, so that one rollout makes several results."""

    name: str = "turns"

    def compute_metrics(self, graph):
        turns = len(graph.children)
        if turns == 13:
            raise ValueError("unlucky")
        return GraphMetrics(
            overall={"turns": turns, "long": turns > 1, "first_bad": None}, per_turn=[{}] * turns
        )

    def aggregate_metrics(self, all_metrics):
        assert all(isinstance(m, GraphMetrics) for m in all_metrics)
        return {"n_rollouts": len(all_metrics), "turns": [m.overall["turns"] for m in all_metrics]}


def rollouts(*sizes, evaluators, **options):
    def task(size):
        if size == "boom":
            raise RuntimeError("the environment broke")
        return size if isinstance(size, str) else Node([Node()] * size)

    dataset = Dataset(cases=[Case(inputs=size) for size in sizes], evaluators=evaluators)
    return dataset.evaluate_sync(task, progress=False, **options)


def test_a_rollout_metric_combines_all_rollouts_once_each_in_the_datasets_order():
    report = rollouts(3, 1, 2, evaluators=[Turns()])
    assert report.analyses == [Aggregate(title="turns", data={"n_rollouts": 3, "turns": [3, 1, 2]})]
    assert Report.from_dict(report.to_dict()).analyses == report.analyses


def test_every_attempt_of_a_repeated_rollout_is_combined():
    (found,) = rollouts(3, 1, evaluators=[Turns()], repeat=2).analyses
    assert found.data == {"n_rollouts": 4, "turns": [3, 3, 1, 1]}


def test_two_metrics_have_an_aggregate_each_under_their_own_names():
    report = rollouts(3, evaluators=[Turns(), Turns(), Turns(name="other")])
    assert [analysis.title for analysis in report.analyses] == ["turns", "turns_2", "other"]


def test_what_is_not_in_an_aggregate_is_counted_in_its_note():
    (found,) = rollouts(3, 13, "boom", "no rollout", "no rollout", evaluators=[Turns()]).analyses
    assert found.data == {"n_rollouts": 1, "turns": [3]}
    assert found.note == "4 of 5 attempts are not in it: 2 failed, 2 skipped"


def test_a_rollout_in_which_nothing_happened_counts_in_the_share_of_those_in_which_something_did():
    class FirstLong(Turns):
        def compute_metrics(self, graph):
            return GraphMetrics({"first_long": 1 if len(graph.children) > 1 else None}, per_turn=[])

        def aggregate_metrics(self, all_metrics):
            return {"long": [m.overall["first_long"] is not None for m in all_metrics]}

    report = rollouts(3, 1, evaluators=[FirstLong()])
    assert [analysis.data for analysis in report.analyses] == [{"long": [True, False]}]
    assert report.analyses[0].note is None
    assert "original" not in report.to_dict()["cases"][1]["skipped"][0]


@pytest.mark.parametrize("sizes", [[], ["no rollout"], ["boom"], [13]])
def test_without_a_single_rollout_there_is_no_aggregate(sizes):
    report = rollouts(*sizes, evaluators=[Turns()])
    assert (report.analyses, report.report_evaluator_failures) == ([], [])


def test_a_metric_that_cannot_combine_is_a_failure_under_its_name():
    class Breaks(Turns):
        def aggregate_metrics(self, all_metrics):
            return sum(m.overall["first_bad"] for m in all_metrics)

    report = rollouts(1, 2, evaluators=[Breaks(), Turns(name="fine")])
    assert [analysis.title for analysis in report.analyses] == ["fine"]
    (failure,) = report.report_evaluator_failures
    assert (failure.name, failure.error_type) == ("turns", "TypeError")


def test_a_combination_may_be_async_and_what_is_not_finite_in_it_becomes_none():
    class Later(Turns):
        async def aggregate_metrics(self, all_metrics):
            await asyncio.sleep(0)
            return {"mean": math.nan, "raw": all_metrics}

    (found,) = rollouts(1, evaluators=[Later()]).analyses
    assert found.data["mean"] is None
    assert found.data["raw"] == [
        {"overall": {"turns": 1, "long": False, "first_bad": None}, "per_turn": [{}]}
    ]
    assert "not finite at data.mean" in found.note


def test_metrics_that_are_no_object_cannot_be_combined_and_the_failure_says_so():
    class Plain(Turns):
        def compute_metrics(self, graph):
            return {"turns": len(graph.children)}

    (failure,) = rollouts(1, 2, evaluators=[Plain()]).report_evaluator_failures
    assert "gave 2 attempts no metrics object with `overall` and `per_turn`" in failure.error_message


def test_report_evaluators_see_the_aggregates():
    def rollouts_counted(report):
        return ScalarResult(title="n", value=report.analyses[0].data["n_rollouts"])

    dataset = Dataset(cases=[Case(inputs=1)], evaluators=[Turns()], report_evaluators=[rollouts_counted])
    report = dataset.evaluate_sync(lambda size: Node([Node()] * size), progress=False)
    assert report.analyses[1] == ScalarResult(title="n", value=1)


def test_a_report_evaluator_among_the_evaluators_of_attempts_is_sent_where_it_belongs():
    with pytest.raises(NotAnEvaluatorError, match=r"judges whole reports: put it into report_evaluators"):
        Dataset(cases=[], evaluators=[ConfusionMatrixEvaluator()])
    with pytest.raises(NotAnEvaluatorError, match="42"):
        Dataset(cases=[], report_evaluators=[42])
