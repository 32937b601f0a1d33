"""What results are called in a run.

An evaluator that returns one value gives a result of its own name. One that returns a mapping gives a result for each key, and
the key is the result's name, unless another evaluator of the run gives the same key or is called so. Then the evaluator's name
comes first: `Clarity.score` and `Brevity.score`. A name follows from who gives which keys in the whole run, never from who came
first, so that a column means one evaluator however cases finish, and whatever was skipped, resumed or taken from a store.

Which keys there are shows only when evaluators answer. Results are therefore named by what is known so far, and those that were
named too early are named once more at the end of the run. A store keeps the keys, and its reports are named when they are read.
"""

from collections.abc import Iterable, Sequence

import msgspec

from .result import EvaluationResult, SkippedEvaluation


class Names:
    """The evaluators of a run, the keys they give, and the names that follow from both."""

    __slots__ = ("_begins", "_evaluators", "_givers", "changes")

    def __init__(self, evaluators: Iterable[str] = (), *, shared: Iterable[str] = ()) -> None:
        """Names for a run.

        Args:
            evaluators: their names.
            shared: keys that are known to come from several of them.
        """
        self._evaluators = set(evaluators)
        self._givers: dict[str, str | None] = dict.fromkeys(shared)
        """By key: the only evaluator that gives it; `None` where there are several."""
        self._begins: set[str] = set()
        """What stands before the dots of these keys."""
        self.changes = 0
        """How often something came to light that may change a name."""

    @property
    def shared(self) -> list[str]:
        """The keys that several evaluators give."""
        return sorted(key for key, giver in self._givers.items() if giver is None)

    def meet(self, evaluators: Iterable[str]) -> None:
        """Take in the names of further evaluators."""
        for name in evaluators:
            if name not in self._evaluators:
                self._evaluators.add(name)
                self.changes += name in self._givers or name in self._begins

    def of(self, evaluator: str, key: str) -> str:
        """What the result of a key is called, as far as is known."""
        if key == evaluator:
            return key
        shared = self._givers.get(key, evaluator) != evaluator or key in self._evaluators
        # A key `Clarity.score` of another one could be taken for the key `score` of Clarity.
        if shared or any(begin in self._evaluators and begin != evaluator for begin in _begins(key)):
            return f"{evaluator}.{key}"
        return key

    def named(
        self, results: Sequence[EvaluationResult], skipped: Sequence[SkippedEvaluation]
    ) -> tuple[tuple[EvaluationResult, ...], tuple[SkippedEvaluation, ...]]:
        """What was said of one attempt, with names as far as they are known; to be asked again when there are changes."""
        self.hear(results, skipped)
        taken: set[str] = set()
        return tuple(self._named(result, taken) for result in results), tuple(map(self._named_skip, skipped))

    def hear(self, results: Iterable[EvaluationResult], skipped: Iterable[SkippedEvaluation]) -> None:
        """Take in which keys were given for one attempt."""
        for result in results:
            if result.name != result.evaluator:
                self._take(result.evaluator, result.name if result.key is None else result.key)
        for skip in skipped:
            if skip.key_of is not None:
                self._take(skip.key_of, skip.name if skip.key is None else skip.key)

    def _take(self, evaluator: str, key: str) -> None:
        giver = self._givers.setdefault(key, evaluator)
        if giver is not None and giver != evaluator:
            self._givers[key] = None
            self.changes += 1
        self._begins.update(_begins(key))

    def _named(self, result: EvaluationResult, taken: set[str]) -> EvaluationResult:
        name = result.name
        if result.key is None and name != result.evaluator:
            name = self.of(result.evaluator, name)
        name = unique(name, taken)
        taken.add(name)
        if name == result.name:
            return result
        return msgspec.structs.replace(
            result, name=name, key=result.name if result.key is None else result.key
        )

    def _named_skip(self, skip: SkippedEvaluation) -> SkippedEvaluation:
        if skip.key_of is None or skip.key is not None:
            return skip
        name = self.of(skip.key_of, skip.name)
        return skip if name == skip.name else msgspec.structs.replace(skip, name=name, key=skip.name)


def _begins(key: str) -> Iterable[str]:
    """What stands before each dot of a key."""
    if "." not in key:
        return ()
    parts = key.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def unique(name: str, taken: set[str]) -> str:
    """The name, or the name with the first of `_2`, `_3`, … that is free."""
    if name not in taken:
        return name
    count = 2
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"
