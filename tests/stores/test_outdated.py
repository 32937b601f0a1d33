"""Analyses of a stored run, once its evaluators have changed."""

from dataclasses import dataclass, field

import pytest

from calipers import Case, Dataset, Evaluator
from calipers.evaluators import ConfusionMatrixEvaluator
from calipers.report.analysis import Aggregate, ScalarResult
from calipers.stores import MemoryStore, score_again
from calipers.stores.rescoring import outdate


def task(inputs):
    return inputs


def labels(limit):
    def label(output):
        return "big" if output > limit else "small"

    return label


def other(output):
    return True


@dataclass
class Flaky(Evaluator):
    down: list[str] = field(default_factory=list, compare=False)
    evaluation_name: str = "flaky"

    def evaluate(self, ctx):
        if self.down:
            raise ValueError("no answer")
        return "big"


flaky = Flaky()


DATASET = Dataset(
    name="d",
    cases=[Case(name=str(n), inputs=n, expected_output="big" if n > 2 else "small") for n in range(6)],
    evaluators=[labels(4), flaky],
    report_evaluators=[
        ConfusionMatrixEvaluator(
            predicted_from="labels", predicted_key="label", expected_from="expected_output"
        )
    ],
)


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


def remarks(report):
    return [analysis.remarks for analysis in report.analyses]


def stored_remarks(store):
    return remarks(store.report(store.run("latest").id))


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"evaluators": [labels(2)], "replace": True}, ["made before evaluator label was replaced"]),
        ({"drop": ["label"]}, ["made before evaluator label was dropped"]),
        ({"evaluators": [other]}, ["made before evaluator other was added"]),
        ({"evaluators": [labels(4), flaky]}, []),
    ],
    ids=["replaced", "dropped", "added", "the same"],
)
def test_an_analysis_says_what_happened_to_evaluators_since(store, change, note):
    DATASET.evaluate_sync(task, store=store, progress=False)
    before = store.run("latest")
    report = score_again(store, **change)
    assert remarks(report) == stored_remarks(store) == [note]
    after = store.run("latest")
    assert (after.status, after.ended_at) == (before.status, before.ended_at)


def test_an_analysis_says_that_what_had_failed_was_judged_again(store):
    flaky.down.append("yes")
    DATASET.evaluate_sync(task, store=store, progress=False)
    flaky.down.clear()
    score_again(store, evaluators=[labels(4), flaky])
    assert stored_remarks(store) == [["made before evaluator flaky judged again"]]


def test_each_evaluator_is_named_once_and_the_note_there_was_stays(store):
    report = DATASET.evaluate_sync(task, progress=False)
    report.analyses = [ScalarResult(title="all", value=1.0, note="of six"), Aggregate(title="label", data={})]
    run = store.add_report(report).id
    for change in ("replaced", "dropped"):
        outdate(store, run, ["label"], change)
    assert stored_remarks(store) == [["of six", "made before evaluator label was replaced"]]


def test_what_a_rollout_metric_combined_goes_with_its_evaluator_alone(store):
    report = DATASET.evaluate_sync(task, progress=False)
    report.analyses = [Aggregate(title="label", data={})]
    run = store.add_report(report).id
    outdate(store, run, ["flaky"], "replaced")
    assert stored_remarks(store) == [[]]
    outdate(store, run, ["label"], "replaced")
    assert stored_remarks(store) == []
