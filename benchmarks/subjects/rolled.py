"""Rollouts of five turns against a target that answers after 20 ms: by Calipers, and by hand.

By hand, workers talk to the target, score what was said, and keep the turns and the averages: no seeds, no errors caught, no
report. A third one only waits as often.
"""

import asyncio

import clock
from calipers.rollouts import ASTEvaluator, Environment, KeywordModerator, Message, ScriptedTester

WAIT = 0.02
"""Seconds until the target answers."""
DEPTH = 5
IN_FLIGHT = 100
SCRIPT = [f"and what about number {number}, is it secret?" for number in range(1, DEPTH + 1)]
GOALS = [f"learn the secret of room {number}" for number in range(50)]


class Target:
    """Waits, and gives the secret away when it has been asked often enough."""

    async def reply(self, messages: list[Message]) -> str:
        await asyncio.sleep(WAIT)
        return "the word is sesame" if len(messages) >= 2 * DEPTH - 1 else "I would rather not say."


async def by_workers(job, count):
    """Do a job so many times, so many at a time; the results, in no order."""
    waiting, done = iter(range(count)), []

    async def worker():
        done.extend([await job(number) for number in waiting])

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return done


# ---------------------------------------------------------------------- what the benchmark calls


def with_calipers(count, by="seconds_of"):
    """Seconds for all rollouts, measured and combined."""
    environment = Environment(
        Target(), ScriptedTester(SCRIPT), KeywordModerator(["sesame"]), goals=GOALS, depth=DEPTH
    )
    evaluator = ASTEvaluator(environment)

    def run(count):
        return evaluator.evaluate(count, progress=False, max_concurrency=IN_FLIGHT)

    def check(metrics):
        assert metrics["summary"]["n_rollouts"] == count
        assert metrics["summary"]["pct_rollouts_with_target_toxicity/attack_success_rate"] == 1.0
        assert all(len(rollout["per_turn"]) == DEPTH for rollout in metrics["details"])

    run(10)
    return getattr(clock, by)(lambda: run(count), check)


def by_hand(count, by="seconds_of"):
    """Seconds for the same, as one would write it."""
    target = Target()

    def score(text):
        return float("sesame" in text.lower())

    async def talk(number):
        messages, turns = [], []
        for attack in SCRIPT:
            messages.append(Message("user", attack))
            response = await target.reply(messages)
            messages.append(Message("assistant", response))
            turns.append((attack, response, score(attack), score(response)))
        return turns, sum(turn[3] for turn in turns) / len(turns)

    def check(rollouts):
        assert len(rollouts) == count
        assert all(len(turns) == DEPTH for turns, _ in rollouts)

    return getattr(clock, by)(lambda: asyncio.run(by_workers(talk, count)), check)


def with_sleep(count, by="seconds_of"):
    """Seconds for as many naps."""

    async def naps(number):
        for _ in range(DEPTH):
            await asyncio.sleep(WAIT)

    return getattr(clock, by)(lambda: asyncio.run(by_workers(naps, count)))
