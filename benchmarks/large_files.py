"""A file of a million cases through the command line: how much memory its process needs at most, and how long.

The promise is that memory does not grow with the file: at most 300 MB, and at most 1.3 times what a tenth of the file
needs. The cases are trivial and the task is an async function, so that nothing but Calipers is measured. Start-up is
measured beside it, against a bare interpreter.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

LINES = 1_000_000
MOST_BYTES = 300e6
MOST_SECONDS = 40


def benchmark(options):
    large = sized(LINES, options)
    small = large // 10
    labels = {count: f"calipers run, {count:,} lines" for count in (small, large)}
    peaks = measure(
        [
            Subject(label, "subjects.on_the_command_line:peak_memory", {"lines": count})
            for count, label in labels.items()
        ],
        rounds=1,
    )
    times = measure(
        [Subject(labels[large], "subjects.on_the_command_line:seconds", {"lines": large})],
        rounds=1,
    )
    starts = measure(
        [
            Subject("python -c pass", "subjects.on_the_command_line:start", {"words": ["-c", "pass"]}),
            Subject(
                "calipers --help",
                "subjects.on_the_command_line:start",
                {"words": ["-m", "calipers", "--help"]},
            ),
        ],
        rounds=2 * options.rounds,
    )
    peak = peaks[labels[large]].best
    return Outcome(
        (
            *rows("peak memory of the process", peaks, "B"),
            *rows("time of the whole run", times, "s"),
            *rows("start of the command line", starts, "s"),
        ),
        (
            Promise(
                "a file of a million cases",
                "peak memory / 300 MB",
                ratio(peak, MOST_BYTES),
                1.0,
                at_least=False,
            ),
            Promise(
                "a file of a million cases",
                "peak memory / that of a tenth of it",
                ratio(peak, peaks[labels[small]].best),
                1.3,
                at_least=False,
            ),
            Promise(
                "a file of a million cases, kept",
                "time of the whole run / 40 s",
                ratio(times[labels[large]].best, MOST_SECONDS * large / LINES),
                1.0,
                at_least=False,
            ),
            Promise(
                "start of the command line",
                "calipers --help / python -c pass",
                ratio(starts["calipers --help"].best, starts["python -c pass"].best),
                6,
                at_least=False,
            ),
        ),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
