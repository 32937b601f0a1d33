"""What a framework adds to each case: 10,000 trivial cases, three evaluators, an async task.

Every framework runs with 100 cases in flight, which is Calipers' default and the faster setting for pydantic_evals;
its own default, all at once, is shown as well. The floor is a hand-written loop: see `subjects/bare.py`.
"""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, Promise, ratio, rows

COUNT = 10_000
FEWER = 200
"""Cases for the peers that need milliseconds for each."""


def benchmark(options):
    count = sized(COUNT, options)
    arguments = {"count": count}
    limited = {**arguments, "max_concurrency": 100}
    subjects = [
        Subject("Calipers", "subjects.with_calipers:overhead", limited),
        Subject("pydantic_evals", "subjects.with_pydantic_evals:overhead", limited),
        Subject("bare asyncio loop", "subjects.bare:overhead", arguments),
        Subject(
            "asyncio.gather, semaphore", "subjects.bare:overhead_gathered", arguments, note="information"
        ),
        Subject(
            "pydantic_evals, no limit",
            "subjects.with_pydantic_evals:overhead",
            arguments,
            note="information: its default",
        ),
    ]
    if options.all_peers:
        fewer = {"count": sized(FEWER, options)}
        note = f"information, {fewer['count']} cases"
        subjects += [
            Subject(
                "DeepEval",
                "subjects.with_deepeval:overhead",
                fewer,
                python=options.all_peers,
                rounds=2,
                note=note,
            ),
            Subject(
                "Inspect AI",
                "subjects.with_inspect:overhead",
                fewer,
                python=options.all_peers,
                rounds=2,
                note=note,
            ),
        ]
    samples = measure(subjects, rounds=options.rounds)
    ours = samples["Calipers"].best
    what = f"overhead per case, {count:,} trivial cases"
    return Outcome(
        rows(what, samples, "s"),
        (
            Promise(
                what,
                "pydantic_evals / Calipers",
                ratio(samples["pydantic_evals"].best, ours),
                target=60,
                at_least=True,
            ),
            Promise(
                what,
                "Calipers / bare asyncio loop",
                ratio(ours, samples["bare asyncio loop"].best),
                target=5,
                at_least=False,
            ),
        ),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
