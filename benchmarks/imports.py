"""How long an import takes, in a fresh process with compiled files in place.

Calipers loads its parts when they are first used, so `import calipers` alone flatters it: `from calipers import Case,
Dataset` and the time until the first report of one case, which pays for all that was put off, stand beside it.
"""

from command import alone
from measuring import Subject, in_fresh_process, measure
from outcome import Outcome, Promise, ratio, rows

NAMES = ["Case", "Dataset"]


def subjects(options):
    seconds, first = "subjects.importing:seconds", "subjects.importing:until_first_report"
    found = []
    for module, user in (
        ("calipers", "subjects.with_calipers"),
        ("pydantic_evals", "subjects.with_pydantic_evals"),
    ):
        found += [
            Subject(f"import {module}", seconds, {"module": module}),
            Subject(f"from {module} import Case, Dataset", seconds, {"module": module, "names": NAMES}),
            Subject(f"first report with {module}", first, {"subject": user}),
        ]
    if options.all_peers:
        found += [
            Subject(
                f"import {module}", seconds, {"module": module}, python=options.all_peers, note="information"
            )
            for module in ("deepeval", "inspect_ai")
        ]
    return found


def benchmark(options):
    measured = subjects(options)
    for subject in measured:
        in_fresh_process(subject)  # compiled files exist from now on, and the disk's cache is warm
    samples = measure(measured, rounds=2 * options.rounds)
    theirs, ours = samples["import pydantic_evals"], samples["import calipers"]
    return Outcome(
        rows("import", samples, "s"),
        (
            Promise(
                "import",
                "import pydantic_evals / import calipers",
                ratio(theirs.best, ours.best),
                target=10,
                at_least=True,
            ),
        ),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
