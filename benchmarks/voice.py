"""How well spoken requests overlap: 500 prompts, 50 in flight, to an agent on loopback that answers after 20 ms.

Each prompt is a sentence from a warm cache of sounds, sent as base64, answered, parsed, judged and kept. The ideal time is
the number of prompts times 20 ms, divided by 50: what a client without any work of its own would need. How near to it one
can get depends on the machine; what a careful engineer would write by hand stands beside it, see `subjects/spoken.py`.
"""

import dataclasses
import tempfile

from command import alone, sized
from measuring import Subject, in_fresh_process, measure
from outcome import Outcome, Promise, against_ideal, ratio, rows

COUNT = 500
SECONDS = 0.02
IN_FLIGHT = 50
HAND = "by hand"


def benchmark(options):
    count = sized(COUNT, options)
    what = f"{count} spoken prompts to an agent of 20 ms, {IN_FLIGHT} in flight"
    with tempfile.TemporaryDirectory() as folder:
        prompts = {"count": count, "folder": folder}
        size = in_fresh_process(Subject("warm cache", "subjects.spoken:fill", prompts))
        subjects = [
            Subject("Calipers", "subjects.spoken:with_calipers", prompts),
            Subject(HAND, "subjects.spoken:by_hand", prompts, note="aiohttp, base64 and json"),
            Subject(
                "only sending", "subjects.spoken:with_aiohttp", {"count": count, "size": size}, note="aiohttp"
            ),
            Subject("only waiting", "subjects.spoken:with_sleep", {"count": count}, note="asyncio.sleep"),
        ]
        times = measure(subjects, rounds=options.rounds)
        works = measure([by_processor(subject) for subject in subjects], rounds=options.rounds)
    ideal = count * SECONDS / IN_FLIGHT
    drawn = [against_ideal(row, ideal) for row in rows(what, times, "s")]
    return Outcome(
        (*drawn, *rows("the same, time of the processor", works, "s")),
        (
            Promise(
                what, "Calipers / ideal", ratio(times["Calipers"].best, ideal), target=1.3, at_least=False
            ),
            Promise(
                what,
                f"Calipers / {HAND}",
                ratio(times["Calipers"].best, times[HAND].best),
                target=1.2,
                at_least=False,
            ),
        ),
    )


def by_processor(subject):
    """The same, by the time that the processor works for it, which other work on the machine disturbs less."""
    return dataclasses.replace(subject, arguments={**subject.arguments, "by": "processor_seconds_of"})


if __name__ == "__main__":
    alone(benchmark, __doc__)
