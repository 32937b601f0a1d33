"""Which cases of a dataset to run: by name, by tag, and at most so many.

A case is selected if its name matches any of the filters, if there are any, and it has any of the tags, if there are
any. A filter matches a part of the name, or as a pattern with `*`, `?` and `[...]` the whole of it; capitals do not
matter. A case without a name keeps the one it has in the whole dataset, such as `Case 7`.

Metadata fields named by `--slice-by` are tags, too: of a case whose metadata says `difficulty: hard`, the tag is
`difficulty=hard`.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from calipers.data.case import Case, field_tags, similar_names
from calipers.data.jsonable import plain
from calipers.data.result_names import unique
from calipers.run.dataset import Dataset

_REMEMBERED = 10_000
"""Names kept for the message that nothing matched; a dataset may have more than memory holds."""


class Selection:
    """Chooses cases, and remembers what it saw."""

    def __init__(
        self,
        *,
        filters: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int | None = None,
        slice_by: Sequence[str] = (),
    ) -> None:
        self.filters = filters
        self.tags = tags
        self.slice_by = slice_by
        self.limit = limit
        self.names: set[str] = set()
        """Names that were seen."""
        self.known_tags: set[str] = set()
        """Tags that were seen."""
        self.unsliced = dict.fromkeys(slice_by)
        """Fields to slice by that no case has."""
        self.named_any = False
        """Whether a case was seen that the filters let through."""
        self.tagged_any = False
        """Whether a case was seen that has one of the tags."""

    @property
    def is_narrow(self) -> bool:
        """Whether it may choose nothing from a dataset that has cases."""
        return bool(self.filters or self.tags)

    @property
    def told(self) -> dict[str, Any]:
        """What was asked for, by the names of the options, as plain data; empty if everything is chosen."""
        asked = {"filter": sorted(set(self.filters)), "tag": sorted(set(self.tags)), "limit": self.limit}
        return {name: plain(value) for name, value in asked.items() if value not in ([], None)}

    def of(self, dataset: Dataset[Any, Any, Any]) -> Dataset[Any, Any, Any]:
        """The same dataset with the selected cases; a lazy one stays lazy."""
        if not self.is_narrow and self.limit is None and not self.slice_by:
            return dataset
        chosen = self._choose(dataset.cases)
        narrowed = copy.copy(dataset)
        narrowed.cases = list(chosen) if isinstance(dataset.cases, list) else chosen
        return narrowed

    def _choose(self, cases: Iterable[Any]) -> Iterator[Any]:
        named = map(self._retagged, _named(cases)) if self.slice_by else _named(cases)
        return islice((case for case in named if self._matches(case)), self.limit)

    def _retagged(self, case: Any) -> Any:
        """The case with the tags that its metadata stands for."""
        if not isinstance(case, Case):
            return case
        tags = dict.fromkeys(case.tags)
        for field in self.slice_by:
            if more := field_tags(case.metadata, field):
                tags.update(dict.fromkeys(more))
                self.unsliced.pop(field, None)
        case = copy.copy(case)
        case.tags = tuple(tags)
        return case

    def _matches(self, case: Any) -> bool:
        if not isinstance(case, Case):
            return True  # the run tells what is wrong with it
        name = case.name or ""
        if len(self.names) < _REMEMBERED:
            self.names.add(name)
        self.known_tags.update(case.tags)
        named = not self.filters or any(_fits(each, name) for each in self.filters)
        tagged = not self.tags or not set(self.tags).isdisjoint(case.tags)
        self.named_any |= named
        self.tagged_any |= tagged
        return named and tagged

    def why_nothing(self) -> str:
        """Why no case was chosen, with a suggestion."""
        if not self.names:
            return "there are no cases"
        parts: list[str] = []
        if not self.named_any:
            wanted = " or ".join(repr(each) for each in self.filters)
            parts.append(f"no case is called {wanted}{_near(self.filters, self.names)}")
        if not self.tagged_any:
            wanted = " or ".join(repr(each) for each in self.tags)
            parts.append(f"no case has the tag {wanted}{_near(self.tags, self.known_tags)}")
        return "; ".join(parts) or "no case matches both --filter and --tag, though some match either"


def _named(cases: Iterable[Any]) -> Iterator[Any]:
    """The cases with the names that the report of the whole dataset would give them."""
    listed = isinstance(cases, list)
    taken = {case.name for case in cases if isinstance(case, Case) and case.name} if listed else set[str]()
    for number, case in enumerate(cases, 1):
        if isinstance(case, Case) and case.name is None:
            case = copy.copy(case)  # noqa: PLW2901 - the user's own keeps no name
            case.name = unique(f"Case {number}", taken)
        elif isinstance(case, Case) and case.name and case.name.startswith("Case "):
            taken.add(case.name)  # no other name can be in the way, and a lazy dataset may have very many
        yield case


def _fits(wanted: str, name: str) -> bool:
    wanted, name = wanted.casefold(), name.casefold()
    return wanted in name or fnmatchcase(name, wanted)


def _near(wanted: Sequence[str], known: Iterable[str]) -> str:
    names = sorted(known)
    near = dict.fromkeys(
        name for each in wanted for name in similar_names(each.strip("*"), names, cutoff=0.5)
    )
    if near:
        return f"; did you mean {', '.join(map(repr, near))}?"
    if not names:
        return "; no case has any"
    shown = ", ".join(map(repr, names[:10]))
    return f"; there are {shown}{f' and {len(names) - 10} more' if len(names) > 10 else ''}"
