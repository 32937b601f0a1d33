"""How much memory a run needs per case: what its report keeps, and how far the process grows on the way.

Kept: bytes that Python allocated during the run and that live as long as the report (tracemalloc). The dataset exists
before the run and is not counted. Peak: growth of the process's resident memory at its highest, without tracemalloc;
it includes what the run needed for a while, which is what decides whether a large run fits into the machine. Held:
growth that is still there after the run, objects and the holes between them, as information (on Linux).
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

COUNTS = (10_000, 50_000)
PEER = "pydantic_evals"


def compared(what, function, count, *, rounds, target=None):
    """Calipers and the peer; with a target, the promise that ours is at most that share of theirs."""
    arguments = {"count": count}
    note = "" if target else "information"
    samples = measure(
        [
            Subject("Calipers", f"subjects.with_calipers:{function}", arguments, note=note),
            Subject(PEER, f"subjects.with_pydantic_evals:{function}", arguments, note=note),
        ],
        rounds=rounds,
    )
    what = f"{what} per case, {count:,} cases"
    share = ratio(samples["Calipers"].best, samples[PEER].best)
    promises = () if target is None else (Promise(what, f"Calipers / {PEER}", share, target, at_least=False),)
    return Outcome(rows(what, samples, "B"), promises)


def benchmark(options):
    found = Outcome(())
    for full in COUNTS:
        count = sized(full, options)
        found += compared("memory kept", "kept", count, rounds=1, target=0.1)  # allocations repeat exactly
        found += compared("peak memory growth", "peak", count, rounds=min(2, options.rounds), target=0.1)
        found += compared("memory held after the run", "held", count, rounds=1)
    return found


if __name__ == "__main__":
    alone(benchmark, __doc__)
