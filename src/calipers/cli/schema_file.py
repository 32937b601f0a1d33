"""What `calipers schema` does."""

import json
from collections.abc import Sequence

import click

from calipers.errors import InvalidOptionError
from calipers.files.policy_file import policy_schema
from calipers.process.atomic_file import write_whole

from .dataset_file import DatasetFiles
from .exits import PASSED
from .message import note
from .plugin_list import chosen_plugins


def write_schema(
    *,
    out: str | None = None,
    types: Sequence[str] = (),
    evaluator_type: Sequence[str] = (),
    plugin: Sequence[str] = (),
    no_plugins: bool = False,
    voice: bool = False,
    gate: bool = False,
) -> int:
    """Write the schema to a file, or to standard output; returns the exit code."""
    if voice and types:
        raise InvalidOptionError("--types are those of dataset files: what a voice file holds is known")
    if gate and (voice or types or evaluator_type or plugin):
        raise InvalidOptionError("--gate is the schema of policies, which hold no evaluators: give it alone")
    with chosen_plugins(plugin, installed=not no_plugins) as plugins:
        if voice:
            from .voice_file import VoiceFiles

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
