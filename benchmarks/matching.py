"""How long it takes to match tool calls: 1,000 expected against 1,000 actual ones, with score and edit script.

Time of the processor. The promise is about the slowest of several kinds of calls and both ways to match. What a peer and a
simple loop need is shown as information: the peer compares the names of tools alone, the loop pairs greedily, and neither
gives credit for calls that fit in part.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, rows
from subjects.tool_calls import KINDS

COUNT = 1_000
SECONDS = 1.0
"""What "well under a second" is measured against."""


def benchmark(options):
    count = sized(COUNT, options)
    found, slowest = (), []
    for kind in KINDS:
        arguments = {"kind": kind, "count": count}
        samples = measure(
            [
                *(
                    Subject(
                        f"Calipers, {mode}", "subjects.tool_calls:with_calipers", {**arguments, "mode": mode}
                    )
                    for mode in ("unordered", "exact")
                ),
                Subject(
                    "pydantic_evals, in order",
                    "subjects.tool_calls:with_pydantic_evals",
                    arguments,
                    note="information: names only",
                ),
                Subject("a greedy loop", "subjects.tool_calls:greedily", arguments, note="information"),
            ],
            rounds=min(3, options.rounds),
        )
        found += rows(f"{count:,} calls against {count:,}: {kind}", samples, "s")
        slowest += [sample.best for label, sample in samples.items() if label.startswith("Calipers")]
    value = None if None in slowest else max(slowest) / SECONDS
    what = f"{count:,} tool calls against {count:,}, the slowest kind"
    return Outcome(found, (Promise(what, "Calipers / 1 s", value, target=0.8, at_least=False, aim=0.4),))


if __name__ == "__main__":
    alone(benchmark, __doc__)
