"""JSON as other programs write it."""

import math

import pytest

from calipers.errors import ReportFormatError
from calipers.exchange.found_run import read_document


def test_numbers_that_json_has_no_word_for_are_read():
    found = read_document(b'\xef\xbb\xbf{"a": NaN, "b": -Infinity}', "it")
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it is not JSON"),
        (b'{"a": 1,\n "b"}', r"it is not JSON \(.*line 2 column 5"),
        (b"\xff\xfe{}", "it is not JSON"),
        (b"[" * 100_000, "it is (not JSON|nested too deeply)"),
    ],
)
def test_what_is_not_json_is_told_with_its_place(data, says):
    with pytest.raises(ReportFormatError, match=says):
        read_document(data, "it")
