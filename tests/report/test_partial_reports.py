"""A report that keeps only what failed says the same numbers as one that keeps everything, or says that it cannot."""

import inspect
import math
import re

import pytest

from calipers import Case, Dataset, Report, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.evaluators import ConfusionMatrixEvaluator
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.rollouts.rollout_outcome import rollouts_of
from calipers.stores import open_store, score_again
from calipers.views.junit import report_junit
from calipers.voice.transcripts import transcript_errors

REFUSED = "need every attempt, and this report keeps"


async def agent(inputs: int) -> int:
    increment_eval_metric("cost", inputs / 8)
    if inputs % 5 == 0:
        raise ConnectionRefusedError("down")
    if inputs % 7 == 0:
        raise KeyError("a bug")
    return inputs


def small(output: int) -> bool:
    return output < 20


def share(output: int) -> float:
    return output / 32


def parity(output: int) -> str:
    return "odd" if output % 2 else "even"


class Breaks:
    """A lifecycle whose clean-up fails after each fourth attempt."""

    def __init__(self, case):
        self.case = case

    async def setup(self):
        pass

    async def prepare_context(self, ctx):
        return ctx

    async def teardown(self, result):
        if self.case.inputs % 4 == 0:
            raise RuntimeError("no clean-up")


def ran(**options) -> Report:
    cases = [
        Case(name=f"c{i}", inputs=i, metadata={"level": i % 3}, tags=("odd",) * (i % 2)) for i in range(31)
    ]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[small, share, parity])
    return dataset.evaluate_sync(agent, progress=False, seed=0, lifecycle=Breaks, **options)


QUESTIONS = {
    "averages": lambda report: report.averages(),
    "case_groups": lambda report: [
        (group.name, len(group.runs), len(group.failures)) for group in report.case_groups() or ()
    ],
    "costs": lambda report: report.costs(),
    "counts": lambda report: report.counts(),
    "durations": lambda report: report.durations().count,
    "infrastructure": lambda report: report.infrastructure(),
    "metrics": lambda report: report.metrics(),
    "pass_at_k": lambda report: report.pass_at_k(1),
    "pass_hat_k": lambda report: report.pass_hat_k(1),
    "pass_rate": lambda report: report.pass_rate(),
    "sliced_by": lambda report: report.sliced_by("level").slices(),
    "slices": lambda report: report.slices(),
    "summaries": lambda report: report.summaries(),
    "to_rows": lambda report: [row["name"] for row in report.to_rows()],
    "to_arrow": lambda report: report.to_arrow().num_rows,
    "to_pandas": lambda report: len(report.to_pandas()),
    "to_polars": lambda report: len(report.to_polars()),
    "under_faults": lambda report: report.under_faults(),
    "without_faults": lambda report: report.without_faults().pass_rate(),
    "check_whole": lambda report: report.check_whole("numbers"),
}
"""What a report can be asked."""
OTHERS = {
    "analysis", "came_to_end", "experiment_metadata", "from_dict", "interrupted_by", "keeps_all", "print", "render", "to_dict", "with_totals",
}  # fmt: skip
"""What is no number of its attempts."""


def answer(question, report):
    try:
        return question(report)
    except InvalidOptionError as error:
        return REFUSED if REFUSED in str(error) else error


def test_every_method_of_a_report_is_under_the_law():
    fields = set(Report.__struct_fields__)
    public = {name for name, _ in inspect.getmembers(Report) if not name.startswith("_")} - fields
    assert public == QUESTIONS.keys() | OTHERS


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_report_of_failures_gives_the_same_number_or_an_error(repeat, tmp_path):
    whole = ran(repeat=repeat, store=tmp_path / "runs.db")
    with open_store(tmp_path / "runs.db") as store:
        run = whole.reuse.run
        partial = {
            "keep": ran(repeat=repeat, keep="failed"),
            "stored": store.report(run, keep="failed"),
            "none": store.report(run, keep="none"),
            "scored again": score_again(store, run, evaluators=[parity]),
        }
    counted = whole.with_totals()
    for kind, report in partial.items():
        assert not report.keeps_all, kind
        for name, question in QUESTIONS.items():
            found = answer(question, report)
            assert found in (REFUSED, question(whole)), (kind, name)
            assert question(counted) == question(whole), name
    told = {name for name, question in QUESTIONS.items() if answer(question, partial["keep"]) != REFUSED}
    assert told == {
        "costs",
        "counts",
        "durations",
        "infrastructure",
        "metrics",
        "pass_rate",
        "slices",
        "summaries",
        "under_faults",
        "without_faults",
    }


def test_the_views_of_a_report_of_failures_show_the_same_numbers():
    whole, some = ran(), ran(keep="failed")
    drawn = [
        re.sub(
            r"\d[\d.]* [mµ]?s\b",
            "TIME",
            report.render(include_cases=False, include_durations=False, width=200),
        )
        for report in (whole, some)
    ]
    assert drawn[0].split("Failed tasks")[0] == drawn[1].split("Failed tasks")[0]
    assert "clean-up failed after 8 attempts" in drawn[1]
    assert "Cost " in drawn[1]


def test_what_needs_every_attempt_says_so():
    some = ran(keep="failed", repeat=2)
    ctx = ReportEvaluatorContext(name="r", report=some)
    asked = [
        lambda: ConfusionMatrixEvaluator(predicted_from="output", expected_from="metadata").evaluate(ctx),
        lambda: transcript_errors(some),
        lambda: rollouts_of(some),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match=r"every attempt|kept only some"):
            ask()


def test_a_partial_report_shows_itself_as_such():
    some = ran(keep="failed")
    kept = len(some.cases) + len(some.failures)
    assert repr(some) == f"Report(name='agent', keeps {kept} of 31 attempts)"


def test_junit_tells_no_time_that_only_some_attempts_took():
    some = ran(keep="failed")
    some.duration = None
    assert "<testsuites" in report_junit(some)
    assert 'time="' not in report_junit(some).split("<testcase")[0]


def test_metrics_have_an_interval_that_no_upper_bound_cuts():
    cases = [Case(name=f"c{i}", inputs=i) for i in range(1, 5)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[small])
    cost = dataset.evaluate_sync(agent, progress=False).metrics()["cost"]
    assert cost.value == pytest.approx(2.5 / 8)
    assert cost.interval.method == "t"


def test_metrics_that_no_float_can_average_have_no_mean():
    report = ran()
    report.cases[0].metrics["cost"] = 10**400
    assert report.metrics() == {"cost": None}
    report.cases[0].metrics["cost"] = math.nan
    assert report.metrics() == {"cost": None}
