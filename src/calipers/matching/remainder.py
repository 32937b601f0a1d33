"""The best fit of calls to a trajectory with parts in any order that leave choices.

Calls are read from first to last. A state is the *remainder*: what of the trajectory is still to be done. A call that is given
to a step leads to another remainder, as the derivative of an expression does (Brzozowski, "Derivatives of regular
expressions", 1964); what should have come before that step is missed. For each remainder the best way of having got there is
kept, so that alternatives are never listed one by one, and parts that are alike are one.

There are as many remainders as ways in which parts may be half done at the same time, and that number grows exponentially with
the parts that may be. Four things keep it small: parts at the top that share no calls are solved apart; a part that no call to
come can do anything for is closed at once; a call that only one step can take, and that costs no other step anything, is given
to it; and a remainder is given up from which even the most that one can hope for is less than a way that is known (branch and
bound; that way is found by following the most hopeful remainders alone). Where more than `MOST_REMAINDERS` are left, the trajectory is refused rather than solved roughly.

What is looked for, and how the best share is found, is the same as in `chains`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .chains import Given, Score, Unit, as_unit
from .trajectory import AnyOrder, Either, Optionally, Repeated

MOST_REMAINDERS = 5_000

_HOPEFUL = 30
"""How many remainders are followed to find a way to compare others with."""

_DONE: Final = 0
"""The remainder of what is done."""


class _Leaf(NamedTuple):
    unit: Unit
    similar: tuple[float | None, ...]
    """By the position of a call, how similar it is; `None` if it does nothing for the step."""


class _Sequence(NamedTuple):
    parts: tuple[int, ...]


class _Shuffle(NamedTuple):
    """Parts whose calls may come in any order."""

    parts: tuple[int, ...]


class _Choice(NamedTuple):
    parts: tuple[int, ...]


class _Loop(NamedTuple):
    must: int
    """What is done the next `least` times."""
    more: int
    """What is done beyond."""
    least: int
    most: int | None


class _Move(NamedTuple):
    """A call given to a step."""

    missed: tuple[int, ...]
    """What can no longer be done, since the step comes after it."""
    leaf: int
    left: int
    """What remains then."""
    dropped: int
    """The calls, as bits, that alternatives to this one could take."""


class _Missed(NamedTuple):
    """What it costs to give no call to a remainder."""

    worth: int
    score: Score
    units: tuple[Unit, ...]
    """The required steps of the cheapest alternative."""


class _Way(NamedTuple):
    """The best way to a remainder."""

    worth: int
    full: int
    """Full matches."""
    score: Score
    taken: Any
    """What happened so far, as a linked list: (before, unit, position) or (before, missed remainder)."""


_Hope: TypeAlias = tuple[int, int]
"""How much a way is worth, and how many full matches it has: no more than this."""

_START: Final = _Way(0, 0, Score(0, 0), None)


class _Aim(NamedTuple):
    """What is looked for: at a price, what is worth most; without one, a way on which every required step has its call."""

    price: Score | None
    extra_costs: bool

    def step(self, way: _Way, unit: Unit, similarity: float, taken: Any) -> _Way:
        """A way that goes on with a call that a step takes."""
        earned, asked = (round(similarity * 1e9), 1) if unit.required else (0, 0)
        score = Score(way.score.earned + earned, way.score.asked + asked)
        worth = 1 if self.price is None else earned * self.price.asked - asked * self.price.earned
        return _Way(way.worth + worth, way.full + (similarity == 1.0), score, taken)

    def leave(self, way: _Way) -> _Way:
        """A way that goes on with a call that no step takes."""
        if self.price is None or not self.extra_costs:
            return way
        return way._replace(
            worth=way.worth - self.price.earned, score=way.score._replace(asked=way.score.asked + 1)
        )


class Remainders:
    """All that may remain of a part, each known by a number; equal remainders have the same one."""

    def __init__(self, part: Any, similar: Sequence[Mapping[int, float]]) -> None:
        """What remains at the beginning is `whole`.

        Args:
            part: of a trajectory.
            similar: by the position of a call, how similar it is to each step (by id).
        """
        self.similar = similar
        self._nodes: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self.reach: list[int] = []
        """The calls, as bits, that a remainder could take."""
        self._moves: dict[tuple[int, int], tuple[_Move, ...]] = {}
        self._closed: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
        assert self._number(_Sequence(()), 0) == _DONE
        self.whole = self._of(part)

    # ------------------------------------------------------------------ what there is

    def _number(self, node: Any, reach: int, key: Any = None) -> int:
        key = (type(node), node if key is None else key)  # tuples of two kinds may be equal
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._nodes)
            self._nodes.append(node)
            self.reach.append(reach)
        return known

    def _of(self, part: Any) -> int:
        if (unit := as_unit(part)) is not None:
            return self._leaf(unit)
        if isinstance(part, Repeated):
            unit, must = as_unit(part.part), self._of(part.part)
            more = must if unit is None else self._leaf(unit._replace(required=False))
            return self._loop(_Loop(must, more, part.at_least, part.at_most))
        inside = [self._of(each) for each in part.parts]
        if isinstance(part, Either):
            return self._choice(inside)
        if isinstance(part, Optionally):
            return self._choice([self._sequence(inside), _DONE])
        return self._shuffle(inside) if isinstance(part, AnyOrder) else self._sequence(inside)

    def _leaf(self, unit: Unit) -> int:
        found: list[float | None] = []
        for does in self.similar:
            best = max((does[id(step)] for step in unit.steps if id(step) in does), default=None)
            # A near miss does nothing for a step that need not be done.
            found.append(None if best is None or (best < 1.0 and not unit.required) else best)
        reach = sum(1 << position for position, best in enumerate(found) if best is not None)
        # Steps may hold matchers, which need not be equal to anything: those that read alike and take the same calls are alike.
        said = tuple((type(step.call), safe_repr(step.call)) for step in unit.steps)
        return self._number(_Leaf(unit, tuple(found)), reach, (said, unit.required, tuple(found)))

    def _sequence(self, parts: Iterable[int]) -> int:
        flat = tuple(self._flat(parts, _Sequence))
        return self._group(_Sequence(flat), flat)

    def _shuffle(self, parts: Iterable[int]) -> int:
        flat = tuple(sorted(self._flat(parts, _Shuffle)))
        return self._group(_Shuffle(flat), flat)

    def _choice(self, parts: Iterable[int]) -> int:
        different = tuple(dict.fromkeys(parts))
        return self._group(_Choice(different), different)

    def _group(self, node: Any, parts: tuple[int, ...]) -> int:
        if len(parts) < 2:
            return parts[0] if parts else _DONE
        return self._number(node, self._reach_of(parts))

    def _loop(self, loop: _Loop) -> int:
        if loop.most == 0:
            return _DONE
        return self._number(loop, self._reach_of((loop.must, loop.more) if loop.least else (loop.more,)))

    def _flat(self, parts: Iterable[int], kind: type[_Sequence | _Shuffle]) -> Iterator[int]:
        for part in parts:
            node = self._nodes[part]
            if isinstance(node, kind):
                yield from node.parts
            elif part != _DONE:
                yield part

    def _reach_of(self, parts: Iterable[int]) -> int:
        found = 0
        for part in parts:
            found |= self.reach[part]
        return found

    # ------------------------------------------------------------------ where it leads

    def moves(self, number: int, position: int) -> tuple[_Move, ...]:
        """The steps of a remainder that a call may be given to."""
        if not self.reach[number] >> position & 1:
            return ()
        key = number, position
        if key not in self._moves:
            self._moves[key] = tuple(dict.fromkeys(self._find_moves(number, position)))
        return self._moves[key]

    def _find_moves(self, number: int, position: int) -> Iterator[_Move]:
        node = self._nodes[number]
        if isinstance(node, _Leaf):
            yield _Move((), number, _DONE, 0)
        elif isinstance(node, _Loop):
            least = max(0, node.least - 1)
            rest = self._loop(node._replace(least=least, most=None if node.most is None else node.most - 1))
            for move in self.moves(node.must if node.least else node.more, position):
                yield move._replace(left=self._sequence([move.left, rest]))
        elif isinstance(node, _Choice):
            for part in node.parts:
                others = self._reach_of(each for each in node.parts if each != part)
                for move in self.moves(part, position):
                    yield move._replace(dropped=move.dropped | others)
        elif isinstance(node, _Shuffle):
            for part in dict.fromkeys(node.parts):
                place = node.parts.index(part)
                beside = (*node.parts[:place], *node.parts[place + 1 :])
                for move in self.moves(part, position):
                    yield move._replace(left=self._shuffle([move.left, *beside]))
        else:
            for place, part in enumerate(node.parts):
                before, after = node.parts[:place], node.parts[place + 1 :]
                if part in before:  # the first of several that are alike is as good
                    continue
                for move in self.moves(part, position):
                    yield move._replace(
                        missed=(*before, *move.missed), left=self._sequence([move.left, *after])
                    )

    def closed(self, number: int, future: int) -> tuple[int, tuple[int, ...]]:
        """A remainder without the parts that no call to come can do anything for, and these."""
        if number == _DONE:
            return _DONE, ()
        if not self.reach[number] & future:
            return _DONE, (number,)
        node = self._nodes[number]
        if not isinstance(node, _Sequence | _Shuffle):
            return number, ()
        key = number, self.reach[number] & future
        if key not in self._closed:
            inside = [self.closed(part, future) for part in node.parts]
            gone = tuple(each for _, missed in inside for each in missed)
            make = self._sequence if isinstance(node, _Sequence) else self._shuffle
            self._closed[key] = (make(part for part, _ in inside), gone) if gone else (number, ())
        return self._closed[key]

    def apart(self) -> list[int]:
        """The parts of the whole that share no calls, so that each is solved by itself."""
        node = self._nodes[self.whole]
        groups: list[tuple[int, list[int]]] = []
        for part in node.parts if isinstance(node, _Shuffle) else (self.whole,):
            reach, members = self.reach[part], [part]
            others = [group for group in groups if not group[0] & reach]
            for group in groups:
                if group[0] & reach:
                    reach, members = reach | group[0], [*group[1], *members]
            groups = [*others, (reach, members)]
        return [self._shuffle(members) for _, members in groups]

    def node(self, number: int) -> Any:
        """What a remainder is made of."""
        return self._nodes[number]


class _Search:
    """One look for the best way."""

    def __init__(self, remainders: Remainders, aim: _Aim) -> None:
        self.remainders = remainders
        self.aim = aim
        self._missed: dict[int, _Missed | None] = {_DONE: _Missed(0, Score(0, 0), ())}
        self._hopes: dict[tuple[int, int], _Hope | None] = {}

    def missed(self, number: int) -> _Missed | None:
        """What it costs to give no call to a remainder; `None` if that must not be."""
        if number not in self._missed:
            self._missed[number] = self._find_missed(self.remainders.node(number))
        return self._missed[number]

    def _find_missed(self, node: Any) -> _Missed | None:
        price = self.aim.price
        if isinstance(node, _Leaf):
            if not node.unit.required:
                return _Missed(0, Score(0, 0), ())
            return None if price is None else _Missed(-price.earned, Score(0, 1), (node.unit,))
        if isinstance(node, _Choice):
            found = [missed for part in node.parts if (missed := self.missed(part)) is not None]
            return max(found, key=lambda missed: missed.worth, default=None)
        parts = (node.must,) * node.least if isinstance(node, _Loop) else node.parts
        worth, asked, units = 0, 0, list[Unit]()
        for part in parts:
            missed = self.missed(part)
            if missed is None:
                return None
            worth, asked = worth + missed.worth, asked + missed.score.asked
            units += missed.units
        return _Missed(worth, Score(0, asked), tuple(units))

    def hope(self, number: int, future: int) -> _Hope | None:
        """No less than what the rest of a way from a remainder can be worth; `None` if there is no way from it."""
        key = number, self.remainders.reach[number] & future
        if key not in self._hopes:
            self._hopes[key] = self._find_hope(self.remainders.node(number), *key)
        return self._hopes[key]

    def _find_hope(self, node: Any, number: int, future: int) -> _Hope | None:
        if not future:
            missed = self.missed(number)
            return None if missed is None else (missed.worth, 0)
        if isinstance(node, _Leaf):
            most = max(
                node.similar[place] or 0.0 for place in range(future.bit_length()) if future >> place & 1
            )
            if self.aim.price is None and most < 1.0:
                return None if node.unit.required else (0, 0)
            return self.aim.step(_START, node.unit, most, None)[:2]
        if isinstance(node, _Choice):
            hopes = [hope for part in node.parts if (hope := self.hope(part, future)) is not None]
            return max(hopes, default=None)
        if isinstance(node, _Loop):
            if node.least and self.hope(node.must, future) is None:
                return None
            full = self.aim.step(_START, Unit((), required=True), 1.0, None).worth
            return future.bit_count() * full, future.bit_count()
        worth = full = 0
        for part in node.parts:
            hope = self.hope(part, future)
            if hope is None:
                return None
            worth, full = worth + hope[0], full + hope[1]
        return worth, full

    def best(self, start: int) -> _Way | None:
        """The best way through what remains at the start; `None` if there is none."""
        found, is_best = self._follow(start, None, _HOPEFUL)
        return found if is_best else self._follow(start, found, None)[0] or found

    def _follow(self, start: int, known: _Way | None, most: int | None) -> tuple[_Way | None, bool]:
        """A way through what remains at the start, and whether it is the best; `None` if none was found.

        Args:
            start: what remains.
            known: a way, where only a better one is looked for.
            most: how many remainders to follow; `None`: all.
        """
        remainders, reach = self.remainders, self.remainders.reach[start]
        ways: dict[int, _Way] = {}
        is_best = True
        self._keep(ways, start, _START, (), reach, known)
        for position in range(len(remainders.similar)):
            if not reach >> position & 1:
                continue
            future = reach >> (position + 1) << (position + 1)
            following: dict[int, _Way] = {}
            for number, way in ways.items():
                moves = [
                    move for move in remainders.moves(number, position) if self._may(move.leaf, position)
                ]
                for move in moves:
                    after = self._step(way, move.leaf, position)
                    self._keep(following, move.left, after, move.missed, future, known)
                if len(moves) != 1 or not self._is_forced(number, moves[0], position, future):
                    self._keep(following, number, self.aim.leave(way), (), future, known)
                if most is None and len(following) > MOST_REMAINDERS:
                    raise InvalidOptionError(
                        f"so many parts of the trajectory may be half done at the same time (more than {MOST_REMAINDERS:,} "
                        f"ways after {position + 1} calls) that the best fit cannot be found exactly: give more of them an order"
                    )
            ways = following
            if most is not None and len(ways) > most:
                hopeful = sorted(
                    ways, key=lambda number: self._hoped(ways[number], number, future), reverse=True
                )
                ways, is_best = {number: ways[number] for number in hopeful[:most]}, False
        return ways.get(_DONE), is_best

    def _hoped(self, way: _Way, number: int, future: int) -> _Hope:
        """How much one can hope for on a way that can come to an end."""
        hope = self.hope(number, future)
        assert hope is not None
        return way.worth + hope[0], way.full + hope[1]

    def _may(self, leaf: int, position: int) -> bool:
        """Whether a call may be given to a step: without a price, only one that does exactly what the step asks for."""
        return self.aim.price is not None or self.remainders.node(leaf).similar[position] == 1.0

    def _step(self, way: _Way, leaf: int, position: int) -> _Way:
        node: _Leaf = self.remainders.node(leaf)
        return self.aim.step(way, node.unit, node.similar[position] or 0.0, (way.taken, node.unit, position))

    def _is_forced(self, number: int, move: _Move, position: int, future: int) -> bool:
        """Whether a call, which only one step can take, is never better left unused: it takes nothing away from others."""
        node: _Leaf = self.remainders.node(move.leaf)
        if move.missed or node.similar[position] != 1.0 or move.dropped & future:
            return False
        before, after = self.missed(number), self.missed(move.left)
        if before is None or after is None:
            return before is None
        gain = self._step(_START, move.leaf, position).worth
        return gain + after.worth >= before.worth

    def _keep(
        self,
        ways: dict[int, _Way],
        number: int,
        way: _Way,
        missed: tuple[int, ...],
        future: int,
        beaten: _Way | None,
    ) -> None:
        """Keep the better of two ways to the same remainder; of equals the first, which took its calls earlier.

        One that cannot come to an end, or to no better one than a way that is known, is not kept.
        """
        left, gone = self.remainders.closed(number, future)
        for each in (*missed, *gone):
            found = self.missed(each)
            if found is None:
                return
            score = way.score._replace(asked=way.score.asked + found.score.asked)
            way = _Way(way.worth + found.worth, way.full, score, (way.taken, each))
        if self.hope(left, future) is None:
            return
        if beaten is not None and self._hoped(way, left, future) <= (beaten.worth, beaten.full):
            return
        known = ways.get(left)
        if known is None or (way.worth, way.full) > (known.worth, known.full):
            ways[left] = way

    def listed(self, ways: Iterable[_Way]) -> list[Given]:
        """The steps of some ways, with their calls."""
        found: list[Given] = []
        for way in ways:
            steps: list[Given] = []
            taken = way.taken
            while taken is not None:
                if len(taken) == 3:
                    taken, unit, position = taken
                    steps.append((self._chosen(unit, position), unit.required, position))
                else:
                    taken, number = taken
                    missed = self.missed(number)
                    assert missed is not None
                    steps += [(unit.steps[0], True, None) for unit in reversed(missed.units)]
            found += steps[::-1]
        return found

    def _chosen(self, unit: Unit, position: int) -> Any:
        does = self.remainders.similar[position]
        return max(unit.steps, key=lambda step: does.get(id(step), -1.0))


def fit_remainders(
    part: Any, similar: Sequence[Mapping[int, float]], *, beside: Score, extra_costs: bool
) -> list[Given]:
    """The steps of the way with the greatest score, with their calls.

    Args:
        part: of a trajectory.
        similar: by the position of a call, how similar it is to each step (by id).
        beside: what is earned and asked for apart from steps and calls.
        extra_costs: whether a call that no step takes is one more thing that earned nothing.

    Raises:
        InvalidOptionError: too many parts may be half done at the same time.
    """
    remainders = Remainders(part, similar)
    parts = remainders.apart()
    search = _Search(remainders, _Aim(None, extra_costs))
    followed = [way for each in parts if (way := search.best(each)) is not None]
    if len(followed) == len(parts):
        used = sum(way.worth for way in followed)
        if beside.earned == beside.asked * 10**9 and (not extra_costs or used == len(similar)):
            return search.listed(followed)
    unreached = len(similar) - remainders.reach[remainders.whole].bit_count() if extra_costs else 0
    price = Score(0, 1)
    while True:
        search = _Search(remainders, _Aim(price, extra_costs))
        ways = [way for each in parts if (way := search.best(each)) is not None]
        earned = beside.earned + sum(way.score.earned for way in ways)
        asked = beside.asked + unreached + sum(way.score.asked for way in ways)
        if not asked or earned * price.asked <= price.earned * asked:
            return search.listed(ways)
        price = Score(earned, asked)
