"""The desk at which people label in the browser: which attempt comes next for whom, and what was decided in this sitting.

The queue is that of the terminal (`calipers.stores.label_queue`). What was answered is in the store before the next attempt is shown. The desk only
remembers what a terminal remembers while it is open: what was drawn, what was skipped, and in which order decisions were made, so that
they can be undone. If the server ends, what was skipped comes again, and of a draw only as many attempts are drawn again as it still lacked.

A person may have several windows open: all of them are one sitting. A decision about an attempt of which the person has said something else
meanwhile, in another window or on a terminal, is refused.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from calipers.data.human_label import HumanLabel, Rating, check_name
from calipers.data.label_answers import Answers, answers_of
from calipers.errors import InvalidOptionError
from calipers.stores.label_queue import Drawn, LabelQueue, read_attempts
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.people_agreement import shown_answer

from .label_item import etag_of, label_item, person_label
from .refusal import Refusal
from .wire import LabelItem, LabelPlan, LabelWrite

AHEAD: Final = 2
"""Attempts that are sent besides the next one."""
_SITTINGS: Final = 200
_ORDERS: Final = 20
_ITEMS: Final = 100

_T = TypeVar("_T")


class Decision(NamedTuple):
    """What a person decided about an attempt."""

    kind: Literal["label", "skip"]
    position: int


@dataclass
class Sitting:
    """What is remembered of one person who answers one question about one run."""

    order: Sequence[int]
    """All attempts, in the order in which they are shown."""
    drawn: list[Drawn] | None = None
    """Those that were drawn; `None`: all are to be labelled."""
    skipped: dict[int, None] = field(default_factory=dict[int, None])
    decisions: list[Decision] = field(default_factory=list[Decision])
    """The newest last."""
    again: dict[int, Drawn] = field(default_factory=dict[int, Drawn])
    """What was taken back and not decided again, the newest last."""
    said: dict[int, HumanLabel] = field(default_factory=dict[int, HumanLabel])
    """What was said of attempts and taken back."""

    def left(self, queue: LabelQueue) -> list[Drawn]:
        """What is to be shown, the next one first."""
        if self.drawn is None:
            waiting = queue.left(self.order)
        else:
            waiting = [each for each in self.drawn if each.position not in queue.own]
        first = [each for each in reversed(self.again.values()) if each.position not in queue.own]
        out = {each.position for each in first} | self.skipped.keys()
        return [*first, *(each for each in waiting if each.position not in out)]

    def done(self, queue: LabelQueue) -> list[int]:
        """What the person has labelled of this, the newest last."""
        if self.drawn is None:
            return queue.done
        drawn = {each.position for each in self.drawn}
        return [position for position in queue.done if position in drawn]

    def last(self, queue: LabelQueue) -> int | None:
        """The position of the decision that undo takes back."""
        if self.decisions:
            return self.decisions[-1].position
        done = self.done(queue)
        return done[-1] if done else None

    def decided(self, decision: Decision) -> None:
        """Note a decision."""
        if decision in self.decisions:
            self.decisions.remove(decision)
        self.decisions.append(decision)
        self.again.pop(decision.position, None)
        self.said.pop(decision.position, None)
        if decision.kind == "label":
            self.skipped.pop(decision.position, None)
        else:
            self.skipped[decision.position] = None


class Seat(NamedTuple):
    """One person at the desk, with what the store has now."""

    store: Store
    plan: LabelPlan
    """With its seed, and the id of the run."""
    run: RunInfo
    answers: Answers
    queue: LabelQueue
    sitting: Sitting


class LabelDesk:
    """All that is remembered of people who label."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sittings: OrderedDict[Hashable, Sitting] = OrderedDict()
        self._orders: OrderedDict[Hashable, Sequence[int]] = OrderedDict()
        self._outputs: OrderedDict[Hashable, dict[int, str]] = OrderedDict()
        self._items: OrderedDict[Hashable, LabelItem] = OrderedDict()

    # ------------------------------------------------------------------ taking a seat

    def seat(self, store: Store, plan: LabelPlan) -> Seat:
        """A person with their queue.

        Raises:
            InvalidOptionError: the plan is not valid, or the question was answered in another way.
            RunMissingError: there is no such run.
        """
        check_name("question", plan.question)
        check_name("person", plan.person)
        if plan.judge is not None and plan.count is None:
            raise InvalidOptionError(
                "a judge is named to draw the attempts that tell most about it: say how many to draw"
            )
        answers = answers_of(plan.scale, plan.choices)
        run = store.run(plan.run)
        key = (run.id, store.revision(run.id, judging=False))
        outputs = self._remembered(self._outputs, key, dict[int, str], _ORDERS)
        queue = LabelQueue(store, run, plan.question, plan.person, seed=plan.seed, known=outputs)
        queue.check_answers(answers)
        plan = msgspec.structs.replace(plan, run=run.id)
        if plan.count is None:
            plan = msgspec.structs.replace(plan, seed=queue.seed)
            sitting = self._remembered(
                self._sittings, _key(plan), lambda: Sitting(self._order(queue, key)), _SITTINGS
            )
            return Seat(store, plan, run, answers, queue, sitting)
        return self._drawn(store, plan, run, answers, queue, outputs)

    def _order(self, queue: LabelQueue, run: Hashable) -> Sequence[int]:
        return self._remembered(self._orders, (run, queue.seed), lambda: array("q", queue.order()), _ORDERS)

    def _drawn(
        self,
        store: Store,
        plan: LabelPlan,
        run: RunInfo,
        answers: Answers,
        queue: LabelQueue,
        outputs: dict[int, str],
    ) -> Seat:
        """A person with what was drawn for them; drawn now where it is not remembered."""
        assert plan.count is not None
        with self._lock:
            sitting = self._sittings.get(_key(plan)) if plan.seed is not None else None
        if sitting is not None:
            return Seat(store, plan, run, answers, queue, sitting)
        made = sum(each.seed == plan.seed for each in queue.own.values()) if plan.seed is not None else 0
        if made:  # of this draw; the rest is another one
            queue = LabelQueue(store, run, plan.question, plan.person, known=outputs)
        count = max(0, plan.count - made)
        drawn = queue.draw(count, plan.judge) if count else []
        plan = msgspec.structs.replace(plan, count=max(1, count), seed=queue.seed)
        sitting = self._remembered(self._sittings, _key(plan), lambda: Sitting((), drawn), _SITTINGS)
        return Seat(store, plan, run, answers, queue, sitting)

    def _remembered(
        self, shelf: OrderedDict[Hashable, _T], key: Hashable, make: Callable[[], _T], most: int
    ) -> _T:
        """What is on a shelf under a key, made if it is not there; the shelf keeps what was used last."""
        with self._lock:
            if key in shelf:
                shelf.move_to_end(key)
                return shelf[key]
        made = make()
        with self._lock:
            found = shelf.setdefault(key, made)
            shelf.move_to_end(key)
            while len(shelf) > most:
                shelf.popitem(last=False)
        return found

    # ------------------------------------------------------------------ what is shown

    def items(self, seat: Seat, left: Sequence[Drawn]) -> list[LabelItem]:
        """The next attempts, as the person may see them. Attempts that were removed meanwhile are left out."""
        revision = seat.store.revision(seat.run.id, judging=False)
        place = (seat.run.id, revision, seat.plan.hide_expected, seat.plan.show_metadata)
        wanted = [each.position for each in left[: AHEAD + 1]]
        with self._lock:
            known = {at: self._items[place, at] for at in wanted if (place, at) in self._items}
        for attempt, record in read_attempts(seat.store, seat.run, [at for at in wanted if at not in known]):
            known[attempt.position] = label_item(
                record, seat.plan, position=attempt.position, repeat=attempt.repeat, repeats=seat.run.repeat
            )
        with self._lock:
            for at, item in known.items():
                self._items[place, at] = item
                self._items.move_to_end((place, at))
            while len(self._items) > _ITEMS:
                self._items.popitem(last=False)
        number = len(seat.sitting.done(seat.queue)) + len(seat.sitting.skipped)
        return [
            self._placed(seat, known[at], number + place) for place, at in enumerate(wanted, 1) if at in known
        ]

    def _placed(self, seat: Seat, item: LabelItem, number: int) -> LabelItem:
        before = seat.sitting.said.get(item.position)
        return msgspec.structs.replace(
            item,
            number=number,
            own=None if before is None else person_label(before),
            etag=etag_of(item.etag, seat.queue.own.get(item.position)),
        )

    # ------------------------------------------------------------------ what is decided

    def decide(self, seat: Seat, write: LabelWrite) -> None:
        """Carry out a decision.

        Raises:
            Refusal: there is no such choice, the attempt is gone, or something else was said of it meanwhile.
        """
        if write.choice is None:
            self._skip(seat, write.position)
            return
        values = list(seat.answers.by_key.values())
        if not 0 <= write.choice < len(values):
            raise Refusal("bad_request", f"there are {len(values)} answers, got the number {write.choice}")
        value = values[write.choice]
        found = next(read_attempts(seat.store, seat.run, [write.position]), None)
        if found is None:
            raise Refusal("gone", "the attempt was removed from the run meanwhile: it needs no label")
        drawn = self._as_drawn(seat, write.position)
        label = seat.queue.label(drawn, *found, value, write.note)
        before = seat.queue.own.get(write.position)
        if before is None or not _is_same(before, value, write.note):
            self._check(write, etag_of(label.about, before), before)
            seat.store.add_labels([label])
            seat.queue.own.pop(write.position, None)
            seat.queue.own[write.position] = label
        with self._lock:
            seat.sitting.decided(Decision("label", write.position))

    @staticmethod
    def _check(write: LabelWrite, now: str, before: HumanLabel | None) -> None:
        """Refuse a decision that was made on something else than what is there."""
        if write.etag == now:
            return
        if before is None:
            raise Refusal(
                "conflict",
                "this is not what you saw: the attempt was made again, or your earlier answer was taken back. Look at it again",
                etag=now,
            )
        note = f", and noted {before.note!r}" if before.note else ""
        raise Refusal(
            "conflict",
            f"{before.person} answered {shown_answer(before.value)!r} to this{_at(before.at)}, in another window or on a terminal{note}: "
            "keep that, or write over it",
            etag=now,
        )

    def _as_drawn(self, seat: Seat, position: int) -> Drawn:
        """An attempt with the draw that it is from, also where it is labelled once more."""
        before = seat.queue.own.get(position)
        if before is not None:
            return Drawn(position, before.probability, before.seed)
        found = next((each for each in seat.sitting.left(seat.queue) if each.position == position), None)
        if found is None:
            some = seat.sitting.drawn if seat.sitting.drawn is not None else ()
            found = next((each for each in some if each.position == position), Drawn(position, None))
        return found

    def _skip(self, seat: Seat, position: int) -> None:
        with self._lock:
            if position not in seat.queue.own:  # else it was answered meanwhile, and there is nothing to skip
                seat.sitting.decided(Decision("skip", position))

    def undo(self, seat: Seat, position: int | None) -> None:
        """Take a decision back, so that its attempt comes next; nothing happens if there is none."""
        at = seat.sitting.last(seat.queue) if position is None else position
        if at is None:
            return
        own = seat.queue.own.pop(at, None)
        drawn = None if own is None else Drawn(at, own.probability, own.seed)
        if own is not None:
            seat.queue.take_back(at)
        with self._lock:
            sitting = seat.sitting
            if drawn is None:
                drawn = sitting.again.get(at) or self._as_drawn(seat, at)
            sitting.decisions = [each for each in sitting.decisions if each.position != at]
            sitting.skipped.pop(at, None)
            sitting.again.pop(at, None)
            sitting.again[at] = drawn
            if own is not None:
                sitting.said[at] = own

    def unskip(self, seat: Seat) -> None:
        """Have all come again that was skipped."""
        with self._lock:
            seat.sitting.skipped.clear()
            seat.sitting.decisions = [each for each in seat.sitting.decisions if each.kind != "skip"]


def _key(plan: LabelPlan) -> Hashable:
    """What a sitting is known by: all but what is shown, and how."""
    return plan.run, plan.question, plan.person, plan.count, plan.judge, plan.seed


def _is_same(before: HumanLabel, value: Rating, note: str) -> bool:
    return type(before.value) is type(value) and before.value == value and before.note == note


def _at(moment: str) -> str:
    try:
        return f" at {datetime.fromisoformat(moment):%H:%M} UTC"
    except ValueError:
        return ""
