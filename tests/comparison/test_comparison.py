import json
import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, as_evaluator
from calipers.comparison import Comparison, LabelMove, compare_many, compare_reports, ranks
from calipers.comparison.change import Question, change_of
from calipers.data.reuse import Reuse
from calipers.errors import InvalidOptionError, ReportFormatError
from calipers.report.incomplete import Incomplete, Stopping
from calipers.stats import holm


def test_the_headline_is_the_difference_of_the_pass_rates(judged_report):
    one, two = judged_report([[1], [0], [0], [1]]), judged_report([[1], [1], [0], [1]], name="new")
    found = compare_reports(one, two)
    assert found.paired
    assert (found.pass_rate.baseline, found.pass_rate.candidate) == (0.5, 0.75)
    assert found.pass_rate.difference == two.pass_rate().value - one.pass_rate().value
    assert (found.baseline.label, found.candidate.label) == ("run", "new")
    assert found.change() is found.pass_rate
    assert found.change("ok") is found.evaluators[0]


def test_failed_tasks_and_evaluators_count_as_in_the_report(attempt, report_of):
    one = report_of([attempt(name, ok=True) for name in "abcd"])
    two = report_of(
        [
            attempt("a", ok=True),
            attempt("b", error="ValueError", ok=True),
            attempt("c", ok=True, lost=("ok",)),
            attempt("d", ok=True),
        ]
    )
    found = compare_reports(one, two)
    assert found.pass_rate.candidate == two.pass_rate().value == 0.5
    column = found.change("ok")
    assert column.candidate == two.summaries()["ok"].estimate.value == 0.5
    assert (column.baseline_lost, column.candidate_lost) == (0, 1)
    assert column.judged_difference == pytest.approx(-1 / 3)
    assert found.candidate.failed == 1


def test_an_agent_that_crashes_on_every_case_is_compared_all_the_same(attempt, report_of):
    one = report_of([attempt(f"{place}", ok=True) for place in range(12)])
    two = report_of([attempt(f"{place}", ok=True, error="ValueError") for place in range(12)])
    found = compare_reports(one, two)
    assert (found.pass_rate.outcome, found.change("ok").outcome) == ("worse", "worse")
    assert found.change("ok").warning is None


def test_runs_over_different_cases_are_compared_as_such_and_say_so(attempt, report_of):
    one = report_of([attempt(f"a{place}", ok=True) for place in range(20)])
    two = report_of([attempt(f"b{place}", ok=False) for place in range(20)])
    found = compare_reports(one, two)
    assert not found.paired
    assert found.pass_rate.test == "fisher"
    assert found.pass_rate.one_sided_p is None
    assert found.pass_rate.outcome == "worse"
    assert "no case is the same" in found.warnings[0]
    assert found.flips == ()


def test_what_is_not_the_same_case_is_named_counted_and_left_out(attempt, report_of):
    one = report_of([attempt("a", ok=True), attempt("b", ok=True, inputs=1), attempt("c", ok=True)])
    two = report_of([attempt("a", ok=True), attempt("b", ok=False, inputs=2), attempt("d", ok=False)])
    found = compare_reports(one, two)
    assert found.pass_rate.candidate_cases == 1
    assert [case.name for case in found.pairing.changed] == ["b"]
    assert found.warnings == (
        "1 case has the same name and another content, and is left out",
        "compared on the case that both have; 1 only in run #1 and 1 only in run #2",
    )
    assert compare_reports(one, two, pair_by="name").pass_rate.candidate_cases == 2


def test_an_evaluator_that_is_not_the_same_is_compared_with_a_warning(attempt, report_of):
    one, two = (
        report_of([attempt("a", ok=True, size=1.0), attempt("b", ok=True, size=2.0)]),
        report_of(
            [attempt("a", ok=True, size=1.0, version="2"), attempt("b", ok=True, size=2.0, version="2")]
        ),
    )
    assert "ok() version 2" in compare_reports(one, two).change("ok").warning
    known = compare_reports(one, one, changed_evaluators={"ok": "its source changed"})
    assert known.change("ok").warning == "not the same evaluator: its source changed"
    assert known.change("size").warning is None


def test_p_values_are_adjusted_over_the_evaluators_and_both_are_told(attempt, report_of):
    values = {"a": [1] * 9, "b": [1] * 7 + [0] * 2, "c": [1] * 5 + [0] * 4}
    one = report_of([attempt(f"{place}", a=False, b=False, c=False) for place in range(9)])
    two = report_of(
        [attempt(f"{place}", **{name: bool(v[place]) for name, v in values.items()}) for place in range(9)]
    )
    found = compare_reports(one, two)
    raw = [change.p_value for change in found.evaluators]
    assert [change.adjusted_p for change in found.evaluators] == holm(raw)
    assert found.pass_rate.adjusted_p == found.pass_rate.p_value
    bare = compare_reports(one, two, correction="none")
    assert [change.adjusted_p for change in bare.evaluators] == raw
    bh = compare_reports(one, two, correction="bh")
    assert all(a.adjusted_p <= b.adjusted_p for a, b in zip(bh.evaluators, found.evaluators, strict=True))


def test_several_candidates_are_adjusted_together(judged_report):
    one = judged_report([[0]] * 8)
    others = [judged_report([[1]] * 8, name="b"), judged_report([[1]] * 7 + [[0]], name="c")]
    found = compare_many([one, *others])
    raw = [each.pass_rate.p_value for each in found]
    assert [each.pass_rate.adjusted_p for each in found] == holm(raw)
    assert [(each.baseline.label, each.candidate.label) for each in found] == [
        ("run", "b"),
        ("run", "c"),
        ("b", "c"),
    ]
    first = compare_many([one, *others], against_first=True)
    assert [each.candidate.label for each in first] == ["b", "c"]
    assert [each.pass_rate.adjusted_p for each in first] == holm(raw[:2])
    assert compare_reports(one, others[0]).pass_rate.adjusted_p == raw[0]


def test_labels_have_a_table_of_moves(attempt, report_of):
    one = report_of([attempt(name, mood=label) for name, label in zip("abcd", "xxyy", strict=True)])
    two = report_of([attempt(name, mood=label) for name, label in zip("abcd", "xyyy", strict=True)])
    (found,) = compare_reports(one, two).labels
    assert found.moves == (LabelMove("y", "y", 2), LabelMove("x", "x", 1), LabelMove("x", "y", 1))
    assert (found.cases, found.changed.value) == (4, 0.25)


@pytest.mark.parametrize("side", ["both", "baseline", "candidate"])
def test_labels_of_one_cluster_change_together(attempt, report_of, side):
    def labelled(where, labels):
        named = side in {where, "both"}
        return report_of(
            attempt(f"case {number}", cluster=str(number // 10) if named else None, mood=label)
            for number, label in enumerate(labels)
        )

    (found,) = compare_reports(
        labelled("baseline", "y" * 40), labelled("candidate", "x" * 10 + "y" * 30)
    ).labels
    assert (found.changed.value, found.changed.n_clusters) == (0.25, 4)
    assert found.changed.interval.width > 0.5


def test_a_repeated_case_has_the_label_it_is_given_most_often(attempt, report_of):
    one = report_of([attempt("a", repeat=k, mood=label) for k, label in enumerate("xyx")])
    two = report_of([attempt("a", repeat=k, mood=label) for k, label in enumerate("yxy")])
    (found,) = compare_reports(one, two).labels
    assert found.moves == (LabelMove("x", "y", 1),)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("cost", "lower"),
        ("cost_usd", "lower"),
        ("input_tokens", "lower"),
        ("latency_ms", "lower"),
        ("steps", None),
        ("timeliness", None),
        ("accosted", None),
    ],
)
def test_less_is_good_for_times_costs_and_tokens(attempt, report_of, name, better):
    one, two = (
        report_of([attempt(f"{place}", metrics={name: base + place}) for place in range(4)])
        for base in (1, 2)
    )
    found = compare_reports(one, two).measures
    assert [(change.name, change.better) for change in found] == [("task duration", "lower"), (name, better)]
    told = compare_reports(one, two, lower_is_better=[name]).measures
    assert told[1].better == "lower"


def test_flips_are_of_the_evaluators_that_were_chosen(attempt, report_of):
    one = report_of([attempt("a", ok=True, brief=True), attempt("b", ok=True, brief=False)])
    two = report_of([attempt("a", ok=True, brief=False), attempt("b", ok=False, brief=False)])
    assert [flip.case for flip in compare_reports(one, two).flips] == ["a"]
    assert [flip.case for flip in compare_reports(one, two, evaluators=["ok"]).flips] == ["b"]


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        ({"leaks": True}, {"leaks": False}, "fixed"),
        ({"leaks": False}, {"leaks": True}, "broken"),
        ({"leaks": False}, {"error": "Crash", "leaks": False}, "broken"),
        ({"leaks": False}, {"lost": ["leaks"], "leaks": False}, "broken"),
        ({"leaks": False, "ok": True}, {"leaks": False, "ok": False}, "broken"),
        ({"leaks": True, "ok": True}, {"leaks": False, "ok": True}, "fixed"),
        ({"leaks": True, "ok": True}, {"leaks": False, "ok": False}, None),
    ],
)
def test_a_case_is_fixed_where_what_should_not_hold_holds_no_more(attempt, report_of, before, after, way):
    rest = [attempt("rest", leaks=False, ok=True)]
    one, two = (report_of([attempt("a", **each), *rest]) for each in (before, after))
    found = compare_reports(one, two, evaluators=["leaks", "ok"], lower_is_better=["leaks"])
    assert [(flip.case, flip.way) for flip in found.flips] == ([] if way is None else [("a", way)])


def test_a_pass_rate_that_does_not_mean_the_same_is_told(attempt, report_of):
    one = report_of([attempt("a", ok=True, old=True, size=1.0)])
    two = report_of([attempt("a", ok=True, new=True, version="2")])
    assert compare_reports(one, two).pass_rate.warning == (
        "passing does not mean the same in both: 'old' only in the baseline; 'new' only in the candidate; ok not the same evaluator"
    )
    assert compare_reports(one, one).pass_rate.warning is None


def test_attempts_that_were_taken_over_are_told(attempt, report_of):
    one = report_of([attempt("a", ok=True)])
    two = report_of([attempt("a", ok=True)], name="new", reuse=Reuse(run="r1", attempts_reused=1))
    (warning,) = compare_reports(one, two).warnings
    assert warning.startswith("new took over 1 of its attempts from earlier runs")


def test_columns_that_only_one_has_are_named(attempt, report_of):
    one, two = report_of([attempt("a", ok=True, old=1.0)]), report_of([attempt("a", ok=True, new=1.0)])
    found = compare_reports(one, two)
    assert (found.baseline_only, found.candidate_only) == (("old",), ("new",))
    chosen = compare_reports(one, two, evaluators=["ok"])
    assert (chosen.pass_rate, len(chosen.evaluators), chosen.baseline_only) == (None, 1, ())


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"metrics": {"m": 10**400}}, {"metrics": {"m": 1}}, "int too large"),
        ({"metrics": {"m": math.nan}}, {"metrics": {"m": 1}}, "must be finite numbers, got nan"),
        ({"m": 1e-300}, {"m": 3e-300}, "the variance of these scores comes out as 0.0"),
    ],
    ids=["huge", "no number", "tiny"],
)
def test_a_column_whose_numbers_cannot_be_reckoned_with_is_named_and_the_others_are_compared(
    attempt, report_of, before, after, why
):
    def report(fields, last):
        return report_of([attempt("a", ok=True, **fields), attempt("b", ok=True, **last)])

    found = compare_reports(report(before, before), report(after, before))
    (warning,) = found.warnings
    assert warning.startswith("'m' cannot be compared: ")
    assert why in warning
    assert found.change("ok") is not None


def test_tasks_that_all_take_one_second_are_times_and_not_passes(attempt, report_of):
    one = report_of([attempt(name, seconds=1.0) for name in "abcdefgh"])
    two = report_of([attempt(name, seconds=math.e) for name in "abcdefgh"])
    same, slower = compare_reports(one, one).measures[0], compare_reports(one, two).measures[0]
    assert (same.outcome, same.interval) == ("identical", None)
    assert (slower.outcome, slower.difference) == ("unclear", pytest.approx(math.e - 1))
    assert (slower.baseline, slower.candidate) == (pytest.approx(1.0), pytest.approx(math.e))


@pytest.mark.parametrize(
    ("broken", "lost"),
    [
        ({"error": "Crash", "grade": 0.5}, {"score": 3, "time": 3, "metric": 3}),
        ({"lost": ["grade"]}, {"score": 3, "time": 0, "metric": 0}),
    ],
)
@pytest.mark.parametrize("side", ["baseline", "candidate", "both"])
def test_what_is_left_of_a_run_is_not_called_identical(attempt, report_of, broken, lost, side):
    def report(*, breaks):
        whole = [attempt(name, grade=0.5, metrics={"steps": 3}) for name in "abcdefgh"]
        left = {} if "error" in broken else {"metrics": {"steps": 3}}
        last = [
            attempt(name, **(broken | left if breaks else {"grade": 0.5, "metrics": {"steps": 3}}))
            for name in "xyz"
        ]
        return report_of([*whole, *last])

    found = compare_reports(report(breaks=side != "candidate"), report(breaks=side != "baseline"))
    for kind, change in zip(
        ("score", "time", "metric"), [found.change("grade"), *found.measures], strict=True
    ):
        assert change.lost_cases == lost[kind]
        assert change.outcome == ("unclear" if lost[kind] else "identical")


def test_a_repeated_case_that_lost_an_attempt_is_not_called_identical(attempt, report_of):
    whole = [attempt(name, repeat=f"{i}/2", grade=0.5) for name in "abcdefgh" for i in (1, 2)]
    broken = [*whole[:-1], attempt("h", repeat="2/2", error="Crash")]
    found = compare_reports(report_of(whole), report_of(broken)).change("grade")
    assert (found.outcome, found.lost_cases) == ("unclear", 1)


def test_a_score_that_was_never_due_is_not_lost(attempt, report_of):
    report = report_of(
        [*[attempt(name, grade=0.5) for name in "abcdefgh"], attempt("x"), attempt("y", error="Crash")]
    )
    found = compare_reports(report, report).change("grade")
    assert found.lost_cases == 1


def test_a_column_that_changed_its_kind_is_not_compared_with_itself(attempt, report_of):
    found = compare_reports(report_of([attempt("a", ok=True)]), report_of([attempt("a", ok=1.0)]))
    assert (found.baseline_only, found.candidate_only) == (("ok (assertion)",), ("ok (score)",))
    assert found.evaluators == ()


def test_attempts_that_were_lost_are_told_before_anything_is_called_the_same(attempt, report_of):
    names = [f"case {number}" for number in range(40)]
    whole = report_of((attempt(name, near=0.9) for name in names), name="old")
    easy = [attempt(name, near=0.9) for name in names[:10]]
    crashed = report_of(
        [*easy, *(attempt(name, near=0.9, error="ValueError") for name in names[10:])], name="new"
    )
    unjudged = report_of(
        [*easy, *(attempt(name, near=0.9, lost=["near"]) for name in names[10:])], name="new"
    )
    nothing = report_of((attempt(name, near=0.9, error="ValueError") for name in names), name="new")
    for pair, words in (
        ((whole, crashed), "30 of 40 attempts of new failed"),
        ((crashed, whole), "30 of 40 attempts of new failed"),
        ((whole, nothing), "40 of 40 attempts of new failed"),
        ((whole, unjudged), "0 attempts of the baseline and 30 of the candidate"),
    ):
        assert any(words in warning for warning in compare_reports(*pair).warnings)
    assert compare_reports(whole, whole).warnings == ()


def test_false_for_bad_and_a_number_for_good_is_told(attempt, report_of):
    good = report_of(attempt(f"case {number}", near=0.9) for number in range(10))
    half = report_of(attempt(f"case {number}", near=0.9 if number < 5 else False) for number in range(10))
    for pair in ((good, half), (half, good), (half, half)):
        (said,) = [each for each in compare_reports(*pair).warnings if "several kinds" in each]
        assert "'near'" in said
        assert "score" in said
        assert "assertion" in said
    assert compare_reports(half, half, evaluators=["near"]).warnings


def test_a_run_that_a_rule_could_stop_is_told(attempt, report_of):
    plain = report_of((attempt(f"case {number}", ok=True) for number in range(10)), name="plain")
    stopped = msgspec.structs.replace(
        plain, name="early", stopping=Stopping(why="decided: PASS", heard=10, total=10)
    )
    for pair in ((plain, stopped), (stopped, plain)):
        assert any("early could be stopped early" in each for each in compare_reports(*pair).warnings)


def test_a_run_that_ended_early_and_a_run_beside_itself_are_told(attempt, report_of):
    one = report_of(
        [attempt("a", ok=True)], reuse=Reuse(run="r1"), incomplete=Incomplete("interrupted", "Ctrl-C")
    )
    assert compare_reports(one, one).warnings == (
        "run #1 is incomplete: Ctrl-C",
        "run #2 is incomplete: Ctrl-C",
        "both are the same run, so nothing can differ",
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"confidence": 1.5}, "confidence"),
        ({"confidence": math.nan}, "confidence"),
        ({"correction": "bonferroni"}, "correction must be one of"),
        ({"smallest": 0}, "smallest must be a number above 0 and below 1, got 0"),
        ({"smallest": math.nan}, "smallest must be a number above 0 and below 1, got nan"),
        ({"smallest_relative": 3}, "smallest_relative must be a number above 0 and below 1, got 3"),
        ({"pair_by": "inputs"}, "pair_by must be one of"),
        ({"evaluators": ["okay"]}, "no evaluator of these reports is called 'okay'; there are 'ok'"),
        ({"lower_is_better": ["x"]}, "no score or metric of these reports is called 'x'"),
        ({"labels": ["one"]}, "every report needs its label"),
    ],
)
def test_options_out_of_their_range_are_refused(judged_report, options, match):
    one = judged_report([[1]])
    with pytest.raises(ValueError, match=match):
        compare_reports(one, one, **options)


@pytest.mark.parametrize("reports", [[], ["one"]], ids=len)
def test_a_comparison_needs_two_reports(judged_report, reports):
    with pytest.raises(InvalidOptionError, match="needs a baseline and a candidate"):
        compare_many([judged_report([[1]]) for _ in reports])


def test_what_is_no_report_is_refused(judged_report):
    with pytest.raises(
        InvalidOptionError, match=r"must be a Report, got \{\}: Dataset\.evaluate returns one"
    ):
        compare_reports(judged_report([[1]]), {})


def test_empty_reports_have_nothing_to_compare(report_of):
    found = compare_reports(report_of([]), report_of([]))
    assert (found.pass_rate, found.evaluators, found.measures, found.flips) == (None, (), (), ())


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ({}, "this is no comparison"),
        ([], "this is no comparison"),
        ({"calipers_comparison": 99}, "format version 99"),
        ({"calipers_comparison": 1, "baseline": 3}, "the comparison is damaged"),
    ],
)
def test_what_is_no_stored_comparison_is_refused(data, match):
    with pytest.raises(ReportFormatError, match=match):
        Comparison.from_dict(data)


_outcomes = st.lists(
    st.tuples(*[st.lists(st.sampled_from([True, False, "lost", "error"]), min_size=1, max_size=3)] * 2),
    min_size=1,
    max_size=6,
)


@given(_outcomes)
def test_any_comparison_survives_json_and_agrees_with_the_reports(attempt, report_of, cases):
    def side(index):
        return report_of(
            attempt(
                f"case {number}",
                repeat=place,
                ok=outcome is True,
                size=float(number),
                mood="x" if outcome is True else "y",
                lost=("ok",) if outcome == "lost" else (),
                error="ValueError" if outcome == "error" else None,
                metrics={"cost": place},
            )
            for number, case in enumerate(cases)
            for place, outcome in enumerate(case[index])
        )

    one, two = side(0), side(1)
    found = compare_reports(one, two)
    again = Comparison.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
    rates = one.pass_rate(), two.pass_rate()
    if all(rates) and found.pass_rate is not None:
        assert found.pass_rate.baseline == pytest.approx(rates[0].value)
        assert found.pass_rate.candidate == pytest.approx(rates[1].value)
    if (
        any(change.name == "ok" for change in found.evaluators)
        and one.summaries()["ok"].estimate
        and two.summaries()["ok"].estimate
    ):
        assert found.change("ok").candidate == pytest.approx(two.summaries()["ok"].estimate.value)


# ---------------------------------------------------------------------- tags


def tagged(passes, *, tags=("even", "odd"), name=str):
    """A report whose cases are tagged by turns; the inputs are the places."""
    data = Dataset(
        name="d",
        cases=[Case(name=name(i), inputs=i, tags=[tags[i % len(tags)], "all"]) for i in range(len(passes))],
        evaluators=[as_evaluator(lambda inputs: passes[inputs], name="right")],
    )
    return data.evaluate_sync(lambda inputs: inputs, progress=False)


def test_each_tag_is_compared_on_its_own_cases():
    before = tagged([True, True] * 20)
    after = tagged([True, False] * 20)
    found = {change.name: change for change in compare_reports(before, after).slices}
    assert list(found) == ["all", "even", "odd"], "the tag with the most cases first"
    assert [(each.difference, each.baseline_cases) for each in found.values()] == [
        (-0.5, 40),
        (0.0, 20),
        (-1.0, 20),
    ]
    assert (found["odd"].outcome, found["even"].outcome) == ("worse", "unclear")


def test_the_p_values_of_tags_are_adjusted_for_being_many():
    before, after = tagged([True] * 24), tagged([True, False, True, True] * 6)
    (found,) = compare_many([before, after])
    known = [change.p_value for change in found.slices]
    assert [change.adjusted_p for change in found.slices] == holm(known)
    assert found.pass_rate.adjusted_p == found.pass_rate.p_value, "the headline is a question of its own"


def test_a_pair_has_the_tags_of_both_runs():
    before, after = tagged([True] * 4, tags=("old",)), tagged([False] * 4, tags=("new",))
    assert {change.name: change.baseline_cases for change in compare_reports(before, after).slices} == {
        "all": 4,
        "new": 4,
        "old": 4,
    }


def test_runs_over_different_cases_are_compared_by_the_tags_that_both_have():
    before = tagged([True] * 6)
    after = tagged([False] * 6, tags=("even", "new"))
    for record in after.cases:
        record.inputs += 100
        record.name = f"other {record.name}"
    found = compare_reports(before, after)
    assert not found.paired
    assert {change.name: (change.baseline_cases, change.candidate_cases) for change in found.slices} == {
        "all": (6, 6),
        "even": (3, 3),
    }


def test_without_a_pass_rate_there_are_no_slices_and_of_many_tags_the_largest_are_compared():
    report = tagged([True] * 40, tags=[f"t{i}" for i in range(20)])
    assert compare_reports(report, report, evaluators=["right"]).slices == ()
    found = compare_reports(report, report).slices
    assert len(found) == 12
    assert found[0].name == "all"
    assert compare_reports(tagged([True]), tagged([True], tags=("x",))).to_dict()["slices"]


def test_times_have_no_p_value_since_one_run_on_each_side_cannot_tell_the_agent_from_the_moment(
    attempt, report_of
):
    one = report_of([attempt(f"c{n}", seconds=1 + n / 100) for n in range(60)])
    two = report_of([attempt(f"c{n}", seconds=1.33 * (1 + n / 90)) for n in range(60)])
    (found,) = compare_reports(one, two).measures
    assert (found.outcome, found.p_value, found.adjusted_p, found.one_sided_p) == ("higher", None, None, None)
    assert found.interval.low > 0.3


def test_a_comparison_says_how_many_tasks_were_in_flight_and_warns_where_that_differs(attempt, report_of):
    one, two = (report_of([attempt(f"c{n}", seconds=2.0) for n in range(60)]) for _ in range(2))
    one.duration, two.duration = 12.0, 1.2
    found = compare_reports(one, two)
    assert (found.baseline.in_flight, found.candidate.in_flight) == (10, pytest.approx(100))
    assert any("had 10 tasks in flight at once and" in warning for warning in found.warnings)
    two.duration = 11.0
    assert not any("in flight" in warning for warning in compare_reports(one, two).warnings)
    two.duration = None
    assert compare_reports(one, two).candidate.in_flight is None


# ---------------------------------------------------------------------- ranks


def runs_of(judged_report, *shares, cases=100):
    """Runs over the same cases, of which the given shares pass."""
    return [
        judged_report([[1] if case < share * cases else [0] for case in range(cases)], name=f"run {place}")
        for place, share in enumerate(shares)
    ]


def test_runs_that_differ_certainly_have_one_place_each(judged_report):
    found = compare_many(runs_of(judged_report, 0.2, 0.9, 0.5))
    assert [(rank.label, rank.best, rank.worst, rank.text) for rank in ranks(found)] == [
        ("run 1", 1, 1, "1"),
        ("run 2", 2, 2, "2"),
        ("run 0", 3, 3, "3"),
    ]


def test_runs_that_cannot_be_told_apart_share_their_places(judged_report):
    found = ranks(compare_many(runs_of(judged_report, 0.5, 0.52, 0.95, 0.5)))
    assert [(rank.label, rank.text) for rank in found] == [
        ("run 2", "1"),
        ("run 0", "2 to 4"),
        ("run 1", "2 to 4"),
        ("run 3", "2 to 4"),
    ]


def test_there_are_no_ranks_of_two_runs_nor_where_some_pairs_or_rates_are_missing(judged_report):
    reports = runs_of(judged_report, 0.2, 0.5, 0.9)
    assert ranks([compare_reports(*reports[:2])]) == []
    assert ranks(compare_many(reports, against_first=True)) == []
    assert ranks(compare_many(reports, evaluators=["ok"])) == []
    assert ranks([]) == []


def test_intervals_of_several_pairs_are_wider_and_say_at_which_confidence_all_hold(judged_report):
    reports = runs_of(judged_report, 0.4, 0.5, 0.6)
    alone, (together, *_) = compare_reports(*reports[:2]), compare_many(reports)
    assert together.pass_rate.interval.width > alone.pass_rate.interval.width
    assert together.pass_rate.interval.confidence == alone.pass_rate.interval.confidence == 0.95
    assert together.evaluators[0].interval.width > alone.evaluators[0].interval.width
    assert (alone.at_once, together.at_once) == (1, 3)
    exact = compare_reports(*reports[:2], confidence=1 - 0.05 / 3)
    assert together.pass_rate.interval.low == exact.pass_rate.interval.low


def test_what_a_store_knows_is_given_for_each_report(judged_report):
    with pytest.raises(InvalidOptionError, match="needs one entry per report: got 3 and 2 entries"):
        compare_many(runs_of(judged_report, 0.2, 0.5, 0.9), known_evaluators=[None, None])


def simulated(draw, rates, cases, doubt=0.05):
    """The changes of all pairs of runs whose cases pass with these chances, and the true differences."""
    pairs = [(one, two) for one in range(len(rates)) for two in range(one + 1, len(rates))]
    passed = []
    for rate in rates:
        # Hard and easy cases: the runs agree on many, as agents do.
        chances = [min(1.0, rate * (0.2 if case % 3 == 0 else 1.4)) for case in range(cases)]
        passed.append([(float(draw.random() < chance),) for chance in chances])
    truth = [
        sum(min(1.0, rate * (0.2 if case % 3 == 0 else 1.4)) for case in range(cases)) / cases
        for rate in rates
    ]
    found = [
        change_of(
            Question(
                name="pass rate",
                kind="pass rate",
                baseline=passed[one],
                candidate=passed[two],
                paired=True,
                smallest=0.03,
                smallest_relative=0.1,
                confidence=1 - doubt / len(pairs),
            )
        )
        for one, two in pairs
    ]
    return found, [truth[two] - truth[one] for one, two in pairs]


@pytest.mark.parametrize(("rates", "cases"), [((0.6, 0.6, 0.6), 60), ((0.5, 0.5, 0.5, 0.5), 100)])
def test_among_equal_runs_any_false_alarm_is_as_rare_as_one_would_be(rates, cases):
    draw, rounds = random.Random(1), 400
    alarms = misses = 0
    for _ in range(rounds):
        found, truth = simulated(draw, rates, cases)
        alarms += any(p <= 0.05 for p in holm([change.p_value for change in found]))
        misses += any(
            not change.interval.low <= true <= change.interval.high
            for change, true in zip(found, truth, strict=True)
        )
    # 5 % of 400 is 20; 31 is two and a half standard deviations above.
    assert alarms <= 31
    assert misses <= 31


def test_intervals_hold_together_where_runs_differ():
    draw, rounds = random.Random(2), 400
    misses = 0
    for _ in range(rounds):
        found, truth = simulated(draw, (0.3, 0.5, 0.65), 80)
        misses += any(
            not change.interval.low <= true <= change.interval.high
            for change, true in zip(found, truth, strict=True)
        )
    assert misses <= 31
