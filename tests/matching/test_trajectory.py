"""A trajectory as a specification, and what a match tells."""

import pytest

from calipers import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import (
    AtMost,
    Before,
    CallRules,
    Either,
    Flow,
    InOrder,
    Never,
    Optionally,
    Repeated,
    Trajectory,
)

BOOKING = Trajectory(
    ["search", Either(ToolCall("book", {"to": "LA"}), "waitlist"), Optionally("notify")],
    constraints=[Never("delete"), AtMost("search", 2), Flow("search", "book", "flight")],
    extra="forbidden",
)


def test_a_path_that_follows_it_is_all_ticks():
    match = BOOKING.match(
        [
            ToolCall("search", {"q": "x"}, output={"flights": [{"id": "X9"}]}),
            ToolCall("book", {"to": "LA", "flight": "X9"}),
            ToolCall("notify"),
        ]
    )
    assert match.passed
    assert match.edit_script == "✓ 1. search(q='x')\n✓ 2. book(to='LA', flight='X9')\n✓ 3. notify()"


def test_the_alternative_that_fits_is_taken():
    match = BOOKING.match([ToolCall("search"), ToolCall("waitlist")])
    assert match.passed
    assert [str(fitted.step) for fitted in match.steps] == ["search(…)", "waitlist(…)", "notify(…)"]


def test_the_edit_script_says_what_would_have_to_change():
    match = BOOKING.match(
        [ToolCall("book", {"to": "SF", "flight": "X7"}), ToolCall("search"), ToolCall("delete")]
    )
    assert not match.passed
    assert 0 < match.score < 1
    assert match.edit_script.splitlines() == [
        "+ 1. unexpected book(to='SF', flight='X7')",
        "✓ 2. search()",
        "+ 3. unexpected delete()",
        "- missing book(to='LA')",
        "✗ delete(…) was called once (call 3), and should be called never",
        "✗ flight='X7' of book (call 1) came from no earlier result of search(…)",
    ]


def test_a_near_miss_is_shown_with_its_differences_and_other_calls_are_counted():
    match = Trajectory([ToolCall("book", {"to": "LA"})]).match(
        [ToolCall("look"), ToolCall("book", {"to": "SF"})]
    )
    near, others = match.edit_script.splitlines()
    assert near.startswith("~ 2. book(to='SF'): to: ")
    assert "'LA'" in near
    assert others == "  (1 other call)"
    assert match.score == 0.5


def test_hostile_values_stay_on_one_line():
    match = Trajectory(["a"], extra="forbidden").match(
        [ToolCall("a", {"x": "one\ntwo\x1b[31m"}), ToolCall("b\nc")]
    )
    assert len(match.edit_script.splitlines()) == 2
    assert "\x1b" not in match.edit_script


def test_failed_calls_count_unless_they_should_not():
    failed = [ToolCall("pay", success=False), ToolCall("pay")]
    assert not Trajectory(["pay"], extra="forbidden").match(failed).passed
    assert Trajectory(["pay"], extra="forbidden", failed="skip").match(failed).passed
    assert Trajectory(["pay"], extra="forbidden", retried="skip").match(failed).passed
    given_up = [ToolCall("pay", {"sum": 1}, success=False), ToolCall("pay")]
    assert not Trajectory(["pay"], extra="forbidden", retried="skip").match(given_up).passed


def test_the_rules_decide_how_calls_are_compared():
    call = ToolCall("Book", {"to": "LA", "class": "economy"})
    assert not Trajectory([ToolCall("book", {"to": "LA"})]).match([call]).passed
    rules = CallRules(arguments="subset", names="ignore_case")
    assert Trajectory([ToolCall("book", {"to": "LA"})], rules=rules).match([call]).passed
    exact = CallRules(names="ignore_case")
    assert not Trajectory([ToolCall("book", {"to": "LA"})], rules=exact).match([call]).passed


@pytest.mark.parametrize(
    ("trajectory", "calls", "exercised"),
    [
        (Trajectory(constraints=[Before("a", "b")]), [], False),
        (Trajectory(constraints=[Before("a", "b")]), [ToolCall("a"), ToolCall("b")], True),
        (Trajectory(constraints=[Never("a")]), [], True),
        (Trajectory(["a"]), [], True),
        (Trajectory([Optionally("a")]), [], False),
        (Trajectory(extra="forbidden"), [], True),
    ],
)
def test_a_match_tells_whether_the_path_could_show_anything(trajectory, calls, exercised):
    assert trajectory.match(calls).exercised is exercised


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Trajectory, "asks for nothing"),
        (lambda: Trajectory("search"), "a list of steps"),
        (lambda: Trajectory([3]), "a step is"),
        (lambda: Trajectory(["a", Never("b")]), "belongs into constraints"),
        (lambda: Either(["a", "b"]), "no choice"),
        (lambda: Trajectory(["a"], constraints=["never b"]), "is no constraint"),
        (lambda: Trajectory(["a"], extra="ignored"), "one of allowed, forbidden"),
        (lambda: Trajectory(["a"], failed=False), "one of count, skip"),
        (lambda: Trajectory([[]]), "holds no steps"),
        (lambda: InOrder(), "holds no steps"),
        (lambda: Repeated("a", -1), "got -1"),
        (lambda: Repeated("a", 2, 1), "at_most=1"),
        (lambda: Trajectory(["a"]).match(["a"]), "ToolCall objects"),
        (lambda: Repeated("a", at_least=10**7), "count calls with AtLeast"),
    ],
)
def test_a_trajectory_that_cannot_be_meant_is_refused(make, says):
    with pytest.raises(InvalidOptionError, match=says):
        make()
