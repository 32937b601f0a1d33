"""Scoring stored attempts again, without calling the task.

The results are added to the run itself, so that old and new stand side by side in one report. An evaluator whose name
another one has gets `_2`, `_3` and so on, or with `replace` its place. One that has judged an attempt already is not asked
again, unless it failed, or was given plain data where it would now be given an object. Attempts whose task failed are not
judged.

Attempts are read, judged and written as a stream: memory does not grow with their number.

A store holds plain data. With `dataset`, inputs, metadata and expectations are the objects of its cases, wherever the
content is the same; with `output_type`, outputs are made again. `Report.reuse.judged_as_plain` counts the attempts that
evaluators were given as plain data, though the task had returned something else.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from typing_extensions import override

from calipers.data.argument_checks import check_texts, check_whole_number
from calipers.data.attempt import Attempt
from calipers.data.budget import Budget, BudgetUse, Side, Spent
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_styles import RolloutEvaluator, as_evaluator
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult, describe_error
from calipers.data.retry import Retry, as_retry
from calipers.data.reuse import Recalled, Reuse
from calipers.data.spending import paid_now, spent_by_judges
from calipers.errors import CalipersError, InvalidOptionError, StoreError
from calipers.identity.callables import evaluator_identity
from calipers.identity.case_content import case_key
from calipers.identity.fingerprint import Unknown
from calipers.process.interrupt import Signal, on_interrupt
from calipers.process.loop import check_asyncio, run_sync
from calipers.report.analysis import Aggregate, Analysis, EvaluatorChange
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.report.report_evaluator import analyses_reports, run_report_evaluators
from calipers.run.dataset import Dataset
from calipers.run.evaluation import Counts, Progress, sharing_limits, within_budget
from calipers.run.runner import Options, Record, Run
from calipers.run.task import Task
from calipers.run.work import Work, WorkQueue, work_items
from calipers.run.workers import LoopWorkers
from calipers.scoring.evaluator_plan import Plan, PlannedEvaluator, prepare
from calipers.scoring.scoring import Earlier, NotedScoring
from calipers.spans import SpanTree

from .attempt_notes import (
    AttemptNotes,
    CellNotes,
    attempt_notes,
    cell_notes,
    has_failed,
    original_of,
    read_metrics,
    with_notes,
)
from .evaluator_slots import EvaluatorSlots
from .identities import EvaluatorIdentities, evaluator_key
from .judging_processes import JudgingProcesses, Order, Told, file_of
from .packing import facts_of, pack_cells, timeout_of, unpack, unpack_cells
from .reuse import CHANGED, NO_SPANS, NOT_CAPTURED, WITHOUT_HIDDEN, OutputType
from .run_info import RunInfo, StoredEvaluator, columns_of
from .run_report import bare_report
from .store import NameTakenError, Store
from .store_url import open_store
from .stored_attempt import FORMAT, StoredAttempt, StoredCell
from .writer import Pace, Writer

if TYPE_CHECKING:
    from os import PathLike

    from calipers.data.limit_use import LimitUse


_TRIES = 20
"""How often names are chosen anew, where another process takes them first."""

_WITHOUT_SETTING = "attempts judged without the tags and the timeout of their case, which are not stored: pass the dataset to judge them again"
_UNREAD = "attempts not judged, because their large values cannot be read from where they were moved to: score the run again when they can be"


def score_again(
    store: "str | PathLike[str] | Store",
    run: str = "latest",
    *,
    evaluators: Sequence[Any] = (),
    replace: bool = False,
    drop: Sequence[str] = (),
    dataset: Dataset[Any, Any, Any] | None = None,
    output_type: Any = None,
    evaluator_timeout: float | None = None,
    retry_evaluators: Retry | Mapping[str, Any] | None = None,
    max_concurrency: int | Literal["auto"] | None = None,
    budget: Budget | None = None,
    processes: int = 1,
    keep: str = "failed",
    progress: Progress | None = None,
) -> Report:
    """Judge the attempts of a stored run with further evaluators, and return the report of the run.

    Args:
        store: a store, or the URL or path of one.
        run: its id, the beginning of its id, its name, or "latest".
        evaluators: of any style.
        replace: an evaluator whose name another one has takes its place; default: it gets `_2`.
        drop: names of evaluators that the report leaves out. Their results stay in the store: add the evaluator again, and
            they are back.
        dataset: its cases give inputs, metadata and expectations as objects; default: plain data.
        output_type: of what the task returned; default: plain data.
        evaluator_timeout: seconds an evaluator may take.
        retry_evaluators: when to ask an evaluator that raised an exception again.
        max_concurrency: attempts under judgement at once, where evaluators wait, or "auto"; default: 100.
        budget: what evaluators may spend in this round.
        processes: that judge side by side, for many attempts and evaluators that keep a processor busy. They read the store's file and
            import the evaluators by their names.
        keep: what the report keeps: "failed", the first thousand attempts that did not pass, with totals of all; "all"
            attempts; or "none" of them.
        progress: shows how far it has come; `calipers.views.progress.show_progress` draws a bar on a terminal.

    Raises:
        StoreError: there is no such run, or it is still running.
        InvalidOptionError: there is nothing to do, or no evaluator of a name to drop.
    """
    return run_sync(
        lambda: score_again_async(
            store,
            run,
            evaluators=evaluators,
            replace=replace,
            drop=drop,
            dataset=dataset,
            output_type=output_type,
            evaluator_timeout=evaluator_timeout,
            retry_evaluators=retry_evaluators,
            max_concurrency=max_concurrency,
            budget=budget,
            processes=processes,
            keep=keep,
            progress=progress,
        )
    )


async def score_again_async(
    store: "str | PathLike[str] | Store",
    run: str = "latest",
    *,
    evaluators: Sequence[Any] = (),
    replace: bool = False,
    drop: Sequence[str] = (),
    dataset: Dataset[Any, Any, Any] | None = None,
    output_type: Any = None,
    evaluator_timeout: float | None = None,
    retry_evaluators: Retry | Mapping[str, Any] | None = None,
    max_concurrency: int | Literal["auto"] | None = None,
    budget: Budget | None = None,
    processes: int = 1,
    keep: str = "failed",
    progress: Progress | None = None,
) -> Report:
    """`score_again` for code that is async, with the same arguments."""
    check_asyncio("score_again_async", "call score_again, which blocks and has an event loop of its own")
    if not isinstance(evaluators, Sequence) or isinstance(evaluators, str):
        raise InvalidOptionError(f"evaluators must be a list of evaluators, got {evaluators!r:.200}")
    check_texts("drop", drop)
    if not evaluators and not drop:
        raise InvalidOptionError("score_again needs evaluators, or the names of some to drop")
    options = Options(
        evaluator_timeout=evaluator_timeout,
        retry_evaluators=as_retry(retry_evaluators, "retry_evaluators"),
        max_concurrency=max_concurrency,
        budget=budget,
    )
    check_whole_number("processes", processes, at_least=1)
    if processes > 1 and (budget is not None or max_concurrency == "auto"):
        raise InvalidOptionError(
            "a budget is kept by one process, and so are limits that adapt: leave out processes=, or these"
        )
    opened = store if isinstance(store, Store) else open_store(store, existing=True)
    could_lack, opened.can_lack_values = opened.can_lack_values, True  # such attempts are not judged
    try:
        info = opened.run(run)
        if info.status == "running" and not info.is_abandoned():
            raise StoreError(f"run {info.id!r} is still running: score it again when it is over")
        if drop:
            info = _dropped(opened, info, drop)
        if not evaluators:
            report = opened.report(info.id, keep=keep)
            report.reuse = Reuse(run=info.id)
            return report
        await prepare(evaluators)
        rescoring = Rescoring(opened, info, evaluators, dataset, OutputType(output_type), replace=replace)
        options = msgspec.structs.replace(options, seed=info.draw_seed)
        order = None if processes == 1 else rescoring.order(evaluators, dataset, output_type, options)
        incomplete = await rescoring.judge_all(options, progress, order=order, processes=processes)
        outdate(opened, info.id, sorted(rescoring.asked.intersection(info.columns)), "judged_again")
        if rescoring.unread and rescoring.has_analyses:
            opened.can_lack_values = could_lack  # what looks at the whole report must not see texts of ours
        report = opened.report(info.id, keep="all" if rescoring.has_analyses else keep)
        if rescoring.has_analyses:
            await run_report_evaluators(report, (), rescoring.with_originals(report))
            opened.finish_run(info.id, status=info.status, report=report, generation=info.generation)
        rescoring.tell(report)
        report.incomplete = incomplete or report.incomplete
        report.budget, report.limits = rescoring.budget or report.budget, rescoring.limits
        return report
    finally:
        opened.can_lack_values = could_lack
        if opened is not store:
            opened.close()


class Rescoring:
    """One round of scoring a stored run, or several as its attempts come."""

    def __init__(
        self,
        store: Store,
        info: RunInfo,
        evaluators: Sequence[Any],
        dataset: Dataset[Any, Any, Any] | None,
        output: OutputType,
        *,
        replace: bool = False,
        placed: tuple[Plan, list[int]] | None = None,
    ) -> None:
        """A round in which nothing was judged yet; `placed` are the evaluators and their places, where the run has them already."""
        self.store = store
        self.info = info
        self.counts = Reuse(run=info.id)
        self.spent = 0.0
        """What was paid for new judgements, as far as is known."""
        self.plan, self.places = placed or _placed(store, info, evaluators, replace=replace)
        if placed is None:
            self.counts.notes += _beside_others(evaluators, self.plan, replace=replace)
        self.evaluators = store.run(info.id).evaluators
        self.columns = columns_of(self.evaluators)
        self.slots = EvaluatorSlots(self.evaluators, self.places)
        self.has_rollouts = any(
            isinstance(planned.evaluator, RolloutEvaluator) for planned in self.plan.evaluators
        )
        self.has_analyses = self.has_rollouts or any(
            analyses_reports(planned.evaluator) for planned in self.plan.evaluators
        )
        self._output = output
        self.judged_redacted = 0
        self.judged_bare = 0
        self.unread = 0
        """Attempts that were not judged, since large values of theirs cannot be read now."""
        self.changed = 0
        self.asked: set[str] = set()
        """Evaluators that had something to judge."""
        self.budget: BudgetUse | None = None
        """What became of the budget of this round."""
        self.limits: tuple[LimitUse, ...] = ()
        """What became of the limits of this round."""
        self._cases = DatasetCases(dataset)

    async def judge_all(
        self,
        options: Options,
        progress: Progress | None = None,
        *,
        positions: Sequence[int] | None = None,
        order: Order | None = None,
        processes: int = 1,
    ) -> Incomplete | None:
        """Judge every attempt that lacks a judgement, or those at some positions; returns why some were not, if so.

        Args:
            options: how to judge.
            progress: shows how far it has come.
            positions: of the attempts; default: all.
            order: what other processes have to do; `None`: there are none.
            processes: that judge, with this one.
        """
        with (
            Writer(self.store, self.info.id, generation=self.info.generation, pace=Pace(every=0.1)) as writer,
            ExitStack() as stack,
        ):
            loop = asyncio.get_running_loop()
            helpers: JudgingProcesses | None = None

            def take(told: Told) -> None:
                if told.cells:
                    writer.add_cells(told.cells)
                loop.call_soon_threadsafe(self._take_in, run, told)

            if order is not None:
                last = max((each.stop for each in self.store.done(self.info.id)), default=0) - 1
                helpers = JudgingProcesses(order, processes - 1, last, take)
            found = self.found(positions) if helpers is None else self._found_in(helpers.shares())
            run = self._run(self.works(found), options, writer)
            workers = LoopWorkers(run)
            run.give_up = workers.stop

            def interrupt(by: Signal) -> None:
                run.interrupt(by)
                workers.stop()
                if helpers is not None:
                    helpers.stop()

            counts = Counts(run, self.info.attempts - self.info.failures)
            stack.enter_context(nullcontext() if progress is None else progress(counts))
            stack.enter_context(on_interrupt(interrupt))
            stack.enter_context(sharing_limits(run))
            if helpers is not None:
                stack.enter_context(helpers)
            async with within_budget(run, self.plan, workers.stop, has_task=False):
                await workers.finish()
            if helpers is not None:
                await self._finish(helpers, run, options, writer)
            self.budget = None if run.ledger is None else run.ledger.use()
            self.limits = run.limits.uses
        if run.stopped is not None:
            ended = run.stopped.after(run.finished)
            return Incomplete(ended.kind, f"{ended} judged again", by=ended.by, during="scoring")
        _check_read(run)
        return None

    def _run(self, works: Iterator[Work], options: Options, sink: "Sink") -> "_Judging":
        """A run that judges stored attempts; a sink takes the cells."""
        return _Judging(
            Task(_never, self.info.task_name or "", is_async=True),
            WorkQueue(works),
            StoredResultsScoring(timeout=options.evaluator_timeout, retry=options.retry_evaluators),
            NO_SPANS,
            options,
            _Journal(self, sink),
        )

    async def _finish(
        self, helpers: JudgingProcesses, run: "_Judging", options: Options, writer: Writer
    ) -> None:
        """Wait for other processes, and judge what they were given and have not judged."""
        await helpers.finish()
        await asyncio.sleep(0)  # what they told last is taken in
        if helpers.problems:
            self.counts.notes.append(
                f"another process did not judge its share, so it was judged here: {helpers.problems[0]}"
            )
        for share in helpers.lost if run.stopped is None else ():
            run.finished += await self.judge_share(options, share, writer)

    async def judge_share(self, options: Options, share: tuple[int, int], sink: "Sink") -> int:
        """Judge the attempts in a stretch of positions; returns how many were."""
        run = self._run(self.works(self._found_in([share])), options, sink)
        workers = LoopWorkers(run)
        run.give_up = workers.stop
        with sharing_limits(run):
            await workers.finish()
        _check_read(run)
        return run.finished

    def order(
        self,
        evaluators: Sequence[Any],
        dataset: Dataset[Any, Any, Any] | None,
        output_type: Any,
        options: Options,
    ) -> Order:
        """What other processes need to know to judge a share.

        Raises:
            InvalidOptionError: they cannot read the store.
        """
        path = file_of(self.store)
        if path is None:
            raise InvalidOptionError(
                "other processes can read a store in an SQLite file alone: leave out processes="
            )
        names = self.plan.names
        return Order(str(path), self.info.id, evaluators, names, self.places, dataset, output_type, options)

    def taken_counts(self) -> Told:
        """What was counted since the last time."""
        told = Told(
            attempts_reused=self.counts.attempts_reused,
            cells_reused=self.counts.cells_reused,
            cells_computed=self.counts.cells_computed,
            judged_as_plain=self.counts.judged_as_plain,
            judged_redacted=self.judged_redacted,
            judged_bare=self.judged_bare,
            changed=self.changed,
            unread=self.unread,
            spent=self.spent,
            asked=sorted(self.asked),
        )
        self.counts = Reuse(run=self.info.id)
        self.judged_redacted = self.judged_bare = self.changed = self.unread = 0
        self.spent = 0.0
        self.asked.clear()
        return told

    def _take_in(self, run: "_Judging", told: Told) -> None:
        """Add what another process counted."""
        run.finished += told.finished
        self.counts.attempts_reused += told.attempts_reused
        self.counts.cells_reused += told.cells_reused
        self.counts.cells_computed += told.cells_computed
        self.counts.judged_as_plain += told.judged_as_plain
        self.judged_redacted += told.judged_redacted
        self.judged_bare += told.judged_bare
        self.changed += told.changed
        self.unread += told.unread
        self.spent += told.spent
        self.asked.update(told.asked)

    def found(
        self, positions: Sequence[int] | None = None
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """The finished attempts with their cells, or those at some positions."""
        if positions is None:
            yield from self.store.judged(self.info.id, failed=False)
        else:
            listed = self.store.judged_at(self.info.id, positions)
            yield from (pair for pair in listed if not pair[0].failed)

    def _found_in(
        self, shares: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """Those in some stretches of positions."""
        for first, stop in shares:
            for attempt, cells in self.store.judged(self.info.id, after=first - 1, failed=False):
                if attempt.position < stop:
                    yield attempt, cells
                if attempt.position >= stop - 1:
                    break

    def works(self, found: Iterable[tuple[StoredAttempt, list[StoredCell]]]) -> Iterator[Work]:
        """Stored attempts as work that only has to be judged."""
        wanted = set(self.places)
        for attempt, cells in found:
            known = {
                cell.evaluator: cell_notes(cell.body)
                for cell in cells
                if cell.evaluator in wanted and not has_failed(cell.body)
            }
            lacking = len(known) < len(wanted) or any(notes.as_plain for notes in known.values())
            if lacking and attempt.unread is not None:
                self.unread += 1
                continue
            self.counts.attempts_reused += 1
            work = self._work(attempt, cells, known) if lacking else None
            if work is None:
                self.counts.cells_reused += len(wanted)
            else:
                yield work

    def _work(
        self, attempt: StoredAttempt, cells: list[StoredCell], known: dict[int, CellNotes]
    ) -> Work | None:
        """A stored attempt as work; `None` if all its results hold."""
        record = unpack(attempt, (), self.evaluators)
        assert isinstance(record, ReportCase)
        notes = attempt_notes(attempt.output)
        case = self._cases.of(attempt)
        redacted = notes.redacted or (notes.redacted_case and case is None)
        as_plain = redacted or notes.rich_attributes or (notes.rich_case and case is None)
        bare = case is None and not self.info.keeps_settings
        lacking = notes.rich_case or notes.redacted_case or not self.info.keeps_settings
        made = ["case"] if lacking and case is not None else []
        if notes.rich:
            record.output, restored = self._output.restored(record.output, notes.form)
            as_plain = as_plain or not restored
            made += [f"output as {type(record.output).__qualname__}"] if restored else []
        present = {place for place, told in known.items() if not told.as_plain or set(made) <= set(told.made)}
        if len(present) == len(self.places):
            return None
        if case is None:
            expected: dict[str, Any] = (
                {"expected_output": record.expected_output} if record.has_expected_output else {}
            )
            if record.expected_tool_calls is not None and not notes.rich_case:
                expected["expected_tool_calls"] = record.expected_tool_calls
            case = Case(
                name=attempt.case_name,
                inputs=record.inputs,
                metadata=record.metadata,
                cluster=record.cluster,
                tags=record.tags,
                timeout=timeout_of(attempt),
                **expected,
            )
            case.fault = record.fault
        plan = self.plan
        if present:
            pairs = zip(self.places, self.plan.evaluators, strict=True)
            plan = Plan([planned for place, planned in pairs if place not in present], self.plan.results)
        lacking_spans = NOT_CAPTURED if self.info.seed is None else NO_SPANS
        spans = lacking_spans if notes.spans is None else SpanTree.from_dict(notes.spans)
        recalled = Recalled(
            record=record,
            spans=spans,
            source=RescoringSource(
                self.evaluators,
                self.columns,
                attempt,
                cells,
                notes,
                as_plain=as_plain,
                redacted=redacted,
                made=tuple(made),
                bare=bare,
            ),
        )
        return Work(
            attempt.position, case, attempt.name, attempt.case_name, attempt.repeat, plan, None, recalled
        )

    def tell(self, report: Report) -> None:
        """Put into a report what was done in this round."""
        report.reuse = self.counts
        self._count_costs(report)
        for note, count in (
            (WITHOUT_HIDDEN, self.judged_redacted),
            (_WITHOUT_SETTING, self.judged_bare),
            (_UNREAD, self.unread),
            (CHANGED, self.changed),
        ):
            if count:
                self.counts.notes.append(f"{note}: {count}")

    def _count_costs(self, report: Report) -> None:
        """Note what was paid for before: the attempts, and all judgements but the new ones."""
        if report.keeps_all or (report.totals is not None and report.totals.costs is not None):
            costs = report.costs()
            agent, judges = (
                0.0 if one is None else max(0.0, (one.total or 0.0) - one.paid_before)
                for one in (costs.agent, costs.judges)
            )
            self.counts.agent_cost_reused = agent
            self.counts.judge_cost_reused = max(0.0, judges - self.spent)

    def new_cells(self, work: Work, attempt: Attempt, record: ReportCase) -> list[StoredCell]:
        """The new cells of an attempt."""
        found = attempt.recalled.source if attempt.recalled is not None else None
        assert isinstance(found, RescoringSource)
        asked = attempt.asked or {}
        self.asked.update(asked)
        self.counts.cells_computed += len(asked)
        spent = spent_by_judges(record)
        self.spent += sum(paid_now(amounts) for name, amounts in spent.items() if name in asked)
        self.counts.cells_reused += len(self.plan.evaluators) - len(asked)
        self.counts.judged_as_plain += found.as_plain
        self.judged_redacted += found.redacted
        cells = pack_cells(record, work.position, self.slots)
        said = {cell.evaluator for cell in cells}
        for place, planned in zip(self.places, self.plan.evaluators, strict=True):
            if planned.name in asked and place not in said:
                # It had nothing to say, which replaces what it said before.
                cells.append(
                    StoredCell(position=work.position, evaluator=place, body=f'{{"format":{FORMAT}}}')
                )
        changed = attempt.changed_from is not None
        self.changed += changed
        if not (self.has_rollouts or found.as_plain or found.holds_code or changed or any(asked.values())):
            return cells
        by_place = dict(zip(self.places, self.plan.evaluators, strict=True))
        self.judged_bare += found.bare and any("case" in looked for looked in asked.values())
        for cell in cells:
            planned = by_place[cell.evaluator]
            looked = asked.get(planned.name, frozenset())
            as_plain = found.as_plain or (found.bare and "case" in looked)
            notes = CellNotes(
                # The evaluators before it, and the code in what it judges, may be those of another run.
                after="" if "results" in looked or changed or found.holds_code else None,
                seed=self.info.draw_seed if "seed" in looked else None,
                case="" if "case" in looked else None,
                as_plain=as_plain,
                made=found.made if as_plain else (),
                original=original_of(record, planned),
            )
            cell.body = with_notes(cell.body, notes)
        return cells

    def with_originals(self, report: Report) -> Plan:
        """The plan, after giving the report's results what rollout metrics returned, in this round or earlier."""
        names = {attempt.position: attempt.name for attempt in self.store.attempts(self.info.id, parts=False)}
        originals: dict[tuple[str, str], Any] = {}
        for place, planned in zip(self.places, self.plan.evaluators, strict=True):
            is_rollout = isinstance(planned.evaluator, RolloutEvaluator)
            if is_rollout or analyses_reports(planned.evaluator):
                # It is combined anew.
                report.analyses = [each for each in report.analyses if each.title != planned.name]
            if not is_rollout:
                continue
            for cell in self.store.cells(self.info.id, evaluator=place):
                original = read_metrics(cell_notes(cell.body).original)
                if original is not None:
                    originals[names[cell.position], planned.name] = original
        for case in report.cases:
            case.results = tuple(
                msgspec.structs.replace(result, original=originals.get((case.name, result.evaluator)))
                for result in case.results
            )
        return self.plan


class _Judging(Run):
    """A run that judges stored attempts, and keeps nothing in memory."""

    @override
    def spends(self, work: Work) -> bool:
        return True

    @override
    def keep(self, position: int, record: Record) -> None:
        self.finished += 1


class Sink(Protocol):
    """Takes new cells: a writer, or what sends them to one."""

    def add_cells(self, cells: Sequence[StoredCell]) -> None:
        """Take the cells of an attempt."""
        ...


class _Journal:
    """Hands new cells to a sink."""

    def __init__(self, rescoring: Rescoring, sink: Sink) -> None:
        self._rescoring = rescoring
        self._sink = sink
        self.name = rescoring.info.name
        self.seed = rescoring.info.draw_seed
        self.recalls = False

    def spent(self) -> dict[Side, Spent]:
        """Nothing: the budget of a round is for that round."""
        return {}

    def recorded(self) -> Iterator[Record]:
        """Nothing: no run is resumed."""
        return iter(())

    def follow(self, spent: Callable[[], Mapping[Side, Spent]]) -> None:
        """Nothing, for the same reason."""

    def prepared(self, items: Iterator[Work]) -> Iterator[Work]:
        """The work as it is."""
        return items

    def append(self, work: Work, attempt: Attempt, record: Record) -> None:
        """Store the new cells of an attempt."""
        assert isinstance(record, ReportCase)
        self._sink.add_cells(self._rescoring.new_cells(work, attempt, record))

    def finish(self, report: Report | None, *, broken: bool = False) -> Reuse:  # noqa: ARG002 - the report is made of what is stored
        """How much was done."""
        return self._rescoring.counts

    def ended_late(self) -> None:
        """Nothing: the task is not called."""


def _check_read(run: Run) -> None:
    """Raise what kept attempts from being read."""
    broken = run.queue.broken
    if isinstance(broken, CalipersError):
        raise broken
    if broken is not None:
        _, message, _ = describe_error(broken)
        raise StoreError(f"the attempts could not be read: {message}") from broken


async def judging_of(store: Store, order: Order) -> Rescoring:
    """A round of scoring that another process has begun."""
    await prepare(order.evaluators)
    named = zip(order.evaluators, order.names, strict=True)
    plan = Plan([PlannedEvaluator(as_evaluator(each), name) for each, name in named])
    return Rescoring(
        store,
        store.run(order.run),
        order.evaluators,
        order.dataset,
        OutputType(order.output_type),
        placed=(plan, list(order.places)),
    )


def _never(_: Any) -> Any:
    raise StoreError("scoring a stored run never calls the task")


def _dropped(store: Store, info: RunInfo, names: Sequence[str]) -> RunInfo:
    """The run without some of its evaluators."""
    for name in names:
        if name not in info.columns:
            known = ", ".join(map(repr, info.columns)) or "none"
            raise InvalidOptionError(f"run {info.id!r} has no evaluator {name!r} to drop; there are: {known}")
    outdate(store, info.id, names, "dropped")
    store.supersede(
        info.id, [place for place, evaluator in enumerate(info.evaluators) if evaluator.name in names]
    )
    return store.run(info.id)


def _placed(
    store: Store, info: RunInfo, evaluators: Sequence[Any], *, replace: bool
) -> tuple[Plan, list[int]]:
    """The evaluators under names of their own, and their places in the run; new ones are added."""
    for left in reversed(range(_TRIES)):
        others = [one for one in info.evaluators if not replace or not one.shared]
        plan = Plan([_named(evaluator, others) for evaluator in evaluators])
        if len(set(plan.names)) < len(evaluators):
            raise InvalidOptionError(f"each evaluator needs a name of its own, got {list(plan.names)}")
        identities = EvaluatorIdentities(plan)
        keys = {planned.name: identities.of(planned).key for planned in plan.evaluators}
        known = {
            one.name: place
            for place, one in enumerate(info.evaluators)
            if not one.superseded and one.identity is not None and one.identity == keys.get(one.name)
        }
        new = [planned for planned in plan.evaluators if planned.name not in known]
        stored = [msgspec.structs.replace(identities.of(planned).stored, added=True) for planned in new]
        outdate(store, info.id, [planned.name for planned in new if planned.name in info.columns], "replaced")
        outdate(
            store, info.id, [planned.name for planned in new if planned.name not in info.columns], "added"
        )
        try:
            added = store.add_evaluators(
                info.id, stored, instead=replace, alone=not replace, generation=info.generation
            )
        except NameTakenError:
            # Another process scores the run and has taken a name first.
            if not left:
                raise
            info = store.run(info.id)
            continue
        known.update({planned.name: place for planned, place in zip(new, added, strict=True)})
        return plan, [known[planned.name] for planned in plan.evaluators]
    raise AssertionError("unreachable")


def _beside_others(evaluators: Sequence[Any], plan: Plan, *, replace: bool) -> Iterator[str]:
    """A note for each evaluator whose name another one has."""
    for x, planned in zip(evaluators, plan.evaluators, strict=True):
        name = as_evaluator(x).get_default_evaluation_name()
        if name == planned.name:
            continue
        identity = evaluator_identity(x)
        if replace:
            yield (
                f"evaluator {name} of the run belongs to single cases and was not replaced: the new one is called "
                f"{planned.name}, and both count; drop=[{name!r}] (--drop {name}) leaves the other one out"
            )
        elif isinstance(identity, Unknown):
            yield (
                f"evaluator {name} cannot be compared with the one in the run, so the new one is called {planned.name}, and "
                f"both count; replace=True (--replace) puts it in its place ({identity.reason})"
            )
        else:
            yield (
                f"evaluator {name} of the run is another one, so the new one is called {planned.name}, and both count; "
                "replace=True (--replace) puts it in its place"
            )


def _named(x: Any, stored: Sequence[StoredEvaluator]) -> PlannedEvaluator:
    """An evaluator under its own name or, where another one of the run has that, `_2` and so on."""
    evaluator = as_evaluator(x)
    identity = evaluator_identity(x)
    keys: dict[str, set[str | None]] = {}
    for one in stored:
        if not one.superseded:
            # Each case may bring another evaluator of the name.
            keys.setdefault(one.name, set()).add(one.identity if one.shared else None)
    base = name = evaluator.get_default_evaluation_name()
    number = 2
    while name in keys and (None in keys[name] or keys[name] != {evaluator_key(identity, name)}):
        name, number = f"{base}_{number}", number + 1
    return PlannedEvaluator(evaluator, name)


class RescoringSource:
    """A stored attempt that is judged again, with its earlier results."""

    def __init__(
        self,
        evaluators: Sequence[StoredEvaluator],
        columns: Sequence[str],
        attempt: StoredAttempt,
        cells: Sequence[StoredCell],
        notes: AttemptNotes,
        *,
        as_plain: bool,
        redacted: bool,
        made: tuple[str, ...],
        bare: bool,
    ) -> None:
        self._evaluators = evaluators
        self._columns = columns
        self._attempt = attempt
        self._cells = cells
        self.as_plain = as_plain
        self.redacted = redacted
        self.made = made
        self.holds_code = notes.code is not None or notes.output_code is not None
        """Whether its case or its output holds objects of the project's own classes, or functions."""
        self.bare = bare
        """Whether the tags and the timeout of its case are not known."""

    def earlier(self, said: list[EvaluationResult]) -> Earlier:
        """The results that evaluators may look at: stored ones, and those of this round."""
        return Earlier(self._columns, _EarlierResults(self, said))

    def results(self) -> tuple[EvaluationResult, ...]:
        """The results that the run has already."""
        return unpack_cells(self._cells, facts_of(self._attempt), self._evaluators)[0]


class _EarlierResults:
    """Stored results, which are read only when an evaluator looks, then those of this round."""

    def __init__(self, found: RescoringSource, said: list[EvaluationResult]) -> None:
        self._found = found
        self._said = said

    def __iter__(self) -> Iterator[EvaluationResult]:
        yield from self._found.results()
        yield from self._said


class StoredResultsScoring(NotedScoring):
    """Scoring whose evaluators may look at stored results."""

    @override
    def _show(
        self,
        attempt: Attempt,
        plan: Plan,
        ctx: EvaluatorContext[Any, Any, Any],
        results: list[EvaluationResult],
    ) -> None:
        assert attempt.recalled is not None
        ctx._earlier = attempt.recalled.source.earlier(results)  # noqa: SLF001 - as its base class does


class DatasetCases:
    """The cases of a dataset by their content, and by name where several have the same content."""

    def __init__(self, dataset: Dataset[Any, Any, Any] | None) -> None:
        self._named: dict[tuple[bytes, str], Case[Any, Any, Any]] = {}
        self._only: dict[bytes, Case[Any, Any, Any] | None] = {}
        for work in () if dataset is None else work_items(dataset.cases, Plan([])):
            key = None if work.problem is not None else case_key(work.case)
            if key is not None:
                self._named[key, work.case_name] = work.case
                self._only[key] = None if key in self._only else work.case

    def of(self, attempt: StoredAttempt) -> Case[Any, Any, Any] | None:
        """The case of an attempt; `None` if there is none, or several that it could be."""
        if attempt.case_hash is None:
            return None
        named = self._named.get((attempt.case_hash, attempt.case_name))
        return self._only.get(attempt.case_hash) if named is None else named


def outdate(store: Store, run: str, names: Collection[str], change: EvaluatorChange) -> None:
    """Note in the analyses of a run that some of its evaluators change; what those combined themselves is removed."""
    info = store.run(run)
    report = bare_report(info)
    if not names or not report.analyses:
        return
    left = [
        analysis if _is_of(analysis, info.columns) else _outdated(analysis, names, change)
        for analysis in report.analyses
        if not _is_of(analysis, names)
    ]
    if left != report.analyses:
        report.analyses = left
        store.finish_run(
            run, status=info.status, report=report, ended_at=info.ended_at, generation=info.generation
        )


def _is_of(analysis: Analysis, names: Collection[str]) -> bool:
    """Whether it is what a rollout metric of these combined."""
    return isinstance(analysis, Aggregate) and analysis.title in names


def _outdated(analysis: Analysis, names: Collection[str], change: EvaluatorChange) -> Analysis:
    """The analysis with a change noted; of each evaluator, the first change counts."""
    return msgspec.structs.replace(analysis, outdated=dict.fromkeys(names, change) | analysis.outdated)
