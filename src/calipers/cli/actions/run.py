"""What `calipers run` does: find the evaluations, run each, show and write its report, and come to one exit code.

An evaluation may be *supporting*: it is measured only so that another can be compared with it. Its report is not shown, and
is written only to paths that have `{name}` in them; that its cases do not pass fails nothing, but an error in it is one.
"""

import inspect
import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

from calipers import agents
from calipers.cli.actions.plugins import chosen_plugins
from calipers.cli.budget import read_budget
from calipers.cli.evaluation_outcome import (
    Complaint,
    Outcome,
    Threshold,
    compare,
    digest,
    judge,
    parse_threshold,
    unknown,
)
from calipers.cli.exits import ERRORED, FAILED, FROM_OUTSIDE, INCONCLUSIVE, NOTHING, USAGE, WORSE, first_of
from calipers.cli.keeper import Keeper
from calipers.cli.message import CommandError, UserCodeError, describe, note, note_file, silence, trace
from calipers.cli.output import (
    PLACEHOLDER,
    IncludeCases,
    Outputs,
    check_paths,
    clean_stdout,
    protect,
    reopen_streams,
    show_report,
)
from calipers.cli.selection import Selection
from calipers.cli.stored_runs import subject
from calipers.cli.target import Evaluation, Finder, load_task
from calipers.data.retry import Retry
from calipers.errors import CalipersError, InvalidOptionError, StoreError
from calipers.files.project import find_project
from calipers.models.answer_cache import using_cache
from calipers.models.prices import set_prices
from calipers.plugins import PluginManager
from calipers.plugins.discovery import LOADING
from calipers.process.interrupt import is_interrupt
from calipers.process.loop import run_sync
from calipers.report.report import Report
from calipers.report.report_evaluator import analyses_reports
from calipers.report.shard import Shard, ShardFacts, as_shard
from calipers.run.dataset import Dataset, EvaluateOptions
from calipers.run.evaluation import draw_seed, task_for
from calipers.run.place import Engine
from calipers.run.task import TaskLike
from calipers.stats.number_text import plural
from calipers.stores.stored_answers import StoredAnswers
from calipers.views.formats import Target, parse_target
from calipers.views.view import View

if TYPE_CHECKING:
    from calipers.cli.actions.gate import Decider
    from calipers.cli.tapes import Tapes

_FOR_RUNNING = (
    "filter",
    "tag",
    "slice_by",
    "limit",
    "task",
    "name",
    "repeat",
    "max_concurrency",
    "engine",
    "task_timeout",
    "evaluator_timeout",
    "retry",
    "retry_evaluators",
    "max_cost",
    "max_tokens",
    "max_calls",
    "max_time",
    "seed",
    "resume",
    "faults",
    "record_tape",
    "unredacted_tape",
    "replay_tape",
    "shard",
)
"""Options that say how to run, and mean nothing to a report that is finished."""

_WORDS = {
    FAILED: "Failed: ",
    INCONCLUSIVE: "Inconclusive: ",
    WORSE: "Worse: ",
    **dict.fromkeys(FROM_OUTSIDE.values(), ""),
}
"""What a complaint begins with; any other is an error."""

_FOR_DATASET_FILES = ("types", "evaluator_type", "allow_module", "column")
"""Options that say how to read dataset files, and mean nothing where no target is one."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `calipers run`; its help says what they mean."""

    targets: Sequence[str] = ()
    task: str | None = None
    param: Sequence[str] = ()
    types: Sequence[str] = ()
    evaluator_type: Sequence[str] = ()
    allow_module: Sequence[str] = ()
    column: Sequence[str] = ()
    plugin: Sequence[str] = ()
    no_plugins: bool = False
    filter: Sequence[str] = ()
    tag: Sequence[str] = ()
    slice_by: Sequence[str] = ()
    limit: int | None = None
    name: str | None = None
    repeat: int | None = None
    max_concurrency: int | Literal["auto"] | None = None
    engine: str | None = None
    task_timeout: float | None = None
    evaluator_timeout: float | None = None
    max_cost: Sequence[str] = ()
    max_tokens: Sequence[str] = ()
    max_calls: Sequence[str] = ()
    max_time: float | None = None
    retry: int | None = None
    retry_evaluators: int | None = None
    seed: int | None = None
    keep_secrets: bool = False
    fail_under: Sequence[str] = ()
    allow_errors: bool = False
    out: Sequence[str] = ()
    include_cases: IncludeCases = "failed"
    max_cases: int = 20
    tracebacks: bool = False
    quiet: bool = False
    json: bool = False
    progress: bool = True
    store: str | None = None
    no_store: bool = False
    no_model_cache: bool = False
    redact: Sequence[str] = ()
    resume: str | None = None
    rerun_failed: bool = False
    reuse: bool = False
    stop_when_decided: str | None = None
    baseline: str | None = None
    faults: Sequence[str] = ()
    harm: Sequence[str] = ()
    record_tape: str | None = None
    unredacted_tape: bool = False
    replay_tape: str | None = None
    fork_at: int | None = None
    fork_model: str | None = None
    fork_prompt: str | None = None
    fork_result: str | None = None
    shard: str | None = None


def run(options: RunOptions, session_type: "type[Session] | None" = None) -> int:
    """Run what the options ask for; returns the exit code."""
    to_stdout = any(each.endswith(":-") for each in options.out)
    if options.json and to_stdout:
        raise InvalidOptionError("--json and --out to standard output ('-') exclude each other")
    if options.harm and not options.faults:
        raise InvalidOptionError(
            "--harm names what a fault must not cause, and no fault was given: add --faults"
        )
    thresholds = [parse_threshold(each) for each in options.fail_under]
    with (
        clean_stdout(wanted=options.json or to_stdout) as stdout,
        chosen_plugins(options.plugin, installed=not options.no_plugins) as plugins,
    ):
        views = None if plugins is None else plugins.views
        outputs = [parse_target(each, views=views) for each in options.out]
        shows = not (options.quiet or options.json or to_stdout)
        session = (session_type or Session)(
            options, outputs, thresholds, plugins=plugins, views=views, stdout=stdout, shows=shows
        )
        code = session.tell_of_plugins(session.run())
        if options.json:
            try:
                print(json.dumps(session.digest(code), indent=2, allow_nan=False), file=stdout, flush=True)
            except BrokenPipeError:
                silence(stdout)
    return code


class Session:
    """One `calipers run`."""

    can_name_one = True
    """Whether each of several evaluations can be run alone, by its label."""

    def __init__(
        self,
        options: RunOptions,
        outputs: Sequence[Target],
        thresholds: Sequence[Threshold],
        *,
        plugins: PluginManager | None = None,
        views: Mapping[str, View] | None = None,
        stdout: TextIO,
        shows: bool,
    ) -> None:
        self.options = options
        self.outputs = outputs
        self.thresholds = thresholds
        self.plugins = plugins
        self.views = views
        """Those of the plugins, which the outputs may name."""
        self.stdout = stdout
        self.shows = shows
        """Whether reports go to standard output."""
        self.folder = Path.cwd()
        self.project = find_project(self.folder)
        set_prices(self.project.prices)
        self.names: list[str] = []
        """Of the evaluations."""
        self.keeper = Keeper(
            store=options.store,
            no_store=options.no_store,
            redact=options.redact,
            resume=options.resume,
            rerun_failed=options.rerun_failed,
            reuse=options.reuse,
        )
        self.selection = Selection(
            filters=options.filter, tags=options.tag, limit=options.limit, slice_by=options.slice_by
        )
        self.shard = _checked_shard(options)
        """Which part of the cases is run; `None`: all of them."""
        self.tapes = self._tapes()
        """Record or replay evaluations; `None`: neither."""
        self.budget = read_budget(
            cost=options.max_cost,
            tokens=options.max_tokens,
            calls=options.max_calls,
            seconds=options.max_time,
        )
        """What is left for the evaluations to come; `None`: they have no budget."""
        self.decider = self._decider()
        """Ends evaluations that are decided; `None`: they all run to their end."""
        self.engine: Engine | None = None
        """Where attempts run; `None`: in this process."""
        self.task: TaskLike | None = None
        """Takes the place of every other."""
        self._named: dict[tuple[str | None, str | None], str] = {}
        """The labels of evaluations whose runs have the name that was given, by what tells such runs apart."""
        self.outcomes: list[Outcome] = []
        self.problems: list[str] = []
        """What is wrong beyond a single evaluation."""

    @property
    def retry_evaluators(self) -> Retry | None:
        """When to ask an evaluator again."""
        more = self.options.retry_evaluators
        return None if more is None else Retry(attempts=more + 1)

    def _decider(self) -> "Decider | None":
        options = self.options
        if options.stop_when_decided is None and options.baseline is None:
            return None
        from calipers.cli.actions.gate import make_decider

        return make_decider(options.stop_when_decided, options.baseline, options.store)

    def _tapes(self) -> "Tapes | None":
        options = self.options
        asked: dict[str, Any] = {
            "record": options.record_tape,
            "replay": options.replay_tape,
            "fork_at": options.fork_at,
            "fork_model": options.fork_model,
            "fork_prompt": options.fork_prompt,
            "fork_result": options.fork_result,
        }
        if all(value is None for value in asked.values()):
            return None
        from calipers.cli.tapes import make_tapes

        return make_tapes(
            **asked,
            resumes=options.resume is not None,
            reuses=options.reuse,
            redacts=bool(options.redact or self.project.redact),
            unredacted=options.unredacted_tape,
        )

    def find(self) -> list[Evaluation]:
        """The evaluations that the options ask for."""
        options = self.options
        self.task = None if options.task is None else load_task(options.task, self.plugins)
        finder = Finder(load_dataset=self._load_dataset, has_task=self.task is not None)
        evaluations = finder.find(options.targets, options.param)
        if not any(evaluation.file for evaluation in evaluations):
            self._refuse_file_options()
        return evaluations

    def conclude(self) -> None:
        """Draw conclusions from all outcomes together."""

    def digest(self, code: int) -> dict[str, Any]:
        """What `--json` prints."""
        return digest(self.outcomes, code, self.problems)

    def run(self) -> int:
        """Run all evaluations; returns the exit code."""
        evaluations = self.find()
        self.names = [evaluation.name for evaluation in evaluations]
        check_paths(self.outputs, [each.name for each in evaluations if not each.supporting], self.views)
        check_paths(self._outputs_of_all(), self.names, self.views)
        if self.tapes is not None:
            self.tapes.check(self.names, self.folder)
        labels = [evaluation.label for evaluation in evaluations]
        with self._opened_engine() as self.engine, self.keeper.opened(self.folder, labels):
            self._protect_files(evaluations)
            store = None if self.options.no_model_cache else self.keeper.store
            with using_cache(None if store is None else StoredAnswers(store)):
                codes = self._run_all(evaluations)
        self.conclude()
        if not self.outcomes:
            self._problem(f"nothing ran: {self.selection.why_nothing()}")
            codes.append(NOTHING)
        reports = [outcome.report for outcome in self.outcomes if outcome.report is not None]
        for message in unknown(self.thresholds, reports) if reports else []:
            self._problem(message)
            codes.append(USAGE)
        for field in self.selection.unsliced if reports else ():
            self._problem(
                f"--slice-by {field}: the metadata of no case has a field {field!r} that holds a text, a number or a flag"
            )
            codes.append(USAGE)
        return first_of(codes)

    def _opened_engine(self) -> AbstractContextManager[Engine | None]:
        name = self.options.engine
        if name is None:
            return nullcontext()
        if self.tapes is not None:
            raise InvalidOptionError(
                f"--engine {name} has several processes make attempts, and a tape is written and read by one: remove --engine, or the "
                "options of the tape"
            )
        from calipers.cli.run_engine import named_engine

        return named_engine(name, self.project)

    def _run_all(self, evaluations: Sequence[Evaluation]) -> list[int]:
        """The exit codes of the evaluations, one after the other until one is interrupted."""
        codes: list[int] = []
        only = sum(not evaluation.supporting for evaluation in evaluations) == 1
        for number, evaluation in enumerate(evaluations, 1):
            outcome = self._run_one(evaluation, alone=only and not evaluation.supporting)
            if outcome is None:
                continue
            self.outcomes.append(outcome)
            codes.append(outcome.code)
            ended = outcome.code in FROM_OUTSIDE.values()
            if ended or not self._spend(outcome.report):
                if number < len(evaluations):
                    left = plural(len(evaluations) - number, "evaluation")
                    self._problem(f"{left} did not begin" + ("" if ended else ": the budget is used up"))
                    codes += [] if ended else [ERRORED]
                break
        return codes

    def _spend(self, report: Report | None) -> bool:
        """Take what an evaluation has spent out of the budget; whether there is something left for the next one."""
        use = None if report is None else report.budget
        if use is None or self.budget is None:
            return True
        self.budget = use.left(self.budget)
        return self.budget is not None and use.reached is None

    def tell_of_plugins(self, code: int) -> int:
        """Say what went wrong in hooks, which is an error unless errors are allowed. Returns the exit code."""
        failures = [] if self.plugins is None else self.plugins.failures
        failed = [
            failure for failure in failures if failure.stage not in LOADING
        ]  # those were pointed out at the start
        for failure in failed:
            self._problem(f"plugin {failure}")
        return first_of([code, ERRORED]) if failed and not self.options.allow_errors else code

    def _refuse_file_options(self) -> None:
        if flags := self._given(_FOR_DATASET_FILES):
            raise InvalidOptionError(
                f"no target is a dataset file, so {flags} would have no effect: in Python code, pass them to load_dataset"
            )

    def _outputs_of_all(self) -> list[Target]:
        """Report files that every evaluation has its own of."""
        return [target for target in self.outputs if PLACEHOLDER in target.path]

    def _protect_files(self, evaluations: Sequence[Evaluation]) -> None:
        """Refuse to write a report over a dataset file, or over the file of cases that one names."""
        files: list[Path] = self.keeper.files
        for evaluation in evaluations if self.outputs else ():
            if evaluation.file is not None:
                files.append(evaluation.file)
                with suppress(CommandError, CalipersError, OSError):  # reported when its turn comes
                    made = evaluation.make()
                    files += _files_of(made) if isinstance(made, Dataset) else []
        protect(files, self.outputs, self.names, folder=self.folder)

    def _problem(self, message: str) -> None:
        self.problems.append(message)
        note(f"Error: {message}")

    def _load_dataset(self, path: Path) -> Dataset[Any, Any, Any]:
        from calipers.cli.dataset_files import DatasetFiles

        options = self.options
        return DatasetFiles(
            types=options.types,
            evaluator_types=options.evaluator_type,
            allow_modules=options.allow_module,
            columns=options.column,
            plugins=self.plugins,
        ).load(path)

    # ------------------------------------------------------------------ one evaluation

    def _run_one(self, evaluation: Evaluation, *, alone: bool) -> Outcome | None:
        """Run one evaluation, show and write what came of it; `None` if no case of it was selected."""
        outcome = Outcome(label=evaluation.label)
        outputs = self._outputs_of_all() if evaluation.supporting else self.outputs
        files = Outputs(outputs, evaluation.name, folder=self.folder, views=self.views)
        try:
            try:
                report = self._report(evaluation, files)
            finally:
                reopen_streams()
        except (CommandError, CalipersError, OSError) as error:
            trace(error)
            files.drop()
            code, message = describe(error)
            outcome.complaints.append(Complaint(code, message))
        else:
            if self.selection.is_narrow and report.incomplete is None and not report.counts().attempts:
                self.keeper.forget(report)
                return None
            outcome.report = report
            outcome.kept_in = self.keeper.where
            if self.shows and not evaluation.supporting:
                self._show(report, title=None if alone else evaluation.label)
            files.end(report, self.stdout)
            outcome.files = files.written
            self._judge(outcome, report, evaluation)
        outcome.complaints += [Complaint(ERRORED, problem) for problem in files.problems]
        self._tell(outcome, alone=alone)
        if outcome.report is not None and not self.options.quiet:
            self._tell_of_store(outcome.report, evaluation)
            for line in () if self.tapes is None else self.tapes.lines():
                note(line)
        return outcome

    def _report(self, evaluation: Evaluation, files: Outputs) -> Report:
        with _user_code(evaluation):
            made = evaluation.make()
        if inspect.isawaitable(made):
            return run_sync(lambda: self._report_async(evaluation, made, files))
        found = self._prepared(evaluation, made, files)
        return found if isinstance(found, Report) else found[0].evaluate_sync(found[1], **found[2])

    async def _report_async(self, evaluation: Evaluation, made: Awaitable[Any], files: Outputs) -> Report:
        with _user_code(evaluation):
            value = await made
        found = self._prepared(evaluation, value, files)
        return found if isinstance(found, Report) else await found[0].evaluate(found[1], **found[2])

    def _prepared(
        self, evaluation: Evaluation, made: Any, files: Outputs
    ) -> Report | tuple[Dataset[Any, Any, Any], TaskLike, EvaluateOptions]:
        """A report that is finished, or the cases to run, the task and how to run it."""
        found = evaluation.read(made, task=self.task)
        if isinstance(found, Report):
            return self._finished(evaluation, found)
        dataset, task = found
        protect(_files_of(dataset), self.outputs, self.names, folder=self.folder)
        chosen = self.selection.of(dataset)
        if self.options.faults:
            chosen = agents.with_faults(chosen, self.options.faults, harm=self.options.harm)
        if self.decider is not None:
            chosen = self.decider.read(chosen)
        if self.tapes is not None:
            task = self.tapes.around(task, evaluation.name)
        return chosen, task, self._how_to_run(evaluation, chosen, task, files)

    def _finished(self, evaluation: Evaluation, report: Report) -> Report:
        """A report that the evaluation made itself."""
        if flags := self._given(_FOR_RUNNING):
            note(f"{evaluation.label} returned a finished report: {flags} had no effect on it")
        try:
            self.keeper.add(report)
        except StoreError as error:
            note(f"{evaluation.label} is not kept: {error}")
        return report

    def _given(self, names: Sequence[str]) -> str:
        """Those of the options that were given, as they are written; 0 was given, as a seed."""
        values = {name: getattr(self.options, name) for name in names}
        return ", ".join(
            "--" + name.replace("_", "-")
            for name, value in values.items()
            if value is not None and value is not False and value != ()
        )

    def _how_to_run(
        self, evaluation: Evaluation, dataset: Dataset[Any, Any, Any], task: TaskLike, files: Outputs
    ) -> EvaluateOptions:
        options, project = self.options, self.project
        # Evaluations that support another have its dataset and task: their names tell their runs apart.
        name = evaluation.name if evaluation.supporting else options.name
        task_name = task_for(dataset.cases, task).name
        if options.name is not None and not evaluation.supporting:
            self._check_name(options.name, evaluation.label, subject(dataset.name, task_name))
        others = {other for other in self.names if other != evaluation.name}
        store, resumed = self.keeper.keep(
            dataset, task_name, name, others=others, selection=self.selection, shard=self.shard
        )
        seed, repeat = options.seed, options.repeat or (1 if resumed is None else resumed.repeat)
        if seed is None and resumed is None:
            seed = draw_seed() if self.shard is None else 0  # all shards of a run need the same
        files.begin(
            Report(
                name=name or task_name,
                cases=[],
                dataset_name=dataset.name,
                repeat=repeat,
                seed=resumed.draw_seed if seed is None and resumed is not None else seed or 0,
                started_at=datetime.now(UTC).isoformat(),
                shard=None if self.shard is None else ShardFacts(shard=self.shard),
            )
        )
        rule = None if self.decider is None or evaluation.supporting else self.decider.rule()
        # A dataset that is not a list may have more cases than memory has room for attempts.
        is_lazy = not isinstance(dataset.cases, list)
        looks_at_all = bool(dataset.report_evaluators) or any(map(analyses_reports, dataset.evaluators))
        only_failed = is_lazy and options.include_cases != "all" and not looks_at_all
        return EvaluateOptions(
            name=name,
            metadata=None if self.tapes is None else self.tapes.metadata(evaluation.name),
            max_concurrency=options.max_concurrency or project.max_concurrency,
            task_timeout=options.task_timeout or project.task_timeout,
            evaluator_timeout=options.evaluator_timeout or project.evaluator_timeout,
            engine=self.engine,
            budget=self.budget,
            shard=self.shard,
            retry=None if options.retry is None else Retry(attempts=options.retry + 1),
            retry_evaluators=self.retry_evaluators,
            repeat=repeat,
            plugins=self.plugins,
            seed=seed,
            keep="failed" if only_failed else "all",
            keep_secrets=options.keep_secrets,
            on_record=files.add if files.grow else None,
            stop_when=rule,
            selection=self.selection.told or None,
            progress=options.progress and not options.quiet,
            store=store,
            resume=None if resumed is None else resumed.id,
            rerun_failed=options.rerun_failed and resumed is not None,
            reuse=options.reuse,
        )

    def _check_name(self, name: str, label: str, of: tuple[str | None, str | None]) -> None:
        """Refuse to give two runs of one dataset the same name: a gate by that name would see only the second."""
        other = self._named.setdefault(of, label)
        if other != label and self.keeper.store is not None:
            what = f"the dataset {of[0]!r}" if of[0] is not None else "a dataset without a name"
            raise InvalidOptionError(
                f"--name {name!r} names the run of {other} over {what} already, and a name stands for one run of each dataset: "
                "run it by itself with another --name, or give the datasets names of their own"
            )

    # ------------------------------------------------------------------ what came of it

    def _show(self, report: Report, *, title: str | None) -> None:
        if title is not None:
            click.echo(f"{'' if not self.outcomes else chr(10)}== {title} ==\n")
        options = self.options
        show_report(
            report,
            include_cases=options.include_cases,
            max_cases=options.max_cases,
            tracebacks=options.tracebacks,
        )

    def _judge(self, outcome: Outcome, report: Report, evaluation: Evaluation) -> None:
        counted = report.with_totals()
        if evaluation.supporting or self.shard is not None:
            outcome.findings = []  # no threshold holds for it, nor the rule that everything has to pass
            outcome.complaints += judge(counted, [], allow_errors=self.options.allow_errors)
            return
        try:
            outcome.findings = compare(self.thresholds, counted) if self.thresholds else None
        except InvalidOptionError as error:
            outcome.complaints.append(Complaint(USAGE, str(error)))
        if self.decider is not None:
            outcome.findings = outcome.findings or []  # the policy says what is good enough
            outcome.complaints += self.decider.judge(report, shows=self.shows)
        outcome.complaints += judge(
            counted,
            outcome.findings,
            allow_errors=self.options.allow_errors,
            way_to_judge=evaluation.way_to_judge,
        )

    def _tell(self, outcome: Outcome, *, alone: bool) -> None:
        """Say what the exit code will say, and where the report went."""
        prefix = "" if alone else f"{outcome.label}: "
        for code, message in outcome.complaints:
            word = _WORDS.get(code, "Error: ")
            text = f"{word}{prefix}{message}"
            note(text[0].upper() + text[1:] if alone else text)
        if self.options.quiet:
            for line in () if outcome.report is None else self.keeper.losses(outcome.report):
                note(line)
            return
        if self.shard is not None:
            note(
                f"{prefix}This is shard {self.shard.number} of {self.shard.of}: calipers merge makes one run of all"
            )
        for path in outcome.files:
            note_file(path)
        report = outcome.report
        if (
            report is not None
            and not outcome.complaints
            and outcome.findings is None
            and not report.pass_rate(None)
        ):
            note(
                f"{prefix}Nothing was asserted, so nothing could fail: --fail-under NAME=NUMBER sets a threshold."
            )

    def _tell_of_store(self, report: Report, evaluation: Evaluation) -> None:
        """Say where the run is kept; of those that support another, only how to go on with it."""
        for line in () if evaluation.supporting else self.keeper.lines(report):
            note(line)
        if report.incomplete is None:
            return
        several = len(self.names) > 1
        way = self.keeper.way_to_resume(
            report,
            targets=self.options.targets,
            instead=evaluation.label if several and self.can_name_one else None,
            by_id=not several or self.can_name_one,
        )
        if way is not None:
            note(way)
            if report.budget is not None and report.budget.reached not in {None, "seconds"}:
                note("Raise its limits first: what the run has spent so far counts")


def _checked_shard(options: RunOptions) -> Shard | None:
    """The shard that is asked for; what judges whole runs is refused beside it."""
    if options.shard is None:
        return None
    whys = {
        "--fail-under": (options.fail_under, "judges a whole run: give it to calipers merge"),
        "--stop-when-decided": (
            options.stop_when_decided,
            "judges a whole run, and a shard is only a part of one",
        ),
        "--faults": (options.faults, "compares attempts that may be in different shards"),
    }
    for name, (given, why) in whys.items():
        if given:
            raise InvalidOptionError(f"{name} {why}: remove {name}, or --shard")
    return as_shard(options.shard)


def _files_of(dataset: Dataset[Any, Any, Any]) -> list[Path]:
    """The file that the cases are read from while they run, if they are."""
    path = getattr(dataset.cases, "path", None)
    return [path] if isinstance(path, Path) else []


@contextmanager
def _user_code(evaluation: Evaluation) -> Iterator[None]:
    """A block that shows what the user's own function raises with its traceback; problems of a file have a message of their own."""
    try:
        yield
    except BaseException as error:
        if is_interrupt(error):
            raise
        if evaluation.function is None:
            raise
        raise UserCodeError(f"{evaluation.label} failed:", error) from error
