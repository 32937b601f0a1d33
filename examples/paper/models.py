"""Three models behind HTTP: a stand-in on this machine, and the client that a paper's script asks them with."""

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from calipers import current_attempt, increment_eval_metric

SKILL = {"small": 0.55, "medium": 0.75, "large": 0.8}
PRICE = {"small": 0.0002, "medium": 0.001, "large": 0.01}


class Model:
    """Asks one model. It keeps one session, so that calls share their connections."""

    def __init__(self, name: str, url: str, session: aiohttp.ClientSession) -> None:
        self.name = name
        self.version = f"{name}, November"  # what it is known by: neither the address nor the session says what it answers
        self._url = url
        self._session = session

    async def __call__(self, question: str) -> str:
        """The answer to a question; a reply of 5xx is an error."""
        attempt = current_attempt()
        seed = 0 if attempt is None else attempt.seed
        asked = {"model": self.name, "question": question, "seed": seed}
        async with self._session.post(self._url, json=asked) as reply:
            reply.raise_for_status()
            found = await reply.json()
        increment_eval_metric("cost_usd", found["cost_usd"])
        if log := os.environ.get("ANSWERS"):  # a line for each answer that was paid for
            with Path(log).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - a line takes no time
                file.write(f"{self.name} {question} {seed}\n")
        answer: str = found["answer"]
        return answer


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The stand-in at a free port of this machine; gives its address. Its first reply to one question in 40 is 503."""
    failed: set[str] = set()

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        key = f"{asked['model']} {asked['question']} {asked['seed']}"
        draw = random.Random(hashlib.sha256(key.encode()).digest())
        await asyncio.sleep(draw.uniform(0.001, 0.01))
        if draw.random() < 1 / 40 and key not in failed:
            failed.add(key)
            raise web.HTTPServiceUnavailable
        number = int(asked["question"].split()[-1])
        right = draw.random() < SKILL[asked["model"]]
        cost = PRICE[asked["model"]] * draw.uniform(0.5, 1.5)
        return web.json_response({"answer": str(number**2 if right else number), "cost_usd": cost})

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()
