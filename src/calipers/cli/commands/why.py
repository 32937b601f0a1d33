"""`calipers why`: why a result was computed or taken over."""

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_case, complete_stored_evaluator
from calipers.cli.exits import PASSED
from calipers.cli.message import shown
from calipers.cli.options import run_argument, store_option

EXAMPLES = """
# why was this case judged again?
calipers why latest refund-17 Polite
# one of several attempts at it
calipers why 20261116-0223 'refund-17 [2/5]' Polite
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.argument("case", metavar="CASE", shell_complete=complete_case)
@click.argument("evaluator", metavar="EVALUATOR", shell_complete=complete_stored_evaluator)
@store_option
def command(*, run: str, case: str, evaluator: str, store: str | None) -> int:
    """Say why a kept RUN computed what an EVALUATOR said of a CASE, or from which run it took it over.

    A run takes something over only where it was asked to, by --resume or --reuse. It says what has changed since: the
    source of a function, a parameter, the inputs of the case.

    Exit codes: 0 said, 2 wrong usage, or no such store, run, case or evaluator, 3 the store could not be read.
    """
    from calipers.cli.stored_runs import check_case, find_run, open_kept, unknown_in_run
    from calipers.stores.explanation import whose_results
    from calipers.stores.explanation import why as reason

    with open_kept(store, can_lack_values=True) as opened:
        info = find_run(opened, run)
        names = list(dict.fromkeys(each.name for each in info.evaluators))
        check_case(opened, info, case)
        if evaluator not in names:
            names += [name for name in whose_results(opened, info, case) if name not in names]
        if evaluator not in names:
            raise unknown_in_run("evaluator", evaluator, names, info)
        click.echo(shown(f"run {info.id}, {info.name}\n{reason(opened, info.id, case, evaluator)}"))
    return PASSED
