"""Tasks for workers that call what has a limit, or costs something."""

import asyncio
import os
import signal
import time
from functools import cache
from pathlib import Path

import openai

import calipers
from calipers import set_eval_attribute
from calipers.models import Ask, Completion, Usage, wrap
from calipers.testing import ScriptedModel

ASKED = {"model": "m", "messages": [{"role": "user", "content": "one two three"}]}


@cache
def client(url, kind):
    """A client of OpenAI's SDK, which asks again as it does by default, as at the top of a module."""
    return getattr(openai, kind)(base_url=url, api_key="key")


def ask(url):
    return client(url, "OpenAI").chat.completions.create(**ASKED).choices[0].message.content


async def ask_async(url):
    answer = await client(url, "AsyncOpenAI").chat.completions.create(**ASKED)
    return answer.choices[0].message.content


@cache
def wrapped(url, kind):
    return wrap(client(url, kind))


def ask_often(inputs):
    """Calls of a wrapped client, in turn."""
    url, calls = inputs
    for _ in range(calls):
        wrapped(url, "OpenAI").chat.completions.create(**ASKED)
    return calls


async def ask_often_async(inputs):
    url, calls = inputs
    for _ in range(calls):
        await wrapped(url, "AsyncOpenAI").chat.completions.create(**ASKED)
    return calls


async def ask_at_once(inputs):
    """The same, all together."""
    url, calls = inputs
    one = wrapped(url, "AsyncOpenAI").chat.completions.create
    await asyncio.gather(*(one(**ASKED) for _ in range(calls)))
    return calls


def search(inputs):
    """A call of a tool that has a limit, which takes a while."""
    at_most, seconds = inputs
    with calipers.limit("search", at_most=at_most):
        set_eval_attribute("began", time.monotonic())
        time.sleep(seconds)
        set_eval_attribute("ended", time.monotonic())
    return os.getpid()


async def search_async(inputs):
    at_most, seconds = inputs
    async with calipers.limit("search", at_most=at_most):
        set_eval_attribute("began", time.monotonic())
        await asyncio.sleep(seconds)
        set_eval_attribute("ended", time.monotonic())
    return os.getpid()


def is_first(marker):
    """Whether no process has asked this before, by a file."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


async def search_and_end_process(marker):
    """The first attempt that holds the only place ends its process."""
    async with calipers.limit("search", at_most=1):
        if is_first(marker):
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.001)
    return True


async def pay_and_end_process(inputs):
    """Asks a model twice; the first attempt ends its process before it has the second answer."""
    marker, number = inputs

    async def answer(_):
        if number == 0 and len(model.asks) == 2 and is_first(marker):
            await asyncio.sleep(0.2)  # what it has said until then has arrived
            os.kill(os.getpid(), signal.SIGKILL)
        return Completion(text="yes", finish="stop", usage=Usage(1, 1))

    model = ScriptedModel(answer)
    for _ in range(2):
        await model.ask(Ask(messages=ASKED["messages"]))
    return True
