"""A run as lines of JSON comes back as it was, and damage is told with its line."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation
from calipers.errors import ReportFormatError, StoreError
from calipers.exchange import export_run, import_run
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.stores import MemoryStore, RunInfo, score_again
from calipers.stores.attempt_notes import AttemptNotes, CellNotes, with_attempt_notes, with_notes
from calipers.stores.stored_attempt import StoredCell
from calipers.testing.store_check import record
from calipers.views.formats import read_report, write_report


def test_a_run_comes_back_with_all_that_its_store_knew(store, other_store, run, tmp_path, same_run):
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")
    back = import_run(path, other_store)
    assert (back.run.id, back.is_new, back.kind, back.notes) == (run.id, True, "exported run", ())
    same_run(store, other_store, run.id)


def test_an_exported_run_can_be_read_as_a_report(store, run, tmp_path):
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")
    assert read_report(path).to_dict() == store.report(run.id).to_dict()
    last = json.loads((tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert last["attempts"] == 8
    assert last["pass_rate"]["value"] == store.totals(run.id).pass_rate.value


def test_columns_that_were_added_later_come_back_too(store, other_store, run, tmp_path, same_run):
    def right(output):
        return output == 2

    score_again(store, run.id, evaluators=[right])
    assert len(store.run(run.id).evaluators) > len(run.evaluators)
    import_run(export_run(store, run.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, run.id)


def test_that_a_column_has_not_judged_all_comes_back_too(store, other_store, run, tmp_path, same_run):
    def exact(output):
        return output == 2

    score_again(store, run.id, evaluators=[exact])
    missing = next(store.attempts(run.id, failed=False))
    store.append(run.id, [missing])  # without what was said of it
    before = store.report(run.id)
    assert "evaluator exact has judged" in str(before.incomplete)
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")
    assert read_report(path).to_dict() == before.to_dict()
    assert import_run(path, other_store).is_new
    same_run(store, other_store, run.id)
    assert not import_run(path, store).is_new
    assert score_again(other_store, run.id, evaluators=[exact]).incomplete is None


def test_tags_and_timeouts_come_back_too(store, other_store, tmp_path, same_run):
    cases = [Case(name="a", inputs=1, tags=["x", "\ud800"], timeout=3), Case(name="b", inputs={"tags": 1})]
    Dataset(name="d", cases=cases).evaluate_sync(_double, store=store, progress=False)
    run = store.run("latest")
    import_run(export_run(store, run.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, run.id)
    assert other_store.run(run.id).keeps_settings


def test_what_was_taken_over_from_another_run_comes_back_as_such(store, other_store, tmp_path, same_run):
    dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)], evaluators=[_positive])
    for _ in range(2):
        dataset.evaluate_sync(_double, store=store, reuse=True, progress=False)
    run = store.run("latest")
    assert next(store.attempts(run.id)).origin is not None
    import_run(export_run(store, run.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, run.id)
    report = dataset.evaluate_sync(_double, store=other_store, reuse=True, progress=False)
    assert report.reuse.attempts_reused == 1, "and can be taken over again"


def _positive(output):
    return output > 0


def _double(inputs):
    return 2 * inputs


def test_notes_of_attempts_and_cells_come_back(store, other_store, tmp_path, same_run):
    kept = store.add_report(Report(name="noted", cases=[record(0)]))
    ((attempt, cells),) = store.judged(kept.id)
    attempt.output = with_attempt_notes(attempt.output, AttemptNotes(rich=True, seed=3))
    attempt.key, attempt.case_hash, attempt.repeat = b"\x00\xff", b"hash", 4
    cells = [
        StoredCell(
            position=0,
            evaluator=cell.evaluator,
            body=with_notes(cell.body, CellNotes(after="x", original={"overall": 1})),
            origin="elsewhere",
        )
        for cell in cells
    ]
    store.append(kept.id, [attempt], cells)
    import_run(export_run(store, kept.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, kept.id)


def test_a_run_that_never_told_its_length_does_not_tell_it_afterwards(store, other_store, tmp_path, same_run):
    begun = store.begin_run(RunInfo(name="lazy"))
    store.finish_run(begun.id, report=store.report(begun.id))
    import_run(export_run(store, begun.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, begun.id)


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_a_run_that_did_not_finish_is_kept_as_far_as_it_came(store, other_store, tmp_path, status):
    begun = store.begin_run(RunInfo(name="long", total=10))
    if status != "running":
        store.finish_run(begun.id, status=status)
    expected = store.report(begun.id).incomplete
    back = import_run(export_run(store, begun.id, to=tmp_path / "run.jsonl"), other_store)
    assert back.run.status == ("interrupted" if status == "running" else status), "no process runs it here"
    assert other_store.report(begun.id).incomplete == expected
    assert back.run.total == 10


# ---------------------------------------------------------------------- the law

TEXT = st.text(max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
SPECS = st.builds(EvaluatorSpec, TEXT, st.dictionaries(TEXT, JSON, max_size=1))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | FINITE | TEXT


@st.composite
def cases(draw, name):
    common = {
        "name": name,
        "inputs": draw(JSON),
        "metadata": draw(JSON),
        "expected_output": draw(JSON),
        "has_expected_output": draw(st.booleans()),
        "cluster": draw(st.none() | TEXT),
        "task_duration": draw(st.floats(0, 9)),
        "total_duration": draw(st.floats(0, 9)),
    }
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from("ab"), unique=True))
        return ReportCaseFailure(**common, error_type="E", error_message=draw(TEXT), not_run=tuple(names))
    results = []
    for number in range(draw(st.integers(0, 3))):
        evaluator = draw(st.sampled_from("ab"))
        spec = draw(SPECS)
        reason = draw(st.none() | TEXT)
        results.append(
            EvaluationResult(
                name=f"{evaluator}.{number}",
                value=draw(SCALARS),
                reason=reason,
                evaluator=evaluator,
                source=spec,
            )
        )
    failures = (EvaluatorFailure(name="c", error_type="E", error_message=draw(TEXT), source=draw(SPECS)),)
    skips = (SkippedEvaluation("d", draw(TEXT)), SkippedEvaluation("x", "no", "a"))
    return ReportCase(
        **common,
        output=draw(JSON),
        metrics=draw(st.dictionaries(TEXT, st.integers() | FINITE, max_size=1)),
        attributes={},
        results=tuple(results),
        evaluator_failures=failures * draw(st.integers(0, 1)),
        skipped=skips[: draw(st.integers(0, 2))],
    )


@st.composite
def reports(draw):
    made = [draw(cases(f"case {number}")) for number in range(draw(st.integers(0, 3)))]
    return Report(
        name=draw(TEXT),
        cases=[each for each in made if isinstance(each, ReportCase)],
        failures=[each for each in made if not isinstance(each, ReportCase)],
        metadata=draw(st.none() | st.dictionaries(TEXT, JSON, max_size=1)),
        dataset_name=draw(st.none() | TEXT),
        seed=draw(st.integers(0, 9)),
        incomplete=draw(st.none() | st.builds(Incomplete, st.just("other"), TEXT)),
    )


@given(report=reports())
def test_whatever_is_stored_comes_back_from_an_export(report, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "law.jsonl"
    with MemoryStore() as first, MemoryStore() as second:
        run = first.add_report(report)
        export_run(first, run.id, to=path)
        back = import_run(path, second)
        assert second.report(back.run.id).to_dict() == first.report(run.id).to_dict()
        assert list(map(_parts, second.judged(back.run.id))) == list(map(_parts, first.judged(run.id)))
        assert not import_run(path, second).is_new
        assert not import_run(path, first).is_new, "where it comes from, it is there already"


def _parts(judged):
    attempt, cells = judged
    return attempt, sorted(cells, key=lambda cell: cell.evaluator)


# ---------------------------------------------------------------------- damage


@pytest.fixture
def lines(store, run, tmp_path):
    export_run(store, run.id, to=tmp_path / "run.jsonl")
    return [json.loads(line) for line in (tmp_path / "run.jsonl").read_bytes().splitlines()]


def write(path, lines):
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("number", "change", "says"),
    [
        (0, {"run": {"name": 3}}, r"line 1 of .* does not describe a run: .*\$\.name"),
        (0, {"run": {"name": "x", "id": "../up"}}, r"its id is '\.\./up'"),
        (0, {"run": {"name": "x", "id": ""}}, r"its id is ''"),
        (0, {"calipers_report": 99}, "format version 99"),
        (1, {"stored": None}, "line 2 of .* does not say how it was stored"),
        (1, {"stored": {"position": -1}}, "line 2 of .* has position -1, which does not follow -1"),
        (2, {"stored": {"position": 0}}, "line 3 of .* has position 0, which does not follow 0"),
        (1, {"stored": {"position": 2**63}}, "line 2 of .* has position"),
        (1, {"stored": {"position": 0, "cells": [{"evaluator": 99}]}}, "line 2 of .* names evaluators"),
        (1, {"stored": {"position": 0, "evaluators": [-1]}}, "line 2 of .* names evaluators"),
        (1, {"stored": {"position": 0}}, "line 2 of .* holds results of no evaluator"),
        (
            1,
            {"stored": {"position": 0, "cells": [{"evaluator": 0, "results": 99}]}},
            "line 2 of .* fewer results",
        ),
        (1, {"case": {"name": 5}}, "line 2 of .*damaged"),
        (1, {"case": "no"}, "line 2 of .* is not of a report"),
    ],
)
def test_damage_is_told_with_its_line_and_nothing_is_stored(
    lines, other_store, tmp_path, number, change, says
):
    path = write(
        tmp_path / "bad.jsonl", [{**line, **(change if n == number else {})} for n, line in enumerate(lines)]
    )
    with pytest.raises(ReportFormatError, match=says):
        import_run(path, other_store)
    assert other_store.runs() == []


def test_a_line_after_the_end_is_damage(lines, other_store, tmp_path):
    with pytest.raises(ReportFormatError, match=r"line 11 of .* after the end"):
        import_run(write(tmp_path / "bad.jsonl", [*lines, lines[1]]), other_store)


@pytest.mark.parametrize("rest", [b"", b'{"case": {"na'], ids=["between lines", "within a line"])
def test_an_export_that_was_cut_is_refused_with_its_place(lines, other_store, tmp_path, rest):
    path = write(tmp_path / "cut.jsonl", lines[:4])
    path.write_bytes(path.read_bytes() + rest)
    with pytest.raises(ReportFormatError, match=r"was cut: it ends after line 4 and 3 attempts"):
        import_run(path, other_store)
    assert other_store.runs() == []


def test_an_export_that_lacks_a_line_is_refused_with_its_place(lines, other_store, tmp_path):
    path = write(tmp_path / "holed.jsonl", [*lines[:3], *lines[4:]])
    says = r"line 9, says that it holds 8 attempts, and there are 7; after line 3, the attempt at position 2 is missing"
    with pytest.raises(ReportFormatError, match=says):
        import_run(path, other_store)
    assert other_store.runs() == []


def test_a_report_whose_run_was_killed_is_kept_as_incomplete(lines, other_store, tmp_path):
    del lines[0]["run"]
    path = write(tmp_path / "cut.jsonl", lines[:4])
    path.write_bytes(path.read_bytes() + b'{"case": {"na')
    back = import_run(path, other_store)
    assert back.run.attempts == 3
    assert str(other_store.report(back.run.id).incomplete) == "the file ends early, after 3 attempts"


def test_a_report_that_lacks_a_line_is_refused(lines, other_store, tmp_path):
    del lines[0]["run"]
    with pytest.raises(ReportFormatError, match=r"says that it holds 8 attempts, and there are 7\. Export"):
        import_run(write(tmp_path / "holed.jsonl", [*lines[:3], *lines[4:]]), other_store)


def test_a_file_that_does_not_hold_every_attempt_is_refused(other_store, tmp_path):
    cases = [Case(name=f"n{n}", inputs=n) for n in range(4)]
    report = Dataset(name="d", cases=cases, evaluators=[_positive]).evaluate_sync(
        _double, keep="failed", progress=False
    )
    write_report(report, tmp_path / "some.jsonl")
    with pytest.raises(StoreError, match=r"holds 1 of the 4 attempts.*keep='all'"):
        import_run(tmp_path / "some.jsonl", other_store)
