"""`calipers dataset`: datasets made of what is there. The options of its commands; what they do loads when they are called."""

from typing import Any

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.completers import complete_files
from calipers.cli.options import filter_option, redact_option, store_option

FROM_EXAMPLES = """
# what an instrumented agent was asked, as cases to run
calipers dataset from traces/ --out cases.yaml
# what failed in the last run, and was called expensive
calipers dataset from latest --filter 'status:failed cost>0.01' --out failed.yaml
# a hundred of many: as many of each language, and nothing that says nearly the same
calipers dataset from latest --near 0.9 --sample 100 --by meta.lang --shares equal --seed 7 --out cases.jsonl
# with the answers that people called right as what is expected
calipers dataset from latest --confirmed-by 'Is the answer right?' --out golden.yaml
# more of them every night
calipers dataset from latest --out cases.jsonl --append
"""

EXAMPLES = """
# what an instrumented agent was asked, as cases to run
calipers dataset from traces/ --out cases.yaml
"""


class DatasetGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=DatasetGroup)
def command() -> None:
    """Make datasets of what agents were asked."""


command.params.append(debug_option())


@command.command(
    "from", cls=Command, examples=FROM_EXAMPLES, short_help="Make cases of kept runs, reports and traces."
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False),
    help="The dataset file to write: .yaml, .json, .jsonl, .csv or .parquet.",
)
@filter_option("Only")
@click.option(
    "--near",
    metavar="SHARE",
    type=float,
    help="Leave out requests that are this similar to another one, such as 0.9. Default: only those that are the same.",
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="At most N cases: the first ones.")
@click.option("--sample", metavar="N", type=click.IntRange(min=1), help="N cases, drawn at random.")
@click.option(
    "--by",
    metavar="FIELD",
    multiple=True,
    help="Draw from each value of a field, such as status, tool or meta.lang: a name as in --filter. Repeatable: from each "
    "combination.",
)
@click.option(
    "--shares",
    metavar="HOW",
    type=click.Choice(["proportional", "equal"]),
    default="proportional",
    show_default=True,
    help="Whether each value of --by gives its share of the sample, or all give the same number.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Of the sample; the cases keep it. Default: a random one.",
)
@click.option(
    "--confirmed-by",
    metavar="QUESTION",
    help="A question of `calipers label`: where people said yes, the outcome is what the case expects. Without it, no case expects "
    "what the agent did.",
)
@click.option(
    "--expect",
    metavar="WHAT",
    multiple=True,
    type=click.Choice(["output", "tool-calls", "trajectory"]),
    help="With --confirmed-by, what is expected: output, tool-calls, or trajectory, the order of the calls. Repeatable. Default: output.",
)
@click.option(
    "--keep-personal-data",
    is_flag=True,
    help="Leave e-mail addresses, telephone, card, account and social security numbers and secrets as they are.",
)
@redact_option
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--append",
    is_flag=True,
    help="Add to a file that is there: its cases stay, in their order, and none of their requests is added again.",
)
@click.option("--json", is_flag=True, help="Print what became of the attempts as JSON, with every duplicate.")
@store_option
def from_(**options: Any) -> int:
    """Make cases of each SOURCE: a kept run (an id, a name, or latest), a report file, or files and folders of traces.

    A case has the request, its tags and metadata, and where it is from. It expects nothing that no person has confirmed. Personal data
    that has a form is replaced; names of people are not found. What was left out, and why, is said at the end.

    Exit codes: 0 written, 2 wrong usage, no such run or file, or a file is there already, 3 something could not be read or written, or an
    extra is missing, 4 no case is left.
    """
    from calipers.cli.actions.dataset import dataset_from_sources

    return dataset_from_sources(**options)
