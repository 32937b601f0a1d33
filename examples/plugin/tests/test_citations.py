import pytest
from calipers_citations import CitationsPlugin, CitesSources, cites_only, source_list

from calipers import Case, Dataset
from calipers.testing import check_evaluator, check_plugin, evaluate_one, make_context

ONE = "It opened in 1889 [https://example.org/tower]."
TWO = f"{ONE} So says https://example.com/history, too, and https://example.org/tower again."


@pytest.mark.parametrize(
    ("answer", "minimum", "passed"),
    [("It opened in 1889.", 1, False), (ONE, 1, True), (ONE, 2, False), (TWO, 2, True), (TWO, 3, False)],
)
def test_an_answer_must_cite_enough_different_sources(answer, minimum, passed):
    assert evaluate_one(CitesSources(minimum), make_context(answer)).passed is passed


def test_the_reason_lists_the_sources():
    record = evaluate_one(CitesSources(), make_context(ONE))
    assert record.assertions["CitesSources"].reason == "1 of 1 sources: https://example.org/tower"


@pytest.mark.parametrize(
    ("hosts", "passed"), [(["example.org", "example.com"], True), (["example.org"], False)]
)
def test_an_answer_may_cite_no_other_hosts(hosts, passed):
    assert cites_only(TWO, hosts).value is passed


def test_a_minimum_that_everything_meets_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        CitesSources(0)


def test_the_view_lists_every_source_with_the_cases_that_cite_it():
    cases = [Case(name="b", inputs=TWO), Case(name="a", inputs=ONE), Case(name="c", inputs="none")]
    assert source_list(Dataset(cases=cases).evaluate_sync(str, progress=False)) == (
        "- <https://example.com/history>: b\n- <https://example.org/tower>: b, a\n"
    )


def test_the_evaluator_keeps_the_contract():
    check_evaluator(CitesSources())


def test_the_plugin_keeps_the_contract():
    checked = check_plugin(CitationsPlugin)
    assert (checked.name, list(checked.evaluators)) == ("citations", ["CitesSources", "citations"])
    assert checked.not_checked == ("cites_only",)
