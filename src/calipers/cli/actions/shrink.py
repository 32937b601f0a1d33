"""What `calipers shrink` does: find the failure and the system, reduce, show and save what is left."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from calipers.cli.actions.search import TARGET, System, load_system
from calipers.cli.address import load_home, split_address
from calipers.cli.budget import read_budget
from calipers.cli.exits import ERRORED, FAILED, FROM_OUTSIDE, PASSED, USAGE
from calipers.cli.message import CommandError, note
from calipers.cli.reports import named_reports
from calipers.cli.stored_runs import check_case, find_run, open_or_make, shown_store
from calipers.cli.target import Evaluation, Finder
from calipers.data.case import Case
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result_names import unique
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.files.added_cases import add_cases, named_requests
from calipers.files.load import load_dataset
from calipers.files.project import find_project
from calipers.files.save import save_dataset
from calipers.models.prices import set_prices
from calipers.process.loop import run_sync
from calipers.rollouts.rollout_outcome import is_rollout
from calipers.run.dataset import Dataset
from calipers.search.smallest_failure import Shrunk, said_in, shrink_sync
from calipers.stats.number_text import first_few
from calipers.stores.store import Store

_FORMATS = (".yaml", ".yml", ".json", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions:
    """The options of `calipers shrink`; its help says what they mean."""

    run: str
    case: str
    target: str | None = None
    rate: float = 0.3
    keep_field: Sequence[str] = ()
    trials: int = 2000
    max_cost: Sequence[str] = ()
    max_tokens: Sequence[str] = ()
    max_calls: Sequence[str] = ()
    max_time: float | None = None
    task_timeout: float | None = None
    seed: int | None = None
    save: str | None = None
    quiet: bool = False
    store: str | None = None
    progress: bool = True


def shrink_case(options: ShrinkOptions) -> int:
    """Reduce a failure, show and save what is left; returns the exit code."""
    if options.save is not None and not options.save.endswith(_FORMATS):
        raise InvalidOptionError(f"--save {options.save}: name a file that ends with {', '.join(_FORMATS)}")
    budget = read_budget(
        cost=options.max_cost, tokens=options.max_tokens, calls=options.max_calls, seconds=options.max_time
    )
    set_prices(find_project(Path.cwd()).prices)
    store = open_or_make(options.store)
    try:
        record, target, run = _failure(store, options)
        system = _system(target)
        found = shrink_sync(
            system.task,
            _case(record, system.dataset),
            dataset=system.dataset,
            evaluators=system.evaluators,
            rate=options.rate,
            keep_fields=options.keep_field,
            trials=options.trials,
            budget=budget,
            task_timeout=options.task_timeout,
            seed=options.seed,
            progress=options.progress and not options.quiet,
            metadata={TARGET: target, "reduces": f"{record.name} of run {run}"},
            store=store,
        )
        metadata: Any = found.case.metadata
        metadata["reduced_from"] += f" of run {run}"
        return _tell(options, found, store)
    finally:
        store.close()


def _failure(store: Store, options: ShrinkOptions) -> tuple[ReportCase | ReportCaseFailure, str, str]:
    """The record of the case, one that failed if there are several, what was run, and the id of the run."""
    info = find_run(store, options.run)
    check_case(store, info, options.case)
    report = named_reports([info.id], options.store)[0].report
    records: list[ReportCase | ReportCaseFailure] = [*report.failures, *report.cases]
    mine = [each for each in records if options.case in {each.name, each.source_case_name}]
    if all(each.passed for each in mine):
        failed = list(
            dict.fromkeys(each.source_case_name or each.name for each in records if not each.passed)
        )
        others = f"; those that did not: {first_few(failed, 10)}" if failed else ""
        raise CommandError(f"{options.case!r} passed in run {info.id}{others}", USAGE)
    target = options.target or (info.metadata or {}).get(TARGET)
    if not isinstance(target, str):
        raise CommandError(
            f"run {info.id} does not say what was run: name it, such as --target eval_support.py", USAGE
        )
    return next((each for each in mine if each.passed is False), mine[0]), target, info.id


def _system(target: str) -> System:
    """What was run: as `calipers search` takes it, else as `calipers run` does."""
    home, name = split_address(target)
    module = load_home(home)
    found = vars(module)
    if (
        name is None
        and not any(key.startswith("eval_") for key in found)
        and {"task", "environment"} & set(found)
    ):
        return load_system(target)
    if name is not None and not name.startswith("eval_") and not isinstance(found.get(name), Dataset):
        return load_system(target)
    evaluations = Finder(load_dataset=load_dataset).find([target])
    if len(evaluations) > 1:
        names = ", ".join(each.label for each in evaluations)
        raise CommandError(f"{target} has several evaluations: name one of {names}", USAGE)
    read = evaluations[0].read(run_sync(partial(_made, evaluations[0])))
    if not isinstance(read, tuple):
        raise CommandError(f"{target} gives a finished report, so there is nothing to try again", USAGE)
    dataset, task = read
    return System(task, dataset, (), module)


async def _made(evaluation: Evaluation) -> Any:
    made = evaluation.make()
    return await made if inspect.isawaitable(made) else made


def _case(
    record: ReportCase | ReportCaseFailure, dataset: Dataset[Any, Any, Any] | None
) -> Case[Any, Any, Any]:
    """The case to reduce, with the evaluators that it has in the dataset."""
    own = record.source_case_name or record.name
    for case in [] if dataset is None else dataset.cases:
        if case.name == own:
            return case
    output = record.output if isinstance(record, ReportCase) else None
    inputs = said_in(output, record.inputs) if is_rollout(output) else record.inputs
    more: dict[str, Any] = {"expected_output": record.expected_output} if record.has_expected_output else {}
    return Case(name=own, inputs=inputs, metadata=record.metadata, tags=record.tags, **more)


def _tell(options: ShrinkOptions, found: Shrunk, store: Store) -> int:
    report = found.report
    if not options.quiet:
        click.echo(str(found))
        if found.ending != "does_not_fail":
            click.echo(json.dumps(found.inputs, indent=2, ensure_ascii=False))
    if options.save is not None and found.ending != "does_not_fail":
        _save(Path(options.save), found.case, report.dataset_name)
        if not options.quiet:
            note(f"Saved {found.case.name!r} to {options.save}")
    if report.reuse is not None and not options.quiet:
        note(f"Kept in {shown_store(store)}: calipers show {report.reuse.run}")
    if report.incomplete is not None:
        note(f"Incomplete: {report.incomplete}")
        return FROM_OUTSIDE[report.incomplete.by] if report.incomplete.by else ERRORED
    return {"smallest": PASSED, "does_not_fail": FAILED, "out_of_trials": ERRORED}[found.ending]


def _save(path: Path, case: Case[Any, Any, Any], dataset: str | None) -> None:
    try:
        if path.exists():
            case.name = unique(str(case.name), {str(each.name) for each in named_requests(path)})
            add_cases(path, [case])
        else:
            save_dataset(Dataset(name=dataset or path.stem, cases=[case]), path)
    except (DatasetFileError, OSError) as error:
        raise CommandError(f"{str(path)!r} could not be written: {error}", ERRORED) from error
