"""`calipers export`: kept runs as files."""

import csv
import io

import pytest

from calipers.exchange.run_export import EXPORT_FORMATS, parse_export


@pytest.fixture
def kept(write_eval, calipers):
    """A kept run of three cases, one of which fails."""
    write_eval("def eval_numbers():\n    return numbers(1, -1, 'boom'), task\n")
    calipers("run", "--quiet")
    return calipers("runs", "--json")


def test_a_run_is_written_in_every_format_in_a_file_named_after_it(kept, calipers, folder):
    done = calipers("export", "latest", *(word for form in EXPORT_FORMATS for word in ("--to", form)))
    assert (done.exit_code, done.stdout) == (0, "")
    written = sorted(path.suffix for path in folder.iterdir() if path.suffix[1:] in EXPORT_FORMATS)
    assert written == [".csv", ".jsonl", ".otlp", ".parquet"]
    assert done.stderr.count("Wrote ") == 4


def test_standard_output_holds_the_file_and_nothing_else(kept, calipers):
    done = calipers("export", "latest", "--to", "csv:-", "--table", "results")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["case"], row["kind"]) for row in rows] == [
        ("number 1", "assertion"),
        ("number 1", "score"),
        ("number -1", "assertion"),
        ("number -1", "score"),
        ("number boom", "not_run"),
        ("number boom", "not_run"),
    ]
    assert done.stderr == ""


def test_a_filter_chooses_attempts(kept, calipers):
    done = calipers(
        "export", "latest", "--to", "csv:-", "--filter", "-status:passed", "--filter", "case:number*"
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["position"], row["case"]) for row in rows] == [("1", "number -1"), ("2", "number boom")]
    done = calipers("export", "latest", "--to", "csv:-", "--table", "results", "--filter", "status:errored")
    assert {row["kind"] for row in csv.DictReader(io.StringIO(done.stdout))} == {"not_run"}
    done = calipers("export", "latest", "--to", "otlp:-", "--filter", "status:passed")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["latest"], 2, "Missing option '--to'"),
        (["latest", "--to", "xml"], 2, "one of parquet, jsonl, csv, otlp, got 'xml'"),
        (["latest", "--to", "jsonl", "--table", "results"], 2, "leave out the table"),
        (["latest", "--to", "csv:-", "--to", "csv:-"], 2, "two --to write to standard output"),
        (["latest", "--to", "csv", "--table", "cells"], 2, "'cells' is not one of"),
        (["latets", "--to", "csv"], 2, "did you mean 'latest'"),
        (["latest", "--to", "csv:."], 2, "is a folder"),
        (["latest", "--to", "jsonl", "--filter", "status:failed"], 2, "jsonl holds a whole run"),
        (["latest", "--to", "csv", "--filter", "statsu:failed"], 2, "did you mean 'status'?"),
        (["latest", "--to", "csv", "--filter", "flip:worse"], 2, "where two runs are compared"),
        (["latest", "--to", "jsonl:.calipers/runs.db"], 2, "is the store of the run"),
        (["latest", "--to", "csv", "--store", "nothing.db"], 2, "no store"),
    ],
)
def test_what_is_wrong_is_told(kept, calipers, folder, words, code, says):
    before = sorted(folder.rglob("*"))
    done = calipers("export", *words)
    assert done.exit_code == code
    assert says in done.stderr
    assert sorted(folder.rglob("*")) == before


def test_without_a_store_there_is_nothing_to_export(calipers):
    done = calipers("export", "latest", "--to", "csv")
    assert done.exit_code == 2
    assert "no store" in done.stderr


def test_the_shell_offers_the_formats_there_are():
    from calipers.cli.completers import EXPORTS, complete_export

    assert EXPORTS == EXPORT_FORMATS
    offered = [item.value for item in complete_export(None, None, "")]
    assert [parse_export(each).format for each in offered] == list(EXPORT_FORMATS)
    assert [item.value for item in complete_export(None, None, "p")] == ["parquet:run.parquet"]
