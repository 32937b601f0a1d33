import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.search import Metamorphic, RandomDraws, Relation, must_change, must_not_change, search_sync
from calipers.search.mutations import Typos

CASES = Dataset(
    cases=[
        Case(name="refund", inputs="I am sure that I want a refund."),
        Case(inputs={"text": "Is it late?"}),
    ]
)


def topic(inputs):
    text = inputs if isinstance(inputs, str) else inputs["text"]
    return "refunds" if "refund" in text else "other"


def searched(checked, **options):
    space = checked.space(CASES)
    return search_sync(
        checked,
        RandomDraws(space),
        evaluators=checked.evaluators,
        **{"trials": 150, "seed": 0, "progress": False, **options},
    )


def test_what_must_not_change_is_a_failure_where_it_does():
    found = searched(Metamorphic(topic, [must_not_change("casing"), must_not_change("politeness")]))
    assert set(found.kinds) == {"the same after casing"}
    for outcome in found.failures:
        assert outcome.proposal.choices["case"] == "refund"
        assert outcome.output["before"] != outcome.output["after"]


def test_what_must_change_is_a_failure_where_it_does_not():
    found = searched(Metamorphic(topic, [must_change("negation", name="a negation is noticed")]))
    assert set(found.kinds) == {"a negation is noticed"}
    assert len(found.failures) == 150


def test_a_relation_of_your_own():
    def doubled(inputs, rng):
        return f"{inputs} {inputs}" if isinstance(inputs, str) else inputs

    async def length(inputs):
        return len(inputs)

    longer = Relation("longer", doubled, holds=lambda before, after: after > before)
    found = searched(Metamorphic(length, [longer]))
    assert not found.failures
    skipped = [outcome for outcome in found.outcomes if outcome.proposal.choices["case"] == "Case 2"]
    assert {outcome.failed for outcome in skipped} == {None}, "inputs that stay as they are tell nothing"
    loose = must_not_change(Typos(), same=lambda before, after: abs(before - after) <= 5)
    assert not searched(Metamorphic(lambda text: len(str(text)), [loose])).failures


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ([], "at least one Relation"),
        (["typos"], "a relation is made by"),
        ([must_change("typos"), must_change("typos")], "two relations are called"),
    ],
)
def test_what_is_no_relation_is_refused(relations, message):
    with pytest.raises(InvalidOptionError, match=message):
        Metamorphic(topic, relations)
    with pytest.raises(InvalidOptionError, match="no mutation 'typo'"):
        must_change("typo")
    with pytest.raises(InvalidOptionError, match="no cases"):
        Metamorphic(topic, [must_change("typos")]).space([])


def test_only_its_own_space_makes_its_inputs():
    report = CASES.evaluate_sync(Metamorphic(topic, [must_change("typos")]), progress=False)
    assert {failure.error_type for failure in report.failures} == {"InvalidCaseError"}
