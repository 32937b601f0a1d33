import pytest

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation
from calipers.report.report import Report


def attempt(
    name,
    *,
    repeat=None,
    inputs=None,
    version=None,
    arguments=None,
    lost=(),
    skipped=(),
    error=None,
    cluster=None,
    seconds=1.0,
    metrics=None,
    metadata=None,
    expected=None,
    has_expected=False,
    **values,
):
    """One attempt at a case: keyword arguments that are left are results by name.

    `lost` evaluators did not finish; `skipped` ones did not apply.
    """
    shared = {
        "name": name if repeat is None else f"{name} [{repeat}]",
        "source_case_name": None if repeat is None else name,
        "inputs": name if inputs is None else inputs,
        "metadata": metadata,
        "expected_output": expected,
        "has_expected_output": has_expected,
        "cluster": cluster,
    }
    if error is not None:
        not_run = tuple(values) or ("ok",)
        return ReportCaseFailure(**shared, error_type=error, error_message=f"{error}: no", not_run=not_run)
    results = tuple(
        EvaluationResult(
            name=key,
            value=value,
            evaluator=key,
            source=EvaluatorSpec(key, arguments or {}),
            evaluator_version=version,
        )
        for key, value in values.items()
        if key not in lost
    )
    failures = tuple(
        EvaluatorFailure(
            name=key, error_type="TimeoutError", error_message="TimeoutError: slow", source=EvaluatorSpec(key)
        )
        for key in lost
    )
    return ReportCase(
        **shared,
        output=None,
        metrics=metrics or {},
        attributes={},
        results=results,
        evaluator_failures=failures,
        skipped=tuple(SkippedEvaluation(each, "does not apply") for each in skipped),
        task_duration=seconds,
        total_duration=seconds,
    )


def report_of(attempts, *, name="run", **fields):
    """A report of these attempts."""
    attempts = list(attempts)
    return Report(
        name=name,
        cases=[each for each in attempts if isinstance(each, ReportCase)],
        failures=[each for each in attempts if isinstance(each, ReportCaseFailure)],
        **fields,
    )


def judged_report(cases, *, name="run", **fields):
    """A report whose cases are given as the passes of their attempts, by the assertion `ok`."""
    return report_of(
        (
            attempt(f"case {number}", repeat=place if len(passes) > 1 else None, ok=bool(passed), **fields)
            for number, passes in enumerate(cases)
            for place, passed in enumerate(passes, start=1)
        ),
        name=name,
    )


@pytest.fixture(scope="session", name="attempt")
def _attempt():
    return attempt


@pytest.fixture(scope="session", name="report_of")
def _report_of():
    return report_of


@pytest.fixture(scope="session", name="judged_report")
def _judged_report():
    return judged_report
