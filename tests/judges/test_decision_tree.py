"""`DecisionTree`: questions one by one, and the way as the reason."""

import asyncio

import pytest

from calipers.errors import InvalidOptionError
from calipers.judges import DecisionTree, Question
from calipers.testing import ScriptedJudge, make_context

TREE = {
    "answered": Question(ask="Is it answered?", if_yes="right", if_no=False),
    "right": Question(ask="Is it right?", if_yes=True, if_no="close"),
    "close": Question(ask="Is it close?", if_yes=True, if_no=False),
}


def walked(*answers):
    model = ScriptedJudge([{"reason": f"r{number}", "yes": yes} for number, yes in enumerate(answers, 1)])
    return asyncio.run(DecisionTree(TREE, model=model).evaluate(make_context("out"))), model


def test_each_question_is_asked_by_itself_and_the_way_is_the_reason():
    said, model = walked(True, False, True)
    assert said.value is True
    assert said.reason == "answered: yes (r1); right: no (r2); close: yes (r3)"
    assert ["Is it close?" in ask.messages[0]["content"] for ask in model.asks] == [False, False, True]
    said, model = walked(False)
    assert said.value is False
    assert len(model.asks) == 1


@pytest.mark.parametrize(
    ("questions", "match"),
    [
        ({}, "needs questions"),
        ({"a": Question(ask="?", if_yes="b", if_no=False)}, "leads to 'b'"),
        ({"a": Question(ask="?", if_yes="a", if_no=False)}, "a -> a"),
        (
            {
                "a": Question(ask="?", if_yes=True, if_no=False),
                "b": Question(ask="?", if_yes=True, if_no=False),
            },
            "no answer leads",
        ),
        ({"a": Question(ask="?", if_yes=True, if_no=0.5)}, "all true or false, or all numbers"),
        ({"a": Question(ask="?", if_yes=None, if_no=0.5)}, "an end is"),
        ({"a": Question(ask="", if_yes=True, if_no=False)}, "ask of"),
        ({"a": "Is it?"}, "must be a Question"),
    ],
)
def test_a_tree_that_leads_nowhere_is_refused_when_it_is_made(questions, match):
    with pytest.raises(InvalidOptionError, match=match):
        DecisionTree(questions)


def test_ends_may_be_numbers():
    model = ScriptedJudge([{"reason": "r", "yes": False}])
    tree = DecisionTree({"a": Question(ask="?", if_yes=1.0, if_no=0.25)}, model=model)
    assert asyncio.run(tree.evaluate(make_context("out"))).value == 0.25
