from pathlib import Path

import pytest

from calipers.errors import InvalidOptionError
from calipers.files.format import format_of


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.yaml", "yaml"),
        ("a.YML", "yaml"),
        ("a.b.json", "json"),
        ("a.jsonl", "jsonl"),
        ("a.csv", "csv"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_suffix_tells_the_format(name, form):
    assert format_of(Path(name)) == form
    assert format_of(Path("data.txt"), form) == form


def test_what_names_no_format_is_an_error_with_the_way_out():
    with pytest.raises(
        InvalidOptionError, match=r"'data\.txt' does not tell its format: end it with \.yaml, .*format="
    ):
        format_of(Path("data.txt"))
    with pytest.raises(InvalidOptionError, match=r"format must be one of yaml, json, .* got 'xml'"):
        format_of(Path("a.yaml"), "xml")
