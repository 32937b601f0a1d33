"""`calipers export`: a kept run as a file for other programs."""

from collections.abc import Sequence

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_export
from calipers.cli.exits import PASSED
from calipers.cli.message import note
from calipers.cli.options import filter_option, run_argument, store_option

EXAMPLES = """
# a table with a row per attempt, for a data frame or a database
calipers export latest --to parquet:attempts.parquet
# and one with a row per judgement
calipers export latest --to parquet:results.parquet --table results
# everything, to be imported elsewhere
calipers export 20261116-0223 --to jsonl:run.jsonl
# spans with their judgements, for a tool that shows traces
calipers export latest --to otlp:spans.otlp
# for a spreadsheet
calipers export latest --to csv
# what failed, and why
calipers export latest --to csv:failed.csv --filter status:failed --table results
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.option(
    "--to",
    metavar="FORMAT[:PATH]",
    multiple=True,
    required=True,
    shell_complete=complete_export,
    help="What to write: parquet, jsonl, csv or otlp. Without a path, the file is named after the run's id; the path - is "
    "standard output. Repeatable.",
)
@click.option(
    "--table",
    metavar="TABLE",
    type=click.Choice(["attempts", "results"]),
    help="Of parquet and csv: attempts, with a row for each, or results, with a row for each judgement. Default: attempts.",
)
@filter_option("Of parquet, csv and otlp: only")
@store_option
def command(
    *,
    run: str,
    to: Sequence[str],
    table: str | None,
    filter: Sequence[str],  # noqa: A002 - the option is called so
    store: str | None,
) -> int:
    """Write a kept run to a file: as a table for data frames, databases and spreadsheets, as spans in OTLP, or whole, to be imported elsewhere.

    RUN is an id, the beginning of one, a name, or latest. A run that is still going on is written as far as it is.

    Exit codes: 0 written, 2 wrong usage, or no such run, 3 it could not be read or written.
    """
    from calipers.cli.reports import check_targets
    from calipers.cli.stored_runs import find_run, open_kept
    from calipers.exchange.run_export import check_filter, check_table, export_run, parse_export

    targets = [parse_export(each) for each in to]
    for target in targets:
        check_table(target.format, table)
        check_filter(target.format, filter)
    with open_kept(store, can_lack_values=True) as opened:
        info = find_run(opened, run)
        paths = [target.path_for(info) for target in targets]
        check_targets("--to", paths)
        for target, path in zip(targets, paths, strict=True):
            export_run(opened, info.id, to=f"{target.format}:{path}", table=table, filter=filter)
            if path != "-":
                note(f"Wrote {path}")
    return PASSED
