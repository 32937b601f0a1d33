"""The same under anyio, whose loop is another: the agent gets a client of its own."""

import pytest
from agent import Agent, Client
from dataset import dataset

from calipers.testing import assert_passed


@pytest.mark.anyio
async def test_awaited(evaluate):
    agent = Agent(Client())
    assert_passed(await evaluate.on_loop(dataset, agent, repeat=3), min_pass=1)


@pytest.mark.anyio
@pytest.mark.calipers(dataset)
async def test_one(case, evaluate_case):
    record = await evaluate_case.on_loop(Agent(Client()), retry={"attempts": 3})
    assert record.name == case.name
