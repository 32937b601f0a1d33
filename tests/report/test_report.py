"""All results of one run, as data."""

import json
import math
import re
import types
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import (
    Case,
    Dataset,
    EvaluationReason,
    EvaluationResult,
    EvaluatorFailure,
    EvalVerdict,
    Report,
    ReportCase,
    ReportCaseFailure,
    ToolCall,
    Trace,
    as_evaluator,
    increment_eval_metric,
    set_eval_attribute,
)
from calipers.data.record import Failure
from calipers.data.result import EvalResult, EvaluatorSpec, SkippedEvaluation
from calipers.errors import InvalidOptionError, NotKnownError, ReportFormatError
from calipers.report.analysis import ScalarResult, TableResult
from calipers.report.averages import Averages
from calipers.report.incomplete import Incomplete
from calipers.report.report import FORMAT_VERSION, PrintOptions
from calipers.scoring.scoring import BlockedLoop
from calipers.stats import rate
from calipers.stores import open_store
from calipers.views.attempts import AttemptOptions


def run(evaluators, task=lambda inputs: inputs, inputs=(0, 1, 2, 3), **options):
    cases = [Case(name=f"c{i}", inputs=i) for i in inputs]
    return Dataset(cases=cases, evaluators=evaluators).evaluate_sync(task, progress=False, **options)


def stored(report):
    """The report as it comes back from strict JSON text."""
    return Report.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False)))


def named(name, function):
    return as_evaluator(function, name=name)


# ---------------------------------------------------------------------- averages and groups


class Alternates:
    """A task that gives each case its own outputs, one per attempt."""

    def __init__(self, **outputs):
        self.outputs = {name: list(values) for name, values in outputs.items()}

    def __call__(self, name):
        output = self.outputs[name].pop(0)
        if isinstance(output, Exception):
            raise output
        increment_eval_metric("tokens", output * 10)
        return output


def repeated(**outputs):
    evaluators = [
        named("big", lambda output: output >= 3),
        named("value", lambda output: output),
        named("parity", lambda output: "odd" if output % 2 else "even"),
    ]
    cases = [Case(name=name, inputs=name, metadata=name.upper()) for name in outputs]
    repeat = len(next(iter(outputs.values())))
    return Dataset(cases=cases, evaluators=evaluators).evaluate_sync(
        Alternates(**outputs), progress=False, repeat=repeat, max_concurrency=1
    )


def test_averages_of_single_attempts_weigh_every_attempt_the_same():
    averages = run(
        [named("big", lambda output: output > 1), named("v", lambda output: output), lambda output: "x"]
    ).averages()
    assert (averages.assertions, averages.scores, averages.labels) == (
        0.5,
        {"v": 1.5},
        {"function": {"x": 1.0}},
    )
    assert averages.metrics == {}
    assert averages.task_duration > 0


def test_averages_are_over_all_assertions_and_over_the_attempts_that_have_a_key():
    report = run(
        [
            named("all", lambda output: True),
            named("some", lambda output: {"even": 1.0} if output % 2 == 0 else {"odd": False}),
        ]
    )
    averages = report.averages()
    assert averages.assertions == 4 / 6
    assert averages.scores == {"even": 1.0}


def test_averages_of_labels_are_the_shares_of_each():
    averages = run([named("kind", lambda output: "first" if output == 0 else "later")]).averages()
    assert averages.labels == {"kind": {"first": 1 / 4, "later": 3 / 4}}


def test_averages_under_repeats_have_two_levels_so_that_each_case_weighs_the_same():
    report = repeated(a=[1, 2, 6], b=[4, ValueError(), ValueError()], c=[ValueError()] * 3)
    averages = report.averages()
    assert averages.scores == {"value": ((1 + 2 + 6) / 3 + 4) / 2}
    assert averages.assertions == (1 / 3 + 1) / 2
    assert averages.metrics == {"tokens": (30 + 40) / 2}
    assert averages.labels == {
        "parity": {"odd": pytest.approx(1 / 6), "even": pytest.approx((2 / 3 + 1) / 2)}
    }


def test_averages_of_nothing_are_none():
    assert run([], inputs=()).averages(None) is None
    assert repeated(a=[ValueError(), ValueError()]).averages(None) is None


def test_averages_of_huge_scores_do_not_overflow():
    report = run([named("v", lambda output: 1.7e308)])
    assert report.averages().scores["v"] == pytest.approx(1.7e308)


def test_attempts_stand_in_groups_by_case():
    report = repeated(a=[1, 2], b=[ValueError("x"), 3], c=[ValueError("y"), ValueError("z")])
    groups = report.case_groups()
    assert [(g.name, g.inputs, g.metadata) for g in groups] == [
        ("a", "a", "A"),
        ("b", "b", "B"),
        ("c", "c", "C"),
    ]
    assert [[run.output for run in g.runs] for g in groups] == [[1, 2], [3], []]
    assert [[f.error_message for f in g.failures] for g in groups] == [
        [],
        ["ValueError: x"],
        ["ValueError: y", "ValueError: z"],
    ]
    assert isinstance(groups[0].summary, Averages)
    assert groups[0].summary.scores == {"value": 1.5}
    assert groups[2].summary is None
    assert [case.name for case in report.cases] == ["a [1/2]", "a [2/2]", "b [2/2]"]


def test_without_repeats_there_are_no_groups():
    assert run([]).case_groups() == []


def test_what_there_is_not_is_an_error_that_says_why_or_the_default():
    nothing = run([], inputs=())
    for ask, why in [
        (nothing.pass_rate, "nothing was asserted, so there is no pass_rate(): pass_rate(None) gives None"),
        (nothing.averages, "no task finished, so there is no averages(): averages(None) gives None"),
        (nothing.durations, "no task finished, so there is no durations(): durations(None) gives None"),
    ]:
        with pytest.raises(NotKnownError, match=re.escape(why)):
            ask()
        assert ask(None) is None
        assert ask(default=0) == 0
    assert nothing.pass_hat_k(1, None) is None


def test_an_analysis_is_found_by_its_class_and_title():
    tables = [TableResult(title=title, columns=["a"], rows=[]) for title in ("first", "second")]
    matrix = ScalarResult(title="third", value=1)
    report = Report(name="r", cases=[], analyses=[*tables, matrix])
    assert report.analysis(ScalarResult) is matrix
    assert report.analysis(TableResult, title="second") is tables[1]
    with pytest.raises(
        NotKnownError,
        match=re.escape("has 2 analyses of TableResult, and not one; it has: TableResult 'first'"),
    ):
        report.analysis(TableResult)
    with pytest.raises(NotKnownError, match=re.escape("has 0 analyses of ScalarResult called 'x'")):
        report.analysis(ScalarResult, title="x")


# ---------------------------------------------------------------------- reliability


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_choices_of_k_attempts(k):
    outputs = {"a": [3, 3, 0], "b": [0, 0, 0], "c": [3, 3, 3], "d": [3, ValueError(), 0]}
    report = repeated(**outputs)
    held = [
        [not isinstance(output, Exception) and output >= 3 for output in some] for some in outputs.values()
    ]
    any_of = [
        Fraction(sum(map(any, chosen)), len(chosen))
        for some in held
        for chosen in [list(combinations(some, k))]
    ]
    all_of = [
        Fraction(sum(map(all, chosen)), len(chosen))
        for some in held
        for chosen in [list(combinations(some, k))]
    ]
    for evaluator in (None, "big"):
        assert report.pass_at_k(k, evaluator=evaluator).value == pytest.approx(float(sum(any_of) / 4))
        assert report.pass_hat_k(k, evaluator=evaluator).value == pytest.approx(float(sum(all_of) / 4))
    assert report.pass_at_k(1).value == report.pass_rate().value


def test_k_cannot_exceed_the_attempts():
    with pytest.raises(ValueError, match="k=3 needs at least 3 attempts at every case, got 2"):
        repeated(a=[1, 2]).pass_at_k(3)


@pytest.mark.parametrize("k", [0, -1, 1.5, 1.0, "x", None, True])
def test_k_is_a_whole_number_of_attempts(k):
    report = repeated(a=[1, 2])
    for ask in (report.pass_at_k, report.pass_hat_k):
        with pytest.raises(InvalidOptionError, match=f"k must be a whole number from 1, got {k!r}"):
            ask(k)


def test_k_may_be_any_kind_of_whole_number():
    report = repeated(a=[1, 5])
    assert report.pass_at_k(np.int64(2)) == report.pass_at_k(2)


def test_an_assertion_that_does_not_exist_is_refused_and_those_that_do_are_named():
    with pytest.raises(InvalidOptionError, match=r"no assertion is called 'bgi'; there are \['big'\]"):
        repeated(a=[1, 2]).pass_at_k(1, evaluator="bgi")
    with pytest.raises(InvalidOptionError, match="no assertion is called 'value'"):
        repeated(a=[1, 2]).pass_hat_k(1, evaluator="value")


def test_without_assertions_there_is_no_reliability():
    report = run([named("v", lambda output: 0.5)], repeat=2)
    assert (report.pass_rate(None), report.pass_at_k(2, None), report.pass_hat_k(2, None)) == (
        None,
        None,
        None,
    )


def test_confidence_widens_every_interval():
    report = run([named("big", lambda output: output > 1), named("v", lambda output: output / 3)])
    for estimate in (
        lambda c: report.pass_rate(confidence=c),
        lambda c: report.pass_at_k(1, confidence=c),
        lambda c: report.pass_hat_k(1, confidence=c),
        lambda c: report.summaries(confidence=c)["big"].estimate,
        lambda c: report.summaries(confidence=c)["v"].estimate,
    ):
        narrow, wide = estimate(0.8).interval, estimate(0.99).interval
        assert wide.low < narrow.low < narrow.high < wide.high


# ---------------------------------------------------------------------- slices


def tagged(**options):
    def task(inputs):
        if inputs == 3:
            raise ValueError("three")
        return inputs

    cases = [
        Case(name=f"c{i}", inputs=i, tags=tags, metadata={"level": i % 2 == 0, "words": ["a", "b"][: i + 1]})
        for i, tags in enumerate([["big", "odd"], ["big"], ["odd", "odd"], ["big"]])
    ]
    dataset = Dataset(cases=cases, evaluators=[named("small", lambda output: output < 2)])
    return dataset.evaluate_sync(task, progress=False, **options)


def test_the_cases_with_a_tag_are_a_slice_with_an_interval_of_its_own():
    slices = tagged().slices()
    assert list(slices) == ["big", "odd"], "most attempts first"
    assert slices["big"].pass_rate == rate([(1, 1), (1, 1), (0, 1)]), "a failed task did not pass"
    assert slices["odd"].pass_rate == rate([(1, 1), (0, 1)]), "a tag that stands twice counts once"
    assert (slices["odd"].passed, slices["odd"].attempts) == (1, 2)


def test_slices_know_repeats_as_one_case():
    odd = tagged(repeat=3).slices()["odd"]
    assert (odd.attempts, odd.pass_rate.n_units, odd.pass_rate.value) == (6, 2, 0.5)


def test_a_slice_of_one_case_has_an_interval_that_says_how_little_it_proves():
    report = run([named("ok", lambda output: True)], inputs=(0,))
    report.cases[0].tags = ("rare",)
    assert report.slices()["rare"].pass_rate.interval.low < 0.3


def test_slices_are_the_same_whether_every_attempt_is_kept_or_not_and_after_storage(tmp_path):
    whole, some = tagged(), tagged(keep="failed")
    assert len(some.cases) == 1
    assert some.slices() == whole.slices() == stored(some).slices() == stored(whole).slices()
    assert whole.with_totals().slices() == whole.slices()
    kept = tagged(store=tmp_path / "runs.db")
    assert kept.slices() == whole.slices()
    with open_store(tmp_path / "runs.db") as store:
        for keep in ("all", "failed", "none"):
            assert store.report(kept.reuse.run, keep=keep).slices() == whole.slices()
        assert [case.tags for case in store.report(kept.reuse.run).cases] == [
            case.tags for case in kept.cases
        ]


def test_without_tags_there_are_no_slices_and_without_assertions_no_rates():
    assert run([named("ok", lambda output: True)]).slices() == {}
    report = run([named("size", lambda output: output)], inputs=(1,))
    report.cases[0].tags = ("t",)
    assert report.slices()["t"].pass_rate is None


def test_a_metadata_field_can_be_a_slice():
    slices = tagged().sliced_by("level", "words").slices()
    assert {name: (one.passed, one.attempts) for name, one in slices.items()} == {
        "words=a": (2, 4),
        "big": (2, 3),
        "words=b": (1, 3),
        "level=false": (1, 2),
        "level=true": (1, 2),
        "odd": (1, 2),
    }
    with pytest.raises(InvalidOptionError, match="no case has a field 'lvl'"):
        tagged().sliced_by("lvl")
    with pytest.raises(InvalidOptionError, match="need every attempt"):
        tagged(keep="failed").sliced_by("level")


def test_tags_beyond_a_thousand_are_not_counted():
    report = run([named("ok", lambda output: True)], inputs=range(1_001))
    for i, case in enumerate(report.cases):
        case.tags = (f"t{i}",)
    assert len(report.slices()) == 1_000


# ---------------------------------------------------------------------- stored and read back


@dataclass
class Answer:
    text: str
    tags: set[str]


def test_a_run_with_everything_in_it_survives_strict_json():
    def task(inputs):
        increment_eval_metric("tokens", inputs * 2)
        set_eval_attribute("answer", Answer("é", {"b", "a"}))
        if inputs == 2:
            raise ValueError("two \ud800")
        return Trace(output_text=str(inputs), tool_calls=(ToolCall("t", {"x": np.int64(1)}),))

    def broken(output):
        raise KeyError(output)

    evaluators = [
        named("bool", lambda output: EvaluationReason(output == "1", "because \ud800")),
        named("np", lambda output: np.float64(0.5)),
        named("label", lambda output: "x"),
        named(
            "verdict", lambda output: EvalResult("verdict", EvalVerdict.PARTIAL, 0.5, "half", {"n": {1, 2}})
        ),
        named("skip", lambda trace, graph: True),
        broken,
    ]
    report = run(evaluators, task, repeat=2, metadata={"when": Answer("x", set())}, seed=3)
    again = stored(report)
    assert again.to_dict() == report.to_dict()
    assert again.summaries() == report.summaries()
    assert again.pass_rate() == report.pass_rate()
    assert again.averages() == report.averages()
    assert again.durations() == report.durations()
    first = again.cases[0]
    assert first.attributes == {"answer": {"text": "é", "tags": ["a", "b"]}}
    assert first.assertions["verdict"].verdict is EvalVerdict.PARTIAL
    assert first.assertions["verdict"].metadata == {"n": [1, 2]}
    assert first.assertions["verdict"].original is None, "what only lives in memory is not stored"
    assert first.evaluator_failures[0].error_message == "KeyError: '0'"
    assert again.failures[0].error_message == "ValueError: two \\ud800"


def test_a_report_that_keeps_only_what_failed_is_stored_with_its_totals():
    evaluators = [named("big", lambda output: output > 1), named("v", lambda output: output / 3)]
    report = run(
        [*evaluators, named("parity", lambda output: "odd" if output % 2 else "even")], keep="failed"
    )
    assert len(report.cases) == 2
    again = stored(report)
    assert again == report
    assert again.summaries() == report.summaries()
    assert again.pass_rate().n_units == 4


def test_a_report_that_keeps_only_what_failed_does_not_guess_what_it_cannot_know():
    report = run([named("big", lambda output: output > 1)], keep="failed", repeat=2)
    for ask in (lambda: report.pass_at_k(1), lambda: report.pass_hat_k(1)):
        with pytest.raises(InvalidOptionError, match="need every attempt"):
            ask()
    for ask in (report.pass_rate, report.summaries):
        with pytest.raises(InvalidOptionError, match=r"stay at confidence=0\.95, got 0\.9"):
            ask(confidence=0.9)
    assert report.durations().count == report.counts().attempts == 8


def test_a_report_that_counted_once_says_the_same():
    report = run(
        [named("big", lambda output: output > 1), named("size", lambda output: float(output))], repeat=3
    )
    counted = report.with_totals()
    assert report.totals is None, "the report itself is as it was"
    assert counted.totals is not None
    assert counted.with_totals() is counted
    for ask in (
        lambda r: r.counts(),
        lambda r: r.durations(),
        lambda r: r.summaries(),
        lambda r: r.pass_rate(),
        lambda r: r.pass_at_k(2),
        lambda r: r.pass_hat_k(2, evaluator="big"),
        lambda r: r.averages(),
        # What was counted at one confidence can be counted at another, since every attempt is there.
        lambda r: r.summaries(confidence=0.9),
        lambda r: r.pass_rate(confidence=0.9),
    ):
        assert ask(counted) == ask(report)


def test_a_report_can_be_counted_at_any_confidence():
    report = run([named("big", lambda output: output > 1)])
    counted = report.with_totals(confidence=0.8)
    assert counted.totals.confidence == 0.8
    for confidence in (0.8, 0.95):
        assert counted.pass_rate(confidence=confidence) == report.pass_rate(confidence=confidence)
        assert counted.summaries(confidence=confidence) == report.summaries(confidence=confidence)


def test_defaults_are_left_out_of_records_and_come_back():
    report = run([named("x", lambda output: True)], inputs=(1,))
    [case] = report.to_dict()["cases"]
    assert case["results"] == [{"name": "x", "value": True, "evaluator": "x", "source": {"name": "function"}}]
    assert not {"skipped", "evaluator_failures", "cluster", "tries"} & set(case)
    assert {"output", "expected_output", "metadata"} <= set(case), "None is a value where no default stands"
    assert stored(report).cases == report.cases


def test_what_was_given_is_stored_as_it_is_even_if_it_looks_like_part_of_a_report():
    loop = [1]
    loop.append(loop)
    strange = [EvaluatorSpec("X", {"original": 1}), loop]
    report = run([named("same", lambda output: True)], lambda inputs: strange, inputs=(1,))
    [case] = report.to_dict()["cases"]
    assert case["output"] == [
        {"name": "X", "arguments": {"original": 1}, "score_range": None},
        [1, "<the list that contains this>"],
    ]


def test_stored_data_is_a_copy():
    report = run([], lambda inputs: {"list": [inputs]}, inputs=(1,))
    report.to_dict()["cases"][0]["output"]["list"].append(2)
    assert report.cases[0].output == {"list": [1]}


def test_a_mapping_that_is_no_dict_can_be_read():
    report = run([])
    assert Report.from_dict(types.MappingProxyType(report.to_dict())).to_dict() == report.to_dict()


def test_what_ended_a_run_is_data_and_its_sentence_decides_nothing():
    ended = Incomplete("interrupted", "stopped by hand", by="SIGTERM")
    report = msgspec.structs.replace(run([]), incomplete=ended)
    assert (report.interrupted_by, str(report.incomplete)) == ("SIGTERM", "stopped by hand")
    assert stored(report).incomplete == ended
    worded = msgspec.structs.replace(report, incomplete=Incomplete("cut", "interrupted by Ctrl-C"))
    assert worded.interrupted_by is None


def test_a_report_whose_incompleteness_is_only_a_sentence_loads():
    data = {**run([]).to_dict(), "incomplete": "interrupted by Ctrl-C after 3 of 9 attempts"}
    incomplete = Report.from_dict(data).incomplete
    assert incomplete == Incomplete("other", "interrupted by Ctrl-C after 3 of 9 attempts")


def test_the_reasons_of_several_reports_become_one():
    cut, ended = Incomplete("cut", "a"), Incomplete("interrupted", "b", by="Ctrl-C")
    assert Incomplete.together([]) is None
    assert Incomplete.together([ended]) is ended
    assert Incomplete.together([cut, ended]) == Incomplete("several", "a; b", by="Ctrl-C")
    assert Incomplete.together([cut, cut]) == Incomplete("cut", "a; a")


@pytest.mark.parametrize("data", [None, 3, "report", [], {}, {"name": "x", "cases": []}, {"calipers_report": "1"},
                                  {"calipers_report": None}, {"calipers_report": True}, {"calipers_report": 0}])  # fmt: skip
def test_data_that_is_no_stored_report_is_refused(data):
    with pytest.raises(ReportFormatError, match="this is no stored report"):
        Report.from_dict(data)


def test_a_later_version_is_refused_with_the_way_out():
    data = {**run([]).to_dict(), "calipers_report": FORMAT_VERSION + 1}
    with pytest.raises(ReportFormatError, match="install a newer calipers"):
        Report.from_dict(data)


def damaged(change):
    data = json.loads(json.dumps(run([named("v", lambda output: output)]).to_dict()))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda d: d.pop("cases"), "cases"),
        (lambda d: d.pop("name"), "name"),
        (lambda d: d.update(cases="x"), "$.cases"),
        (lambda d: d.update(repeat="2"), "$.repeat"),
        (lambda d: d["cases"][0].pop("task_duration"), "task_duration"),
        (lambda d: d["cases"][0].update(results={"v": 1}), "$.cases[0].results"),
        (lambda d: d["cases"][0]["results"][0].update(value=None), "value"),
        (lambda d: d["cases"][0]["results"][0].update(value=[1]), "value"),
        (lambda d: d["cases"][0]["results"][0].update(verdict="maybe"), "maybe"),
        (
            lambda d: d["cases"][0]["results"][0].update(value=math.nan),
            "case 'c0' has a number that is not finite",
        ),
        (
            lambda d: d["cases"][0]["results"][0].update(score=math.inf),
            "case 'c0' has a number that is not finite",
        ),
        (
            lambda d: d["cases"][1]["metrics"].update(tokens=math.nan),
            "case 'c1' has a number that is not finite",
        ),
        (lambda d: d["cases"][1]["metrics"].update(tokens="3"), "metrics"),
        (lambda d: d["cases"][2].update(task_duration=math.nan), "case 'c2' has a number that is not finite"),
        (
            lambda d: d["cases"][2].update(total_duration=math.inf),
            "case 'c2' has a number that is not finite",
        ),
        (lambda d: d.update(analyses=[{"type": "horoscope"}]), "horoscope"),
    ],
)
def test_damaged_data_is_refused_and_the_place_is_named(change, hint):
    with pytest.raises(ReportFormatError, match="the stored report is damaged") as caught:
        Report.from_dict(damaged(change))
    assert hint in str(caught.value)


def test_a_trace_is_stored_and_comes_back_as_one():
    trace = Trace(agent_name="bot", output_text="done", tool_calls=[ToolCall("t", {"x": 1}, output=[2])])
    report = run([], lambda inputs: trace, inputs=(1,))
    [case] = stored(report).cases
    assert isinstance(case.trace, Trace)
    assert case.trace == trace
    assert case.trace.tool_calls[0].output == [2]
    assert (case.trace.trace_id, case.trace.created_at) == (trace.trace_id, trace.created_at)


def test_attempts_without_a_trace_say_nothing_of_one_and_those_of_an_older_file_have_none():
    data = run([], inputs=(1,)).to_dict()
    assert "trace" not in data["cases"][0]
    assert Report.from_dict(data).cases[0].trace is None
    assert Report.from_dict(damaged(lambda d: d["cases"][0].update(trace=None))).cases[0].trace is None


@pytest.mark.parametrize("records", ["cases", "failures"])
@pytest.mark.parametrize(
    ("trace", "hint"),
    [
        (3, "a trace is stored as an object, got 3"),
        ({"turns": 3}, "turns are stored as a list, got 3"),
        ({"turns": [{"tool_call": {"arguments": {}}}]}, "needs the tool's name"),
        ({"total_latency_ms": math.nan}, "got nan"),
    ],
)
def test_a_damaged_trace_is_refused_and_its_case_is_named(records, trace, hint):
    def fail(inputs):
        raise ValueError

    task = fail if records == "failures" else lambda inputs: inputs
    data = run([], task, inputs=(1,)).to_dict()
    data[records][0]["trace"] = trace
    with pytest.raises(
        ReportFormatError, match="the stored report is damaged: the trace of case 'c1'"
    ) as caught:
        Report.from_dict(data)
    assert hint in str(caught.value)


def test_reading_a_report_leaves_the_data_as_it_was():
    data = run([], lambda inputs: Trace(tool_calls=[ToolCall("t")]), inputs=(1,)).to_dict()
    before = json.dumps(data)
    Report.from_dict(data)
    assert json.dumps(data) == before


def test_fields_of_a_later_release_are_passed_over():
    data = damaged(lambda d: (d.update(weather="fine"), d["cases"][0].update(mood="good")))
    assert len(Report.from_dict(data).cases) == 4


# ---------------------------------------------------------------------- the law of the round trip

_TEXT = st.text(st.characters(categories=None), max_size=5)  # lone surrogates, too
_NAMES = st.text(min_size=1, max_size=5)
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | _FINITE | st.text(max_size=5)
_JSON = st.recursive(
    st.none() | _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5
)  # fmt: skip
_ANYTHING = st.recursive(
    st.none()
    | _SCALARS
    | _TEXT
    | st.floats()
    | st.binary(max_size=3)
    | st.sets(st.integers(), max_size=3)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_TEXT | st.integers(), inner, max_size=3)
        | st.tuples(inner)
        | st.builds(Answer, _TEXT, st.sets(_TEXT, max_size=2))
        | st.builds(ToolCall, st.just("t"), st.dictionaries(_TEXT, inner, max_size=2))
    ),
    max_leaves=5,
)


def reports(given_values, text):
    """Reports whose inputs and outputs are drawn from `given_values`."""
    specs = st.builds(EvaluatorSpec, text, st.dictionaries(text, given_values, max_size=2))
    metadata = st.none() | st.dictionaries(text, given_values, max_size=2)
    results = st.builds(
        EvaluationResult,
        name=text,
        value=_SCALARS,
        reason=st.none() | text,
        evaluator=text,
        source=specs,
        evaluator_version=st.none() | text,
        verdict=st.none() | st.sampled_from(EvalVerdict),
        score=st.none() | _FINITE,
        metadata=metadata,
    )
    broken = st.builds(
        EvaluatorFailure, name=text, error_type=text, error_message=text, error_stacktrace=text, source=specs
    )
    calls = st.builds(
        ToolCall,
        st.text(min_size=1, max_size=3),
        st.dictionaries(text, given_values, max_size=2),
        output=given_values,
        success=st.booleans(),
        error=st.none() | text,
        latency_ms=st.none() | st.floats(0, 1e9),
    )
    traces = st.builds(
        Trace,
        output_text=text,
        tool_calls=st.lists(calls, max_size=2),
        metadata=st.dictionaries(text, given_values, max_size=1),
    )
    common = {
        "trace": st.none() | traces,
        "name": text,
        "inputs": given_values,
        "metadata": given_values,
        "expected_output": given_values,
        "task_duration": st.floats(0, 1e9),
        "total_duration": st.floats(0, 1e9),
        "source_case_name": st.none() | text,
        "cluster": st.none() | text,
        "tags": st.lists(text, max_size=2).map(tuple),
        "tries": st.integers(1, 5),
        "has_expected_output": st.booleans(),
        "trace_id": st.none() | text,
        "teardown_failure": st.none() | st.builds(Failure, error_type=text, error_message=text),
    }
    cases = st.builds(
        ReportCase,
        **common,
        output=given_values,
        metrics=st.dictionaries(text, st.integers() | st.just(10**400) | _FINITE, max_size=2),
        attributes=st.dictionaries(text, given_values, max_size=2),
        results=st.lists(results, max_size=3).map(tuple),
        evaluator_failures=st.lists(broken, max_size=2).map(tuple),
        skipped=st.lists(st.builds(SkippedEvaluation, text, text), max_size=2).map(tuple),
    )
    failures = st.builds(
        ReportCaseFailure,
        **common,
        error_type=text,
        error_message=text,
        not_run=st.lists(text, max_size=2).map(tuple),
    )
    return st.builds(
        Report,
        name=text,
        cases=st.lists(cases, max_size=3),
        failures=st.lists(failures, max_size=2),
        report_evaluator_failures=st.lists(broken, max_size=1),
        dataset_name=st.none() | text,
        metadata=metadata,
        repeat=st.integers(1, 5),
        seed=st.integers(0, 2**64),
        started_at=st.none() | text,
        duration=st.none() | st.floats(0, 1e9),
        incomplete=st.none() | st.builds(Incomplete, st.just("other"), text),
        unfinished=st.integers(0, 5),
        blocked=st.dictionaries(text, st.builds(BlockedLoop, st.integers(0, 5), st.floats(0, 9)), max_size=1),
    )


@given(reports(_ANYTHING, _TEXT))
def test_any_report_becomes_strict_json_and_is_the_same_when_read_back(report):
    data = report.to_dict()
    text = json.dumps(data, allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert Report.from_dict(json.loads(text)).to_dict() == data


@given(reports(_JSON, _NAMES))
def test_a_report_of_plain_data_reads_back_equal(report):
    assert stored(report) == report


# ---------------------------------------------------------------------- the door to the terminal


def test_the_options_of_print_are_those_of_the_view():
    chosen = [each.name for each in fields(AttemptOptions)]
    assert list(PrintOptions.__annotations__) == [*chosen, "confidence"]


def test_a_report_shows_itself_in_the_terminal_and_briefly_in_a_log(capsys):
    report = run([named("big", lambda output: output > 1)], name="nightly")
    report.print(width=80, include_cases=False)
    assert "nightly" in capsys.readouterr().out
    assert repr(report) == "Report(name='nightly', 4 cases, 0 failures)"
