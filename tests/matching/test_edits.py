"""The edit script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.matching import MatchOptions, Regex, match_calls
from calipers.matching.edits import Edit, script_text

CALLS = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from("fgh"),
        st.dictionaries(st.sampled_from("ab"), st.integers(1, 2), max_size=1),
    ),
    max_size=5,
)
MODES = st.sampled_from(["exact", "contiguous", "in_order", "unordered", "superset", "subset"])


def script(expected, actual, **options):
    def calls(text):
        return [ToolCall(name) for name in text] if isinstance(text, str) else text

    return match_calls(calls(expected), calls(actual), **options).edit_script().splitlines()


@given(CALLS, CALLS.filter(bool), MODES)
def test_the_edits_make_the_expected_calls_of_the_actual_ones(actual, expected, mode):
    match = match_calls(expected, actual, mode=mode)
    made = {}
    for edit in match.edits:
        if edit.expected_index is None:
            assert edit.kind in {"remove", "allow"}
            continue
        kept = edit.kind in {"keep", "move"}
        made[edit.expected_index] = edit.actual if kept else edit.expected
        assert edit.expected is expected[edit.expected_index]
    assert [made[index] for index in range(len(expected))] == expected


@given(CALLS, CALLS.filter(bool), MODES)
def test_every_call_is_edited_once(actual, expected, mode):
    edits = match_calls(expected, actual, mode=mode).edits
    assert sorted(e.expected_index for e in edits if e.expected_index is not None) == list(
        range(len(expected))
    )
    assert sorted(e.actual_index for e in edits if e.actual_index is not None) == list(range(len(actual)))


@given(CALLS, CALLS.filter(bool), MODES)
def test_a_match_passes_exactly_when_nothing_needs_an_edit(actual, expected, mode):
    match = match_calls(expected, actual, mode=mode)
    assert match.passed is all(edit.kind in {"keep", "allow"} for edit in match.edits)


@given(CALLS, CALLS.filter(bool))
def test_where_the_order_counts_edits_follow_the_actual_calls(actual, expected):
    edits = match_calls(expected, actual, mode="exact").edits
    indexes = [edit.actual_index for edit in edits if edit.actual_index is not None]
    assert indexes == sorted(indexes)


def test_each_kind_of_edit_has_its_mark():
    expected = [
        ToolCall("search", {"q": "x"}),
        ToolCall("book", {"to": "SF", "day": 3}),
        ToolCall("pay"),
        ToolCall("mail", {"to": Regex("@")}),
        ToolCall("done"),
    ]
    actual = [
        ToolCall("done"),
        ToolCall("search", {"q": "x"}),
        ToolCall("book", {"to": "LA", "seat": 1}),
        ToolCall("log"),
        ToolCall("mail", {"to": "bob"}),
    ]
    assert script(expected, actual) == [
        "↕ done(): too early, expected after mail(to=Regex('@'))",
        "✓ search(q='x')",
        "~ book(to='LA', seat=1)",
        "    to: expected 'SF', got 'LA'",
        "    day: missing, expected 3",
        "    seat: unexpected, got 1",
        "- missing pay()",
        "+ unexpected log()",
        "~ mail(to='bob')",
        "    to: expected a match of '@', got 'bob'",
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "lines"),
    [
        ("ab", "xaby", "in_order", ["· also called: x()", "✓ a()", "✓ b()", "· also called: y()"]),
        (
            "ab",
            "xaxby",
            "contiguous",
            ["· also called: x()", "✓ a()", "+ unexpected x()", "✓ b()", "· also called: y()"],
        ),
        ("ab", "bxa", "superset", ["✓ a()", "✓ b()", "· also called: x()"]),
        ("ab", "bx", "subset", ["· not called: a()", "✓ b()", "+ unexpected x()"]),
        ("ab", "bx", "unordered", ["- missing a()", "✓ b()", "+ unexpected x()"]),
        ("abc", "bca", "exact", ["✓ b()", "✓ c()", "↕ a(): too late, expected before b()"]),
        ("ab", "", "exact", ["- missing a()", "- missing b()"]),
        ("", "ab", "exact", ["+ unexpected a()", "+ unexpected b()"]),
        ("", "", "exact", []),
    ],
)
def test_the_mode_says_what_is_left_as_it_is(expected, actual, mode, lines):
    assert script(expected, actual, mode=mode) == lines


def test_runs_of_calls_that_need_no_edit_are_folded():
    assert script("a" * 50 + "b" + "c" * 3, "a" * 50 + "c" * 3) == [
        "✓ … 50 calls as expected",
        "- missing b()",
        "✓ c()",
        "✓ c()",
        "✓ c()",
    ]
    assert script("a", "x" * 9 + "a", mode="in_order") == ["· … 9 calls that the mode allows", "✓ a()"]


def test_a_long_script_is_cut_where_one_says():
    match = match_calls([ToolCall("a")], [ToolCall("x", {"n": n}) for n in range(100)])
    assert len(match.edit_script().splitlines()) == 41
    assert match.edit_script(limit=2).splitlines()[1:] == ["+ unexpected x(n=0)", "… and 99 more"]
    assert len(match.edit_script(limit=None).splitlines()) == 101


def test_many_differences_of_one_call_are_cut():
    expected = ToolCall("f", {f"a{n}": n for n in range(20)})
    lines = script([expected], [ToolCall("f")])
    assert len(lines) == 10
    assert lines[-1] == "    … and 12 more differences"


def test_hostile_calls_cannot_write_lines_of_their_own():
    actual = [ToolCall("f\n✓ g()", {"a\n✓": "\n✓ h()\x1b[31m", "b": "\u202e"})]
    text = match_calls([ToolCall("f")], actual).edit_script()
    assert text.splitlines() == [
        "- missing f()",
        "+ unexpected 'f\\n✓ g()'('a\\n✓'='\\n✓ h()\\x1b[31m', b='\\u202e')",
    ]


def test_an_edit_tells_what_it_is_about():
    (edit,) = match_calls([ToolCall("f", {"a": 1})], [ToolCall("f", {"a": 2})]).edits
    assert (edit.kind, edit.expected_index, edit.actual_index) == ("change", 0, 0)
    assert [difference.path for difference in edit.differences] == ["a"]


def test_a_moved_call_between_moved_calls_is_out_of_order():
    edit = Edit(kind="move", actual=ToolCall("f"), expected=ToolCall("f"), place="out of order")
    assert script_text([edit], None) == "↕ f(): out of order"


def test_options_travel_as_one_value():
    options = MatchOptions(mode="superset")
    assert match_calls(["a"], ["b", "a"], options).edit_script() == "✓ a()\n· also called: b()"
