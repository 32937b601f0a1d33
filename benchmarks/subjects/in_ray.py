"""Runs in the workers of Ray, started on this machine; and what Ray itself takes for as many calls."""

import asyncio
from time import perf_counter, sleep

import workload
from calipers import Case, Dataset
from calipers.engines import RayEngine
from clock import seconds_of
from subjects.with_calipers import check, dataset, evaluate

STEPS = 400_000
"""Additions that keep a processor busy for some 20 ms."""


def compute(inputs):
    """A task that keeps a processor busy."""
    total = 0
    for number in range(STEPS):
        total += number
    return total * 0 + 2 * inputs


def rest(inputs):
    """Long enough that every worker has one."""
    sleep(1.0)
    return inputs


def measured(workers, count, task, **options):
    """Seconds for a run, when all workers are there and have made an attempt."""
    with RayEngine(workers) as engine:
        Dataset(cases=[Case(inputs=number) for number in range(workers)]).evaluate_sync(
            rest, engine=engine, progress=False, max_concurrency=workers
        )
        evaluate(dataset(200), task, engine=engine, **options)
        given = dataset(count)
        return seconds_of(lambda: evaluate(given, task, engine=engine, **options), check)


def computing(workers, count):
    """Seconds for cases that keep a processor busy."""
    return measured(workers, count, compute)


def overhead(workers, count):
    """Seconds per trivial case."""
    return measured(workers, count, workload.double) / count


def waiting(workers, count):
    """Seconds for slow async cases."""
    return measured(workers, count, workload.double_slowly, max_concurrency=workload.IN_FLIGHT)


def waiting_here(count):
    """The same without an engine."""
    evaluate(dataset(200), workload.double_slowly)
    given = dataset(count)
    return seconds_of(
        lambda: evaluate(given, workload.double_slowly, max_concurrency=workload.IN_FLIGHT), check
    )


def bare_calls(workers, count):
    """Seconds per call of an actor that does the trivial task: what Ray takes by itself."""
    from calipers.engines.ray_cluster import Wanted, connected, imported_ray, released

    connection = connected(Wanted(None, workers, "", {}))
    ray = imported_ray()

    class Doubler:
        def double(self, inputs):
            return 2 * inputs

    actors = [ray.remote(Doubler).remote() for _ in range(workers)]
    ray.get([actor.double.remote(number) for number in range(200) for actor in actors])

    async def one(actor, numbers):
        for number in numbers:
            assert await actor.double.remote(number) == 2 * number

    async def all_of_them():
        numbers = iter(range(count))
        await asyncio.gather(*(one(actors[place % workers], numbers) for place in range(100)))

    start = perf_counter()
    asyncio.run(all_of_them())
    taken = perf_counter() - start
    released(connection)
    return taken / count
