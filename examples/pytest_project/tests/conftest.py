"""The agent, made once for the session, on the event loop that all async tests share."""

import pytest
import pytest_asyncio
from agent import Agent, Client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def agent():
    """An agent whose client belongs to the loop of the session."""
    yield Agent(Client())


@pytest.fixture(scope="session")
def anyio_backend():
    """Tests that anyio runs run on asyncio."""
    return "asyncio"
