"""Conversations of a run: as the report says them, with the tree where several were tried."""

from collections.abc import Callable
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.agents import tool
from calipers.rollouts import Environment, LeakModerator, RolloutTask, SimulatedUser
from calipers.stores.store import Store
from calipers.viewer.case_answer import case_answer
from calipers.viewer.case_id import case_id
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import AttemptView
from calipers.views.transcript import transcript_of

View = Callable[[Store], ViewedStore]


@tool
def look_up(order: int) -> str:
    return f"order {order} was sent"


def shop(messages: Any) -> str:
    return look_up(17) if "17" in messages[-1]["content"] else "Which order?"


def keep(store: Store, environment: Any) -> None:
    cases = [Case(name="talk", inputs="Where is my parcel?")]
    Dataset(cases=cases).evaluate_sync(RolloutTask(environment), store=store, progress=False)


def attempt_of(store: Store, view: View) -> AttemptView:
    (attempt,) = case_answer(view(store), "latest", case_id("talk")).attempts
    return attempt


@pytest.fixture
def user() -> SimulatedUser:
    return SimulatedUser("Where is my parcel?", answers={"which order": "It is 17."}, done="was sent")


def test_a_conversation_stands_turn_by_turn_as_the_report_says_it(
    store: Store, view: View, user: SimulatedUser
) -> None:
    keep(store, Environment(shop, user, success=user.reached, opening="Welcome!"))
    talk = attempt_of(store, view).talk
    said = transcript_of(store.report("latest").cases[0])
    assert talk is not None
    assert said is not None
    assert (talk.asker, talk.answerer, talk.opening, talk.stopped) == (
        "user",
        "agent",
        "Welcome!",
        said.stopped,
    )
    assert [(turn.number, turn.asked.text, turn.answered.text) for turn in talk.turns] == [
        (turn.number, turn.asked, turn.answered) for turn in said.turns
    ]
    steps = [[(step.kind, step.text) for step in turn.steps] for turn in talk.turns]
    assert steps == [[], [("tool", "called look_up(order=17)")]]
    assert [turn.facts for turn in talk.turns] == [["goal not reached yet"], ["goal reached"]]


def test_a_tree_of_conversations_has_its_branches_and_what_came_of_them(store: Store, view: View) -> None:
    keep(
        store,
        Environment(
            lambda text: "the word" if text == "1" else "no",
            lambda so_far: str(so_far.branch),
            LeakModerator("word"),
            goals=["g"],
            width=2,
            depth=2,
        ),
    )
    attempt = attempt_of(store, view)
    assert attempt.talk is not None
    assert (attempt.talk.asker, attempt.talk.answerer) == ("attacker", "target")
    assert {turn.branch for turn in attempt.talk.turns} >= {1, 2}
    assert {node.depth for node in attempt.tree} == {1, 2}
    assert {node.tone for node in attempt.tree} == {"good", "bad"}


def test_an_output_that_only_looks_like_a_conversation_is_an_output(store: Store, view: View) -> None:
    odd = {"calipers_rollout": 1, "turns": "none", "context": {"calipers_rollout": [1]}}
    Dataset(cases=[Case(name="talk", inputs=1)]).evaluate_sync(
        lambda inputs: odd, store=store, progress=False
    )
    attempt = attempt_of(store, view)
    assert (attempt.talk, attempt.tree, attempt.output.kind) == (None, [], "json")


def test_a_value_that_is_a_list_of_messages_is_read_as_a_conversation_too(store: Store, view: View) -> None:
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is order 17?"}]
    called = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 17}'}}

    def answer(inputs: Any) -> list[dict[str, Any]]:
        return [
            {"role": "assistant", "content": "I look.", "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "c1", "content": "sent"},
            {"role": "assistant", "content": "It was sent."},
        ]

    cases = [Case(name="talk", inputs={"messages": asked, "user": 3})]
    Dataset(cases=cases).evaluate_sync(answer, store=store, progress=False)
    found = case_answer(view(store), "latest", case_id("talk"))
    given, made = found.input.talk, found.attempts[0].output.talk
    assert given is not None
    assert made is not None
    assert (given.instructions, [turn.asked.text for turn in given.turns]) == (
        "Be kind.",
        ["Where is order 17?"],
    )
    (turn,) = made.turns
    assert (turn.asked.kind, turn.answered.text) == ("missing", "It was sent.")
    assert [(step.kind, step.text) for step in turn.steps] == [
        ("agent", "I look."),
        ("tool", "called look_up(order=17)"),
    ]
    assert found.attempts[0].talk is None, "what Calipers held itself has a view of its own"
