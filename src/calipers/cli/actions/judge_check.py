"""What `calipers judge check` does: reads labels, asks the judge about what was labelled, shows and keeps its passport."""

from pathlib import Path
from shlex import quote
from typing import Any

import click
import msgspec

from calipers.cli.exits import NOTHING, PASSED, USAGE
from calipers.cli.message import CommandError, no_file, note, shown
from calipers.cli.reports import named_reports
from calipers.cli.stored_runs import open_or_make, shown_store
from calipers.data.evaluator import make_ready
from calipers.data.evaluator_styles import as_evaluator
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.gate.human_labels import read_label_file
from calipers.judges.injection import injections as all_injections
from calipers.judges.judge_check import LabelledAttempt, check_judge, labelled_attempts
from calipers.process.loop import run_sync
from calipers.report.passport import Passport
from calipers.stats.number_text import plural
from calipers.stores.standings import keep_passport
from calipers.views.passport import passport_lines

_TOLD = ("inputs", "expected_output", "metadata", "model")
"""What a line of a file may say of an answer beside its output."""


def check(
    judge: Any,
    *,
    run: str | None = None,
    labels: str | None = None,
    question: str | None = None,
    human: str = "human",
    repeats: int = 3,
    passes_at: float | None = None,
    no_injections: bool = False,
    max_concurrency: int = 10,
    store: str | None = None,
    no_store: bool = False,
    json: bool = False,
) -> int:
    """Check a judge, show its passport and keep it; returns the exit code."""
    name = as_evaluator(judge).get_default_evaluation_name()
    if labels is not None and question is not None:
        raise InvalidOptionError("--labels is a file, and --question is about labels in the store: give one")
    if labels is not None and not Path(labels).is_file():
        raise no_file(labels)
    if run is None:
        if labels is None:
            raise InvalidOptionError("give --run, whose attempts people labelled, or --labels with a file")
        attempts = _from_file(Path(labels), human)
    else:
        report = named_reports([run], store)[0].report
        lines = read_label_file(Path(labels), human).labels if labels is not None else ()
        asked = None if labels is not None else question or name
        attempts = labelled_attempts(report, name, question=asked, lines=lines)
    if not attempts:
        where = repr(labels) if labels is not None else f"the store, in answer to {question or name!r}"
        way = (
            ""
            if labels is not None or run is None
            else f": `calipers label {run} --question {quote(name)}` asks for some"
        )
        raise CommandError(f"no attempt has a label in {where}{way}", NOTHING)
    more = "" if no_injections else f", and {plural(len(all_injections()), 'injection')}"
    note(f"Asking {name} about {plural(len(attempts), 'attempt')}, {plural(repeats, 'time')} each{more}")

    async def measured() -> Passport:
        await make_ready(judge)
        return await check_judge(
            judge,
            attempts,
            repeats=repeats,
            passes_at=passes_at,
            injections=not no_injections,
            max_concurrency=max_concurrency,
        )

    try:
        passport = run_sync(measured)
    except NotKnownError as error:
        raise CommandError(str(error), NOTHING) from error
    if json:
        click.echo(msgspec.json.format(msgspec.json.encode(passport)).decode())
    else:
        click.echo(shown("\n".join(passport_lines(passport))))
    if not no_store:
        with open_or_make(store) as kept:
            keep_passport(kept, passport)
            note(f"The passport is kept in {shown_store(kept)}")
    return PASSED


def _from_file(path: Path, human: str) -> list[LabelledAttempt]:
    """Labelled answers in a file, each with its output."""
    found = []
    for label in read_label_file(path, human).labels:
        if label.output is None:
            raise CommandError(
                f"{label.place}: there is no case with its output to ask the judge about: give --run for a file that names cases "
                "of a run",
                USAGE,
            )
        line = label.line
        told = {name: line[name] for name in _TOLD if line.get(name) not in (None, "")}
        found.append(LabelledAttempt(name=label.case, output=label.output, label=label.human, **told))
    return found
