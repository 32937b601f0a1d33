import pytest

from calipers import Case, Dataset
from calipers.agents import TestCase, Trace
from calipers.agents.test_case import as_test_case
from calipers.errors import InvalidCaseError
from calipers.evaluators import EqualsExpected
from calipers.testing import make_context


def test_a_minimal_case_is_one_line():
    case = TestCase(name="greeting")
    assert (case.name, case.input_text, case.inputs) == ("greeting", "", "")
    assert (case.expected_output, case.has_expected_output) == (None, False)
    assert (case.description, case.tags, case.metadata, case.timeout_seconds) == ("", (), {}, None)


def test_a_full_case_keeps_what_it_was_given():
    case = TestCase(
        name="what is 2+2?",
        input_text="2+2",
        expected_output="4",
        description="sums",
        tags=["maths"],
        timeout_seconds=3,
        metadata={"level": 1},
        cluster="sums",
        test_id="t1",
    )
    assert (case.inputs, case.input_text, case.expected_output, case.has_expected_output) == (
        "2+2",
        "2+2",
        "4",
        True,
    )
    assert (case.description, case.tags, case.timeout_seconds, case.timeout) == ("sums", ("maths",), 3, 3)
    assert (case.metadata, case.cluster, case.test_id) == ({"level": 1}, "sums", "t1")


def test_ids_are_unique_and_not_what_makes_cases_equal():
    one, other = TestCase(name="x"), TestCase(name="x")
    assert one.test_id != other.test_id
    assert one == other == Case(name="x", inputs="", metadata={})
    assert one != TestCase(name="x", input_text="y")


def test_metadata_is_each_cases_own():
    given = {"level": 1}
    case = TestCase(name="x", metadata=given)
    case.metadata["level"] = 2
    assert given == {"level": 1}
    assert TestCase(name="y").metadata == {}


def test_pytest_does_not_take_it_for_a_test():
    assert TestCase.__test__ is False


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_name_is_text(name):
    if name is None:
        assert TestCase(name=name).name is None
    else:
        with pytest.raises(InvalidCaseError, match="name"):
            TestCase(name=name)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "3"])
def test_a_timeout_is_a_positive_number_of_seconds(seconds):
    with pytest.raises(InvalidCaseError, match="timeout"):
        TestCase(name="x", timeout_seconds=seconds)


def test_it_stands_in_a_dataset_beside_other_cases():
    dataset = Dataset(
        cases=[TestCase(name="agent", input_text="a", expected_output="A"), Case(name="plain", inputs="b")],
        evaluators=[EqualsExpected()],
    )
    report = dataset.evaluate_sync(str.upper, progress=False)
    assert report.cases[0].passed
    assert report.cases[1].skipped[0].reason == "the case states no expected output"


# ---------------------------------------------------------------------- other cases as test cases


def test_a_test_case_stays_the_object_it_is():
    case = TestCase(name="x")
    assert as_test_case(case) is case


def test_a_case_becomes_one_with_the_same_content():
    case = Case(
        name="x",
        inputs={"city": "Rome"},
        expected_output=42,
        metadata={"a": 1},
        tags=["t"],
        cluster="c",
        timeout=2,
    )
    made = as_test_case(case)
    assert (made.name, made.inputs, made.expected_output, made.metadata) == (
        "x",
        {"city": "Rome"},
        42,
        {"a": 1},
    )
    assert (made.tags, made.cluster, made.timeout_seconds) == (("t",), "c", 2)
    assert made.input_text == "{'city': 'Rome'}"


@pytest.mark.parametrize(
    ("metadata", "read"),
    [(None, {}), ({"a": 1}, {"a": 1}), ("note", {"metadata": "note"}), ([1], {"metadata": [1]})],
    ids=repr,
)
def test_metadata_that_is_no_mapping_becomes_an_entry_of_one(metadata, read):
    assert as_test_case(Case(inputs="x", metadata=metadata)).metadata == read


def test_a_case_without_a_name_and_a_context_become_test_cases_too():
    assert as_test_case(Case(inputs="x")).name == "case"
    ctx = make_context(Trace(output_text="x"), name="n", inputs="q", expected_output="e")
    made = as_test_case(ctx)
    assert (made.name, made.inputs, made.expected_output) == ("n", "q", "e")
