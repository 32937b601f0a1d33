"""A report as one JSON document."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ReportFormatError
from calipers.views.json_file import parse_json, read_json, report_json

TEXT = st.text(st.characters(exclude_categories=()))  # with lone surrogates, which no file can hold
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def strict(text):
    """JSON by the standard library, without what it allows beyond the standard."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@given(inputs=VALUES, output=VALUES, reason=st.none() | TEXT, score=st.floats(0, 1), name=TEXT)
def test_what_is_written_reads_back_the_same(records, inputs, output, reason, score, name):
    case = records.case(
        "a", records.result("x", False, reason), records.result("s", score), inputs=inputs, output=output
    )
    report = records.report(case, records.failure("b", inputs=output), name=name, metadata={"note": inputs})
    for pretty in (False, True):
        text = report_json(report, pretty=pretty)
        written = strict(text)
        counted = (
            "pass_rate",
            "infrastructure",
            "metrics",
            "costs",
            "durations",
            "summaries",
            "slices",
            "under_faults",
        )
        assert written == report.to_dict() | {name: written[name] for name in counted}
        again = read_json(text.encode(), what="it")
        assert again.to_dict() == report.to_dict()
        assert report_json(again, pretty=pretty) == text


def test_it_is_one_line_unless_it_is_to_be_pretty(records):
    report = records.report(records.case("a\nb"))
    assert report_json(report).count("\n") == 1
    assert report_json(report).endswith("}\n")
    assert report_json(report, pretty=True).startswith('{\n  "calipers_report": 1,\n  "name": "answer",\n')
    assert report_json(report, pretty=True).endswith("\n}\n")


def test_text_is_written_as_it_is_and_not_escaped(records):
    assert '"é 日本"' in report_json(records.report(records.case("é 日本")))


def test_a_byte_order_mark_is_no_obstacle(records):
    report = records.report(records.case("a"))
    assert read_json(b"\xef\xbb\xbf" + report_json(report).encode(), what="it").name == "answer"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"nothing", b'{"a": NaN}', b"\xff\xfe{\x00", b"[" * 100_000, b"{} {}"],
    ids=["empty", "cut", "a word", "NaN", "UTF-16", "too deep", "two documents"],
)
def test_what_is_no_json_is_refused_by_name(data):
    with pytest.raises(ReportFormatError, match=r"^my file is not JSON"):
        parse_json(data, what="my file")


@pytest.mark.parametrize("data", [b"[]", b"null", b'{"cases": []}'])
def test_json_that_is_no_report_is_refused(data):
    with pytest.raises(ReportFormatError, match="no stored report"):
        read_json(data, what="it")
