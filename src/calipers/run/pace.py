"""Decides how fast calls of one name may be made, by how earlier calls ended: how many at once, how many a second.

A `Pace` does nothing by itself. It is asked when the next call may begin (`ready_at`), told when one begins (`begin`) and what
came of it (`end`), always with the time. So everything it does can be tried on a clock that is made up.

Four things hold a call back, and the latest of them decides.

- **The window**: how many calls are in flight. It doubles with each round of answers, and grows by one a round after the first overload. A
  time-out, or a server that says it is overloaded, halves it.
- **The rate**: how many begin in a second. Until the first refusal (429) it only spreads the calls of a round. From then on it follows a curve: a tenth below what the
  server was seen to take, back up to that, a while there, and beyond, faster and faster, until the next refusal. So most of
  what the server takes is used, and few calls ask for more (the curve is that of CUBIC, RFC 9438, of a rate in place of a window).
- **What the server says is left**, where it does: so many requests and tokens, of so many, and when they are full again. What a call takes is
  learnt from how much less is left after it, so calls that others make with the same key count, too. Answers may take far longer than it takes to use
  all that is left; what they say is of when their calls were let in.
- **A pause**: as long as the server asked for, and a little more, differently for each who asks; calls then begin slowly. Where a server refuses
  everything and does not say for how long, one call at a time tries, after longer and longer pauses.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from calipers.data.rate_headers import Allowance

Outcome: TypeAlias = Literal["answered", "refused", "overloaded", "failed"]
"""What came of a call: an answer; too many requests; a time-out or a busy server; or what says nothing of a limit."""

FIRST_WINDOW: Final = 8
"""Calls in flight before anything is known."""
_BELOW: Final = 0.1
"""The share by which the rate falls below what the server takes."""
_BEYOND: Final = 0.3
"""The share by which it goes beyond that after twice the time, if nothing is refused."""
_FREE: Final = 1.8
"""After so many times the time in which the rate is back, what was measured counts no longer: the server takes more now, so the rate doubles"""
_DOUBLE_SECONDS: Final = 2.0
"""and doubles again, each time after so many seconds."""
_SPREAD: Final = 1.5
_LEAST_RISE: Final = 4.0
"""Seconds in which the rate is back at what the server took."""
_MOST_RISE: Final = 60.0
_CALLS_IN_RISE: Final = 100
"""And at least so many calls, so that one refusal is few of them."""
_AGAIN: Final = 0.8
"""By which the rate falls where the next refusal comes at once: too little was seen to measure."""
_SEEN_SECONDS: Final = 1.0
"""From when on there is enough to measure by."""
_HORIZON: Final = 2.0
"""Seconds over which it is measured what a server takes."""
_ENOUGH: Final = 30
"""And at least over so many calls."""
_LONG_HORIZON: Final = 10.0
_KEPT: Final = 200.0
_BINS: Final = 0.1
_BURST_SECONDS: Final = 0.1
"""A rate that could not be used for a moment is made up for, for so long."""
_JITTER: Final = 0.1
"""By which share a pause is longer, at most: all who wait were told the same moment."""
_SLOW_START: Final = 1.0
"""Seconds after a pause until the rate is whole again, from a quarter of it."""
_LEAST_BACKOFF: Final = 0.05
_FIRST_BACKOFF: Final = 0.5
_MOST_BACKOFF: Final = 30.0
"""Seconds between tries, where a server refuses everything: less at first where it takes many calls."""
_RESERVE: Final = 0.02
"""The share of what a server allows at once that is left alone: calls differ in size."""
_MEMORY: Final = 0.98
"""How much of what is known of the size of calls stays with each further one."""
_LEAST_RATE: Final = 1 / 30
"""A call is made so often at least."""
_QUICK: Final = 3.0
"""How much faster the window grows at first where the server says how much it takes."""
_MOST_WINDOW: Final = 10_000.0


class Told(NamedTuple):
    """What came of a call, as far as a limit is concerned."""

    outcome: Outcome = "answered"
    wait: float | None = None
    """Seconds for which the server wants to be left alone; `None` if it does not say."""
    allowances: Sequence[Allowance] = ()


class Ticket:
    """One call that has begun."""

    __slots__ = ("at", "filled", "left", "model", "number")

    def __init__(self, at: float, model: str, number: int, left: dict[str, float], *, filled: bool) -> None:
        self.at = at
        self.model = model
        self.number = number
        """Which call it is of its model."""
        self.left = left
        """What was reckoned to be left of each allowance then, without what has been put right since the first answer."""
        self.filled = filled
        """Whether half of the window was in use with it."""


class _Stock:
    """What is left of one allowance: reckoned from what calls take and what comes back, and put right by each answer.

    An answer says what was left when its call was let in, many calls ago where answers take long. So it is held against what was reckoned for then.
    Less than reckoned is believed at once. More is believed as far as all answers of a round tell it: a call that reached the server late found what had come back
    meanwhile, and that has been reckoned already.
    """

    __slots__ = (
        "at",
        "calls",
        "corrected",
        "heard",
        "latest",
        "left",
        "limit",
        "more",
        "number",
        "refill",
        "round",
        "used",
    )

    def __init__(self, told: Allowance, ticket: Ticket, now: float, later: int) -> None:
        """What the first answer tells.

        Args:
            told: by the answer.
            ticket: of its call.
            now: the time.
            later: calls that began after it.
        """
        self.limit = told.limit
        self.refill = _refill(told)
        self.calls, self.used = 0.0, 0.0
        """So many calls have taken so much, the latest counting most."""
        self.left, self.at = told.left, ticket.at
        """What was left, and when."""
        self.left, self.at = self.now(now) - later * self.size, now
        self.corrected = 0.0
        """By how much it was put right so far."""
        self.heard = (ticket.at, told.left)
        """When the call began whose answer told last, and what it told."""
        self.number = ticket.number
        """Which call that was."""
        self.more = math.inf
        """How much more there is than reckoned, as far as all answers of this round tell it."""
        self.latest = self.round = ticket.number + later
        """The latest call that has begun; and the one whose answer ends the round, or a later one's."""

    @property
    def size(self) -> float:
        """What a call takes."""
        return max(1.0, self.used / self.calls) if self.calls else 1.0

    def now(self, at: float) -> float:
        """How much there is."""
        return min(self.limit, self.left + self.refill * (at - self.at))

    def begin(self, at: float, number: int) -> float:
        """A call begins; what is left after it, without what was put right."""
        self.latest = number
        self.left, self.at = self.now(at) - self.size, at
        return self.left - self.corrected

    @property
    def needed(self) -> float:
        """How much there must be for a call to begin: what it takes, and a reserve, since calls on their way may take more than others did."""
        differ = (self.size - 1.0) * math.sqrt(self.latest - self.number)
        return min(self.size + max(_RESERVE * self.limit, differ), 0.9 * self.limit)

    def ready_at(self, at: float) -> float:
        """When there is enough."""
        missing = self.needed - self.now(at)
        if missing <= 0:
            return at
        return at + missing / self.refill if self.refill > 0 else math.inf

    def hear(self, told: Allowance, ticket: Ticket, at: float) -> None:
        """Take in what an answer tells, unless a later call has told already."""
        calls = ticket.number - self.number
        if calls <= 0:
            return
        if told.limit == self.limit:
            before, left = self.heard
            used = min(self.limit, left + self.refill * (ticket.at - before)) - told.left
            fade = _MEMORY**calls
            self.calls = self.calls * fade + calls
            self.used = self.used * fade + used
        self.left, self.at = self.now(at), at
        reckoned = ticket.left.get(told.kind)
        if reckoned is not None:  # the call began after the first answer that told of this
            self._correct(told.left - reckoned - self.corrected, ticket.number)
        if told.limit - told.left > 0.05 * told.limit or self.refill == 0 or told.limit != self.limit:
            self.refill = _refill(told)
        self.limit, self.number, self.heard = told.limit, ticket.number, (ticket.at, told.left)
        self.left = min(self.left, self.limit)

    def _correct(self, more: float, number: int) -> None:
        """Put right what is reckoned, by what one answer tells."""
        self.more = min(self.more, more)
        if self.more > 0 and number <= self.round:
            return
        self.left += self.more
        self.corrected += self.more
        self.more, self.round = math.inf, self.latest


def _refill(told: Allowance) -> float:
    """How much there is more of it each second."""
    return (told.limit - told.left) / told.full_in if told.full_in > 0 else 0.0


class _Seen:
    """How many calls a server has taken lately: those that were not refused, counted when they began, since answers take long."""

    def __init__(self) -> None:
        self._bins: deque[tuple[float, int]] = deque()

    def add(self, at: float) -> None:
        """One more."""
        if self._bins and at - self._bins[-1][0] < _BINS:
            start, count = self._bins[-1]
            self._bins[-1] = (start, count + 1)
        else:
            self._bins.append((at, 1))
        while self._bins[0][0] < at - _KEPT:
            self._bins.popleft()

    def drop(self, at: float) -> None:
        """One that began then was refused."""
        for place in range(len(self._bins) - 1, -1, -1):
            start, count = self._bins[place]
            if start <= at:
                self._bins[place] = (start, max(0, count - 1))
                return

    def since(self, start: float) -> int:
        """How many, from some time on."""
        return sum(count for at, count in self._bins if at >= start)

    def start_of(self, count: int) -> float:
        """When the latest so many began."""
        for at, some in reversed(self._bins):
            count -= some
            if count <= 0:
                return at
        return -math.inf


class Pace:
    """How fast the calls of one name may be made."""

    def __init__(self, draw: Callable[[], float], *, at_most: int | None = None, now: float = 0.0) -> None:
        """A pace of which nothing is known yet.

        Args:
            draw: a number from 0 to 1, another one each time, by which pauses differ.
            at_most: calls in flight, whatever the server allows; the window begins there.
            now: the time.
        """
        self._draw = draw
        self.at_most = at_most
        self.most: float = _MOST_WINDOW if at_most is None else at_most
        """The largest window there is."""
        self.in_flight = 0
        self.window = float(FIRST_WINDOW if at_most is None else at_most)
        """Calls in flight that are allowed."""
        self._threshold = math.inf
        self._shrunk_at = -math.inf
        self._top: float | None = None
        """Calls a second that the server took when it last refused one; `None`: it has refused none."""
        self._cut_at = now
        """When the rate last fell, and the pause after that was over."""
        self._fell_at = now
        """When it fell from what was measured."""
        self._credit, self._credit_at = 1.0, now
        self._pauses: dict[str, float] = {}
        """Until when calls of a model pause; of all of them, under the empty name."""
        self._resumed = -math.inf
        """When a pause that was asked for ends, after which calls begin slowly."""
        self._tries = 0
        """Rounds in a row in which everything was refused."""
        self._began = self._cycle = now
        """From when on answers count, to measure what the server takes."""
        self._taken = 0
        self._in_vain: dict[str, tuple[int, float]] = {}
        """Of a model's calls for which enough was left, by what was told: how many rounds in a row were refused, and when the last was."""
        self._seen = _Seen()
        self._latency = 0.0
        self._stocks: dict[str, dict[str, _Stock]] = {}
        self._numbers: dict[str, int] = {}

    # ------------------------------------------------------------------ before a call

    def rate(self, now: float) -> float:
        """Calls that may begin in a second; infinite before the first answer."""
        if self._top is None:  # as many as the window lets through, but not all of a round at the same moment
            return _SPREAD * self.window / self._latency if self._latency else math.inf
        since = max(0.0, now - self._cut_at) / self._rise
        curve = min(since, _FREE) - 1
        rate = self._top * (1 + (_BELOW if curve < 0 else _BEYOND) * curve**3)
        if since > _FREE:
            rate *= 2 ** min((since - _FREE) * self._rise / _DOUBLE_SECONDS, 20)
        if now < self._resumed + _SLOW_START:
            rate *= 0.25 + 0.75 * max(0.0, now - self._resumed) / _SLOW_START
        return max(_LEAST_RATE, rate)

    @property
    def _rise(self) -> float:
        assert self._top is not None
        return min(_MOST_RISE, max(_LEAST_RISE, _CALLS_IN_RISE / self._top))

    def told(self, now: float) -> float | None:
        """Calls a second that the server says it takes, by what calls take; `None` if it does not say."""
        found = [
            stock.refill / stock.size
            for stocks in self._stocks.values()
            for stock in stocks.values()
            if stock.refill > 0 and now - stock.heard[0] < _MOST_RISE + self._latency
        ]
        return min(found, default=None)

    def allowed(self, now: float) -> float | None:
        """Calls that a server is known to allow in a second, by what it says and what it refused; `None` if it did neither."""
        rate, told = None if self._top is None else self.rate(now), self.told(now)
        return told if rate is None else rate if told is None else min(rate, told)

    def ready_at(self, now: float, model: str = "", *, has_slot: bool = False) -> float:
        """When a call may begin, as things stand: now or later, or never before another one has ended.

        Args:
            now: the time.
            model: which is asked; allowances are of one model.
            has_slot: it is part of a call in flight, so that the window does not hold it back.
        """
        if not has_slot and self.in_flight >= max(1, int(self.window)):
            return math.inf
        paused = max(self._pauses.get("", now), self._pauses.get(model, now), now)
        if self._tries and self.in_flight and not has_slot:
            return math.inf  # one call tries for all
        for stock in self._stocks.get(model, {}).values():
            paused = max(paused, stock.ready_at(now))
        if math.isinf(paused) and (has_slot or not self.in_flight):  # nothing would ever tell more
            paused = now
        if math.isinf(paused):
            return paused
        missing = 1.0 - self._credit_by(now)
        return max(paused, now + missing / self.rate(max(now, paused))) if missing > 1e-9 else paused

    def _credit_by(self, now: float) -> float:
        rate = self.rate(now)
        if math.isinf(rate):
            return 1.0
        most = max(1.0, rate * _BURST_SECONDS)
        return min(most, self._credit + rate * max(0.0, now - self._credit_at))

    @property
    def pause(self) -> float:
        """Until when everything pauses; minus infinity if nothing does."""
        return max(self._pauses.values(), default=-math.inf)

    def begin(self, now: float, model: str = "", *, has_slot: bool = False) -> Ticket:
        """A call begins."""
        self._credit, self._credit_at = self._credit_by(now) - 1.0, now
        if not has_slot:
            self.in_flight += 1
        number = self._numbers[model] = self._numbers.get(model, 0) + 1
        self._seen.add(now)
        left = {kind: stock.begin(now, number) for kind, stock in self._stocks.get(model, {}).items()}
        return Ticket(now, model, number, left, filled=self.in_flight >= int(self.window / 2))

    # ------------------------------------------------------------------ after a call

    def end(self) -> None:
        """A call that had a place is over."""
        self.in_flight -= 1

    def hear(self, ticket: Ticket, now: float, told: Told = Told()) -> None:  # noqa: B008 - it cannot be changed
        """Take in what came of a call."""
        for allowance in told.allowances:
            stocks = self._stocks.setdefault(ticket.model, {})
            if (stock := stocks.get(allowance.kind)) is None:
                later = self._numbers[ticket.model] - ticket.number
                stocks[allowance.kind] = _Stock(allowance, ticket, now, later)
            else:
                stock.hear(allowance, ticket, now)
        if told.outcome == "answered":
            self._answered(ticket, now)
        elif told.outcome == "refused":
            self._refused(ticket, now, told.wait)
        elif told.outcome == "overloaded":
            self._overloaded(ticket, now, told.wait)

    def _answered(self, ticket: Ticket, now: float) -> None:
        if self._tries and ticket.at >= self._cut_at:
            self._tries = 0
            if self._top is not None and now - self._fell_at > max(_HORIZON, 4 * self._latency):
                self._top = max(_LEAST_RATE, min(self._top, self._in_all(now, now - self._fell_at)))
        self._in_vain.pop(ticket.model, None)
        if ticket.at >= self._cycle:
            self._taken += 1
        took = now - ticket.at
        self._latency = took if not self._latency else 0.9 * self._latency + 0.1 * took
        if ticket.filled:
            quick = _QUICK if self._stocks else 1.0
            grown = self.window + (quick if self.window < self._threshold else 1.0 / self.window)
            if math.isinf(self._threshold) and (told := self.told(now)) is not None:
                grown = max(grown, told * self._latency)  # what it says that it takes
            self.window = min(grown, self.most)

    def _refused(self, ticket: Ticket, now: float, wait: float | None) -> None:
        self._seen.drop(ticket.at)
        stocks = self._stocks.get(ticket.model, {})
        if any(stock.heard[1] < stock.needed for stock in stocks.values()):
            # What is left says all there is to know; other models of the same host have their own.
            tries, since = self._in_vain.get(ticket.model, (-1, ticket.at))
            if ticket.at >= since:
                tries, since = tries + 1, now
            self._in_vain[ticket.model] = (tries, since)
            self._pause(ticket.model, now, wait or (self._backoff(tries) if tries else 0.0))
            return
        is_news = ticket.at >= self._cut_at
        if wait:
            self._pause("", now, wait)
        if not is_news:  # it began before the rate fell
            return
        if not self._taken and now - self._cycle > self._latency:  # answers would have come by now
            self._try_again(now, wait)
        else:
            self._cut(now)
            self._fell_at = now
        self._cut_at = self._cycle = max(now, self._pauses.get("", now))
        self._taken = 0

    def _try_again(self, now: float, wait: float | None) -> None:
        """Nothing was answered since the last refusal: wait longer, and try with one call."""
        if self._top is not None and not self._tries:
            self._top = max(_LEAST_RATE, self._top * _AGAIN)
        if not wait:
            self._pause("", now, self._backoff(self._tries))
        self._tries += 1

    def _backoff(self, tries: int) -> float:
        first = _FIRST_BACKOFF if self._top is None else min(_FIRST_BACKOFF, 2 / self._top)
        return min(_MOST_BACKOFF, max(_LEAST_BACKOFF, first) * 2.0 ** min(tries, 12))

    def _in_all(self, now: float, refused: float) -> float:
        """Calls a second that were answered lately, with the time in which everything was refused: it takes so many at once, and then none."""
        span = min(now - self._began, max(_LONG_HORIZON, 3 * refused))
        return self._seen.since(now - span) / max(span, _SEEN_SECONDS)

    def _cut(self, now: float) -> None:
        """Begin again below what the server was seen to take."""
        ended = max(now, self._pauses.get("", now))
        rate = self.rate(now)
        if ended - now > _HORIZON:  # it takes so many at once, and then none for a while
            measured = self._in_all(ended, ended - now)
        elif now - self._cycle < _SEEN_SECONDS and not math.isinf(rate):
            measured = rate * _AGAIN
        else:
            start = max(self._cycle, min(now - _HORIZON, self._seen.start_of(_ENOUGH)))
            measured = self._seen.since(start) / max(now - start, _SEEN_SECONDS / 2)
        self._top = max(_LEAST_RATE, min(measured, rate))
        self._credit, self._credit_at = 1.0 if ended > now else 0.0, ended

    def _overloaded(self, ticket: Ticket, now: float, wait: float | None) -> None:
        if wait:
            self._pause("", now, wait)
        if ticket.at < self._shrunk_at:
            return
        self._shrunk_at = now
        self.window = max(1.0, min(self.window, self.in_flight + 1) / 2)
        self._threshold = self.window

    def _pause(self, model: str, now: float, wait: float) -> None:
        until = now + wait * (1 + _JITTER * self._draw())
        self._pauses[model] = max(self._pauses.get(model, until), until)
        if not model and wait >= _SLOW_START:
            self._resumed = self._pauses[model]
            if self._top is None:  # there is no rate that could begin slowly
                self.window = max(1.0, self.window / 2)
