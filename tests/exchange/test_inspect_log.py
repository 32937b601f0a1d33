"""Logs of Inspect AI; `tests/samples/inspect_log.*` are one log of a task with a tool, written by it in both formats."""

import copy
import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from calipers.data.result import EvalVerdict
from calipers.data.trace import TurnType
from calipers.errors import ReportFormatError
from calipers.exchange import import_run
from calipers.exchange.inspect_log import (
    Sample,
    is_inspect_log,
    read_archive,
    read_inspect_trace,
    read_log,
    usage_of,
)
from calipers.views.jsonl import record_line

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


SAMPLE = Sample(id="s", input="?", uuid="u")


@pytest.fixture
def trace():
    return next(read_log(json.loads(DATA.read_bytes()), "it").attempts()).record.trace


def trace_of(*messages, events=(), output=None):
    return read_inspect_trace(
        msgspec.structs.replace(SAMPLE, messages=list(messages), events=list(events), output=output or {}),
        "some-model",
    )


def test_messages_are_turns_with_tokens_and_times_from_the_events(trace):
    assert [turn.turn_type for turn in trace.turns] == [
        TurnType.USER_MESSAGE,
        TurnType.LLM_CALL,
        TurnType.TOOL_CALL,
        TurnType.LLM_CALL,
    ]
    assert (trace.input_text, trace.output_text, trace.model) == ("What is 1+1?", "2", "mockllm/model")
    assert (trace.total_input_tokens, trace.total_output_tokens) == (20, 10)
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output, call.success) == ("add", {"x": 1, "y": 1}, "2", True)
    assert call.latency_ms > 0
    assert call.timestamp is not None


def test_a_sample_is_the_same_trace_every_time():
    first, second = (
        next(read_log(json.loads(DATA.read_bytes()), "it").attempts()).record.trace for _ in range(2)
    )
    assert (first.trace_id, first.created_at) == (second.trace_id, second.created_at)
    assert [turn.turn_id for turn in first.turns] == [turn.turn_id for turn in second.turns]


def test_without_events_the_messages_are_enough():
    trace = trace_of(
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "image": "…"}]},
        {
            "role": "assistant",
            "content": "wait",
            "tool_calls": [{"id": "1", "function": "f", "arguments": {}}],
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": "",
            "error": {"type": "timeout", "message": "too slow"},
        },
    )
    assert trace.metadata == {"system": ["be kind"]}
    assert trace.turns[0].content == "hi\n[image]"
    assert trace.llm_calls[0].model == "some-model"
    assert (trace.tool_calls[0].success, trace.tool_calls[0].error) == (False, "too slow")
    assert not trace.tokens_measured


def test_requests_of_scorers_are_not_the_agents():
    event = {
        "event": "model",
        "output": {"choices": [{"message": {"id": "of-a-scorer"}}], "usage": {"input_tokens": 9}},
    }
    assert (
        trace_of({"role": "assistant", "id": "mine", "content": "a"}, events=[event]).total_input_tokens == 0
    )


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "assistant", "content": None, "tool_calls": "no"},
        {
            "role": "assistant",
            "content": 3,
            "tool_calls": [None, {}, {"function": 5}, {"function": "f", "arguments": []}],
        },
        {"role": "tool", "content": "answer to no call"},
        {"role": "alien", "content": "?"},
    ],
    ids=["empty", "no calls", "odd calls", "lost answer", "unknown role"],
)
def test_odd_messages_do_not_break_a_trace(message):
    assert trace_of({"role": "user", "content": "hi"}, message).input_text == "hi"


def test_no_messages_no_trace():
    assert trace_of() is None


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], {}),
        ([{"input_tokens": 1, "output_tokens": 0}, {"input_tokens": 2}], {"input_tokens": 3}),
        ([{"input_tokens": None, "total_tokens": "many"}], {}),
    ],
)
def test_tokens_that_were_not_counted_are_left_out(usages, expected):
    assert usage_of(usages) == expected


ARCHIVES = Path(__file__).parents[1] / "samples"
LOG = json.loads((ARCHIVES / "inspect_log.json").read_bytes())


def archive(path, *, compression=zipfile.ZIP_DEFLATED, header="header.json", **changes):
    """The same log as an archive of another kind."""
    with zipfile.ZipFile(path, "w", compression) as file:
        if header:
            file.writestr(header, json.dumps({k: v for k, v in LOG.items() if k != "samples"} | changes))
        for sample in reversed(LOG["samples"]):
            file.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


def lines_of(found):
    return [record_line(attempt.record) for attempt in found.attempts()]


def test_both_formats_of_a_log_are_one_run(store):
    first = import_run(ARCHIVES / "inspect_log.eval", store)
    second = import_run(ARCHIVES / "inspect_log.json", store)
    assert (first.is_new, second.is_new) == (True, False)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_samples_are_read_however_they_are_compressed_and_ordered(tmp_path, compression):
    path = archive(tmp_path / "log.eval", compression=compression)
    assert lines_of(read_archive(path)) == lines_of(read_archive(ARCHIVES / "inspect_log.eval"))


def test_a_log_whose_run_was_killed_is_read_by_its_journal(store, tmp_path):
    path = archive(tmp_path / "log.eval", header="_journal/start.json", status="started")
    run = import_run(path, store).run
    assert (run.attempts, run.status) == (4, "interrupted")
    assert str(store.report(run.id).incomplete) == "the log has the status 'started'"


def test_a_damaged_sample_is_told_by_its_name(store, tmp_path):
    data = bytearray((ARCHIVES / "inspect_log.eval").read_bytes())
    with zipfile.ZipFile(ARCHIVES / "inspect_log.eval") as file:
        info = file.getinfo("samples/one_epoch_1.json")
    middle = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    data[middle] ^= 0xFF
    (tmp_path / "bad.eval").write_bytes(data)
    with pytest.raises(ReportFormatError, match=r"samples/one_epoch_1\.json in .* is damaged"):
        import_run(tmp_path / "bad.eval", store)
    assert store.runs() == []


def test_an_archive_that_was_cut_is_told(store, tmp_path):
    (tmp_path / "cut.eval").write_bytes((ARCHIVES / "inspect_log.eval").read_bytes()[:-200])
    with pytest.raises(ReportFormatError, match="damaged archive"):
        import_run(tmp_path / "cut.eval", store)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.txt": "x"}, r"no log of Inspect AI: it has no header\.json, but \['a\.txt'\]"),
        ({"header.json": "{"}, r"header\.json in .* is not JSON"),
        ({"header.json": "[]", "samples/a_epoch_1.json": "{}"}, "is damaged"),
        ({"header.json": json.dumps({"eval": {"task": "t"}})}, "has no samples"),
        (
            {"header.json": json.dumps({"eval": {"task": "t"}}), "samples/a/b_epoch_x.json": "nonsense"},
            r"samples/a/b_epoch_x\.json in .* is not JSON",
        ),
    ],
    ids=["no log", "no JSON", "no object", "no samples", "no sample"],
)
def test_what_is_no_log_is_refused_with_the_place(store, tmp_path, files, says):
    with zipfile.ZipFile(tmp_path / "file.eval", "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    with pytest.raises(ReportFormatError, match=says):
        import_run(tmp_path / "file.eval", store)
