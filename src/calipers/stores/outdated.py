"""The analyses of a stored run whose evaluators have changed since they were made.

Report evaluators look at a whole run when it ends, and what they found is stored. They are not asked again when the run is scored:
what they found stands, with a note that it was made before. What a rollout metric combined goes with its evaluator.
"""

from collections.abc import Collection

import msgspec

from calipers.report.analysis import Aggregate, Analysis

from .counting import bare_report
from .store import Store


def outdate(store: Store, run: str, names: Collection[str], what: str) -> None:
    """Say in the analyses of a run what becomes of some of its evaluators.

    Args:
        store: that holds it.
        run: its id.
        names: of the evaluators.
        what: happens to each of them, such as "was replaced".
    """
    info = store.run(run)
    report = bare_report(info)
    if not names or not report.analyses:
        return
    left = [
        analysis if _is_of(analysis, info.columns) else _noted(analysis, names, what)
        for analysis in report.analyses
        if not _is_of(analysis, names)
    ]
    if left != report.analyses:
        report.analyses = left
        store.finish_run(
            run, status=info.status, report=report, ended_at=info.ended_at, generation=info.generation
        )


def _is_of(analysis: Analysis, names: Collection[str]) -> bool:
    """Whether it is what a rollout metric of these combined."""
    return isinstance(analysis, Aggregate) and analysis.title in names


def _noted(analysis: Analysis, names: Collection[str], what: str) -> Analysis:
    known = analysis.note or ""
    made = {name: f"made before evaluator {name} " for name in names}
    notes = [f"{before}{what}" for before in made.values() if before not in known]
    return msgspec.structs.replace(analysis, note="; ".join([*notes, *filter(None, [known])]) or None)
