import asyncio

import pytest

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import BatchedModerator, Environment


class Lengths:
    """Scores a text by its length in tens, and remembers what it was asked."""

    def __init__(self, *, hold=False):
        self.calls = []
        self.go_on = asyncio.Event()
        self.hold = hold

    async def moderate(self, texts):
        self.calls.append(list(texts))
        if self.hold:
            await self.go_on.wait()
        return [len(text) / 10 for text in texts]


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


def test_texts_of_many_are_scored_together_and_each_gets_its_own():
    async def main():
        lengths = Lengths()
        moderator = BatchedModerator(lengths, max_batch=6)
        scores = await asyncio.gather(*(moderator.moderate(["a" * n, "b" * (n + 1)]) for n in range(3)))
        return scores, lengths.calls

    scores, calls = asyncio.run(main())
    assert scores == [[0, 0.1], [0.1, 0.2], [0.2, 0.3]]
    assert [len(call) for call in calls] == [6]


def test_no_call_waits_for_ever_for_others_to_come():
    async def main():
        return await BatchedModerator(Lengths(), max_batch=1000, max_wait=0.001).score(["abc"])

    assert asyncio.run(main()) == [0.3]


def test_more_texts_than_a_batch_holds_are_scored_in_several():
    async def main():
        lengths = Lengths()
        scores = await BatchedModerator(lengths, max_batch=4).moderate(["a" * n for n in range(10)])
        return scores, [len(call) for call in lengths.calls]

    assert asyncio.run(main()) == ([n / 10 for n in range(10)], [4, 4, 2])


def test_one_who_gives_up_before_the_batch_is_sent_is_not_scored():
    async def main():
        lengths = Lengths()
        moderator = BatchedModerator(lengths, max_batch=3)
        gone = asyncio.create_task(moderator.moderate(["gone"]))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        scores = await asyncio.gather(*(moderator.moderate([text]) for text in ("a", "bb", "ccc")))
        return gone.cancelled(), scores, lengths.calls

    assert asyncio.run(main()) == (True, [[0.1], [0.2], [0.3]], [["a", "bb", "ccc"]])


@pytest.mark.parametrize("gives_up", [0, 1])
def test_one_who_gives_up_while_the_batch_is_under_way_takes_nothing_from_the_others(gives_up):
    async def main():
        lengths = Lengths(hold=True)
        moderator = BatchedModerator(lengths, max_batch=2)
        both = [asyncio.create_task(moderator.moderate([text])) for text in ("a", "bb")]
        await until(lambda: lengths.calls)
        both[gives_up].cancel()
        await asyncio.sleep(0)
        lengths.go_on.set()
        return await asyncio.gather(*both, return_exceptions=True)

    outcomes = asyncio.run(main())
    assert outcomes[1 - gives_up] == [[0.1], [0.2]][1 - gives_up]
    assert isinstance(outcomes[gives_up], asyncio.CancelledError)


def test_when_the_moderator_fails_all_of_its_batch_hear_of_it_and_the_next_may_succeed():
    class Moody:
        calls = 0

        def moderate(self, texts):
            self.calls += 1
            return [0.5] * (len(texts) - (self.calls == 1))

    async def main():
        moderator = BatchedModerator(Moody(), max_batch=2)
        failed = await asyncio.gather(*(moderator.moderate(["a"]) for _ in range(2)), return_exceptions=True)
        return failed, await asyncio.gather(*(moderator.moderate(["a"]) for _ in range(2)))

    failed, fine = asyncio.run(main())
    assert [type(error) for error in failed] == [InvalidRolloutError] * 2
    assert fine == [[0.5], [0.5]]


def test_rollouts_side_by_side_share_their_calls():
    async def main():
        lengths = Lengths()
        moderator = BatchedModerator(lengths, max_batch=20, max_wait=30)

        async def bot(text):
            return text * 2

        environment = Environment(bot, ["a", "bb"], moderator, goals=["g"])
        graphs = await asyncio.gather(*(environment.eval_rollout_async(seed) for seed in range(10)))
        return graphs, [len(call) for call in lengths.calls]

    graphs, sizes = asyncio.run(main())
    assert sizes == [20, 20]
    assert {tuple(node.response_score for node in graph.walk()) for graph in graphs} == {(0.2, 0.4)}


class Panic(BaseException):
    """What is no Exception, such as a panic of compiled code."""


@pytest.mark.parametrize(
    ("raised", "heard"),
    [
        (Panic, Panic),
        (SystemExit, SystemExit),
        (asyncio.CancelledError, InvalidRolloutError),
        (GeneratorExit, InvalidRolloutError),
    ],
    ids=["panic", "exit", "cancelled from within", "closed from within"],
)
def test_no_call_waits_for_ever_whatever_the_moderator_raises(raised, heard):
    class Moody:
        async def moderate(self, texts):
            raise raised

    async def main():
        moderator = BatchedModerator(Moody(), max_batch=2)

        async def hear():
            try:
                await moderator.moderate(["a"])
            except BaseException as error:
                return type(error)

        async with asyncio.timeout(5):
            return await asyncio.gather(hear(), hear())

    assert asyncio.run(main()) == [heard] * 2


def test_it_serves_one_event_loop_after_another():
    moderator = BatchedModerator(lambda text: len(text) / 10)
    assert [asyncio.run(moderator.moderate(["ab", ""])) for _ in range(2)] == [[0.2, 0]] * 2
    assert asyncio.run(moderator.moderate([])) == []


@pytest.mark.parametrize(
    "options",
    [
        {"max_batch": 0},
        {"max_batch": True},
        {"max_wait": -1},
        {"max_wait": float("nan")},
        {"max_wait": None},
        {"max_wait": "x"},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidOptionError):
        BatchedModerator(len, **options)
    with pytest.raises(InvalidOptionError):
        BatchedModerator("no moderator")
