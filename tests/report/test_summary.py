"""What the records of a run say together: rule 4 of the house, and the arithmetic."""

import math
import os
import subprocess
import sys
from collections import Counter, defaultdict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import (
    Case,
    Dataset,
    EvaluationResult,
    EvaluatorFailure,
    Report,
    ReportCase,
    ReportCaseFailure,
    Skipped,
    as_evaluator,
)
from calipers.comparison import compare_reports
from calipers.data.result import EvaluatorSpec, SkippedEvaluation
from calipers.errors import InvalidOptionError
from calipers.evaluators import CloseTo, EqualsExpected
from calipers.gate import Policy, Rules, judge_run
from calipers.report.summary import durations, passes, tally
from calipers.stats import mean, rate, wilson
from calipers.views.terminal import report_text


def summarise(cases, failures, **options):
    return tally(cases, failures).summaries(**options)


SOURCE = EvaluatorSpec("X")


def result(name, value, evaluator=None, score=None):
    return EvaluationResult(name=name, value=value, evaluator=evaluator or name, source=SOURCE, score=score)


def failure(name):
    return EvaluatorFailure(name=name, error_type="E", error_message="E: x", source=SOURCE)


def attempt(name, *results, failed=(), skipped=(), case=None, cluster=None, seconds=0.1):
    return ReportCase(
        name=name,
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        metrics={},
        attributes={},
        results=results,
        evaluator_failures=tuple(failure(name) for name in failed),
        skipped=tuple(SkippedEvaluation(name, "n/a") for name in skipped),
        task_duration=seconds,
        total_duration=seconds,
        source_case_name=case,
        cluster=cluster,
    )


def crash(name, *not_run, case=None, cluster=None):
    return ReportCaseFailure(
        name=name,
        inputs=None,
        metadata=None,
        expected_output=None,
        error_type="E",
        error_message="E: x",
        not_run=not_run,
        source_case_name=case,
        cluster=cluster,
    )


SKIP = Skipped("no SQL here")


def counts(summary):
    return summary.count, summary.failures, summary.skipped, summary.task_failures


def run(evaluators, task=lambda inputs: inputs, n=4, **options):
    """A report over the inputs 0, 1, 2, …"""
    cases = [Case(name=f"c{i}", inputs=i) for i in range(n)]
    return Dataset(cases=cases, evaluators=evaluators).evaluate_sync(task, progress=False, **options)


# ---------------------------------------------------------------------- what failed counts


def test_a_failed_task_is_not_passed_in_the_pass_rate_nor_in_any_evaluators_rate():
    def task(inputs):
        return 1 / inputs  # fails on 0

    def right(output):
        return True

    def length(output):
        return 0.5

    report = run([right, length], task)
    assert report.pass_rate().value == 3 / 4
    right, length = report.summaries().values()
    assert (right.estimate.value, right.passed, counts(right)) == (3 / 4, 3, (3, 0, 0, 1))
    # A score that was never given is not a zero.
    assert (length.estimate.value, counts(length)) == (0.5, (3, 0, 0, 1))


def test_a_crashed_evaluator_is_not_passed_in_its_own_columns_and_leaves_the_others_alone():
    def shaky(output):
        return {"a": 1 / output > 0, "b": 0.5}

    def steady(output):
        return True

    report = run([shaky, steady])
    summaries = report.summaries()
    assert (summaries["a"].estimate.value, counts(summaries["a"])) == (3 / 4, (3, 1, 0, 0))
    assert (summaries["b"].estimate.value, counts(summaries["b"])) == (0.5, (3, 1, 0, 0))
    assert (summaries["steady"].estimate.value, counts(summaries["steady"])) == (1, (4, 0, 0, 0))
    assert report.pass_rate().value == 3 / 4
    assert report.pass_at_k(1, evaluator="a").value == 3 / 4


def test_a_skip_is_left_out_and_counted():
    def sometimes(output):
        return output > 2 if output % 2 else {}

    def never(output):
        return Skipped("not for numbers")

    report = run([sometimes, never])
    sometimes, never = report.summaries().values()
    assert (sometimes.estimate.value, counts(sometimes)) == (1 / 2, (2, 0, 2, 0))
    assert (never.estimate, counts(never)) == (None, (0, 0, 4, 0))
    assert report.pass_rate().n_units == 2


def test_an_evaluator_that_never_gave_a_result_still_has_its_row():
    def broken(output):
        raise ValueError

    def task(inputs):
        return 1 / inputs

    summaries = run([broken], task).summaries()
    assert list(summaries) == ["broken"]
    assert counts(summaries["broken"]) == (0, 3, 0, 1)
    assert summaries["broken"].estimate is None, "it is not known what it would have measured"


def test_a_row_is_there_even_if_every_task_failed():
    def task(inputs):
        raise ValueError

    report = run([as_evaluator(lambda output: True, name="right")], task)
    assert counts(report.summaries()["right"]) == (0, 0, 0, 4)
    assert report.pass_rate().value == 0
    assert report.pass_rate().n_units == 4
    assert report.pass_at_k(1).value == report.pass_hat_k(1).value == 0
    assert report.pass_at_k(1, evaluator="right").value == 0


@pytest.mark.parametrize(
    ("cases", "failures"),
    [
        ([], []),
        ([attempt("a", result("s", 0.5))], []),
        ([attempt("a", result("s", "label"), skipped=["t"])], []),
        ([attempt("a")], []),
        # Scores alone do not make a pass rate, and a failed task beside them does not either.
        ([attempt("a", result("s", 0.5))], [crash("b", "s")]),
        # There was no evaluator.
        ([], [crash("a")]),
    ],
)
def test_where_nothing_was_asserted_there_is_nothing_to_pass(cases, failures):
    assert passes(cases, failures) is None


def test_no_records_have_no_summaries():
    assert summarise([], []) == {}
    assert durations([]) is None


def test_what_a_mapping_left_out_of_one_attempt_is_a_skip_of_that_column():
    cases = [attempt("a", result("x", True, "m"), result("y", 1, "m")), attempt("b", result("x", False, "m"))]
    summaries = summarise(cases, [])
    assert counts(summaries["x"]) == (2, 0, 0, 0)
    assert counts(summaries["y"]) == (1, 0, 1, 0)
    assert summaries["y"].evaluator == "m"


# ---------------------------------------------------------------------- columns


def test_columns_stand_in_the_order_they_first_appear():
    cases = [
        attempt("a", result("z", True), result("b", 1)),
        attempt("b", result("a", "x"), result("z", True)),
    ]
    assert list(summarise(cases, [crash("c", "never", "z")])) == ["z", "b", "a", "never"]


def test_a_name_with_two_kinds_of_results_is_two_columns_and_none_is_lost():
    cases = [
        attempt("a", result("x", True), result("x (score)", 7)),
        attempt("b", result("x", 0.5)),
        attempt("c", result("x", "unclear")),
        attempt("d", failed=["x"]),
    ]
    summaries = summarise(cases, [])
    assert {name: (s.kind, s.count, s.failures) for name, s in summaries.items()} == {
        "x (assertion)": ("assertion", 1, 1),
        "x (score)": ("score", 1, 0),
        "x (score)_2": ("score", 1, 1),
        "x (label)": ("label", 1, 1),
    }
    assert summaries["x (assertion)"].estimate.value == 1 / 2
    assert all(summary.name in {"x", "x (score)"} for summary in summaries.values())


def test_a_column_that_several_evaluators_fill_counts_what_each_of_them_lost():
    cases = [
        attempt("a", result("x", True, "one")),
        attempt("b", result("x", True, "two")),
        attempt("c", failed=["two"]),
        attempt("d", skipped=["one"]),
    ]
    [summary] = summarise(cases, []).values()
    assert counts(summary) == (2, 1, 1, 0)
    assert summary.estimate.value == 2 / 3
    assert passes(cases, [], "x") == ([(1, 1), (1, 1), (0, 1)], None)


def test_labels_are_counted_most_frequent_first():
    cases = [attempt(str(i), result("mood", mood)) for i, mood in enumerate(["b", "a", "b", "c", "b", "c"])]
    summary = summarise(cases, [])["mood"]
    assert list(summary.labels.items()) == [("b", 3), ("c", 2), ("a", 1)]
    assert (summary.kind, summary.estimate, summary.passed) == ("label", None, None)


def test_graded_scores_behind_assertions_have_their_own_mean():
    cases = [attempt("a", result("v", True, score=1.0)), attempt("b", result("v", False, score=0.5))]
    summary = summarise(cases, [])["v"]
    assert summary.estimate.value == 0.5
    assert summary.score.value == 0.75
    assert summarise([attempt("a", result("v", True))], [])["v"].score is None


@pytest.mark.parametrize("values", [[1.7e308, 1.7e308], [1e200, -1e200, 3.0], [1.7e308, -1.7e308, 1e308]])
def test_scores_too_large_to_average_have_no_estimate_and_harm_no_other_column(values):
    cases = [attempt(str(i), result("huge", value), result("fine", 0.5)) for i, value in enumerate(values)]
    summaries = summarise(cases, [])
    assert summaries["huge"].count == len(values)
    assert summaries["huge"].estimate is None
    assert summaries["fine"].estimate.value == 0.5


# ---------------------------------------------------------------------- repeats and clusters


def test_the_case_is_the_unit_and_repeats_do_not_shrink_the_interval():
    once = [attempt(f"c{i}", result("x", i < 8)) for i in range(10)]
    often = [attempt(f"c{i} [{k}/5]", result("x", i < 8), case=f"c{i}") for i in range(10) for k in range(5)]
    one, five = summarise(once, [])["x"].estimate, summarise(often, [])["x"].estimate
    assert one.value == five.value == 0.8
    assert (five.n_units, five.n_observations) == (10, 50)
    assert five.interval.low == pytest.approx(one.interval.low)
    assert five.interval.high == pytest.approx(one.interval.high)


def test_every_case_weighs_the_same_however_often_it_was_judged():
    cases = [
        attempt("a [1/3]", result("x", True), result("s", 1.0), case="a"),
        attempt("a [2/3]", result("x", True), result("s", 1.0), case="a"),
        attempt("b [1/3]", result("x", False), result("s", 0.0), case="b"),
    ]
    failures = [crash("a [3/3]", "x", "s", case="a")]
    summaries = summarise(cases, failures)
    assert summaries["x"].estimate.value == pytest.approx((2 / 3 + 0) / 2)
    assert summaries["s"].estimate.value == 0.5
    assert passes(cases, failures) == ([(2, 3), (0, 1)], None)


def test_clusters_widen_the_interval():
    def interval(cluster):
        cases = [
            attempt(str(i), result("x", i // 5 % 2 == 0), result("s", i // 5 % 2), cluster=cluster(i))
            for i in range(40)
        ]
        summaries = summarise(cases, [])
        return [summaries[name].estimate for name in ("x", "s")]

    for alone, together in zip(interval(lambda i: None), interval(lambda i: f"k{i // 5}"), strict=True):
        assert alone.value == together.value == 0.5
        assert (alone.n_clusters, together.n_clusters) == (None, 8)
        assert together.interval.high - together.interval.low > 1.5 * (
            alone.interval.high - alone.interval.low
        )


def test_a_case_without_a_cluster_among_those_that_have_one_stands_alone():
    cases = [attempt(str(i), result("x", i % 2 == 0), cluster="k" if i < 2 else None) for i in range(5)]
    assert summarise(cases, [])["x"].estimate.n_clusters == 4
    # A cluster may be called anything, even what a case is called.
    named = [
        attempt("a", result("x", True), cluster="b"),
        attempt("b", result("x", False)),
        attempt("c", result("x", True)),
    ]
    assert summarise(named, [])["x"].estimate.n_clusters == 3


# ---------------------------------------------------------------------- against brute force

_OUTCOMES = st.sampled_from([True, False, 0.25, 0.75, 1, "a", "b", "skip", "fail"])


@st.composite
def records(draw):
    """Finished and failed attempts at a few cases, judged by two evaluators."""
    repeat = draw(st.integers(1, 3))
    clustered = draw(st.booleans())
    cases, failures = [], []
    for number in range(draw(st.integers(0, 6))):
        cluster = f"k{number % 3}" if clustered and number != 1 else None
        for again in range(repeat):
            name, case = (f"c{number}", None) if repeat == 1 else (f"c{number} [{again}]", f"c{number}")
            if draw(st.integers(0, 4)) == 0:
                failures.append(crash(name, "p", "q", case=case, cluster=cluster))
                continue
            said = {evaluator: draw(_OUTCOMES) for evaluator in ("p", "q")}
            cases.append(
                attempt(
                    name,
                    *(result(e, value) for e, value in said.items() if value not in {"skip", "fail"}),
                    failed=[e for e, value in said.items() if value == "fail"],
                    skipped=[e for e, value in said.items() if value == "skip"],
                    case=case,
                    cluster=cluster,
                )
            )
    return cases, failures


def by_hand(cases, failures, evaluator, kind):
    """The values of a column by case, what was lost of it, and the clusters."""
    values, lost, clusters = defaultdict(list), defaultdict(int), {}
    for record in (*cases, *failures):
        unit = record.source_case_name or record.name
        clusters[unit] = record.cluster or ("alone", unit)
        if isinstance(record, ReportCaseFailure):
            lost[unit] += evaluator in record.not_run
            continue
        lost[unit] += any(broken.name == evaluator for broken in record.evaluator_failures)
        for one in record.results:
            if one.name == evaluator and one.kind == kind:
                values[unit].append(one.value)
    return values, lost, clusters


@given(records())
def test_summaries_agree_with_brute_force(found):
    cases, failures = found
    clustered = any(record.cluster for record in (*cases, *failures))
    columns = {(s.name, s.kind): s for s in summarise(cases, failures).values()}
    seen = {(one.name, one.kind) for case in cases for one in case.results}
    assert seen <= set(columns)
    for (name, kind), summary in columns.items():
        values, lost, clusters = by_hand(cases, failures, name, kind)
        everything = [value for some in values.values() for value in some]
        assert summary.count == len(everything)
        assert summary.failures + summary.task_failures == sum(lost.values())
        attempts = len(cases) + len(failures)
        assert summary.count + summary.skipped + sum(lost.values()) == attempts
        if kind == "label":
            assert summary.labels == Counter(everything)
        elif kind == "score":
            shares = all(0 <= value <= 1 for value in everything)
            expected = mean(
                list(values.values()),
                bounds=(0, 1) if shares else None,
                clusters=[clusters[unit] for unit in values] if clustered else None,
            )
            assert summary.estimate == expected
        else:
            assert summary.passed == sum(everything)
            tried = {
                unit: len(values[unit]) + lost[unit] for unit in clusters if len(values[unit]) + lost[unit]
            }
            expected = rate(
                [(sum(values[unit]), number) for unit, number in tried.items()],
                clusters=[clusters[unit] for unit in tried] if clustered else None,
            )
            if everything:
                assert summary.estimate.value == pytest.approx(expected.value)
                assert (summary.estimate.n_units, summary.estimate.n_observations) == (
                    expected.n_units,
                    expected.n_observations,
                )
                assert summary.estimate.n_clusters == expected.n_clusters
            else:
                assert summary.estimate is None


@given(records())
def test_passes_agree_with_brute_force(found):
    cases, failures = found
    expected = defaultdict(list)
    for record in (*cases, *failures):
        if record.passed is not None:
            expected[record.source_case_name or record.name].append(record.passed)
    counted = passes(cases, failures)
    if all(case.passed is None for case in cases) and (cases or not failures):
        assert counted is None
    else:
        assert sorted(counted[0]) == sorted((sum(held), len(held)) for held in expected.values())


@given(records())
def test_counts_agree_with_brute_force(found):
    cases, failures = found
    counted = tally(cases, failures).counts()
    assert counted.attempts == len(cases) + len(failures)
    assert counted.cases == len({record.source_case_name or record.name for record in (*cases, *failures)})
    assert counted.passed == sum(case.passed is True for case in cases)
    assert counted.failed_tasks == ({"E": len(failures)} if failures else {})
    broken = Counter(failure.name for case in cases for failure in case.evaluator_failures)
    assert counted.failed_evaluators == broken


@given(records())
def test_totals_say_what_the_records_said(found):
    counted = tally(*found)
    totals = counted.totals(confidence=0.9)
    assert totals.counts == counted.counts()
    assert totals.summaries == summarise(*found, confidence=0.9)
    assert totals.pass_rate == counted.pass_rate(confidence=0.9)
    assert totals.durations == counted.durations()
    assert totals.confidence == 0.9


@given(records(), st.data())
def test_a_crash_never_raises_a_rate(found, data):
    cases, failures = found
    before = {(s.name, s.kind): s for s in summarise(cases, failures).values()}
    judged = [case for case in cases if case.results]
    if not judged:
        return
    victim = data.draw(st.sampled_from(judged))
    lost = data.draw(st.sampled_from(victim.results))
    worse = attempt(
        victim.name,
        *(one for one in victim.results if one is not lost),
        failed=[broken.name for broken in victim.evaluator_failures] + [lost.name],
        skipped=[skip.name for skip in victim.skipped],
        case=victim.source_case_name,
        cluster=victim.cluster,
    )
    after = summarise([worse if case is victim else case for case in cases], failures)
    for summary in after.values():
        if summary.kind == "assertion" and summary.estimate is not None:
            was = before[summary.name, "assertion"].estimate
            assert summary.estimate.value <= was.value + 1e-12


@given(records(), st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_matter(found, random):
    cases, failures = found
    before = {(s.name, s.kind): s for s in summarise(cases, failures).values()}
    random.shuffle(cases)
    random.shuffle(failures)
    after = {(s.name, s.kind): s for s in summarise(cases, failures).values()}
    assert before.keys() == after.keys()
    for key, summary in after.items():
        assert counts(summary) == counts(before[key])
        if summary.estimate is not None:
            assert summary.estimate.value == pytest.approx(before[key].estimate.value)


# ---------------------------------------------------------------------- one assertion


def test_passes_of_one_assertion_leave_out_what_did_not_assert_it():
    cases = [
        attempt("a", result("x", True), result("y", False)),
        attempt("b", result("y", True)),
        attempt("c", result("x", 0.5)),
        attempt("d", skipped=["x"]),
        attempt("e", failed=["x"]),
    ]
    assert passes(cases, [crash("f", "x"), crash("g", "y")], "x") == ([(1, 1), (0, 1), (0, 1)], None)


def test_passes_of_a_mappings_entry_count_what_its_evaluator_lost():
    cases = [attempt("a", result("p", True, "many")), attempt("b", failed=["many"])]
    assert passes(cases, [crash("c", "many")], "p") == ([(1, 1), (0, 1), (0, 1)], None)


@pytest.mark.parametrize("name", ["z", "s"])
def test_an_unknown_assertion_is_refused(name):
    cases = [attempt("a", result("x", True), result("s", 0.5)), attempt("b", failed=["s"])]
    with pytest.raises(InvalidOptionError, match=rf"no assertion is called '{name}'; there are \['x'\]"):
        passes(cases, [crash("c", "x", "s")], name)


def test_a_key_that_does_not_apply_is_no_evaluator_of_its_own():
    def judge(inputs):
        return {
            "even": inputs % 2 == 0,
            "half": inputs / 2 if inputs else Skipped("nothing to halve"),
            "sql": SKIP,
        }

    report = run([judge])
    assert list(report.summaries()) == ["even", "half"]
    assert counts(report.summaries()["half"]) == (3, 0, 1, 0)
    assert counts(report.summaries()["even"]) == (4, 0, 0, 0)
    assert report.pass_at_k(1, evaluator="even").value == 0.5
    assert report.pass_at_k(1, None, evaluator="sql") is None, "it was never made"
    with pytest.raises(InvalidOptionError, match="no assertion is called 'half'"):
        report.pass_at_k(1, evaluator="half")


def test_an_assertion_that_was_only_ever_skipped_was_not_measured():
    assert passes([attempt("a", result("x", True), skipped=["y"])], [], "y") is None
    assert passes([attempt("a", skipped=["y"])], [crash("b", "y")], "y") is None


def test_an_assertion_is_not_passed_where_every_task_failed_before_it():
    assert passes([], [crash("a", "y"), crash("b", "z"), crash("c", "y")], "y") == ([(0, 1), (0, 1)], None)


# ---------------------------------------------------------------------- durations


def test_durations_are_quantiles_of_the_finished_tasks():
    found = durations([attempt(str(i), seconds=i) for i in (5, 1, 4, 2, 3)])
    assert (found.count, found.mean, found.p50, found.longest) == (5, 3, 3, 5)
    assert found.p50 <= found.p90 <= found.p99 <= found.longest


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_durations_are_ordered_and_within_the_data(seconds):
    found = durations([attempt(str(i), seconds=value) for i, value in enumerate(seconds)])
    assert min(seconds) <= found.p50 <= found.p90 <= found.p99 <= found.longest == max(seconds)
    assert math.isclose(found.mean, math.fsum(seconds) / len(seconds), rel_tol=1e-9)


def test_the_interval_of_graded_scores_stays_where_the_mean_of_shares_can_be():
    def interval(*scores):
        cases = [attempt(str(number), result("v", False, score=score)) for number, score in enumerate(scores)]
        return summarise(cases, [])["v"].score.interval

    shares, others = interval(0.2, 0.9), interval(0.2, 1.9)
    assert 0.0 < shares.low < 0.2
    assert 0.9 < shares.high < 1.0
    assert others.low < 0
    assert others.high > 1


def test_scores_keep_to_the_range_that_their_evaluator_declares():
    def interval(score_range, *scores):
        cases = [
            attempt(
                str(number),
                msgspec.structs.replace(result("v", score), source=EvaluatorSpec("v", {}, score_range)),
            )
            for number, score in enumerate(scores)
        ]
        return summarise(cases, [])["v"].estimate.interval

    likert = interval((0.0, 10.0), 9.0, 10.0, 10.0)
    assert (likert.method, likert.high < 10, likert.low > 0) == ("bounded-wilson", True, True)
    assert interval(None, 9.0, 10.0, 10.0).high > 10
    assert interval((0.0, 9.5), 9.0, 10.0, 10.0).method == "t", "a range that does not hold says nothing"
    tied = interval((0.0, 10.0), 10.0, 10.0, 10.0)
    assert tied.low == pytest.approx(10 * wilson(3, 3).low)
    assert interval(None, 10.0, 10.0, 10.0) is None


@pytest.mark.parametrize(("cases", "clusters", "trials"), [(3, None, 3), (4, ("a", "a", "b", "b"), 2)])
def test_graded_scores_that_all_agree_prove_no_more_than_as_many_cases_can(cases, clusters, trials):
    for score in (0.0, 0.25, 1.0):
        found = summarise(
            [
                attempt(str(n), result("v", score == 1, score=score), cluster=clusters and clusters[n])
                for n in range(cases)
            ],
            [],
        )["v"].score
        assert found.value == score
        assert found.interval.low == pytest.approx(wilson(score * trials, trials).low)
        assert found.interval.high == pytest.approx(wilson(score * trials, trials).high)


# ---------------------------------------------------------------------- evaluators that gave no result


def skipping(name, *reasons):
    """An attempt that an evaluator was skipped in, for these reasons."""
    skipped = tuple(SkippedEvaluation(evaluator, reason) for evaluator, reason in reasons)
    return msgspec.structs.replace(attempt(name), skipped=skipped)


def silent(*records, failures=()):
    found = tally(records, failures).counts().silent_evaluators
    return {name: (silence.attempts, silence.reason) for name, silence in found.items()}


def test_an_evaluator_that_was_skipped_throughout_is_told_with_the_commonest_reason():
    reasons = ["no trace", "empty", "no trace"]
    records = [skipping(f"c{i}", ("Latency", reason)) for i, reason in enumerate(reasons)]
    assert silent(*records) == {"Latency": (3, "no trace")}


def test_of_reasons_that_are_equally_common_the_first_is_told():
    assert silent(skipping("a", ("E", "one")), skipping("b", ("E", "two"))) == {"E": (2, "one")}


@pytest.mark.parametrize(
    "others",
    [
        [attempt("b", result("E", True))],
        [attempt("b", result("E", 0.5))],
        [attempt("b", result("key", "label", evaluator="E"))],
    ],
    ids=["assertion", "score", "label under another name"],
)
def test_an_evaluator_with_any_result_is_not_silent(others):
    assert silent(skipping("a", ("E", "n/a")), *others) == {}
    assert silent(*others, skipping("a", ("E", "n/a"))) == {}


def test_an_evaluator_that_only_failed_was_not_skipped():
    assert silent(attempt("a", failed=["E"]), failures=[crash("b", "E")]) == {}


def test_an_evaluator_that_failed_where_it_was_not_skipped_is_silent_too():
    assert silent(skipping("a", ("E", "n/a")), attempt("b", failed=["E"])) == {"E": (1, "n/a")}


def test_one_attempt_counts_once_however_many_results_of_an_evaluator_are_missing():
    keys = tuple(SkippedEvaluation(key, "no speech", key_of="E") for key in ("wer", "cer"))
    assert silent(msgspec.structs.replace(attempt("a"), skipped=keys)) == {"E": (1, "no speech")}


def test_reasons_that_differ_in_every_attempt_are_not_all_kept():
    counted = tally([skipping(f"c{i}", ("E", f"{i:03}" * 5_000)) for i in range(100)], [])
    silence = counted.counts().silent_evaluators["E"]
    assert (silence.attempts, silence.reason) == (100, "0" * 1_000)
    assert len(counted._ledgers["E"].reasons) == 20


def test_a_report_that_keeps_only_failures_still_knows_who_was_silent_also_when_stored():
    report = run([as_evaluator(lambda ctx: SKIP, name="sql")], keep="failed")
    assert not report.cases
    stored = Report.from_dict(report.to_dict())
    for each in (report, stored):
        (name, silence), *others = each.counts().silent_evaluators.items()
        assert (name, silence.attempts, silence.reason, others) == ("sql", 4, "no SQL here", [])


def test_totals_that_were_stored_before_silence_was_counted_can_be_read():
    data = run([as_evaluator(lambda ctx: SKIP, name="sql")], keep="failed").to_dict()
    del data["totals"]["counts"]["silent_evaluators"]
    assert Report.from_dict(data).counts().silent_evaluators == {}


def test_rows_without_results_have_the_same_order_in_every_process():
    program = (
        "from calipers import Case, Dataset, Skipped, as_evaluator\n"
        "names = ['delta', 'alpha', 'echo', 'bravo', 'charlie']\n"
        "skips = [as_evaluator(lambda ctx: Skipped('n/a'), name=name) for name in names]\n"
        "report = Dataset(cases=[Case(inputs=1)], evaluators=skips).evaluate_sync(abs, progress=False)\n"
        "print(*report.summaries())\n"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert shown == {"delta alpha echo bravo charlie\n"}


# ---------------------------------------------------------------------- graded scores


@pytest.mark.parametrize(
    ("scores", "says_more"),
    [
        ([(True, 1.0), (False, 0.0)], False),
        ([(True, 1.0), (False, None)], False),
        ([(True, 1.0), (False, 0.2)], True),
        ([(True, 0.9), (False, 0.0)], True),
        ([(True, None), (False, None)], False),
    ],
)
def test_graded_scores_count_only_where_they_say_more_than_the_assertions(scores, says_more):
    records = [attempt(f"c{i}", result("E", value, score=score)) for i, (value, score) in enumerate(scores)]
    summary = summarise(records, [])["E"]
    assert (summary.graded is not None) is says_more
    given = [score for _, score in scores if score is not None]
    assert summary.score is None if not given else summary.score.n_observations == len(given)


# ---------------------------------------------------------------------- what a crash counts against


ODD_AND_EVEN = [
    Case(name=f"{n}", inputs=n, metadata={"odd": n % 2}, **({"expected_output": n} if n < 16 else {}))
    for n in range(25)
]


def odd_judged(*crashes):
    """A report of cases of which `judges_odd` skips the even ones by its own logic, and `EqualsExpected` those that expect nothing."""

    def task(number):
        if number in crashes:
            raise RuntimeError("boom")
        return number if number % 3 else -1

    def judges_odd(output, metadata):
        return output > 0 if metadata["odd"] else Skipped("an even number")

    dataset = Dataset(name="d", cases=ODD_AND_EVEN, evaluators=[EqualsExpected(), judges_odd])
    return dataset.evaluate_sync(task, progress=False)


def test_a_crash_that_an_evaluator_might_have_skipped_is_counted_apart():
    found = odd_judged(1, 2, 20, 21, 22).summaries()
    assert {name: (one.task_failures, one.unsure_task_failures) for name, one in found.items()} == {
        "EqualsExpected": (2, 0),
        "judges_odd": (5, 5),
    }


def test_report_comparison_and_gate_say_where_it_is_not_known_whether_a_crash_counts():
    one, two = odd_judged(1, 2, 20, 21, 22), odd_judged(1, 24)
    shown, compared = one.summaries()["judges_odd"].estimate, compare_reports(one, two)
    assert (shown.value, compared.change("judges_odd").baseline) == (7 / 15, 7 / 12)
    assert (
        "judges_odd skips some cases; whether it would have judged 5 attempts whose task failed is not known"
        in (" ".join(report_text(one).split()))
    )
    told = "'judges_odd' leaves out 4 cases that failed in one run and had nothing to judge in the other ('24', '2', '20' and 1 more)"
    (note,) = [each for each in compared.warnings if "leaves out" in each and "judges_odd" in each]
    assert note.startswith(told)
    policy = Policy(evaluators={"judges_odd": Rules(margin=0.05)})
    (note,) = [each for each in judge_run(two, policy, baseline=one).notes if "leaves out" in each]
    assert note.startswith("judges_odd leaves out 4 cases")


def test_a_crash_counts_against_the_evaluators_that_would_have_judged_it():
    """Of 25 cases, 16 state an expectation; every fifth crashes."""

    def task(number):
        if number % 5 == 0:
            raise ValueError(number)
        return number

    def same(expected, actual):
        return expected == actual

    def close(output, expected_output):
        return abs(output - expected_output) < 1

    def small(output):
        return output < 100

    stated = [Case(name=str(n), inputs=n, expected_output=n) for n in range(16)]
    bare = [Case(name=str(n), inputs=n) for n in range(16, 25)]
    dataset = Dataset(
        name="d", cases=[*stated, *bare], evaluators=[EqualsExpected(), same, close, CloseTo(3), small]
    )
    report = dataset.evaluate_sync(task, progress=False)
    found = {name: (one.estimate.n_units, one.task_failures) for name, one in report.summaries().items()}
    assert found == {
        "EqualsExpected": (16, 4),
        "same": (16, 4),
        "close": (16, 4),
        "CloseTo": (25, 5),
        "small": (25, 5),
    }
    assert (report.pass_rate().n_units, report.counts().failed_tasks) == (25, {"ValueError": 5})
    compared = compare_reports(report, report)
    (change,) = [one for one in compared.evaluators if one.name == "EqualsExpected"]
    assert change.candidate == report.summaries()["EqualsExpected"].estimate.value
