"""What `calipers label` does: ask a person about attempts of a run, or read and write labels, or say how well people agree."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from getpass import getuser
from pathlib import Path

import click

from calipers.cli.exits import NOTHING, PASSED, USAGE
from calipers.cli.label_session import Keys, LabelSession, TerminalKeys, told
from calipers.cli.message import CommandError, no_file, note
from calipers.cli.reports import check_targets
from calipers.cli.stored_runs import find_run, open_kept
from calipers.data.human_label import HumanLabel, check_name
from calipers.data.label_answers import answers_of
from calipers.errors import InvalidOptionError
from calipers.exchange.label_file import SheetLine, export_labels, import_labels, is_csv_path
from calipers.gate.people_agreement import people_agreement
from calipers.stats.number_text import plural
from calipers.stores.label_queue import Drawn, LabelQueue, current_labels
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.people_agreement import agreement_lines


def label(
    *,
    run: str,
    question: str | None = None,
    person: str | None = None,
    scale: str | None = None,
    choices: str | None = None,
    hide_expected: bool = False,
    show_metadata: bool = False,
    next: int | None = None,  # noqa: A002 - the option is called so
    judge: str | None = None,
    seed: int | None = None,
    export: str | None = None,
    blank: bool = False,
    import_: str | None = None,
    agreement: bool = False,
    store: str | None = None,
    keys: Keys | None = None,
) -> int:
    """Label a run, or do something with its labels; returns the exit code. A test may give the keys."""
    _check_options(question, [export, import_, agreement or None], blank=blank, judge=judge, count=next)
    answers = answers_of(scale, choices)
    with open_kept(store) as opened:
        info = find_run(opened, run)
        if agreement:
            return _tell_agreement(opened, info, question)
        if import_ is not None:
            return _import(opened, info, import_, question, person)
        if export is not None and not blank:
            return _export(opened, info, export, question, person)
        assert question is not None
        asked = check_name("--question", question)
        labelling = LabelQueue(opened, info, asked, _person(person), seed=seed)
        drawn = labelling.left() if next is None else labelling.draw(next, judge)
        if export is not None:
            return _write_sheet(labelling, export, drawn, person or "")
        labelling.check_answers(answers)
        session = LabelSession(
            labelling,
            answers,
            drawn,
            earlier=labelling.done if next is None else [],
            shows_expected=not hide_expected,
            shows_metadata=show_metadata,
        )
        return _ask(session, keys)


def _check_options(
    question: str | None,
    instead: Sequence[object],
    *,
    blank: bool,
    judge: str | None,
    count: int | None,
) -> None:
    """Refuse options that do not go together."""
    export, import_, _ = instead
    if sum(each is not None for each in instead) > 1:
        raise InvalidOptionError("--export, --import and --agreement are three things: give one of them")
    if blank and export is None:
        raise InvalidOptionError("--blank is for --export, which writes the file to be labelled: give both")
    if judge is not None and count is None:
        raise InvalidOptionError(
            "--judge is for --next N, which chooses what tells most about the judge: give both"
        )
    if question is None and (blank or all(each is None for each in instead)):
        raise InvalidOptionError(
            "--question says what to ask about each attempt, such as --question 'Is the answer polite?'"
        )
    if import_ is not None and not Path(str(import_)).is_file():
        raise no_file(str(import_))


def _person(given: str | None) -> str:
    if given is not None:
        return check_name("--as", given)
    try:
        return check_name("the login name", getuser())
    except (OSError, KeyError, ImportError) as error:  # no user of that number, as in a container
        raise CommandError("your login name is not known: say who answers with --as PERSON", USAGE) from error


def _ask(session: LabelSession, keys: Keys | None) -> int:
    if not session.run.attempts:
        raise CommandError(f"the run {session.run.id} has no attempts to label", NOTHING)
    if not session.queue:
        asked = session.labelling
        note(f"Nothing is left to label for {asked.person} and {asked.question!r}")
        return PASSED
    if keys is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "labelling needs a terminal, for it takes one key at a time. Elsewhere, write a sheet with --blank --export FILE.csv, fill "
            "in its column 'human', and read it with --import FILE.csv",
            USAGE,
        )
    try:
        with ExitStack() as stack:
            session.go(keys if keys is not None else stack.enter_context(TerminalKeys()))
    finally:
        note(told(session))
    return PASSED


def _tell_agreement(store: Store, run: RunInfo, question: str | None) -> int:
    labels = store.labels(run=run.id)
    asked = dict.fromkeys(each.question for each in labels)
    if question is not None and question not in asked:
        there = f"there are {', '.join(map(repr, asked))}" if asked else "it has no labels"
        raise CommandError(f"no one was asked {question!r} about the run {run.id}; {there}", USAGE)
    if not asked:
        note(f"The run {run.id} has no labels of people yet")
    current = current_labels(store, run, labels)
    if len(current) < len(labels):
        gone = plural(len(labels) - len(current), "label")
        note(f"{gone} left out: of outputs that the run no longer has")
    for index, each in enumerate([question] if question is not None else asked):
        if index:
            click.echo()
        for line in agreement_lines(people_agreement(each, current)):
            click.echo(line)
    return PASSED


def _import(store: Store, run: RunInfo, path: str, question: str | None, person: str | None) -> int:
    found = import_labels(store, run, path, question=question, person=person)
    parts = [f"Kept {plural(len(found.labels), 'label')}"]
    if found.replaced:
        parts.append(f"{found.replaced:,} of them in place of earlier ones")
    if found.blank:
        parts.append(f"{plural(found.blank, 'line')} without a label left out")
    note(", ".join(parts))
    return PASSED


def _export(store: Store, run: RunInfo, path: str, question: str | None, person: str | None) -> int:
    is_csv_path(path)
    check_targets("--export", [path])
    labels = store.labels(run=run.id, question=question, person=person)
    export_labels(store, run, path, labels)
    return _wrote(path, labels)


def _write_sheet(labelling: LabelQueue, path: str, drawn: Sequence[Drawn], person: str) -> int:
    is_csv_path(path)
    check_targets("--export", [path])
    export_labels(
        labelling.store,
        labelling.run,
        path,
        [],
        sheet=[SheetLine(*each) for each in drawn],
        question=labelling.question,
        person=person,
        seed=labelling.seed,
    )
    return _wrote(path, drawn)


def _wrote(path: str, lines: Sequence[HumanLabel | Drawn]) -> int:
    if path != "-":
        note(f"Wrote {path}, {plural(len(lines), 'line')}")
    return PASSED
