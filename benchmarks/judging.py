"""How well the questions of a judge overlap: 3,000 verdicts, 1,000 in flight, from a model on loopback that answers after 2 s.

Each verdict is a whole judgement of `LLMJudge`: the prompt with its fence, the request, the answer, its check against the schema, its
seal, its tokens, and a result in the report. The ideal time is the number of verdicts times 2 s, divided by 1,000. What a careful
engineer would write by hand stands beside it, see `subjects/judged.py`.
"""

import dataclasses

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, against_ideal, ratio, rows

COUNT = 3_000
SECONDS = 2.0
IN_FLIGHT = 1_000


def benchmark(options):
    count = sized(COUNT, options)
    what = f"{count:,} verdicts of a model that takes 2 s, {IN_FLIGHT:,} in flight"
    subjects = [
        Subject("Calipers", "subjects.judged:with_calipers", {"count": count}, rounds=3),
        Subject("by hand", "subjects.judged:by_hand", {"count": count}, rounds=2, note="aiohttp and json"),
        Subject(
            "only waiting", "subjects.judged:with_sleep", {"count": count}, rounds=1, note="asyncio.sleep"
        ),
    ]
    times = measure(subjects, rounds=options.rounds)
    works = measure([by_processor(subject) for subject in subjects], rounds=1)
    ideal = max(count, IN_FLIGHT) * SECONDS / IN_FLIGHT
    drawn = [against_ideal(row, ideal) for row in rows(what, times, "s")]
    promise = Promise(
        what, "Calipers / ideal", ratio(times["Calipers"].best, ideal), target=1.3, at_least=False
    )
    return Outcome((*drawn, *rows("the same, time of the processor", works, "s")), (promise,))


def by_processor(subject):
    """The same, by the time that the processor works for it, which other work on the machine disturbs less."""
    return dataclasses.replace(subject, arguments={**subject.arguments, "by": "processor_seconds_of"})


if __name__ == "__main__":
    alone(benchmark, __doc__)
