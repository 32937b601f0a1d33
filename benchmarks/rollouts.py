"""How well conversations overlap: 1,000 rollouts of five turns, 100 in flight, against a target that answers after 20 ms.

Each rollout draws its goal from its seed, is scored turn by turn, measured and kept; at the end all are combined. The ideal
time is the number of turns times 20 ms, divided by 100: what a program without any work of its own would need. What a
careful engineer would write by hand stands beside it, see `subjects/rolled.py`.
"""

import dataclasses

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, against_ideal, ratio, rows

COUNT = 1_000
DEPTH = 5
SECONDS = 0.02
IN_FLIGHT = 100


def benchmark(options):
    count = {"count": sized(COUNT, options)}
    what = f"{count['count']:,} rollouts of {DEPTH} turns of 20 ms, {IN_FLIGHT} in flight"
    subjects = [
        Subject("Calipers", "subjects.rolled:with_calipers", count),
        Subject("by hand", "subjects.rolled:by_hand", count, note="asyncio"),
        Subject("only waiting", "subjects.rolled:with_sleep", count, note="asyncio.sleep"),
    ]
    times = measure(subjects, rounds=options.rounds)
    works = measure([by_processor(subject) for subject in subjects], rounds=options.rounds)
    ideal = count["count"] * DEPTH * SECONDS / IN_FLIGHT
    drawn = [against_ideal(row, ideal) for row in rows(what, times, "s")]
    return Outcome(
        (*drawn, *rows("the same, time of the processor", works, "s")),
        (
            Promise(
                what, "Calipers / ideal", ratio(times["Calipers"].best, ideal), target=1.3, at_least=False
            ),
        ),
    )


def by_processor(subject):
    """The same, by the time that the processor works for it, which other work on the machine disturbs less."""
    return dataclasses.replace(subject, arguments={**subject.arguments, "by": "processor_seconds_of"})


if __name__ == "__main__":
    alone(benchmark, __doc__)
