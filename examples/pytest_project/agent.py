"""An agent that names capitals: async, unsteady, and with a client that belongs to one event loop."""

import asyncio
import os
import random
from pathlib import Path

from calipers import current_attempt

CAPITALS = {
    "Chad": "N'Djamena",
    "France": "Paris",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Laos": "Vientiane",
    "Nepal": "Kathmandu",
    "Norway": "Oslo",
    "Peru": "Lima",
}
SECONDS = float(os.environ.get("AGENT_SECONDS", "0.005"))
"""What one answer takes."""


class Client:
    """Stands for the client of a provider: only the event loop that made it can use it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def ask(self, country: str) -> str:
        """Answer after a while; now and then wrong."""
        assert asyncio.get_running_loop() is self._loop, "a client belongs to one event loop"
        await asyncio.sleep(SECONDS)
        attempt = current_attempt()
        lucky = random.Random(None if attempt is None else attempt.seed).random() < 0.97
        return CAPITALS[country] if lucky else "I do not know"


class Agent:
    """The thing under test."""

    name = "capitals"

    def __init__(self, client: Client, *, log: str | None = os.environ.get("AGENT_LOG")) -> None:
        self.client = client
        self.log = log
        """A file for one line per answer."""

    async def invoke(self, country: str) -> str:
        """The capital of a country."""
        answer = await self.client.ask(country)
        if self.log is not None:
            with Path(self.log).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - a line takes no time
                file.write(f"{country}\n")
        return answer
