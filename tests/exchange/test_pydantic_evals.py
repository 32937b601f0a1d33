"""Reports of pydantic_evals; `tests/samples/pydantic_evals_report.json` is what its adapter wrote, with short tracebacks."""

import copy
import json
from pathlib import Path

import pytest

from calipers.errors import ReportFormatError
from calipers.exchange import import_run
from calipers.exchange.pydantic_evals import is_pydantic_evals, read_pydantic_evals

DATA = Path(__file__).parents[1] / "samples" / "pydantic_evals_report.json"
WRITTEN = json.loads(DATA.read_bytes())


@pytest.fixture
def report(store):
    return store.report(import_run(DATA, store).run.id)


@pytest.fixture
def written():
    return copy.deepcopy(WRITTEN)


def records_of(data):
    return [found.record for found in read_pydantic_evals(data, "it").attempts()]


def test_the_run_is_what_it_was(report):
    assert (report.name, report.dataset_name, report.metadata) == ("cities v1", "cities", {"model": "echo"})
    assert [case.name for case in report.cases] == ["paris", "lima"]
    assert report.pass_rate().value == pytest.approx(1 / 3)
    assert report.incomplete is None


def test_results_come_with_their_evaluators_and_reasons(report):
    paris = report.cases[0]
    assert {name: result.value for name, result in paris.assertions.items()} == {
        "EqualsExpected": True,
        "polite": True,
        "Broken": True,
    }
    assert paris.assertions["polite"].reason == "looked for 'thank you'"
    assert {
        r.evaluator for r in (paris.scores["length"], paris.labels["tone"], paris.assertions["polite"])
    } == {"Polite"}
    assert (paris.metrics, paris.attributes) == ({"tokens": 12}, {"route": ["a", "b"]})
    assert (paris.expected_output, paris.has_expected_output) == ({"answer": "Paris. Thank you!"}, True)


def test_failures_of_tasks_and_evaluators_stay_failures(report):
    (failure,) = report.cases[1].evaluator_failures
    assert (failure.name, failure.error_type, failure.error_message) == (
        "Broken",
        "ValueError",
        "ValueError: no judge",
    )
    (failed,) = report.failures
    assert (failed.name, failed.error_type, failed.error_message) == (
        "boom",
        "RuntimeError",
        "RuntimeError: no answer",
    )
    assert failed.error_stacktrace.startswith("Traceback")


def test_one_evaluator_with_other_arguments_is_another(written):
    result = written["cases"][0]["assertions"]["polite"]
    written["cases"][0]["assertions"] = {
        "a": {**result, "name": "a", "source": {"name": "Contains", "arguments": {"value": "x"}}},
        "b": {**result, "name": "b", "source": {"name": "Contains", "arguments": ["y"]}},
        "c": {**result, "name": "c", "source": "Short"},
        "d": {**result, "name": "d", "source": {"Contains": {"value": "x"}}},
    }
    found = {r.name: (r.evaluator, r.source.arguments) for r in records_of(written)[0].results}
    assert {name: found[name] for name in "abcd"} == {
        "a": ("Contains", {"value": "x"}),
        "b": ("Contains_2", {"0": "y"}),
        "c": ("Short", {}),
        "d": ("Contains", {"value": "x"}),
    }


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), 10**400])
def test_a_score_without_a_number_is_a_failure_of_its_evaluator_and_told(written, value):
    written["cases"][0]["scores"]["length"]["value"] = value
    written["cases"][0]["metrics"] = {"tokens": value}
    found = read_pydantic_evals(written, "it")
    case = next(found.attempts()).record
    (failure,) = (each for each in case.evaluator_failures if each.error_type == "InvalidOutputError")
    assert (failure.name, "'length'" in failure.error_message) == ("Polite", True)
    assert case.passed is not True
    assert "length" not in case.scores
    assert case.metrics == {}
    assert len([note for note in found.notes if "'paris'" in note]) == 2


@pytest.mark.parametrize("value", [-1, float("nan"), float("-inf"), None])
def test_a_duration_that_is_none_counts_as_not_told(written, value):
    written["cases"][0]["task_duration"] = written["cases"][0]["total_duration"] = value
    found = read_pydantic_evals(written, "it")
    case = next(found.attempts()).record
    assert (case.task_duration, case.total_duration) == (0.0, 0.0)
    assert [note for note in found.notes if "how long its task took" in note]


def test_what_has_no_place_is_kept_in_the_metadata(written):
    written["trace_id"] = "1f"
    written["new"] = {"a": 1}
    written["cases"][0]["colour"] = "blue"
    written["analyses"] = [
        {"type": "scalar", "title": "Mean", "value": 3, "unit": None, "description": None},
        {"type": "hologram", "title": "?"},
    ]
    found = read_pydantic_evals(written, "it")
    assert found.report.metadata == {
        "model": "echo",
        "pydantic_evals": {
            "trace_id": "1f",
            "analyses": [{"type": "hologram", "title": "?"}],
            "new": {"a": 1},
            "cases": {"paris": {"colour": "blue"}},
        },
    }
    assert [analysis.title for analysis in found.report.analyses] == ["Mean"]
    assert [note for note in found.notes if "hologram" in note]


def test_repeats_are_told_by_the_names_of_the_attempts(written):
    for number, case in enumerate(written["cases"], 1):
        case.update(name=f"city [{number}/2]", source_case_name="city")
    found = read_pydantic_evals(written, "it")
    assert found.report.repeat == 2
    assert [attempt.record.source_case_name for attempt in found.attempts()] == ["city", "city", None]


def test_two_attempts_of_one_name_are_told_apart(written):
    written["cases"][1]["name"] = written["failures"][0]["name"] = "paris"
    found = read_pydantic_evals(written, "it")
    assert [attempt.record.name for attempt in found.attempts()] == ["paris", "paris_2", "paris_3"]
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("name",), 3, r"it is damaged: .*\$\.name"),
        (("cases", 0, "name"), None, r"\$\.cases\[0\]\.name"),
        (("cases", 1, "assertions", "polite", "value"), [1], r"\$\.cases\[1\]\.assertions\[\.\.\.\]\.value"),
        (("failures", 0), "no", r"\$\.failures\[0\]"),
        (("cases", 0, "task_duration"), "slow", r"\$\.cases\[0\]\.task_duration"),
    ],
)
def test_damage_is_told_with_its_place(written, place, value, says):
    inner = written
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(ReportFormatError, match=says):
        read_pydantic_evals(written, "it")


def test_a_report_without_durations_says_so(written):
    del written["cases"][0]["task_duration"]
    found = read_pydantic_evals(written, "it")
    assert next(found.attempts()).record.task_duration == 0.0
    assert [note for note in found.notes if "does not say how long" in note]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (WRITTEN, True),
        ({"name": "x", "cases": WRITTEN["cases"]}, True),
        ({"name": "x", "cases": [{"name": "a", "inputs": 1}]}, False),
        ({"name": "x", "cases": {}, "failures": []}, False),
        ({**WRITTEN, "calipers_report": 1}, False),
        ([], False),
    ],
    ids=["report", "older report", "dataset", "no list", "ours", "list"],
)
def test_reports_are_told_from_other_documents(data, expected):
    assert is_pydantic_evals(data) is expected
