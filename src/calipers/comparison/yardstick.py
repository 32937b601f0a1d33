"""Whether two runs were judged by the same evaluators, case by case.

A case may bring evaluators of its own, so the evaluators of two runs are held against each other on each case that both
have, and only where both gave a result. Where a task or an evaluator did not finish, nobody knows what it would have said, and
that is no other yardstick. Two runs without a common case are held against each other as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.plain import plain
from calipers.record import ReportCase
from calipers.result import EvaluatorSpec

from .cases import Pair, Record, RunCase


class Yardstick:
    """What is known of the evaluators behind two runs; it may grow with them."""

    def __init__(self) -> None:
        self._baseline = _Side()
        self._candidate = _Side()
        self._told: set[str] = set()
        self._apart: dict[str, tuple[set[str], set[str]]] = {}
        self._shown: dict[int, tuple[EvaluatorSpec, str]] = {}

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], baseline: Iterable[RunCase] = (), candidate: Iterable[RunCase] = ()
    ) -> "Yardstick":
        """That of two runs: on the cases of both or, where there are none, on all."""
        found = cls()
        for one, two in pairs:
            found.add(one.attempts, two.attempts)
        if not pairs:
            found._hold(
                *([record for case in side for record in case.attempts] for side in (baseline, candidate))
            )
        return found

    def add(self, baseline: Sequence[Record], candidate: Sequence[Record]) -> None:
        """Take in the attempts of both runs at one case."""
        self._hold(baseline, candidate)
        one, two = _panel(baseline), _panel(candidate)
        if one is None or two is None:
            return
        for side, alone in ((self._baseline, one - two), (self._candidate, two - one)):
            for evaluator in alone:
                side.alone.setdefault(evaluator, baseline[0].source_case_name or baseline[0].name)

    def is_same(self, name: str | None) -> bool:
        """Whether both runs have results of this name, or assertions, by evaluators that look the same."""
        if name is not None:
            return name in self._told and self.differing(name) is None
        asserted = self._baseline.asserted.keys() & self._candidate.asserted.keys()
        return (
            bool(asserted)
            and self.lone_assertions() == ([], [])
            and all(self.differing(each) is None for each in asserted)
        )

    def has_told(self, name: str) -> bool:
        """Whether both runs gave results of this name on some case."""
        return name in self._told

    def differing(self, name: str) -> str | None:
        """How the evaluators behind the results of a name differ, in words; `None` if they look the same."""
        if name not in self._apart:
            return None
        before, after = (_listed(sorted(side)) for side in self._apart[name])
        return f"{before} in the baseline, {after} in the candidate"

    def lone_assertions(self) -> tuple[list[str], list[str]]:
        """What is asserted only in the baseline, and only in the candidate, though nothing was lost there.

        That is a name that only one of them has at all, or an evaluator that only one of them has on a case of both. One
        that never gave a result counts, too: it makes attempts fail.
        """
        one, two = self._baseline, self._candidate
        return self._lone(one, two), self._lone(two, one)

    def _hold(self, baseline: Sequence[Record], candidate: Sequence[Record]) -> None:
        sides = ((self._baseline, baseline), (self._candidate, candidate))
        before, after = (self._take(side, attempts) for side, attempts in sides)
        for name in before.keys() & after.keys():
            self._told.add(name)
            if before[name] != after[name]:
                apart = self._apart.setdefault(name, (set(), set()))
                apart[0].update(before[name] - after[name])
                apart[1].update(after[name] - before[name])

    def _lone(self, side: "_Side", other: "_Side") -> list[str]:
        names = {
            name: makers
            for name, makers in side.asserted.items()
            if name not in other.asserted and not makers & other.lost
        }
        covered = set[str]().union(*names.values())
        asserting = set[str]().union(*side.asserted.values(), *other.asserted.values())
        judging = side.judging | other.judging
        evaluators = [
            f"{evaluator!r} on case {case!r}"
            for evaluator, case in side.alone.items()
            if evaluator not in covered and (evaluator in asserting or evaluator not in judging)
        ]
        return [*(repr(name) for name in sorted(names)), *sorted(evaluators)]

    def _take(self, side: "_Side", attempts: Sequence[Record]) -> dict[str, set[str]]:
        """The evaluators behind each name at one case, as they would be written."""
        found: dict[str, set[str]] = {}
        for record in attempts:
            if not isinstance(record, ReportCase):
                side.lost.update(record.not_run)
                continue
            side.lost.update(failure.name for failure in record.evaluator_failures)
            for result in record.results:
                side.judging.add(result.evaluator)
                if isinstance(result.value, bool):
                    side.asserted.setdefault(result.name, set()).add(result.evaluator)
                version = result.evaluator_version
                shown = self._text(result.source) + (f" version {version}" if version is not None else "")
                found.setdefault(result.name, set()).add(shown)
        return found

    def _text(self, source: EvaluatorSpec) -> str:
        known = self._shown.get(id(source))  # results of one evaluator mostly share their source
        if known is None:
            known = self._shown[id(source)] = (source, _written(source))
        return known[1]


class _Side:
    """What one of the runs has said so far."""

    def __init__(self) -> None:
        self.asserted: dict[str, set[str]] = {}
        """The names of assertions, with the evaluators that made them."""
        self.judging: set[str] = set()
        """Evaluators that gave a result of any kind."""
        self.lost: set[str] = set()
        """Evaluators that have not judged an attempt, since it or they did not finish."""
        self.alone: dict[str, str] = {}
        """Evaluators that the other run does not have at a case, with the first such case."""


def _panel(attempts: Sequence[Record]) -> set[str] | None:
    """The evaluators of a case, whether they judged or not; `None` if an attempt does not tell them."""
    found: set[str] = set()
    for record in attempts:
        if isinstance(record, ReportCase):
            found.update(result.evaluator for result in record.results)
            found.update(failure.name for failure in record.evaluator_failures)
            found.update(skip.evaluator for skip in record.skipped)
        elif record.not_run:
            found.update(record.not_run)
        else:
            return None
    return found


def _written(source: EvaluatorSpec) -> str:
    """An evaluator as it would be written, which tells two apart that differ."""
    arguments: Mapping[str, Any] = plain(source.arguments)
    return f"{source.name}({', '.join(f'{name}={value!r}' for name, value in sorted(arguments.items()))})"


def _listed(shown: list[str]) -> str:
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return (
        ", ".join(text if len(text) <= 200 else text[:199] + "…" for text in shown[:3]) or "nothing else"
    ) + more
