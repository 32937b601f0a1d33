"""A filter is read on the server alone: its terms, what is wrong with it, and how it may go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import FilterError
from calipers.evaluators import EqualsExpected
from calipers.report.attempt_filter import parse_filter
from calipers.stores import MemoryStore
from calipers.viewer.filter_answers import _place, _units, check_answer, complete_answer
from calipers.viewer.viewed_store import ViewedStore


@pytest.fixture(scope="module")
def viewed():
    cases = [
        Case(
            name=f"case {n}",
            inputs=n,
            expected_output=n,
            tags=["refund" if n % 2 else "late reply", *(["rare"] if n == 3 else [])],
            metadata={"lang": "de" if n < 3 else "fr", "two words": n},
        )
        for n in range(6)
    ]
    dataset = Dataset(name="mixed", cases=cases, evaluators=[EqualsExpected()])
    with MemoryStore() as store:
        dataset.evaluate_sync(lambda n: n if n else 1, store=store, name="one", progress=False)
        found = ViewedStore(store)
        index = found.index(found.find_run("latest").id, patience=30)
        assert index.state.state == "ready"
        yield found
        found.close()


def offered(viewed, text, **options):
    """What is offered where `|` stands, as the texts that would come of it."""
    at = _units(text, text.index("|"))
    q = text.replace("|", "")
    found = complete_answer(viewed, q=q, at=at, run="latest", **options).completions
    return [q[: _place(q, each.start)] + each.text + q[_place(q, each.end) :] for each in found]


# ---------------------------------------------------------------------- checking


def test_terms_come_with_their_places(viewed):
    q = '-tag:refund  "order 17" cost>0.01 meta."two words":(1 OR 2)'
    terms = check_answer(viewed, q=q).terms
    assert [q[term.start : term.end] for term in terms] == [term.text for term in terms]
    assert [term.field for term in terms] == ["tag", "text", "cost", "meta"]


def test_an_empty_filter_has_no_terms(viewed):
    assert check_answer(viewed, q="  ").terms == []


@pytest.mark.parametrize(
    ("q", "at", "of"),
    [
        ("tag:a statu:x", 6, "cases"),
        ("😀 statu:x", 3, "cases"),
        ("tag:refund", 0, "runs"),
        ("state:x", 0, "runs"),
    ],
)
def test_what_is_no_filter_says_where_as_a_browser_counts(viewed, q, at, of):
    answer = check_answer(viewed, q=q, of=of)
    assert answer.terms == []
    assert answer.problem is not None
    assert (answer.problem.code, answer.problem.at) == ("bad_filter", at)


@given(st.text(), st.integers(0, 50))
def test_places_are_those_of_a_browser(text, units):
    place = _place(text, units)
    assert 0 <= place <= len(text)
    counted = _units(text, place)
    assert counted == min(units, _units(text, len(text))) or counted == units + 1


# ---------------------------------------------------------------------- completing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|", ["status:", "tag:", "tool:", "eval."]),
        ("ta|", ["tag:"]),
        ("-ta|", ["-tag:"]),
        ("status:failed du|", ["status:failed duration>"]),
        ("du| status:failed", ["duration> status:failed"]),
        ("status:fa|", ["status:failed"]),
        ("status:|", ["status:passed", "status:failed"]),
        ("tag:re|", ["tag:refund"]),
        ("tag:la|", ['tag:"late reply"']),
        ('tag:"la|', ['tag:"late reply"']),
        ("tag:(refund OR r|)", ["tag:(refund OR refund)", "tag:(refund OR rare)"]),
        ("meta.|", ["meta.lang:", 'meta."two words":']),
        ("meta.l|", ["meta.lang:"]),
        ("meta.lang:|", ["meta.lang:de", "meta.lang:fr"]),
        ("eval.Eq|", ["eval.EqualsExpected:"]),
        ("eval.EqualsExpected:|", ["eval.EqualsExpected:passed", "eval.EqualsExpected:failed"]),
        ("😀 ta|", ["😀 tag:"]),
    ],
)
def test_what_may_stand_there_is_offered(viewed, text, expected):
    assert offered(viewed, text)[: len(expected)] == expected


@pytest.mark.parametrize(
    "text", ["cost>|", "nonsense:|", "tag:nothing|", '"late|', "time:|", "meta.nothing:|"]
)
def test_where_nothing_fits_nothing_is_offered(viewed, text):
    assert offered(viewed, text) == []


def test_values_say_how_many_cases_they_find_and_frequent_ones_come_first(viewed):
    found = complete_answer(viewed, q="tag:", at=4, run="latest").completions
    assert [(each.text, each.about) for each in found] == [
        ('"late reply"', "3 cases"),
        ("refund", "3 cases"),
        ("rare", "1 case"),
    ]


def test_runs_are_completed_by_what_runs_have(viewed):
    assert offered(viewed, "da|", of="runs") == ["dataset:"]
    assert offered(viewed, "dataset:|", of="runs") == ["dataset:mixed"]
    assert offered(viewed, "state:fin|", of="runs") == ["state:finished"]
    assert offered(viewed, "rate|", of="runs")[0] == "rate>"


def test_without_a_run_fields_are_offered_and_no_values(viewed):
    assert complete_answer(viewed, q="ta", at=2).completions[0].text == "tag:"
    assert complete_answer(viewed, q="tag:", at=4).completions == []
    assert complete_answer(viewed, q="status:f", at=8).completions[0].text == "failed"


@pytest.mark.parametrize("text", ["tag:|", "meta.lang:|", "eval.EqualsExpected:|", "status:|"])
def test_a_value_that_is_offered_makes_a_filter(viewed, text):
    for completed in offered(viewed, text):
        assert parse_filter(completed).terms


@given(st.text(alphabet='ta:g.()"\\ OR-mé😀<>=~', max_size=20), st.integers(0, 25))
def test_whatever_is_typed_something_or_nothing_is_offered(viewed, q, at):
    for each in complete_answer(viewed, q=q, at=at, run="latest").completions:
        assert 0 <= each.start <= each.end <= _units(q, len(q))
        assert each.text
    try:
        parse_filter(q)
    except FilterError:
        assert check_answer(viewed, q=q).problem is not None
    else:
        assert check_answer(viewed, q=q).terms or not q.strip()
