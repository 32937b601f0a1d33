"""Runs of every kind of file, each kept once, whole or not at all."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.errors import ReportFormatError, StoreError, StoreUnavailableError
from calipers.exchange import export_run, import_run
from calipers.stores import MemoryStore, SqliteStore, hide_keys, open_store, score_again
from calipers.views.formats import write_report

DATA = Path(__file__).parents[1] / "samples"
OTHERS = ["pydantic_evals_report.json", "inspect_log.eval", "inspect_log.json"]


def positive(output):
    return output > 0


def report_of(count=3, **options):
    cases = [Case(name=f"n{n}", inputs=n) for n in range(count)]
    return Dataset(name="numbers", cases=cases, evaluators=[positive]).evaluate_sync(
        lambda n: 1 // (n != 2) * n, progress=False, **options
    )


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_report_comes_back_as_it_was(store, tmp_path, form):
    report = report_of(metadata={"who": "us"}, repeat=2)
    write_report(report, tmp_path / f"report.{form}")
    found = import_run(tmp_path / f"report.{form}", store)
    assert store.report(found.run.id).to_dict() == report.to_dict()
    assert [attempt.repeat for attempt in store.attempts(found.run.id)] == [1, 2, 1, 2, 1, 2]
    assert (found.run.git, found.run.environment) == (None, {}), "nothing is said of this machine"
    assert found.run.id.startswith(report.started_at[:10].replace("-", "")), "it is listed by when it began"


def test_the_two_files_of_one_report_are_one_run(store, tmp_path):
    report = report_of(2)
    for form in ("json", "jsonl"):
        write_report(report, tmp_path / f"report.{form}")
    first = import_run(tmp_path / "report.json", store)
    second = import_run(tmp_path / "report.jsonl", store)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.run.id == second.run.id


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_imported_twice_is_kept_once_whatever_it_is_called(store, tmp_path, name):
    first = import_run(DATA / name, store)
    shutil.copy(DATA / name, tmp_path / "renamed")
    again = import_run(tmp_path / "renamed", store)
    assert (first.is_new, again.is_new) == (True, False)
    assert [run.id for run in store.runs()] == [first.run.id] == [again.run.id]


@pytest.mark.parametrize("name", OTHERS)
def test_a_run_of_others_can_be_judged_again_and_exported(store, other_store, tmp_path, name, same_run):
    run = import_run(DATA / name, store).run

    def present(output):
        return output is not None

    report = score_again(store, run.id, evaluators=[present], keep="all")
    assert all("present" in case.assertions for case in report.cases)
    import_run(export_run(store, run.id, to=tmp_path / "run.jsonl"), other_store)
    same_run(store, other_store, run.id)


def test_another_content_is_another_run(store, tmp_path):
    data = json.loads((DATA / "pydantic_evals_report.json").read_bytes())
    first = import_run(DATA / "pydantic_evals_report.json", store)
    data["cases"][0]["output"] = "other"
    (tmp_path / "other.json").write_text(json.dumps(data), encoding="utf-8")
    assert import_run(tmp_path / "other.json", store).run.id != first.run.id


def test_a_run_that_has_changed_since_it_was_exported_is_not_overwritten(store, run, tmp_path):
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")

    def late(output):
        return output > 0

    score_again(store, run.id, evaluators=[late])
    before = store.report(run.id).to_dict()
    with pytest.raises(StoreError, match=rf"another run with the id '{run.id}'.*prune --run"):
        import_run(path, store)
    assert store.report(run.id).to_dict() == before


def test_an_import_that_was_killed_is_made_again(store, tmp_path):
    write_report(report_of(2), tmp_path / "r.json")
    done = import_run(tmp_path / "r.json", store)
    store.delete_run(done.run.id)
    half = store.begin_run(msgspec.structs.replace(done.run))
    with store._writing() as session:
        session.run("UPDATE runs SET heartbeat = NULL WHERE id = ?", (half.id,))
    again = import_run(tmp_path / "r.json", store)
    assert (again.is_new, again.run.id, again.run.attempts) == (True, half.id, 2)


def test_a_run_that_was_killed_is_not_replaced_by_a_file_of_its_id(store, run, tmp_path):
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")
    store.remove_attempts(run.id, [7])
    store.resume_run(run.id)
    with store._writing() as session:
        session.run("UPDATE runs SET heartbeat = NULL WHERE id = ?", (run.id,))
    with pytest.raises(StoreError, match="another run with the id"):
        import_run(path, store)
    assert store.run(run.id).attempts == 7


def test_what_hooks_take_out_does_not_make_a_run_another(store, run, tmp_path):
    path = export_run(store, run.id, to=tmp_path / "run.jsonl")
    with MemoryStore(redact=[hide_keys("level")]) as careful:
        assert import_run(path, careful).is_new
        assert careful.report(run.id).cases[0].metadata == {"level": "[redacted]"}
        assert not import_run(path, careful).is_new


def test_a_time_without_a_zone_makes_the_same_id_everywhere(store, tmp_path):
    report = report_of(1)
    report.started_at = "2026-01-02T03:04:05.678"
    write_report(report, tmp_path / "r.json")
    assert import_run(tmp_path / "r.json", store).run.id.startswith("20260102-030405678-")


def test_an_import_that_another_process_is_at_is_left_to_it(store, tmp_path):
    write_report(report_of(2), tmp_path / "r.json")
    done = import_run(tmp_path / "r.json", store)
    store.delete_run(done.run.id)
    store.begin_run(msgspec.structs.replace(done.run))
    with pytest.raises(StoreError, match="is being written by another process"):
        import_run(tmp_path / "r.json", store)


class FullStore(MemoryStore):
    """A store whose disk is full when the first attempts come."""

    def append(self, run, attempts=(), cells=(), **options):
        raise StoreUnavailableError("the disk is full")


def test_a_run_that_cannot_be_stored_whole_is_not_stored_at_all():
    with FullStore() as store:
        with pytest.raises(StoreUnavailableError, match="the disk is full"):
            import_run(DATA / "inspect_log.json", store)
        assert store.runs() == []


def test_a_report_that_does_not_hold_all_its_attempts_is_refused(store, tmp_path):
    write_report(report_of(keep="failed"), tmp_path / "some.json")
    with pytest.raises(StoreError, match="keep='all'"):
        import_run(tmp_path / "some.json", store)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty and holds no run"),
        (b"name,passed\n", "holds no run: .* it begins b'name,passed"),
        (b'{"a": 1}', "holds no run"),
        (b"[]", "holds no run"),
        (b'{"calipers_report": 99, "name": "x"}', "install a newer calipers"),
        (b"PK\x03\x04 not a zip", "is a damaged archive"),
        (b'{"calipers_report": 1, "name": "x", "cases": [{}]}', r"damaged: .*\$\.cases\[0\]"),
    ],
)
def test_what_is_no_run_is_refused_with_a_reason(store, tmp_path, content, says):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ReportFormatError, match=says):
        import_run(tmp_path / "file", store)
    assert store.runs() == []


def test_a_store_may_be_named_and_is_made(tmp_path):
    run = import_run(DATA / "inspect_log.json", tmp_path / "new" / "runs.db").run
    with open_store(tmp_path / "new" / "runs.db") as store:
        assert store.run("sums").id == run.id
    with pytest.raises(FileNotFoundError):
        import_run(tmp_path / "nowhere.json", "memory:")


def test_a_run_from_the_disk_equals_the_one_in_memory(store, tmp_path):
    with SqliteStore(tmp_path / "runs.db") as disk:
        for name in OTHERS:
            run = import_run(DATA / name, disk).run
            import_run(DATA / name, store)
            assert disk.report(run.id).to_dict() == store.report(run.id).to_dict()
