"""Claims about a whole report: which class is taken for which, and whether the stated confidence can be believed.

python examples/judge_a_report.py
"""

import random
from typing import Any

from calipers import Case, Dataset, Report, current_attempt
from calipers.evaluators import CalibrationEvaluator, ConfusionMatrixEvaluator, ROCEvaluator
from calipers.report.analysis import TableResult

CLASSES = ("billing", "technical", "other")


def classify(message: dict) -> dict:
    """A classifier that is right 80 % of the time, and surer where it is right."""
    draw = random.Random(current_attempt().seed)
    if draw.random() < 0.8:
        return {"label": message["truth"], "sure": draw.uniform(0.6, 1.0)}
    wrong = draw.choice([name for name in CLASSES if name != message["truth"]])
    return {"label": wrong, "sure": draw.uniform(0.3, 0.9)}


def right(output: dict, expected_output: str) -> bool:
    return output["label"] == expected_output


def sure(output: dict) -> float:
    return output["sure"]


def hardest(report: Report) -> TableResult:
    """A report evaluator of your own: a function of the report."""
    missed = [case for case in report.cases if not case.passed]
    surest = sorted(missed, key=lambda case: -case.scores["sure"].value)[:3]
    rows = [[case.name, case.expected_output, case.output["label"]] for case in surest]
    return TableResult(title="Wrong and sure of it", columns=["message", "expected", "got"], rows=rows)


dataset: Dataset[dict, Any, None] = Dataset(
    name="support messages",
    cases=[
        Case(name=f"message {number}", inputs={"truth": truth}, expected_output=truth)
        for number, truth in enumerate(CLASSES * 20, 1)
    ],
    evaluators=[right, sure],
    report_evaluators=[
        ConfusionMatrixEvaluator(predicted_key="label"),
        ROCEvaluator("sure", positive_from="assertions", positive_key="right"),
        CalibrationEvaluator("sure", positive_from="assertions", positive_key="right", n_bins=5),
        hardest,
    ],
)

if __name__ == "__main__":
    dataset.evaluate_sync(classify, seed=3).print(include_cases=False)
