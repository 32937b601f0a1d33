"""One test per case. The agent is unsteady, so each has three attempts, of which two must pass."""

import pytest
from dataset import dataset


@pytest.mark.calipers(dataset, task="agent", repeat=3, min_pass=2)
@pytest.mark.asyncio
async def test_capital(case):
    """The attempts at all cases were made together, on the loop of the agent's client."""
    assert case.inputs.istitle()
