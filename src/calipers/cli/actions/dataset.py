"""What `calipers dataset` does: makes a dataset file, and says what became of the attempts."""

import json as json_text
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.exits import NOTHING, PASSED, USAGE
from calipers.cli.message import CommandError, no_file, note
from calipers.cli.stored_runs import find_run, hooks_at, open_kept, state
from calipers.data.jsonable import plain
from calipers.errors import MissingExtraError, NotKnownError
from calipers.exchange.attempt_case import Expect
from calipers.exchange.placeholders import SECRETS, Hidden
from calipers.exchange.production_cases import (
    DatasetSummary,
    DuplicateCase,
    ProductionCases,
    dataset_from,
)
from calipers.files.added_cases import add_cases, named_requests, only_adder
from calipers.files.dataset_document import format_of
from calipers.files.save import save_dataset
from calipers.run.dataset import Dataset
from calipers.stats.draw import Shares
from calipers.stats.number_text import percent, plural
from calipers.stores.default_store import is_file_name

if TYPE_CHECKING:
    from calipers.data.case import Case
    from calipers.stores.run_info import RunInfo
    from calipers.stores.store import Store

_SHOWN = 10
"""Duplicates, strata and names that are listed."""


def dataset_from_sources(
    *,
    sources: Sequence[str],
    out: str,
    filter: Sequence[str] = (),  # noqa: A002 - the option is called so
    near: float | None = None,
    limit: int | None = None,
    sample: int | None = None,
    by: Sequence[str] = (),
    shares: Shares = "proportional",
    seed: int | None = None,
    confirmed_by: str | None = None,
    expect: Sequence[Expect] = (),
    keep_personal_data: bool = False,
    redact: Sequence[str] = (),
    force: bool = False,
    append: bool = False,
    json: bool = False,
    store: str | None = None,
) -> int:
    """Make a dataset file; returns the exit code."""
    path = Path(out)
    _check_options(path, force=force, append=append, expect=expect, confirmed_by=confirmed_by)
    is_added = append and path.exists()
    try:
        Hidden(finds=not keep_personal_data)
    except MissingExtraError as error:
        raise CommandError(f"{error}. --keep-personal-data writes personal data as it is") from error
    with ExitStack() as opened:
        if is_added:
            opened.enter_context(
                only_adder(path, lambda: note(f"Another command adds to {out}: waiting for it to end"))
            )
        kept: Store | None = None
        named: list[str] = []
        runs: list[RunInfo] = []
        for source in sources:
            if is_file_name(source):
                if not Path(source).exists():
                    raise no_file(source)
                named.append(source)
            else:
                kept = kept or opened.enter_context(open_kept(store))
                runs.append(find_run(kept, source))
                named.append(runs[-1].id)
        try:
            made = dataset_from(
                named,
                store=kept,
                filter=filter,
                near=near,
                limit=limit,
                sample=sample,
                by=by,
                shares=shares,
                seed=seed,
                confirmed_by=confirmed_by,
                expect=expect or ("output",),
                keep_personal_data=keep_personal_data,
                redact=hooks_at(redact),
                beside=named_requests(path) if is_added else (),
            )
        except NotKnownError as error:
            raise CommandError(str(error), NOTHING) from error
        _write(path, made, is_added=is_added, force=force)
    _tell_unfinished(runs)
    _report(made.summary, out, is_added=is_added, json=json)
    return PASSED


def _tell_unfinished(runs: Sequence["RunInfo"]) -> None:
    for info in runs:
        if (word := state(info)) != "finished":
            note(f"Run {info.id} is {word}: cases were made of the attempts that it had")


def _check_options(
    path: Path, *, force: bool, append: bool, expect: Sequence[str], confirmed_by: str | None
) -> None:
    format_of(path)
    if force and append:
        raise CommandError("--force replaces a file and --append adds to it: give one of them", USAGE)
    if expect and confirmed_by is None:
        raise CommandError(
            "--expect says what a case expects where a person has confirmed it: say by which question, with --confirmed-by QUESTION",
            USAGE,
        )
    if path.exists() and not (force or append):
        raise CommandError(
            f"{str(path)!r} is there already: --append adds to it, --force writes over it", USAGE
        )


def _write(path: Path, made: ProductionCases, *, is_added: bool, force: bool) -> None:
    if not is_added and not force and path.exists():
        raise CommandError(
            f"{str(path)!r} came to be there meanwhile, and stays: --append adds to it, --force writes over it",
            USAGE,
        )
    cases: list[Case[Any, Any, Any]] = list(made.dataset.cases)
    if format_of(path) == "csv":
        for case in cases:
            case.metadata = {key: _cell(value) for key, value in (case.metadata or {}).items()}
    if is_added:
        add_cases(path, cases)
    else:
        save_dataset(Dataset(cases=cases), path, schema=False)


def _cell(value: Any) -> str:
    """A value in a table of texts."""
    return value if isinstance(value, str) else json_text.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------------- what became of the attempts


def _report(summary: DatasetSummary, out: str, *, is_added: bool, json: bool) -> None:
    if json:
        click.echo(json_text.dumps(plain(summary), indent=2))
    else:
        for line in _summary_lines(summary):
            note(line)
    for each in summary.notes:
        note(each)
    note(f"{'Added to' if is_added else 'Wrote'} {out}: {plural(summary.written, 'case')}")


def _summary_lines(summary: DatasetSummary) -> list[str]:
    lines = [f"Read {plural(summary.read, 'attempt')}"]
    if summary.filtered:
        lines.append(f"Filter: {summary.filtered:,} left out")
    if summary.without_request:
        lines.append(f"Not known what was asked: {summary.without_request:,} left out")
    lines += _duplicate_lines("Same request", summary.duplicates)
    lines += _duplicate_lines("Nearly the same request", summary.near_duplicates, shows_similarity=True)
    if summary.seed is not None:
        lines.append(
            f"Sample, seed {summary.seed}: {summary.written:,} drawn of {summary.written + summary.not_drawn:,}"
        )
        of_any = len(summary.strata) > 1
        strata = [
            f"  {each.stratum}: {each.drawn:,} of {each.size:,} ({percent(each.probability)})"
            for each in summary.strata
        ]
        lines += _some(strata) if of_any else []
    elif summary.not_drawn:
        lines.append(f"Limit: {summary.not_drawn:,} left out")
    if summary.redacted is None:
        lines.append("Personal data: kept as it is")
    else:
        kinds = [_kind_text(kind, count) for kind, count in sorted(summary.redacted.items())]
        found = f"{', '.join(kinds)} in {plural(summary.redacted_cases, 'case')}" if kinds else "none found"
        lines.append(f"Personal data: {found}; names of people are not looked for")
    if summary.confirmed:
        lines.append(f"Confirmed by people: {plural(summary.confirmed, 'case')}")
    if summary.unknown_calls:
        lines.append(f"Calls not known: {plural(summary.unknown_calls, 'case')} without expected tool calls")
    if summary.conflicting:
        lines.append(f"People differ, so nothing is expected: {plural(len(summary.conflicting), 'case')}")
        lines += _some([f"  {name}" for name in summary.conflicting])
    if summary.outdated_labels:
        lines.append(
            f"{plural(summary.outdated_labels, 'label')} left out: of outputs that the run no longer has"
        )
    return lines


def _kind_text(kind: str, count: int) -> str:
    if kind == SECRETS:
        return plural(count, "secret")
    words = {"email": "e-mail address", "phone": "telephone number", "ssn": "social security number"}
    words |= {"credit_card": "card number", "iban": "account number"}
    return f"{count:,} {words[kind]}{'' if count == 1 else 'es' if kind == 'email' else 's'}"


def _duplicate_lines(
    what: str, found: Sequence[DuplicateCase], *, shows_similarity: bool = False
) -> list[str]:
    if not found:
        return []
    each = [
        f"  {one.attempt} for {one.of}" + (f" ({one.similarity:.2f})" if shows_similarity else "")
        for one in found
    ]
    return [f"{what}: {len(found):,} left out", *_some(each)]


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"  and {more:,} more; --json lists all"] if more > 0 else [])]
