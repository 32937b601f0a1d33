"""Two targets on the same rollouts: what the new one gives way to that the old one did not, and the reverse.

Rollouts are paired by goal and seed, so that the same tester drew the same way in both; one without its counterpart is an
error. Of two reports, attempts that failed in one are left out of both, and counted. An adaptive tester goes on differently
where the targets answer differently: what is paired is the attempt, not the words.

The unit is the goal: with several seeds per goal, each goal counts once, by the mean over its seeds. The interval is then
Student's t over the goals' differences, and the p-value that of the sign-flip test (`calipers.stats.permutation_test`), which with
five goals cannot fall below 6 %. With one seed per goal they are Newcombe's interval and the mid-p test of McNemar. Of a single
goal the seeds are the units, and the result holds for that goal alone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from calipers.data.jsonable import plain
from calipers.errors import InvalidRolloutError
from calipers.report.analysis import Cell, TableResult
from calipers.report.report import Report
from calipers.stats import Difference, compare_paired, permutation_test
from calipers.stats.number_text import confidence_text, number, plural
from calipers.stats.sample import check_confidence

from .graph import Graph
from .rollout_outcome import (
    Rollouts,
    Unit,
    as_text,
    first_success,
    goal_of,
    rollouts_of,
    succeeded,
    why_incomplete,
)

_SHOWN = 5
"""Rollouts without a counterpart that an error lists."""


@dataclass(frozen=True)
class RolloutPair:
    """The same rollout against both targets."""

    goal: str
    seed: Any
    old: Graph[Any, Any]
    new: Graph[Any, Any]


@dataclass(frozen=True, kw_only=True)
class TargetComparison:
    """What changed from one target to the other."""

    newly_failing: Sequence[RolloutPair]
    """The new target gave way and the old one did not."""
    fixed: Sequence[RolloutPair]
    """The old target gave way and the new one did not."""
    both_failing: Sequence[RolloutPair]
    """Both gave way."""
    both_held: Sequence[RolloutPair]
    """Neither gave way."""
    unjudged: Sequence[RolloutPair]
    """Success of one of the two, or both, is unknown: not counted."""
    broke_off: int = 0
    """Attempts of the two reports whose task failed in one of them: not counted."""
    difference: Difference | None
    """How much more often the new target gives way than the old one; `None` if nothing was judged."""
    unit: Unit
    """What interval and p-value take for independent."""

    @property
    def p_value(self) -> float | None:
        """How likely so lopsided a change is between two equally firm targets; `difference.test` names the test."""
        return None if self.difference is None else self.difference.p_value

    def table(self, *, title: str = "Rollouts that changed") -> TableResult:
        """The rollouts in which the two targets differ, the new failures first, as a part of a report."""
        rows: list[list[Cell]] = []
        for change, pairs in (("newly failing", self.newly_failing), ("fixed", self.fixed)):
            for pair in pairs:
                path = first_success(pair.new if change == "newly failing" else pair.old) or ()
                rows.append(
                    [
                        change,
                        pair.goal,
                        as_text(pair.seed),
                        len(path),
                        as_text(path[-1].attack) if path else None,
                    ]
                )
        columns = ["change", "goal", "seed", "turn", "attack"]
        return TableResult(title=title, columns=columns, rows=rows, note=str(self))

    def __str__(self) -> str:
        if self.difference is None:
            broke_off = f", {self.broke_off:,} broke off" if self.broke_off else ""
            return f"nothing to compare: {plural(len(self.unjudged), 'pair')} not judged{broke_off}"
        gap = self.difference
        once = "" if gap.n_first == self._judged() else ", every goal counting once,"
        left_out = f"; {plural(len(self.unjudged), 'pair')} not judged, left out" if self.unjudged else ""
        left_out += f"; {plural(self.broke_off, 'pair')} broke off, left out" if self.broke_off else ""
        return (
            f"{len(self.newly_failing):,} newly failing, {len(self.fixed):,} fixed, {len(self.both_failing):,} failing and "
            f"{len(self.both_held):,} holding in both: the rate of giving way changed{once} by {100 * gap.value:+.1f} points "
            f"{self._doubt(gap)}{left_out}"
        )

    def _judged(self) -> int:
        """Pairs that are counted."""
        return sum(map(len, (self.newly_failing, self.fixed, self.both_failing, self.both_held)))

    def _doubt(self, gap: Difference) -> str:
        """Interval and p-value in words, and their unit."""
        ends = "(no interval"
        if gap.interval is not None:
            ends = f"[{100 * gap.interval.low:+.1f}, {100 * gap.interval.high:+.1f}] ("
            ends += f"{confidence_text(gap.interval.confidence)}"
        chance = "" if gap.p_value is None else f", p = {number(gap.p_value)}"
        return f"{ends} over {plural(gap.n_first, self.unit)}){chance}"


def compare_targets(old: Rollouts, new: Rollouts, *, confidence: float = 0.95) -> TargetComparison:
    """Compare two targets on the same rollouts.

    Args:
        old: the rollouts against the target that is known; a report, or the trees.
        new: the same goals and seeds against the other one.
        confidence: of the interval.

    Raises:
        InvalidRolloutError: a rollout has no counterpart of the same goal and seed, or more than one.
    """
    check_confidence(confidence)
    partly = {"old": why_incomplete(old), "new": why_incomplete(new)}
    old, new, broke_off = _both_finished(old, new)
    before, after = _by_identity(old, "old"), _by_identity(new, "new")
    for name, other, mine, theirs in (("new", "old", after, before), ("old", "new", before, after)):
        alone = [key for key in mine if key not in theirs]
        if alone:
            shown = ", ".join(f"goal {goal!r:.80} with seed {seed}" for goal, seed in alone[:_SHOWN])
            more = f" and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
            why = (
                f" (the report of the {other} target is incomplete: {partly[other]})" if partly[other] else ""
            )
            raise InvalidRolloutError(
                f"{plural(len(alone), 'rollout')} of the {name} target have no counterpart among those of the {other} one: "
                f"{shown}{more}{why}; run both targets on the same goals and seeds"
            )
    kinds: dict[tuple[bool, bool] | None, list[RolloutPair]] = {}
    for key, graph in before.items():
        pair = RolloutPair(goal_of(graph), graph.seed, graph, after[key])
        known = (succeeded(pair.old), succeeded(pair.new))
        kind = None if None in known else (bool(known[0]), bool(known[1]))
        kinds.setdefault(kind, []).append(pair)
    fixed, newly = kinds.get((True, False), []), kinds.get((False, True), [])
    both, neither = kinds.get((True, True), []), kinds.get((False, False), [])
    judged = [
        [(pair, before, after) for pair in kinds.get((before, after), [])]
        for before in (True, False)
        for after in (True, False)
    ]
    unit: Unit = "goal" if len({pair.goal for pairs in judged for pair, _, _ in pairs}) > 1 else "rollout"
    return TargetComparison(
        newly_failing=newly,
        fixed=fixed,
        both_failing=both,
        both_held=neither,
        unjudged=kinds.get(None, []),
        broke_off=broke_off,
        difference=_difference(unit, [pair for pairs in judged for pair in pairs], confidence),
        unit=unit,
    )


def _difference(
    unit: Unit, pairs: Sequence[tuple[RolloutPair, bool, bool]], confidence: float
) -> Difference | None:
    """The difference over goals, each with its pairs, or over the pairs of a single goal."""
    groups: dict[Any, tuple[list[float], list[float]]] = {}
    for place, (pair, before, after) in enumerate(pairs):
        one, two = groups.setdefault(pair.goal if unit == "goal" else place, ([], []))
        one.append(float(after))
        two.append(float(before))
    new, old = ([both[side] for both in groups.values()] for side in (0, 1))
    found = compare_paired(new, old, confidence=confidence)
    if found is not None and len(groups) < len(pairs):
        flipped = permutation_test(new, old, seed=0)
        assert flipped is not None
        found = msgspec.structs.replace(found, p_value=flipped.p_value, test="sign-flip")
    if found is None or found.interval is None:
        return found
    # Two rates differ by 1 at most, whatever a t interval says.
    interval = msgspec.structs.replace(
        found.interval, low=max(found.interval.low, -1.0), high=min(found.interval.high, 1.0)
    )
    return msgspec.structs.replace(found, interval=interval)


def _both_finished(old: Rollouts, new: Rollouts) -> tuple[Rollouts, Rollouts, int]:
    """Two reports without the attempts that failed in either of them, and how many those are.

    A failed attempt left no rollout to pair by goal and seed; its counterpart is the one of the same name.
    """
    if not (isinstance(old, Report) and isinstance(new, Report)):
        return old, new, 0
    failed = {failure.name for report in (old, new) for failure in report.failures}
    kept = [
        msgspec.structs.replace(report, cases=[case for case in report.cases if case.name not in failed])
        for report in (old, new)
    ]
    return kept[0], kept[1], len(failed)


def _by_identity(rollouts: Rollouts, name: str) -> dict[tuple[str, str], Graph[Any, Any]]:
    found: dict[tuple[str, str], Graph[Any, Any]] = {}
    for graph in rollouts_of(rollouts):
        key = goal_of(graph), json.dumps(plain(graph.seed), sort_keys=True)  # the seed 1 is not the seed "1"
        if key in found:
            raise InvalidRolloutError(
                f"two rollouts of the {name} target have the goal {key[0]!r:.80} and the seed {key[1]}, so they cannot "
                "be paired; give each rollout after a goal its own seed"
            )
        found[key] = graph
    return found
