"""What keeping a run costs, and what it spares later.

A run into an SQLite file stands beside the same run without one. A file of a million cases goes into a store and comes
out as a report, in bounded memory. Stored attempts are judged by a new evaluator without calling the task. A run of a
million results is opened again, once its totals are counted.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

CASES = 10_000
LINES = 1_000_000
ATTEMPTS = 100_000
RESULTS = 1_000_000
MOST_BYTES = 300e6


def benchmark(options):
    return kept(options) + streamed(options) + scored_again(options) + opened(options)


def kept(options):
    count = sized(CASES, options)
    what = f"{count:,} trivial cases, three evaluators, per case"
    samples = measure(
        [
            Subject("into SQLite", "subjects.stored:overhead", {"count": count}),
            Subject("without a store", "subjects.with_calipers:overhead", {"count": count}),
        ],
        # Short, and two processors work: more often than not, something else falls into it.
        rounds=3 * options.rounds,
    )
    share = ratio(samples["into SQLite"].best, samples["without a store"].best)
    promise = Promise(
        "a run that is kept", "into SQLite / without a store", share, 2.4, at_least=False, aim=2
    )
    return Outcome(rows(what, samples, "s"), (promise,))


def streamed(options):
    lines = sized(LINES, options)
    label = f"run into SQLite and report, {lines:,} lines"
    samples = measure([Subject(label, "subjects.stored:peak_memory", {"lines": lines})], rounds=1)
    share = ratio(samples[label].best, MOST_BYTES)
    promise = Promise("a million cases kept and reported", "peak memory / 300 MB", share, 1, at_least=False)
    return Outcome(rows("peak memory of the process", samples, "B"), (promise,))


def scored_again(options):
    count = sized(ATTEMPTS, options)
    label = f"one new evaluator on {count:,} stored attempts"
    both = f"{label}, two processes"
    samples = measure(
        [
            Subject(label, "subjects.stored:scored_again", {"count": count}),
            Subject(both, "subjects.stored:scored_again", {"count": count, "processes": 2}),
        ],
        rounds=options.rounds,
    )
    rate = ratio(1, samples[both].best)
    share = ratio(rate, 40_000)
    promise = Promise("scoring again, two processes", "attempts a second / 40,000", share, 1, at_least=True)
    return Outcome(rows("scoring again, per attempt", samples, "s"), (promise,))


def opened(options):
    count = sized(RESULTS, options) // 3
    label = f"a run of {3 * count:,} results"
    samples = measure([Subject(label, "subjects.stored:opened", {"count": count})], rounds=1)
    promise = Promise(
        "opening a run again",
        "start to printed summary / 2 s",
        ratio(samples[label].best, 2),
        1,
        at_least=False,
    )
    return Outcome(rows("a process that prints a stored summary", samples, "s"), (promise,))


if __name__ == "__main__":
    alone(benchmark, __doc__)
