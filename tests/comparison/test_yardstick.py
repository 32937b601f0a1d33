import pytest

from calipers.comparison.yardstick import Yardstick
from calipers.result import SkippedEvaluation


def held(*pairs):
    """What is known after these attempts of both runs."""
    found = Yardstick()
    for one, two in pairs:
        found.add([one], [two])
    return found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"version": "2"}, "ok() in the baseline, ok() version 2 in the candidate"),
        ({"arguments": {"k": 1}}, "ok() in the baseline, ok(k=1) in the candidate"),
    ],
    ids=["same", "version", "arguments"],
)
def test_evaluators_that_differ_are_told_apart(attempt, changes, words):
    found = held((attempt("a", ok=True), attempt("a", ok=True, **changes)))
    assert found.differing("ok") == words
    assert found.is_same("ok") == found.is_same(None) == (words is None)


def test_cases_with_evaluators_of_their_own_are_compared_one_by_one(attempt):
    pairs = [
        tuple(attempt(f"case {n}", ok=True, arguments={"value": text}) for text in (n, n if n < 150 else "x"))
        for n in range(300)
    ]
    assert held(*pairs[:150]).is_same("ok")
    assert "ok(value=150), ok(value=151), ok(value=152) and 147 more in the baseline" in (
        held(*pairs).differing("ok") or ""
    )


def test_two_cases_that_swap_their_evaluators_are_not_judged_alike(attempt):
    one, two = (attempt(name, ok=True, arguments={"value": name}) for name in "ab")
    assert held((one, one), (two, two)).is_same("ok")
    assert not held((one, two), (two, one)).is_same("ok")


@pytest.mark.parametrize("lost", [{"error": "ValueError"}, {"lost": ("rare",)}], ids=["task", "evaluator"])
def test_what_was_lost_is_no_other_yardstick(attempt, lost):
    one, two = attempt("a", ok=True), attempt("b", rare=True)
    found = held((one, one), (two, attempt("b", rare=True, **lost)))
    assert found.lone_assertions() == ([], [])
    assert found.is_same(None)
    assert not found.is_same("rare")


def test_what_only_one_run_asserts_is_named(attempt):
    one, two = attempt("a", ok=True, brief=True, size=1.0), attempt("a", ok=True)
    assert held((one, two)).lone_assertions() == (["'brief'"], [])
    assert held((two, one)).lone_assertions() == ([], ["'brief'"])
    assert not held((one, two)).is_same(None)


def test_an_evaluator_that_is_gone_from_one_case_is_named_with_it(attempt):
    one, two = (attempt(name, ok=True, brief=True) for name in "ab")
    found = held((one, one), (two, attempt("b", ok=True)))
    assert found.lone_assertions() == (["'brief' on case 'b'"], [])
    skipped = attempt("b", ok=True)
    skipped.skipped = (SkippedEvaluation("brief", "does not apply"),)
    assert held((one, one), (two, skipped)).lone_assertions() == ([], [])


def test_without_a_common_case_all_are_held_against_all(attempt):
    assert not Yardstick().is_same(None)
    found = Yardstick.of([])
    assert (found.differing("ok"), found.lone_assertions()) == (None, ([], []))
