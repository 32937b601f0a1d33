"""Which format a target stands for, where it goes, and how it is read back."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calipers import Case, Dataset, ToolCall, Trace
from calipers.errors import InvalidOptionError, ReportFormatError, ViewError
from calipers.evaluators import Contains, EqualsExpected
from calipers.views.csv_file import report_csv
from calipers.views.formats import FORMATS, Target, parse_target, read_report, write_report
from calipers.views.github import report_annotations
from calipers.views.json_file import report_json
from calipers.views.jsonl import report_jsonl
from calipers.views.junit import report_junit
from calipers.views.markdown import report_markdown
from calipers.views.terminal import report_text

DRAWN = {
    "json": report_json,
    "jsonl": report_jsonl,
    "csv": report_csv,
    "markdown": report_markdown,
    "junit": report_junit,
    "text": report_text,
    "github": report_annotations,
}


@pytest.fixture(scope="module")
def report(records):
    return records.report(
        records.case("é a", records.result("right", True), metrics={"tokens": 3}),
        records.case("b", records.result("right", False, "lone \ud800 surrogate"), output="\x1b[31m"),
        records.failure("c", not_run=("right",)),
    )


# ---------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("report.json", ("json", "report.json")),
        ("report.jsonl", ("jsonl", "report.jsonl")),
        ("out/report.csv", ("csv", "out/report.csv")),
        ("report.md", ("markdown", "report.md")),
        ("report.XML", ("junit", "report.XML")),
        ("report.html", ("html", "report.html")),
        ("report.txt", ("text", "report.txt")),
        ("json:report", ("json", "report")),
        ("junit:results.json", ("junit", "results.json")),
        ("md:-", ("markdown", "-")),
        ("xml:a.b", ("junit", "a.b")),
        ("github:-", ("github", "-")),
        ("json:C:\\runs\\a", ("json", "C:\\runs\\a")),
        ("json:a:b", ("json", "a:b")),
        ("json:json:x", ("json", "json:x")),
        ("C:\\runs\\a.json", ("json", "C:\\runs\\a.json")),
        ("C:/runs/a.json", ("json", "C:/runs/a.json")),
        ("C://runs/a.json", ("json", "C://runs/a.json")),
        ("run 12:30.json", ("json", "run 12:30.json")),
        ("nightly:2.xml", ("junit", "nightly:2.xml")),
        ("./json:x.csv", ("csv", "./json:x.csv")),
        ("a.json:b.csv", ("csv", "a.json:b.csv")),
        (Path("json:x.csv"), ("csv", "json:x.csv")),
        (Path("a.md"), ("markdown", "a.md")),
    ],
)
def test_a_target_names_a_format_or_has_it_in_its_suffix(target, found):
    assert parse_target(target) == Target(*found)


KNOWN = "json, jsonl, csv, markdown, junit, html, text, github"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("jsn:report", "no report format is called 'jsn', did you mean 'json'?"),
        ("JSON:report.json", "no report format is called 'JSON', did you mean 'json'?"),
        (
            "juint:out.xml",
            "did you mean 'junit'? Known are " + KNOWN + "; for a file of that name, write './juint:",
        ),
        ("report.jsn", "a file that ends in '.jsn', did you mean 'json'? Write FORMAT:PATH"),
        ("report.yaml", "a file that ends in '.yaml'. Write FORMAT:PATH, where FORMAT is one of " + KNOWN),
        ("yaml:report", "'yaml:report', which has no suffix"),
        ("report", "'report', which has no suffix. Write FORMAT:PATH"),
        ("", "'', which has no suffix"),
        ("json", "'json' is a format and names no file: write 'json:-' for standard output"),
        ("json:", "'json:' names no file: write 'json:-' for standard output"),
        ("-", "which format should go to standard output? Write 'json:-'"),
        ("s3://bucket/report.json", "written to a disk, got the address 's3://bucket/report.json'"),
        (Path("report"), "which has no suffix"),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused_with_the_way_out(report, target, message):
    for use in (parse_target, lambda each: write_report(report, each)):
        with pytest.raises(InvalidOptionError) as caught:
            use(target)
        assert message in str(caught.value)


def test_no_two_formats_share_a_suffix():
    suffixes = [suffix for each in FORMATS.values() for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes) == 7


# ---------------------------------------------------------------------- writing


def test_every_format_is_tested_here():
    assert set(DRAWN) | {"html"} == set(FORMATS)


@pytest.mark.parametrize("name", DRAWN)
def test_a_file_holds_what_the_format_draws_in_utf_8_and_ends_with_a_line_break(report, name, tmp_path):
    path = tmp_path / "new folder" / "report.any"
    write_report(report, f"{name}:{path}")
    data = path.read_bytes()
    assert data.decode("utf-8") == DRAWN[name](report)
    assert data.endswith(b"\n")
    assert b"\r" not in data
    assert list(path.parent.iterdir()) == [path]


def test_html_is_one_of_the_formats(report, tmp_path):
    write_report(report, tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DRAWN)
def test_a_dash_is_standard_output(report, name, capfdbinary):
    print("before")
    write_report(report, f"{name}:-")
    assert capfdbinary.readouterr().out.decode("utf-8") == "before\n" + DRAWN[name](report)


def test_standard_output_that_takes_text_only_gets_text(report):
    taken = io.StringIO()
    with contextlib.redirect_stdout(taken):
        write_report(report, "csv:-")
    assert taken.getvalue() == report_csv(report)


def test_standard_output_is_utf_8_whatever_the_terminal_says():
    code = (
        "from calipers import Report\nfrom calipers.views.formats import write_report\n"
        "write_report(Report(name='é', cases=[]), 'json:-')"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    assert '"name":"é"'.encode() in done.stdout


def test_writing_twice_replaces_the_file(report, records, tmp_path):
    write_report(report, tmp_path / "report.json")
    write_report(records.report(name="second"), tmp_path / "report.json")
    assert read_report(tmp_path / "report.json").name == "second"


def test_a_folder_is_refused(report, tmp_path):
    with pytest.raises(InvalidOptionError, match="is a folder"):
        write_report(report, f"json:{tmp_path}")


# ---------------------------------------------------------------------- views of one's own


class Site:
    """A view that makes a folder."""

    def write(self, report, path):
        Path(path).mkdir(exist_ok=True)
        (Path(path) / "index.html").write_text(report.name, encoding="utf-8")


VIEWS = {
    "title": lambda report: f"{report.name}\n",
    "one-line": lambda report: b"\xff\n",
    "site": Site(),
    "Ünï 2": lambda report: "",
    "wrong": 5,
}


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("title:report.json", ("title", "report.json")),
        ("title:-", ("title", "-")),
        ("one-line:a:b", ("one-line", "a:b")),
        ("Ünï 2:x", ("Ünï 2", "x")),
        ("site:public", ("site", "public")),
        ("md:-", ("markdown", "-")),
        ("./title:x.csv", ("csv", "./title:x.csv")),
        (Path("title:x.csv"), ("csv", "title:x.csv")),
        ("run 12:30.json", ("json", "run 12:30.json")),
    ],
)
def test_a_target_may_name_a_view(target, found):
    assert parse_target(target, views=VIEWS) == Target(*found)


@pytest.mark.parametrize(
    ("target", "views", "message"),
    [
        (
            "titel:x.txt",
            VIEWS,
            "no report format is called 'titel', did you mean 'title'? Known are " + KNOWN,
        ),
        ("one-lin:x.txt", VIEWS, "no report format is called 'one-lin', did you mean 'one-line'?"),
        (
            "jsn:report",
            VIEWS,
            "did you mean 'json'? Known are json, jsonl, csv, markdown, junit, html, text, github, t",
        ),
        ("title:", VIEWS, "'title:' names no file"),
        ("title", VIEWS, "'title' is a format and names no file"),
        (
            "report.title",
            VIEWS,
            "a file that ends in '.title'. Write FORMAT:PATH, where FORMAT is one of " + KNOWN,
        ),
        ("site:-", VIEWS, "the view 'site' does not write to standard output: name a file"),
        (
            "wrong:x",
            VIEWS,
            "the view 'wrong' must be a function of a report, or an object with write(report, path), got",
        ),
        ("a.json", {"json": str}, "'json' is a format of Calipers: give the view a name of its own"),
        ("a.json", {"Md": str}, "'Md' is a format of Calipers"),
        ("a.json", {"c": str}, "two characters or more without a colon, got 'c'"),
        ("a.json", {"": str}, "two characters or more without a colon, got ''"),
        ("a.json", {"a:b": str}, "two characters or more without a colon, got 'a:b'"),
        ("a.json", {5: str}, "two characters or more without a colon, got 5"),
        ("title:x", {}, "'title:x', which has no suffix"),
    ],
)
def test_a_view_that_cannot_be_meant_is_refused_with_the_way_out(report, target, views, message):
    for use in (parse_target, lambda each, views: write_report(report, each, views=views)):
        with pytest.raises(InvalidOptionError) as caught:
            use(target, views=views)
        assert message in str(caught.value)


def test_a_view_is_written_like_any_format(report, tmp_path, capfdbinary):
    path = tmp_path / "new folder" / "report"
    write_report(report, f"title:{path}", views=VIEWS)
    assert path.read_text(encoding="utf-8") == f"{report.name}\n"
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(InvalidOptionError, match="is a folder"):
        write_report(report, f"title:{tmp_path}", views=VIEWS)
    for _ in range(2):
        write_report(report, f"site:{tmp_path / 'site'}", views=VIEWS)
    assert (tmp_path / "site" / "index.html").exists()
    write_report(report, "one-line:-", views=VIEWS)
    assert capfdbinary.readouterr().out == b"\xff\n"
    taken = io.StringIO()
    with contextlib.redirect_stdout(taken):
        write_report(report, "one-line:-", views=VIEWS)
    assert taken.getvalue() == "\\xff\n"


def test_a_view_that_fails_leaves_the_file_of_an_earlier_one(report, tmp_path):
    (tmp_path / "report").write_text("earlier", encoding="utf-8")
    with pytest.raises(ViewError, match="the view 'broken' failed: ZeroDivisionError"):
        write_report(report, f"broken:{tmp_path / 'report'}", views={"broken": lambda report: 1 / 0})
    assert (tmp_path / "report").read_text(encoding="utf-8") == "earlier"


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["json", "jsonl"])
@pytest.mark.parametrize("file", ["report.json", "report.jsonl", "report"])
def test_what_was_written_is_read_back_whatever_the_file_is_called(report, name, file, tmp_path):
    write_report(report, f"{name}:{tmp_path / file}")
    assert read_report(tmp_path / file).to_dict() == report.to_dict()
    assert read_report(str(tmp_path / file)).pass_rate() == report.pass_rate()


def test_an_indented_file_is_read_too(report, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(report_json(report, pretty=True), encoding="utf-8")
    assert read_report(path).to_dict() == report.to_dict()


@pytest.mark.parametrize("name", ["csv", "markdown", "junit", "text", "github"])
def test_other_formats_are_refused_by_name(report, name, tmp_path):
    write_report(report, f"{name}:{tmp_path / 'report'}")
    with pytest.raises(ReportFormatError, match="report' is not JSON"):
        read_report(tmp_path / "report")


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_report(tmp_path / "report.json")


# ---------------------------------------------------------------------- objects that cannot be trusted


def refuse(*_):
    raise RuntimeError("no")


def lying(claimed):
    """An object that says it is of another class, as a mock with a spec does."""

    class Liar:
        @property
        def __class__(self):
            return claimed

    return Liar()


class Rude:
    __repr__ = __str__ = __len__ = __eq__ = __hash__ = __bool__ = __iter__ = __getitem__ = refuse


class RudeText(str):
    __slots__ = ()
    __repr__ = __str__ = __len__ = __eq__ = __hash__ = __iter__ = __getitem__ = refuse


class RudeDict(dict):
    __repr__ = __str__ = __len__ = __eq__ = __iter__ = __getitem__ = items = keys = refuse


class WithoutClass:
    @property
    def __class__(self):
        raise RuntimeError("no")


UNTRUSTED = {
    **{f"says {each.__name__}": lying(each) for each in (str, dict, list, int, bool, float, bytes)},
    "rude": Rude(),
    "rude text": RudeText("x" * 3_000),
    "rude dict": RudeDict(a=1),
    "no class": WithoutClass(),
}


@pytest.mark.parametrize("name", UNTRUSTED)
def test_no_object_keeps_a_report_from_being_written(name, records, tmp_path):
    value = UNTRUSTED[name]
    attempts = [
        records.case(
            f"a [{number}/2]",
            records.result("x", False),
            inputs=value,
            metadata={"m": value},
            expected_output=value,
            has_expected_output=True,
            output=value,
            attributes={"a": value},
            source_case_name="a",
            trace=Trace(tool_calls=[ToolCall("t", {"x": value}, output=value)]),
        )
        for number in (1, 2)
    ]
    report = records.report(*attempts, records.failure("b", inputs=value), repeat=2, metadata={"m": value})
    for form in FORMATS:
        write_report(report, f"{form}:{tmp_path / form}")
        assert (tmp_path / form).stat().st_size
    assert read_report(tmp_path / "json").counts() == report.counts()


@pytest.mark.parametrize("name", UNTRUSTED)
def test_a_run_with_such_objects_ends_with_a_report(name):
    value = UNTRUSTED[name]
    dataset = Dataset(
        cases=[Case(name="a", inputs=value, expected_output=value, metadata=value)],
        evaluators=[EqualsExpected(), Contains("x")],
    )
    report = dataset.evaluate_sync(lambda inputs: inputs, progress=False, repeat=2)
    assert report.counts().attempts == 2
    assert "EqualsExpected" in report_text(report)
