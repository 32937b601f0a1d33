import asyncio
import threading
from contextvars import ContextVar

import pytest

from calipers.rollouts.calling import ask, is_async, is_blocking

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
