"""Metamorphic relations: what must not change when the inputs do, and what must. They judge tasks for which no one can say the right answer.

A relation changes inputs and says how the two outputs have to relate (Chen et al., 1998). A trial asks the task twice: about a case, and about the same
case after the change. `Metamorphic` is the task, has the space of cases and relations, and judges.
"""

import asyncio
import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from calipers.data.argument_checks import check_function, check_text, check_whole_number
from calipers.data.case import Case
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidCaseError, InvalidOptionError
from calipers.process.user_code import call_in_thread
from calipers.run.dataset import Dataset
from calipers.run.task import as_task

from .changed_cases import changed_inputs
from .factors import Factors
from .mutations.mutation import Mutation
from .mutations.mutation_library import as_mutations


@dataclass(frozen=True)
class Relation:
    """A change of the inputs, and how the output must relate to the one before."""

    name: str
    """What its assertion is called."""
    change: Mutation | str | Callable[[Any, random.Random], Any]
    """A mutation, its name, or a function of inputs and a source of chance."""
    _: KW_ONLY
    holds: Callable[[Any, Any], bool]
    """Whether the output before and the one after the change relate as they must."""

    def __post_init__(self) -> None:
        check_text("the name of a Relation", self.name)
        check_function("holds", self.holds)
        if not isinstance(self.change, str | Mutation):
            check_function("change", self.change)
        elif isinstance(self.change, str):
            as_mutations([self.change])

    def changed(self, inputs: Any, rng: random.Random) -> Any:
        """The inputs after the change."""
        if isinstance(self.change, str):
            return changed_inputs(inputs, as_mutations([self.change])[0], rng)
        if isinstance(self.change, Mutation):
            return changed_inputs(inputs, self.change, rng)
        return self.change(inputs, rng)


def must_not_change(
    change: Mutation | str | Callable[[Any, random.Random], Any],
    *,
    same: Callable[[Any, Any], bool] | None = None,
    name: str | None = None,
) -> Relation:
    """A relation: the output stays the same. `same` says when two outputs are; default: they are equal."""
    return Relation(name or f"the same after {_called(change)}", change, holds=same or _equal)


def must_change(
    change: Mutation | str | Callable[[Any, random.Random], Any],
    *,
    same: Callable[[Any, Any], bool] | None = None,
    name: str | None = None,
) -> Relation:
    """A relation: the output becomes another. `same` says when two outputs are the same; default: they are equal."""
    is_same = same or _equal
    return Relation(
        name or f"another after {_called(change)}",
        change,
        holds=lambda before, after: not is_same(before, after),
    )


@dataclass(frozen=True)
class Metamorphic:
    """A task that is asked twice, before and after a change. Give it to `search`, with its `space(...)` and `evaluators`.

    ```python
    checked = Metamorphic(agent, [must_not_change("typos"), must_change("negation")])
    search_sync(checked, ThompsonBandit(checked.space(dataset)), evaluators=checked.evaluators)
    ```
    """

    task: Any
    relations: Sequence[Relation]

    is_async = True
    """It is awaited."""

    def __post_init__(self) -> None:
        if not isinstance(self.relations, Sequence) or not self.relations:
            raise InvalidOptionError(
                f"relations are a list of at least one Relation, got {safe_repr(self.relations):.200}"
            )
        for relation in self.relations:
            if not isinstance(relation, Relation):
                raise InvalidOptionError(
                    f"a relation is made by must_not_change(...), must_change(...) or Relation(...), got {safe_repr(relation):.200}"
                )
        names = [relation.name for relation in self.relations]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidOptionError(f"two relations are called {twice[0]!r}: name them")

    @property
    def name(self) -> str:
        """What to call it in reports: the task's name."""
        return as_task(self.task).name

    def space(
        self, cases: Dataset[Any, Any, Any] | Iterable[Case[Any, Any, Any]], *, seeds: int = 20
    ) -> Factors:
        """Every case with every relation, each changed in several ways."""
        check_whole_number("seeds", seeds, at_least=1)
        listed = list(cases.cases if isinstance(cases, Dataset) else cases)
        if not listed:
            raise InvalidOptionError("there are no cases to change: give a dataset with at least one")
        named = {case.name or f"Case {number}": case for number, case in enumerate(listed, 1)}
        relations = {relation.name: relation for relation in self.relations}

        def build(case: str, relation: str, seed: int) -> dict[str, Any]:
            before = named[case].inputs
            rng = random.Random(f"{case} {relation} {seed}")  # noqa: S311 - chance, not secrets
            return {"relation": relation, "before": before, "after": relations[relation].changed(before, rng)}

        return Factors({"case": list(named), "relation": list(relations), "seed": range(seeds)}, build=build)

    async def __call__(self, inputs: Any) -> dict[str, Any]:
        """What the task says before and after the change."""
        if not isinstance(inputs, Mapping) or set(inputs) != {"relation", "before", "after"}:
            raise InvalidCaseError(
                f"the inputs of a metamorphic task are a relation, before and after, as its space makes them, got {safe_repr(inputs):.200}"
            )
        before, after = await asyncio.gather(self._said(inputs["before"]), self._said(inputs["after"]))
        return {"relation": inputs["relation"], "before": before, "after": after}

    async def _said(self, inputs: Any) -> Any:
        task = as_task(self.task)
        found = task.function(inputs) if task.is_async else await call_in_thread(task.function, inputs)
        return await found if inspect.isawaitable(found) else found

    @property
    def evaluators(self) -> list[Any]:
        """Who judges: an assertion for the relation of a trial. Where the change left the inputs as they were, nothing is said."""
        relations = {relation.name: relation for relation in self.relations}

        def related(inputs: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, bool]:
            if inputs["before"] == inputs["after"]:
                return {}
            name = output["relation"]
            return {name: bool(relations[name].holds(output["before"], output["after"]))}

        return [related]


def _equal(before: Any, after: Any) -> bool:
    return bool(before == after)


def _called(change: Any) -> str:
    if isinstance(change, Mutation):
        return change.label
    return change if isinstance(change, str) else getattr(change, "__name__", type(change).__name__)
