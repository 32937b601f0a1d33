import pytest

from calipers.comparison.evaluator_changes import ChangedEvaluator, ComparedEvaluators
from calipers.data.result import SkippedEvaluation


def held(*pairs):
    """What is known after these attempts of both runs."""
    found = ComparedEvaluators()
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
    assert held(*pairs[:150]).changed("ok") == []
    found = held(*pairs)
    assert (found.is_same("ok"), found.is_same(None), found.differing("ok")) == (True, True, None)
    for name in ("ok", None):
        changed = found.changed(name)
        assert {each.case for each in changed} == {f"case {n}" for n in range(150, 300)}
        assert (changed[0].baseline, changed[0].candidate) == (("ok(value=150)",), ("ok(value='x')",))
        assert found.is_apart("case 150", name)
        assert not found.is_apart("case 149", name)


def test_a_difference_that_leaves_no_case_alike_concerns_the_whole_run(attempt):
    pairs = [
        tuple(attempt(f"case {n}", ok=True, arguments={"value": f"{side} {n}"}) for side in "ab")
        for n in range(5)
    ]
    found = held(*pairs)
    said = "ok(value='a 0'), ok(value='a 1'), ok(value='a 2') and 2 more in the baseline"
    assert said in found.differing("ok")
    assert said in found.differing_assertions()["ok"]
    assert (found.changed("ok"), found.changed(None)) == ([], [])


def test_a_shared_evaluator_that_is_mostly_skipped_concerns_the_whole_run(attempt):
    """Where it is skipped, too, another version may have had something to say."""
    same = attempt("a", ok=True, skipped=["rare"])
    old, new = attempt("b", rare=False), attempt("b", rare=True, version="2")
    for each in (old, new):
        each.results = (*each.results, same.results[0])
    found = held((same, same), (old, new))
    assert list(found.differing_assertions()) == ["rare"]
    assert not found.is_same(None)
    assert found.is_same("ok")


def test_two_cases_that_swap_their_evaluators_are_not_judged_alike(attempt):
    one, two = (attempt(name, ok=True, arguments={"value": name}) for name in "ab")
    assert held((one, one), (two, two)).is_same("ok")
    assert not held((one, two), (two, one)).is_same("ok")
    third = attempt("c", ok=True)
    assert [each.case for each in held((one, two), (two, one), (third, third)).changed("ok")] == ["a", "b"]


@pytest.mark.parametrize("lost", [{"error": "ValueError"}, {"lost": ("rare",)}], ids=["task", "evaluator"])
def test_what_was_lost_is_no_other_evaluator(attempt, lost):
    one, two = attempt("a", ok=True), attempt("b", rare=True)
    found = held((one, one), (two, attempt("b", rare=True, **lost)))
    assert found.lone_assertions() == ([], [])
    assert found.is_same(None)
    assert not found.is_same("rare")


def test_a_crash_does_not_miss_an_evaluator_that_would_have_skipped_the_case(attempt):
    """What crashed names the evaluators that would have judged it; one that needs an expectation is none of them."""
    one = attempt("a", ok=True, rare=True)
    finished, crashed = attempt("b", ok=True, skipped=("rare",)), attempt("b", error="ValueError", ok=True)
    for pair in ((finished, crashed), (crashed, finished)):
        found = held((one, one), pair)
        assert (found.lone_assertions(), found.changed(None)) == (([], []), [])
    gone = held((one, one), (attempt("b", ok=True, rare=True), crashed))
    assert [each.case for each in gone.changed(None)] == ["b"]


def test_what_only_one_run_asserts_is_named(attempt):
    one, two = attempt("a", ok=True, brief=True, size=1.0), attempt("a", ok=True)
    assert held((one, two)).lone_assertions() == (["'brief'"], [])
    assert held((two, one)).lone_assertions() == ([], ["'brief'"])
    assert not held((one, two)).is_same(None)


def test_an_evaluator_that_is_gone_from_one_case_is_named_with_it(attempt):
    one, two = (attempt(name, ok=True, brief=True) for name in "ab")
    found = held((one, one), (two, attempt("b", ok=True)))
    assert found.lone_assertions() == ([], [])
    for name in ("brief", None):
        assert found.changed(name) == [ChangedEvaluator(case="b", name="brief", baseline=("brief()",))]
    assert found.is_same(None)
    skipped = attempt("b", ok=True)
    skipped.skipped = (SkippedEvaluation("brief", "does not apply"),)
    found = held((one, one), (two, skipped))
    assert (found.lone_assertions(), found.changed(None)) == (([], []), [])


def test_without_a_common_case_all_are_held_against_all(attempt):
    assert not ComparedEvaluators().is_same(None)
    found = ComparedEvaluators.of([])
    assert (found.differing("ok"), found.lone_assertions()) == (None, ([], []))
