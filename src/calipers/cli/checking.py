"""What `calipers check` does."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from calipers.files import Problem
from calipers.plain import plain
from calipers.views.numbers import plural

from .dataset_file import DatasetFiles
from .exits import FAILED, PASSED, USAGE
from .message import CommandError, note, shown


def check(
    files: Sequence[str],
    *,
    types: Sequence[str] = (),
    evaluator_type: Sequence[str] = (),
    allow_module: Sequence[str] = (),
    column: Sequence[str] = (),
    json: bool = False,
) -> int:
    """Print what is wrong with each file; returns the exit code."""
    reader = DatasetFiles(
        types=types, evaluator_types=evaluator_type, allow_modules=allow_module, columns=column
    )
    missing = [file for file in files if not Path(file).is_file()]
    if missing:
        raise CommandError(f"there is no file {', '.join(map(repr, missing))}", USAGE)
    problems = [problem for file in files for problem in reader.check(Path(file))]
    if json:
        click.echo(_as_json(problems))
    else:
        for problem in problems:
            click.echo(shown(str(problem)))
        of = f" in {plural(len(files), 'file')}"
        note((plural(len(problems), "problem") if problems else "No problems") + of)
    return FAILED if problems else PASSED


def _as_json(problems: Sequence[Problem]) -> str:
    found: list[Any] = plain(problems)
    return json.dumps(found, indent=2)
