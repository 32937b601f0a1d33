"""What `calipers search` does: load the target with its space and its judges, search, show and write what was found."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import click

from calipers.cli.address import load_home, load_object, object_in, split_address
from calipers.cli.budget import read_budget
from calipers.cli.exits import ERRORED, FAILED, FROM_OUTSIDE, NOTHING, PASSED, USAGE
from calipers.cli.message import CommandError, note
from calipers.cli.options import Time
from calipers.cli.output import IncludeCases, Outputs, check_paths, protect, show_report
from calipers.cli.stored_runs import find_run, open_or_make, shown_store
from calipers.data.budget import Budget
from calipers.errors import InvalidOptionError
from calipers.files.load import load_dataset
from calipers.files.project import find_project
from calipers.files.save import save_dataset
from calipers.models.answer_cache import using_cache
from calipers.models.prices import set_prices
from calipers.rollouts.attacks.library import ATTACKS
from calipers.rollouts.environment import Environment
from calipers.run.dataset import Dataset
from calipers.run.task import is_task
from calipers.search.changed_cases import case_variants
from calipers.search.factors import Factors
from calipers.search.findings import Findings
from calipers.search.named_strategies import NAMED_STRATEGIES, named_strategy
from calipers.search.objective import Objective
from calipers.search.realism import Realism, said_by_user
from calipers.search.search_run import search_sync
from calipers.search.strategy import Strategy
from calipers.stats.number_text import plural
from calipers.stores.store import Store
from calipers.stores.stored_answers import StoredAnswers
from calipers.views.formats import parse_target

TARGET: Final = "target"
"""The field of a run's metadata that says what was searched."""
TRIALS: Final = 100
"""Trials, where nothing else ends a search."""
DEFAULT_STRATEGY: Final = "thompson"
_TASKS: Final = ("task", "environment")
"""What a file calls the system under test."""
_AMOUNT: Final = re.compile(
    r"(?P<dollar>\$)?(?P<number>[\d.,]+[kmb]?)\s*(?P<unit>trials?|tokens?|calls?|usd)?", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options of `calipers search`; its help says what they mean."""

    target: str
    strategy: str | None = None
    budget: Sequence[str] = ()
    realism: str | None = None
    realism_model: str | None = None
    realism_weight: float | None = None
    trials: int | None = None
    failures: int | None = None
    max_cost: Sequence[str] = ()
    max_tokens: Sequence[str] = ()
    max_calls: Sequence[str] = ()
    max_time: float | None = None
    in_flight: int = 1
    task_timeout: float | None = None
    seed: int | None = None
    save: str | None = None
    out: Sequence[str] = ()
    include_cases: IncludeCases = "none"
    quiet: bool = False
    store: str | None = None
    no_store: bool = False
    resume: str | None = None
    progress: bool = True


@dataclass(frozen=True)
class _Target:
    """What a file says of a search."""

    task: Any
    strategy: Strategy
    dataset: Dataset[Any, Any, Any] | None
    evaluators: Sequence[Any]
    objective: Objective


def search(options: SearchOptions) -> int:
    """Search, show and write what was found; returns the exit code."""
    trials, budget = read_amounts(options)
    if options.no_store and (options.store is not None or options.resume is not None):
        raise InvalidOptionError("--store and --resume need a store: remove --no-store")
    project = find_project(Path.cwd())
    set_prices(project.prices)
    target = _load(options)
    outputs = [parse_target(each) for each in options.out]
    name = Path(split_address(options.target)[0]).stem
    check_paths(outputs, [name])
    store = None if options.no_store else open_or_make(options.store)
    try:
        protect([Path(options.save)] if options.save else [], outputs, [name], folder=Path.cwd())
        resume: Any = None if options.resume is None else True
        if store is not None and options.resume:
            resume = find_run(store, options.resume).id
        with using_cache(None if store is None else StoredAnswers(store)):
            found = search_sync(
                target.task,
                target.strategy,
                dataset=target.dataset,
                evaluators=target.evaluators,
                objective=target.objective,
                trials=trials,
                failures=options.failures,
                in_flight=options.in_flight,
                budget=budget,
                task_timeout=options.task_timeout,
                seed=options.seed,
                progress=options.progress and not options.quiet,
                metadata={TARGET: options.target},
                **({} if store is None else {"store": store, "resume": resume}),
            )
        return _tell(options, found, outputs, name, store)
    finally:
        if store is not None:
            store.close()


def read_amounts(options: SearchOptions) -> tuple[int, Budget | None]:
    """How many trials to make at most, and what they may spend.

    Raises:
        InvalidOptionError: an amount cannot be read, or is given twice.
    """
    given: dict[str, list[str]] = {
        "cost": list(options.max_cost),
        "tokens": list(options.max_tokens),
        "calls": list(options.max_calls),
    }
    trials, seconds = options.trials, options.max_time
    for text in options.budget:
        found = _AMOUNT.fullmatch(text.strip())
        unit = "" if found is None else (found["unit"] or "").lower().rstrip("s")
        if found is not None and (found["dollar"] or unit == "usd"):
            given["cost"].append(found["number"])
        elif found is not None and unit in {"token", "call"}:
            given[f"{unit}s"].append(found["number"])
        elif found is not None and found["number"].isdecimal():
            if trials is not None:
                raise InvalidOptionError(f"--budget {text}: the number of trials is given twice")
            trials = int(found["number"])
        elif seconds is not None:
            raise InvalidOptionError(
                f"--budget {text!r} is no amount of trials, dollars, tokens or calls, and the time is given already"
            )
        else:
            seconds = _time(text)
    budget = read_budget(cost=given["cost"], tokens=given["tokens"], calls=given["calls"], seconds=seconds)
    if trials is not None and trials < 1:
        raise InvalidOptionError("a search needs at least one trial")
    return (trials if trials is not None else TRIALS if budget is None else sys.maxsize), budget


def _time(text: str) -> float:
    try:
        seconds: float = Time().convert(text, None, None)
    except click.BadParameter:
        raise InvalidOptionError(
            f"--budget {text!r} is no amount: write 200 (trials), '$5', '500k tokens', '100 calls' or 30m"
        ) from None
    return seconds


@dataclass(frozen=True)
class System:
    """What is under test, and who judges it."""

    task: Any
    dataset: Dataset[Any, Any, Any] | None
    evaluators: Sequence[Any]
    module: ModuleType


def load_system(target: str) -> System:
    """The system under test, with what its file says of it."""
    home, name = split_address(target)
    module = load_home(home)
    found = vars(module)
    if name is None:
        named = next((each for each in _TASKS if each in found), None)
        if named is None:
            raise CommandError(
                f"{home} has no {' and no '.join(_TASKS)}: name the system under test, such as {home}:answer",
                USAGE,
            )
        task = found[named]
    else:
        task = object_in(module, name, target)
    if not isinstance(task, Environment) and not is_task(task):
        raise CommandError(f"{target} is no task and no Environment, got {task!r:.200}", USAGE)
    dataset = found.get("dataset")
    if dataset is not None and not isinstance(dataset, Dataset):
        raise CommandError(f"`dataset` of {home} must be a Dataset, got {dataset!r:.200}", USAGE)
    return System(task, dataset, found.get("evaluators", ()), module)


def _load(options: SearchOptions) -> _Target:
    """The system under test, and who searches it."""
    system = load_system(options.target)
    space = vars(system.module).get("space", _space_of(system.task, system.dataset))
    strategy = _strategy(options.strategy, system.module, space)
    return _Target(
        system.task, strategy, system.dataset, system.evaluators, _objective(options, system.module)
    )


def _objective(options: SearchOptions, module: ModuleType) -> Objective:
    """What counts, with how ordinary users would find it."""
    found = vars(module)
    objective: Any = found.get("objective", Objective())
    if not isinstance(objective, Objective):
        raise CommandError(
            f"`objective` of {module.__name__} must be an Objective, got {objective!r:.200}", USAGE
        )
    realism: Any = found.get("realism", objective.realism)
    if realism is not None and not isinstance(realism, Realism):
        raise CommandError(f"`realism` of {module.__name__} must be a Realism, got {realism!r:.200}", USAGE)
    if options.realism is not None:
        realism = Realism(_turns_in(options.realism), model=options.realism_model)
    elif options.realism_model is not None and realism is not None:
        realism = replace(realism, model=options.realism_model)
    weight = objective.weight if options.realism_weight is None else options.realism_weight
    if realism is None and (options.realism_model is not None or options.realism_weight is not None):
        raise CommandError(
            "there are no turns of real users to compare with: give --realism FILE, or define `realism`",
            USAGE,
        )
    return replace(objective, realism=realism, weight=weight)


def _turns_in(file: str) -> list[str]:
    """The turns in a file: the lines of a text file, or the texts in the inputs of a dataset."""
    path = Path(file)
    if path.suffix.lower() != ".txt":
        return [turn for case in load_dataset(path).cases for turn in said_by_user(case.inputs)]
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--realism {file} cannot be read: {error}", USAGE) from error


def _space_of(task: Any, dataset: Dataset[Any, Any, Any] | None) -> Any:
    """The space of a target that has none of its own: of conversations every goal with every attack of the library, else changed cases."""
    if isinstance(task, Environment) and task.goals:
        return Factors({"goal": task.goals, "attack": list(ATTACKS)})
    return None if dataset is None else case_variants(dataset)


def _strategy(given: str | None, module: ModuleType, space: Any) -> Strategy:
    """The strategy that is meant."""
    own = vars(module).get("strategy")
    if given is None and own is not None:
        found: Strategy = own
        return found
    name = given or DEFAULT_STRATEGY
    if name not in NAMED_STRATEGIES and split_address(name)[1] is not None:
        return load_object(name)  # type: ignore[no-any-return]  # the search checks it
    if space is None:
        raise CommandError(
            f"{module.__name__} does not say what to try: define `space`, such as Factors({{...}}), a `dataset` whose cases are changed, or a `strategy`",
            USAGE,
        )
    return named_strategy(name, space)


def _tell(
    options: SearchOptions, found: Findings, outputs: Sequence[Any], name: str, store: Store | None
) -> int:
    """Show and write what was found; returns the exit code."""
    report = found.report
    if not options.quiet:
        show_report(report, include_cases=options.include_cases)
        click.echo(f"\n{found}")
        if found.estimate is not None:
            click.echo(f"In use, {found.estimate}")
        if found.front:
            click.echo(f"Most ordinary: {found.front[0]}")
    files = Outputs(outputs, name, folder=Path.cwd())
    files.begin(report)
    files.end(report, sys.stdout)
    for problem in files.problems:
        note(f"Error: {problem}")
    dataset = found.dataset(report.dataset_name)
    if options.save is not None and dataset.cases:
        save_dataset(dataset, options.save)
        if not options.quiet:
            note(f"Saved {plural(len(dataset.cases), 'case')} to {options.save}")
    if store is not None and report.reuse is not None and not options.quiet:
        note(f"Kept in {shown_store(store)}: calipers show {report.reuse.run}")
    if options.resume is not None and report.reuse is not None and not report.reuse.attempts_reused:
        note("Nothing to resume: a new search began")
    budget_held = report.budget is not None and report.budget.reached is not None
    if report.incomplete is not None and not (report.incomplete.kind == "budget" and budget_held):
        note(f"Incomplete: {report.incomplete}")
        return FROM_OUTSIDE[report.incomplete.by] if report.incomplete.by else ERRORED
    if files.problems:
        return ERRORED
    if not found.outcomes:
        return NOTHING
    if found.failures:
        return FAILED
    return ERRORED if found.unknown == len(found.outcomes) else PASSED
