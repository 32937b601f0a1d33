from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison.case_pairs import ChangedCase, cases_of, pair_cases
from calipers.errors import InvalidOptionError
from calipers.report.report import Report


@dataclass
class Question:
    text: str
    tags: tuple[str, ...] = ()


def paired(baseline, candidate, **options):
    pairs, pairing = pair_cases(cases_of(baseline), cases_of(candidate), **options)
    return [(one.name, two.name) for one, two in pairs], pairing


def test_cases_of_the_same_name_and_content_are_the_same(attempt, report_of):
    one = report_of([attempt("a", ok=True), attempt("b", ok=True)])
    pairs, pairing = paired(one, report_of([attempt("b", ok=False), attempt("a", ok=True)]))
    assert pairs == [("a", "a"), ("b", "b")]
    assert (pairing.pairs, pairing.renamed, pairing.left_out) == (2, 0, 0)


def test_a_case_that_was_renamed_is_found_by_its_content(attempt, report_of):
    one = report_of([attempt("Case 1", inputs="x"), attempt("Case 2", inputs="y")])
    two = report_of([attempt("Case 1", inputs="y"), attempt("Case 2", inputs="x")])
    pairs, pairing = paired(one, two)
    assert pairs == [("Case 1", "Case 2"), ("Case 2", "Case 1")]
    assert pairing.renamed == 2


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ({"inputs": "x"}, {"inputs": "y"}, ("inputs",)),
        ({"metadata": {"k": 1}}, {"metadata": {"k": 2}}, ("metadata",)),
        ({}, {"has_expected": True}, ("expected output",)),
        (
            {"expected": 1, "has_expected": True, "inputs": 1},
            {"expected": 1.5, "has_expected": True, "inputs": 2},
            ("inputs", "expected output"),
        ),
    ],
    ids=["inputs", "metadata", "an expectation of None", "two parts"],
)
def test_the_same_name_with_another_content_is_refused_and_named(attempt, report_of, before, after, parts):
    one, two = report_of([attempt("a", **before)]), report_of([attempt("a", **after)])
    pairs, pairing = paired(one, two)
    assert pairs == []
    assert pairing.changed == (ChangedCase("a", parts),)
    assert (pairing.baseline_only, pairing.candidate_only, pairing.left_out) == ((), (), 2)
    assert paired(one, two, by="name")[0] == [("a", "a")]


def test_cases_without_any_content_are_known_by_their_names_only(attempt, report_of):
    def bare(*names):
        found = report_of([attempt(name) for name in names])
        for case in found.cases:
            case.inputs = None
        return found

    pairs, pairing = paired(bare("a", "b"), bare("b", "c"))
    assert pairs == [("b", "b")]
    assert (pairing.baseline_only, pairing.candidate_only) == (("a",), ("c",))


def test_of_several_cases_with_the_same_content_each_has_one_partner(attempt, report_of):
    one = report_of([attempt(name, inputs="same") for name in ("a", "b", "c")])
    two = report_of([attempt(name, inputs="same") for name in ("x", "b")])
    pairs, pairing = paired(one, two)
    assert pairs == [("a", "x"), ("b", "b")]
    assert pairing.baseline_only == ("c",)


def test_attempts_of_a_repeated_case_belong_together_whether_they_failed_or_not(attempt, report_of):
    found = cases_of(
        report_of([attempt("a", repeat=1, ok=True), attempt("a", repeat=2, error="ValueError"), attempt("b")])
    )
    assert [(case.name, len(case.attempts)) for case in found] == [("a", 2), ("b", 1)]


def test_objects_in_memory_are_the_same_as_what_a_file_has_of_them(attempt, report_of):
    one = report_of([attempt("a", inputs=Question("why?", ("x",))), attempt("b", inputs={1: (2.0, None)})])
    two = Report.from_dict(one.to_dict())
    assert paired(one, two)[1].pairs == 2


def test_a_report_that_lacks_attempts_is_refused(attempt, report_of):
    whole = report_of([attempt("a", ok=True), attempt("b", ok=False)])
    part = report_of([attempt("b", ok=False)], totals=whole.with_totals().totals)
    with pytest.raises(InvalidOptionError, match=r"keeps 1 of 2 attempts.*keep='all'"):
        cases_of(part)
    assert len(cases_of(whole.with_totals())) == 2


def test_what_makes_cases_the_same_is_content_or_name():
    with pytest.raises(InvalidOptionError, match=r"pair_by must be one of .*'inputs'"):
        pair_cases([], [], by="inputs")


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=8, unique_by=lambda case: case[0]
    ),
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=8, unique_by=lambda case: case[0]
    ),
)
def test_every_case_is_paired_or_accounted_for_and_only_equals_are_paired(attempt, report_of, one, two):
    reports = [report_of([attempt(name, inputs=value) for name, value in cases]) for cases in (one, two)]
    pairs, pairing = paired(*reports)
    before, after = dict(one), dict(two)
    assert all(before[first] == after[second] for first, second in pairs)
    assert len({first for first, _ in pairs}) == len({second for _, second in pairs}) == pairing.pairs
    assert len(before) == pairing.pairs + len(pairing.changed) + len(pairing.baseline_only)
    assert len(after) == pairing.pairs + len(pairing.changed) + len(pairing.candidate_only)
