"""`calipers schema`: the JSON Schema of dataset files, voice files and policies."""

from typing import Any

import click

from .command import Command, types_options

EXAMPLES = """
# for the editor: put it beside the datasets ...
calipers schema --out cases.schema.json
# ... and begin each of them with this line
# yaml-language-server: $schema=cases.schema.json
# the same for voice files
calipers schema --voice --out voice.schema.json
# the same for the policies of gates
calipers schema --gate --out gate.schema.json
# with types and evaluators of your own
calipers schema --types app:Question --types app:Answer --evaluator-type evaluators.py:Polite
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--out",
    metavar="PATH",
    type=click.Path(dir_okay=False),
    help="Write to a file. Default: standard output.",
)
@types_options
@click.option("--voice", is_flag=True, help="The schema of voice files, which `calipers voice run` takes.")
@click.option("--gate", is_flag=True, help="The schema of policy files, which `calipers gate` takes.")
def command(**options: Any) -> int:
    """Write the JSON Schema of YAML and JSON dataset files, voice files or policies, with which editors complete and check them.

    What depends on more than one value, or on this machine, is found by `calipers check`, for dataset and voice files.
    """
    from .schema_file import write_schema

    return write_schema(**options)
