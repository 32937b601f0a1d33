"""The two ways of working through a queue: on the event loop, and in threads that loop.

Both keep the order of the dataset, count what is in flight, and stop when the run stops. A thread cannot be
interrupted: on a timeout, or when the run stops, a blocking task is left behind in its daemon thread. Calls that
had ended by then are judged before the run ends, unless their evaluators take too long for that.
"""

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from inspect import isawaitable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from calipers.data.attempt import Attempt, begin, waited_by
from calipers.data.infrastructure import is_infrastructure
from calipers.data.result import describe_error
from calipers.process.interrupt import outlast, was_signalled
from calipers.process.loop import GRACE_SECONDS
from calipers.process.user_code import settled
from calipers.run.ledger import Account, GivenUp, use_payer
from calipers.run.runner import (
    AUTO_CONCURRENCY,
    AUTO_THREADS,
    DEFAULT_CONCURRENCY,
    DEFAULT_THREADS,
    FAIR_SECONDS,
    Run,
    keep_spans,
)
from calipers.run.task import settle
from calipers.run.work import Work

if TYPE_CHECKING:
    from calipers.run.call_limit import Turn

_TURNS = 3
"""Turns of the event loop in which the end of a call with a timeout comes to its worker."""


class LoopWorkers:
    """Workers for an async task: `asyncio` tasks that pull cases, added while all of them wait."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.limit = run.at_most(DEFAULT_CONCURRENCY, AUTO_CONCURRENCY)
        self.tasks: set[asyncio.Task[None]] = set()
        self.hired = 0
        self.exhausted = False
        self.done = asyncio.get_running_loop().create_future()

    async def finish(self) -> None:
        """Work until nothing is left, or the run stops."""
        if self.run.place is not None:
            self.limit = self.run.place.limit
        self._hire()
        try:
            await outlast(self.done)
        finally:
            self.run.stop()
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            await _cancel(self.tasks)

    def stop(self) -> None:
        """Give up the calls in flight."""
        if not self.done.done():
            self.done.set_result(None)

    def _hire(self) -> None:
        """Hire one worker more. Runs only when the event loop has a turn, that is, when every worker waits.

        One in a turn: if many begin together, each step of theirs waits for that step of all others, and the first request
        is on its way when the last one is ready.
        """
        if self.exhausted or self.run.stopping:
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._work())
        self.tasks.add(task)
        task.add_done_callback(self._leave)
        self.hired += 1
        if self.run.turns is None:
            self._hire_next()

    def _hire_next(self) -> None:
        if self.hired < self.limit:
            asyncio.get_running_loop().call_soon(self._hire)

    def _leave(self, task: "asyncio.Task[None]") -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self.done.done():
            self.done.set_exception(error)
        if self.tasks or self.run.stopping:
            return
        if self.exhausted:
            self.stop()
        else:  # the last worker was cancelled, and not by us
            self._hire()

    async def _work(self) -> None:
        run = self.run
        me = asyncio.current_task()
        place, ledger, live, turns, take = run.place, run.ledger, run.live, run.turns, run.queue.next
        turn: Turn | None = None
        fair_until = perf_counter() + FAIR_SECONDS
        while not run.stopping:
            if place is not None:
                await place.room()
            if turns is not None:
                is_first, turn = turn is None, await turns.next()
                if is_first:
                    self._hire_next()
            work = take() if live is None else await run.next_live(live)
            if work is None:
                self.exhausted = True
                if turn is not None:
                    turn.drop()
                return
            broke = False
            if ledger is not None and not await run.admits(ledger, work):
                if live is not None:
                    live.end()
            else:
                try:
                    if run.announces:
                        record = await run.announced(work)
                    else:
                        attempt = run.attempt(work)
                        record = await run.make(work, attempt, None, me)
                        if run.journal is not None:
                            run.note_down(work, attempt, record)
                    if turn is not None:
                        broke = getattr(record, "infrastructure", False)
                    run.keep(work.position, record)
                except GivenUp:
                    if live is not None:
                        live.end()
                except GeneratorExit as error:
                    if not _is_running(me):
                        raise
                    run.keep(work.position, run.broken_off(work, error))
            if turn is not None:
                turn.over(broke=broke)
            if perf_counter() > fair_until or was_signalled():
                await asyncio.sleep(0)
                fair_until = perf_counter() + FAIR_SECONDS


class ThreadWorkers:
    """Workers for a blocking task: threads that pull cases and hand finished attempts to the event loop."""

    def __init__(self, run: Run, total: int | None) -> None:
        self.run = run
        self.loop = asyncio.get_running_loop()
        limit = run.at_most(DEFAULT_THREADS, AUTO_THREADS)
        self.limit = limit if total is None else max(1, min(limit, total))
        self.context = copy_context()
        self.lock = threading.Lock()
        self.running: dict[threading.Thread, tuple[Work, Attempt, float]] = {}
        self.turns: dict[threading.Thread, Turn] = {}
        """Whose turn it is, where the number of attempts in flight adapts itself."""
        self.alive = 0
        self.finished: deque[tuple[Work, Attempt, float]] = deque()
        # Threads wait here when the evaluators fall far behind, so that finished attempts do not pile up. There is room to
        # spare, because a thread that has to wait for it costs more than the attempt it holds back.
        self.room = threading.Semaphore(4 * self.limit + 64)
        self.stopped = threading.Event()
        self.signalled = False
        self.shortest = math.inf
        """The shortest timeout met so far; it decides how often the watch looks."""
        self.watch: asyncio.TimerHandle | None = None
        self.scoring: set[asyncio.Task[None]] = set()
        self.over = False
        """Whether nothing is judged any more."""
        self.done: asyncio.Future[None] = self.loop.create_future()

    async def finish(self) -> None:
        """Work until nothing is left, or the run stops."""
        try:
            for _ in range(self.limit):
                self._hire()
        except RuntimeError:  # the system starts no more threads: go on with those there are
            if not self.alive:
                raise
        try:
            await outlast(self.done)
        finally:
            self.run.stop()
            self.stopped.set()
            if self.watch is not None:
                self.watch.cancel()
            try:
                await self._judge_the_rest()
            finally:
                self.over = True
                await _cancel(self.scoring)

    def stop(self) -> None:
        """Give up the calls in flight."""
        self.stopped.set()
        self.room.release(self.limit)  # no thread waits for room any more
        if self.run.turns is not None:
            self.run.turns.give_up()
        if not self.done.done():
            self.done.set_result(None)

    # ------------------------------------------------------------------ in the threads

    def _hire(self, first: tuple[Work, Attempt] | None = None) -> None:
        threading.Thread(target=self._work, args=(first,), name="calipers-task", daemon=True).start()
        with self.lock:
            self.alive += 1

    def _work(self, retried: tuple[Work, Attempt] | None) -> None:
        """Work until there is no more, or until the watch has put another thread in this one's place."""
        try:
            replaced = self._loop_over_work(retried)
        except BaseException as error:
            # Not the task's doing, for that is data by now: the run cannot be trusted any more and must not hang.
            replaced = False
            self._on_loop(self._fail, error)
        if not replaced:
            with self.lock:
                self.alive -= 1
            self._signal()
        if self.stopped.is_set() and self.run.journal is not None:
            self.run.journal.ended_late()

    def _loop_over_work(self, retried: tuple[Work, Attempt] | None) -> bool:
        me = threading.current_thread()
        while not self.stopped.is_set():
            self.room.acquire()
            try:
                self._take_turn(me)
            except GivenUp:
                return False
            if retried is not None:
                (work, attempt), retried = retried, None
                self._pause(attempt)
            else:
                found = self.run.queue.next()
                if found is None:
                    self.room.release()
                    if me in self.turns:
                        self.turns.pop(me).drop()
                    return False
                ledger = self.run.ledger
                if ledger is not None and not self.run.admits_in_thread(ledger, found, self.stopped):
                    self.room.release()
                    self._end_turn(me)
                    continue
                work, attempt = found, self.run.attempt(found)
                attempt.account = None if ledger is None else Account(ledger)
            start = perf_counter()
            if work.problem is not None:
                attempt.error = work.problem
            elif work.recalled is None and not self._execute(me, work, attempt):
                return True
            self._end_turn(me, attempt.error)
            self._notice(attempt.error)
            if self.stopped.is_set():
                # What stopped the run may have ended the call too: a program that the task called gets the Ctrl-C as well.
                return False
            self.finished.append((work, attempt, start))
            self._signal()
        return False

    def _notice(self, error: BaseException | None) -> None:
        """End the run if one call after another has found that nothing can succeed."""
        if error is None:
            self.run.in_vain = 0
        elif (why := self.run.tried(error)) is not None:
            self._on_loop(self.run.end_hopeless, why, describe_error(error)[1])

    def _take_turn(self, me: threading.Thread) -> None:
        """Wait until one attempt more may be in flight.

        Raises:
            GivenUp: the run is over.
        """
        if self.run.turns is not None:
            self.turns[me] = self.run.turns.next_in_thread()

    def _end_turn(self, thread: threading.Thread, error: BaseException | None = None) -> None:
        turn = self.turns.pop(thread, None)
        if turn is not None:
            turn.over(broke=is_infrastructure(error))

    def _execute(self, me: threading.Thread, work: Work, attempt: Attempt) -> bool:
        """Call the task until it succeeds or its tries are used up; false if it took longer than allowed."""
        retry = self.run.options.retry
        timeout = self.run.timeout(work.case)
        if timeout is not None and timeout < self.shortest:
            with self.lock:
                self.shortest = min(timeout, self.shortest)
            self._on_loop(self._watch)
        while True:
            with self.lock:
                self.running[me] = (work, attempt, perf_counter())
            self.context.copy().run(self._call, attempt)
            with self.lock:
                if self.running.pop(me, None) is None:
                    return False
            if attempt.account is not None and attempt.account.refused:
                return True
            if (
                attempt.error is None
                or retry is None
                or not retry.again(attempt.error, attempt.tries, attempt.earlier + attempt.duration)
            ):
                return True
            attempt.tries += 1
            attempt.earlier += attempt.duration
            self._pause(attempt)

    def _pause(self, attempt: Attempt) -> None:
        retry = self.run.options.retry
        if retry is not None and attempt.tries > 1:
            pause = retry.pause(attempt.tries - 1, attempt.derived_seed(), attempt.error, attempt.earlier)
            attempt.earlier += pause
            self.stopped.wait(pause)

    def _call(self, attempt: Attempt) -> None:
        begin(attempt)
        if attempt.account is not None:
            use_payer(attempt.account)
        start = perf_counter()
        try:
            settle(attempt, self._output(attempt) if self.run.recorder is None else self._traced(attempt))
        except BaseException as error:  # in a thread, even KeyboardInterrupt is the task's own doing
            attempt.error = error
        attempt.duration = perf_counter() - start - waited_by(attempt)
        if self.run.limits.by_name:
            self.run.limits.end_calls_of(attempt)

    def _traced(self, attempt: Attempt) -> Any:
        """The task's output, called while its spans are collected."""
        assert self.run.recorder is not None
        capture = self.run.recorder.attempt(attempt.name)
        try:
            with capture:
                attempt.trace_id, attempt.span_id = capture.trace_id, capture.span_id
                return self._output(attempt)
        finally:
            keep_spans(attempt, capture)

    def _output(self, attempt: Attempt) -> Any:
        try:
            output = self.run.task.function(attempt.inputs)
        finally:
            self.run.leave_child()  # at once: another thread may hold the next lock there forever
        if isawaitable(output):
            output, error = asyncio.run_coroutine_threadsafe(settled(lambda: output), self.loop).result()
            if error is not None:
                raise error
        return output

    def _signal(self) -> None:
        """Tell the event loop that there is something to look at, unless it has been told already."""
        if not self.signalled:
            self.signalled = True
            self._on_loop(self._wake)

    def _on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        # The loop is closed when the run was stopped, and then nothing waits for this attempt.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback, *arguments)

    # ------------------------------------------------------------------ on the event loop

    def _wake(self) -> None:
        self.signalled = False
        if self.finished and not self.over and len(self.scoring) < self.limit:
            # A thread may have called this, and its context is empty: evaluators see what the caller of the run has set.
            task = self.loop.create_task(self._score(), context=self.context.copy())
            self.scoring.add(task)
            task.add_done_callback(self._scored)
        else:
            self._settle_up()

    def _scored(self, task: "asyncio.Task[None]") -> None:
        self.scoring.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)
        self._wake()  # an attempt may have come in while this scorer was on its way out

    def _fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def _settle_up(self) -> None:
        if not self.alive and not self.finished and not self.scoring:
            self.stop()

    async def _score(self) -> None:
        """Score finished attempts; what comes through (a second Ctrl-C in an evaluator, say) ends all scoring."""
        me = asyncio.current_task()
        try:
            await self._score_finished()
        except asyncio.CancelledError:
            raise
        except GeneratorExit:
            if not _is_running(me):
                raise
        except BaseException:
            self.over = True
            raise

    async def _score_finished(self) -> None:
        """Score finished attempts until there are none; if an evaluator waits, the next wake adds another scorer."""
        run = self.run
        fair_until = perf_counter() + FAIR_SECONDS
        while self.finished and not self.over:
            work, attempt, start = self.finished.popleft()
            if self.finished and not self.signalled:
                self.signalled = True
                self.loop.call_soon(self._wake)
            try:
                record = await run.make(work, attempt, start)
            except GivenUp:
                self.room.release()
                continue
            except GeneratorExit as error:
                run.keep(work.position, run.broken_off(work, error))
                self.room.release()
                raise
            if run.journal is not None:
                run.note_down(work, attempt, record)
            run.keep(work.position, record)
            self.room.release()
            if perf_counter() > fair_until:
                await asyncio.sleep(0)
                fair_until = perf_counter() + FAIR_SECONDS

    async def _judge_the_rest(self) -> None:
        """Score what is finished, as far as a moment allows: a call that was made must not have to be made again."""
        until = self.loop.time() + GRACE_SECONDS
        while not self.over and (self.finished or self.scoring) and (left := until - self.loop.time()) > 0:
            self._wake()
            await asyncio.wait(self.scoring, timeout=left, return_when=asyncio.FIRST_COMPLETED)

    def _watch(self) -> None:
        """Give up on tasks that take longer than allowed, and put new threads in the place of theirs; then look again."""
        if self.stopped.is_set():
            return
        if self.watch is not None:
            self.watch.cancel()
        self.watch = self.loop.call_later(min(0.5, max(0.005, self.shortest / 10)), self._watch)
        now = perf_counter()
        with self.lock:
            late = {thread: entry for thread, entry in self.running.items() if self._is_late(entry, now)}
            for thread in late:
                del self.running[thread]
                self.alive -= 1
        for thread, (work, attempt, start) in late.items():
            self._end_turn(thread, self.run.late(work.case))
            if self.run.limits.by_name:
                self.run.limits.end_calls_of(attempt)
            self._give_up(work, attempt, start, now - start - waited_by(attempt))

    def _is_late(self, entry: tuple[Work, Attempt, float], now: float) -> bool:
        work, attempt, start = entry
        timeout = self.run.timeout(work.case)
        return timeout is not None and now - start - waited_by(attempt) > timeout

    def _give_up(self, work: Work, attempt: Attempt, start: float, spent: float) -> None:
        # The thread may still write to its attempt, so the failure goes into a new one.
        failed = self.run.attempt(work)
        failed.tries, failed.earlier = attempt.tries, attempt.earlier
        failed.metrics, failed.usage = dict(attempt.metrics), dict(attempt.usage)
        failed.attributes = dict(attempt.attributes)
        failed.account = attempt.account
        failed.trace = attempt.trace_so_far
        failed.error = self.run.late(work.case)
        failed.duration = spent
        retry = self.run.options.retry
        if retry is not None and retry.again(failed.error, failed.tries, failed.earlier + spent):
            failed.tries += 1
            failed.earlier += spent
            self.room.release()
            self._hire((work, failed))
        else:
            self._hire()
            self.finished.append((work, failed, start))
            self._signal()


async def _cancel(tasks: "set[asyncio.Task[None]]") -> None:
    """Cancel the tasks and give them a moment to end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)


def _is_running(task: "asyncio.Task[Any] | None") -> bool:
    """Whether it is this task that the event loop runs at the moment, so that it is not being closed."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # no loop runs
        return False
