"""An attempt and evaluators in, results out.

Evaluators of an attempt run one after the other, those of the case before those of the dataset, so that each may look
at the results before it (`ctx.results`). They run on the event loop's thread; with an `evaluator_timeout`, synchronous
ones run in worker threads instead, so that one that hangs can be left behind.

Names are settled before anything runs: those of the dataset's evaluators first, so that a column means the same in
every case, whatever evaluators a single case adds. A name that is taken gets `_2`, `_3`, and so on.
"""

import asyncio
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from math import isfinite
from time import perf_counter
from typing import Any, TypeAlias

import msgspec

from .context import EvaluatorContext
from .errors import AttemptTimeoutError, NotAnEvaluatorError
from .evaluator import Evaluator
from .interrupt import is_interrupt
from .output import Abstention, read_parts
from .plain import snapshot
from .recalled import Cell
from .record import ReportCase, told_calls
from .result import (
    EvaluationResult,
    EvaluatorFailure,
    EvaluatorSpec,
    Scalar,
    SkippedEvaluation,
    describe_error,
)
from .styles import InjectedEvaluator, as_evaluator
from .task import BLOCKING_SECONDS, Attempt
from .threads import call_in_thread, settled

_FREQUENT_LABELS = 100
"""Labels of an evaluator that are kept to be shared, and the length they may have."""


_Said: TypeAlias = tuple[list[EvaluationResult], list[EvaluatorFailure], list[SkippedEvaluation]]
"""What the judges of an attempt have said so far: results, failures and skips."""

_NOTHING: frozenset[str] = frozenset()

MEASURABLE = 0.05
"""A timeout shorter than this is judged with so much patience, for the event loop has other things to do."""


class Judge:
    """One evaluator of a run, ready to be called, under the name it has in this run."""

    __slots__ = (
        *("evaluate", "evaluator", "false", "is_async", "labels", "may_look", "name", "source", "true"),
        "version",
    )

    def __init__(self, evaluator: Evaluator[Any, Any, Any], name: str) -> None:
        self.evaluator = evaluator
        self.evaluate = evaluator.evaluate
        self.name = name
        self.source = evaluator.as_spec()
        if not isinstance(self.source, EvaluatorSpec):
            raise NotAnEvaluatorError(
                f"as_spec of {evaluator!r} must give an EvaluatorSpec, got {self.source!r}"
            )
        version = evaluator.get_evaluator_version()
        self.version = None if version is None else str(version)
        called = evaluator.function if isinstance(evaluator, InjectedEvaluator) else evaluator.evaluate
        self.is_async = inspect.iscoroutinefunction(called)
        self.may_look = not isinstance(evaluator, InjectedEvaluator) or evaluator.may_look
        # Results are immutable, so a bare True or False of one evaluator is one object in the whole report.
        self.true = self.bare(True)
        self.false = self.bare(False)
        self.labels: dict[str, EvaluationResult] = {}

    def result(self, name: str, **fields: Any) -> EvaluationResult:
        """A result of this evaluator."""
        return EvaluationResult(
            name=name, evaluator=self.name, source=self.source, evaluator_version=self.version, **fields
        )

    def bare(self, value: Scalar) -> EvaluationResult:
        """The result of a value without a reason."""
        return EvaluationResult(
            name=self.name,
            value=value,
            evaluator=self.name,
            source=self.source,
            evaluator_version=self.version,
        )

    def label(self, value: str) -> EvaluationResult:
        """The result of a label; a frequent label is one object in the whole report."""
        found = self.labels.get(value)
        if found is None:
            found = self.bare(value)
            if len(self.labels) < _FREQUENT_LABELS and len(value) < _FREQUENT_LABELS:
                self.labels[value] = found
        return found

    def failure(self, error: BaseException) -> EvaluatorFailure:
        """The record of this evaluator not finishing."""
        kind, message, stack = describe_error(error)
        return EvaluatorFailure(
            name=self.name, error_type=kind, error_message=message, error_stacktrace=stack, source=self.source
        )


class Plan:
    """The judges of an attempt, in the order they run."""

    __slots__ = ("judges", "keys", "may_look", "names", "needs_spans", "nothing_noted")

    def __init__(self, judges: Sequence[Judge], keys: dict[tuple[str, str], str] | None = None) -> None:
        self.judges = tuple(judges)
        # What each evaluator's keys are called. The plans of a run share it, so that a name means the same evaluator in
        # every attempt, also where another one that uses the key was skipped or failed.
        self.keys = {} if keys is None else keys
        self.names = tuple(judge.name for judge in judges)
        self.needs_spans = any(judge.evaluator.needs_spans for judge in judges)
        self.may_look = any(judge.may_look for judge in judges)
        self.nothing_noted = dict.fromkeys(self.names, _NOTHING)
        """What is noted of most attempts: every judge was asked, and none looked beyond the attempt."""

    def name_of(self, judge: Judge, key: str) -> str:
        """What a key of an evaluator's mapping is called in this run."""
        others = {name for name in self.names if name != judge.name}
        name = self.keys.get((judge.name, key))
        if name is None:
            claimed = {name for (owner, _), name in self.keys.items() if owner != judge.name}
            name = self.keys[judge.name, key] = unique(key, others | claimed)
        # A case of its own may bring an evaluator of that name.
        return unique(name, others)

    def claims(self, judge: Judge, cell: Cell) -> bool:
        """Whether the results of a recalled cell may have their names in this run; from then on they are its own.

        The keys of a mapping are named in the order they are met, so that another evaluator may have such a name now.
        """
        names = [result.name for result in cell.results if result.name != judge.name]
        names += [skip.name for skip in cell.skipped if skip.key_of is not None]
        for name in names:
            owner = next((owner for (owner, _), taken in self.keys.items() if taken == name), judge.name)
            if owner != judge.name or name in self.names:
                return False
        for name in names:
            self.keys.setdefault((judge.name, name), name)
        return True


def make_plan(evaluators: Iterable[Any], extend: Plan | None = None) -> Plan:
    """A plan for evaluators of any style; with `extend`, they run before that plan's and yield it the names."""
    taken = set(extend.names) if extend else set()
    judges: list[Judge] = []
    for x in evaluators:
        try:
            evaluator = as_evaluator(x)
            judges.append(Judge(evaluator, unique(evaluator.get_default_evaluation_name(), taken)))
        except Exception:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise NotAnEvaluatorError(
                f"an evaluator of type {type(x).__name__} cannot be asked for its name: {describe_error(error)[1]}"
            ) from error
        taken.add(judges[-1].name)
    return Plan([*judges, *extend.judges], extend.keys) if extend else Plan(judges)


def unique(name: str, taken: set[str]) -> str:
    """The name, or the name with the first of `_2`, `_3`, … that is free."""
    if name not in taken:
        return name
    count = 2
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"


TASK = "(task)"
"""Under this name, `Report.blocked` tells of an async task that held the event loop."""


class BlockedLoop(msgspec.Struct):
    """How a synchronous evaluator, or an async task, held up the event loop."""

    count: int = 0
    """How often it did for longer than `BLOCKING_SECONDS`."""
    longest: float = 0.0
    """Seconds."""


class Scoring:
    """Judges attempts, and notes which evaluators held the event loop."""

    def __init__(self, *, timeout: float | None = None) -> None:
        self.timeout = timeout
        self.stopping = False
        """Whether a cancellation is the end of the run, not an evaluator's own doing."""
        self.blocked: dict[str, BlockedLoop] = {}

    def context(self, attempt: Attempt) -> EvaluatorContext[Any, Any, Any]:
        """The attempt as its evaluators see it."""
        case = attempt.case
        return EvaluatorContext(
            name=attempt.case_name,
            inputs=attempt.inputs,
            metadata=case.metadata,
            expected_output=case.expected_output,
            output=attempt.output,
            duration=attempt.duration,
            _span_tree=attempt.spans,
            attributes=attempt.attributes,
            metrics=attempt.metrics,
            trace=attempt.trace,
            _attempt=attempt,
        )

    async def score(self, attempt: Attempt, plan: Plan, ctx: EvaluatorContext[Any, Any, Any]) -> ReportCase:
        """What the evaluators of the plan say of an attempt whose task finished."""
        said: _Said = ([], [], [])
        ctx._earlier = said[0]  # noqa: SLF001 - the scorer fills in what earlier judges said
        await self._ask(plan.judges, plan, ctx, said)
        return self._record(attempt, said)

    async def _ask(
        self, judges: Iterable[Judge], plan: Plan, ctx: EvaluatorContext[Any, Any, Any], said: _Said
    ) -> None:
        """Add what the judges say."""
        results, failures, skipped = said
        before = perf_counter()
        for judge in judges:
            waits = self.timeout is not None
            try:
                output = judge.evaluate(ctx) if self.timeout is None else await self._timed(judge, ctx)
                # The common outputs come first: this loop is most of what a run costs beyond the user's own code.
                if output is True or output is False:
                    results.append(judge.true if output else judge.false)
                elif type(output) is float and isfinite(output):
                    results.append(judge.bare(output))
                elif type(output) is str:
                    results.append(judge.label(output))
                else:
                    if isawaitable(output):
                        self.note(judge.name, perf_counter() - before)
                        waits = True
                        output, error = await settled(_same, output)
                        if error is not None:
                            raise error  # noqa: TRY301 - it is told as any other
                        waits = False
                        before = perf_counter()
                    self._take(output, judge, plan, results, skipped)
            except BaseException as error:
                if is_interrupt(error) or (waits and isinstance(error, GeneratorExit)):
                    raise
                if self.stopping and isinstance(error, asyncio.CancelledError):
                    raise
                failures.append(judge.failure(error))
            now = perf_counter()
            if now - before > BLOCKING_SECONDS:
                self.note(judge.name, now - before)
            before = now

    def _take(
        self,
        output: Any,
        judge: Judge,
        plan: Plan,
        results: list[EvaluationResult],
        skipped: list[SkippedEvaluation],
    ) -> None:
        """Turn a legal output into results; one that is a mapping names them itself."""
        parts = read_parts(output)
        if all(type(part) is Abstention for part in parts):
            reasons = "; ".join(part.reason or "" for part in parts)
            skipped.append(SkippedEvaluation(judge.name, reasons, original=parts[0].original))
            return
        keys: set[str] = set()
        for part in parts:
            name = judge.name
            if part.key is not None:
                only = unique(part.key, keys)
                keys.add(only)
                name = plan.name_of(judge, only)
            if isinstance(part, Abstention):
                skipped.append(SkippedEvaluation(name, part.reason, key_of=judge.name))
                continue
            _, value, reason, verdict, score, metadata, original = part
            results.append(
                judge.result(
                    name,
                    value=value,
                    reason=reason,
                    verdict=verdict,
                    score=score,
                    metadata=metadata,
                    original=original,
                )
            )

    def note(self, name: str, seconds: float) -> None:
        """Note who has held the event loop for too long; with a timeout, synchronous evaluators run elsewhere."""
        if seconds > BLOCKING_SECONDS and (self.timeout is None or name == TASK):
            noted = self.blocked.setdefault(name, BlockedLoop())
            noted.count += 1
            noted.longest = max(noted.longest, seconds)

    async def _timed(self, judge: Judge, ctx: EvaluatorContext[Any, Any, Any]) -> Any:
        """The judge's output, or an error when it takes longer than the timeout."""
        assert self.timeout is not None
        late = AttemptTimeoutError(f"exceeded evaluator_timeout={self.timeout:g} s")
        deadline = perf_counter() + self.timeout
        if judge.is_async:
            output: Any = judge.evaluate(ctx)
        else:
            output = await within(self.timeout, call_in_thread(judge.evaluate, ctx), late)
        if isawaitable(output):
            output = await within(max(0.0, deadline - perf_counter()), output, late)
        return output

    def _record(self, attempt: Attempt, said: _Said) -> ReportCase:
        case = attempt.case
        results, failures, skipped = said
        return ReportCase(
            name=attempt.name,
            inputs=attempt.inputs,
            metadata=case.metadata,
            expected_output=case.expected_output,
            output=attempt.output,
            metrics=attempt.metrics,
            attributes=attempt.attributes,
            results=tuple(results),
            evaluator_failures=tuple(failures),
            skipped=tuple(skipped),
            task_duration=attempt.duration,
            total_duration=attempt.duration,
            source_case_name=attempt.case_name if attempt.name is not attempt.case_name else None,
            cluster=case.cluster,
            tags=case.tags,
            tries=attempt.tries,
            has_expected_output=case.has_expected_output,
            expected_tool_calls=None
            if case.expected_tool_calls is None
            else told_calls(case.expected_tool_calls),
            trace_id=attempt.trace_id,
            span_id=attempt.span_id,
            trace=attempt.trace,
        )


class NotedScoring(Scoring):
    """Judges attempts for a run that keeps a journal.

    What is recalled of an attempt is taken as it is, and only the other judges are asked. It is noted which of them
    looked beyond the attempt: at earlier results, or at the seed. An output that one of them changed is shown as the task
    returned it, where that can be told.
    """

    async def score(self, attempt: Attempt, plan: Plan, ctx: EvaluatorContext[Any, Any, Any]) -> ReportCase:
        """What the evaluators of the plan say of an attempt, or are known to have said."""
        said: _Said = ([], [], [])
        looked: set[str] = set()
        ctx._asked = looked  # noqa: SLF001 - the scorer asks what judges look at
        self._show(attempt, ctx, said[0])
        known = {} if attempt.recalled is None else attempt.recalled.cells
        before = snapshot(attempt.output) if len(known) < len(plan.judges) else None
        if attempt.recalled is None:
            noted: dict[str, frozenset[str]] = {}
            judges = _watched(plan.judges, looked, noted) if plan.may_look else plan.judges
            await self._ask(judges, plan, ctx, said)
            attempt.asked = {**plan.nothing_noted, **noted} if noted else plan.nothing_noted
        else:
            noted = attempt.asked = {}
            await self._ask(_lacking(plan, attempt.recalled.cells, said, looked, noted), plan, ctx, said)
        if before is not None and snapshot(attempt.output) != before:
            attempt.changed_from = msgspec.json.decode(before.text)
            if before.is_plain:
                attempt.output = attempt.changed_from
        return self._record(attempt, said)

    def _show(
        self,
        attempt: Attempt,  # noqa: ARG002 - for those who know of results that no judge of this run made
        ctx: EvaluatorContext[Any, Any, Any],
        results: list[EvaluationResult],
    ) -> None:
        """Let the judges of an attempt see what earlier ones said, or will have said."""
        ctx._earlier = results  # noqa: SLF001 - the scorer fills in what earlier judges said


def _watched(judges: Iterable[Judge], looked: set[str], noted: dict[str, frozenset[str]]) -> Iterator[Judge]:
    """The judges; after each has judged, it is noted if it looked beyond the attempt."""
    for judge in judges:
        yield judge
        if looked:
            noted[judge.name] = frozenset(looked)
            looked.clear()


def _lacking(
    plan: Plan, cells: Mapping[str, Cell], said: _Said, looked: set[str], noted: dict[str, frozenset[str]]
) -> Iterator[Judge]:
    """The judges that have no cell to be taken; what the others said is added where their turn would have been."""
    results, failures, skipped = said
    holds = True
    """Whether all that was said so far is what was said then."""
    for judge in plan.judges:
        cell = cells.get(judge.name)
        if cell is not None and (holds or not cell.saw_results) and plan.claims(judge, cell):
            results.extend(cell.results)
            failures.extend(cell.failures)
            skipped.extend(cell.skipped)
            continue
        holds = False
        looked.clear()
        yield judge
        noted[judge.name] = frozenset(looked)


async def within(seconds: float, awaitable: Any, late: Exception) -> Any:
    """The awaitable's result, or the error `late` once the time is over.

    What ignores its cancellation is left behind rather than waited for.
    """
    task = asyncio.ensure_future(settled(_same, awaitable))
    start = perf_counter()
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    # What blocked the event loop past its time is late too, though nobody could interrupt it.
    if done and perf_counter() - start <= max(seconds, MEASURABLE):
        output, error = task.result()
        if error is not None:
            raise error
        return output
    task.cancel()
    raise late


def _same(awaitable: Any) -> Any:
    return awaitable
