"""What the tests of adapters share."""

import asyncio

import pytest

from calipers.voice.audio import Audio


@pytest.fixture
def audio():
    """A fifth of a second of sound at a rate that no provider takes, without a header, labelled as one that has."""
    return Audio(bytes(range(256)) * 32, "wav", 20480)


@pytest.fixture
def ask():
    """Run an agent on sound or text, in an event loop of its own, and never for long."""

    def ask(agent, request):
        async def asked():
            async with asyncio.timeout(20):
                return await (agent.run_text(request) if isinstance(request, str) else agent.run(request))

        return asyncio.run(asked())

    return ask
