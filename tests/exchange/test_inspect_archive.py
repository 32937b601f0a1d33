"""Logs of Inspect AI as archives."""

import json
import zipfile
from pathlib import Path

import pytest

from calipers.errors import ReportFormatError
from calipers.exchange import import_run
from calipers.exchange.inspect_log import read_archive
from calipers.views.jsonl import record_line

DATA = Path(__file__).parents[1] / "samples"
LOG = json.loads((DATA / "inspect_log.json").read_bytes())


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
    first = import_run(DATA / "inspect_log.eval", store)
    second = import_run(DATA / "inspect_log.json", store)
    assert (first.is_new, second.is_new) == (True, False)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_samples_are_read_however_they_are_compressed_and_ordered(tmp_path, compression):
    path = archive(tmp_path / "log.eval", compression=compression)
    assert lines_of(read_archive(path)) == lines_of(read_archive(DATA / "inspect_log.eval"))


def test_a_log_whose_run_was_killed_is_read_by_its_journal(store, tmp_path):
    path = archive(tmp_path / "log.eval", header="_journal/start.json", status="started")
    run = import_run(path, store).run
    assert (run.attempts, run.status) == (4, "interrupted")
    assert str(store.report(run.id).incomplete) == "the log has the status 'started'"


def test_a_damaged_sample_is_told_by_its_name(store, tmp_path):
    data = bytearray((DATA / "inspect_log.eval").read_bytes())
    with zipfile.ZipFile(DATA / "inspect_log.eval") as file:
        info = file.getinfo("samples/one_epoch_1.json")
    middle = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    data[middle] ^= 0xFF
    (tmp_path / "bad.eval").write_bytes(data)
    with pytest.raises(ReportFormatError, match=r"samples/one_epoch_1\.json in .* is damaged"):
        import_run(tmp_path / "bad.eval", store)
    assert store.runs() == []


def test_an_archive_that_was_cut_is_told(store, tmp_path):
    (tmp_path / "cut.eval").write_bytes((DATA / "inspect_log.eval").read_bytes()[:-200])
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
