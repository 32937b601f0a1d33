"""The best fit of calls to a trajectory whose parts all come in order, whatever choices they leave.

The parts become an automaton: a step leads from one place to the next, a choice to several. Calls are read from first to
last, and for every place the best way of having got there is kept, so that alternatives are never listed one by one: the
cost grows with the calls and the places.

1. First only calls that do exactly what a step asks for are given to steps, and every required step needs one. If there is
   a way through, it is one with the fewest calls left over.
2. Otherwise a required step may go without a call, and a call that is only similar may be given to one. The way with the
   greatest score is found: a share, and so by Dinkelbach's method ("On nonlinear fractional programming", 1967). The best
   way is looked for at a price for everything that is asked for, and the share that it reaches is the next price, until
   none is better. Of ways with the same score it is one with the most full matches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .constraints import Step
from .trajectory import AnyOrder, Either, Optionally, Repeated

Given: TypeAlias = tuple[Step, bool, int | None]
"""A step, whether it is required, and the position of its call."""


class Unit(NamedTuple):
    """A part that takes one call at most: a step, or a choice between some."""

    steps: tuple[Step, ...]
    required: bool


def as_unit(part: Any) -> Unit | None:
    """The part as a unit; `None` if it may take more than one call."""
    if isinstance(part, Step):
        return Unit((part,), required=True)
    if isinstance(part, Repeated):
        return as_unit(part.part) if part.at_least == part.at_most == 1 else None
    if len(part.parts) == 1:
        inside = as_unit(part.parts[0])
        optional = isinstance(part, Optionally)
        return inside._replace(required=False) if inside is not None and optional else inside
    if not isinstance(part, Either):
        return None
    units = [unit for each in part.parts if (unit := as_unit(each)) is not None]
    if len(units) < len(part.parts):
        return None
    steps = tuple(step for unit in units for step in unit.steps)
    return Unit(steps, required=all(unit.required for unit in units))


def is_chain(part: Any) -> bool:
    """Whether all that a part holds comes in order."""
    if isinstance(part, Step):
        return True
    if isinstance(part, Repeated):
        return is_chain(part.part)
    return (not isinstance(part, AnyOrder) or len(part.parts) == 1) and all(map(is_chain, part.parts))


class _Edge(NamedTuple):
    step: Step
    required: bool
    target: int


class Chain:
    """The automaton of a part. Place 0 is the beginning, `end` the end."""

    def __init__(self, part: Any, calls: int) -> None:
        self.calls = calls
        self.edges: list[list[_Edge]] = [[]]
        """By place, the steps that lead on."""
        self.free: list[list[int]] = [[]]
        """By place, where one may go on without a step."""
        self.end = self._add(part, 0)

    def _place(self) -> int:
        self.edges.append([])
        self.free.append([])
        return len(self.edges) - 1

    def _add(self, part: Any, start: int) -> int:
        """Add a part that begins at a place; the place where it ends."""
        if (unit := as_unit(part)) is not None:
            return self._add_unit(unit, start)
        if isinstance(part, Repeated):
            return self._add_repeated(part, start)
        if isinstance(part, Either):
            end = self._place()
            for each in part.parts:
                self.free[self._add(each, start)].append(end)
            return end
        end = start
        for each in part.parts:
            end = self._add(each, end)
        if isinstance(part, Optionally):
            self.free[start].append(end)
        return end

    def _add_unit(self, unit: Unit, start: int) -> int:
        end = self._place()
        self.edges[start] += [_Edge(step, unit.required, end) for step in unit.steps]
        if not unit.required:
            self.free[start].append(end)
        return end

    def _add_repeated(self, part: Repeated, start: int) -> int:
        end = start
        for _ in range(part.at_least):
            end = self._add(part.part, end)
        more = self.calls if part.at_most is None else part.at_most - part.at_least
        if more >= self.calls:  # as often as there are calls: a loop
            loop = self._place()
            self.free[end].append(loop)
            self.free[self._add_once_more(part.part, loop)].append(loop)
            end = self._place()  # one that leads nowhere: what skips this part does not enter the loop
            self.free[loop].append(end)
            return end
        last = self._place()
        for _ in range(more):
            self.free[end].append(last)
            end = self._add_once_more(part.part, end)
        self.free[end].append(last)
        return last

    def _add_once_more(self, part: Any, start: int) -> int:
        """A repeat that need not be: of a unit, a step that is optional."""
        unit = as_unit(part)
        return (
            self._add(part, start) if unit is None else self._add_unit(unit._replace(required=False), start)
        )


def followed(chain: Chain, full: Sequence[Mapping[int, float]]) -> list[Given] | None:
    """The way through on which every required step has its call, with the fewest calls left over; `None` if there is none.

    `full` has, by the position of a call, the steps (by id) that it does exactly.
    """
    best: dict[int, tuple[int, Any]] = {0: (0, None)}
    _go_free(chain, best)
    for position, does in enumerate(full):
        following = dict(best)  # the call may be left over
        for place, (count, taken) in best.items():
            for edge in chain.edges[place]:
                if id(edge.step) in does and following.get(edge.target, (-1,))[0] < count + 1:
                    following[edge.target] = (count + 1, (taken, edge.step, edge.required, position))
        _go_free(chain, following)
        best = following
    return None if chain.end not in best else _listed(best[chain.end][1])


def _go_free(chain: Chain, best: dict[int, tuple[int, Any]]) -> None:
    waiting = list(best)
    while waiting:
        place = waiting.pop()
        for target in chain.free[place]:
            if target not in best or best[target][0] < best[place][0]:
                best[target] = best[place]
                waiting.append(target)


class Score(NamedTuple):
    """The score of a way: what was earned, out of what was asked for."""

    earned: int
    """In billionths."""
    asked: int


class _Way(NamedTuple):
    """The best way to a place at some price."""

    worth: int
    """What it earned less the price of what it was asked for."""
    full: int
    """Full matches."""
    score: Score
    taken: Any
    """The steps so far, as a linked list: (before, step, required, position)."""


class _Offer(NamedTuple):
    """What is to be earned, and at which price."""

    similar: Sequence[Mapping[int, float]]
    """By the position of a call, how similar it is to each step (by id)."""
    price: Score
    extra_costs: bool
    """Whether a call that no step takes is one more thing that earned nothing."""

    def after(self, way: _Way, earned: int, asked: int, full: bool, taken: Any) -> _Way:
        """A way that goes on from another."""
        worth = way.worth + earned * self.price.asked - asked * self.price.earned
        score = Score(way.score.earned + earned, way.score.asked + asked)
        return _Way(worth, way.full + full, score, taken)


def nearest(
    chain: Chain, similar: Sequence[Mapping[int, float]], *, beside: Score, extra_costs: bool
) -> list[Given]:
    """The way with the greatest score; `beside` is what is earned and asked for apart from steps and calls.

    `similar` has, by the position of a call, how similar it is to each step (by id).
    """
    best = _best_way(chain, _Offer(similar, Score(0, 1), extra_costs), beside)
    while best.score.asked:
        better = _best_way(chain, _Offer(similar, best.score, extra_costs), beside)
        if better.score.earned * best.score.asked <= best.score.earned * better.score.asked:
            return _listed(better.taken)
        best = better
    return _listed(best.taken)


def _best_way(chain: Chain, offer: _Offer, beside: Score) -> _Way:
    """The way through that is worth most at a price."""
    start = _Way(beside.earned * offer.price.asked - beside.asked * offer.price.earned, 0, beside, None)
    ways = {0: start}
    _go_on(chain, ways, offer)
    for position, by_step in enumerate(offer.similar):
        following = {
            place: offer.after(way, 0, int(offer.extra_costs), full=False, taken=way.taken)
            for place, way in ways.items()
        }
        for place, way in ways.items():
            for edge in chain.edges[place]:
                similarity = by_step.get(id(edge.step))
                # A call that is only similar does nothing for a step that need not be done.
                if similarity is None or (similarity < 1.0 and not edge.required):
                    continue
                earned = round(similarity * 1e9) if edge.required else 0
                taken = (way.taken, edge.step, edge.required, position)
                _keep(
                    following,
                    edge.target,
                    offer.after(way, earned, int(edge.required), full=similarity == 1.0, taken=taken),
                )
        _go_on(chain, following, offer)
        ways = following
    return ways[chain.end]


def _go_on(chain: Chain, ways: dict[int, _Way], offer: _Offer) -> None:
    """Add the ways that need no further call: over choices, and over required steps that go without one."""
    waiting = list(ways)
    while waiting:
        place = waiting.pop()
        way = ways[place]
        waiting += [target for target in chain.free[place] if _keep(ways, target, way)]
        for edge in chain.edges[place]:
            missed = offer.after(way, 0, 1, full=False, taken=(way.taken, edge.step, True, None))
            if edge.required and _keep(ways, edge.target, missed):
                waiting.append(edge.target)


def _keep(ways: dict[int, _Way], place: int, way: _Way) -> bool:
    """Keep the better of two ways to a place; of equals the first, which took its calls earlier."""
    known = ways.get(place)
    if known is not None and (known.worth, known.full) >= (way.worth, way.full):
        return False
    ways[place] = way
    return True


def _listed(taken: Any) -> list[Given]:
    found: list[Given] = []
    while taken is not None:
        taken, step, required, position = taken
        found.append((step, required, position))
    return found[::-1]
