"""What the other runs of a store know of the work of a run.

An attempt of another run that is damaged in the store is not known: it is made again, and a note says so.
"""

from collections.abc import Callable, Sequence

import msgspec

from calipers.data.reuse import Recalled
from calipers.errors import StoreDamagedError
from calipers.run.work import Work

from .recalling import Recaller
from .records import Known


class OtherRuns:
    """Finds attempts of other runs, and counts those that are damaged."""

    def __init__(self, find: Callable[[Sequence[bytes]], dict[bytes, Known]], recaller: Recaller) -> None:
        self._find = find
        self._recaller = recaller
        self._damaged = 0
        self._first = ""

    def recall(self, some: Sequence[Work]) -> dict[int, Recalled | None]:
        """What can be taken for the work, by its position."""
        works = {work.attempt_key: work for work in some if work.attempt_key is not None}
        found: dict[int, Recalled | None] = {}
        for key, known in self._known([*works]).items():
            work = works[key]
            try:
                found[work.position] = self._recaller.recall(
                    work, known.attempt, known.cells, keep_failures=False
                )
            except (StoreDamagedError, msgspec.DecodeError) as error:
                self._note(error)
        return found

    def notes(self) -> list[str]:
        """What is to be said of what was damaged."""
        if not self._damaged:
            return []
        what = "attempts made again, since what earlier runs have of them cannot be read"
        return [f"{what}: {self._damaged}; the first: {self._first}"]

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Known]:
        """What is known by key. Where something is damaged, the half that it is in is asked for alone, and so on."""
        try:
            return self._find(keys)
        except StoreDamagedError as error:
            if len(keys) == 1:
                self._note(error)
                return {}
        half = len(keys) // 2
        return {**self._known(keys[:half]), **self._known(keys[half:])}

    def _note(self, error: Exception) -> None:
        self._damaged += 1
        self._first = self._first or str(error)
