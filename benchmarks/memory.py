"""How much memory a run needs per case: what its report keeps, and how far the process grows on the way.

Kept: bytes that Python allocated during the run and that live as long as the report (tracemalloc). The dataset exists
before the run and is not counted. Peak: growth of the process's resident memory at its highest, without tracemalloc;
it includes what the run needed for a while, which is what decides whether a large run fits into the machine.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

COUNTS = (10_000, 50_000)
PEER = "pydantic_evals"


def compared(what, function, count, *, rounds):
    """Calipers and the peer, and the promise that ours is a tenth of theirs."""
    arguments = {"count": count}
    samples = measure(
        [
            Subject("Calipers", f"subjects.with_calipers:{function}", arguments),
            Subject(PEER, f"subjects.with_pydantic_evals:{function}", arguments),
        ],
        rounds=rounds,
    )
    what = f"{what} per case, {count:,} cases"
    share = ratio(samples["Calipers"].best, samples[PEER].best)
    promise = Promise(what, f"Calipers / {PEER}", share, target=0.1, at_least=False)
    return Outcome(rows(what, samples, "B"), (promise,))


def benchmark(options):
    found = Outcome(())
    for full in COUNTS:
        count = sized(full, options)
        found += compared("memory kept", "kept", count, rounds=1)  # allocations repeat exactly
        found += compared("peak memory growth", "peak", count, rounds=min(2, options.rounds))
    return found


if __name__ == "__main__":
    alone(benchmark, __doc__)
