import msgspec
import pytest

from calipers.comparison.comparison import compare_reports
from calipers.comparison.flips import flips_of
from calipers.data.trace import ToolCall, Trace, Turn


def flips(baseline, candidate):
    """The flips between two runs whose cases are given as the passes of their attempts."""
    pairs = enumerate(zip(baseline, candidate, strict=True))
    return flips_of(((f"case {number}", before, after) for number, (before, after) in pairs), confidence=0.95)


def test_a_case_flips_if_most_of_its_attempts_do():
    most, few, all_, none = [1, 1, 1, 1, 0], [0, 0, 1, 0, 0], [1] * 5, [0] * 5
    found = flips([all_, few, all_, none], [none, none, most, all_])
    assert [(flip.case, flip.way) for flip in found] == [("case 0", "broken"), ("case 3", "fixed")]


def test_a_case_that_luck_explains_moved_and_is_neither_broken_nor_fixed():
    found = flips([[1, 1, 0, 0, 0], [1] * 5, [1] * 3, [0] * 5], [[1, 1, 1, 0, 0], [0] * 5, [0] * 3, [1] * 5])
    assert [(flip.case, flip.way) for flip in found] == [
        ("case 1", "broken"),
        ("case 3", "fixed"),
        ("case 2", "moved"),
        ("case 0", "moved"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "noise"),
    [
        ([1, 1, 1], [0, 0, 0], 0.1),
        ([1, 1, 1], [1, 0, 0], 0.4),
        ([1] * 10, [0] * 10, 2 / 184756),
        ([1, 1, 1], [0], 0.25),
        ([1], [0, 0], 1 / 3),
    ],
)
def test_repeats_tell_how_likely_so_large_a_change_is_by_luck(before, after, noise):
    (found,) = flips([before], [after])
    assert found.noise == pytest.approx(noise)
    assert found.basis == "attempts"


@pytest.mark.parametrize(
    ("broken", "fixed", "noise_of_broken", "noise_of_fixed"),
    [(1, 0, 1.0, None), (10, 0, 0.1, None), (10, 4, 0.5, 1.0), (5, 5, 1.0, 1.0), (0, 20, None, 0.05)],
)
def test_single_attempts_tell_how_many_flips_are_luck_at_most(broken, fixed, noise_of_broken, noise_of_fixed):
    found = flips([[1]] * broken + [[0]] * fixed + [[1]], [[0]] * broken + [[1]] * fixed + [[1]])
    by_way = {flip.way: flip.noise for flip in found}
    assert len(found) == broken + fixed
    assert by_way.get("broken") == (noise_of_broken and pytest.approx(noise_of_broken))
    assert by_way.get("fixed") == (noise_of_fixed and pytest.approx(noise_of_fixed))
    assert {flip.basis for flip in found} == {"other flips"}


def test_what_noise_explains_least_comes_first():
    found = flips([[1] * 4, [1] * 5, [1], [1, 1]], [[0] * 4, [0] * 5, [0], [0, 0]])
    assert [flip.case for flip in found] == ["case 1", "case 0", "case 2", "case 3"]


def test_runs_that_agree_have_no_flips():
    assert flips([[1], [0]], [[1], [0]]) == ()


def test_a_case_that_asserts_nothing_on_one_side_does_not_flip():
    assert flips([[1], []], [[], [0]]) == ()


def traced(record, *calls):
    record.trace = Trace(turns=[Turn(tool_call=call) for call in calls], records_calls=True)
    return record


def test_a_flip_shows_the_first_attempt_that_came_out_as_its_case_did(attempt, report_of):
    one = report_of(
        [
            traced(attempt("a", repeat="1/3", ok=False), ToolCall("wrong")),
            traced(attempt("a", repeat="2/3", ok=True), ToolCall("book", {"n": 1})),
            traced(attempt("a", repeat="3/3", ok=True), ToolCall("other")),
        ]
    )
    two = report_of(
        [traced(attempt("a", repeat=f"{k}/3", ok=False), ToolCall("book", {"n": k + 1})) for k in (1, 2, 3)]
    )
    (flip,) = compare_reports(one, two).flips
    assert (flip.baseline_attempt, flip.candidate_attempt) == (2, 1)
    (change,) = flip.trace.steps[0].changes
    assert (change.path, change.baseline, change.candidate) == ("arguments.n", 1, 2)
    chosen = compare_reports(one, two, evaluators=["ok"]).flips[0]
    assert chosen == flip


def test_a_flip_tells_why_evaluators_changed_their_mind(attempt, report_of):
    old, new = attempt("a", ok=True), attempt("a", lost=["ok"], ok=True, other=True)
    old.results = (msgspec.structs.replace(old.results[0], reason="fine"),)
    (flip,) = compare_reports(report_of([old]), report_of([new])).flips
    (said,) = flip.assertions
    assert (said.baseline, said.baseline_reason) == (True, "fine")
    assert (said.candidate, said.candidate_reason) == (None, "TimeoutError: slow")


@pytest.mark.parametrize(
    ("before", "after", "gap"),
    [
        (False, False, "no traces"),
        (True, False, "no candidate trace"),
        (False, True, "no baseline trace"),
        (True, True, None),
    ],
)
def test_traces_that_are_missing_are_never_called_the_same(attempt, report_of, before, after, gap):
    old, new = attempt("a", ok=True), attempt("a", ok=False)
    for record, there in ((old, before), (new, after)):
        if there:
            traced(record, ToolCall("book"))
    (flip,) = compare_reports(report_of([old]), report_of([new])).flips
    assert flip.trace_gap == gap
    assert (flip.trace is None) == (gap is not None)


def test_traces_that_are_too_long_are_not_compared_and_the_others_still_are(attempt, report_of):
    sides = [
        report_of(
            [
                traced(attempt("long", ok=ok), *(ToolCall("step", {"n": n + ok}) for n in range(500))),
                traced(attempt("short", ok=ok), ToolCall("book")),
            ]
        )
        for ok in (True, False)
    ]
    assert {flip.case: flip.trace_gap for flip in compare_reports(*sides).flips} == {
        "long": "too long",
        "short": None,
    }
