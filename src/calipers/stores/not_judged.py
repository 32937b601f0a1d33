"""What stands for judgements that an attempt lacks: without them, nobody knows whether it passes."""

from collections.abc import Iterable, Sequence
from typing import Final

from calipers.data.result import EvaluatorFailure

from .records import StoredCell
from .run_info import StoredEvaluator

NOT_JUDGED: Final = "NotJudged"
"""The error's type of an evaluator that was added by scoring, on attempts that it has yet to judge."""


def not_judged(
    cells: Iterable[StoredCell], evaluators: Sequence[StoredEvaluator], scored: Iterable[int]
) -> tuple[EvaluatorFailure, ...]:
    """What stands for the judgements that an attempt lacks: without them, nobody knows whether it passes.

    Whoever scores a run leaves a cell with every attempt, also if there is nothing to say. One that has none was made
    later, or the scoring ended before its turn.
    """
    there = {cell.evaluator for cell in cells}
    if there.issuperset(scored):
        return ()
    return tuple(
        EvaluatorFailure(
            name=evaluators[place].name,
            error_type=NOT_JUDGED,
            error_message=f"{NOT_JUDGED}: it has not judged this attempt yet: score the run with it again",
            source=evaluators[place].spec,
        )
        for place in scored
        if place not in there
    )
