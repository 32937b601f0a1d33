"""A report as lines of JSON, written while the run goes on."""

import io
import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report, ToolCall, Trace
from calipers.errors import CalipersError, ReportFormatError
from calipers.evaluators import EqualsExpected
from calipers.report import Incomplete
from calipers.report.analysis import ScalarResult
from calipers.report.summary import tally
from calipers.views.formats import read_report
from calipers.views.jsonl import JsonlWriter, read_jsonl, report_jsonl

TRACE = Trace(output_text="done", tool_calls=[ToolCall("search", {"q": "x"}, output=["hit"], latency_ms=3.5)])
TEXT = st.text(st.characters(exclude_categories=()))


def read(text: str | bytes) -> Report:
    data = text.encode() if isinstance(text, str) else text
    return read_jsonl(io.BytesIO(data), what="it")


def attempts(report: Report):
    return [*report.cases, *report.failures]


def flat(durations):
    """The numbers of durations, with the ends of intervals beside the others."""
    ends = {
        f"{name} {place}": -1 if end is None else end
        for name, value in durations.items()
        if isinstance(value, list)
        for place, end in enumerate(value)
    }
    return {name: value for name, value in durations.items() if not isinstance(value, list)} | ends


def assert_same(written: str, whole: str) -> None:
    """Line by line the same; but a report without its attempts knows times within half a percent only."""
    *lines, last = map(json.loads, written.splitlines())
    *expected, expected_last = map(json.loads, whole.splitlines())
    assert lines == expected
    assert flat(last.pop("durations")) == pytest.approx(flat(expected_last.pop("durations")), rel=0.005)
    assert last == expected_last


@pytest.fixture(scope="module")
def report(records):
    broken = (records.broken("Judge", "ValueError: bad", "Traceback"),)
    return records.report(
        records.case("a", records.result("x", True), records.result("s", 1), cluster="one", trace=TRACE),
        records.case("b", records.result("x", False, "no", score=0.25), records.result("l", "red")),
        records.case("c", records.result("x", True), evaluator_failures=broken, metrics={"tokens": 3}),
        records.case("d", records.result("s", -2.5), skipped=(records.skip("x"),), source_case_name="c"),
        records.failure("e", not_run=("x",), cluster="one", trace=TRACE),
        analyses=[ScalarResult(title="cost", value=1.5)],
        metadata={"commit": "4f2a91c"},
        started_at="2026-01-02T03:04:05+00:00",
    )


def test_the_lines_are_the_beginning_each_attempt_and_the_end(report):
    lines = [json.loads(line) for line in report_jsonl(report).splitlines()]
    assert [next(iter(line)) for line in lines] == ["calipers_report", *["case"] * 4, "failure", "end"]
    assert lines[0]["layout"] == "jsonl"
    assert (lines[0]["name"], lines[0]["seed"], lines[0]["metadata"]) == ("answer", 7, {"commit": "4f2a91c"})
    data = report.to_dict()
    assert [line["case"] for line in lines[1:5]] == data["cases"]
    assert lines[5]["failure"] == data["failures"][0]
    assert [line["passed"] for line in lines[1:6]] == [True, False, False, None, False]


def test_the_last_line_has_the_numbers_of_the_report(report):
    last = json.loads(report_jsonl(report).splitlines()[-1])
    assert last["attempts"] == 5
    assert last["pass_rate"]["value"] == report.pass_rate().value
    assert last["durations"]["count"] == 4
    summaries = report.summaries()
    assert list(last["summaries"]) == list(summaries)
    assert last["summaries"]["x"]["estimate"]["interval"]["low"] == summaries["x"].estimate.interval.low


def test_what_is_written_reads_back_the_same(report):
    again = read(report_jsonl(report))
    assert again.to_dict() == report.to_dict()
    assert again.incomplete is None
    assert report_jsonl(again) == report_jsonl(report)
    assert again.cases[0].trace == again.failures[0].trace == TRACE
    assert again.cases[0].trace.tool_calls[0].output == ["hit"]


@given(names=st.lists(TEXT, max_size=4), value=TEXT, incomplete=st.none() | TEXT)
def test_whatever_the_text_it_reads_back_the_same(records, names, value, incomplete):
    report = records.report(
        *(records.case(name, records.result(name, value, value), inputs={value: [value]}) for name in names),
        *(records.failure(name, value) for name in names),
        name=value,
        incomplete=None if incomplete is None else Incomplete("other", incomplete),
    )
    text = report_jsonl(report)
    assert text.count("\n") == 2 * len(names) + 2, "one line each"
    assert read(text).to_dict() == report.to_dict()


# ---------------------------------------------------------------------- written attempt by attempt


def test_a_file_written_attempt_by_attempt_is_the_same_as_one_written_whole(report, tmp_path):
    path = tmp_path / "new" / "report.jsonl"
    writer = JsonlWriter(path, report)
    for record in attempts(report):
        writer.add(record)
    writer.close(report)
    assert path.read_text(encoding="utf-8") == report_jsonl(report)


def test_a_writer_whose_run_kept_nothing_still_ends_with_the_numbers_of_all(report, tmp_path):
    path = tmp_path / "report.jsonl"
    with JsonlWriter(path, report) as writer:
        for record in attempts(report):
            writer.add(record)
        writer.close(msgspec.structs.replace(report, cases=[], failures=[]))
    assert_same(path.read_text(encoding="utf-8"), report_jsonl(report))


def test_a_writer_needs_to_know_nothing_in_advance(report, tmp_path):
    path = tmp_path / "report.jsonl"
    writer = JsonlWriter(path)
    for record in attempts(report):
        writer.add(record)
    writer.close(report)
    assert read_report(path).to_dict() == report.to_dict()


def test_an_attempt_can_be_read_as_soon_as_it_is_added(report, tmp_path):
    path = tmp_path / "report.jsonl"
    with JsonlWriter(path, report) as writer:
        for number, record in enumerate(attempts(report)):
            seen = read_report(path)
            assert len(attempts(seen)) == number
            assert str(seen.incomplete) == f"the file ends early, after {number} attempt{'s' * (number != 1)}"
            writer.add(record)


def test_a_run_that_ends_in_an_error_leaves_an_incomplete_report(report, tmp_path):
    path = tmp_path / "report.jsonl"
    with pytest.raises(KeyError), JsonlWriter(path, report) as writer:
        writer.add(report.cases[0])
        raise KeyError
    again = read_report(path)
    assert str(again.incomplete) == "the file ends early, after 1 attempt"
    assert (again.name, again.seed, again.metadata) == (report.name, report.seed, report.metadata)


def test_a_process_that_is_killed_leaves_all_it_has_added(tmp_path):
    path = tmp_path / "report.jsonl"
    script = f"""
import os, signal
from calipers import ReportCaseFailure
from calipers.views.jsonl import JsonlWriter
writer = JsonlWriter({str(path)!r})
for i in range(100):
    writer.add(ReportCaseFailure(name=f"case {{i}}", inputs=i, metadata=None, expected_output=None,
                                 error_type="E", error_message="E: x"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script])
    again = read_report(path)
    assert [failure.name for failure in again.failures] == [f"case {i}" for i in range(100)]
    assert again.name == "report", "without a name in the file, the file's own"
    assert str(again.incomplete) == "the file ends early, after 100 attempts"


def test_a_closed_writer_takes_nothing_more_and_does_not_begin_again(report, tmp_path):
    path = tmp_path / "report.jsonl"
    writer = JsonlWriter(path)
    writer.add(report.cases[0])
    writer.close(report)
    before = path.read_bytes()
    with pytest.raises(CalipersError, match="is closed: nothing can be added"):
        writer.add(report.cases[0])
    assert path.read_bytes() == before


def test_making_a_writer_touches_no_file(tmp_path):
    JsonlWriter(tmp_path / "report.jsonl")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- cut and damaged files


def test_a_file_cut_anywhere_reads_as_a_beginning_of_the_report(report):
    data = report_jsonl(report).encode()
    first = data.index(b"\n") + 1
    names = [record.name for record in attempts(report)]
    for cut in range(first, len(data) - 1):
        again = read(data[:cut])
        found = [record.name for record in attempts(again)]
        assert found == names[: len(found)]
        assert (
            str(again.incomplete)
            == f"the file ends early, after {len(found)} attempt{'s' * (len(found) != 1)}"
        )
    assert read(data[:-1]).incomplete is None, "only the last line break is missing"


def test_rubbish_at_the_end_is_a_cut_too(report):
    lines = report_jsonl(report).encode().splitlines(keepends=True)
    again = read(b"".join(lines[:3]) + b"\x00" * 100 + b"\n\n")
    assert [case.name for case in again.cases] == ["a", "b"]
    assert again.incomplete is not None


def test_the_reason_for_an_early_end_is_kept(records):
    report = records.report(
        records.case("a"), incomplete=Incomplete("interrupted", "interrupted by Ctrl-C", by="Ctrl-C")
    )
    assert read(report_jsonl(report)).incomplete == report.incomplete


def test_a_file_that_lost_a_line_says_so(report):
    lines = report_jsonl(report).splitlines(keepends=True)
    del lines[2]
    assert str(read("".join(lines)).incomplete) == "the file should hold 5 attempts and holds 4"


@pytest.mark.parametrize(
    ("place", "line", "message"),
    [
        (1, "{half", "line 2 of it is not JSON"),
        (1, "[1]", "line 2 of it is not of a report"),
        (3, '{"cse": {}}', "line 4 of it is not of a report"),
        (3, '{"case": 1}', "line 4 of it is not of a report"),
        (1, '{"end": {}, "attempts": 0}', "line 3 of it is not of a report"),
        (1, '{"case": {"name": 1}}', "the stored report is damaged"),
    ],
)
def test_damage_in_the_middle_is_an_error_that_names_the_line(report, place, line, message):
    lines = report_jsonl(report).splitlines()
    lines.insert(place, line)
    with pytest.raises(ReportFormatError, match=message):
        read("\n".join(lines))


def test_a_file_of_a_later_release_is_refused(report):
    with pytest.raises(ReportFormatError, match="format version 99"):
        read(report_jsonl(report).replace('{"calipers_report":1,', '{"calipers_report":99,', 1))


def test_empty_lines_do_not_matter(report):
    assert read(report_jsonl(report).replace("\n", "\n\n")).to_dict() == report.to_dict()


# ---------------------------------------------------------------------- reports that do not keep every attempt


def test_a_report_that_keeps_some_attempts_reads_back_with_its_totals(report):
    some = partial(report)
    text = report_jsonl(some)
    last = json.loads(text.splitlines()[-1])
    assert last["attempts"] == 1, "those in the file"
    assert last["pass_rate"]["value"] == report.pass_rate().value, "of all"
    again = read(text)
    assert again.to_dict() == some.to_dict()
    assert again.incomplete is None
    assert again.summaries() == report.summaries()


def test_a_file_with_every_attempt_needs_no_totals(report, tmp_path):
    path = tmp_path / "report.jsonl"
    with JsonlWriter(path, report) as writer:
        for record in attempts(report):
            writer.add(record)
        writer.close(partial(report))
    assert_same(path.read_text(encoding="utf-8"), report_jsonl(report))


def test_a_run_can_be_written_while_it_goes_on(tmp_path):
    dataset = Dataset(
        cases=[Case(inputs=n, expected_output=n) for n in range(50)], evaluators=[EqualsExpected()]
    )
    with JsonlWriter(tmp_path / "report.jsonl") as writer:
        report = dataset.evaluate_sync(lambda n: n % 40, keep="failed", on_record=writer.add, progress=False)
        writer.close(report)
    again = read_report(tmp_path / "report.jsonl")
    assert len(report.cases) == 10
    assert len(again.cases) == 50
    assert again.pass_rate() == report.pass_rate()
    assert (again.totals, again.incomplete) == (None, None)


def partial(report):
    """The report of a run that kept one attempt."""
    totals = tally(report.cases, report.failures).totals()
    return msgspec.structs.replace(report, cases=report.cases[1:2], failures=[], totals=totals)
