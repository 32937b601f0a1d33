"""Tool calls as expected outputs in dataset files."""

from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, ToolCall
from calipers.errors import DatasetFileError
from calipers.files.schema import dataset_schema

Spoken = Dataset[str, list[ToolCall], Any]
values = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3)
calls = st.builds(
    ToolCall,
    st.sampled_from(["lock", "light on"]),
    st.dictionaries(st.sampled_from("xyz"), values | st.lists(values, max_size=2), max_size=2),
    output=values,
    error=st.none() | st.just("jammed"),
    success=st.none() | st.booleans(),
    latency_ms=st.none() | st.just(2.5),
    call_id=st.none() | st.just("c1"),
    timestamp=st.none() | st.just(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
)


def told(call):
    return [getattr(call, name) for name in ToolCall.__slots__]


@given(expected=st.lists(calls, max_size=3))
def test_calls_come_back_with_all_they_say(expected, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    spoken = Spoken(name="spoken", cases=[Case(name="a", inputs="x", expected_output=expected)])
    for suffix in ("yaml", "json", "jsonl", "csv"):
        path = folder / f"cases.{suffix}"
        spoken.to_file(path, schema=False)
        (case,) = Spoken.from_file(path).cases
        assert list(map(told, case.expected_output)) == list(map(told, expected)), suffix


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("[{nam: lock}]", "a tool call has no 'nam'"),
        ("[{name: ''}]", "non-empty string"),
        ("[lock]", "a tool call has a name"),
        ("[{name: lock, arguments: [1]}]", "must be a mapping"),
        ("[{name: lock, timestamp: soon}]", "must be a datetime"),
    ],
)
def test_what_is_no_call_is_told_with_its_place(tmp_path, written, says):
    path = tmp_path / "cases.yaml"
    path.write_text(f"cases:\n- inputs: x\n  expected_output: {written}\n")
    with pytest.raises(DatasetFileError, match=says) as caught:
        Spoken.from_file(path)
    assert "cases.yaml:3:" in str(caught.value)


def test_the_schema_says_what_a_call_is_made_of():
    schema = dataset_schema(str, list[ToolCall])
    validator = jsonschema_rs.Draft202012Validator(schema)
    case = {"inputs": "x", "expected_output": [{"name": "lock", "arguments": {"door": "back"}}]}
    assert validator.is_valid({"cases": [case]})
    case["expected_output"][0]["argument"] = {}
    assert not validator.is_valid({"cases": [case]})
