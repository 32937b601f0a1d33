"""No framework: what a careful engineer writes by hand, as the floor to compare with.

`loop` awaits the task case by case, takes its time, makes a context object, calls the same three evaluator methods
and keeps the results. It has no concurrency, catches no error, names no result and computes no statistics: nothing
that does more can cost less. `gathered` is the idiomatic concurrent form: `asyncio.gather` and a semaphore.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import workload
from clock import seconds_of


@dataclass(slots=True)
class Case:
    name: str
    inputs: Any
    expected_output: Any


@dataclass(slots=True)
class Context:
    name: str
    inputs: Any
    expected_output: Any
    output: Any
    duration: float


@dataclass(slots=True)
class Kept:
    case: Case
    output: Any
    duration: float
    results: list[Any]


async def attempt(case, task, evaluators):
    start = perf_counter()
    output = await task(case.inputs)
    return judged(case, output, perf_counter() - start, evaluators)


def judged(case, output, duration, evaluators):
    context = Context(case.name, case.inputs, case.expected_output, output, duration)
    return Kept(case, output, duration, [evaluator.evaluate(context) for evaluator in evaluators])


async def loop(cases, task, evaluators):
    """One case after the other."""
    return [await attempt(case, task, evaluators) for case in cases]


async def gathered(cases, task, evaluators, *, in_flight):
    """All cases at once, a semaphore deciding how many run."""
    limit = asyncio.Semaphore(in_flight)

    async def one(case):
        async with limit:
            return await attempt(case, task, evaluators)

    return await asyncio.gather(*[one(case) for case in cases])


def pooled(cases, task, evaluators, *, in_flight):
    """A blocking task in a pool of threads."""

    def one(case):
        start = perf_counter()
        output = task(case.inputs)
        return judged(case, output, perf_counter() - start, evaluators)

    with ThreadPoolExecutor(in_flight) as pool:
        return list(pool.map(one, cases))


# ---------------------------------------------------------------------- what the benchmarks call


def check(kept):
    assert sum(one.results[0] for one in kept) == workload.right(len(kept))


def overhead(count):
    """Seconds per trivial case, in the plain loop."""
    asyncio.run(loop(*_of(200, workload.double)))
    arguments = _of(count, workload.double)
    return seconds_of(lambda: asyncio.run(loop(*arguments)), check) / count


def overhead_gathered(count):
    """Seconds per trivial case, with `asyncio.gather` and a semaphore."""
    asyncio.run(gathered(*_of(200, workload.double), in_flight=100))
    arguments = _of(count, workload.double)
    return seconds_of(lambda: asyncio.run(gathered(*arguments, in_flight=100)), check) / count


def waiting(count):
    """Seconds for slow async cases."""
    arguments = _of(count, workload.double_slowly)
    return seconds_of(lambda: asyncio.run(gathered(*arguments, in_flight=workload.IN_FLIGHT)), check)


def blocking(count):
    """Seconds for slow blocking cases."""
    arguments = _of(count, workload.double_blocking)
    return seconds_of(lambda: pooled(*arguments, in_flight=workload.IN_FLIGHT), check)


def _of(count, task):
    cases = [Case(*fact) for fact in workload.facts(count)]
    return cases, task, workload.evaluators(object)
