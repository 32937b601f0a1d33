"""What `calipers label` does: ask a person about attempts of a run, or read and write labels, or say how well people agree."""

import secrets
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from getpass import getuser
from math import fsum
from pathlib import Path

import click

from calipers.cli.exits import NOTHING, PASSED, USAGE
from calipers.cli.label_session import (
    Answers,
    Drawn,
    Keys,
    LabelSession,
    choices,
    random_order,
    scale,
    told,
    yes_or_no,
)
from calipers.cli.message import CommandError, no_file, note
from calipers.cli.reports import check_targets
from calipers.cli.stored_runs import find_run, open_kept
from calipers.cli.terminal_keys import TerminalKeys
from calipers.data.human_label import HumanLabel, Rating, check_name
from calipers.errors import InvalidOptionError
from calipers.exchange.label_file import SheetLine, current_labels, export_labels, import_labels, is_csv_path
from calipers.gate.human_labels import yes_or_no as as_yes_or_no
from calipers.gate.label_choice import choose_labels, has_judge
from calipers.gate.people_agreement import people_agreement
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.people_agreement import agreement_lines, shown_answer

_SEED_BITS = 32


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
    answers = _answers(scale, choices)
    with open_kept(store) as opened:
        info = find_run(opened, run)
        if agreement:
            return _tell_agreement(opened, info, question)
        if import_ is not None:
            return _import(opened, info, import_, question, person)
        if export is not None and not blank:
            return _export(opened, info, export, question, person)
        assert question is not None
        labelling = _Labelling(opened, info, check_name("--question", question), _person(person), seed)
        drawn = labelling.draw(next, judge)
        if export is not None:
            return _write_sheet(labelling, export, drawn, person or "")
        labelling.check_answers(answers)
        session = LabelSession(
            opened,
            info,
            labelling.question,
            labelling.person,
            answers,
            drawn,
            labelling.seed,
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


def _answers(given_scale: str | None, given_choices: str | None) -> Answers:
    if given_scale is not None and given_choices is not None:
        raise InvalidOptionError("answers are either on a --scale or among --choices: give one of them")
    if given_scale is not None:
        return scale(given_scale)
    return yes_or_no() if given_choices is None else choices(given_choices)


def _person(given: str | None) -> str:
    if given is not None:
        return check_name("--as", given)
    try:
        return check_name("the login name", getuser())
    except (OSError, KeyError, ImportError) as error:  # no user of that number, as in a container
        raise CommandError("your login name is not known: say who answers with --as PERSON", USAGE) from error


class _Labelling:
    """What a person has labelled of a run, and what is left."""

    def __init__(self, store: Store, run: RunInfo, question: str, person: str, seed: int | None) -> None:
        self.store, self.run, self.question, self.person = store, run, question, person
        self.labels = store.labels(run=run.id, question=question)
        self.current = current_labels(store, run, self.labels)
        """Those of the outputs that the run has now."""
        own = sorted((each for each in self.current if each.person == person), key=lambda each: each.at)
        self.done = [each.position for each in own]
        """Positions that the person has labelled, the newest last; not those whose output has changed since."""
        self.seed = secrets.randbits(_SEED_BITS) if seed is None else seed
        self._has_seed = seed is not None
        self._drawn_for_others = {
            each.position: Drawn(each.position, each.probability, each.seed)
            for each in self.current
            if each.person != person and each.probability is not None
        }
        """What `--next` drew for other people, by position."""

    def draw(self, count: int | None, judge: str | None) -> list[Drawn]:
        """The attempts to label, in their order."""
        orders = [each.seed for each in self.labels if each.seed is not None and each.probability is None]
        if count is None and orders and not self._has_seed:
            self.seed = orders[-1]
        attempts = list(self.store.attempts(self.run.id, parts=False))
        done = set(self.done)
        order = [each for each in random_order(attempts, self.seed) if each not in done]
        if count is None:
            drawn = self._drawn_for_others
            return [
                *(drawn[position] for position in order if position in drawn),
                *(Drawn(position, None) for position in order if position not in drawn),
            ]
        at = {(each.case_name, each.repeat): each.position for each in attempts}
        before = {each.probability for each in self.labels if each.seed == self.seed} - {None}
        report = self.store.report(self.run.id)
        if judge is None and has_judge(report, self.question):
            judge = self.question
        if judge is not None:
            chosen = choose_labels(report, judge, self._means(), count, seed=self.seed)
            self._check_seed(new=not before)
            return [Drawn(at[each.case, each.attempt], each.probability) for each in chosen]
        share = min(1.0, count / len(order)) if order else 1.0
        self._check_seed(new=before <= {share})
        return [Drawn(position, share) for position in order[:count]]

    def _check_seed(self, *, new: bool) -> None:
        """Refuse a seed that stands for another draw: labels are put together by the draw that they come from."""
        if not new:
            raise InvalidOptionError(
                f"--seed {self.seed} was used for an earlier draw, with other chances: give another one, or none"
            )

    def _means(self) -> dict[str, float]:
        """What people said so far, as numbers, by the name of the case."""
        said: dict[str, list[float]] = {}
        for each in self.current:
            said.setdefault(each.case, []).append(_as_number(each.value))
        return {case: fsum(values) / len(values) for case, values in said.items()}

    def check_answers(self, answers: Answers) -> None:
        """Refuse to mix answers of two kinds under one question."""
        known = {(isinstance(each, bool), each) for each in answers.by_key.values()}
        for each in self.labels:
            if (isinstance(each.value, bool), each.value) not in known:
                raise InvalidOptionError(
                    f"{self.question!r} was answered by {shown_answer(each.value)!r} before, which is none of these answers: give the "
                    "--scale or --choices that were used, or ask another question"
                )


def _as_number(value: Rating) -> float:
    return float(as_yes_or_no(value)) if isinstance(value, bool | str) else float(value)


def _ask(session: LabelSession, keys: Keys | None) -> int:
    if not session.run.attempts:
        raise CommandError(f"the run {session.run.id} has no attempts to label", NOTHING)
    if not session.queue:
        note(f"Nothing is left to label for {session.person} and {session.question!r}")
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


def _write_sheet(labelling: _Labelling, path: str, drawn: Sequence[Drawn], person: str) -> int:
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
