import random

import pytest

from calipers import Case
from calipers.search import (
    CrossEntropy,
    Evolution,
    Factors,
    ModelAttacker,
    Proposal,
    RandomDraws,
    SchemaInputs,
    ThompsonBandit,
    TreeSearch,
    TurnScripts,
    UpperBoundBandit,
    case_variants,
)
from calipers.testing import ConformanceError, ScriptedModel, check_space, check_strategy

SPACE = Factors({"tone": ["polite", "curt", "angry"], "words": range(1, 40)})
MAKERS = {
    "random": lambda: RandomDraws(SPACE),
    "thompson": lambda: ThompsonBandit(SPACE),
    "ucb": lambda: UpperBoundBandit(SPACE),
    "joint": lambda: ThompsonBandit(SPACE, joint=True),
    "evolution": lambda: Evolution(SPACE, by=["tone"]),
    "evolution of values": lambda: Evolution(SchemaInputs({"type": "array", "items": {"type": "integer"}})),
    "tree": lambda: TreeSearch(SPACE),
    "tree of turns": lambda: TreeSearch(TurnScripts(["a", "b", "c"], depth=3)),
    "cross-entropy": lambda: CrossEntropy(SPACE),
    "model": lambda: ModelAttacker(
        ScriptedModel(lambda ask: {"idea": "i", "message": "m"}), "goal", method="tap"
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_our_strategies_keep_the_contract(make):
    assert len(check_strategy(make)) == 40


@pytest.mark.parametrize(
    "space",
    [
        SPACE,
        SchemaInputs({"type": "object", "properties": {"a": {"type": "number"}}}),
        TurnScripts(["a", "b"], depth=2, goal="x"),
        case_variants([Case(inputs={"text": "Where is my order?"})]),
    ],
    ids=lambda space: type(space).__name__,
)
def test_our_spaces_keep_the_contract(space):
    check_space(space)


class Broken(RandomDraws):
    def __init__(self, how):
        super().__init__(SPACE)
        self.how = how
        self.chance = random.Random()

    def ask(self, rng):
        if self.how == "no proposal":
            return "text"
        if self.how == "raises":
            raise ValueError("oh")
        if self.how == "objects":
            return Proposal(object())
        return super().ask(self.chance if self.how == "own chance" else rng)

    def tell(self, outcome):
        if self.how == "unknown":
            assert outcome.failed is not None, "no"


@pytest.mark.parametrize(
    ("how", "rule", "problem"),
    [
        ("no proposal", "proposal", "it gave 'text'"),
        ("raises", "proposal", "asked for trial 1: ValueError: oh"),
        ("objects", "proposal", "not plain data"),
        ("own chance", "chance", "other proposals"),
        ("unknown", "strategy shape", "told of trial 10"),
    ],
)
def test_a_strategy_that_breaks_it_is_told_how(how, rule, problem):
    with pytest.raises(ConformanceError) as broken:
        check_strategy(lambda: Broken(how))
    assert any(finding.rule == rule and problem in finding.problem for finding in broken.value.findings)


def test_what_is_no_strategy_and_no_space_is_refused():
    with pytest.raises(ConformanceError, match="no ask and tell"):
        check_strategy(lambda: "text")
    with pytest.raises(ConformanceError, match="no sample, redraw"):
        check_space("text")


class BrokenSpace:
    keeps_distribution = False

    def __init__(self, how):
        self.how = how
        self.chance = random.Random()

    def sample(self, rng):
        if self.how == "no proposal":
            return 7
        return Proposal([(self.chance if self.how == "own chance" else rng).random()])

    def redraw(self, proposal, rng):
        if self.how == "changes":
            proposal.inputs[0] = rng.random()
            return proposal
        return 7 if self.how == "no redraw" else Proposal([rng.random()])


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("no proposal", "sample gave 7"),
        ("no redraw", "redraw gave 7"),
        ("changes", "changed the proposal"),
    ],
)
def test_a_space_that_breaks_it_is_told_how(how, problem):
    with pytest.raises(ConformanceError, match=problem):
        check_space(BrokenSpace(how))
