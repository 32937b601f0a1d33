"""Questions of a judge to a model on loopback: by Calipers, and by hand.

The model runs in a process of its own. By hand, workers send a prompt of the same length, read the answer, decode the verdict in it
and keep it: no fence, no schema, no report. The floor is workers that only sleep.
"""

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import clock
from calipers import Case, Dataset
from calipers.judges import LLMJudge

WAIT = 2.0
"""Seconds until the model answers, about as long as real ones take."""
IN_FLIGHT = 1_000
FIELDS = '{"reason":"It is right.","pass":true,"seal":"%b"}'
RUBRIC = "The output is the square of the input."


@contextmanager
def model_process():
    """The address of the model."""
    program = [sys.executable, str(Path(__file__).with_name("loopback_model.py")), str(WAIT), FIELDS]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.stdin.close()


async def square(number):
    return number * number


# ---------------------------------------------------------------------- what the benchmark calls


def with_calipers(count, by="seconds_of"):
    """Seconds for all verdicts, with the report."""

    def run(count=count):
        cases = [Case(name=f"case {number}", inputs=number) for number in range(count)]
        dataset = Dataset(cases=cases, evaluators=[LLMJudge(rubric=RUBRIC, model=url, include_input=True)])
        return dataset.evaluate_sync(square, max_concurrency=IN_FLIGHT, progress=False)

    def check(report):
        assert report.counts().passed == count, report.counts()

    with model_process() as url:
        run(1)  # pays for first use
        return getattr(clock, by)(run, check)


def by_hand(count, by="seconds_of"):
    """Seconds for the same, as one would write it."""
    import aiohttp

    async def ask_all():
        waiting, kept = iter(range(count)), []
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def worker():
                for number in waiting:
                    asked = f"{RUBRIC}\nInput: {number}\nOutput: {await square(number)}\n{'…' * 3000}"
                    body = {"messages": [{"role": "user", "content": asked}]}
                    async with session.post(f"{url}/chat/completions", json=body) as answer:
                        said = (await answer.json())["choices"][0]["message"]["content"]
                    kept.append(json.loads(said)["pass"])

            await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
        return kept

    def check(kept):
        assert kept == [True] * count

    with model_process() as url:
        return getattr(clock, by)(lambda: asyncio.run(ask_all()), check)


def with_sleep(count, by="seconds_of"):
    """Seconds for as many naps."""

    async def sleep_all():
        waiting = iter(range(count))

        async def worker():
            for _ in waiting:
                await asyncio.sleep(WAIT)

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))

    return getattr(clock, by)(lambda: asyncio.run(sleep_all()))
