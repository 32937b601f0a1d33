"""Calls that tasks make in workers: each asks the run for its place in a limit, and for room in the budget, and tells what came of it.

The run decides (`Desk`), with the limits that its judges share, and the accounts of its attempts. A worker asks (`WorkerCalls`): to code
under test, its limits and its account look as they do in the run's own process. What a worker asks for goes out at once, what it tells
a moment later, with what else there is to tell; all of it before the outcome of the attempt. A task that makes no such call costs nothing here.

- **A worker that ends** gives its places back. What its calls cost is not known, so they count as calls that were cut off.
- **An attempt that waits** does so in both processes: there its time-out does not run, and here it does not count as one that hangs.
- **Whose turn it is** goes by attempts, wherever they are made.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, Literal, TypeAlias, assert_never

import msgspec
from typing_extensions import override

from calipers.data.attempt import Attempt, waited_by, waited_here, waited_of
from calipers.data.rate_headers import Allowance
from calipers.errors import BudgetError, InvalidOptionError
from calipers.run.call_limit import Call, CallLimit, Limits
from calipers.run.ledger import Account, GivenUp, Release, is_cut, use_payer
from calipers.run.pace import Outcome, Ticket, Told


class AskPlace(msgspec.Struct, array_like=True, tag="place", frozen=True):
    """A call wants to begin."""

    number: int
    """Of the call; of this machine's process alone."""
    attempt: int
    """Which makes it; 0: none of the run's."""
    name: str
    """Of its limit."""
    model: str
    has_slot: bool
    at_most: int | None
    waited: float
    """Seconds for which the attempt has waited so far."""


class AskRoom(msgspec.Struct, array_like=True, tag="room", frozen=True):
    """A call of a model wants to spend something."""

    number: int
    attempt: int
    reserves: bool
    """Whether room is to be reserved; if not, it is only to be seen that there is some."""


class Heard(msgspec.Struct, array_like=True, tag="heard", frozen=True):
    """What came of a call that had a place."""

    number: int
    outcome: Outcome
    wait: float | None
    allowances: list[Allowance]


class Over(msgspec.Struct, array_like=True, tag="over", frozen=True):
    """A call is over, and gives back what it had, or waits no longer."""

    number: int
    cut: bool = False
    """Whether it was cut off."""


class Paid(msgspec.Struct, array_like=True, tag="paid", frozen=True):
    """What a call that was answered has spent."""

    attempt: int
    model: str
    amounts: dict[str, float]
    cached: bool


Word: TypeAlias = AskPlace | AskRoom | Heard | Over | Paid
"""What a worker says of its calls."""


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """What the run says to a call that asked: it may begin, unless it says otherwise."""

    number: int
    refusal: Literal["", "over", "budget", "option"] = ""
    """Why it may not: the run is over, the budget is used up, or an option is wrong."""
    text: str = ""
    answered: int = 0
    """Calls of the same limit that were answered so far."""


_numbers = count(1)
"""Of the calls of this process."""
_answers = msgspec.msgpack.Decoder(list[Answer])


# ---------------------------------------------------------------------- the run's side


class Desk:
    """Where the run decides about the calls of one worker."""

    def __init__(
        self,
        limits: Limits,
        attempt_of: Callable[[int], Attempt | None],
        answer: Callable[[bytes], None],
    ) -> None:
        """A desk at which no one has asked.

        Args:
            limits: of the run.
            attempt_of: the attempt of a number, while the worker makes it.
            answer: sends answers to the worker.
        """
        self._limits = limits
        self._attempt_of = attempt_of
        self._send = answer
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, Call] = {}
        """Calls that have a place, or wait for one."""
        self._waits: dict[int, AbstractContextManager[None]] = {}
        """The time of those that wait."""
        self._rooms: dict[int, Account] = {}
        """Calls for which room was reserved."""
        self._accounts: dict[int, Account] = {}
        """Of the attempts that have asked for room; a call may tell what it spent when its attempt is over."""
        self._answers: list[Answer] = []

    def hear(self, words: Iterable[Word]) -> None:
        """Take in what the worker says."""
        for word in words:
            match word:
                case AskPlace():
                    self._ask_place(word)
                case AskRoom():
                    self._ask_room(word)
                case Heard():
                    if (call := self._calls.get(word.number)) is not None:
                        call.hear(Told(word.outcome, word.wait, word.allowances))
                case Over():
                    self._over(word)
                case Paid():
                    if (account := self._account(word.attempt)) is not None:
                        account.note_of("agent", word.model, word.amounts, cached=word.cached)
                case _:
                    assert_never(word)

    def _ask_place(self, asked: AskPlace) -> None:
        attempt = self._attempt_of(asked.attempt)
        try:
            limit = self._limits.of(asked.name, asked.at_most)
        except InvalidOptionError as error:
            self._answer(Answer(asked.number, "option", str(error)))
            return
        call = Call(limit, attempt, has_slot=asked.has_slot)
        self._calls[asked.number] = call
        try:
            begins = limit.begin_or_wait(call, asked.model, partial(self._wake, asked.number))
        except GivenUp:
            begins = True
        if begins:
            self._granted(asked.number)
            return
        if attempt is not None:
            waited = waited_of(attempt)
            waited.is_at_least(asked.waited)
            self._waits[asked.number] = waits = waited.waiting()
            waits.__enter__()

    def _wake(self, number: int) -> None:
        """Called in any thread."""
        with suppress(RuntimeError):  # the loop is closed, and nothing waits any more
            self._loop.call_soon_threadsafe(self._granted, number)

    def _granted(self, number: int) -> None:
        """A call that waited waits no longer."""
        call = self._calls.get(number)
        if call is None:
            return
        self._stop_waiting(number)
        if call.ticket is None:
            del self._calls[number]
            self._answer(Answer(number, "over"))
        else:
            self._answer(Answer(number, answered=call.limit.answered))

    def _stop_waiting(self, number: int) -> None:
        if (waits := self._waits.pop(number, None)) is not None:
            waits.__exit__(None, None, None)

    def _account(self, number: int) -> Account | None:
        attempt = self._attempt_of(number)
        if attempt is None or attempt.account is None:
            return self._accounts.get(number)
        self._accounts[number] = attempt.account
        account: Account = attempt.account
        return account

    def _ask_room(self, asked: AskRoom) -> None:
        account = self._account(asked.attempt)
        if account is None:
            self._answer(Answer(asked.number, "over"))
            return
        try:
            if asked.reserves:
                account.ledger.reserve(account, "agent")
                self._rooms[asked.number] = account
            else:
                account.ledger.check_room(account, "agent")
        except BudgetError as error:
            self._answer(Answer(asked.number, "budget", str(error)))
        else:
            self._answer(Answer(asked.number))

    def _over(self, word: Over) -> None:
        account = self._rooms.pop(word.number, None)
        if account is not None:
            account.ledger.release(account, "agent", asyncio.CancelledError() if word.cut else None)
        call = self._calls.pop(word.number, None)
        if call is not None:
            self._stop_waiting(word.number)
            call.drop()  # what came of it has been told

    def ended(self, number: int) -> None:
        """An attempt is over."""
        account = self._accounts.get(number)
        if account is not None and account not in self._rooms.values():
            del self._accounts[number]

    def close(self) -> None:
        """The worker is gone, and its calls with it."""
        calls, self._calls = self._calls, {}
        for number, call in calls.items():
            self._stop_waiting(number)
            call.end(GivenUp())
        rooms, self._rooms = self._rooms, {}
        for account in rooms.values():
            account.ledger.release(account, "agent", asyncio.CancelledError())
        self._accounts.clear()

    def _answer(self, answer: Answer) -> None:
        if not self._answers:
            self._loop.call_soon(self._flush)
        self._answers.append(answer)

    def _flush(self) -> None:
        answers, self._answers = self._answers, []
        self._send(msgspec.msgpack.encode(answers))


# ---------------------------------------------------------------------- the worker's side


class WorkerCalls:
    """The calls of one worker, on their way to the run and back."""

    def __init__(
        self,
        send: Callable[[list[Word]], None],
        plan: Callable[[], None],
        *,
        sees_all: bool,
        has_budget: bool,
    ) -> None:
        """No calls yet.

        Args:
            send: sends words to the run.
            plan: has `take_told` called in a moment. Both are called in any thread.
            sees_all: whether calls that Calipers sees have limits of their own accord.
            has_budget: whether the run has a budget.
        """
        self._send = send
        self._plan = plan
        self._has_budget = has_budget
        self._lock = threading.Lock()
        self._told: list[Word] = []
        """What can wait for other words."""
        self._asked: dict[int, Callable[[Answer], None]] = {}
        self._attempts: dict[int, int] = {}
        """The numbers of the attempts that are made here, by their addresses."""
        self.limits = _WorkerLimits(self, sees_all=sees_all)

    def begin(self, attempt: Attempt, number: int) -> None:
        """Have the calls of an attempt go this way, in the current context."""
        self._attempts[id(attempt)] = number
        if self._has_budget:
            use_payer(_WorkerAccount(self, number))
        if self.limits.watch is not None:
            self.limits.watch()

    def end(self, attempt: Attempt) -> None:
        """An attempt is over."""
        self._attempts.pop(id(attempt), None)

    def number_of(self, owner: Any) -> int:
        """The number of an attempt; 0 if it is none that is made here."""
        return self._attempts.get(id(owner), 0)

    def ask(self, word: AskPlace | AskRoom, hear: Callable[[Answer], None]) -> None:
        """Ask the run for something; `hear` is called with its answer, in another thread."""
        with self._lock:
            self._asked[word.number] = hear
            told, self._told = self._told, []
            self._send([*told, word])

    def tell(self, word: Word) -> None:
        """Tell the run something, with what else there is to tell in a moment."""
        with self._lock:
            is_first = not self._told
            self._told.append(word)
        if is_first:
            self._plan()

    def take_told(self) -> list[Word]:
        """What is to be told now."""
        with self._lock:
            told, self._told = self._told, []
        return told

    def give_back(self, number: int, *, cut: bool = False) -> None:
        """A call is over, or will not be made."""
        with self._lock:
            self._asked.pop(number, None)
        self.tell(Over(number, cut))

    def hear(self, data: bytes) -> None:
        """Take in what the run answers. Not on the event loop, which may be held by a call that waits."""
        for answer in _answers.decode(data):
            with self._lock:
                hear = self._asked.pop(answer.number, None)
            if hear is not None:
                hear(answer)

    def close(self) -> None:
        """The run is over."""
        self.limits.close()
        with self._lock:
            asked, self._asked = self._asked, {}
        for number, hear in asked.items():
            hear(Answer(number, "over"))


class _WorkerLimits(Limits):
    """The limits of the run, as a worker sees them."""

    def __init__(self, calls: WorkerCalls, *, sees_all: bool) -> None:
        super().__init__(sees_all=sees_all)
        self._calls = calls
        if sees_all:
            from calipers.models.wire_limits import watch

            self.watch = watch

    @override
    def _made(self, name: str, at_most: int | None) -> CallLimit:
        return _WorkerLimit(name, self, at_most, self._calls)


class _WorkerLimit(CallLimit):
    """One of them: the run says when a call begins, and hears what came of it."""

    def __init__(self, name: str, limits: Limits, at_most: int | None, calls: WorkerCalls) -> None:
        super().__init__(name, limits, at_most)
        self._calls = calls
        self._asked: dict[Call, int] = {}
        """Calls that wait, with their numbers."""
        self._answered = 0

    @property
    @override
    def answered(self) -> int:
        return self._answered

    @property
    @override
    def waiting(self) -> int:
        return len(self._asked)

    @override
    def begin_or_wait(self, call: Call, model: str, wake: Callable[[], None]) -> bool:
        self.limits.check_open()
        number = next(_numbers)
        with self._lock:
            call.wake = wake
            self._asked[call] = number
        attempt = self._calls.number_of(call.owner)
        waited = 0.0 if call.owner is None else waited_by(call.owner)
        word = AskPlace(number, attempt, self.name, model, call.has_slot, self.pace.at_most, waited)
        self._calls.ask(word, partial(self._hear_answer, call, model))
        return False

    def _hear_answer(self, call: Call, model: str, answer: Answer) -> None:
        with self._lock:
            if self._asked.pop(call, None) is None:  # it waits no longer
                return
            self._answered = max(self._answered, answer.answered)
            if not answer.refusal:
                call.ticket = Ticket(perf_counter(), model, answer.number, {}, filled=False)
                self.held.add(call)
            elif answer.refusal == "option":
                call.error = InvalidOptionError(answer.text)
        assert call.wake is not None
        call.wake()

    @override
    def hear(self, ticket: Ticket, told: Told) -> None:
        self._calls.tell(Heard(ticket.number, told.outcome, told.wait, list(told.allowances)))

    @override
    def release(self, call: Call) -> None:
        with self._lock:
            number = self._asked.pop(call, None)
            self.held.discard(call)
        if call.ticket is not None:
            number = call.ticket.number
        if number is not None:
            self._calls.give_back(number)

    @override
    def give_up(self, owner: Any = None) -> None:
        with self._lock:
            waiting = [call for call in self._asked if owner is None or call.owner is owner]
            held = [call for call in self.held if owner is None or call.owner is owner]
        for call in waiting:
            call.end(asyncio.CancelledError())
            assert call.wake is not None
            call.wake()
        for call in held:
            call.end(TimeoutError())


class _WorkerAccount:
    """The account of an attempt, as a worker sees it."""

    def __init__(self, calls: WorkerCalls, attempt: int) -> None:
        self._calls = calls
        self._attempt = attempt

    def reserve(self) -> Release:
        """Reserve room for one call.

        Raises:
            BudgetError: there is none.
        """
        number, answers, heard = next(_numbers), list[Answer](), threading.Event()

        def hear(answer: Answer) -> None:
            answers.append(answer)
            heard.set()

        self._calls.ask(AskRoom(number, self._attempt, True), hear)
        try:
            with waited_here():
                heard.wait()
        except BaseException:
            self._calls.give_back(number)
            raise
        return self._release(answers[0])

    async def reserve_async(self) -> Release:
        """The same for code that is async.

        Raises:
            BudgetError: there is none.
        """
        return self._release(await self._answer(reserves=True))

    async def check_room(self) -> None:
        """See that there is room for one call, without reserving it.

        Raises:
            BudgetError: there is none.
        """
        self._release(await self._answer(reserves=False))

    async def _answer(self, *, reserves: bool) -> Answer:
        number, loop = next(_numbers), asyncio.get_running_loop()
        heard: asyncio.Future[Answer] = loop.create_future()

        def hear(answer: Answer) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(deliver, answer)

        def deliver(answer: Answer) -> None:
            if not heard.done():
                heard.set_result(answer)

        self._calls.ask(AskRoom(number, self._attempt, reserves), hear)
        try:
            with waited_here():
                return await heard
        except BaseException:
            self._calls.give_back(number)
            raise

    def _release(self, answer: Answer) -> Release:
        if answer.refusal == "budget":
            raise BudgetError(answer.text)
        if answer.refusal:
            raise GivenUp

        def release(error: BaseException | None = None) -> None:
            self._calls.give_back(answer.number, cut=error is not None and is_cut(error))

        return release

    def note(self, model: str, amounts: Mapping[str, float], *, cached: bool) -> None:
        """Settle one call that was answered."""
        self._calls.tell(Paid(self._attempt, model, dict(amounts), cached))
