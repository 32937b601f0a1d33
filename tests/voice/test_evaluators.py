"""What counts as the call that was expected."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, ToolCall, Trace
from calipers.errors import InvalidOptionError, NotApplicableError
from calipers.voice import (
    Evaluator,
    ExactEvaluator,
    FuzzyEvaluator,
    SemanticEvaluator,
    SubsetEvaluator,
    tool_call,
)

A, B, X = tool_call("a"), tool_call("b"), tool_call("x")
calls = st.lists(
    st.builds(
        ToolCall, st.sampled_from("ab"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2)
    ),
    max_size=4,
)


def passes(evaluator, expected, actual):
    found = evaluator.evaluate(expected=expected, actual=actual)
    return (asyncio.run(found) if asyncio.iscoroutine(found) else found).passed


@pytest.mark.parametrize(
    ("options", "expected", "actual", "passed"),
    [
        ({}, [A, B], [B, A], True),
        ({}, [A, B], [A], False),
        ({}, [A], [A, X], True),
        ({}, [A, A], [A], False),
        ({}, [tool_call("a", x=1)], [tool_call("a", x=1, y=2)], False),
        ({}, [tool_call("a", x=None)], [A], False),
        ({}, [], [X], False),
        ({}, [], [], True),
        ({"ignore_extra_calls": True}, [], [X], True),
        ({"match_order": True}, [A, B], [A, B], True),
        ({"match_order": True}, [A, B], [A, X, B], True),
        ({"match_order": True}, [A, B], [B, A], False),
        ({"match_order": True, "ignore_extra_calls": False}, [A, B], [A, X, B], False),
        ({"match_order": True}, [A, A, B], [A, B, A], False),
        ({"ignore_extra_calls": False}, [], [X], False),
        ({"ignore_extra_calls": False}, [], [], True),
        ({"ignore_extra_calls": False}, [A], [A, X], False),
        ({"ignore_extra_args": True}, [tool_call("a", x=1)], [tool_call("a", x=1, y=2)], True),
        ({"ignore_extra_args": True}, [tool_call("a", x=1)], [A], False),
        (
            {"ignore_extra_args": True},
            [tool_call("a", x=1), tool_call("a", x=1, y=2)],
            [tool_call("a", x=1, y=2), tool_call("a", x=1)],
            True,
        ),
    ],
)
def test_exact_calls_with_their_options(options, expected, actual, passed):
    assert passes(ExactEvaluator(**options), expected, actual) is passed


@given(calls, calls)
def test_exact_is_equality_of_multisets_where_nothing_is_ignored(expected, actual):
    left = list(actual)
    same = len(expected) == len(actual) and all(call in left and not left.remove(call) for call in expected)
    assert passes(ExactEvaluator(ignore_extra_calls=False), expected, actual) is same
    in_order = ExactEvaluator(ignore_extra_calls=False, match_order=True)
    assert passes(in_order, expected, actual) is (expected == actual)


@given(calls, calls, st.booleans(), st.booleans(), st.sampled_from([None, True, False]))
def test_a_result_agrees_with_itself(expected, actual, order, extra_args, extra_calls):
    evaluator = ExactEvaluator(
        match_order=order, ignore_extra_args=extra_args, ignore_extra_calls=extra_calls
    )
    result = evaluator.evaluate(expected, actual)
    assert result.passed == (result.score == 1.0) == (result.match_rate == 1.0)
    assert 0 <= result.score <= 1
    assert [match.expected for match in result.matches[: len(expected)]] == expected
    given_calls = [id(match.actual) for match in result.matches if match.actual is not None]
    assert len(set(given_calls)) == len(given_calls), "no call is given to two expectations"


def test_the_details_say_what_differs():
    result = ExactEvaluator(ignore_extra_calls=False).evaluate(
        [tool_call("book", to="LA"), tool_call("pay"), tool_call("book", to="Rome")],
        [tool_call("book", to="SF", seat=1), X],
    )
    assert result.summary() == (
        "FAILED (0% match rate)\n"
        "  [-] book({'to': 'LA'}) -> book({'to': 'SF', 'seat': 1})\n"
        "      to: expected 'LA', got 'SF'\n"
        "      seat: unexpected, got 1\n"
        "  [-] pay({}) -> (no match)\n"
        "      pay was not called\n"
        "  [-] book({'to': 'Rome'}) -> (no match)\n"
        "      no further call of book\n"
        "  [-] (none)({}) -> x({})\n"
        "      Unexpected extra tool call: x"
    )
    assert ExactEvaluator().evaluate([A], []).matches[0].details == "no tool was called"


@pytest.mark.parametrize(
    ("options", "actual", "passed"),
    [
        ({}, tool_call("Book", to="los  angeles ", seat="1a"), True),
        ({}, tool_call("book", to="Los Angeles"), True),
        ({}, tool_call("book", to="Los Angelos"), False),
        ({"minimum": 0.85}, tool_call("book", to="Los Angelos"), True),
        ({"minimum": 0.85}, tool_call("book", to="Rome"), False),
        ({"ignore_extra_args": False}, tool_call("book", to="Los Angeles", seat="1a"), False),
        ({}, tool_call("book"), False),
        ({}, tool_call("book", to=None), False),
    ],
)
def test_fuzzy_forgives_case_spacing_extras_and_where_asked_misspelling(options, actual, passed):
    assert passes(FuzzyEvaluator(**options), [tool_call("book", to="Los Angeles")], [actual]) is passed


@pytest.mark.parametrize(("at_least", "passed"), [(1, True), (2, True), (3, False)])
def test_some_of_the_calls_may_be_enough(at_least, passed):
    assert passes(SubsetEvaluator(at_least), [A, B, X], [B, A]) is passed


def test_more_calls_than_expected_can_never_be_made():
    with pytest.raises(NotApplicableError, match="can never be made"):
        SubsetEvaluator(2).evaluate([A], [A])


def test_meaning_is_judged_by_embeddings_unless_a_judge_is_given():
    expected = [tool_call("remind", about="call the doctor")]
    near, far = tool_call("remind", about="phone the doctor"), tool_call("remind", about="buy more bananas")
    assert passes(SemanticEvaluator(), expected, [near])
    assert not passes(SemanticEvaluator(), expected, [far])
    assert passes(SemanticEvaluator(lambda wanted, given: "banana" in given), expected, [far])


@pytest.mark.parametrize(
    ("wanted", "given", "says"),
    [
        ("turn on", "turn off", "expected what means 'turn on', got 'turn off': 'on' is not 'off'"),
        ("at 5 pm", "at 6 pm", "their numbers differ: five and six"),
        ("call anna", "do not call anna", "one of them says 'not'"),
        ("call the doctor", "eat", "got 'eat' with similarity 0."),
        ("call the doctor", 3, "expected a text that means 'call the doctor', got 3"),
    ],
)
def test_what_says_something_else_is_not_the_same_however_similar_and_it_is_said_why(wanted, given, says):
    evaluator = SemanticEvaluator(threshold=0.5)
    result = asyncio.run(evaluator.evaluate([tool_call("do", it=wanted)], [tool_call("do", it=given)]))
    assert (result.passed, result.score) != (True, 1.0)
    assert says in result.matches[0].details


def test_a_judge_of_ones_own_alone_decides():
    evaluator = SemanticEvaluator(lambda wanted, given: given != "turn up")
    expected = [tool_call("do", it="turn on")]
    assert passes(evaluator, expected, [tool_call("do", it="turn off")])
    result = asyncio.run(evaluator.evaluate(expected, [tool_call("do", it="turn up")]))
    assert result.matches[0].details.endswith("which the judge says it does not")


def test_a_judge_may_be_async_and_is_asked_once_for_each_two_texts():
    asked = []

    async def judge(wanted, given):
        asked.append((wanted, given))
        return 0.9

    evaluator = SemanticEvaluator(judge, threshold=0.8)
    expected = [tool_call("note", text={"body": ["eggs"]}), tool_call("note", text={"body": ["eggs"]})]
    assert passes(evaluator, expected, [tool_call("note", text={"body": ["some eggs"]})] * 2)
    assert asked == [("eggs", "some eggs")]
    assert not passes(evaluator, [tool_call("note", text="eggs")], [tool_call("note", text=3)])


def test_all_of_them_are_evaluators():
    for evaluator in (ExactEvaluator(), FuzzyEvaluator(), SubsetEvaluator(), SemanticEvaluator()):
        assert isinstance(evaluator, Evaluator)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: FuzzyEvaluator(minimum=2), "minimum"),
        (lambda: SemanticEvaluator(threshold=float("nan")), "threshold"),
        (lambda: SemanticEvaluator(threshold=0), "above 0"),
        (lambda: SemanticEvaluator("gpt"), "judge must be a function, or None"),
        (lambda: SubsetEvaluator(0), "at_least"),
    ],
)
def test_options_out_of_range_are_refused(make, says):
    with pytest.raises(InvalidOptionError, match=says):
        make()


EVERY = [ExactEvaluator(), FuzzyEvaluator(), SubsetEvaluator(), SemanticEvaluator(lambda a, b: a == b)]


@pytest.mark.parametrize("evaluator", EVERY, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    ("expected", "passed"),
    [
        ([tool_call("go", to="LA")], True),
        ((tool_call("go", to="LA"),), True),
        (tool_call("go", to="LA"), True),
        ("go", True),
        (["go"], True),
        ("stop", False),
        ({"name": "go", "arguments": {"to": "LA"}}, True),
        ([{"go": {"to": "LA"}}], True),
        ([{"go": {"to": "NYC"}}], False),
        ([{"name": "go", "matchers": {"to": {"regex": "^L"}}}], True),
    ],
    ids=repr,
)
def test_in_a_plain_dataset_calls_may_be_expected_in_any_way(evaluator, expected, passed):
    dataset = Dataset(
        name="plain", cases=[Case(inputs="Go to LA", expected_output=expected)], evaluators=[evaluator]
    )
    report = dataset.evaluate_sync(lambda _: Trace(tool_calls=[tool_call("go", to="LA")]), progress=False)
    (record,) = report.cases
    assert not record.evaluator_failures
    assert [result.value for result in record.results] == [passed]


@pytest.mark.parametrize("evaluator", EVERY, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("expected", [None, 3, [None]], ids=repr)
def test_in_a_plain_dataset_an_expectation_of_something_else_than_calls_is_skipped(evaluator, expected):
    dataset = Dataset(
        name="plain", cases=[Case(inputs="Go to LA", expected_output=expected)], evaluators=[evaluator]
    )
    (record,) = dataset.evaluate_sync(lambda _: Trace(tool_calls=[]), progress=False).cases
    assert not record.evaluator_failures
    (skip,) = record.skipped
    assert "expect" in skip.reason


def test_the_bare_name_of_a_tool_is_shown_as_a_call_with_any_arguments():
    result = ExactEvaluator().evaluate(["go", "stop"], [tool_call("go", to="LA")])
    assert result.summary() == (
        "FAILED (50% match rate)\n"
        "  [+] go(…) -> go({'to': 'LA'})\n"
        "  [-] stop(…) -> (no match)\n"
        "      stop was not called"
    )
