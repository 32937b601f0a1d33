"""Spoken requests to an agent on loopback: by Calipers, and by hand.

The sounds were made before, and the agent runs in a process of its own. By hand, workers read each sound from a file, send
it as base64 in JSON, read the answer, compare it and keep all of it: no cache key, no checksum, no errors caught, no
report. Two more say where the floor is: workers that send bodies of that size which are ready, and workers that only sleep.
"""

import asyncio
import base64
import subprocess
import sys
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import clock
from calipers.voice import AudioCache, CachedSynthesizer, ExactEvaluator, run_concurrent, tool_call
from calipers.voice.adapters import HttpAgent
from calipers.voice.synthesizers import EspeakSynthesizer

WAIT = 0.02
"""Seconds until the agent answers."""
IN_FLIGHT = 50
RUNS = 5
"""One lasts a quarter of a second and keeps two processors busy, so that few are left alone by whatever else goes on."""
CALL = tool_call("switch", thing="lights", to="on")
VERBS = ("turn on", "turn off", "open", "close", "check")
ROOMS = ("kitchen", "bathroom", "bedroom", "garage", "hall", "attic", "office", "cellar", "nursery", "study")
THINGS = ("lights", "lamp", "door", "window", "blinds", "heater", "fan", "speaker", "camera", "lock")


def prompts(count):
    """Sentences of a second or two, no two alike."""
    return [f"{verb} the {room} {thing}" for verb, room, thing in product(VERBS, ROOMS, THINGS)][:count]


def voice(folder):
    return CachedSynthesizer(EspeakSynthesizer(), cache=AudioCache(Path(folder, "cache")))


def fill(count, folder):
    """Say every prompt once, into the cache and into a file; how many bytes there are of each, on average."""

    async def said():
        speaker = voice(folder)
        return [await speaker.synthesize(prompt) for prompt in prompts(count)]

    sounds = asyncio.run(said())
    for number, audio in enumerate(sounds):
        audio.save(file_of(folder, number))
    return sum(len(audio.data) for audio in sounds) // count


def file_of(folder, number):
    return Path(folder, f"{number}.wav")


@contextmanager
def agent_process():
    """The address of the agent."""
    program = [sys.executable, str(Path(__file__).with_name("loopback_agent.py")), str(WAIT)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/agent"
        process.stdin.close()


async def by_workers(job, work):
    """Do a job for every piece of work, so many at a time; the results, in no order."""
    waiting, done = iter(work), []

    async def worker():
        done.extend([await job(piece) for piece in waiting])

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return done


def measured(by, run, count, check):
    """The best of several runs of all prompts, by one of the functions of `clock`, after one that pays for first use."""
    run(count)
    return min(getattr(clock, by)(lambda: run(count), check) for _ in range(RUNS))


# ---------------------------------------------------------------------- what the benchmark calls


def with_calipers(count, folder, by="seconds_of"):
    """Seconds for all prompts."""
    speaker = voice(folder)

    def run(count):
        return asyncio.run(
            run_concurrent(
                prompts=prompts(count),
                agent=agent,
                expect=[CALL],
                evaluator=ExactEvaluator(),
                synthesizer=speaker,
                max_concurrency=IN_FLIGHT,
            )
        )

    def check(batch):
        assert batch.passed, batch.summary()[:500]
        assert batch.total == count
        assert all(run.eval_result.audio.duration > 1 for run in batch.runs)

    with agent_process() as url:
        agent = HttpAgent(url)
        return measured(by, run, count, check)


def by_hand(count, folder, by="seconds_of"):
    """Seconds for the same, as one would write it."""
    import aiohttp

    wanted = [{"name": CALL.name, "arguments": CALL.arguments}]

    async def ask_all(count):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def ask(number):
                data = file_of(folder, number).read_bytes()
                body = {"audio": base64.b64encode(data).decode(), "format": "wav"}
                async with session.post(url, json=body) as answer:
                    calls = (await answer.json())["tool_calls"]
                return data, calls, calls == wanted

            return await by_workers(ask, range(count))

    def check(kept):
        assert len(kept) == count
        assert all(passed for _, _, passed in kept)

    with agent_process() as url:
        return measured(by, lambda count: asyncio.run(ask_all(count)), count, check)


def with_aiohttp(count, size, by="seconds_of"):
    """Seconds for sending as many bodies of the size of a sound, and receiving the answers."""
    import aiohttp

    body = b'{"audio": "%b", "format": "wav"}' % (b"A" * (size * 4 // 3))

    async def post_all(count):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def post(data):
                async with session.post(url, data=data) as answer:
                    return await answer.read()

            return await by_workers(post, [body] * count)

    def check(answers):
        assert len(answers) == count
        assert all(b"tool_calls" in answer for answer in answers)

    with agent_process() as url:
        return measured(by, lambda count: asyncio.run(post_all(count)), count, check)


def with_sleep(count, by="seconds_of"):
    """Seconds for as many naps."""
    return getattr(clock, by)(lambda: asyncio.run(by_workers(asyncio.sleep, [WAIT] * count)))
