"""How long pytest takes for 400 cases whose agent answers after 50 ms: one test per case, attempted together or one at a time.

The same cases in one test, and as many tests that do nothing, stand beside it: pytest itself takes some time for each test.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

CASES, WAIT = 400, 0.05
WHAT = "400 cases of 50 ms in pytest"


def benchmark(options):
    size = {"cases": sized(CASES, options), "wait": WAIT}

    def subject(label, kind, **more):
        return Subject(label, "subjects.pytest_session:seconds", {"kind": kind, **size}, **more)

    samples = measure(
        [
            subject("one test per case", "together"),
            subject("one test per case, concurrent=False", "one at a time", rounds=1),
            subject("one test for all cases", "one test"),
            subject("as many tests without an agent", "no agent"),
        ],
        rounds=options.rounds,
    )
    apart, together = samples["one test per case, concurrent=False"], samples["one test per case"]
    return Outcome(
        rows(WHAT, samples, "s"),
        (
            Promise(
                WHAT, "concurrent=False / together", ratio(apart.best, together.best), target=5, at_least=True
            ),
        ),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
