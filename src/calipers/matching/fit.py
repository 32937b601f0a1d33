"""The best fit of calls to a trajectory, found exactly.

A trajectory that leaves choices between groups of steps is solved by `chains` if all its parts come in order, and by
`remainder` if some do not. Any other is one *plan*: steps with an order between some of them; a choice between single steps is
one step. Steps that share neither order nor calls are solved apart. Steps that are all in order are an alignment, steps of
which none are an assignment. For the rest the calls are read from first to last, and for every set of steps that can no
longer be done the best way of having got there is kept: giving a call to a step closes the step and all that should have
come before it. Where there are too many such sets, the trajectory is refused rather than solved roughly.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError

from .assignment import best_alignment, best_assignment, full_bonus, levels_of, weight_of
from .call import (
    CallRules,
    actual_arguments,
    arguments_similarity,
    compare_calls,
    expected_arguments,
    require_arguments,
)
from .chains import Chain, Score, as_unit, followed, is_chain, nearest
from .constraints import Step
from .remainder import fit_remainders
from .trajectory import (
    AnyOrder,
    Either,
    FittedStep,
    InOrder,
    Optionally,
    Repeated,
    TrajectoryMatch,
    steps_in,
)

if TYPE_CHECKING:
    from .trajectory import Trajectory

MOST_STATES = 20_000


@dataclass(frozen=True)
class Plan:
    """Steps, and which of them must come before which."""

    steps: tuple["Step | Choice", ...] = ()
    required: tuple[bool, ...] = ()
    before: tuple[tuple[int, int], ...] = ()
    """Pairs (earlier, later) of steps by number; transitive."""


def best_fit(trajectory: "Trajectory", calls: Sequence[ToolCall]) -> TrajectoryMatch:
    """How well the calls follow the trajectory, by the plan that fits them best."""
    findings = [constraint.check(calls, trajectory.rules) for constraint in trajectory.constraints]
    violations = tuple(finding.violation for finding in findings if finding.violation is not None)
    held = Score((len(findings) - len(violations)) * 10**9, len(findings))
    steps = _fitted(trajectory, _Similarities(calls, trajectory.rules), held)
    taken = {fitted.position for fitted in steps}
    extra = tuple(position for position in range(len(calls)) if position not in taken)
    required = sum(fitted.required for fitted in steps)
    asked = required + len(findings) + (len(extra) if trajectory.extra == "forbidden" else 0)
    earned = sum(fitted.comparison.similarity for fitted in steps if fitted.required and fitted.comparison)
    earned += len(findings) - len(violations)
    followed = not violations and all(fitted.matched for fitted in steps if fitted.required)
    followed = followed and (trajectory.extra == "allowed" or not extra)
    return TrajectoryMatch(
        calls=tuple(calls),
        steps=steps,
        violations=violations,
        extra=extra,
        extra_allowed=trajectory.extra == "allowed",
        # Rounding must not make a whole of almost everything.
        score=1.0 if followed else min(earned / asked, math.nextafter(1.0, 0.0)),
        exercised=bool(required or trajectory.extra == "forbidden")
        or any(finding.exercised for finding in findings),
    )


def _fitted(trajectory: "Trajectory", table: "_Similarities", held: Score) -> tuple[FittedStep, ...]:
    """The best fit; `held` is what the constraints earned."""
    if not trajectory.steps:
        return ()
    whole = InOrder(*trajectory.steps)
    if not _leaves_choices(whole):
        return fit_plan(plan_of(whole, len(table.calls)), table)
    extra_costs = trajectory.extra == "forbidden"
    if is_chain(whole):
        return _fit_chain(Chain(whole, len(table.calls)), table, extra_costs, held)
    similar = table.by_position({id(step): step for step in steps_in(whole)})
    return table.fitted(fit_remainders(whole, similar, beside=held, extra_costs=extra_costs))


def _fit_chain(
    chain: Chain, table: "_Similarities", extra_costs: bool, held: Score
) -> tuple[FittedStep, ...]:
    """The best fit of steps that come in order."""
    similar = table.by_position({id(edge.step): edge.step for edges in chain.edges for edge in edges})
    full = [{step: each for step, each in by_step.items() if each == 1.0} for by_step in similar]
    way = followed(chain, full)
    used = 0 if way is None else sum(position is not None for *_, position in way)
    if way is None or held.earned < held.asked * 10**9 or (extra_costs and used < len(full)):
        way = nearest(chain, similar, beside=held, extra_costs=extra_costs)
    return table.fitted(way)


# ---------------------------------------------------------------------- plans


@dataclass(frozen=True)
class Choice:
    """One step of a plan that may be any of several."""

    steps: tuple[Step, ...]


def _leaves_choices(part: Any) -> bool:
    """Whether a part stands for several plans."""
    if as_unit(part) is not None:
        return False
    if isinstance(part, Repeated):
        varies = part.at_least != part.at_most and as_unit(part.part) is None
        return varies or _leaves_choices(part.part)
    return isinstance(part, Either | Optionally) or any(map(_leaves_choices, part.parts))


def plan_of(part: Any, calls: int) -> Plan:
    """The plan that a part without choices stands for, if there are so many calls."""
    if (unit := as_unit(part)) is not None:
        step = unit.steps[0] if len(unit.steps) == 1 else Choice(unit.steps)
        return Plan((step,), (unit.required,))
    if not isinstance(part, Repeated):
        inside = [plan_of(each, calls) for each in part.parts]
        return _joined(inside, in_order=not isinstance(part, AnyOrder))
    must = part.at_least
    once = plan_of(part.part, calls)
    if as_unit(part.part) is None:
        return _joined([once] * must, in_order=True)
    may = max(must, calls if part.at_most is None else min(part.at_most, calls))
    ((step,), (required,)) = once.steps, once.required
    # Which of the copies comes first makes no difference, so they need no order.
    return Plan((step,) * may, (required,) * must + (False,) * (may - must))


def _joined(plans: Sequence[Plan], *, in_order: bool) -> Plan:
    """One plan made of several, each after the other or side by side."""
    steps: list[Step | Choice] = []
    required: list[bool] = []
    before: list[tuple[int, int]] = []
    for plan in plans:
        start = len(steps)
        if in_order:
            before += [(i, start + j) for j in range(len(plan.steps)) for i in range(start)]
        before += [(start + i, start + j) for i, j in plan.before]
        steps += plan.steps
        required += plan.required
    return Plan(tuple(steps), tuple(required), tuple(before))


# ---------------------------------------------------------------------- the fit of one plan


class _Similarities:
    """How similar each call is to a step, found out once per step."""

    def __init__(self, calls: Sequence[ToolCall], rules: CallRules) -> None:
        self.calls = calls
        self.rules = rules
        self.known: dict[int, dict[int, float]] = {}
        self.arguments = [actual_arguments(call, rules) for call in calls]
        self.by_tool: dict[str, list[int]] = {}
        for position, call in enumerate(calls):
            self.by_tool.setdefault(rules.name_of(call.name), []).append(position)

    def of(self, step: Step | Choice) -> dict[int, float]:
        """By the position of the call; those that have nothing in common with the step are left out."""
        if isinstance(step, Choice):
            found: dict[int, float] = {}
            for each in step.steps:
                for position, similarity in self.of(each).items():
                    found[position] = max(similarity, found.get(position, 0.0))
            return found
        if id(step) not in self.known:  # steps belong to the trajectory, which outlives this
            mode = self.rules.mode_of(step.call)
            wanted = expected_arguments(step.call, self.rules)
            for position in self.by_tool.get(self.rules.name_of(step.call.name), ()):
                require_arguments(self.calls[position], wanted, mode)
            self.known[id(step)] = {
                position: arguments_similarity(wanted, self.arguments[position], mode)
                for position in self.by_tool.get(self.rules.name_of(step.call.name), ())
            }
        return self.known[id(step)]

    def by_position(self, steps: dict[int, Step]) -> list[dict[int, float]]:
        """By the position of the call, how similar it is to each of some steps, by their ids."""
        found: list[dict[int, float]] = [{} for _ in self.calls]
        for key, step in steps.items():
            for position, similarity in self.of(step).items():
                found[position][key] = similarity
        return found

    def fitted(self, given: Iterable[tuple[Step | Choice, bool, int | None]]) -> tuple[FittedStep, ...]:
        """What became of steps that were given calls; of a choice, the step that the call does best, or the first."""
        found: list[FittedStep] = []
        for slot, required, position in given:
            step = slot if isinstance(slot, Step) else self._chosen(slot, position)
            call = None if position is None else self.calls[position]
            compared = None if call is None else compare_calls(step.call, call, self.rules)
            found.append(FittedStep(step, required, position, compared))
        return tuple(found)

    def _chosen(self, choice: Choice, position: int | None) -> Step:
        if position is None:
            return choice.steps[0]
        return max(choice.steps, key=lambda step: self.of(step).get(position, -1.0))


class _Value(NamedTuple):
    """What a fit is worth: full matches of required steps, then of others, then the similarity in billionths."""

    required: int = 0
    optional: int = 0
    similarity: int = 0


class _Fit(NamedTuple):
    value: _Value
    chosen: Any
    """The pairs (step, position) so far, as a linked list: (rest, step, position)."""


def fit_plan(plan: Plan, table: _Similarities) -> tuple[FittedStep, ...]:
    """The best way to give the calls to the steps of a plan."""
    fitted = _fit(plan, table, only_full=True)
    if all(each.matched for each in fitted if each.required):
        return (
            fitted  # the most there can be, and found without looking at the many calls that are only similar
        )
    return _fit(plan, table, only_full=False)


def _fit(plan: Plan, table: _Similarities, *, only_full: bool) -> tuple[FittedStep, ...]:
    offers: dict[tuple[int, bool], dict[int, float]] = {}
    candidates: list[dict[int, float]] = []
    for step, required in zip(plan.steps, plan.required, strict=True):
        if (id(step), required) not in offers:
            # A call that is only similar does nothing for a step that need not be done.
            full = only_full or not required
            offers[id(step), required] = {
                position: similarity
                for position, similarity in table.of(step).items()
                if similarity == 1.0 or not full
            }
        candidates.append(offers[id(step), required])
    position_of: dict[int, int] = {}
    for component in _components(plan, candidates):
        position_of.update(_solve(component, plan, candidates))
    return table.fitted(
        (step, required, position_of.get(number))
        for number, (step, required) in enumerate(zip(plan.steps, plan.required, strict=True))
    )


def _components(plan: Plan, candidates: list[dict[int, float]]) -> Iterator[list[int]]:
    """The steps in groups that share neither order nor calls."""
    parent = list(range(len(plan.steps)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for one, other in plan.before:
        if candidates[one] and candidates[other]:
            parent[root(other)] = root(one)
    owner: dict[int, int] = {}
    for number, found in enumerate(candidates):
        for position in found:
            parent[root(number)] = root(owner.setdefault(position, number))
    groups: dict[int, list[int]] = {}
    for number, found in enumerate(candidates):
        if found:
            groups.setdefault(root(number), []).append(number)
    yield from groups.values()


def _solve(steps: list[int], plan: Plan, candidates: list[dict[int, float]]) -> Iterator[tuple[int, int]]:
    """The pairs (step, position) of the best fit of one group of steps."""
    inside = set(steps)
    ordered = sum(one in inside and other in inside for one, other in plan.before)
    if ordered == 0 or ordered == len(steps) * (len(steps) - 1) // 2:
        yield from _solve_plain(steps, plan, candidates, in_order=ordered > 0)
    else:
        yield from _solve_mixed(steps, plan, candidates)


def _solve_plain(
    steps: list[int], plan: Plan, candidates: list[dict[int, float]], *, in_order: bool
) -> Iterator[tuple[int, int]]:
    """Steps that are all in order, or none of them: an alignment or an assignment."""
    positions = sorted({position for step in steps for position in candidates[step]})
    optional = full_bonus(len(steps), len(positions))
    required = optional * 2 * (len(steps) + 1)
    rows = [
        [
            weight_of(candidates[step][position], required if plan.required[step] else optional)
            if position in candidates[step]
            else 0
            for position in positions
        ]
        for step in steps
    ]
    if in_order:
        found = best_alignment(rows, len(positions))
    else:
        levels = [levels_of((weight, 1 << column) for column, weight in enumerate(row)) for row in rows]
        found = best_assignment(levels, len(positions))
    for step, column in zip(steps, found, strict=True):
        if column is not None:
            yield step, positions[column]


def _solve_mixed(
    steps: list[int], plan: Plan, candidates: list[dict[int, float]]
) -> Iterator[tuple[int, int]]:
    """Steps of which some are in order: the best way to every set of steps that can no longer be done."""
    bit = {step: 1 << n for n, step in enumerate(steps)}
    closes = {step: bit[step] for step in steps}
    for earlier, later in plan.before:
        if earlier in bit and later in bit:
            closes[later] |= bit[earlier]
    groups = [(copies, sum(bit[step] for step in copies)) for copies in _copies(steps, plan)]
    last = {step: max(candidates[step]) for step in steps}
    # From here on, doing a step takes nothing away from those that should come before it.
    safe = dict.fromkeys(steps, -1)
    for earlier, later in plan.before:
        if earlier in bit and later in bit:
            safe[later] = max(safe[later], last[earlier])
    states: dict[int, _Fit] = {0: _Fit(_Value(), None)}
    for position in sorted({each for step in steps for each in candidates[step]}):
        offered = [(copies, mask) for copies, mask in groups if position in candidates[copies[0]]]
        alone = len({id(plan.steps[copies[0]]) for copies, _ in offered}) == 1
        following: dict[int, _Fit] = {}
        for closed, fit in states.items():
            for copies, mask in offered:
                done = (closed & mask).bit_count()
                if done == len(copies):
                    continue
                step = copies[done]
                worth = _worth(fit.value, candidates[step][position], required=plan.required[step])
                _keep(following, closed | closes[step], _Fit(worth, (fit.chosen, step, position)))
                # A call that fits one step alone, and costs no other anything, is never better left unused.
                if alone and position > safe[step] and candidates[step][position] == 1.0:
                    break
            else:
                _keep(following, closed, fit)
        if len(following) > MOST_STATES:
            raise InvalidOptionError(
                f"{len(steps)} steps of the trajectory may be done in so many orders that the best fit cannot be found "
                "exactly: give more of them an order, or compare plain lists of calls with match_calls"
            )
        states = following
    chosen = max(states.values(), key=lambda fit: fit.value).chosen
    while chosen is not None:
        chosen, step, position = chosen
        yield step, position


def _copies(steps: list[int], plan: Plan) -> list[list[int]]:
    """The steps, with those together that are alike in every respect: they are done one after the other."""
    earlier: dict[int, set[int]] = {step: set() for step in steps}
    later: dict[int, set[int]] = {step: set() for step in steps}
    for one, other in plan.before:
        if one in later and other in earlier:
            later[one].add(other)
            earlier[other].add(one)
    groups: dict[Any, list[int]] = {}
    for step in steps:
        alike = (
            id(plan.steps[step]),
            plan.required[step],
            frozenset(earlier[step]),
            frozenset(later[step]),
        )
        groups.setdefault(alike, []).append(step)
    # Required copies first, so that a call is never spent on one that need not be done.
    return sorted(groups.values(), key=lambda copies: not plan.required[copies[0]])


def _worth(value: _Value, similarity: float, *, required: bool) -> _Value:
    full = similarity == 1.0
    return _Value(
        value.required + (full and required),
        value.optional + (full and not required),
        value.similarity + round(similarity * 1e9),
    )


def _keep(states: dict[int, _Fit], closed: int, fit: _Fit) -> None:
    """Keep the better of two ways to the same state; of equals the first, which took its calls earlier."""
    known = states.get(closed)
    if known is None or fit.value > known.value:
        states[closed] = fit
