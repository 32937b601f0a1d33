import random

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidCaseError, InvalidOptionError
from calipers.evaluators import EqualsExpected
from calipers.search import Factors, Findings, RandomDraws, case_variants, search_sync
from calipers.search.mutations import MUTATIONS, Negated, Typos

CASES = [
    Case(name="refund", inputs="I want a refund.", expected_output="refunds"),
    Case(inputs={"text": "Where is my order?", "id": 7}, expected_output="orders"),
]


def test_a_variant_is_a_case_after_a_mutation():
    space = case_variants(CASES, ["typos", "casing"])
    assert isinstance(space, Factors)
    plain = space.proposal({"case": "refund", "mutation": "none", "seed": 3})
    assert plain.inputs == "I want a refund."
    assert plain.case is CASES[0]
    other = space.proposal({"case": "Case 2", "mutation": "casing", "seed": 3})
    assert other.inputs["text"].lower() == "where is my order?"
    assert other.inputs["id"] == 7
    assert CASES[1].inputs["text"] == "Where is my order?", "the case stays as it was"
    assert other == space.proposal({"case": "Case 2", "mutation": "casing", "seed": 3})


def test_by_default_all_mutations_that_keep_the_meaning_are_tried():
    options = case_variants(Dataset(cases=CASES)).options["mutation"]
    assert options[0] == "none"
    assert set(options) - {"none"} == {name for name, each in MUTATIONS.items() if each.keeps_meaning}


def test_after_a_change_of_meaning_nothing_is_expected():
    space = case_variants(CASES, [Negated(), Typos()])
    assert not space.proposal({"case": "refund", "mutation": "negation", "seed": 0}).case.has_expected_output
    assert space.proposal({"case": "refund", "mutation": "typos", "seed": 0}).case.has_expected_output


def test_inputs_without_a_text_stay_as_they_are():
    space = case_variants([Case(inputs=[1, {"a": " "}])], ["typos"])
    assert space.sample(random.Random(0)).inputs == [1, {"a": " "}]


def test_a_search_over_variants_finds_the_change_that_breaks_a_case():
    def topic(inputs):
        text = inputs if isinstance(inputs, str) else inputs["text"]
        return "refunds" if "refund" in text else "orders"

    dataset = Dataset(name="topics", cases=CASES, evaluators=[EqualsExpected()])
    space = case_variants(dataset, ["casing", "politeness"])
    found = search_sync(topic, RandomDraws(space), dataset=dataset, trials=120, seed=0, progress=False)
    assert {outcome.proposal.choices["mutation"] for outcome in found.failures} == {"casing"}
    assert {outcome.proposal.choices["case"] for outcome in found.failures} == {"refund"}
    assert all("REFUND" in outcome.proposal.inputs.upper() for outcome in found.failures)


def test_what_cannot_be_changed_is_refused():
    with pytest.raises(InvalidOptionError, match="no cases to change"):
        case_variants([])
    with pytest.raises(InvalidCaseError, match="has turns"):
        case_variants([Case(name="talk", turns=["Hello."])])
    with pytest.raises(InvalidOptionError, match="seeds"):
        case_variants(CASES, seeds=0)


def test_failures_become_cases_that_expect_what_the_cases_expect_that_they_vary():
    dataset = Dataset(
        cases=[Case(name="refund", inputs="I want a refund.", expected_output="refunds", tags=("money",))],
        evaluators=[EqualsExpected()],
    )
    found = search_sync(
        lambda text: "refunds" if "refund" in text else "orders",
        RandomDraws(case_variants(dataset, ["casing"])),
        dataset=dataset,
        trials=20,
        seed=1,
        progress=False,
    )
    for each in (found, Findings.of(found.report)):
        [case] = each.dataset().cases
        assert (case.expected_output, case.tags) == ("refunds", ("money",))
        assert case.metadata["mutation"] == "casing"
