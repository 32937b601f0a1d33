"""Recordings of agents: how fast OTLP files become traces, how much memory a million spans take on their way into a store, and how
many spans a second `calipers receive` stores without losing one.

The promise is 40,000 spans a second on one core, for JSON and for protobuf, at most 300 MB for the import, and 20,000 spans a
second received: from the first request until all are stored. A span has about ten attributes, and the requests carry their messages.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

SPANS = 60_000
IMPORTED = 1_000_000
MOST_SECONDS = 1 / 40_000
MOST_BYTES = 300e6
RECEIVED = 240_000
MOST_SECONDS_RECEIVED = 1 / 20_000


def benchmark(options):
    spans = sized(SPANS, options)
    forms = ("JSON", "protobuf")
    times = measure(
        [
            Subject(f"OTLP as {form}", "subjects.recordings:seconds_a_span", {"form": form, "spans": spans})
            for form in forms
        ],
        rounds=options.rounds,
    )
    large = sized(IMPORTED, options)
    label = f"calipers import, {large:,} spans"
    peaks = measure([Subject(label, "subjects.recordings:peak_memory", {"spans": large})], rounds=1)
    wire = f"calipers receive, {sized(RECEIVED, options):,} spans"
    arrivals = measure(
        [Subject(wire, "subjects.recordings:received_seconds", {"spans": sized(RECEIVED, options)})], rounds=1
    )
    return Outcome(
        (
            *rows("a span of a file read as traces", times, "s"),
            *rows("peak memory of the import", peaks, "B"),
            *rows("a span received and stored", arrivals, "s"),
        ),
        (
            *(
                Promise(
                    "OTLP files become traces",
                    f"time of a span as {form} / 25 µs",
                    ratio(times[f"OTLP as {form}"].best, MOST_SECONDS),
                    1.0,
                    at_least=False,
                )
                for form in forms
            ),
            Promise(
                "a million spans into the store",
                "peak memory / 300 MB",
                ratio(peaks[label].best, MOST_BYTES),
                1.0,
                at_least=False,
            ),
            Promise(
                "spans received and stored",
                "time of a span / 50 µs",
                ratio(arrivals[wire].best, MOST_SECONDS_RECEIVED),
                1.0,
                at_least=False,
            ),
        ),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
