"""Comparing runs of a store apart from the server: in a process of its own where they are long, so that no page waits for it.

A comparison of two runs of 100,000 attempts is ten seconds of work on one processor. In a process of its own it slows no request down, its memory is
given back, and it can be ended. Such a process reads what to do from its standard input, and writes one JSON object a line: how many attempts it has
read, and at last what it found, or why it could not.

What is compared, and how, is decided in `calipers.comparison.comparison.compare_many`; the numbers are those of `calipers compare --against-first`.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from calipers.comparison.case_pairs import PairBy, Record, attempt_number, cases_of, pair_cases
from calipers.comparison.comparison import Comparison, compare_many
from calipers.errors import CalipersError
from calipers.stores.run_info import RunInfo
from calipers.stores.runs_to_compare import RunToCompare, runs_to_compare
from calipers.stores.store import Store
from calipers.stores.store_url import open_store
from calipers.views.outcome import Outcome, outcome_of
from calipers.views.run_table import distinct_names

MARKS: dict[Outcome, str] = {"passed": "p", "failed": "f", "error": "e", "skipped": "u"}
"""One character for what came of an attempt."""


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are compared."""

    pair_by: PairBy = "content"
    these_cases: bool = False
    lower_is_better: tuple[str, ...] = ()


class FlipPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where a case that flipped stands in both runs."""

    baseline: int
    """The position of the attempt that is shown."""
    candidate: int
    baseline_marks: str
    """One character for each attempt."""
    candidate_marks: str


class FoundPair(msgspec.Struct, frozen=True, kw_only=True):
    """A run against the first one."""

    comparison: Comparison
    """Its flips do not tell what their attempts gave."""
    places: list[FlipPlace]
    """Of each flip."""
    renamed: dict[str, str]
    """By its name in the candidate, what a case is called in the baseline, where that is another name."""
    shared_keys: list[str]
    """The keys that several evaluators give in any of the runs: by these results have the names that the comparison gives them."""


class _Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do."""

    store: str
    runs: list[str]
    options: CompareOptions


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process says."""

    kind: Literal["read", "found", "failed"]
    read: int = 0
    """Attempts since the line before."""
    found: list[FoundPair] = []
    why: str = ""


def compare_runs(
    store: Store,
    runs: Sequence[RunInfo],
    options: CompareOptions,
    *,
    hear: Callable[[int], None] = lambda _: None,
) -> list[FoundPair]:
    """Each further run against the first one.

    Args:
        store: that has the runs.
        runs: the baseline first.
        options: how they are compared.
        hear: called now and then with the number of attempts that were read since.
    """
    read = runs_to_compare(store, runs, hear=hear)
    comparisons = compare_many(
        [each.report for each in read],
        pair_by=options.pair_by,
        population="these-cases" if options.these_cases else "cases-like-these",
        lower_is_better=options.lower_is_better,
        labels=run_labels(runs),
        known_evaluators=[each.evaluators for each in read],
        against_first=True,
        contents=[each.contents for each in read],
    )
    shared = sorted({key for each in read for key in each.shared_keys})
    return [
        _found(comparison, read[0], other, options, shared)
        for comparison, other in zip(comparisons, read[1:], strict=True)
    ]


def run_labels(runs: Sequence[RunInfo]) -> list[str]:
    """What runs are called where they are compared: as on the command line."""
    return distinct_names([each.name for each in runs], [f"{each.name} ({each.id})" for each in runs])


def _found(
    comparison: Comparison,
    one: RunToCompare,
    two: RunToCompare,
    options: CompareOptions,
    shared: list[str],
) -> FoundPair:
    renamed: dict[str, str] = {}
    if comparison.pairing.renamed:
        cases = (cases_of(each.report, each.contents) for each in (one, two))
        pairs, _ = pair_cases(*cases, by=options.pair_by)
        renamed = {after.name: before.name for before, after in pairs if after.name != before.name}
    after = {flip.case for flip in comparison.flips}
    places, places_too = (
        _attempts_at(one, {renamed.get(name, name) for name in after}),
        _attempts_at(two, after),
    )
    return FoundPair(
        comparison=comparison,
        places=[
            FlipPlace(
                places[renamed.get(flip.case, flip.case)][flip.baseline_attempt][0],
                places_too[flip.case][flip.candidate_attempt][0],
                _marks(places[renamed.get(flip.case, flip.case)]),
                _marks(places_too[flip.case]),
            )
            for flip in comparison.flips
        ],
        renamed=renamed,
        shared_keys=shared,
    )


def _attempts_at(run: RunToCompare, names: set[str]) -> dict[str, dict[int, tuple[int, str]]]:
    """The attempts at some cases: by the number of each, its position and its mark."""
    found: dict[str, dict[int, tuple[int, str]]] = {name: {} for name in names}
    records: list[Record] = [*run.report.cases, *run.report.failures]
    for record in records:
        name = record.source_case_name or record.name
        if name in found:
            position = run.positions[record.name]
            found[name][attempt_number(record)[0]] = position, MARKS[outcome_of(record)]
    return found


def _marks(attempts: dict[int, tuple[int, str]]) -> str:
    return "".join(mark for _, (_, mark) in sorted(attempts.items()))


# ---------------------------------------------------------------------- in a process of its own


def work_for(store: str, runs: Sequence[RunInfo], options: CompareOptions) -> bytes:
    """What the process is told."""
    return msgspec.json.encode(_Work(store=store, runs=[each.id for each in runs], options=options)) + b"\n"


def main() -> None:
    """Do the work that standard input tells, and write what comes of it."""
    work = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Work)

    def say(line: Line) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()

    try:
        with open_store(work.store, existing=True, read_only=True) as store:
            runs = [store.run(each) for each in work.runs]
            found = compare_runs(
                store, runs, work.options, hear=lambda read: say(Line(kind="read", read=read))
            )
        say(Line(kind="found", found=found))
    except CalipersError as error:
        say(Line(kind="failed", why=str(error)))


if __name__ == "__main__":
    main()
