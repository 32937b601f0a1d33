"""`calipers gate`: whether a run is good enough, by a policy."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files, complete_run_or_file
from calipers.cli.options import dataset_option, document_option, store_option

EXAMPLES = """
# is the last run good enough, compared with the one on the main branch?
calipers gate latest --baseline baseline.json --policy gate.yaml
# the same in CI, with a summary for the pull request
calipers gate latest --baseline main --policy gate.yaml --out markdown:gate.md
# only thresholds: no baseline is needed
calipers gate report.json --policy thresholds.yaml
"""


@click.command(
    cls=Command,
    examples=EXAMPLES,
    too_many="the run to compare with is named by --baseline, as in gate NEW --baseline OLD",
)
@click.argument("run", metavar="RUN|FILE", shell_complete=complete_run_or_file)
@click.option(
    "--policy",
    metavar="FILE",
    required=True,
    shell_complete=complete_files,
    help="What the run has to meet: a YAML or JSON file.",
)
@click.option(
    "--baseline",
    metavar="RUN|FILE",
    shell_complete=complete_run_or_file,
    help="The run to compare with, where the policy has a margin or a growth.",
)
@store_option
@dataset_option
@click.option(
    "--anytime",
    is_flag=True,
    help="Use intervals that hold however often a growing run is looked at. Runs with --stop-when-decided have them anyway.",
)
@document_option("verdict")
@click.option("--quiet", "-q", is_flag=True, help="Show nothing: the exit code tells.")
def command(**options: Any) -> int:
    """Hold a RUN that is kept, or a report FILE, against a policy: PASS, FAIL, WORSE or INCONCLUSIVE.

    Each rule is decided by an interval, not by the point in its middle. WORSE means that the run is worse than its baseline, and that the interval holds the limit: by how much is open. INCONCLUSIVE means that the interval holds the limit, and the run may be as good as before, or that something is missing that could settle it; it is not a pass. In a GitHub Actions job the verdict is also added to the job's summary.

    Exit codes: 0 PASS, 1 FAIL, 2 wrong usage, or no such run or file, 3 something could not be read or written, 5 INCONCLUSIVE, 6 WORSE.
    """
    from calipers.cli.actions.gate import gate

    return gate(**options)
