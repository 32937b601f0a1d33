"""Evaluator slots: each evaluator of a run has a place in the run's list of evaluators, and stored results name that place.

The shared evaluators of a run get their places when it begins; those of single cases get theirs when they first come up. A
resumed run keeps the places of its evaluators, and an evaluator that has changed gets a new one.

`EvaluatorSlots` also knows which results are no more than a value, and what is stored of those. All results of one evaluator
share their source, and a bare True, False or frequent label is one object in a whole run, so each is looked at once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from calipers.data.evaluator_styles import RolloutEvaluator
from calipers.data.jsonable import plain
from calipers.data.result import EvaluationResult, EvaluatorSpec, Scalar
from calipers.errors import StoreError

from .run_info import StoredEvaluator, plain_spec

if TYPE_CHECKING:
    from calipers.scoring.evaluator_plan import Plan, PlannedEvaluator

_WIDE: Final = 1 << 63
_MOST_SHARED: Final = 1000

_Bare: TypeAlias = tuple[EvaluationResult, int, Scalar]
"""A result that is only a value, the place of its evaluator, and the value as plain data."""


class EvaluatorSlots:
    """The evaluators of one attempt, in order: places in the evaluators of its run.

    EvaluatorSlots(run.evaluators)              the shared ones
    EvaluatorSlots(run.evaluators, (4, 0, 1))   a case's own evaluator first, then two shared ones
    """

    def __init__(
        self,
        evaluators: Sequence[StoredEvaluator],
        indexes: Sequence[int] | None = None,
        *,
        shared: tuple[int, ...] | None = None,
    ) -> None:
        """Slots for the attempts of one plan.

        Args:
            evaluators: of the run.
            indexes: which of them; default: the shared ones.
            shared: the places of the shared ones, if they are known already: a run may have many thousand others.
        """
        if shared is None:
            shared = shared_places(evaluators)
        self.indexes = shared if indexes is None else tuple(indexes)
        self.names = tuple(evaluators[index].name for index in self.indexes)
        self.stored = None if self.indexes == shared else self.indexes
        """What an attempt stores of them; `None`: the shared ones of its run."""
        self._shared: dict[int, _Bare] = {}
        """What is known of results that are only a value, by the id of the result."""
        self._sources: dict[int, tuple[EvaluatorSpec, StoredEvaluator, bool]] = {}
        self._by_name = {evaluators[index].name: (index, evaluators[index]) for index in self.indexes}

    def find(self, name: str) -> tuple[int, StoredEvaluator]:
        """The evaluator of that name, after its place in the run."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name.get(plain(name))  # what cannot be written as UTF-8 is stored as an escape
        if found is None:
            raise StoreError(
                f"a result of evaluator {name!r} cannot be stored: the run has {list(self.names)} for this attempt"
            )
        return found

    def bare_values(self, results: Sequence[EvaluationResult]) -> dict[int, Scalar] | None:
        """The values of results by the places of their evaluators; `None` if one says more than a value."""
        shared = self._shared
        values: dict[int, Scalar] = {}
        for result in results:
            known = shared.get(id(result))
            if known is None or known[0] is not result:
                known = self.bare(result)
                if known is None:
                    return None
                # Numbers are rarely the same twice.
                if type(known[2]) is not float and len(shared) < _MOST_SHARED:
                    shared[id(result)] = known
            values[known[1]] = known[2]
        return values if len(values) == len(results) else None

    def bare(self, result: EvaluationResult) -> _Bare | None:
        """A result with the place of its evaluator and its value as plain data; `None` if it says more than that."""
        name = result.evaluator
        place, evaluator = self._by_name.get(name) or self.find(name)
        value = result.value
        if type(value) is float and not math.isfinite(value):
            raise StoreError(f"the result {result.name!r} cannot be stored: its value is {value!r}")
        if (
            result.name != name
            or result.reason is not None
            or result.verdict is not None
            or result.score is not None
            or result.metadata is not None
            or result.evaluator_version != evaluator.version
            or not self.is_of(result.source, evaluator)
        ):
            return None
        return result, place, value if type(value) is float else quick_plain(value)

    def is_of(self, source: EvaluatorSpec, evaluator: StoredEvaluator) -> bool:
        """Whether a source is that of a stored evaluator, as plain data."""
        known = self._sources.get(id(source))
        if known is None or known[0] is not source or known[1] is not evaluator:
            # All results of one evaluator share their source, so it is looked at once.
            known = (source, evaluator, plain_spec(source) == evaluator.spec)
            if len(self._sources) < _MOST_SHARED:
                self._sources[id(source)] = known
        return known[2]


class PlanSlots(msgspec.Struct, frozen=True):
    """The evaluators of a plan, and their places in the run."""

    slots: EvaluatorSlots
    planned: Mapping[int, "PlannedEvaluator"]
    """By place."""
    has_rollouts: bool


class RunSlots:
    """The places of all evaluators of a run, looked up by plan."""

    def __init__(
        self,
        evaluators: Sequence[StoredEvaluator],
        plan: "Plan",
        *,
        stored: Callable[["PlannedEvaluator"], StoredEvaluator],
        add: Callable[[Sequence[StoredEvaluator]], Sequence[int]],
    ) -> None:
        """The evaluators that a run has, and the plan of cases without own ones; `add` adds some and returns their places."""
        self.evaluators = list(evaluators)
        """The evaluators of the run so far, by place."""
        self._stored = stored
        self._add = add
        self._shared_places = shared_places(self.evaluators)
        self._places: dict[str, int] = {}
        self._shared_plan = plan
        self._shared = self._placed(plan)

    def of(self, plan: "Plan") -> PlanSlots:
        """The slots of a plan."""
        return self._shared if plan is self._shared_plan else self._placed(plan)

    def _placed(self, plan: "Plan") -> PlanSlots:
        wanted = [self._stored(planned) for planned in plan.evaluators]
        named = [_known_by(evaluator) for evaluator in wanted]
        new = [evaluator for evaluator, name in zip(wanted, named, strict=True) if name not in self._places]
        if new:
            for evaluator, place in zip(new, self._add(new), strict=True):
                self._places[_known_by(evaluator)] = place
                if place == len(self.evaluators):
                    self.evaluators.append(evaluator)
                    if evaluator.shared:
                        self._shared_places = (*self._shared_places, place)
        places = [self._places[name] for name in named]
        return PlanSlots(
            EvaluatorSlots(self.evaluators, places, shared=self._shared_places),
            dict(zip(places, plan.evaluators, strict=True)),
            any(isinstance(planned.evaluator, RolloutEvaluator) for planned in plan.evaluators),
        )


def _known_by(evaluator: StoredEvaluator) -> str:
    """What distinguishes an evaluator from the others of its run."""
    if evaluator.identity is not None:
        return f"{evaluator.identity} {evaluator.shared}"
    return f"? {evaluator.name} {evaluator.shared} {evaluator.unknown} {evaluator.spec!r}"


def shared_places(evaluators: Sequence[StoredEvaluator]) -> tuple[int, ...]:
    """The places of the evaluators that judge every attempt of a run when it is made."""
    return tuple(
        index for index, one in enumerate(evaluators) if one.shared and not (one.added or one.superseded)
    )


def scored_places(evaluators: Sequence[StoredEvaluator]) -> tuple[int, ...]:
    """The places of the evaluators that were added by scoring the run."""
    return tuple(index for index, one in enumerate(evaluators) if one.added and not one.superseded)


def quick_plain(value: Any) -> Any:
    """The value as plain data; most values are so already."""
    kind = type(value)
    if value is None or kind is bool or (kind is int and -_WIDE < value < _WIDE):
        return value
    return value if kind is str and value.isascii() else plain(value)
