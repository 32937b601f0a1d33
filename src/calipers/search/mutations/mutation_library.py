"""The library of mutations: one of each, under its name, in an order that stays."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from calipers.data.argument_checks import did_you_mean
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .encodings import Encoded
from .languages import MixedLanguage
from .mutation import Mutation
from .padding import Distracted, Longer, Repeated, Shorter
from .rewording import Politeness, Reordered, Synonyms
from .slips import Casing, Homophones, Spacing, Typos
from .turning import Negated

MUTATIONS: Mapping[str, Mutation] = MappingProxyType(
    {
        mutation.label: mutation
        for mutation in (
            Typos(),
            Homophones(),
            Casing(),
            Spacing(),
            Synonyms(),
            Politeness(),
            Reordered(),
            Negated(),
            Distracted(),
            Longer(),
            Shorter(),
            Repeated(),
            MixedLanguage(),
            *(
                Encoded(name)
                for name in ("base64", "rot13", "leetspeak", "look_alikes", "zero_width", "full_width")
            ),
        )
    }
)
"""Every mutation of the library by its name."""


def as_mutations(mutations: Collection[Any] | None, *, keep_meaning: bool = False) -> tuple[Mutation, ...]:
    """The mutations that are meant: values as they are, names from the library; `None` for all of it.

    Args:
        mutations: values and names.
        keep_meaning: of the whole library, only those after which a text asks for the same.

    Raises:
        InvalidOptionError: an unknown name, two of the same name, or none at all.
    """
    if mutations is None:
        return tuple(each for each in MUTATIONS.values() if each.keeps_meaning or not keep_meaning)
    if isinstance(mutations, str) or not isinstance(mutations, Collection) or not mutations:
        raise InvalidOptionError(
            f"mutations are a list of at least one, such as ['typos'], got {safe_repr(mutations):.200}"
        )
    found = tuple(map(_as_mutation, mutations))
    labels = [mutation.label for mutation in found]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise InvalidOptionError(f"two mutations are called {twice[0]!r}: results could not be told apart")
    return found


def _as_mutation(mutation: Any) -> Mutation:
    if isinstance(mutation, Mutation):
        return mutation
    if isinstance(mutation, str) and mutation in MUTATIONS:
        return MUTATIONS[mutation]
    hint = did_you_mean(mutation, MUTATIONS) if isinstance(mutation, str) else ""
    raise InvalidOptionError(
        f"no mutation {safe_repr(mutation):.100}{hint}: pass a Mutation, or one of the names {', '.join(MUTATIONS)}"
    )
