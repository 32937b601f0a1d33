"""DeepEval: `evaluate` over test cases and three metrics of our own. No model is called and nothing is uploaded.

DeepEval has no task: its test cases hold the outputs, so the loop that makes them belongs to its cost. It has no labels
either: the third metric gives a score.
"""

import asyncio
import contextlib
import io

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

import workload
from clock import seconds_of


class Ours(BaseMetric):
    threshold = 0.5
    async_mode = True

    def __init__(self):
        self.score = None
        self.reason = None

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.score >= self.threshold


class Correct(Ours):
    __name__ = "Correct"

    def measure(self, test_case, *args, **kwargs):
        self.score = float(test_case.actual_output == test_case.expected_output)
        self.success = self.is_successful()
        return self.score


class Closeness(Ours):
    __name__ = "Closeness"

    def measure(self, test_case, *args, **kwargs):
        self.score = 1.0 / (1.0 + abs(int(test_case.actual_output) - int(test_case.expected_output)))
        self.success = self.is_successful()
        return self.score


class Parity(Ours):
    __name__ = "Parity"

    def measure(self, test_case, *args, **kwargs):
        self.score = float(int(test_case.expected_output) % 2 == 0)
        self.success = True
        return self.score


async def answered(count):
    return [
        LLMTestCase(
            name=name,
            input=str(inputs),
            actual_output=str(await workload.double(inputs)),
            expected_output=str(expected),
        )
        for name, inputs, expected in workload.facts(count)
    ]


def run(count):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return evaluate(
            test_cases=asyncio.run(answered(count)),
            metrics=[Correct(), Closeness(), Parity()],
            async_config=AsyncConfig(max_concurrent=100),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            cache_config=CacheConfig(write_cache=False),
        )


def overhead(count):
    """Seconds per trivial case."""
    run(5)
    return seconds_of(lambda: run(count)) / count
