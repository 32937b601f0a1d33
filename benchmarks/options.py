"""What Calipers' options add to each trivial case. Information, no targets."""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, rows

COUNT = 5_000


def benchmark(options):
    count = {"count": sized(COUNT, options)}
    ours = "subjects.with_calipers"
    samples = measure(
        [
            Subject("no option", f"{ours}:overhead", count),
            Subject("lifecycle", f"{ours}:overhead_lifecycle", count, note="hooks that do nothing"),
            Subject("task_timeout", f"{ours}:overhead", {**count, "task_timeout": 60}),
            Subject(
                "evaluator_timeout",
                f"{ours}:overhead",
                {**count, "evaluator_timeout": 60},
                note="three evaluators, three threads",
            ),
            Subject("a fourth evaluator", f"{ours}:overhead_fourth", {**count, "spans": False}),
            Subject(
                "a fourth evaluator, which asks for spans",
                f"{ours}:overhead_fourth",
                {**count, "spans": True},
                note="the task opens none of its own",
            ),
            Subject(
                "a task that is an ordinary function", f"{ours}:overhead_blocking", count, note="32 threads"
            ),
        ],
        rounds=options.rounds,
    )
    return Outcome(rows(f"time per case, {count['count']:,} trivial cases", samples, "s"))


if __name__ == "__main__":
    alone(benchmark, __doc__)
