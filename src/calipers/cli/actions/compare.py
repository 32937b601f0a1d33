"""What `calipers compare` does: read the reports, compare them, show and write what was found."""

from collections.abc import Sequence

from calipers.cli.exits import PASSED
from calipers.cli.message import note_file
from calipers.cli.output import printing
from calipers.cli.reports import NamedReport, check_targets, distinct_reports
from calipers.comparison.case_pairs import PairBy, find_case
from calipers.comparison.comparison import Correction, compare_many
from calipers.errors import InvalidOptionError
from calipers.views.comparison.files import comparison_target, write_comparisons
from calipers.views.comparison.side_by_side import Sided, print_case
from calipers.views.comparison.terminal import print_comparisons


def compare(
    *,
    runs: Sequence[str],
    store: str | None = None,
    dataset: str | None = None,
    case: str | None = None,
    evaluator: Sequence[str] = (),
    confidence: float = 0.95,
    correction: Correction = "holm",
    smallest: float = 0.03,
    smallest_relative: float = 0.1,
    lower_is_better: Sequence[str] = (),
    pair_by: PairBy = "content",
    these_cases: bool = False,
    against_first: bool = False,
    slice_by: Sequence[str] = (),
    max_flips: int = 20,
    out: Sequence[str] = (),
) -> int:
    """Compare runs or report files; returns the exit code."""
    if len(runs) < 2:
        raise InvalidOptionError(f"a comparison needs a baseline and a candidate, got {runs[0]!r} alone")
    if case is not None and out:
        raise InvalidOptionError(
            "--case shows one case, and --out writes the comparison of all: use one of them"
        )
    targets = [comparison_target(each) for each in out]
    check_targets("--out", [target.path for target in targets], runs)
    found = distinct_reports(runs, store, dataset=dataset, can_lack_values=True)
    if case is not None:
        _show_case(found, case, pair_by)
        return PASSED
    comparisons = compare_many(
        [each.report.sliced_by(*slice_by) if slice_by else each.report for each in found],
        confidence=confidence,
        evaluators=evaluator or None,
        correction=correction,
        smallest=smallest,
        smallest_relative=smallest_relative,
        lower_is_better=lower_is_better,
        pair_by=pair_by,
        population="these-cases" if these_cases else "cases-like-these",
        labels=[each.label for each in found],
        known_evaluators=[each.evaluators for each in found],
        against_first=against_first,
    )
    for target in targets:
        write_comparisons(comparisons, f"{target.format}:{target.path}")
        if target.path != "-":
            note_file(target.path)
    if not any(target.path == "-" for target in targets):
        with printing():
            print_comparisons(comparisons, max_flips=max_flips or None, no_limit="--max-flips 0")
    return PASSED


def _show_case(found: Sequence[NamedReport], name: str, pair_by: PairBy) -> None:
    """Show one case of each candidate beside that of the baseline."""
    old = found[0]
    with printing():
        for number, new in enumerate(found[1:]):
            if number:
                print()  # noqa: T201 - between two cases
            before, after = find_case(old.report, new.report, name, by=pair_by)
            print_case(Sided(old.label, before), Sided(new.label, after))
