"""What `calipers why` does: find the run, the case and the evaluator, and let the store explain."""

import click

from calipers.stores.explaining import whose_results, why

from .exits import PASSED
from .message import shown
from .stored_run import check_case, unknown
from .storing import find_run, open_kept


def explain(*, run: str, case: str, evaluator: str, store: str | None = None) -> int:
    """Say why a result was computed or taken over; returns the exit code."""
    with open_kept(store) as opened:
        info = find_run(opened, run)
        names = list(dict.fromkeys(each.name for each in info.evaluators))
        check_case(opened, info, case)
        if evaluator not in names:
            names += [name for name in whose_results(opened, info, case) if name not in names]
        if evaluator not in names:
            raise unknown("evaluator", evaluator, names, info)
        click.echo(shown(f"run {info.id}, {info.name}\n{why(opened, info.id, case, evaluator)}"))
    return PASSED
