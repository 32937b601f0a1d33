"""An attempt and evaluators in, results out.

The results of an attempt stand in the order of its evaluators, those of the case before those of the dataset. Evaluators that
wait (async ones) do so side by side; one that looks at the results before it (`ctx.results`) is asked when those are there. They
run on the event loop's thread; with an `evaluator_timeout`, synchronous ones run in worker threads instead, side by side too, so
that one that hangs can be left behind. Each evaluator judges the attempt as the task left it; see `evidence.py`.
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextvars import Context, copy_context
from functools import partial
from inspect import isawaitable
from math import isfinite
from time import perf_counter
from typing import Any, TypeAlias, cast

import msgspec
from typing_extensions import override

from calipers.data.attempt import Attempt, Notes, judging_notes, take_notes, waited_by
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import Abstention, read_parts
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, told_calls
from calipers.data.redaction import SHORTEST_KEY
from calipers.data.result import (
    EvaluationResult,
    EvaluatorFailure,
    SkippedEvaluation,
)
from calipers.data.result_names import Names, unique
from calipers.data.retry import Retry, RetryFunctions
from calipers.data.reuse import Cell
from calipers.errors import AttemptTimeoutError, EvaluatorContractError, InvalidOutputError
from calipers.process.interrupt import is_interrupt
from calipers.process.user_code import BLOCKING_SECONDS, STEP_SECONDS, call_in_thread, isolated, settled
from calipers.scoring.evaluator_plan import Plan, PlannedEvaluator
from calipers.scoring.evidence import Evidence, evidence

_Said: TypeAlias = tuple[list[EvaluationResult], list[EvaluatorFailure], list[SkippedEvaluation]]
"""What the evaluators of an attempt have said so far: results, failures and skips."""

_NOTHING: frozenset[str] = frozenset()
_NOT_AGAIN = (InvalidOutputError, EvaluatorContractError)
"""What an evaluator did by returning, not by failing: to ask it again would not help."""

MOST_THREADS = 100
"""Synchronous evaluators with a timeout that run at once."""

MEASURABLE = 0.05
"""A timeout shorter than this is judged with so much patience, for the event loop has other things to do."""


TASK = "(task)"
"""Under this name, `Report.blocked` tells of an async task that held the event loop."""


class BlockedLoop(msgspec.Struct):
    """How an evaluator, or an async task, held up the event loop."""

    count: int = 0
    """How often it did for longer than `BLOCKING_SECONDS`."""
    longest: float = 0.0
    """Seconds."""
    is_async: bool = False
    """Whether it is async, and held the loop between two awaits."""


class Scoring:
    """Judges attempts, and notes which evaluators held the event loop."""

    def __init__(self, *, timeout: float | None = None, retry: Retry | RetryFunctions | None = None) -> None:
        self.timeout = timeout
        self.retry = retry
        self.stopping = False
        """Whether a cancellation is the end of the run, not an evaluator's own doing."""
        self.blocked: dict[str, BlockedLoop] = {}
        self.held = 0.0
        """Seconds for which tasks and evaluators held the event loop, all together."""
        self.threads = asyncio.Semaphore(MOST_THREADS)
        self.met_keys = False
        """Whether an evaluator has returned a mapping, so that results have to be named."""
        self.tells_texts = False
        """Whether records may hold a text in which a secret may be beside what the task did: a reason, an error, a long label."""

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
        found = self.judged(attempt, plan, ctx)
        return found if isinstance(found, ReportCase) else await found

    def judged(
        self, attempt: Attempt, plan: Plan, ctx: EvaluatorContext[Any, Any, Any]
    ) -> ReportCase | Coroutine[Any, Any, ReportCase]:
        """The same at once where no evaluator has to be waited for, and otherwise to be awaited."""
        asking = self._begun(attempt, plan, ctx)
        if self.timeout is None and asking.ask_in_turn():
            return self._ended(asking)
        return self._waited_for(asking)

    async def _waited_for(self, asking: "_AttemptScoring") -> ReportCase:
        await asking.ask_all()
        return self._ended(asking)

    def _begun(self, attempt: Attempt, plan: Plan, ctx: EvaluatorContext[Any, Any, Any]) -> "_AttemptScoring":
        """The judgement of an attempt before the first question."""
        said: _Said = ([], [], [])
        ctx._earlier = Earlier(plan.names, said[0])  # noqa: SLF001 - the scorer fills in what earlier evaluators said
        return _AttemptScoring(self, attempt, plan, ctx, said, said, iter(plan.evaluators), evidence(ctx))

    def _ended(self, asking: "_AttemptScoring") -> ReportCase:
        """What came of it."""
        return self._record(asking.attempt, asking.plan, asking.said)

    def ends(self, error: BaseException) -> bool:
        """Whether what an evaluator raised is meant for the run: Ctrl-C, or a cancellation of ours."""
        return is_interrupt(error) or (self.stopping and issubclass(type(error), asyncio.CancelledError))

    def note(self, name: str, seconds: float, *, is_async: bool = False) -> None:
        """Note how long an evaluator or the task held the event loop; the report names those that did for too long."""
        self.held += seconds
        if seconds > BLOCKING_SECONDS:
            self.note_blocked(name, seconds, is_async=is_async)

    def note_blocked(self, name: str, seconds: float, *, is_async: bool) -> None:
        """Note that something held an event loop for too long, this one or that of another process."""
        noted = self.blocked.setdefault(name, BlockedLoop(is_async=is_async))
        noted.count += 1
        noted.longest = max(noted.longest, seconds)

    async def listen(
        self,
        attempt: Attempt,
        planned: PlannedEvaluator,
        contexts: "Callable[[], EvaluatorContext[Any, Any, Any]]",
        asked: "_Asked",
    ) -> None:
        """Hear an evaluator out, again and again while it fails and its tries are not used up; the outcome goes into `asked`."""
        notes = asked.notes or Notes()
        notes.begin_try()
        began = perf_counter() if asked.began is None else asked.began
        while True:
            if asked.error is None:
                asked.output, asked.error = await self._once(planned, asked, notes)
            if asked.error is None or asked.looked_too_early or self.ends(asked.error):
                break
            spent = perf_counter() - began
            if self.retry is None or not self.retry.again(asked.error, asked.tries, spent):
                break
            await asyncio.sleep(self.retry.pause(asked.tries, attempt.derived_seed(), asked.error, spent))
            asked.tries += 1
            asked.renew(contexts())
            notes.begin_try()
        asked.notes = notes

    async def _once(
        self, planned: PlannedEvaluator, asked: "_Asked", notes: Notes
    ) -> tuple[Any, BaseException | None]:
        """The evaluator's output, or what it raises; also when it takes longer than the timeout."""
        context = copy_context()
        context.run(take_notes, notes)
        hold = Hold(self, planned.name, is_async=True, whose=notes)
        output = asked.awaitable
        start, held = perf_counter(), self.held
        if output is None:
            if self.timeout is None or planned.is_async:
                output, error = _called(context, planned, asked.ctx)
                if not planned.is_async:
                    self.note(planned.name, perf_counter() - start)
            else:
                async with self.threads:
                    start, held = perf_counter(), self.held
                    output, error = await settled(
                        within,
                        self.timeout,
                        context.run(call_in_thread, planned.evaluate, asked.ctx),
                        self._late(),
                        hold.others,
                    )
            if error is not None or not isawaitable(output):
                return output, error
        coroutine = output if isinstance(output, types.CoroutineType) else _await(output)
        stepped = isolated(coroutine, context, hold.note)
        if self.timeout is None:
            return await settled(lambda: stepped)
        left = self.timeout - (perf_counter() - start) + (self.held - held) + waited_by(notes)
        return await settled(within, max(0.0, left), stepped, self._late(), hold.others)

    def _late(self) -> AttemptTimeoutError:
        return AttemptTimeoutError(f"exceeded evaluator_timeout={self.timeout:g} s")

    def _record(self, attempt: Attempt, plan: Plan, said: _Said) -> ReportCase:
        case = attempt.case
        results, skipped = tuple(said[0]), tuple(said[2])
        if self.met_keys:
            results, skipped = plan.results.named(results, skipped)
        # Python makes a dictionary of more than fifteen named arguments, which takes six times as long.
        record: ReportCase = ReportCase(
            name=attempt.name,
            inputs=attempt.inputs,
            metadata=case.metadata,
            expected_output=case.expected_output,
            output=attempt.output,
            metrics=attempt.metrics,
            attributes=attempt.attributes,
            results=results,
            skipped=skipped,
            task_duration=attempt.duration,
            total_duration=attempt.duration,
            tags=case.tags,
            has_expected_output=case.expected_output is not None or case.has_expected_output,
            trace=attempt.trace,
        )
        if said[1]:
            record.evaluator_failures = tuple(said[1])
            self.tells_texts = True
        if attempt.name is not attempt.case_name:
            record.source_case_name = attempt.case_name
        if attempt.tries != 1:
            record.tries = attempt.tries
        if attempt.span_id is not None or attempt.trace_id is not None:
            record.trace_id, record.span_id = attempt.trace_id, attempt.span_id
        if case.cluster is not None:
            record.cluster = case.cluster
        if case.fault is not None:
            record.fault = case.fault
        if case.expected_tool_calls is not None:
            record.expected_tool_calls = told_calls(case.expected_tool_calls)
        return record


class Earlier(msgspec.Struct):
    """What was said of an attempt so far, for evaluators that look; named by what was said of this attempt alone."""

    _evaluators: Iterable[str]
    _said: Iterable[EvaluationResult]

    def __iter__(self) -> Iterator[EvaluationResult]:
        return iter(Names(self._evaluators).named(tuple(self._said), ())[0])


class _Asked:
    """An evaluator that is waited for."""

    __slots__ = ("alone", "awaitable", "began", "ctx", "error", "notes", "output", "planned", "said", "tries")

    def __init__(
        self,
        planned: PlannedEvaluator,
        ctx: EvaluatorContext[Any, Any, Any],
        *,
        awaitable: Any = None,
        error: BaseException | None = None,
        began: float | None = None,
    ) -> None:
        self.planned = planned
        self.ctx = ctx
        self.awaitable = awaitable
        """What the evaluator returned; `None` if it has yet to be asked."""
        self.error = error
        self.began = began
        """When the first try began; `None` if it has yet to begin."""
        self.output: Any = None
        self.notes: Notes | None = None
        self.tries = 1
        self.alone = False
        """Whether no other may be waited for at the same time."""
        self.said: _Said = ([], [], [])
        """What later evaluators said that did not have to be waited for."""

    def renew(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        """Have the evaluator asked once more, with the results before it as far as they were there."""
        if isinstance(self.ctx._earlier, _NotYet):  # noqa: SLF001 - the scorer fills it in
            ctx._earlier = _NotYet()  # noqa: SLF001
        self.ctx, self.awaitable, self.error = ctx, None, None

    @property
    def looked_too_early(self) -> bool:
        """Whether it wants to see what those before it say, who had not finished."""
        earlier = self.ctx._earlier  # noqa: SLF001 - the scorer fills it in
        return isinstance(earlier, _NotYet) and earlier.asked


class _LookedTooEarly(BaseException):
    """Ends an evaluator that asks for results which are not there yet; it is asked again when they are."""


class _NotYet:
    """Stands for the results of evaluators that have not finished."""

    def __init__(self) -> None:
        self.asked = False

    def __iter__(self) -> Iterator[EvaluationResult]:
        self.asked = True
        raise _LookedTooEarly


class _AttemptScoring(msgspec.Struct):
    """The judgement of one attempt.

    Evaluators that do not have to be waited for are asked in turn. Those that do (async ones, and all of them where there is a
    timeout) wait side by side. One that looks at earlier results is asked when all before it have finished; which ones do is
    told by their code, and of the others when they try. What is said stands in the order of the plan.
    """

    scoring: Scoring
    attempt: Attempt
    plan: Plan
    ctx: EvaluatorContext[Any, Any, Any]
    said: _Said
    current: _Said
    """Where to put what is said next."""
    evaluators: Iterator[PlannedEvaluator]
    """Those that are not asked yet."""
    evidence: Evidence | None
    """What evaluators could change in place."""
    noted: dict[str, frozenset[str]] | None = None
    """What evaluators looked at beyond the attempt; `None`: not wanted."""
    waiting: list[_Asked] = []
    """Evaluators that have to be waited for."""

    def ask_in_turn(self) -> bool:
        """Ask evaluators until one has to be waited for, or fails; whether all have been asked."""
        ctx, evidence, notes = self.ctx, self.evidence, judging_notes()
        attributes, metrics, looked = ctx.attributes, ctx.metrics, ctx._asked  # noqa: SLF001
        copy_of_context = ctx.__copy__  # type: ignore[attr-defined]  # every Struct has it
        results, _, skipped = self.said
        is_usual = evidence is None
        """Whether nothing can have happened after which no further one may be asked."""
        before = perf_counter()
        for planned in self.evaluators:
            if planned.is_async:
                self.ask(planned)
                return False
            own = ctx if planned.shares else copy_of_context()
            try:
                output = planned.evaluate(own)
                if evidence is None:
                    if attributes or metrics:  # they were empty
                        attributes.clear()
                        metrics.clear()
                elif (
                    not planned.is_harmless
                    and evidence.has_changed()
                    and not isawaitable(cast("object", output))
                ):
                    self.put_back(planned.name)
                # The common outputs come first: this loop is most of what a run costs beyond the user's own code.
                kind = type(output)
                if kind is bool:
                    results.append(planned.true if output else planned.false)
                elif kind is float and isfinite(output):
                    results.append(planned.bare(output))
                elif kind is str:
                    known = planned.labels.get(output)
                    results.append(planned.label(output) if known is None else known)
                    if len(output) >= SHORTEST_KEY:
                        self.scoring.tells_texts = True
                elif isawaitable(output):
                    is_usual = False
                    self.promised(planned, own, output)
                else:
                    self.take(output, planned, results, skipped)
            except BaseException as error:
                is_usual = False
                self.failed(planned, own, error, before)
            if looked or notes.used:
                self.note_down(planned, own, notes, self.said)
            now = perf_counter()
            if now - before > STEP_SECONDS:
                self.scoring.note(planned.name, now - before)
            before = now
            if not is_usual and (self.waiting or (evidence is not None and evidence.spoiled is not None)):
                return False
        return True

    async def ask_all(self) -> None:
        """Ask the evaluators, of which some have to be waited for, and hear them all out."""
        for planned in self.evaluators:
            if self.waiting and planned.looks:
                await self.finish()
            self.ask(planned)
        if self.waiting:
            await self.finish()

    def ask(self, planned: PlannedEvaluator) -> None:
        """Ask an evaluator, which may have to be waited for."""
        said, own, notes = self.current, self.own(planned), judging_notes()
        if self.evidence is not None and self.evidence.spoiled is not None:
            said[1].append(planned.failure(EvaluatorContractError(f"not asked: {self.evidence.spoiled}")))
            return
        if self.scoring.timeout is not None:
            self.wait_for(_Asked(planned, own))
            return
        start, asked = perf_counter(), _Asked(planned, own)
        try:
            output = planned.evaluate(own)
            if asked.looked_too_early:  # and it took no notice of what would have ended it
                self.wait_for(asked)
            elif isawaitable(output):
                self.promised(planned, own, output)
            else:
                if self.evidence is not None and self.evidence.has_changed():
                    self.put_back(planned.name)
                self.take(output, planned, said[0], said[2])
        except BaseException as error:
            self.failed(planned, own, error, start)
        self.note_down(planned, own, notes, said)
        self.scoring.note(planned.name, perf_counter() - start)

    def promised(
        self, planned: PlannedEvaluator, own: EvaluatorContext[Any, Any, Any], awaitable: Any
    ) -> None:
        """Have what an evaluator returned waited for; alone, if the evaluator shows only now that it waits, and so shares its data."""
        asked = _Asked(planned, own, awaitable=awaitable)
        if not planned.is_async:
            planned.is_async = True
            if (
                self.evidence is not None and self.evidence.has_changed()
            ):  # from now on it changes its own data
                asyncio.ensure_future(awaitable).cancel()
                self.put_back(planned.name)
                self.ask(planned)
                return
            asked.alone = self.evidence is not None
            if own is not self.ctx:  # a task that runs already looks at the context later
                self._separate(own)
        self.wait_for(asked)

    def take(
        self,
        output: Any,
        planned: PlannedEvaluator,
        results: list[EvaluationResult],
        skipped: list[SkippedEvaluation],
    ) -> None:
        """Turn a legal output into results; those of a mapping have its keys for names until all have been heard."""
        self.scoring.tells_texts = True
        parts = read_parts(output)
        if all(type(part) is Abstention for part in parts):
            reasons = "; ".join(part.reason or "" for part in parts)
            skipped.append(SkippedEvaluation(planned.name, reasons, original=parts[0].original))
            return
        keys: set[str] = set()
        for part in parts:
            name = planned.name
            if part.key is not None:
                self.scoring.met_keys = True
                name = unique(part.key, keys)
                keys.add(name)
            if isinstance(part, Abstention):
                skipped.append(SkippedEvaluation(name, part.reason, key_of=planned.name))
                continue
            _, value, reason, verdict, score, metadata, original = part
            results.append(
                planned.result(
                    name,
                    value=value,
                    reason=reason,
                    verdict=verdict,
                    score=score,
                    metadata=metadata,
                    original=original,
                )
            )

    def note_down(
        self,
        planned: PlannedEvaluator,
        own: EvaluatorContext[Any, Any, Any],
        notes: Notes | None,
        said: _Said,
        tries: int = 1,
    ) -> None:
        """Keep what an evaluator looked at, counted and noted."""
        looked = own._asked  # noqa: SLF001 - the scorer asks what evaluators look at
        if looked and self.noted is not None:
            self.noted[planned.name] = frozenset(looked)
            looked.clear()
        if tries > 1 or (notes is not None and notes.used):
            self.scoring.tells_texts = True
            annotate(said, planned.name, notes, tries=tries)
        if notes is not None:
            notes.clear()

    def own(self, planned: PlannedEvaluator) -> EvaluatorContext[Any, Any, Any]:
        """The context as one evaluator alone has it."""
        own: EvaluatorContext[Any, Any, Any] = self.ctx.__copy__()  # type: ignore[attr-defined]  # every Struct has it
        if self.noted is not None:
            own._asked = set()  # noqa: SLF001 - as above
        if self.waiting:
            own._earlier = _NotYet()  # noqa: SLF001
        if self.evidence is None or planned.is_async or self.scoring.timeout is not None:
            self._separate(own)
        return own

    def _separate(self, own: EvaluatorContext[Any, Any, Any]) -> None:
        """Give a context data of its own."""
        if self.evidence is None:  # all that could change is empty
            own.attributes, own.metrics = {}, {}
        else:
            self.evidence.private(own)

    def put_back(self, *evaluators: str) -> None:
        """Put back what evaluators changed in place.

        Raises:
            EvaluatorContractError: it cannot be put back.
        """
        assert self.evidence is not None
        lost = self.evidence.put_back(*evaluators)
        if lost is not None:
            self.attempt.changed_from = lost.before.get("output", self.attempt.changed_from)
            raise lost

    def failed(
        self,
        planned: PlannedEvaluator,
        own: EvaluatorContext[Any, Any, Any],
        error: BaseException,
        began: float,
    ) -> None:
        """Record that an evaluator failed, unless it is to be asked again."""
        asked = _Asked(planned, own, error=error, began=began)
        if asked.looked_too_early:
            self.wait_for(asked)
            return
        if self.scoring.ends(error):
            raise error
        if self.evidence is not None and self.evidence.spoiled is None and self.evidence.has_changed():
            try:
                self.put_back(planned.name)
            except EvaluatorContractError as lost:
                error = lost
        retry = self.scoring.retry
        spent = perf_counter() - began
        if retry is not None and not issubclass(type(error), _NOT_AGAIN) and retry.again(error, 1, spent):
            self.wait_for(asked)
        else:
            self.current[1].append(planned.failure(error))

    def wait_for(self, asked: _Asked) -> None:
        """Have an evaluator waited for; what is said until then comes after it."""
        self.waiting.append(asked)
        self.current = asked.said

    async def finish(self) -> None:
        """Wait for the evaluators that have to be waited for, and add what they said in its place."""
        waiting, self.current = list(self.waiting), self.said
        self.waiting.clear()
        await self._wait([asked for asked in waiting if not asked.looked_too_early and not asked.alone])
        for asked in waiting:
            planned = asked.planned
            if asked.alone:
                await self._wait([asked])
            if asked.looked_too_early:
                planned.looks = True
                asked.ctx, asked.awaitable, asked.error = self.own(planned), None, None
                await self._wait([asked])
            self._add(asked)
            results, failures, skipped = asked.said
            self.said[0].extend(results)
            self.said[1].extend(failures)
            self.said[2].extend(skipped)

    async def _wait(self, several: list[_Asked]) -> None:
        """Hear out evaluators side by side."""
        if not several:
            return
        calls = [
            self.scoring.listen(self.attempt, asked.planned, partial(self.own, asked.planned), asked)
            for asked in several
        ]
        if len(several) == 1:
            await calls[0]
        else:
            await _side_by_side([asyncio.ensure_future(call) for call in calls], several, self.scoring)
        judged = [asked for asked in several if not asked.looked_too_early]
        for asked in judged:
            if asked.error is not None and self.scoring.ends(asked.error):
                raise asked.error
        if self.evidence is not None and self.evidence.has_changed():
            try:
                self.put_back(*(asked.planned.name for asked in judged))
            except EvaluatorContractError as error:
                for asked in judged:
                    asked.error = error

    def _add(self, asked: _Asked) -> None:
        """Add what an evaluator that has been heard out said."""
        planned = asked.planned
        results, failures, skipped = self.said
        if asked.error is None:
            try:
                self.take(asked.output, planned, results, skipped)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                asked.error = error
        if asked.error is not None:
            failures.append(planned.failure(asked.error))
        self.note_down(planned, asked.ctx, asked.notes, self.said, asked.tries)


async def _side_by_side(tasks: "list[asyncio.Task[None]]", several: list[_Asked], scoring: Scoring) -> None:
    """Wait until all have ended. What was cancelled by the code under test has failed."""
    try:
        while True:
            try:
                await asyncio.wait(tasks)
                break
            except asyncio.CancelledError:
                if scoring.stopping:
                    raise
    finally:
        for task in tasks:
            task.cancel()
    for task, asked in zip(tasks, several, strict=True):
        if task.cancelled():
            asked.error = asked.error or asyncio.CancelledError()
        else:
            task.result()


def annotate(said: _Said, name: str, notes: Notes | None, *, tries: int = 1) -> None:
    """Keep with what an evaluator said what it counted and noted, and how often it was tried."""
    told: dict[str, Any] = {} if tries == 1 else {"tries": tries}
    if notes is not None and (notes.metrics or notes.usage):
        told["metrics"] = {**notes.usage, **notes.metrics}
    if notes is not None and notes.attributes:
        told["attributes"] = plain(notes.attributes)
    # The first of its results has it, so that who adds up metrics counts them once.
    results, failures, skipped = said
    for place, result in enumerate(results):
        if result.evaluator == name:
            results[place] = msgspec.structs.replace(result, metadata={**(result.metadata or {}), **told})
            return
    for place, failure in enumerate(failures):
        if failure.name == name:
            failures[place] = msgspec.structs.replace(failure, metadata=told)
            return
    for place, skip in enumerate(skipped):
        if skip.evaluator == name:
            skipped[place] = msgspec.structs.replace(skip, metadata=told)
            return


def _called(
    context: Context, planned: PlannedEvaluator, ctx: EvaluatorContext[Any, Any, Any]
) -> tuple[Any, BaseException | None]:
    try:
        return context.run(planned.evaluate, ctx), None
    except BaseException as error:
        return None, error


async def _await(awaitable: Any) -> Any:
    return await awaitable


class NotedScoring(Scoring):
    """Judges attempts for a run that keeps a journal.

    What is recalled of an attempt is taken as it is, and only the other evaluators are asked. It is noted which of them
    looked beyond the attempt: at earlier results, or at the seed.
    """

    @override
    def _begun(self, attempt: Attempt, plan: Plan, ctx: EvaluatorContext[Any, Any, Any]) -> _AttemptScoring:
        said: _Said = ([], [], [])
        self._show(attempt, plan, ctx, said[0])
        ctx._asked = set()  # noqa: SLF001 - the scorer asks what evaluators look at
        noted: dict[str, frozenset[str]] = {}
        asking = _AttemptScoring(
            self, attempt, plan, ctx, said, said, iter(plan.evaluators), evidence(ctx), noted
        )
        if attempt.recalled is not None:
            asking.evaluators = _lacking(plan, attempt.recalled.cells, asking, noted)
        return asking

    @override
    def _ended(self, asking: _AttemptScoring) -> ReportCase:
        attempt, plan, noted = asking.attempt, asking.plan, asking.noted
        if attempt.recalled is not None:
            attempt.asked = noted
        else:
            attempt.asked = {**plan.nothing_noted, **noted} if noted else plan.nothing_noted
        return self._record(attempt, plan, asking.said)

    def _show(
        self,
        attempt: Attempt,  # noqa: ARG002 - for a subclass that adds results of earlier runs
        plan: Plan,
        ctx: EvaluatorContext[Any, Any, Any],
        results: list[EvaluationResult],
    ) -> None:
        """Let the evaluators of an attempt see what earlier ones said, or will have said."""
        ctx._earlier = Earlier(plan.names, results)  # noqa: SLF001 - the scorer fills in what earlier evaluators said


def _lacking(
    plan: Plan, cells: Mapping[str, Cell], asking: _AttemptScoring, noted: dict[str, frozenset[str]]
) -> Iterator[PlannedEvaluator]:
    """The evaluators that have no cell to be taken; what the others said is added where their turn would have been."""
    holds = True
    """Whether all that was said so far is what was said then."""
    for planned in plan.evaluators:
        cell = cells.get(planned.name)
        if cell is not None and (holds or not cell.saw_results):
            asking.scoring.met_keys = asking.scoring.tells_texts = True
            results, failures, skipped = asking.current
            results.extend(cell.results)
            failures.extend(cell.failures)
            skipped.extend(cell.skipped)
            continue
        holds = False
        noted[planned.name] = _NOTHING
        yield planned


class Hold:
    """How long one call holds the event loop, beside all others."""

    __slots__ = ("_is_async", "_name", "_own", "_scoring", "_whose")

    def __init__(self, scoring: Scoring, name: str, *, is_async: bool, whose: Attempt | Notes) -> None:
        self._scoring = scoring
        self._name = name
        self._is_async = is_async
        self._own = 0.0
        self._whose = whose

    def note(self, seconds: float) -> None:
        """Note a step of this call."""
        self._own += seconds
        self._scoring.note(self._name, seconds, is_async=self._is_async)

    def others(self) -> float:
        """Seconds for which others have held the event loop so far, or for which this call waited for a limit."""
        return self._scoring.held - self._own + waited_by(self._whose)


async def within(seconds: float, awaitable: Any, late: Exception, others: Callable[[], float]) -> Any:
    """The awaitable's result, or the error `late` once the time is over.

    Time in which others hold the event loop does not count: nothing could go on then. Nor does time spent waiting for a limit. What ignores its cancellation is left
    behind rather than waited for.
    """
    task = asyncio.ensure_future(settled(lambda: awaitable))
    start = perf_counter() - others()
    left = seconds
    while True:
        before = others()
        try:
            done, _ = await asyncio.wait({task}, timeout=left)
        except BaseException:
            task.cancel()
            raise
        spent = perf_counter() - others() - start
        # What blocked the event loop past its time is late too, though nothing could interrupt it.
        if done and spent <= max(seconds, MEASURABLE):
            output, error = task.result()
            if error is not None:
                raise error
            return output
        left = seconds - spent
        if left > 0 and others() > before:  # it waits, for how long is not known
            left = max(left, MEASURABLE)
        if done or left <= 0:
            task.cancel()
            raise late
