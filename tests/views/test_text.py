import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from calipers.views.text import ellipsis, fit, fit_value, visible

any_text = st.text(st.characters())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, even [red]markup[/] and :smile:", "plain text, even [red]markup[/] and :smile:"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]8;;https://example.org\x1b\\link", r"\x1b]8;;https://example.org\x1b\link"),
        ("over\rwritten", r"over\rwritten"),
        ("two\nlines\tand a tab", r"two\nlines\tand a tab"),
        ("bell \x07, null \x00, delete \x7f, C1 \x9b31m", r"bell \x07, null \x00, delete \x7f, C1 \x9b31m"),
        ("evil \u202etxt.exe", r"evil \u202etxt.exe"),
        ("isolate \u2066x\u2069", r"isolate \u2066x\u2069"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028separator", r"line\u2028separator"),
        ("no-break\xa0space", r"no-break\xa0space"),
        ("lone \ud800 surrogate", r"lone \ud800 surrogate"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("variation \ufe0f\U000e0100", r"variation \ufe0f\U000e0100"),
        ("filler \u3164\u115f", r"filler \u3164\u115f"),
        ("e\u0301 has one mark", "e\u0301 has one mark"),
        ("z" + "\u0336" * 5, "z" + "\u0336" * 3 + r"\u0336\u0336"),
        ("\u0301 begins with a mark", r"\u0301 begins with a mark"),
        ("\x00\u0301", r"\x00\u0301"),
        ("日本語, नमस्ते, שלום, 👍", "日本語, नमस्ते, שלום, 👍"),
    ],
)
def test_what_cannot_be_seen_as_it_is_becomes_an_escape(text: str, shown: str):
    assert visible(text) == shown


@given(any_text)
def test_visible_text_is_printable_and_making_it_visible_again_changes_nothing(text: str):
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown


@given(st.text(st.sampled_from("a\u0301\u0336\u0903\u1161 ")))
def test_no_letter_carries_more_than_three_marks(text: str):
    run = 3
    for character in visible(text):
        run = run + 1 if cell_len(character) == 0 else 0
        assert run <= 3


@given(any_text, st.sampled_from(["ascii", "latin-1", "cp1252", "cp437", "shift_jis", "no-such-encoding"]))
def test_visible_text_can_be_written_in_the_encoding(text: str, encoding: str):
    shown = visible(text, encoding=encoding)
    known = "ascii" if encoding == "no-such-encoding" else encoding
    assert shown.encode(known).decode(known) == shown
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "é…"), ("latin-1", r"é\u2026"), ("ascii", r"\xe9\u2026")]
)
def test_an_encoding_keeps_the_characters_it_knows(encoding: str, shown: str):
    assert visible("é…", encoding=encoding) == shown


@given(any_text, st.integers(1, 60), st.sampled_from(["utf-8", "ascii"]))
def test_fitted_text_is_never_wider_than_asked(text: str, width: int, encoding: str):
    shown = fit(text, width, encoding=encoding)
    assert cell_len(shown) <= width
    assert shown.isprintable()


@given(any_text)
def test_text_that_fits_is_not_cut(text: str):
    assert fit(text, cell_len(visible(text)) or 1) == visible(text)


def test_cut_text_ends_with_an_ellipsis_and_its_length_where_much_is_missing():
    assert fit("abcdefghij", 8) == "abcdefg…"
    assert fit("abcdefghij", 8, encoding="ascii") == "abcde..."
    assert fit("x" * 12_345, 63) == "x" * 42 + "… (12,345 characters)"
    assert fit("日本語日本語", 6) == "日本…"


@pytest.mark.parametrize(("width", "shown"), [(1, "…"), (2, "a…"), (3, "abc")])
def test_the_narrowest_widths_still_say_that_something_was_cut(width: int, shown: str):
    assert fit("abc", width) == shown


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Escaping:
    def __repr__(self) -> str:
        return "\x1b[2J\n[red]"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "'text'"),
        ("1", "'1'"),
        (1, "1"),
        (None, "None"),
        ({"a": [1, 2]}, "{'a': [1, 2]}"),
        ("tab\there", r"'tab\there'"),
        (Unprintable(), "<Unprintable whose repr failed>"),
        (Escaping(), r"\x1b[2J\n[red]"),
    ],
)
def test_values_look_as_python_would_print_them(value: Any, shown: str):
    assert fit_value(value, 60) == shown


def test_a_large_string_is_shown_by_its_beginning_and_its_own_length():
    end = "… (1,000,000 characters)"
    assert fit_value("x" * 1_000_000, 72) == "'" + "x" * (71 - len(end)) + end


@given(any_text | st.binary() | st.lists(any_text), st.integers(1, 60))
def test_values_are_never_wider_than_asked(value: Any, width: int):
    shown = fit_value(value, width)
    assert cell_len(shown) <= width
    assert not any(unicodedata.category(character)[0] == "C" for character in shown)


def test_the_ellipsis_is_one_that_the_encoding_has():
    assert ellipsis("utf-8") == ellipsis("UTF_8") == "…"
    assert ellipsis("ascii") == ellipsis("cp1252") == "..."
