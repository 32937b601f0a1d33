"""A stored attempt that is judged again, and how evaluators see what was said of it before."""

from collections.abc import Iterator, Sequence
from typing import Any

from typing_extensions import override

from calipers.data.attempt import Attempt
from calipers.data.context import EvaluatorContext
from calipers.data.result import EvaluationResult
from calipers.scoring.plan import Plan
from calipers.scoring.scoring import Earlier, NotedScoring

from .notes import attempt_notes
from .packing import facts_of, unpack_cells
from .records import StoredAttempt, StoredCell
from .run_info import StoredEvaluator, columns_of


class Found:
    """A stored attempt that is judged again, with what was said of it before."""

    def __init__(
        self,
        evaluators: Sequence[StoredEvaluator],
        attempt: StoredAttempt,
        cells: Sequence[StoredCell],
        *,
        as_plain: bool,
        redacted: bool,
        made: tuple[str, ...],
        bare: bool,
    ) -> None:
        self._evaluators = evaluators
        self._attempt = attempt
        self._cells = cells
        self.as_plain = as_plain
        self.redacted = redacted
        self.made = made
        notes = attempt_notes(attempt.output)
        self.holds_code = notes.code is not None or notes.output_code is not None
        """Whether its case or its output holds objects of the project's own classes, or functions."""
        self.bare = bare
        """Whether the tags and the timeout of its case are not known."""

    def earlier(self, said: list[EvaluationResult]) -> Earlier:
        """What was said of it before, and since."""
        return Earlier(columns_of(self._evaluators), _Said(self, said))

    def results(self) -> tuple[EvaluationResult, ...]:
        """The results that the run has already."""
        return unpack_cells(self._cells, facts_of(self._attempt), self._evaluators)[0]


class _Said:
    """What was said of an attempt so far: what is stored is read only when an evaluator looks."""

    def __init__(self, found: Found, said: list[EvaluationResult]) -> None:
        self._found = found
        self._said = said

    def __iter__(self) -> Iterator[EvaluationResult]:
        yield from self._found.results()
        yield from self._said


class FoundScoring(NotedScoring):
    """Judges attempts whose evaluators may look at stored results."""

    @override
    def _show(
        self,
        attempt: Attempt,
        plan: Plan,
        ctx: EvaluatorContext[Any, Any, Any],
        results: list[EvaluationResult],
    ) -> None:
        assert attempt.recalled is not None
        ctx._earlier = attempt.recalled.source.earlier(results)  # noqa: SLF001 - as its base class does
