"""Records made by hand, so that every number on the page is known."""

from typing import Any

import pytest

from calipers import Report, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation


class Records:
    @staticmethod
    def result(name: str, value: Any, reason: str | None = None, **fields: Any) -> EvaluationResult:
        fields = {"evaluator": name, "source": EvaluatorSpec(name)} | fields
        return EvaluationResult(name=name, value=value, reason=reason, **fields)

    @staticmethod
    def broken(name: str, message: str, stack: str = "") -> EvaluatorFailure:
        return EvaluatorFailure(
            name=name,
            error_type=message.partition(":")[0],
            error_message=message,
            error_stacktrace=stack,
            source=EvaluatorSpec(name),
        )

    @staticmethod
    def skip(name: str, reason: str = "does not apply") -> SkippedEvaluation:
        return SkippedEvaluation(name, reason)

    @staticmethod
    def case(name: str, *results: EvaluationResult, **fields: Any) -> ReportCase:
        known = {
            "inputs": f"question {name}",
            "metadata": None,
            "expected_output": None,
            "output": f"answer {name}",
            "metrics": {},
            "attributes": {},
            "task_duration": 0.25,
            "total_duration": 0.5,
        }
        return ReportCase(name=name, results=results, **(known | fields))

    @staticmethod
    def failure(name: str, message: str = "ValueError: boom", **fields: Any) -> ReportCaseFailure:
        known = {
            "inputs": f"question {name}",
            "metadata": None,
            "expected_output": None,
            "error_type": message.partition(":")[0],
            "task_duration": 0.25,
        }
        return ReportCaseFailure(name=name, error_message=message, **(known | fields))

    @staticmethod
    def report(*records: ReportCase | ReportCaseFailure, **fields: Any) -> Report:
        known = {"name": "answer", "dataset_name": "capitals", "seed": 7, "duration": 1.5}
        return Report(
            cases=[r for r in records if isinstance(r, ReportCase)],
            failures=[r for r in records if isinstance(r, ReportCaseFailure)],
            **(known | fields),
        )


@pytest.fixture(scope="session")
def records() -> type[Records]:
    return Records
