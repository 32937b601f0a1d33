"""Evaluators that other processes find by their names."""

import os
import time
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path

from calipers import Evaluator


@dataclass
class Shared(Evaluator):
    """Judges in every process; the first one waits until another has begun, so that both judge some."""

    sign: str

    def evaluate(self, ctx):
        if parent_process() is not None:
            Path(self.sign).touch()
        else:
            _wait_for(self.sign)
        return {"even": ctx.output % 2 == 0, "where": "here" if parent_process() is None else "elsewhere"}


@dataclass
class Deadly(Evaluator):
    """Ends every other process that asks it."""

    sign: str

    def evaluate(self, ctx):
        if parent_process() is not None:
            Path(self.sign).touch()
            os._exit(7)
        _wait_for(self.sign)
        return ctx.output >= 0


@dataclass
class Awaited(Evaluator):
    """Has to be waited for."""

    async def evaluate(self, ctx):
        return ctx.output / 2


def _wait_for(sign):
    until = time.monotonic() + 60
    while not Path(sign).exists() and time.monotonic() < until:
        time.sleep(0.01)
