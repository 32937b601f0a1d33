"""How well waiting overlaps: 20,000 cases of 50 ms, 1,000 in flight, async and blocking; and five judges of 0.3 s for each of
20 cases, five cases in flight.

The ideal time is the number of cases times 50 ms, divided by 1,000: what a framework without any cost of its own, on
a machine that never falls behind, would need. A subject with fewer cases is held to its own, smaller ideal.
"""

import workload
from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, against_ideal, ratio, rows

COUNT = 20_000
FEWER = 4_000
"""Cases for a subject that would take half a minute."""
JUDGED = 20
"""Cases that judges wait for."""
PEER = "pydantic_evals"


def ideal(sample):
    """Seconds that a subject's waiting alone needs."""
    return sample.subject.arguments["count"] * workload.NAP / workload.IN_FLIGHT


def waiting(options):
    """Async tasks."""
    count = {"count": sized(COUNT, options)}
    samples = measure(
        [
            Subject("Calipers", "subjects.with_calipers:waiting", count),
            Subject(PEER, "subjects.with_pydantic_evals:waiting", count, rounds=2),
            Subject("asyncio.gather, semaphore", "subjects.bare:waiting", count, note="information"),
        ],
        rounds=options.rounds,
    )
    return found(f"{count['count']:,} async cases of 50 ms", samples, target=1.4)


def blocking(options):
    """Tasks that hold their thread."""
    count, fewer = {"count": sized(COUNT, options)}, {"count": sized(FEWER, options)}
    theirs = "subjects.with_pydantic_evals"
    samples = measure(
        [
            Subject("Calipers", "subjects.with_calipers:blocking", count),
            Subject(
                PEER,
                f"{theirs}:blocking",
                fewer,
                rounds=2,
                note=f"only {fewer['count']:,} cases: its pool has 40 threads by default",
            ),
            Subject(
                f"{PEER}, 1,000 threads",
                f"{theirs}:blocking_enlarged",
                count,
                rounds=2,
                note="information: its pool enlarged by hand",
            ),
            Subject("ThreadPoolExecutor", "subjects.bare:blocking", count, note="information"),
        ],
        rounds=options.rounds,
    )
    return found(f"{count['count']:,} blocking cases of 50 ms", samples, target=2.0)


def judging(options):
    """Evaluators that wait."""
    count = {"count": JUDGED}
    samples = measure(
        [
            Subject("Calipers", "subjects.with_calipers:judging", count),
            Subject(PEER, "subjects.with_pydantic_evals:judging", count, rounds=2),
        ],
        rounds=min(3, options.rounds),
    )
    what = f"{JUDGED} cases, {workload.JUDGES} judges of {workload.JUDGE_NAP * 1000:.0f} ms each"
    return found(what, samples, target=1.2, ideal=judged_ideally)


def judged_ideally(sample):
    """Seconds that the judges of a subject take at least."""
    return sample.subject.arguments["count"] * workload.JUDGE_NAP / workload.JUDGED_AT_ONCE


def found(what, samples, target, ideal=ideal):
    """The rows, each with its ratio to the ideal, and the promise about ours."""
    drawn = [
        against_ideal(row, ideal(sample))
        for row, sample in zip(rows(what, samples, "s"), samples.values(), strict=True)
    ]
    ours = samples["Calipers"]
    promise = Promise(what, "Calipers / ideal", ratio(ours.best, ideal(ours)), target=target, at_least=False)
    return Outcome(tuple(drawn), (promise,))


def benchmark(options):
    return waiting(options) + blocking(options) + judging(options)


if __name__ == "__main__":
    alone(benchmark, __doc__)
