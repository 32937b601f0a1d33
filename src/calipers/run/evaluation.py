"""One evaluation, from a dataset and a task to a report: what `Dataset.evaluate` does.

It composes what a user could compose alone: a plan of evaluators, a queue of work, a `Run`, workers, and a `Report`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Protocol

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.redaction import masked_fields
from calipers.data.result import describe_error
from calipers.data.spending import PricesInUse
from calipers.errors import CalipersError, InvalidOptionError, StoreError
from calipers.identity.callables import evaluator_identity, task_identity, with_hooks
from calipers.identity.fingerprint import Identity
from calipers.identity.libraries import Libraries
from calipers.process.interrupt import Signal, held_back, listening, on_interrupt, was_signalled
from calipers.process.loop import check_asyncio
from calipers.report.incomplete import Incomplete, Stopping, after_attempts
from calipers.report.report import Report
from calipers.report.report_evaluator import analyses_reports, names_of_analysts, run_report_evaluators
from calipers.report.shard import ShardFacts, part_of
from calipers.run.call_limit import limits_in_use
from calipers.run.place import Job
from calipers.run.runner import ForeseeingRule, Options, Run, in_random_order
from calipers.run.sharded_work import ShardedWork
from calipers.run.task import Invokable, Task, TaskAround, as_task
from calipers.run.work import Journal, Keeping, LiveCases, Setup, Unread, WorkQueue, work_items
from calipers.run.workers import LoopWorkers, ThreadWorkers
from calipers.scoring.evaluator_plan import Plan, make_plan, prepare
from calipers.scoring.scoring import TASK, NotedScoring, Scoring
from calipers.spans import span_recorder


class Progress(Protocol):
    """Shows how far a run has come. `counts` may be read at any time, from any thread."""

    def __call__(self, counts: "Counts") -> AbstractContextManager[Any]:
        """A block during which the progress is shown."""
        ...


class Counts:
    """How far a run has come."""

    def __init__(self, run: Run, total: int | None) -> None:
        self._run = run
        self.total = total
        """Attempts to make; `None` if the dataset does not tell its length."""

    @property
    def finished(self) -> int:
        """Attempts made and judged."""
        return self._run.finished

    @property
    def failed(self) -> int:
        """Finished attempts that did not pass."""
        return self._run.failed

    @property
    def pauses(self) -> list[tuple[str, float]]:
        """Which limits make all their calls wait at the moment, and for how many seconds more: a server asked for that."""
        return self._run.limits.pauses

    @property
    def waiting(self) -> int:
        """Calls that wait for a limit."""
        return self._run.limits.waiting

    @property
    def in_flight(self) -> int:
        """Attempts begun and not finished."""
        return self._run.queue.handed_out - self._run.finished


async def evaluate(
    cases: Iterable[Any],
    task: Callable[[Any], Any] | Invokable,
    *,
    evaluators: Sequence[Any] = (),
    report_evaluators: Sequence[Any] = (),
    options: Options,
    name: str | None = None,
    task_name: str | None = None,
    dataset_name: str | None = None,
    metadata: dict[str, Any] | None = None,
    progress: Progress | None = None,
    keeping: Keeping | None = None,
) -> Report:
    """Run the task over the cases, judge what comes of it, and report. `keeping` opens the journal of the run."""
    check_asyncio("evaluate", "call evaluate_sync, which blocks and has an event loop of its own")
    the_task = task_for(cases, task, name=task_name)
    plan = make_plan(evaluators)
    _check(cases, report_evaluators, plan, the_task, options)
    await prepare([*evaluators, *_own_evaluators(cases)])
    total = _total(cases, options)
    name = name or the_task.name
    told = metadata if metadata is None or options.keep_secrets else masked_fields(dict(metadata))
    kept: dict[str, Any] = {"dataset_name": dataset_name, "metadata": told}

    def interrupt(by: Signal) -> None:
        run.interrupt(by)
        workers.stop()

    # From before the store knows of the run: one that ends before its first attempt is marked as interrupted, too.
    with ExitStack() as interrupts:
        interrupts.enter_context(on_interrupt(interrupt))
        journal = None
        if keeping is not None:
            about = {"task_name": the_task.name, "name": name, "plan": plan, "total": total, **kept}
            about["one_by_one"] = isinstance(cases, LiveCases)
            journal = keeping(_setup(options, task=task, **about))
            name, options = journal.name, msgspec.structs.replace(options, seed=journal.seed)
        run = make_run(the_task, cases, plan, options, journal)
        unread = Unread()
        if plan.unread and not report_evaluators:  # these may read the cases of the report
            run.queue.follow(unread.follow)
        interrupts.enter_context(sharing_limits(run))
        workers = _workers(run, total)
        announced = _announced(options, name, dataset_name, total, metadata)
        async with announced as reports, _kept(journal, reports), _begun(run, plan, workers.stop):
            if was_signalled():  # let it arrive before the first call is made
                await asyncio.sleep(0)
            prices = PricesInUse()
            started_at, start = datetime.now(UTC), perf_counter()
            with nullcontext() if progress is None else progress(Counts(run, total)):
                await workers.finish()
            interrupts.close()
            report = _reported(
                run,
                total,
                _shard_facts(run, task, plan, report_evaluators),
                name=name,
                started_at=started_at.isoformat(),
                duration=perf_counter() - start,
                unread_expectations=unread.counts,
                prices=list(dict.fromkeys([*prices.sources, *run.prices_elsewhere])),
                **kept,
            )
            if options.shard is None:  # they look at whole reports
                await _analysed(report, report_evaluators, plan, options)
            reports.append(report)
    return report


def _workers(run: Run, total: int | None) -> LoopWorkers | ThreadWorkers:
    """What works through the queue of a run."""
    options = run.options
    on_loop = run.task.is_async or options.lifecycle or run.announces or options.engine or run.live
    workers = LoopWorkers(run) if on_loop else ThreadWorkers(run, total)
    run.give_up = workers.stop
    return workers


async def _analysed(report: Report, evaluators: Sequence[Any], plan: Plan, options: Options) -> None:
    with listening(blocks=False):
        await run_report_evaluators(report, evaluators, plan, keep_secrets=options.keep_secrets)


def _total(cases: Iterable[Any], options: Options) -> int | None:
    """Attempts to make; `None` if the dataset does not tell its length."""
    if not isinstance(cases, list):
        return None
    return options.repeat * (len(cases) if options.shard is None else options.shard.count(len(cases)))


def _shard_facts(run: Run, task: Any, plan: Plan, report_evaluators: Sequence[Any]) -> ShardFacts | None:
    """Which shard a run was, and what tells whether others are of the same run; `None` if it was none."""
    shard, sharded, options = run.options.shard, run.sharded, run.options
    if shard is None or sharded is None:
        return None
    libraries = Libraries()
    made_by = with_hooks(
        task_identity(task, libraries=libraries), options.lifecycle, options.plugins, libraries
    )
    judges = {
        planned.name: evaluator_identity(
            getattr(planned.evaluator, "origin", planned.evaluator), libraries=libraries
        )
        for planned in plan.evaluators
    }
    return ShardFacts(
        shard=shard,
        total=sharded.total,
        dataset=sharded.dataset,
        task=made_by.key if isinstance(made_by, Identity) else None,
        evaluators={
            name: identity.key if isinstance(identity, Identity) else None
            for name, identity in judges.items()
        },
        not_analysed=tuple(names_of_analysts(report_evaluators, plan)),
    )


@asynccontextmanager
async def _begun(run: Run, plan: Plan, stop: Callable[[], None]) -> AsyncIterator[None]:
    """Have an engine started and a budget kept during the block, where the run has one."""
    async with _engine_started(run, stop), within_budget(run, plan, stop):
        yield


@contextmanager
def sharing_limits(run: Run) -> Iterator[None]:
    """Have what is called in the block share the limits of the run."""
    if run.limits.sees_all:
        from calipers.models.wire_limits import watch

        run.limits.watch = watch
    with limits_in_use(run.limits):
        yield


@asynccontextmanager
async def _engine_started(run: Run, stop: Callable[[], None]) -> AsyncIterator[None]:
    """Have the attempts of the block run where the engine says; without one, they run here."""
    if run.options.engine is None:
        yield
        return

    def give_up(why: str) -> None:
        run.stopped = run.stopped or Incomplete("failed", f"the engine failed ({why})")
        run.stop()
        stop()

    job = Job(
        task=run.task,
        records_spans=run.recorder is not None,
        task_timeout=run.options.task_timeout,
        max_concurrency=run.at_once_elsewhere,
        limits=run.limits,
        has_budget=run.ledger is not None,
        give_up=give_up,
        hold=lambda seconds: run.scoring.note_blocked(TASK, seconds, is_async=True),
        use_prices=run.prices_elsewhere.extend,
    )
    async with run.options.engine.opened(job) as run.place:
        yield


@asynccontextmanager
async def within_budget(
    run: Run, plan: Plan, stop: Callable[[], None], *, has_task: bool = True
) -> AsyncIterator[None]:
    """Keep what the run spends in the block to its budget, if it has one; `stop` gives up what is in flight."""
    ledger = run.ledger
    if ledger is None:
        yield
        return
    asks_models = any(planned.is_judge for planned in plan.evaluators)
    ledger.begin(
        {} if run.journal is None else run.journal.spent(), asks_models=asks_models, has_task=has_task
    )

    if run.journal is not None:
        run.journal.follow(ledger.all_spent)

    def end() -> None:
        ledger.end_time()
        run.stopped = run.stopped or ledger.incomplete
        run.stop()
        stop()

    most = ledger.budget.seconds
    timer = None if most is None else asyncio.get_running_loop().call_later(most, end)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


def _own_evaluators(cases: Iterable[Any]) -> Iterator[Any]:
    """The evaluators of single cases. Those of a lazy dataset are not known yet."""
    for case in cases if isinstance(cases, list) else ():
        if case.evaluators or case.turns:
            yield from case.own_evaluators


def _setup(options: Options, **given: Any) -> Setup:
    """What a run is about to do, for its journal."""
    return Setup(
        repeat=options.repeat,
        seed=options.seed,
        lifecycle=options.lifecycle,
        plugins=options.plugins,
        options=_limits(options),
        **given,
    )


def _check(
    cases: Iterable[Any], report_evaluators: Sequence[Any], plan: Plan, task: Task, options: Options
) -> None:
    """Refuse options that do not go together, or not with these cases and this task."""
    if options.engine is not None:
        options.engine.check(task)
    if options.keep != "all" and report_evaluators:
        raise InvalidOptionError("report evaluators look at every attempt: keep='all', or leave them out")
    analysing = [each.name for each in plan.evaluators if analyses_reports(each.evaluator)]
    if options.keep != "all" and analysing:
        raise InvalidOptionError(
            f"{analysing[0]} looks at every attempt in the end: keep='all', or leave it out"
        )
    if options.stop_when is not None and options.shard is not None:
        raise InvalidOptionError(
            "stop_when ends a run when enough is known, and a shard knows a part: leave out one of them"
        )
    if options.stop_when is not None and not isinstance(cases, list):
        raise InvalidOptionError(
            "stop_when needs the cases in a random order: make the dataset from a list, such as list(cases)"
        )
    if isinstance(options.stop_when, ForeseeingRule) and isinstance(cases, list):
        options.stop_when.check_run(cases, plan.names)


def _reported(run: Run, total: int | None, shard: ShardFacts | None, **given: Any) -> Report:
    """What a run that is over says."""
    run.settle_names()
    finished = [record for record in run.records if isinstance(record, ReportCase)]
    failures = [] if len(finished) == len(run.records) else run.records
    incomplete = _incomplete(run, total)
    if incomplete is None and shard is not None:
        incomplete = part_of(shard, run.finished)
    return Report(
        cases=finished,
        failures=[record for record in failures if isinstance(record, ReportCaseFailure)],
        totals=None if run.tally is None else run.tally.totals(),
        repeat=run.options.repeat,
        seed=run.options.seed,
        incomplete=incomplete,
        shard=shard,
        stopping=_stopping(run, total),
        sought=run.live is not None and not run.live.is_sample,
        budget=None if run.ledger is None else run.ledger.use(in_random_order=run.in_random_order),
        limits=run.limits.uses,
        unfinished=run.queue.handed_out - run.finished,
        blocked=run.scoring.blocked,
        **given,
    )


@asynccontextmanager
async def _kept(journal: Journal | None, reports: list[Report]) -> AsyncIterator[None]:
    """Close the journal when the block is left, with the report that the block made, if it made one."""
    if journal is None:
        yield
        return
    try:
        yield
    except BaseException as error:
        # What is raised here is what went wrong; that the journal could not be closed either is no news.
        with held_back(), suppress(Exception):
            journal.finish(None, broken=isinstance(error, Exception))
        raise
    report = reports[0]
    try:
        with held_back():
            report.reuse = journal.finish(report)
    except CalipersError as error:
        reason = f"not all of it could be stored ({error})"
        report.incomplete = report.incomplete or Incomplete("not_stored", reason)


@asynccontextmanager
async def _announced(
    options: Options,
    name: str,
    dataset_name: str | None,
    total: int | None,
    metadata: dict[str, Any] | None,
) -> AsyncIterator[list[Report]]:
    """Tell the plugins that a run begins and, when the block is left, that it is over; the block puts its report here."""
    reports: list[Report] = []
    if options.plugins is None:
        yield reports
        return
    await options.plugins.dispatch(
        "on_suite_start",
        name=name,
        dataset_name=dataset_name,
        total=total,
        repeat=options.repeat,
        seed=options.seed,
        metadata=metadata,
    )
    try:
        yield reports
    finally:
        await options.plugins.dispatch("on_suite_end", name=name, report=reports[0] if reports else None)


def task_for(cases: Iterable[Any], task: Any, *, name: str | None = None) -> Task:
    """The task as these cases need it: one that answers a scripted user where a case may have turns.

    A task with `answers_turns` does so itself. What the cases of a lazy dataset have is not known yet.

    Raises:
        TaskContractError: it cannot be called with these cases.
    """
    has_turns = not isinstance(cases, list) or any(getattr(case, "turns", ()) for case in cases)
    if not has_turns or getattr(task, "answers_turns", False):
        return as_task(task, name=name)
    return as_task(_scripted(task), name=name)


def _scripted(task: Any) -> Any:
    """A task that answers scripted users; what stands around another one stays outside."""
    from calipers.rollouts.rollout_task import ScriptedTask

    return task.around(_scripted(task.task)) if isinstance(task, TaskAround) else ScriptedTask(task)


def _limits(options: Options) -> dict[str, Any]:
    """Those options that a stored run keeps."""
    kept = (
        "max_concurrency",
        "task_timeout",
        "evaluator_timeout",
        "retry",
        "retry_evaluators",
        "selection",
        "budget",
    )
    found = {name: plain(getattr(options, name)) for name in kept}
    found["engine"] = None if options.engine is None else repr(options.engine)
    found["shard"] = None if options.shard is None else str(options.shard)
    found["stop_when"] = None if options.stop_when is None else type(options.stop_when).__name__
    return {name: value for name, value in found.items() if value is not None}


def make_run(
    task: Task, cases: Iterable[Any], plan: Plan, options: Options, journal: Journal | None = None
) -> Run:
    """The state of a run that has not begun."""
    wants_spans = plan.needs_spans or (
        isinstance(cases, list)
        and any(make_plan(case.own_evaluators).needs_spans for case in cases if case.evaluators or case.turns)
    )
    items = work_items(cases, plan, repeat=options.repeat)
    sharded = None if options.shard is None else ShardedWork(options.shard)
    if sharded is not None:
        items = sharded.follow(items)
    shuffles = options.stop_when is not None or (options.budget is not None and isinstance(cases, list))
    if shuffles:
        items = in_random_order(items, options.seed)
    scoring = Scoring if journal is None else NotedScoring
    run = Run(
        task,
        WorkQueue(items if journal is None else journal.prepared(items)),
        scoring(timeout=options.evaluator_timeout, retry=options.retry_evaluators),
        span_recorder(wants_spans),
        options,
        journal,
        plan.results,
    )
    run.in_random_order = shuffles
    if isinstance(cases, LiveCases):
        run.live = cases
        cases.begin(options.seed, () if journal is None else journal.recorded())
    run.sharded = sharded
    if run.early_stop is not None:
        run.queue.follow(run.early_stop.follow)
    return run


def _stopping(run: Run, total: int | None) -> Stopping | None:
    """What became of the rule that may end the run; `None` if it had none."""
    early_stop = run.early_stop
    if early_stop is None:
        return None
    assert total is not None
    return Stopping(
        why=early_stop.why,
        heard=early_stop.heard,
        total=total,
        saved=total - run.queue.handed_out,
        unheard=tuple(early_stop.unheard),
        share=float(getattr(run.options.stop_when, "share", 1.0)),
        outcome=getattr(run.options.stop_when, "outcome", None),
        planned=getattr(run.options.stop_when, "planned", None),
    )


def _incomplete(run: Run, total: int | None) -> Incomplete | None:
    if run.stopped is not None:
        stopped = run.stopped
        if run.ledger is not None and stopped.kind == "budget":  # what was in flight has been settled since
            stopped = run.ledger.incomplete or stopped
        return stopped.after(run.finished, total)
    if run.queue.broken is not None:
        _, message, _ = describe_error(run.queue.broken)
        what = "store" if isinstance(run.queue.broken, StoreError) else "dataset"
        after = after_attempts(run.finished)
        return Incomplete("failed", f"the {what} could not be read any further {after}: {message}")
    return None


def draw_seed() -> int:
    """A seed for a run that was given none."""
    return int.from_bytes(os.urandom(4), "big")
