"""Failures that are alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.report.complaints import mask
from calipers.views.terminal import causes, report_text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("expected 'Lima', got \"it's\"", "expected <…>, got <…>"),
        ("expected {'a': [1, {'b': '}'}]}, got None", "expected <…>, got None"),
        ("score 0.31", "score <…>"),
        ("took 1.5e-3 s, more than 2 s", "took <…> s, more than <…> s"),
        ("the user's id 3f2a-11 isn't known", "the user's id <…> isn't known"),
        ("missing keys 'a', 'b', 3", "missing keys <…>"),
        ("ValueError: line 3:\n  bad", "ValueError: line <…>: bad"),
        ("user_123 and req-9f: no", "<…> and <…>: no"),
        ("cut 'in the mid", "cut <…>"),
        ("got b'raw'", "got <…>"),
        ("did not hold", "did not hold"),
    ],
)
def test_what_differs_from_case_to_case_is_masked(text, masked):
    assert mask(text) == masked


@given(st.text())
def test_any_text_can_be_masked_and_masking_again_changes_nothing(text):
    assert mask(mask(text)) == mask(text)


def failed(records, *reasons, name="Equal", **fields):
    return [
        records.case(f"c{i}", records.result(name, False, reason), **fields)
        for i, reason in enumerate(reasons)
    ]


def test_three_cases_of_which_the_same_was_said_are_a_group(records):
    attempts = [*failed(records, "got 'a'", "got 'b'", "got 7", "none"), records.failure("boom")]
    (cause,) = causes(attempts)
    assert (cause.text, cause.cases) == ("Equal: got <…>", ["c0", "c1", "c2"])
    assert causes(attempts[1:]) == [], "two stand below each other anyway"


def test_repeats_of_one_case_are_one_case(records):
    attempts = failed(records, "no", "no", "no", source_case_name="one")
    assert causes(attempts) == []


def test_failed_tasks_are_grouped_by_their_error_however_often_they_were_tried(records):
    attempts = [records.failure(f"c{i}", f"TimeoutError: {i} s", tries=i) for i in range(1, 5)]
    attempts.append(records.failure("other", "KeyError: 5 s"))
    (cause,) = causes(attempts)
    assert (cause.text, len(cause.records)) == ("TimeoutError: <…> s", 4)


def test_the_terminal_names_the_cases_of_each_group(records):
    report = records.report(*failed(records, *(f"expected {i}, got {i + 1}" for i in range(60))))
    text = report_text(report, width=80)
    assert "Failures that are alike\n60 cases: Equal: expected <…>, got <…>\n    c0, c1, c2," in text
    assert " and " in text.partition("Did not pass")[0].partition("alike")[2]
    assert "alike" not in report_text(report, include_cases=False)


def test_an_encoding_without_the_ellipsis_shows_dots(records):
    from io import StringIO

    from rich.console import Console

    from calipers.views.terminal import render_report

    class Ascii(StringIO):
        encoding = "ascii"

    file = Ascii()
    report = records.report(*failed(records, "got 1", "got 2", "got 3"))
    Console(file=file, width=80, color_system=None, legacy_windows=False).print(render_report(report))
    assert "3 cases: Equal: got <...>" in file.getvalue()
