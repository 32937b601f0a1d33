"""`calipers init`: a working example in a folder."""

from typing import Any

import click

from calipers.cli.app import Command

EXAMPLES = """
# here
calipers init
# in a folder of its own, then run it
calipers init my-evals && cd my-evals && calipers run
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def command(**options: Any) -> int:
    """Put a working example into a folder: cases, a task, an evaluator of your own, settings and a CI job.

    Nothing that exists is overwritten unless --force says so.

    Exit codes: 0 written, 2 some of the files exist.
    """
    from calipers.cli.actions.init import write_starter

    return write_starter(**options)
