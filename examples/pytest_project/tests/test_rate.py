"""The pass rate of the whole dataset: red only where the agent is shown to be worse."""

import pytest
from dataset import dataset


@pytest.mark.asyncio
async def test_rate(evaluate, gate, agent):
    report = await evaluate.on_loop(dataset, agent, repeat=5)
    gate(report, at_least=0.7)


@pytest.mark.asyncio
async def test_until_decided(gate, agent):
    verdict = await gate.until_decided_on_loop(dataset, agent, at_least=0.8, rounds=10)
    assert verdict.outcome == "PASS"
