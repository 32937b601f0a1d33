"""Who judges the attempts of a run, by the places that evaluators have in its store.

The shared evaluators of a run have their places when it begins; those of single cases get theirs when they are first met.
A resumed run keeps the places of its evaluators, and those that have changed get new ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from calipers.data.evaluator_styles import RolloutEvaluator
from calipers.data.record import ReportCase
from calipers.run.work import Work
from calipers.scoring.plan import Judge, Plan

from .counting import unjudged_by
from .identities import Columns
from .not_judged import not_judged
from .packing import Facts, Record, facts_of, setting_of, unpack_cells
from .panel import Panel, shared_places
from .patience import patiently
from .records import FORMAT, StoredAttempt, StoredCell
from .run_info import RunInfo, StoredEvaluator
from .store import Store


class Seat(msgspec.Struct, frozen=True):
    """The judges of an attempt, and their places."""

    panel: Panel
    judges: Mapping[int, Judge]
    """By place."""
    has_rollouts: bool

    def holds(self, attempt: StoredAttempt, work: Work) -> bool:
        """Whether a stored attempt of this run says of itself what would be written now."""
        facts = facts_of(attempt)
        return (
            attempt.name == work.name
            and attempt.case_name == work.case_name
            and facts.cluster == work.case.cluster
            and setting_of(attempt) == (work.case.tags, work.case.timeout)
            and facts.evaluators == self.panel.stored
        )


class Seats:
    """The places of all evaluators of a run."""

    def __init__(self, store: Store, info: RunInfo, columns: Columns, plan: Plan) -> None:
        self._store = store
        self._run = info.id
        self._generation = info.generation
        self._columns = columns
        self._evaluators = list(info.evaluators)
        self._shared_places = shared_places(self._evaluators)
        self._others: dict[str, Sequence[StoredEvaluator]] = {}
        self._places: dict[str, int] = {}
        self._shared_plan = plan
        self._shared = self._seated(plan)
        self._scored = {
            place: one.name for place, one in enumerate(info.evaluators) if one.added and not one.superseded
        }
        self._names = plan.results
        self._names.meet(self._scored.values())
        self.not_scored: Counter[str] = Counter()
        """By its name: attempts without the judgement of an evaluator that was added by scoring."""

    def of(self, plan: Plan) -> Seat:
        """The seat for the attempts of a plan."""
        return self._shared if plan is self._shared_plan else self._seated(plan)

    def evaluators_of(self, run: str) -> Sequence[StoredEvaluator]:
        """The evaluators of any run of the store."""
        if run == self._run:
            return self._evaluators
        found = self._others.get(run)
        if found is None:
            found = self._others[run] = patiently(lambda: self._store.run(run)).evaluators
        return found

    def scored_cells(self, cells: Iterable[StoredCell]) -> list[StoredCell]:
        """Cells of an attempt whose evaluator was added by scoring, and is not part of this run."""
        return [cell for cell in cells if cell.evaluator in self._scored] if self._scored else []

    def show_scored(self, record: Record, cells: Sequence[StoredCell]) -> None:
        """Add to a record what these evaluators said of it, and count those that have not judged it yet."""
        if not self._scored:
            return
        if not isinstance(record, ReportCase):
            record.not_run = (*record.not_run, *self._scored.values())
            return
        facts = Facts(format=FORMAT, task_duration=0.0, total_duration=0.0)
        results, failures, skipped = unpack_cells(cells, facts, self._evaluators)
        failures += not_judged(cells, self._evaluators, self._scored)
        record.results, record.skipped = self._names.named(
            (*record.results, *results), (*record.skipped, *skipped)
        )
        record.evaluator_failures = (*record.evaluator_failures, *failures)
        self.not_scored.update(unjudged_by(record))

    def not_scored_yet(self) -> list[str]:
        """A line for each of these evaluators that has attempts left to judge."""
        return [
            f"evaluator {name} was added by scoring the run, which now has attempts that it has not judged: score the "
            f"run with it again; attempts without its judgement: {count}"
            for name, count in self.not_scored.items()
        ]

    def _seated(self, plan: Plan) -> Seat:
        wanted = [self._columns.of(judge).stored for judge in plan.judges]
        named = [_known_by(evaluator) for evaluator in wanted]
        new = [evaluator for evaluator, name in zip(wanted, named, strict=True) if name not in self._places]
        if new:
            added = patiently(lambda: self._store.add_evaluators(self._run, new, generation=self._generation))
            for evaluator, place in zip(new, added, strict=True):
                self._places[_known_by(evaluator)] = place
                if place == len(self._evaluators):
                    self._evaluators.append(evaluator)
                    if evaluator.shared:
                        self._shared_places = (*self._shared_places, place)
        places = [self._places[name] for name in named]
        return Seat(
            Panel(self._evaluators, places, shared=self._shared_places),
            dict(zip(places, plan.judges, strict=True)),
            any(isinstance(judge.evaluator, RolloutEvaluator) for judge in plan.judges),
        )


def _known_by(evaluator: StoredEvaluator) -> str:
    """What tells an evaluator of a run from the others."""
    if evaluator.identity is not None:
        return f"{evaluator.identity} {evaluator.shared}"
    return f"? {evaluator.name} {evaluator.shared} {evaluator.unknown} {evaluator.spec!r}"
