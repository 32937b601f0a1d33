import asyncio
import inspect
import random
import threading
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.rollouts import Node, ScriptedTester, SoFar, Tester, turn_seed
from calipers.rollouts.players import ask, is_async, is_blocking, seen_by_target, turn_seeded


def turn(attack, rewind=0):
    return Node("", attack, "r", metadata={"rewind": rewind} if rewind else {})


@pytest.mark.parametrize(
    ("rewinds", "seen"),
    [
        ([], ""),
        ([0, 0, 0], "abc"),
        ([0, 0, 1], "ac"),
        ([0, 0, 2], "c"),
        ([0, 1, 1], "c"),
        ([0, 0, 1, 1], "ad"),
        ([0, 9], "b"),
    ],
    ids=str,
)
def test_the_target_sees_what_was_not_taken_back(rewinds, seen):
    turns = [turn("abcd"[number], rewind) for number, rewind in enumerate(rewinds)]
    assert "".join(node.attack for node in seen_by_target(turns)) == seen
    assert SoFar("goal", tuple(turns), random.Random(0)).seen == seen_by_target(turns)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_the_last_turn_is_always_seen_and_order_is_kept(rewinds):
    turns = [turn(number, rewind) for number, rewind in enumerate(rewinds)]
    seen = [node.attack for node in seen_by_target(turns)]
    assert seen[-1] == len(rewinds) - 1
    assert seen == sorted(seen)


def test_so_far_tells_the_number_of_the_turn_to_come_and_the_one_before():
    first = turn("a")
    assert SoFar("goal", (), random.Random(0)).turn == 1
    assert SoFar("goal", (), random.Random(0)).last is None
    later = SoFar("goal", (first,), random.Random(0))
    assert (later.turn, later.last) == (2, first)


def test_the_seed_of_a_turn_holds_within_its_block():
    assert turn_seed() is None
    with turn_seeded(0):
        assert turn_seed() == 0
    assert turn_seed() is None


def test_an_object_with_the_method_is_a_tester_and_importing_the_protocol_makes_no_tests_of_it():
    class Mine:
        def next_attack(self, so_far):
            return None

    assert isinstance(Mine(), Tester)
    assert isinstance(ScriptedTester(["a"]), Tester)
    assert not isinstance(object(), Tester)
    # This module imports the name, as users' tests do, and a warning of the collection would be an error here.
    assert inspect.isabstract(Tester)


WORD = ContextVar("word", default="unset")


def here(*arguments):
    return threading.get_ident(), WORD.get(), arguments


async def here_later(*arguments):
    return here(*arguments)


class Called:
    async def __call__(self, *arguments):
        return here(*arguments)


@pytest.mark.parametrize("method", [here, here_later, Called(), lambda *a: here_later(*a)], ids=range(4))
@pytest.mark.parametrize("blocking", [False, True])
def test_any_method_is_asked_with_its_context_and_in_a_thread_only_if_it_blocks(method, blocking):
    async def main():
        WORD.set("set")
        return await ask(method, 1, 2, blocking=blocking)

    thread, word, arguments = asyncio.run(main())
    assert (word, arguments) == ("set", (1, 2))
    assert (thread != threading.get_ident()) is (blocking and method is here)


def test_what_a_method_raises_in_a_thread_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask(lambda: 1 / 0, blocking=True))


def test_a_player_says_itself_whether_it_blocks():
    class Player:
        blocking = True

    assert is_blocking(Player(), unless_told=False)
    Player.blocking = "yes"
    assert not is_blocking(Player(), unless_told=False)
    assert is_blocking(object(), unless_told=True)
    assert is_async(Called())
    assert not is_async(here)
