"""Logs of Inspect AI; `tests/samples/inspect_log.*` are one log of a task with a tool, written by it in both formats."""

import copy
import json
from pathlib import Path

import pytest

from calipers.data.result import EvalVerdict
from calipers.errors import ReportFormatError
from calipers.exchange import import_run
from calipers.exchange.inspect_log import is_inspect_log, read_log

DATA = Path(__file__).parents[1] / "samples" / "inspect_log.json"
WRITTEN = json.loads(DATA.read_bytes())


@pytest.fixture
def report(store):
    return store.report(import_run(DATA, store).run.id)


@pytest.fixture
def written():
    return copy.deepcopy(WRITTEN)


def records_of(log):
    return [found.record for found in read_log(log, "it").attempts()]


def sample_of(log, name="one", epoch=1):
    return next(s for s in log["samples"] if (s["id"], s["epoch"]) == (name, epoch))


def test_the_run_is_what_it_was(store, report):
    (run,) = store.runs()
    assert (run.name, run.task_name, run.repeat, run.total, run.status) == ("sums", "sums", 2, 4, "finished")
    assert run.parameters["model"] == "mockllm/model"
    assert run.environment["made_by"] == "inspect_ai"
    assert run.git is None, "it is not that of this repository"
    assert report.metadata["note"] == "made for a test"
    assert report.metadata["inspect_ai"]["eval"]["tags"] == ["tiny"]
    assert report.metadata["inspect_ai"]["results"]["total_samples"] == 4
    assert report.started_at == WRITTEN["stats"]["started_at"]
    assert report.incomplete is None


def test_samples_are_attempts_in_the_order_of_the_dataset(report):
    assert [case.name for case in report.cases] == ["one [1/2]", "one [2/2]"]
    case = report.cases[0]
    assert (case.source_case_name, case.inputs, case.expected_output, case.output) == (
        "one",
        "What is 1+1?",
        "2",
        "2",
    )
    assert case.metadata["level"] == 1
    assert case.metrics == {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30}
    assert case.task_duration > 0
    assert report.counts().attempts == 4


def test_scores_are_results(report):
    case = report.cases[0]
    match = case.assertions["match"]
    assert (match.value, match.verdict, match.score, match.reason) == (True, EvalVerdict.PASS, 1.0, "2")
    assert match.metadata == {"answer": "2", "value": "C"}
    assert case.scores["facets.short"].value == 1.0
    assert case.assertions["facets.kind"].evaluator == "facets"


def test_a_sample_with_an_error_is_a_task_that_failed(report):
    failed = report.failures[0]
    assert (failed.name, failed.error_type, failed.error_message) == (
        "boom [1/2]",
        "RuntimeError",
        "RuntimeError: no answer",
    )
    assert failed.not_run == ("match", "facets")
    assert failed.expected_output == ["2", "3"]


@pytest.mark.parametrize(
    ("value", "name", "kind", "expected"),
    [
        ("C", "match", "assertion", True),
        ("I", "match", "assertion", False),
        ("P", "match", "assertion", False),
        ("N", "match", "assertion", False),
        ("maybe", "match", "label", "maybe"),
        (True, "match", "assertion", True),
        (0, "match", "score", 0),
        (0.5, "match", "score", 0.5),
        ([1, "C"], "match.1", "score", 1),
        ({"a": 2}, "match.a", "score", 2),
    ],
)
def test_what_a_score_becomes(written, value, name, kind, expected):
    sample_of(written)["scores"]["match"]["value"] = value
    (found,) = [result for result in records_of(written)[0].results if result.name == name]
    assert (found.kind, found.value, found.evaluator) == (kind, expected, "match")


@pytest.mark.parametrize("value", [None, float("nan"), {"a": None}, 10**400, [[1]]])
def test_a_score_without_a_value_is_skipped(written, value):
    sample_of(written)["scores"]["match"]["value"] = value
    found = read_log(written, "it")
    (skip,) = next(found.attempts()).record.skipped
    assert skip.evaluator == "match"


def test_why_there_is_no_value_is_told_whole(written):
    sample_of(written)["scores"]["match"].update(value=float("nan"), reason="parse", explanation="no grade")
    (skip,) = records_of(written)[0].skipped
    assert skip.reason == "parse: no grade"


def test_a_scorer_without_a_score_is_skipped(written):
    del sample_of(written)["scores"]["facets"]
    (skip,) = records_of(written)[0].skipped
    assert (skip.name, skip.reason) == ("facets", "the log has no score of it")


def test_scores_of_a_failed_sample_are_kept_and_told(written):
    sample = sample_of(written)
    sample["error"] = {"message": "out of luck", "traceback": "t"}
    found = read_log(written, "it")
    record = next(found.attempts()).record
    assert (record.error_type, record.error_message) == ("Exception", "out of luck")
    assert record.metadata["scores"]["match"]["value"] == "C"
    assert [note for note in found.notes if note.startswith("scores of samples")]


def test_what_has_no_place_is_kept_and_what_is_left_out_is_told(written):
    sample = sample_of(written)
    sample["store"] = {"seen": 3}
    sample["choices"] = ["a", "b"]
    sample["limit"] = {"type": "token", "limit": 5}
    found = read_log(written, "it")
    metadata = next(found.attempts()).record.metadata
    assert metadata["level"] == 1
    kept = metadata["inspect_ai"]
    assert (kept["store"], kept["choices"], kept["limit"]["type"]) == ({"seen": 3}, ["a", "b"], "token")
    assert list(found.notes) == ["events other than requests to models and calls of tools are left out"]


def test_what_a_sample_keeps_under_a_hash_is_put_back(written):
    sample = sample_of(written)
    sample["attachments"] = {"abc": "a long text"}
    sample["input"] = "attachment://abc"
    sample["messages"][0]["content"] = "attachment://abc"
    sample["output"]["completion"] = "attachment://unknown"
    record = records_of(written)[0]
    assert (record.inputs, record.trace.turns[0].content) == ("a long text", "a long text")
    assert record.output == "attachment://unknown"


def test_a_log_of_one_epoch_has_no_repeats(written):
    written["eval"]["config"]["epochs"] = 1
    written["samples"] = [sample_of(written)]
    (record,) = records_of(written)
    assert (record.name, record.source_case_name) == ("one", None)


@pytest.mark.parametrize(
    ("status", "kept"), [("cancelled", "interrupted"), ("started", "interrupted"), ("error", "failed")]
)
def test_a_log_that_did_not_come_to_its_end_is_incomplete(store, written, tmp_path, status, kept):
    written["status"] = status
    written["error"] = {"message": "out of memory"}
    (tmp_path / "log.json").write_text(json.dumps(written), encoding="utf-8")
    run = import_run(tmp_path / "log.json", store).run
    assert run.status == kept
    assert str(store.report(run.id).incomplete) == f"the log has the status '{status}': out of memory"


def test_a_log_that_lacks_samples_says_so(store, written, tmp_path):
    written["samples"].pop()
    (tmp_path / "log.json").write_text(json.dumps(written), encoding="utf-8")
    run = import_run(tmp_path / "log.json", store).run
    assert str(store.report(run.id).incomplete) == "the file holds 3 of 4 attempts"


def test_a_commit_that_the_log_names_is_kept(written):
    written["eval"]["revision"] = {"type": "git", "origin": "o", "commit": "abc", "dirty": True}
    assert read_log(written, "it").info.git.commit == "abc"


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("eval", "task"), None, r"it is damaged: .*\$\.eval\.task"),
        (("samples",), [], "has no samples.*log_samples=False"),
        (("samples",), {"a": 1}, "its samples are no list"),
        (("samples", 0, "id"), None, r"samples\[0\] in it is damaged: .*\$\.id"),
        (("samples", 1), "no", r"samples\[1\] in it is damaged"),
        (("samples", 0, "scores"), {"match": {}}, r"samples\[0\] in it is damaged: .*value"),
    ],
)
def test_damage_is_told_with_its_place(written, place, value, says):
    inner = written
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(ReportFormatError, match=says):
        records_of(written)


def test_logs_are_told_from_other_documents():
    assert is_inspect_log(WRITTEN)
    assert not is_inspect_log({"eval": "x", "status": "y"})
    assert not is_inspect_log([WRITTEN])
