"""One thing to try."""

import copy
import pickle
from collections import deque

import pytest

from calipers import Case, Dataset, Evaluator
from calipers.errors import InvalidCaseError, NotAnEvaluatorError
from calipers.evaluators import EqualsExpected


def check(output):
    return True


def absolute(output):
    return abs(output)


class Exact(Evaluator):
    def evaluate(self, ctx):
        return True


@pytest.mark.parametrize(
    ("fields", "stated", "value"),
    [
        ({}, False, None),
        ({"expected_output": None}, True, None),
        ({"expected_output": 0}, True, 0),
        ({"expected_output": ""}, True, ""),
    ],
)
def test_an_expectation_of_none_differs_from_no_expectation(fields, stated, value):
    case = Case(inputs=1, **fields)
    assert case.has_expected_output is stated
    assert case.expected_output == value
    if not stated:
        assert case != Case(inputs=1, expected_output=None)


def test_an_expectation_may_be_stated_after_the_case_was_made():
    case = Case(name="late", inputs="a")
    case.expected_output = "b"
    assert case.has_expected_output
    assert case == Case(name="late", inputs="a", expected_output="b")
    report = Dataset(cases=[case], evaluators=[EqualsExpected()]).evaluate_sync(str, progress=False)
    assert report.cases[0].assertions["EqualsExpected"].value is False
    assert report.cases[0].has_expected_output


def test_only_inputs_are_needed_and_everything_is_given_by_name():
    case = Case(inputs={"q": 1})
    assert (case.name, case.metadata, case.evaluators, case.cluster) == (None, None, [], None)
    with pytest.raises(TypeError):
        Case()
    with pytest.raises(TypeError):
        Case("x")


def test_a_case_keeps_what_it_is_given_as_it_is():
    inputs, metadata, expected = {"q": [1]}, {"m": 1}, [1]
    case = Case(inputs=inputs, metadata=metadata, expected_output=expected)
    assert case.inputs is inputs
    assert case.metadata is metadata
    assert case.expected_output is expected


@pytest.mark.parametrize("name", ["", 3, b"x", ("a",)])
def test_a_name_is_a_non_empty_string(name):
    with pytest.raises(InvalidCaseError, match="non-empty string or None, got"):
        Case(name=name, inputs=1)


@pytest.mark.parametrize("timeout", [None, 1, 0.5, 1e300])
def test_a_case_may_say_how_long_its_task_may_take(timeout):
    assert Case(inputs=1, timeout=timeout).timeout is timeout


@pytest.mark.parametrize(
    "timeout", [0, -1, 0.0, float("nan"), float("inf"), True, "5", [1], 10**400], ids=lambda x: repr(x)[:9]
)
def test_a_timeout_is_a_positive_number_of_seconds(timeout):
    with pytest.raises(
        InvalidCaseError, match="the timeout of case 'a' must be a positive number of seconds"
    ):
        Case(name="a", inputs=1, timeout=timeout)


def test_a_cluster_is_a_string():
    assert Case(inputs=1, cluster="doc 1").cluster == "doc 1"
    with pytest.raises(InvalidCaseError, match="the cluster of case 'a' must be a string or None, got 3"):
        Case(name="a", inputs=1, cluster=3)


@pytest.mark.parametrize("tags", [[], ["slow", "maths"], ("slow",)])
def test_tags_are_words_to_choose_cases_by(tags):
    assert Case(inputs=1, tags=tags).tags == tuple(tags)


@pytest.mark.parametrize("tags", ["slow", [1], [None], None, 3, iter(["slow"])])
def test_tags_are_a_list_of_strings(tags):
    with pytest.raises(InvalidCaseError, match="the tags of case 'a' must be a list of strings, got"):
        Case(name="a", inputs=1, tags=tags)


@pytest.mark.parametrize("evaluators", [[check, Exact()], (check, Exact()), deque([check, Exact()])])
def test_evaluators_come_in_any_sequence_and_the_list_is_the_cases_own(evaluators):
    case = Case(inputs=1, evaluators=evaluators)
    assert case.evaluators == list(evaluators)
    case.evaluators.append(check)
    assert len(evaluators) == 2


@pytest.mark.parametrize(
    ("evaluators", "hint"),
    [
        (check, "evaluators must be a list of evaluators"),
        (Exact(), "evaluators must be a list of evaluators"),
        ("exact", "evaluators must be a list of evaluators, got 'exact'"),
        ({check}, "evaluators must be a list of evaluators"),
        ((e for e in [check]), "evaluators must be a list of evaluators"),
        ([check, 3], "3 is not an evaluator"),
        ([Exact], "make one with Exact(...)"),
        ([lambda outptu: True], "did you mean 'output'?"),
    ],
)
def test_a_wrong_evaluator_is_named_where_it_is_written(evaluators, hint):
    with pytest.raises(NotAnEvaluatorError) as caught:
        Case(inputs=1, evaluators=evaluators)
    assert hint in str(caught.value)


def test_cases_are_equal_when_all_their_fields_are_and_have_no_hash():
    full = {
        "name": "a",
        "inputs": 1,
        "metadata": {"m": 1},
        "expected_output": 2,
        "evaluators": [check],
        "cluster": "k",
        "tags": ["t"],
        "timeout": 5,
    }
    case = Case(**full)
    assert case == Case(**full)
    for name, other in [
        ("name", "b"),
        ("inputs", 2),
        ("tags", []),
        ("metadata", None),
        ("evaluators", []),
        ("cluster", "l"),
        ("timeout", None),
    ]:
        assert case != Case(**{**full, name: other})
    assert (case == "a") is False
    with pytest.raises(TypeError):
        hash(case)


def test_a_case_can_be_copied_pickled_and_typed():
    case = Case(name="a", inputs={"q": [1]}, expected_output=None, evaluators=[check])
    assert copy.copy(case) == case
    assert copy.deepcopy(case) == case
    assert pickle.loads(pickle.dumps(Case(inputs=1))) == Case(inputs=1)
    assert Case[str, str, dict](inputs="x") == Case(inputs="x")


def test_a_case_cannot_take_fields_it_does_not_have():
    with pytest.raises(AttributeError):
        Case(inputs=1).expected = 2


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (Case(inputs=1), "Case(inputs=1)"),
        (Case(inputs=1, expected_output=None), "Case(inputs=1, expected_output=None)"),
        (
            Case(name="a", inputs="x", metadata={"m": 1}, cluster="k", timeout=2.5),
            "Case(name='a', inputs='x', metadata={'m': 1}, cluster='k', timeout=2.5)",
        ),
        (Case(inputs=1, evaluators=[absolute]), f"Case(inputs=1, evaluators=[{absolute!r}])"),
    ],
    ids=["inputs", "an expectation", "a name", "evaluators"],
)
def test_a_case_shows_what_it_was_made_with(case, text):
    assert repr(case) == text


def test_the_inputs_as_text():
    assert Case(inputs="hi").input_text == "hi"
    assert Case(inputs=3).input_text == "3"
