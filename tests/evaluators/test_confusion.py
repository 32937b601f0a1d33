from collections import Counter
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report
from calipers.errors import InvalidOptionError
from calipers.evaluators import ConfusionMatrixEvaluator
from calipers.stats import wilson

BOOM = "boom"


def answer(x):
    if x is BOOM:
        raise RuntimeError("the task failed")
    return x


def measure(pairs, *, evaluators=(), repeat=1, **options):
    """The matrix of (expected, output) pairs; an expected of `...` is left unstated."""
    cases = [
        Case(inputs=output, **({} if expected is ... else {"expected_output": expected}))
        for expected, output in pairs
    ]
    dataset = Dataset(
        cases=cases, evaluators=list(evaluators), report_evaluators=[ConfusionMatrixEvaluator(**options)]
    )
    report = dataset.evaluate_sync(answer, progress=False, repeat=repeat)
    assert report.report_evaluator_failures == []
    assert Report.from_dict(report.to_dict()).analyses == report.analyses
    return report.analyses[0]


def test_rows_are_expected_and_columns_predicted_with_labels_sorted():
    found = measure([("ham", "ham"), ("spam", "ham"), ("spam", "spam"), ("spam", "eggs")])
    assert found.class_labels == ["eggs", "ham", "spam"]
    assert found.matrix == [[0, 0, 0], [0, 1, 0], [1, 1, 1]]
    assert (found.n, found.accuracy, found.note) == (4, 0.5, None)
    assert found.accuracy_interval == wilson(2, 4)


labels = st.sampled_from(["a", "b", "c", "d"])


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=12))
def test_the_matrix_counts_every_pair_once(pairs):
    found = measure(pairs)
    counts = Counter(pairs)
    assert found.class_labels == sorted({label for pair in pairs for label in pair})
    for expected, row in zip(found.class_labels, found.matrix, strict=True):
        for predicted, count in zip(found.class_labels, row, strict=True):
            assert count == counts[expected, predicted]
    assert found.accuracy == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("expected", "output", "label"),
    [
        (True, True, "True"),
        (False, False, "False"),
        (1, 1.0, "1"),
        (0.5, 0.5, "0.5"),
        (Colour.RED, "red", "red"),
        (None, None, "(none)"),
        ("", "", ""),
    ],
)
def test_labels_are_compared_as_text(expected, output, label):
    found = measure([(expected, output)])
    assert (found.class_labels, found.matrix) == ([label], [[1]])


@pytest.mark.parametrize(("expected", "output"), [(True, 1), (None, "None"), ("a", "A"), (None, "")])
def test_labels_that_only_look_alike_are_different(expected, output):
    found = measure([(expected, output)])
    assert len(found.class_labels) == 2
    assert found.accuracy == 0.0


def test_numbers_sort_by_size_and_before_text():
    found = measure([(10, "2"), (9, -1), ("b", "a"), (0.5, None)])
    assert found.class_labels == ["-1", "0.5", "2", "9", "10", "(none)", "a", "b"]


def test_an_expectation_of_none_is_an_expectation_and_an_unstated_one_is_not():
    found = measure([(None, "a"), (..., "a")])
    assert found.class_labels == ["(none)", "a"]
    assert found.matrix == [[0, 1], [0, 0]]
    assert found.note == "1 of 2 attempts are left out: 1 without an expected output"


def test_a_failed_task_is_unanswered_and_wrong():
    found = measure([("a", "a"), ("a", BOOM), ("b", BOOM)])
    assert found.class_labels == ["a", "b"]
    assert found.matrix == [[1, 0], [0, 0]]
    assert found.unanswered == [1, 1]
    assert (found.n, found.accuracy) == (3, pytest.approx(1 / 3))
    assert found.note == "2 of 3 attempts gave no prediction: 2 whose task failed"


def test_an_output_that_is_no_label_is_unanswered_and_wrong():
    found = measure([("a", "a"), ("a", ["a"])])
    assert (found.unanswered, found.accuracy) == ([1], 0.5)
    assert found.note == "1 of 2 attempts gave no prediction: 1 whose output is of type list, not a label"


def test_an_output_without_the_part_asked_for_is_unanswered_and_wrong():
    found = measure([("a", {"label": "a"}), ("a", {"lable": "a"})], predicted_key="label")
    assert (found.unanswered, found.accuracy) == ([1], 0.5)


@pytest.mark.parametrize(
    ("pairs", "note"),
    [
        ([], "the report has no attempts"),
        ([(..., "a"), (..., BOOM)], "nothing could be measured: 2 without an expected output"),
        ([("a", BOOM)], "1 of 1 attempts gave no prediction: 1 whose task failed"),
        (
            [("a", {"x": 1})],
            "1 of 1 attempts gave no prediction: 1 whose output is of type dict, not a label",
        ),
        (
            [({"x": 1}, "a")],
            "nothing could be measured: 1 whose expected output is of type dict, not a label",
        ),
    ],
)
def test_without_a_single_prediction_there_is_no_accuracy_and_the_note_says_why(pairs, note):
    found = measure(pairs)
    assert (found.accuracy, found.accuracy_interval, found.note) == (None, None, note)
    assert sum(map(sum, found.matrix)) == 0


def test_one_class_alone_is_a_matrix_of_one():
    found = measure([("a", "a"), ("a", "a")])
    assert (found.class_labels, found.matrix, found.accuracy) == (["a"], [[2]], 1.0)
    assert found.accuracy_interval == wilson(2, 2)


def test_every_attempt_counts_and_repeats_do_not_narrow_the_interval():
    once = measure([("a", "a"), ("b", "a"), ("b", "b"), ("a", "a")])
    often = measure([("a", "a"), ("b", "a"), ("b", "b"), ("a", "a")], repeat=5)
    assert often.matrix == [[10, 0], [5, 5]]
    assert (often.n, often.accuracy) == (20, 0.75)
    assert often.accuracy_interval.width >= once.accuracy_interval.width
    assert often.note == "every attempt counts: 20 attempts at 4 cases"


def tone(output):
    if output == "crash":
        raise ValueError("no tone")
    return {} if output == "skip" else {"tone": output.lower()}


def test_labels_of_an_evaluator_can_be_the_prediction():
    found = measure(
        [("kind", "KIND"), ("rude", "KIND"), ("rude", "crash"), ("rude", "skip")],
        evaluators=[tone],
        predicted_from="labels",
        predicted_key="tone",
    )
    assert found.class_labels == ["kind", "rude"]
    assert found.matrix == [[1, 0], [1, 0]]
    assert found.unanswered == [0, 1]  # a crash is a wrong answer, a skip is none
    assert found.n == 3
    assert found.note == (
        "1 of 4 attempts are left out: 1 without a label called 'tone'; "
        "1 of 3 attempts gave no prediction: 1 whose evaluator failed"
    )


def test_the_expected_label_can_come_from_metadata():
    cases = [
        Case(inputs="a", metadata={"truth": "a"}),
        Case(inputs="b", metadata={"truth": "a"}),
        Case(inputs="b"),
    ]
    evaluator = ConfusionMatrixEvaluator(expected_from="metadata", expected_key="truth", title="mine")
    report = Dataset(cases=cases, report_evaluators=[evaluator]).evaluate_sync(answer, progress=False)
    (found,) = report.analyses
    assert (found.title, found.matrix, found.n) == ("mine", [[1, 1], [0, 0]], 2)


def test_a_wrong_option_is_refused_when_the_evaluator_is_made():
    with pytest.raises(InvalidOptionError, match="predicted_from='labels' needs predicted_key"):
        ConfusionMatrixEvaluator(predicted_from="labels")
    with pytest.raises(InvalidOptionError, match="expected_from must be one of"):
        ConfusionMatrixEvaluator(expected_from="expected")
