"""The cases of a dataset, by the stored attempts that were made at them."""

from typing import Any

from calipers.data.case import Case
from calipers.identity.cases import case_key
from calipers.run.dataset import Dataset
from calipers.run.work import work_items
from calipers.scoring.plan import Plan

from .records import StoredAttempt


class GivenCases:
    """The cases of a dataset by what their content is known by, and by their names where several have the same."""

    def __init__(self, dataset: Dataset[Any, Any, Any] | None) -> None:
        self._named: dict[tuple[bytes, str], Case[Any, Any, Any]] = {}
        self._only: dict[bytes, Case[Any, Any, Any] | None] = {}
        for work in () if dataset is None else work_items(dataset.cases, Plan([])):
            key = None if work.problem is not None else case_key(work.case)
            if key is not None:
                self._named[key, work.case_name] = work.case
                self._only[key] = None if key in self._only else work.case

    def of(self, attempt: StoredAttempt) -> Case[Any, Any, Any] | None:
        """The case of an attempt; `None` if there is none, or no telling which it is."""
        if attempt.case_hash is None:
            return None
        named = self._named.get((attempt.case_hash, attempt.case_name))
        return self._only.get(attempt.case_hash) if named is None else named
