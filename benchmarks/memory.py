"""How much memory a run needs per case: how far the process grows, and what of it stays.

Peak: growth of the process's resident memory at its highest; it includes what the run needed for a while, which is what
decides whether a large run fits into the machine. Held: growth that is still there while the report is kept (on
Linux). These two carry the promise: they are what the operating system has to find. Objects: the bytes of the Python
objects that live as long as the report (tracemalloc), as information. The dataset exists before the run and is
not counted.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

COUNTS = (10_000,)
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
        found += compared("peak memory growth", "peak", count, rounds=min(2, options.rounds), target=0.1)
        found += compared("memory held by the report", "held", count, rounds=1, target=0.1)
        found += compared("objects of the report", "kept", count, rounds=1)  # allocations repeat exactly
    return found


if __name__ == "__main__":
    alone(benchmark, __doc__)
