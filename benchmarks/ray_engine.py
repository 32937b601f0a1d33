"""What the engine `ray` costs and gains, with workers on this machine.

Two workers against one on cases that keep a processor busy; what a trivial case costs beyond a call of a Ray actor; and how well
waiting overlaps: 10,000 cases of 50 ms, 1,000 in flight. Workers are started before the clock runs.
"""

import workload
from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, against_ideal, ratio, rows

BUSY = 400
"""Cases of some 20 ms that keep a processor busy."""
COUNT = 10_000
ONE, TWO = "one worker", "two workers"
MICROSECOND = 1e-6


def computing(options):
    """Cases that keep a processor busy."""
    count = sized(BUSY, options)
    function = "subjects.in_ray:computing"
    samples = measure(
        [
            Subject(ONE, function, {"workers": 1, "count": count}),
            Subject(TWO, function, {"workers": 2, "count": count}),
        ],
        rounds=min(3, options.rounds),
    )
    what = f"Ray: {count:,} cases that keep a processor busy"
    gained = ratio(samples[ONE].best, samples[TWO].best)
    return Outcome(
        rows(what, samples, "s"), (Promise(what, f"{ONE} / {TWO}", gained, target=1.6, at_least=True),)
    )


def overhead(options):
    """Trivial cases."""
    given = {"workers": 2, "count": sized(COUNT, options)}
    samples = measure(
        [
            Subject("Calipers", "subjects.in_ray:overhead", given),
            Subject("calls of two Ray actors, 100 in flight", "subjects.in_ray:bare_calls", given),
        ],
        rounds=min(3, options.rounds),
    )
    what = f"Ray: overhead per case, {given['count']:,} trivial cases"
    ours, theirs = (sample.best for sample in samples.values())
    beyond = None if ours is None or theirs is None else (ours - theirs) / MICROSECOND
    promise = Promise(what, "Calipers - Ray's own, µs", beyond, target=300, at_least=False)
    return Outcome(rows(what, samples, "s"), (promise,))


def waiting(options):
    """Async cases that wait."""
    count = sized(COUNT, options)
    samples = measure(
        [
            Subject("Calipers", "subjects.in_ray:waiting", {"workers": 2, "count": count}),
            Subject(
                "without an engine", "subjects.in_ray:waiting_here", {"count": count}, note="information"
            ),
        ],
        rounds=min(3, options.rounds),
    )
    what = f"Ray: {count:,} async cases of 50 ms"
    ideal = count * workload.NAP / workload.IN_FLIGHT
    drawn = tuple(against_ideal(row, ideal) for row in rows(what, samples, "s"))
    over = ratio(samples["Calipers"].best, ideal)
    return Outcome(drawn, (Promise(what, "Calipers / ideal", over, target=1.5, at_least=False),))


def benchmark(options):
    return computing(options) + overhead(options) + waiting(options)


if __name__ == "__main__":
    alone(benchmark, __doc__)
