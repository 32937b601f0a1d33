"""What `calipers check` does.

A YAML or JSON document with prompts and no cases is a voice file, and is checked as one.
Every file is checked, whatever is wrong with another. A file without cases is a problem: a run of it has nothing to say.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from calipers.cli.actions.plugins import chosen_plugins
from calipers.cli.dataset_files import DatasetFiles, is_voice_file
from calipers.cli.exits import FAILED, PASSED, first_of
from calipers.cli.message import CommandError, describe, no_file, note, shown, trace
from calipers.cli.stored_runs import note_settings
from calipers.data.jsonable import plain
from calipers.errors import CalipersError
from calipers.files import Problem
from calipers.stats.number_text import plural


def check(
    files: Sequence[str],
    *,
    types: Sequence[str] = (),
    evaluator_type: Sequence[str] = (),
    allow_module: Sequence[str] = (),
    column: Sequence[str] = (),
    plugin: Sequence[str] = (),
    no_plugins: bool = False,
    json: bool = False,
) -> int:
    """Print what is wrong with each file; returns the exit code."""
    with chosen_plugins(plugin, installed=not no_plugins) as plugins:
        shared: Any = {
            "evaluator_types": evaluator_type,
            "allow_modules": allow_module,
            "plugins": plugins,
        }
        reader = DatasetFiles(types=types, columns=column, **shared)

        def problems_of(path: Path) -> list[Problem]:
            if not path.is_file():
                raise no_file(path)
            if not is_voice_file(path):
                return reader.check(path)
            from calipers.cli.actions.voice import VoiceFiles

            return VoiceFiles(**shared).check(path)

        return _check(problems_of, files, json=json)


def _check(problems_of: Callable[[Path], list[Problem]], files: Sequence[str], *, json: bool) -> int:
    problems: list[Problem] = []
    codes: list[int] = []
    for file in files:
        try:
            problems += problems_of(Path(file))
        except (CommandError, CalipersError, OSError) as error:
            trace(error)
            code, message = describe(error)
            codes.append(code)
            note(f"Error: {message}")
    if json:
        click.echo(_as_json(problems))
    else:
        for problem in problems:
            click.echo(shown(str(problem)))
        of = f" in {plural(len(files) - len(codes), 'file')}"
        if len(codes) < len(files):
            note((plural(len(problems), "problem") if problems else "No problems") + of)
        note_settings()
    return first_of([*codes, FAILED if problems else PASSED])


def _as_json(problems: Sequence[Problem]) -> str:
    found: list[Any] = plain(problems)
    return json.dumps(found, indent=2)
