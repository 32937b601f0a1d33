"""Laws of the pace of a limit, on a clock that is made up: it is neither above what a server takes for long, nor below."""

import heapq
import math
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.data.rate_headers import Allowance
from calipers.run.pace import FIRST_WINDOW, Outcome, Pace, Ticket, Told
from calipers.testing import RateLimit


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Simulated:
    """Calls without end against a server with a limit, on such a clock."""

    def __init__(
        self,
        limit: RateLimit,
        clock: Clock,
        *,
        tells: bool,
        seed: int = 0,
        latency: tuple[float, float] = (0.2, 0.5),
    ) -> None:
        self.limit, self.clock, self.tells = limit, clock, tells
        self.random = random.Random(seed)
        self.pace = Pace(self.random.random)
        self.latency = latency
        self.ends: list[tuple[float, int, Ticket, Told]] = []
        self.begun: list[float] = []
        self.most_in_flight = 0

    def run(self, until: float) -> None:
        """Call as fast as the pace lets, until this time."""
        while self.clock.now < until:
            while (ready := self.pace.ready_at(self.clock.now)) <= self.clock.now:
                self._call()
            self.most_in_flight = max(self.most_in_flight, self.pace.in_flight)
            following = min(ready, self.ends[0][0] if self.ends else math.inf)
            assert self.clock.now <= following < math.inf, "nothing would ever happen again"
            self.clock.now = following
            while self.ends and self.ends[0][0] <= self.clock.now:
                _, _, ticket, told = heapq.heappop(self.ends)
                self.pace.hear(ticket, self.clock.now, told)
                self.pace.end()

    def _call(self) -> None:
        ticket = self.pace.begin(self.clock.now)
        self.begun.append(self.clock.now)
        decision = self.limit.ask(self.random.randint(5, 15), "openai")
        allowances = []
        for kind, bucket in self.limit.buckets.items() if self.tells else ():
            allowances.append(Allowance(kind, bucket.most, math.floor(bucket.left), bucket.full_in))
        wait = decision.wait if self.tells and not decision.taken else None
        took = self.random.uniform(*self.latency) if decision.taken else 0.01
        told = Told("answered" if decision.taken else "refused", wait, allowances)
        heapq.heappush(self.ends, (self.clock.now + took, len(self.begun), ticket, told))

    def refused_after(self, start: float) -> float:
        """The share of calls that were refused from some time on."""
        late = [taken for at, taken, _ in self.limit.log if at >= start]
        return late.count(False) / len(late)

    def taken_between(self, start: float, end: float) -> float:
        """Calls a second that were taken."""
        return sum(taken for at, taken, _ in self.limit.log if start <= at < end) / (end - start)


def simulated(
    rate: float, *, tells: bool, seed: int = 0, window: float = 5.0, **more: tuple[float, float]
) -> Simulated:
    """A server that takes so many calls a second, and those of a window at once."""
    clock = Clock()
    limit = RateLimit(int(rate * window), seconds=window, clock=clock)
    return Simulated(limit, clock, tells=tells, seed=seed, **more)


@pytest.mark.parametrize("latency", [(0.2, 0.5), (1.0, 3.0)])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("tells", "least"), [(True, 0.95), (False, 0.85)])
def test_most_of_what_a_server_takes_is_used_and_hardly_any_call_is_refused(
    tells: bool, least: float, seed: int, latency: tuple[float, float]
) -> None:
    run = simulated(50, tells=tells, seed=seed, latency=latency)
    run.run(60)
    assert run.taken_between(10, 60) >= least * 50
    assert run.refused_after(10) <= 0.01


@pytest.mark.parametrize(("tells", "least"), [(True, 0.95), (False, 0.85)])
def test_it_follows_a_limit_that_changes(tells: bool, least: float) -> None:
    run = simulated(50, tells=tells)
    capacity = 0.0
    for start, rate in ((0, 50), (20, 25), (45, 60)):
        run.limit.change(rate * 5, seconds=5)
        until = start + 25 if start else 20
        run.run(until)
        capacity += rate * (until - start)
    taken = sum(taken for _, taken, _ in run.limit.log)
    assert taken >= least * capacity
    assert run.refused_after(10) <= 0.01


@pytest.mark.parametrize("window", [1.0, 5.0, 60.0])
def test_what_a_server_says_is_used_however_long_its_answers_take(window: float) -> None:
    run = simulated(50, tells=True, window=window, latency=(1.0, 3.0))
    run.run(60)
    at_once = 50 * window
    assert sum(taken for _, taken, _ in run.limit.log) >= 0.95 * (at_once + 60 * 50)
    assert run.refused_after(0) <= 0.001


def test_a_server_whose_answers_take_long_is_not_taken_for_one_that_refuses_everything() -> None:
    pace, now = Pace(lambda: 0.0), 0.0
    for _ in range(20):  # answers take two seconds
        ticket = pace.begin(now)
        now += 2.0
        pace.hear(ticket, now, Told())
        pace.end()
    flying = [pace.begin(now + 0.01 * number) for number in range(4)]
    for late in range(2):  # one after the other is refused at once, while others are on their way
        refused = pace.begin(now + 0.2 + 0.2 * late)
        pace.hear(refused, now + 0.21 + 0.2 * late, Told("refused"))
        pace.end()
    ready = pace.ready_at(now + 0.5)
    assert len(flying) == pace.in_flight < pace.window
    assert math.isfinite(ready), "it need not wait for the calls in flight"


@settings(max_examples=8, deadline=None)
@given(
    rate=st.integers(20, 200),
    falls_to=st.floats(0.2, 0.8),
    seed=st.integers(0, 1000),
    low=st.floats(0.05, 0.5),
)
def test_it_is_not_above_what_a_server_takes_for_long_and_recovers(
    rate: int, falls_to: float, seed: int, low: float
) -> None:
    run = simulated(rate, tells=False, seed=seed, latency=(low, 2 * low))
    run.run(20)
    run.limit.change(max(1, int(rate * falls_to * 5)), seconds=5)
    fell = run.clock.now
    run.run(fell + 15)
    asked = [at for at in run.begun if fell + 8 <= at < fell + 15]
    assert len(asked) / 7 <= 1.35 * rate * falls_to + 2, "above what it takes, long after it fell"
    assert run.taken_between(fell + 5, fell + 15) >= 0.5 * rate * falls_to - 1, "far below it"
    run.limit.change(rate * 5, seconds=5)
    back = run.clock.now
    run.run(back + 60)
    assert run.taken_between(back + 40, back + 60) >= 0.8 * rate


@settings(max_examples=50, deadline=None)
@given(wait=st.floats(1, 3600), seed=st.integers(0, 1000), before=st.integers(1, 40))
def test_no_call_begins_in_a_pause_and_no_herd_after_it(wait: float, seed: int, before: int) -> None:
    pace = Pace(random.Random(seed).random)
    now = 0.0
    for _ in range(before):  # it has seen some answers
        ticket = pace.begin(now)
        now += 0.1
        pace.hear(ticket, now, Told())
        pace.end()
    ticket = pace.begin(now)
    pace.hear(ticket, now, Told("refused", wait))
    pace.end()
    begun: list[float] = []
    at = pace.ready_at(now)
    assert wait <= at - now <= wait * 1.1 + 1e-6 * wait + 1e-3
    end = at + 1
    while at < end and len(begun) < 1000:
        pace.begin(at)
        begun.append(at)
        at = pace.ready_at(at)
    assert sum(each <= begun[0] + 0.05 for each in begun) <= 2
    rate = before / now
    assert len(begun) <= 2 * rate + 3


def test_many_who_were_told_the_same_moment_come_back_at_different_ones() -> None:
    ready = []
    for seed in range(200):
        pace = Pace(random.Random(seed).random)
        pace.hear(pace.begin(0.0), 0.0, Told("refused", 10.0))
        pace.end()
        ready.append(pace.ready_at(0.0))
    assert min(ready) >= 10
    assert max(ready) - min(ready) > 0.8


def test_a_server_that_refuses_everything_is_asked_more_and_more_seldom_with_one_call_at_a_time() -> None:
    pace, now, begun = Pace(lambda: 0.0), 0.0, []
    while len(begun) < 20:
        now = max(now, pace.ready_at(now))
        ticket = pace.begin(now)
        begun.append(now)
        if len(begun) > 1:
            assert math.isinf(pace.ready_at(now)), "one call tries for all"
        now += 0.05
        pace.hear(ticket, now, Told("refused"))
        pace.end()
    pauses = [round(later - earlier, 6) for earlier, later in pairwise(begun)]
    assert pauses == sorted(pauses)
    assert pauses[-1] <= 31


def test_a_time_out_halves_the_window_once_for_a_round() -> None:
    pace = Pace(lambda: 0.0)
    tickets = [pace.begin(0.0) for _ in range(FIRST_WINDOW)]
    assert math.isinf(pace.ready_at(0.0))
    for ticket in tickets:
        pace.hear(ticket, 1.0, Told("overloaded"))
    assert pace.window == FIRST_WINDOW / 2
    for _ in tickets:
        pace.end()
    later = pace.begin(2.0)
    pace.hear(later, 3.0, Told("overloaded"))
    assert pace.window < FIRST_WINDOW / 2


def test_the_window_doubles_at_first_and_never_goes_beyond_a_number_that_was_given() -> None:
    for at_most, expected in ((None, 2 * FIRST_WINDOW), (3, 3)):
        pace = Pace(lambda: 0.0, at_most=at_most)
        tickets = []
        while pace.ready_at(0.0) <= 0.0:
            tickets.append(pace.begin(0.0))
        for ticket in tickets:
            pace.hear(ticket, 1.0, Told())
            pace.end()
        if at_most is None:
            assert FIRST_WINDOW < pace.window <= expected
        else:
            assert pace.window == expected


def test_what_is_left_of_one_model_does_not_hold_back_another() -> None:
    pace = Pace(lambda: 0.0)
    first = pace.begin(0.0, "large")
    pace.hear(first, 0.1, Told("answered", None, [Allowance("tokens", 1000, 0, 60)]))
    pace.end()
    assert pace.ready_at(0.1, "large") > 1
    assert pace.ready_at(0.1, "small") <= 0.2


def test_calls_that_reach_the_server_late_are_not_taken_for_more_that_is_left() -> None:
    pace, left, now = Pace(lambda: 0.0), 100.0, 0.0

    def told(late: float) -> Told:
        """What the server says to a call that comes so late: meanwhile ten a second came back."""
        return Told("answered", None, [Allowance("requests", 100, left + 10 * late, (100 - left) / 10)])

    for _ in range(90):
        ticket = pace.begin(now)
        left -= 1
        pace.hear(ticket, now, told(0.0))
        pace.end()
    late = [pace.begin(now) for _ in range(5)]
    left -= 5
    for ticket in late:  # they were on their way for half a second
        pace.hear(ticket, now + 0.5, told(0.5))
        pace.end()
    now, begun = now + 0.5, 0
    while pace.ready_at(now) <= now and begun < 50:
        pace.begin(now)
        begun += 1
    assert begun <= left + 5, "no more than there is"


def test_what_a_call_takes_is_learnt_from_what_is_left() -> None:
    pace, left, now = Pace(lambda: 0.0), 10_000.0, 0.0
    for _ in range(10):
        ticket = pace.begin(now, "m")
        left -= 500
        now += 0.1
        pace.hear(ticket, now, Told("answered", None, [Allowance("tokens", 10_000, left, 1e9)]))
        pace.end()
    ready = 0
    while pace.ready_at(now, "m") <= now + 100 and ready < 50:
        now = max(now, pace.ready_at(now, "m"))
        pace.begin(now, "m")
        pace.end()
        ready += 1
    assert 6 <= ready <= 10, "as many as there is room for, less a reserve for those that take more"


@given(
    st.lists(st.sampled_from(["answered", "refused", "overloaded", "failed"]), max_size=200), st.booleans()
)
@settings(deadline=None, max_examples=50)
def test_whatever_happens_a_call_may_begin_in_the_end(outcomes: list[Outcome], waits: bool) -> None:
    pace, now = Pace(random.Random(1).random), 0.0
    for outcome in outcomes:
        ready = pace.ready_at(now)
        assert ready < math.inf
        assert ready - now < 60
        now = max(now, ready)
        ticket = pace.begin(now)
        now += 0.2
        pace.hear(ticket, now, Told(outcome, 5.0 if waits else None))
        pace.end()
    assert pace.window >= 1
    assert pace.in_flight == 0
