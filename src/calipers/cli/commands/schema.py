"""`calipers schema`: the JSON Schema of dataset files, voice files and policies."""

from collections.abc import Sequence

import click

from calipers.cli.app import Command
from calipers.cli.exits import PASSED
from calipers.cli.message import note
from calipers.cli.options import types_options
from calipers.errors import InvalidOptionError

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
def command(
    *,
    out: str | None,
    types: Sequence[str],
    evaluator_type: Sequence[str],
    plugin: Sequence[str],
    no_plugins: bool,
    voice: bool,
    gate: bool,
) -> int:
    """Write the JSON Schema of YAML and JSON dataset files, voice files or policies, with which editors complete and check them.

    What depends on more than one value, or on this machine, is found by `calipers check`, for dataset and voice files.
    """
    import json

    from calipers.cli.actions.plugins import chosen_plugins
    from calipers.cli.dataset_files import DatasetFiles
    from calipers.files.policy_file import policy_schema
    from calipers.process.atomic_file import write_whole

    if voice and types:
        raise InvalidOptionError("--types are those of dataset files: what a voice file holds is known")
    if gate and (voice or types or evaluator_type or plugin):
        raise InvalidOptionError("--gate is the schema of policies, which hold no evaluators: give it alone")
    with chosen_plugins(plugin, installed=not no_plugins) as plugins:
        if voice:
            from calipers.cli.actions.voice import VoiceFiles

            schema = VoiceFiles(evaluator_types=evaluator_type, plugins=plugins).schema()
        elif gate:
            schema = policy_schema()
        else:
            schema = DatasetFiles(types=types, evaluator_types=evaluator_type, plugins=plugins).schema()
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    if out is None:
        click.echo(text)
    else:
        write_whole(out, [f"{text}\n".encode()])
        note(f"Wrote {out}")
    return PASSED
