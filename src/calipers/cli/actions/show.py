"""What `calipers show` does: read a report, then show it or one case of it, or write it in another format.

A report is a file or a run that is kept. What there is a file of is a file, and so is what is written like one: with a
slash, or an ending of report files. Anything else, or anything at all beside `--store`, names a run.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from calipers.cli.actions.plugins import chosen_plugins
from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError, no_file, note, note_file
from calipers.cli.output import IncludeCases, clean_stdout, printing, show_report
from calipers.cli.reports import read_file
from calipers.cli.stored_runs import (
    check_case,
    find_run,
    open_kept,
    report_of,
    shown_store,
    state,
    store_file,
)
from calipers.data.argument_checks import check_whole_number
from calipers.data.case import similar_names
from calipers.errors import InvalidOptionError
from calipers.evaluators import JudgeCorrectionEvaluator
from calipers.evaluators.judge_correction import corrections
from calipers.exchange.attempt_source import Asked, KeptRun, ReportRun
from calipers.report.attempt_filter import all_of
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats.number_text import plural
from calipers.stores.default_store import DEFAULT, VARIABLE, is_file_name
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt, StoredCell
from calipers.views.attempts import AttemptList, AttemptOptions, attempt_in_full, headline_of
from calipers.views.formats import Target, parse_target, write_report
from calipers.views.outcome import Record
from calipers.views.page import print_view
from calipers.views.text import visible
from calipers.views.trace_statement import STEPS

_QUESTION = "question:"
"""What a question may begin with on the command line, to be told from a file and a column."""


class _Kept(NamedTuple):
    """A run in an open store."""

    store: Store
    info: RunInfo


def show(
    *,
    report: str,
    store: str | None = None,
    case: Sequence[str] = (),
    trace: Sequence[str] = (),
    max_steps: int = STEPS,
    filter: Sequence[str] = (),  # noqa: A002 - the option is called so
    to: Sequence[str] = (),
    plugin: Sequence[str] = (),
    no_plugins: bool = False,
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    slice_by: Sequence[str] = (),
    labels: Sequence[str] = (),
    tracebacks: bool = False,
) -> int:
    """Show or convert a saved report, or a run that is kept; returns the exit code."""
    _check_chosen(case, trace, filter, to, labels)
    wanted = all_of(filter)
    check_whole_number("--max-steps", max_steps or None, at_least=2, or_none=True)
    for each in labels:
        _check_labels(each)
    if plugin and not to:
        raise InvalidOptionError("--plugin is for --to, which may name the view of a plugin: give both")
    with (
        chosen_plugins(plugin, installed=bool(to) and not no_plugins) as plugins,
        _opened(report, store) as kept,
    ):
        views = None if plugins is None else plugins.views
        with clean_stdout(wanted=plugins is not None):  # for what a plugin prints while it makes its view
            targets = [parse_target(each, views=views) for each in to]
        _check_targets(report if kept is None else store_file(kept.store), targets)
        if kept is not None and case:
            _show_kept_cases(kept, case)
            return PASSED
        if kept is not None and trace:
            _show_traces(
                (each for name in dict.fromkeys(trace) for each in _kept_records(kept, name)), max_steps
            )
            return PASSED
        if filter:
            source = ReportRun(read_file(report, "shown")) if kept is None else KeptRun(*kept)
            _show_matching(Asked(source, wanted), " ".join(filter), max_cases, tracebacks=tracebacks)
            if kept is not None:
                _tell(kept)
            return PASSED
        whole = bool(to or slice_by or labels) or include_cases == "all"
        found = _with_labels(report, kept, whole=whole, slice_by=slice_by, labels=labels)
        for target in targets:
            write_report(found, f"{target.format}:{target.path}", views=views)
            if target.path != "-":
                note_file(target.path)
        if case:
            _show_cases(found, case)
        elif trace:
            _show_traces(
                (each for name in dict.fromkeys(trace) for each in _attempts_at(found, name)), max_steps
            )
        elif not targets:
            show_report(found, include_cases=include_cases, max_cases=max_cases, tracebacks=tracebacks)
            if kept is not None:
                _tell(kept)
    return PASSED


def _with_labels(
    name: str, kept: _Kept | None, *, whole: bool, slice_by: Sequence[str], labels: Sequence[str]
) -> Report:
    """The report of a file or a kept run, cut by fields, with its judges corrected by what people said."""
    labelled = kept is not None and bool(kept.store.labels(run=kept.info.id))
    found = read_file(name, "shown") if kept is None else report_of(*kept, whole=whole or labelled)
    if slice_by:
        found = found.sliced_by(*slice_by)
    for each in labels:
        correction = _correction(each, found)
        found.analyses.append(correction.evaluate(ReportEvaluatorContext(name=found.name, report=found)))
    if labelled:
        found.analyses += corrections(found)
    return found


def _check_chosen(
    case: Sequence[str],
    trace: Sequence[str],
    filters: Sequence[str],
    to: Sequence[str],
    labels: Sequence[str],
) -> None:
    """Refuse options that ask for some attempts and for all of them."""
    does = {
        "--case": (case, "shows all of one case"),
        "--trace": (trace, "shows what the agent did in one case"),
        "--filter": (filters, "lists the attempts that meet it"),
        "--to": (to, "writes the whole report"),
        "--labels": (labels, "correct the result of all attempts"),
    }
    given = [(option, what) for option, (values, what) in does.items() if values]
    if (case or trace or filters) and len(given) > 1:
        (one, this), (other, that) = given[:2]
        raise InvalidOptionError(f"{one} {this}, and {other} {that}: give one of them")


def _check_labels(given: str) -> None:
    """Refuse what is not written `JUDGE=SOURCE`, and a file that is not there."""
    judge, _, source = given.partition("=")
    if not judge or not source:
        raise InvalidOptionError(
            f"--labels is written JUDGE=FILE or JUDGE=QUESTION, such as helpful=labels.csv, got {given!r}"
        )
    if _is_label_file(source) and not Path(source).is_file():
        raise no_file(source)


def _is_label_file(source: str) -> bool:
    return not source.startswith(_QUESTION) and Path(source).suffix.lower() in {".csv", ".jsonl", ".json"}


def _correction(given: str, report: Report) -> JudgeCorrectionEvaluator:
    """What `JUDGE=FILE`, `JUDGE=QUESTION` or `JUDGE=COLUMN` asks for."""
    judge, _, source = given.partition("=")
    if _is_label_file(source):
        return JudgeCorrectionEvaluator(judge, labels=source)
    records: list[Record] = [*report.cases, *report.failures]
    asked = {label.question for record in records for label in record.human_labels}
    if source in asked or source.startswith(_QUESTION):
        return JudgeCorrectionEvaluator(judge, question=source.removeprefix(_QUESTION))
    return JudgeCorrectionEvaluator(judge, human=source)


@contextmanager
def _opened(name: str, store: str | None) -> Iterator[_Kept | None]:
    """The run of that name, in its store; `None` if it is the name of a file."""
    if store is None and is_file_name(name):
        if not Path(name).suffix and not Path(name).exists():
            raise CommandError(
                f"file not found: {name}. To show a run of that name, give --store URL, such as --store {DEFAULT}, or its id",
                USAGE,
            )
        yield None
        return
    if store is None and not os.environ.get(VARIABLE) and not Path(DEFAULT).exists():
        raise CommandError(
            f"file not found: {name}, and there is no store {DEFAULT!r} here to look for a run of that name: give --store URL",
            USAGE,
        )
    with open_kept(store, can_lack_values=True) as opened:
        yield _Kept(opened, find_run(opened, name))


def _tell(kept: _Kept) -> None:
    """Say which run this is, and how to go on with one that did not finish."""
    info, word = kept.info, state(kept.info)
    note(f"Run {info.id} in {shown_store(kept.store)}, {word}")
    if word not in {"finished", "running"}:
        note(f"To go on with it, add --resume {info.id} to the command that began it")


def _check_targets(source: str | Path | None, targets: Sequence[Target]) -> None:
    """Refuse to write over what is shown."""
    for target in targets:
        written = target.path != "-" and Path(target.path).exists()
        if written and source is not None and Path(source).exists() and Path(target.path).samefile(source):
            raise InvalidOptionError(f"--to {target.path!r} would overwrite the report: name another file")


def _show_matching(asked: Asked, terms: str, max_cases: int, *, tracebacks: bool) -> None:
    """List the attempts that meet a filter, whose terms are told as they were given. No more of them are in memory than are listed."""
    records: list[Record] = []
    cases: set[str] = set()
    met = 0
    for _, record in asked.attempts():
        met += 1
        cases.add(record.source_case_name or record.name)
        if not max_cases or len(cases) <= max_cases:
            records.append(record)
    if not met:
        click.echo(f"No attempt meets {visible(terms)}")
        return
    title = f"{plural(met, 'attempt')} at {plural(len(cases), 'case')} met {visible(terms)}"
    options = AttemptOptions(
        include_cases=True,
        include_tracebacks=tracebacks,
        max_cases=max_cases or None,
        no_limit="--max-cases 0",
    )
    with printing():
        print_view(AttemptList(title, records, options, further=met - len(records)))


def _show_cases(report: Report, names: Sequence[str]) -> None:
    found = [record for name in dict.fromkeys(names) for record in _attempts_at(report, name)]
    for index, record in enumerate(found):
        click.echo("\n" * (index > 0) + "\n".join(attempt_in_full(record)))


def _show_kept_cases(kept: _Kept, names: Sequence[str]) -> None:
    for index, name in enumerate(dict.fromkeys(names)):
        if index:
            click.echo()
        for line in _case_lines(kept.store, kept.info, name):
            click.echo(line)


def _show_traces(records: Iterable[Record], max_steps: int) -> None:
    """What the agent did in some attempts, each as a waterfall."""
    for record in records:
        click.echo(headline_of(record))
        if record.trace is None:
            click.echo("No trace was recorded in this attempt.\n")
            continue
        record.trace.print(max_steps=max_steps or None)
        click.echo()


def _kept_records(kept: _Kept, name: str) -> Iterator[Record]:
    info = kept.info
    scored, names = scored_places(info.evaluators), kept.store.names(info)
    for attempt, cells in _kept_attempts(kept.store, info, name):
        yield unpack(attempt, cells, info.evaluators, scored=scored, names=names)


def _attempts_at(report: Report, name: str) -> list[Record]:
    records: list[Record] = [*report.cases, *report.failures]
    found = [record for record in records if name in {record.name, record.source_case_name}]
    if not found:
        names = list(dict.fromkeys((record.source_case_name or record.name) for record in records))
        near = similar_names(name, names)
        some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else some if names else "it has none"
        kept = "" if report.totals is None else "; the report keeps only attempts that did not pass"
        raise CommandError(f"no case of the report is called {name!r}; {hint}{kept}", USAGE)
    return found


def _case_lines(store: Store, info: RunInfo, name: str) -> Iterator[str]:
    """All that is kept of the attempts at a case, each with where it comes from."""
    scored = scored_places(info.evaluators)
    attempts = _kept_attempts(store, info, name)
    names = store.names(info)
    for index, (attempt, cells) in enumerate(attempts):
        if index:
            yield ""
        yield from attempt_in_full(unpack(attempt, cells, info.evaluators, scored=scored, names=names))
        yield ""
        yield "Where it comes from"
        yield from (f"    {visible(line)}" for line in _origins(info, attempt, cells))


def _kept_attempts(
    store: Store, info: RunInfo, name: str
) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
    check_case(store, info, name)
    positions = [attempt.position for attempt in store.attempts(info.id, name=name, parts=False)]
    return store.judged_at(info.id, positions)


def _origins(info: RunInfo, attempt: StoredAttempt, cells: Sequence[StoredCell]) -> Iterator[str]:
    """Which run called the task, and which ones asked the evaluators."""
    yield f"attempt: made in run {attempt.origin or info.id}{'' if attempt.origin is None else ', and taken over'}"
    runs: dict[str, list[str]] = {}
    for cell in cells:
        runs.setdefault(cell.origin or info.id, []).append(info.evaluators[cell.evaluator].name)
    for run, names in runs.items():
        yield f"{', '.join(names)}: judged in run {run}{'' if run == info.id else ', and taken over'}"
