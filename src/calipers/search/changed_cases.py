"""A space of changed cases: each case of a dataset, as it is and after each mutation of its texts.

The factors are the case, the mutation, and a seed from which the mutation draws, so that bandits learn which cases are weak and which
changes break them. Mutations that keep the meaning leave what a case expects in force. After one that does not, the case expects nothing.
"""

import copy
import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from calipers.data.argument_checks import check_whole_number
from calipers.data.case import Case
from calipers.errors import InvalidCaseError, InvalidOptionError
from calipers.run.dataset import Dataset

from .factors import Factors
from .mutations.mutation import Mutation
from .mutations.mutation_library import as_mutations
from .proposal import Proposal

UNCHANGED: Final = "none"
"""The mutation that leaves a case as it is."""


def case_variants(
    cases: Dataset[Any, Any, Any] | Iterable[Case[Any, Any, Any]],
    mutations: Collection[Mutation | str] | None = None,
    *,
    seeds: int = 20,
) -> Factors:
    """A space of the cases, changed by mutations.

    Args:
        cases: a dataset, or its cases. Inputs are texts, or data with texts in it, of which one is changed.
        mutations: values, and names from `MUTATIONS`; default: all that keep the meaning.
        seeds: in how many ways each mutation may change a case.

    Raises:
        InvalidOptionError: there are no cases, or no such mutation.
        InvalidCaseError: a case is a scripted conversation.
    """
    check_whole_number("seeds", seeds, at_least=1)
    listed = list(cases.cases if isinstance(cases, Dataset) else cases)
    if not listed:
        raise InvalidOptionError("there are no cases to change: give a dataset with at least one")
    named: dict[str, Case[Any, Any, Any]] = {}
    for number, case in enumerate(listed, 1):
        if case.turns:
            raise InvalidCaseError(f"the case {case.name!r} has turns: a search changes cases with inputs")
        named[case.name or f"Case {number}"] = case
    known = {mutation.label: mutation for mutation in as_mutations(mutations, keep_meaning=True)}

    def build(case: str, mutation: str, seed: int) -> Proposal:
        return _changed(named[case], known.get(mutation), random.Random(f"{case} {mutation} {seed}"))  # noqa: S311 - chance, not secrets

    return Factors({"case": list(named), "mutation": [UNCHANGED, *known], "seed": range(seeds)}, build=build)


def _changed(case: Case[Any, Any, Any], mutation: Mutation | None, rng: random.Random) -> Proposal:
    """A case after a mutation; `None`: as it is."""
    if mutation is None:
        return Proposal(case.inputs, case=case)
    inputs = changed_inputs(case.inputs, mutation, rng)
    if mutation.keeps_meaning:
        return Proposal(inputs, case=case)
    return Proposal(
        inputs, case=Case(inputs=inputs, metadata=case.metadata, tags=case.tags, timeout=case.timeout)
    )


def changed_inputs(inputs: Any, mutation: Mutation, rng: random.Random) -> Any:
    """The inputs with one of their texts changed; as they are where they hold no text."""
    places = list(_texts_in(inputs))
    if not places:
        return inputs
    path = rng.choice(places)
    if not path:
        return mutation.change(inputs, rng)
    changed = copy.deepcopy(inputs)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = mutation.change(holder[path[-1]], rng)
    return changed


def _texts_in(value: Any) -> Iterator[tuple[Any, ...]]:
    """The paths of the texts in plain data that are not blank."""
    if isinstance(value, str):
        if value.strip():
            yield ()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from ((key, *path) for path in _texts_in(item))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from ((place, *path) for path in _texts_in(item))
