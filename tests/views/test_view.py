"""What a view of one's own may be, and what becomes of one that fails."""

import asyncio
import json
import warnings
from pathlib import Path

import pytest

from calipers import Report
from calipers.errors import ViewError
from calipers.views.view import is_view, use_view, writes_itself

REPORT = Report(name="answer", cases=[])


def title(report):
    return f"{report.name}\n"


class Folder:
    """Writes more than one file."""

    def write(self, report, path):
        Path(path).mkdir()
        for name in ("a.txt", "b.txt"):
            (Path(path) / name).write_text(report.name, encoding="utf-8")


class Both(Folder):
    def __call__(self, report):
        raise AssertionError("write comes first")


def raising(error):
    def view(report, path=None):
        raise error

    return view


def writer(function):
    return type("Writer", (), {"write": lambda self, report, path: function(report, path)})()


async def later(report, path=None):
    return "text"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (title, True),
        (str, True),
        (Folder(), True),
        (Both(), True),
        (Folder, False),
        ("text", False),
        (None, False),
        (5, False),
        (type("Odd", (), {"write": "not a method"})(), False),
    ],
    ids=["function", "type", "writer", "both", "class of writers", "text", "none", "number", "odd"],
)
def test_a_view_is_a_function_or_an_object_with_write(value, expected):
    assert is_view(value) is expected
    assert writes_itself(value) is isinstance(value, Folder)


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ("", b""),
        ("é\n", "é\n".encode()),
        ("lone \ud800 surrogate", rb"lone \ud800 surrogate"),
        (b"\x89PNG\xff", b"\x89PNG\xff"),
    ],
    ids=["empty", "text", "surrogate", "bytes"],
)
def test_text_and_bytes_are_the_content_of_a_file(content, data):
    assert use_view("mine", lambda report: content, REPORT, "unused") == data


@pytest.mark.parametrize("kind", [Folder, Both])
def test_an_object_with_write_does_all_of_it(kind, tmp_path):
    assert use_view("mine", kind(), REPORT, str(tmp_path / "site")) is None
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda report: None, "must return text or bytes, got None"),
        (lambda report: ["a line"], r"must return text or bytes, got \['a line'\]"),
        (lambda report: float("nan"), "must return text or bytes, got nan"),
        (lambda: "text", "failed: TypeError"),
        (lambda report: json.loads("{"), "failed: JSONDecodeError"),
        (raising(SystemExit(3)), "failed: SystemExit: 3"),
        (raising(asyncio.CancelledError()), "failed: CancelledError"),
        (raising(OSError(28, "No space left")), "failed: OSError"),
        (later, "is async: make it an ordinary function"),
        (writer(raising(ValueError("no"))), "failed: ValueError: no"),
        (writer(raising(FileNotFoundError(2, "none"))), "failed: FileNotFoundError"),
        (writer(later), "is async: make it an ordinary function"),
    ],
)
def test_a_view_that_fails_is_told_by_its_name(view, message):
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ViewError, match=f"the view 'mine' {message}"),
    ):
        use_view("mine", view, REPORT, "unused")


def test_ctrl_c_goes_through():
    with pytest.raises(KeyboardInterrupt):
        use_view("mine", raising(KeyboardInterrupt()), REPORT, "unused")


@pytest.mark.parametrize(
    ("kind", "content"), [(lambda each: each, b"drawn"), (writer, None)], ids=["drawn", "written"]
)
def test_what_a_view_prints_is_not_what_it_draws(kind, content, capsys):
    def chatty(report, path=None):
        print("drawing")
        return "drawn"

    assert use_view("mine", kind(chatty), REPORT, "-") == content
    assert capsys.readouterr() == ("", "drawing\n")
