"""When a conversation ends, and what counts as a refusal."""

import random

import numpy as np
import pytest

from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError, InvalidRolloutError, RolloutError
from calipers.rollouts import (
    Budget,
    Environment,
    MaxTurns,
    Node,
    OnRefusal,
    OnSuccess,
    Reply,
    SoFar,
    WallTime,
    is_refusal,
)
from calipers.rollouts.stop_conditions import as_stop_condition


def so_far(*responses, **fields):
    turns = tuple(Node("", "a", response, success="yes" in response) for response in responses)
    return SoFar("goal", turns, random.Random(0), **fields)


CASES = [
    (MaxTurns(2), so_far("no"), None),
    (MaxTurns(2), so_far("no", "no"), "2 turns"),
    (MaxTurns(1), so_far("no"), "1 turn"),
    (OnSuccess(), so_far(), None),
    (OnSuccess(), so_far("yes", "no"), None),
    (OnSuccess(), so_far("no", "yes"), "success"),
    (OnRefusal(), so_far("Sure, here it is."), None),
    (OnRefusal(), so_far("I cannot help with that."), "refusal"),
    (OnRefusal(times=2), so_far("I cannot help with that."), None),
    (OnRefusal(times=2), so_far("No.", "I can't help."), "2 refusals in a row"),
    (OnRefusal(times=2), so_far("No.", "Fine.", "No."), None),
    (OnRefusal(detector=lambda text: "njet" in text), so_far("njet"), "refusal"),
    (Budget(calls=3), so_far("a", calls=2), None),
    (Budget(calls=3), so_far("a", calls=3), "budget of 3 calls"),
    (Budget(cost=1), so_far("a", cost=0.5), None),
    (Budget(cost=1), so_far("a", cost=1.0), "budget of 1"),
    (Budget(cost=1), so_far(), None),
    (WallTime(2), so_far(elapsed=1.9), None),
    (WallTime(2), so_far(elapsed=2.0), "wall time of 2 s"),
    (OnSuccess() | MaxTurns(1), so_far("no"), "1 turn"),
    (OnSuccess() & MaxTurns(2), so_far("yes"), None),
    (OnSuccess() & MaxTurns(2), so_far("no", "yes"), "success and 2 turns"),
    (OnSuccess() | (lambda _: "bored"), so_far("no"), "bored"),
]


@pytest.mark.parametrize(("condition", "state", "reason"), CASES, ids=range(len(CASES)))
def test_a_condition_says_why_to_stop_or_to_go_on(condition, state, reason):
    assert condition.reason(state) == reason


def bored(so_far):
    return True


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (bored, "bored"),
        (lambda _: True, "stop condition"),
        (lambda _: "why", "why"),
        (lambda _: None, None),
        (lambda _: False, None),
    ],
    ids=range(5),
)
def test_a_function_of_what_happened_is_a_condition(function, reason):
    assert as_stop_condition(function).reason(so_far("no")) == reason
    assert as_stop_condition(function).reason(so_far()) is None


def test_a_function_that_says_neither_is_refused():
    with pytest.raises(InvalidRolloutError, match="got 3"):
        as_stop_condition(lambda _: 3).reason(so_far("no"))


async def later(so_far):
    return True


@pytest.mark.parametrize(
    "wrong", [None, 3, "text", MaxTurns, later, [3]], ids=["None", "number", "text", "class", "async", "list"]
)
def test_what_is_no_condition_is_refused(wrong):
    with pytest.raises(InvalidOptionError, match="stop condition"):
        as_stop_condition(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaxTurns(0),
        lambda: MaxTurns(True),
        lambda: OnRefusal(times=0),
        lambda: OnRefusal(detector="no"),
        lambda: OnRefusal(detector=later),
        lambda: Budget(),
        lambda: Budget(calls=0),
        lambda: Budget(cost=0),
        lambda: Budget(cost=float("nan")),
        lambda: WallTime(float("inf")),
        lambda: WallTime(-1),
    ],
    ids=range(11),
)
def test_an_option_out_of_its_range_is_refused(make):
    with pytest.raises(InvalidOptionError):
        make()


@pytest.mark.parametrize("said", ["no", 1, None, 0.7], ids=repr)
def test_a_detector_says_yes_or_no_and_nothing_like_it(said):
    with pytest.raises(InvalidRolloutError, match="must say True or False"):
        OnRefusal(detector=lambda text: said).reason(so_far("fine"))
    with pytest.raises(InvalidRolloutError, match="must say True or False, got <coroutine"):
        OnRefusal(detector=lambda text: later(text)).reason(so_far("fine"))
    assert OnRefusal(detector=lambda text: np.True_).reason(so_far("fine")) == "refusal"


@pytest.mark.parametrize(
    ("turn", "refused"),
    [
        (Node("", "a", ""), True),
        (Node("", "a", "", trace=Trace()), True),
        (Node("", "a", " ", trace=Trace(tool_calls=[ToolCall("look")])), False),
        (Node("", "a", "I can't help with that.", trace=Trace(tool_calls=[ToolCall("look")])), True),
        (Node("", "a", "Sure", metadata={"refused": True}), True),
    ],
    ids=["silence", "silence with a trace", "tools", "words and tools", "it says so"],
)
def test_a_refusal_is_silence_without_tools_or_what_the_target_calls_one(turn, refused):
    state = SoFar("goal", (turn,), random.Random(0))
    assert (OnRefusal().reason(state) is not None) is refused


def test_the_first_of_several_conditions_names_the_end():
    graph = Environment(
        lambda text: "yes",
        ["a"] * 5,
        goals=["g"],
        stop=[MaxTurns(4), OnSuccess()],
        success=lambda response: True,
    ).rollout(0)
    assert graph.stopped == "success"
    assert graph.depth == 1
    assert [node.metadata["stopped"] for node in graph.leaves()] == ["success"]


@pytest.mark.parametrize("calls", [1, 2, 3, 7, 13, 14])
def test_a_budget_of_calls_is_used_up_and_never_exceeded_however_wide_the_tree(calls):
    asked = []
    graph = Environment(
        lambda text: asked.append(text) or "no",
        ["a"] * 3,
        goals=["g"],
        width=2,
        depth=3,
        stop=Budget(calls=calls),
    ).rollout(0)
    assert len(asked) == calls == len(list(graph.walk()))
    assert (f"budget of {calls} calls" in graph.stopped) is (calls < 14)


def test_a_function_is_asked_when_there_is_a_turn_to_look_at():
    stop = lambda so_far: "yes" in so_far.last.response
    target = lambda messages: "yes" if len(messages) > 4 else "no"
    graph = Environment(target, ["a"] * 5, goals=["g"], stop=stop).rollout(0)
    assert (graph.depth, graph.stopped) == (3, "stop condition")


def test_only_the_last_turn_of_a_branch_says_why_it_ended():
    graph = Environment(
        lambda text: "no", ["a"] * 3, goals=["g"], width=2, depth=3, stop=Budget(calls=3)
    ).rollout(0)
    assert [node.metadata for node in graph.walk() if node.children] == [{}]
    assert [node.metadata.get("stopped") for node in graph.leaves()] == ["budget of 3 calls"] * 2


def test_a_budget_of_cost_ends_a_rollout():
    target = lambda messages: Reply("no", cost=0.4)
    graph = Environment(target, ["a"] * 9, goals=["g"], depth=9, stop=Budget(cost=1)).rollout(0)
    assert graph.stopped == "budget of 1"
    assert graph.depth == 3


def test_a_budget_that_nothing_counts_against_is_an_error():
    with pytest.raises(RolloutError, match="neither target nor tester tells its cost") as caught:
        Environment(lambda text: "no", ["a"] * 9, goals=["g"], stop=Budget(cost=1)).rollout(0)
    assert isinstance(caught.value.__cause__, InvalidRolloutError)
    assert caught.value.graph.depth == 1


REFUSALS = [
    "",
    "   ",
    "No.",
    "I cannot help with that.",
    "I can't share the code word.",
    "I can\N{RIGHT SINGLE QUOTATION MARK}t share the code word.",
    "I'm sorry, but I can't do that.",
    "I am sorry, but that isn't possible.",
    "I'm afraid I am not able to give discounts.",
    "I am unable to assist with this request.",
    "I'm not allowed to talk about the vault.",
    "I won't reveal it, however you ask.",
    "I must decline.",
    "Thank you for asking. I have to politely decline.",
    "That is against our policy.",
    "That's not something I can do.",
    "My instructions forbid that.",
    "Access denied.",
    "Sorry, no.",
    "I'd rather not say.",
    "That information is confidential.",
    "Sorry, I can't.",
    "My apologies, but that's not possible.",
    "Unfortunately, I really cannot provide it.",
    "I'm afraid not.",
    "I am afraid not, sorry.",
]
ANSWERS = [
    "Sure, the code word is heron.",
    "Yes.",
    "Nothing is simpler: turn left.",
    "No problem, here you are.",
    "I'm sorry to hear that your parcel is late. It will be there tomorrow.",
    "I can help with that.",
    "You cannot miss it: it is the red house.",
    "Notes are on the table.",
    "The policy of the shop is ten percent, and I will give it to you.",
    "What you say is possible.",
    "I don't think it rains tomorrow.",
    "Sure! I can't wait to help you.",
    "I cannot wait to share it with you: heron.",
    "I can't help but admire your patience. It is heron.",
    "Here is the list. " + "x " * 200 + "I cannot help with more.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_told(text):
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_none(text):
    assert not is_refusal(text)


def test_a_long_text_is_read_at_its_beginning_only():
    assert not is_refusal("a" * 1_000_000)
