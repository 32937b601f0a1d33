"""How long a finished report takes to answer: 100,000 cases with three results each. Information, no targets."""

from command import alone, sized
from measuring import Subject, measure
from outcome import Outcome, rows

COUNT = 100_000


def benchmark(options):
    count = sized(COUNT, options)
    part = "subjects.with_calipers:report_part"
    samples = measure(
        [
            *[
                Subject(f"report.{name}()", part, {"count": count, "part": name})
                for name in ("summaries", "pass_rate", "averages", "to_dict")
            ],
            Subject("Report.from_dict()", "subjects.with_calipers:report_read", {"count": count}),
        ],
        rounds=min(3, options.rounds),
    )
    return Outcome(rows(f"a report of {count:,} cases", samples, "s"))


if __name__ == "__main__":
    alone(benchmark, __doc__)
