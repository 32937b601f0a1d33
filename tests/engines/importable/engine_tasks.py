"""Tasks for workers: what they do is in their inputs."""

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

from calipers import set_eval_attribute
from calipers.testing.engine_check import act, act_async


def pid_of_worker(inputs):
    set_eval_attribute("began", time.monotonic())
    time.sleep(inputs)
    set_eval_attribute("ended", time.monotonic())
    return os.getpid()


def begin_slowly():
    """Every second worker takes longer to begin than a short run."""
    number = int(multiprocessing.current_process().name.rpartition("-")[2])
    time.sleep(1.0 * (number % 2))


async def pid_of_worker_async(inputs):
    set_eval_attribute("began", time.monotonic())
    await asyncio.sleep(inputs)
    set_eval_attribute("ended", time.monotonic())
    return os.getpid()


def end_process(how):
    match how:
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "fork, and be killed":  # the child holds open what the parent had open
            if os.fork() == 0:
                time.sleep(3600)
            os.kill(os.getpid(), signal.SIGKILL)
        case "fork":
            os.fork()
        case "sys.exit":
            sys.exit(0)
    return how


async def hold_loop(seconds):
    time.sleep(seconds)
    return seconds


def log(inputs):
    """Note which attempt was made by which process; from the second on, wait a little."""
    file, name, seconds = inputs
    with Path(file).open("a") as lines:
        lines.write(f"{name} {os.getpid()}\n")
    time.sleep(seconds)
    return name


class Odd(ConnectionError):
    """An error that cannot be pickled, with a part that can."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")
        self.status_code = 503
        self.held = lambda: None


def raise_odd(inputs):
    raise Odd(inputs, 2)


__all__ = ["act", "act_async"]
