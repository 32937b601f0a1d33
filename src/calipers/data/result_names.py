"""What results are called in a run.

An evaluator that returns one value gives a result of its own name. One that returns a mapping gives a result for each key, and
the key is the result's name, unless another evaluator of the run gives the same key or is called so. Then the evaluator's name
comes first: `Clarity.score` and `Brevity.score`. Where an evaluator of the run is called `Clarity.score`, the key of Clarity is
`Clarity["score"]`. A name follows from who gives which keys in the whole run, never from who came first, so that a column means
one evaluator however cases finish, and whatever was skipped, resumed or taken from a store.

Which keys there are shows only when evaluators answer. Results are therefore named by what is known so far, and those that were
named too early are named once more at the end of the run. What comes to light later only makes names longer, so a record that
was named in a whole run keeps its names where less of the run is known. A store keeps the keys, and its reports are named when
they are read.

Two results of a run have one name only if they have one evaluator and one key:

- A bare key is no evaluator's name and has one giver.
- `evaluator.key` is no evaluator's name, and no longer evaluator's name can be read before one of its dots. No bare key looks
  like it: a key that begins with another evaluator's name gets its own evaluator before it, and so does one that begins with its
  own evaluator's name, if what follows is a key that needs it.
- `evaluator["key"]` is read from its last `["`, which the key cannot contain, being quoted as in JSON. No shorter form has it.
"""

import json
from collections.abc import Container, Iterable, Sequence

import msgspec

from calipers.data.result import EvaluationResult, SkippedEvaluation


class Names:
    """The evaluators of a run, the keys they give, and the names that follow from both."""

    __slots__ = ("_evaluators", "_givers", "_known", "_within", "changes")

    def __init__(self, evaluators: Iterable[str] = (), *, shared: Iterable[str] = ()) -> None:
        """Names for a run.

        Args:
            evaluators: their names.
            shared: keys that are known to come from several of them.
        """
        self._evaluators = set(evaluators)
        self._givers: dict[str, str | None] = dict.fromkeys(shared)
        """By key: the only evaluator that gives it; `None` where there are several."""
        self._within: set[str] = set()
        """What can be read for an evaluator's name or another key in these keys."""
        self._known: dict[tuple[str, str], str] = {}
        """Names by evaluator and key, until something comes to light that may change them."""
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
                self._known.clear()
                looks_given = bool(self._givers) and ("." in name or _QUOTED in name)
                self.changes += looks_given or name in self._givers or name in self._within

    def of(self, evaluator: str, key: str) -> str:
        """What the result of a key is called, as far as is known."""
        found = self._known.get((evaluator, key))
        if found is None:
            found = self._known[evaluator, key] = self._worked_out(evaluator, key)
        return found

    def _worked_out(self, evaluator: str, key: str) -> str:
        if key == evaluator:
            return key
        name = f"{evaluator}.{key}"
        quoted = _QUOTED in name or name in self._evaluators
        if not quoted and not self._needs_evaluator(evaluator, key):
            return key
        longer = (f"{evaluator}.{begin}" for begin in _begins(key))
        if not quoted and self._evaluators.isdisjoint(longer):
            return name
        name = f"{evaluator}[{json.dumps(key, ensure_ascii=False)}]"
        while name in self._evaluators:
            name += "'"
        return name

    def _needs_evaluator(self, evaluator: str, key: str) -> bool:
        """Whether a key alone could be taken for something else in the run."""
        if key == evaluator:
            return False
        if self._givers.get(key, evaluator) is None or key in self._evaluators:
            return True
        # A key `Clarity.score` of another one could be taken for the key `score` of Clarity.
        if any(begin in self._evaluators and begin != evaluator for begin in _begins(key)):
            return True
        rest = key.removeprefix(f"{evaluator}.")
        return rest != key and self._needs_evaluator(evaluator, rest)

    def named(
        self, results: Sequence[EvaluationResult], skipped: Sequence[SkippedEvaluation]
    ) -> tuple[tuple[EvaluationResult, ...], tuple[SkippedEvaluation, ...]]:
        """What was said of one attempt, with names as far as they are known; to be asked again when there are changes."""
        if not skipped and self._are_plain(results):
            return tuple(results), ()
        self.hear(results, skipped)
        taken: set[str] = set()
        return tuple(self._named(result, taken) for result in results), tuple(map(self._named_skip, skipped))

    def _are_plain(self, results: Sequence[EvaluationResult]) -> bool:
        """Whether each result has the name of its evaluator, which is known: most have, and then there is nothing to do."""
        known = self._evaluators
        for result in results:  # noqa: SIM110 - a generator takes twice as long
            if result.name != result.evaluator or result.name not in known:
                return False
        return True

    def hear(self, results: Iterable[EvaluationResult], skipped: Iterable[SkippedEvaluation]) -> None:
        """Take in which evaluators spoke of one attempt, and which keys they gave."""
        for result in results:
            if result.evaluator not in self._evaluators:
                self.meet([result.evaluator])
            if result.name != result.evaluator:
                self._take(result.evaluator, result.name if result.key is None else result.key)
        for skip in skipped:
            if skip.evaluator not in self._evaluators:
                self.meet([skip.evaluator])
            if skip.key_of is not None:
                self._take(skip.key_of, skip.name if skip.key is None else skip.key)

    def _take(self, evaluator: str, key: str) -> None:
        if key == evaluator:
            return
        giver = self._givers.setdefault(key, evaluator)
        if giver is not None and giver != evaluator:
            self._givers[key] = None
            self._known.clear()
            self.changes += 1
        while "." in key:
            self._within.update(_begins(key))
            rest = key.removeprefix(f"{evaluator}.")
            if rest == key:
                return
            self._within.add(key := rest)

    def _named(self, result: EvaluationResult, taken: set[str]) -> EvaluationResult:
        name = result.name
        if name != result.evaluator:
            name = self.again(result.evaluator, name, result.key)
        name = unique(name, taken)
        taken.add(name)
        if name == result.name:
            return result
        return msgspec.structs.replace(
            result, name=name, key=result.name if result.key is None else result.key
        )

    def _named_skip(self, skip: SkippedEvaluation) -> SkippedEvaluation:
        if skip.key_of is None:
            return skip
        name = self.again(skip.key_of, skip.name, skip.key)
        if name == skip.name:
            return skip
        return msgspec.structs.replace(skip, name=name, key=skip.name if skip.key is None else skip.key)

    def again(self, evaluator: str, name: str, key: str | None) -> str:
        """What a result is called that has been named before; `key` is `None` if its name is the key."""
        found = self.of(evaluator, name if key is None else key)
        return found if len(found) > len(name) else name


_QUOTED = '["'
"""What is in the names that are made of a quoted key, and in no others."""


def _begins(key: str) -> Iterable[str]:
    """What stands before each dot of a key."""
    if "." not in key:
        return ()
    parts = key.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def unique(name: str, taken: Container[str]) -> str:
    """The name, or the name with the first of `_2`, `_3`, … that is free."""
    if name not in taken:
        return name
    count = 2
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"
