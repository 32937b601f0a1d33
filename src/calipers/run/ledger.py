"""Keeps a run to its budget: what may be spent is reserved before, and what was spent is settled after.

There are two kinds of reservation.

- **An attempt** begins only if the budget has room for what it is expected to spend, and those in flight, too: as much as the finished ones on average.
  The first one runs alone, since it tells what an attempt spends. Where there is no room, an attempt waits for one that may have
  spent less than was expected; if none is in flight, the budget is used up, and no further one begins.
- **A call** of a model that Calipers sees is refused once the budget is used up, together with the calls in flight. The attempt that
  wanted to make it is given up: what it would say without that call says nothing of the agent. A call that is cut off (its time is over, the attempt is
  given up, no one reads its stream) may be paid for all the same, so it counts as much as others did on average.

So what is spent goes beyond the budget by no more than what the calls in flight cost more than others did. What is seen only when an attempt ends
(amounts that a task counts itself, or that spans tell) is settled then. Calls in other processes are reserved and settled here one by one, too
(`calipers.engines.calls`).

**A limit that cannot be kept ends the run**, at once where a price or the tokens of a call are not known, and after a few attempts of which nothing is seen.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from math import sqrt
from time import perf_counter
from typing import Final, Literal, Protocol

from calipers.data.attempt import Attempt, counts_here, running_attempt
from calipers.data.budget import SIDES, UNITS, Budget, BudgetUse, Limit, Side, Spent, Unit
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import (
    COST,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    REQUESTS,
    UNPRICED_CALLS,
    spent_by_judges,
    spent_of,
)
from calipers.errors import BudgetError
from calipers.report.incomplete import Incomplete
from calipers.stats.number_text import amount_of, plural, seconds

SILENT: Final = 3
"""After so many finished attempts of which nothing was seen, a limit counts as one that cannot be kept."""
_ALONE: Final = 3
"""After so many attempts that spent nothing, further ones need not wait for each other."""
_SEEN_BY: Final[Mapping[Unit, tuple[str, ...]]] = {
    "cost": (COST,),
    "tokens": (INPUT_TOKENS, OUTPUT_TOKENS),
    "calls": (REQUESTS,),
}
"""The metrics that tell an amount."""
_HOW: Final = "wrap its client (calipers.models.wrap), use an adapter, or count it with increment_eval_metric"
_NO_PRICE: Final = "give it in [prices] of the project's file, or with set_prices"


class GivenUp(BaseException):
    """Ends an attempt that wanted to spend more than there is. It is not recorded."""


class Account:
    """What one attempt spends."""

    __slots__ = ("_seen", "_spent", "calling", "ledger", "left", "refused")

    def __init__(self, ledger: "Ledger") -> None:
        self.ledger = ledger
        self._seen: dict[Side, Spent] = {}
        """What its metrics will tell of calls that were settled one by one."""
        self._spent: dict[Side, Spent] = {}
        self.calling: dict[Side, int] = dict.fromkeys(SIDES, 0)
        """Its calls in flight."""
        self.left: dict[Side, list[Spent]] = {side: [] for side in SIDES}
        """What was settled for calls that were in flight when it ended. They may still tell what they spent."""
        self.refused = False
        """Whether a call was refused, so that the attempt is given up."""

    def check(self) -> None:
        """Give the attempt up, if a call was refused.

        Raises:
            GivenUp: one was.
        """
        if self.refused:
            raise GivenUp

    def spent(self, side: Side) -> Spent:
        """What it has spent so far."""
        return self._spent.get(side, _NOTHING)

    def add(self, side: Side, spent: Spent) -> None:
        """Note that it has spent something."""
        self._spent[side] = self.spent(side) + spent

    def reserve(self) -> "Release":
        """Reserve what one call of the code that runs here is expected to spend; returns what is to be called when it is over.

        Raises:
            BudgetError: the budget has no room for it.
        """
        side = _side()
        self.ledger.reserve(self, side)
        return partial(self.ledger.release, self, side)

    async def reserve_async(self) -> "Release":
        """The same for code that is async.

        Raises:
            BudgetError: the budget has no room for it.
        """
        return self.reserve()

    async def check_room(self) -> None:
        """See that the budget has room for one call, without reserving it.

        Raises:
            BudgetError: it has none.
        """
        self.ledger.check_room(self, _side())

    def note(self, model: str, amounts: Mapping[str, float], *, cached: bool) -> None:
        """Settle one call that was answered, of the code that runs here."""
        self.note_of(_side(), model, amounts, cached=cached)

    def note_of(self, side: Side, model: str, amounts: Mapping[str, float], *, cached: bool) -> None:
        """The same for code of this side."""
        found = Spent.by(dict(amounts))
        with self.ledger.lock:
            self._seen[side] = self._seen.get(side, _NOTHING) + found
            if not cached:
                late = found - self.left[side].pop() if self.left[side] else found
                self.add(side, late)
                self.ledger.pay(side, late, told=found)
        if not cached:
            self.ledger.check_seen(side, model, amounts)

    @property
    def seen(self) -> Mapping[Side, Spent]:
        """What its metrics will tell of calls that were settled one by one."""
        return dict(self._seen)

    def lose(self, seen: Mapping[Side, Spent]) -> None:
        """Note that its metrics will tell no more than this: what has made its calls since then is lost."""
        with self.ledger.lock:
            self._seen = dict(seen)

    def settle(
        self, record: ReportCase | ReportCaseFailure, *, made: bool, asked: Collection[str] | None
    ) -> None:
        """Settle what is known of the attempt now that it is over.

        Args:
            record: of the attempt.
            made: whether the task was called; if not, an earlier run made it.
            asked: the evaluators that judged it now; `None`: all that did.
        """
        if asked is not None and not asked and not made:
            return  # all of it is of an earlier run
        agent = spent_of(record.metrics) if made else {}
        judges: dict[str, float] = {}
        if isinstance(record, ReportCase):
            for evaluator, amounts in spent_by_judges(record).items():
                for name, amount in amounts.items() if asked is None or evaluator in asked else ():
                    judges[name] = judges.get(name, 0) + amount
        told: dict[Side, dict[str, float]] = {"agent": agent, "judges": judges}
        with self.ledger.lock:
            for side, metrics in told.items():
                late = Spent.by(metrics) - self._seen.get(side, _NOTHING)
                self.add(side, late)
                self.ledger.pay(side, late)
            self.ledger.finished(self, record, told, made=made)


_NOTHING: Final = Spent()


def _side() -> Side:
    """Whose code runs here."""
    return "judges" if running_attempt() is None else "agent"


class Release(Protocol):
    """Ends a call of a model."""

    def __call__(self, error: BaseException | None = None) -> None:
        """Say that it is over, and by which error if it was not answered."""


class Payer(Protocol):
    """Where what code spends is settled: an `Account`, or in another process the way to one."""

    def reserve(self) -> Release:
        """As that of an account."""
        ...

    async def reserve_async(self) -> Release:
        """As that of an account."""
        ...

    async def check_room(self) -> None:
        """As that of an account."""
        ...

    def note(self, model: str, amounts: Mapping[str, float], *, cached: bool) -> None:
        """As that of an account."""
        ...


_PAYER: ContextVar[Payer | None] = ContextVar("calipers_payer", default=None)


def payer_here() -> Payer | None:
    """Where what this code spends is settled; `None` without a budget, and outside of attempts and judgements."""
    return _PAYER.get() if counts_here() else None


def use_payer(payer: Payer | None) -> None:
    """Let what is spent from here on, in the current context, be settled there."""
    _PAYER.set(payer)


def reserve_call() -> Release:
    """Reserve what one call of a model is expected to spend; returns what is to be called when it is over.

    Raises:
        BudgetError: the budget has no room for it.
    """
    payer = payer_here()
    return _nothing if payer is None else payer.reserve()


async def reserve_call_async() -> Release:
    """The same for code that is async.

    Raises:
        BudgetError: the budget has no room for it.
    """
    payer = payer_here()
    return _nothing if payer is None else await payer.reserve_async()


async def check_room() -> None:
    """See that the budget has room for one call, without reserving it: what makes the call may do so itself.

    Raises:
        BudgetError: it has none.
    """
    if (payer := payer_here()) is not None:
        await payer.check_room()


def _nothing(error: BaseException | None = None) -> None:
    """There is no budget."""


@asynccontextmanager
async def reserved() -> AsyncIterator[None]:
    """A block that makes one call of a model.

    Raises:
        BudgetError: the budget has no room for it.
    """
    release = await reserve_call_async()
    try:
        yield
    except BaseException as error:
        release(error)
        raise
    release()


def is_cut(error: BaseException) -> bool:
    """Whether a call may have been answered, and paid for, though the answer did not arrive in time."""
    # Of the SDKs of OpenAI and Anthropic, which need not be installed.
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, asyncio.CancelledError | TimeoutError) or "APITimeoutError" in names


class _Sizes:
    """What attempts spent, and so what further ones are likely to spend."""

    __slots__ = ("_spread", "count", "mean", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = self.mean = self._spread = 0.0

    def add(self, spent: float) -> None:
        """Learn what one spent."""
        self.count += 1
        self.total += spent
        before, self.mean = self.mean, self.mean + (spent - self.mean) / self.count
        self._spread += (spent - before) * (spent - self.mean)  # Welford's sum of squares

    def sum_of(self, attempts: int, expected: float) -> float:
        """What so many attempts will hardly exceed together: what is expected, and twice its standard error, or more where few are known."""
        n = self.count
        deviation = self.mean if n < 2 else sqrt(self._spread / (n - 1))
        return expected + (2 + 4 / n) * deviation * sqrt(attempts + attempts**2 / n)


class Ledger:
    """What a run has spent, and what it may still spend."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.lock = threading.RLock()
        self._limits = budget.limits
        self._has_task = True
        self._asks_models = False
        self._spent: dict[Side, Spent] = dict.fromkeys(SIDES, _NOTHING)
        self._calling: dict[Side, int] = dict.fromkeys(SIDES, 0)
        """Calls in flight."""
        self._calls: dict[Side, int] = dict.fromkeys(SIDES, 0)
        """Calls that were settled one by one, and what they spent."""
        self._by_calls: dict[Side, Spent] = dict.fromkeys(SIDES, _NOTHING)
        self._cut: dict[Side, int] = dict.fromkeys(SIDES, 0)
        """Calls that were cut off before one told what it spent."""
        self._flying: set[Account] = set()
        """Attempts in flight; those that have not been given an account are counted in `_begun`."""
        self._begun = 0
        self._sizes = {limit: _Sizes() for limit in self._limits}
        """What attempts spent that spent anything."""
        self._before: dict[Limit, float] = dict.fromkeys(self._limits, 0.0)
        """What earlier parts of the run have spent."""
        self._idle = 0
        """Attempts that ended and spent nothing."""
        self._heard: dict[Side, int] = dict.fromkeys(SIDES, 0)
        """Attempts that ended well, and those of them that were judged."""
        self._seen: set[tuple[Side, Unit]] = set()
        self._finished = 0
        self._took = 0.0
        self._start = perf_counter()
        self._rooms: deque[asyncio.Future[None]] = deque()
        self._changed = threading.Condition(self.lock)
        self.has_ended = False
        """Whether nothing more is begun."""
        self._reached: Unit | Literal["seconds"] | None = None
        self._side: Side | None = None
        self._unseen: str | None = None

    def begin(self, before: Mapping[Side, Spent], *, asks_models: bool, has_task: bool = True) -> None:
        """The run begins.

        Args:
            before: what its earlier parts have spent.
            asks_models: whether some evaluator is known to ask a model.
            has_task: whether a task is called; if not, it is evaluators that spend.
        """
        self._start = perf_counter()
        self._asks_models, self._has_task = asks_models, has_task
        with self.lock:
            for side, spent in before.items():
                self._spent[side] = self._spent[side] + spent
            for limit in self._limits:
                self._before[limit] = self.spent(limit)
                if _is_reached(limit, self.spent(limit)):
                    self._end(limit)

    def spent(self, limit: Limit) -> float:
        """How much was spent of what a limit is about."""
        return sum(self._spent[side].of(limit.unit) for side in limit.sides)

    def all_spent(self) -> dict[Side, Spent]:
        """What each side has spent in all parts of the run, and calls in flight are likely to: what must not be spent again."""
        with self.lock:
            return {side: self._spent[side] + self._average(side, self._calling[side]) for side in SIDES}

    def _average(self, side: Side, calls: int = 1) -> Spent:
        """What some calls are expected to spend: what others did on average."""
        known, spent = self._calls[side], self._by_calls[side]
        if not known:
            return Spent(calls=calls)
        return Spent(spent.cost * calls / known, round(spent.tokens * calls / known), calls)

    def use(self, *, in_random_order: bool = False) -> BudgetUse:
        """What became of the budget."""
        return BudgetUse(
            budget=self.budget,
            agent=self._spent["agent"],
            judges=self._spent["judges"],
            seconds=perf_counter() - self._start,
            reached=self._reached,
            side=self._side,
            unseen=self._unseen,
            in_random_order=in_random_order,
        )

    # ------------------------------------------------------------------ attempts

    def admit(self) -> bool | None:
        """Reserve what an attempt is expected to spend: true if it may begin, false if none may any more, `None` if it has to wait."""
        with self.lock:
            if self.has_ended:
                return False
            if not self._has_time():
                return False
            for limit in self._limits:
                if self._begun and not self._has_room(limit):
                    return None
                if _is_reached(limit, self.spent(limit)) or self.spent(limit) + self._sizes[
                    limit
                ].mean > limit.most * (1 + 1e-9):
                    self._end(limit)
                    return False
            self._begun += 1
            self._wake()  # there may be room for another one
            return True

    def _has_time(self) -> bool:
        """Whether an attempt would end in time, by how long those before it took."""
        most = self.budget.seconds
        if most is None:
            return True
        mean = self._took / self._finished if self._finished else 0.0
        if perf_counter() - self._start + mean < most:
            return True
        self.end_time()
        return False

    def _has_room(self, limit: Limit) -> bool:
        """Whether an attempt more, and those in flight, are likely to stay within a limit."""
        room = limit.most - self.spent(limit)
        if room <= 0:
            return False
        known = self._sizes[limit]
        if not known.count:
            return not self._begun or self._idle >= _ALONE
        # Those that spend little end first: what those in flight have spent so far counts as well, as of lives that are censored.
        flying = max(0.0, self.spent(limit) - self._before[limit] - known.total)
        mean = (known.total + flying) / known.count
        if room >= known.sum_of(self._begun + 1, mean * (self._begun + 1)):
            return True
        so_far = [sum(account.spent(side).of(limit.unit) for side in limit.sides) for account in self._flying]
        late = sum(mean - spent if spent < mean else mean for spent in so_far)
        return room >= known.sum_of(self._begun + 1, late + mean * (self._begun - len(so_far) + 1))

    @contextmanager
    def opened(self, attempt: Attempt, *, admitted: bool) -> Iterator[Account]:
        """A block in which an attempt is made or judged, with its account; `admitted`: room was reserved for it."""
        account: Account = attempt.account or Account(self)
        attempt.account = account
        before = _PAYER.get()
        use_payer(account)
        with self.lock:
            if admitted:
                self._flying.add(account)
        try:
            yield account
        finally:
            use_payer(before)
            with self.lock:
                self._flying.discard(account)
                self._begun -= admitted
                for side in SIDES:  # a stream that was left, or a thread: no call in flight any more
                    while account.calling[side]:
                        self._let_go(account, side)
                        account.left[side].append(self._pay_for_cut(account, side))
                self._wake()

    def finished(
        self,
        account: Account,
        record: ReportCase | ReportCaseFailure,
        told: Mapping[Side, Mapping[str, float]],
        *,
        made: bool,
    ) -> None:
        """Learn from an attempt that was made or judged; `told`: what its metrics say."""
        self._finished += 1
        self._took += record.total_duration
        if any(account.spent(side) != _NOTHING for side in SIDES):
            for limit in self._limits:
                self._sizes[limit].add(sum(account.spent(side).of(limit.unit) for side in limit.sides))
        else:
            self._idle += 1
        for side, metrics in told.items():
            if metrics.get(UNPRICED_CALLS):
                whose = "the agent" if side == "agent" else "judges"
                self._blind("cost", side, f"some calls of {whose} have no known price ({_NO_PRICE})")
            self._seen.update(
                (side, unit) for unit in UNITS if any(name in metrics for name in _SEEN_BY[unit])
            )
        if isinstance(record, ReportCase):
            self._heard["agent"] += made
            self._heard["judges"] += 1
            self._check_silent()

    def _check_silent(self) -> None:
        for limit in self._limits:
            side: Side = "judges" if not self._has_task or limit.side == "judges" else "agent"
            if self._heard[side] < SILENT or (side, limit.unit) in self._seen:
                continue
            if side == "judges" and self._asks_models:
                continue
            whose = "the agent" if side == "agent" else "any evaluator"
            what = {"cost": "no cost", "tokens": "no tokens", "calls": "no call of a model"}[limit.unit]
            attempts = plural(self._heard[side], "attempt")
            if limit.side is None and side == "agent":
                instead = "; if it asks no model, give the limit to the judges alone"
            else:
                instead = ""
            self._blind(limit.unit, side, f"{what} of {whose} was seen in {attempts}: {_HOW}{instead}")

    # ------------------------------------------------------------------ calls

    def reserve(self, account: Account, side: Side) -> None:
        """Make room for one call.

        Raises:
            BudgetError: there is none.
        """
        with self.lock:
            self.check_room(account, side)
            self._calling[side] += 1
            account.calling[side] += 1

    def check_room(self, account: Account, side: Side) -> None:
        """See that there is room for one call.

        Raises:
            BudgetError: there is none.
        """
        with self.lock:
            for limit in self._limits:
                if side in limit.sides and self._is_used_up(limit):
                    account.refused = True
                    self._end(limit)
                    raise BudgetError(f"not asked: the run has {self.incomplete}")

    def _is_used_up(self, limit: Limit) -> bool:
        """Whether the limit is reached, together with what the calls in flight are expected to spend."""
        spent = self.spent(limit)
        for side in limit.sides:
            spent += self._average(side, self._calling[side]).of(limit.unit)
        return _is_reached(limit, spent)

    def release(self, account: Account, side: Side, error: BaseException | None = None) -> None:
        """A call is over; what it spent has been settled, if it was answered."""
        with self.lock:
            if account.calling[side]:
                self._let_go(account, side)
                if error is not None and is_cut(error):
                    self._pay_for_cut(account, side)

    def _let_go(self, account: Account, side: Side) -> None:
        account.calling[side] -= 1
        self._calling[side] -= 1

    def _pay_for_cut(self, account: Account, side: Side) -> Spent:
        """Settle a call of which nothing is known, and return for how much."""
        found = self._average(side)
        account.add(side, found)
        self.pay(side, found)
        if not self._calls[side]:
            self._cut[side] += 1
            if self._cut[side] >= SILENT:
                said = f"{self._cut[side]} calls were cut off before they were answered, and what they cost is not known"
                self._blind("cost", side, said)
                self._blind("tokens", side, said)
        return found

    def pay(self, side: Side, spent: Spent, *, told: Spent | None = None) -> None:
        """Settle an amount; `told`: what one call told of itself."""
        with self.lock:
            self._spent[side] = self._spent[side] + spent
            if told is not None:
                self._calls[side] += 1
                self._by_calls[side] = self._by_calls[side] + told

    def check_seen(self, side: Side, model: str, amounts: Mapping[str, float]) -> None:
        """End the run if a limit is about something that a call does not tell."""
        if INPUT_TOKENS not in amounts and OUTPUT_TOKENS not in amounts:
            said = f"a call of {model} did not tell its tokens"
            self._blind("tokens", side, said)
            if UNPRICED_CALLS in amounts:
                self._blind("cost", side, said)
        elif UNPRICED_CALLS in amounts:
            self._blind("cost", side, f"the price of {model} is not known ({_NO_PRICE})")

    # ------------------------------------------------------------------ the end

    def end_time(self) -> None:
        """The time is over."""
        with self.lock:
            self._stop("seconds", None)

    def _end(self, limit: Limit) -> None:
        self._stop(limit.unit, limit.side)

    def _blind(self, unit: Unit, side: Side, why: str) -> None:
        """A limit cannot be kept."""
        with self.lock:
            if not self.has_ended and any(each.unit == unit and side in each.sides for each in self._limits):
                self._unseen = why
                self._stop(None, None)

    def _stop(self, reached: "Unit | Literal['seconds'] | None", side: Side | None) -> None:
        if not self.has_ended:
            self.has_ended = True
            self._reached, self._side = reached, side
            self._wake(everyone=True)

    @property
    def incomplete(self) -> Incomplete | None:
        """Why the run ended, as things stand now; `None` if it did not end for its budget."""
        if not self.has_ended:
            return None
        if self._unseen is not None:
            return Incomplete("budget", f"ended, since its budget cannot be kept ({self._unseen})")
        if self._reached == "seconds":
            took, most = perf_counter() - self._start, self.budget.seconds or 0.0
            return Incomplete("budget", f"ended at its budget ({seconds(took)} of {seconds(most)})")
        (limit,) = (each for each in self._limits if (each.unit, each.side) == (self._reached, self._side))
        whose = "" if limit.side is None else f" for {'the agent' if limit.side == 'agent' else 'judges'}"
        spent, mean = self.spent(limit), self._sizes[limit].mean
        more = (
            f", and an attempt takes {amount_of(limit.unit, mean)}"
            if mean and not _is_reached(limit, spent)
            else ""
        )
        return Incomplete(
            "budget",
            f"ended at its budget{whose} ({amount_of(limit.unit, max(0.0, spent), limit.most)}{more})",
        )

    def _wake(self, *, everyone: bool = False) -> None:
        """Let one of those that wait look again: they all wait for the same."""
        while self._rooms:
            room = self._rooms.popleft()
            with suppress(RuntimeError):  # the loop is closed, and nothing waits any more
                room.get_loop().call_soon_threadsafe(_done, room)
            if not everyone and not room.done():
                break
        self._changed.notify_all() if everyone else self._changed.notify()

    async def room(self) -> None:
        """Wait until `admit` may say something else."""
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self.lock:
            self._rooms.append(room)
        try:
            await room
        except BaseException:
            with self.lock:
                self._wake()  # it was woken for nothing
            raise

    def wait_in_thread(self, seconds: float) -> None:
        """The same in a thread, for so long at most."""
        with self._changed:
            self._changed.wait(seconds)


def _is_reached(limit: Limit, spent: float) -> bool:
    """Whether so much is all there is, but for the error of a sum."""
    return spent >= limit.most * (1 - 1e-9)


def _done(room: "asyncio.Future[None]") -> None:
    if not room.done():
        room.set_result(None)
