"""What a report keeps of one attempt."""

import pytest

from calipers import EvaluationResult, EvaluatorFailure, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluatorSpec, SkippedEvaluation

SOURCE = EvaluatorSpec("X")


def record(*values, failures=0, skipped=()):
    results = tuple(
        EvaluationResult(name=f"r{i}", value=value, evaluator=f"r{i}", source=SOURCE)
        for i, value in enumerate(values)
    )
    broken = EvaluatorFailure(name="b", error_type="ValueError", error_message="ValueError: x", source=SOURCE)
    return ReportCase(
        name="c",
        inputs=1,
        metadata=None,
        expected_output=None,
        output=1,
        metrics={},
        attributes={},
        results=results,
        evaluator_failures=(broken,) * failures,
        skipped=skipped,
        task_duration=0.1,
        total_duration=0.2,
    )


def test_results_are_seen_by_kind_and_together_they_are_all_of_them():
    case = record(True, 1, "a", False, 0, 0.5, "")
    assert {name: r.value for name, r in case.assertions.items()} == {"r0": True, "r3": False}
    assert {name: r.value for name, r in case.scores.items()} == {"r1": 1, "r4": 0, "r5": 0.5}
    assert {name: r.value for name, r in case.labels.items()} == {"r2": "a", "r6": ""}
    assert sorted([*case.assertions, *case.scores, *case.labels]) == sorted(r.name for r in case.results)


@pytest.mark.parametrize(
    ("case", "passed"),
    [
        (record(True), True),
        (record(True, True, 0.0, "bad"), True),
        (record(True, False), False),
        (record(False), False),
        # Nothing vacuous passes.
        (record(), None),
        (record(1, 1.0, "good"), None),
        (record(skipped=(SkippedEvaluation("s", "not here"),)), None),
        (record(True, skipped=(SkippedEvaluation("s", "not here"),)), True),
        # An evaluator that crashed might have said no.
        (record(True, failures=1), False),
        (record(failures=1), False),
        (record(0.5, failures=2), False),
    ],
)
def test_an_attempt_passes_if_every_assertion_held_and_every_evaluator_finished(case, passed):
    assert case.passed is passed


def test_an_attempt_whose_task_failed_never_passes():
    failure = ReportCaseFailure(
        name="c", inputs=1, metadata=None, expected_output=None, error_type="E", error_message="E: x"
    )
    assert failure.passed is False
