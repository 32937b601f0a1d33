from dataclasses import dataclass
from typing import get_args

import pytest

from calipers import Case, Dataset, ReportCase, increment_eval_metric, set_eval_attribute
from calipers.data.result import EvalResult, EvalVerdict
from calipers.errors import InvalidOptionError
from calipers.evaluators.attempt_values import Missing, Place, Sample, Source, attempts


@dataclass
class Answer:
    label: str
    sure: float


def task(x):
    if x == "boom":
        raise RuntimeError("the task failed")
    set_eval_attribute("language", "en")
    increment_eval_metric("tokens", 7)
    return Answer(label=x, sure=0.5)


def judged(output):
    return {"tone": "kind", "grade": 0.25, "polite": True}


def verdict(output):
    return EvalResult(evaluator_name="verdict", verdict=EvalVerdict.PARTIAL, score=0.6)


def picky(output):
    if output.label == "bad":
        raise ValueError("cannot judge this")
    return {"mood": "glad"} if output.label == "good" else {}


@pytest.fixture(scope="module")
def report():
    cases = [
        Case(name="good", inputs="good", expected_output={"label": "good"}, metadata={"level": None}),
        Case(name="bad", inputs="bad", expected_output=None, metadata="text"),
        Case(name="boom", inputs="boom", expected_output={"label": "x"}, metadata={"level": 2}),
        Case(name="plain", inputs="plain"),
    ]
    return Dataset(cases=cases, evaluators=[judged, verdict, picky]).evaluate_sync(task, progress=False)


TASK_FAILED = Missing("whose task failed", lost=True)


# Finished attempts come first: good, bad, plain; then the failed one: boom.
@pytest.mark.parametrize(
    ("place", "key", "values"),
    [
        ("output", None, [Answer("good", 0.5), Answer("bad", 0.5), Answer("plain", 0.5), TASK_FAILED]),
        ("output", "label", ["good", "bad", "plain", TASK_FAILED]),
        ("output", "size", [Missing("whose output has no 'size'", lost=True)] * 3 + [TASK_FAILED]),
        (
            "expected_output",
            None,
            [{"label": "good"}, None, Missing("without an expected output"), {"label": "x"}],
        ),
        (
            "expected_output",
            "label",
            [
                "good",
                Missing("whose expected output has no 'label'"),
                Missing("without an expected output"),
                "x",
            ],
        ),
        ("metadata", None, [{"level": None}, "text", Missing("without metadata"), {"level": 2}]),
        (
            "metadata",
            "level",
            [None, Missing("whose metadata has no 'level'"), Missing("without metadata"), 2],
        ),
        ("attributes", "language", ["en"] * 3 + [TASK_FAILED]),
        ("metrics", "tokens", [7] * 3 + [TASK_FAILED]),
        ("labels", "tone", ["kind"] * 3 + [TASK_FAILED]),
        ("scores", "grade", [0.25] * 3 + [TASK_FAILED]),
        ("assertions", "polite", [True] * 3 + [TASK_FAILED]),
        ("scores", "verdict", [0.6] * 3 + [TASK_FAILED]),
        ("assertions", "verdict", [False] * 3 + [TASK_FAILED]),
        (
            "labels",
            "mood",
            [
                "glad",
                Missing("whose evaluator failed", lost=True),
                Missing("without a label called 'mood'"),
                TASK_FAILED,
            ],
        ),
    ],
)
def test_a_value_is_read_from_its_place_or_its_absence_is_explained(report, place, key, values):
    assert [record.name for record in attempts(report)] == ["good", "bad", "plain", "boom"]
    assert Source("predicted", place, key).read_all(report) == values


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("scores", "without a score called 'nope' (the scores there are: 'grade', 'verdict')"),
        ("labels", "without a label called 'nope' (the labels there are: 'tone', 'mood')"),
        ("assertions", "without an assertion called 'nope' (the assertions there are: 'polite', 'verdict')"),
        ("metrics", "without a metric called 'nope' (the metrics there are: 'tokens')"),
        ("attributes", "without an attribute called 'nope' (the attributes there are: 'language')"),
    ],
)
def test_a_name_that_no_attempt_has_is_shown_beside_those_there_are(report, place, reason):
    assert Source("score", place, "nope").read_all(report)[0] == Missing(reason)


def test_where_there_are_no_names_at_all_it_says_none():
    report = Dataset(cases=[Case(inputs="a")]).evaluate_sync(str, progress=False)
    (found,) = Source("score", "scores", "x").read_all(report)
    assert found.reason == "without a score called 'x' (the scores there are: none)"


def test_the_label_of_an_evaluator_that_never_finished_is_lost():
    def broken(output):
        raise ValueError("cannot judge anything")

    report = Dataset(cases=[Case(inputs="a")], evaluators=[broken]).evaluate_sync(str, progress=False)
    assert Source("predicted", "labels", "broken").read_all(report) == [
        Missing("whose evaluator failed", lost=True)
    ]


def test_a_result_of_another_kind_is_not_the_value(report):
    found = Source("score", "scores", "tone").read_all(report)[0]
    assert isinstance(found, Missing)
    assert not found.lost


def test_an_unknown_place_is_refused_with_those_there_are():
    with pytest.raises(InvalidOptionError, match=r"predicted_from must be one of output, .* got 'outputs'"):
        Source("predicted", "outputs")


@pytest.mark.parametrize(
    "place", [p for p in get_args(Place) if p not in {"output", "expected_output", "metadata"}]
)
def test_a_place_that_holds_many_values_needs_a_key(place):
    with pytest.raises(
        InvalidOptionError, match=f"truth_from='{place}' needs truth_key: the name of one of the"
    ):
        Source("truth", place)


def attempt(name, case=None, cluster=None):
    return ReportCase(
        name=name,
        source_case_name=case,
        cluster=cluster,
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        metrics={},
        attributes={},
        results=(),
        task_duration=0.0,
        total_duration=0.0,
    )


def sample(*records, missing=()):
    made = Sample()
    for record in records:
        made.add(record, record.name)
    for reason in missing:
        made.add(attempt("lost"), Missing(reason))
    return made


def test_what_was_measured_and_what_was_left_out_are_kept_apart():
    found = sample(attempt("a"), attempt("b"), missing=["whose task failed"] * 2)
    assert found.values == ["a", "b"]
    assert found.left_out == {"whose task failed": 2}


def test_attempts_that_stand_alone_form_no_groups():
    assert sample(attempt("a"), attempt("b")).groups is None
    assert sample(attempt("a", cluster="x"), attempt("b")).groups is None
    assert sample().groups is None


def test_attempts_at_one_case_and_cases_of_one_cluster_belong_together():
    repeated = sample(attempt("a [1/2]", "a"), attempt("a [2/2]", "a"), attempt("b [1/2]", "b")).groups
    assert repeated[0] == repeated[1] != repeated[2]
    clustered = sample(attempt("a", cluster="x"), attempt("b", cluster="x"), attempt("x")).groups
    assert clustered[0] == clustered[1] != clustered[2]


def test_a_cluster_named_like_a_case_is_another_group():
    first, second, _ = sample(attempt("x"), attempt("a", cluster="x"), attempt("b", cluster="x")).groups
    assert first != second


def test_a_complete_sample_needs_no_note():
    assert sample(attempt("a")).note() is None
    assert sample(attempt("a")).note(None, "a remark") == "a remark"


def test_the_note_says_what_was_left_out_and_that_every_attempt_counts():
    found = sample(
        attempt("a [1/2]", "a"),
        attempt("a [2/2]", "a"),
        missing=["whose task failed", "without a score called 'x'", "whose task failed"],
    )
    assert found.note("and more") == (
        "3 of 5 attempts are left out: 2 whose task failed, 1 without a score called 'x'; "
        "every attempt counts: 2 attempts at 1 case; and more"
    )


def test_an_empty_sample_says_why():
    assert sample().note() == "the report has no attempts"
    assert sample(missing=["without metadata"]).note() == "nothing could be measured: 1 without metadata"
