"""One attempt at a case, in full: what came of it, what was said of it, its conversation, its sounds.

What a conversation says is decided in `views.transcript`, what came of an attempt in `views.outcome`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.data.human_label import HumanLabel
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvalVerdict, SkippedEvaluation, kind_of
from calipers.data.spending import (
    COST,
    INPUT_TOKENS,
    JUDGE_COST,
    JUDGE_UNPRICED_CALLS,
    OUTPUT_TOKENS,
    UNPRICED_CALLS,
)
from calipers.errors import CalipersError
from calipers.stats.number_text import dollars, number
from calipers.views.outcome import Outcome, Record, outcome_of
from calipers.views.rollout_tree import rollout_tree
from calipers.views.transcript import rollout_transcript

from .attempt_parts import AttemptParts
from .charts import tree_turns
from .hearing import hearing
from .label_item import person_label
from .shown_talk import shown_talk, value_with_talk
from .shown_value import MOST, blob_address, shown_json, shown_text
from .wire import (
    AttemptView,
    CellJudgement,
    Hearing,
    Mark,
    Money,
    ShownValue,
    Sound,
    Talk,
    TraceSummary,
    TreeTurn,
)

_MARKS: Final[Mapping[Outcome, Mark]] = {
    "passed": "pass",
    "failed": "fail",
    "error": "error",
    "skipped": "skip",
}
_ATTRIBUTES: Final = 200
"""Attributes that are listed."""
_SMALL: Final = 4_000
"""Characters of an attribute, of the details of a result, and of a turn, where there are many."""
_JUDGEMENTS: Final = 500
"""What evaluators said, as far as it is listed."""


def attempt_view(
    parts: AttemptParts,
    *,
    judges: Iterable[str],
    labels: Iterable[HumanLabel],
    has_trace: bool,
    trace: TraceSummary | None,
    folders: Sequence[Path],
    most: int = MOST,
) -> AttemptView:
    """An attempt in full.

    Args:
        parts: of the attempt.
        judges: the names of the run's evaluators that ask a model.
        labels: of people.
        has_trace: whether it left one.
        trace: what that adds up to; `None` where it was not read.
        folders: where files of sound may be.
        most: characters of one value.
    """
    record, position = parts.record, parts.attempt.position

    def address(name: str) -> str:
        return blob_address(parts.run.id, position, name)

    metrics = record.all_metrics if isinstance(record, ReportCase) else record.metrics
    attributes = parts.attributes
    small = most if len(attributes) <= 10 else min(most, _SMALL)
    data = parts.talk
    return AttemptView(
        position=position,
        repeat=parts.attempt.repeat,
        mark=mark_of(record),
        output=value_with_talk(parts.part("output") or b"", address("output"), most=most),
        error=shown_text(parts.error, "", most=most).text or None,
        error_type=record.error_type if isinstance(record, ReportCaseFailure) else None,
        traceback=parts.stacktrace[-most:],
        seconds=record.task_duration,
        cost=_money(metrics),
        judging="" if JUDGE_COST not in metrics else dollars(max(metrics[JUDGE_COST], 0.0)),
        tokens_in=_whole(metrics.get(INPUT_TOKENS)),
        tokens_out=_whole(metrics.get(OUTPUT_TOKENS)),
        tries=record.tries,
        judgements=list(judgements(parts, frozenset(judges), address)),
        not_run=list(record.not_run) if isinstance(record, ReportCaseFailure) else [],
        metrics=[(name, number(value)) for name, value in metrics.items()],
        attributes=[
            (name, shown_json(raw, address(part), most=small)) for name, part, raw in attributes[:_ATTRIBUTES]
        ],
        attributes_left_out=max(0, len(attributes) - _ATTRIBUTES),
        trace=trace,
        has_trace=has_trace,
        talk=_talk(parts, data, frozenset(judges), most=most),
        tree=_tree(data),
        sounds=[
            Sound(title=found.title, href=address(name), **found.facts)
            for name, found in parts.sounds(folders)
        ],
        hearing=_hearing(parts),
        labels=[person_label(label) for label in labels],
        trace_id=record.trace_id,
        fault=record.fault,
        teardown="" if record.teardown_failure is None else record.teardown_failure.error_message[:most],
    )


def mark_of(record: Record) -> Mark:
    """What came of an attempt, as a shape."""
    return _MARKS[outcome_of(record)]


# ---------------------------------------------------------------------- what was said of it


def judgements(
    parts: AttemptParts, judges: frozenset[str], address: Callable[[str], str]
) -> Iterator[CellJudgement]:
    """What evaluators said of an attempt: failures first, then what did not hold, then the rest in their order."""
    record = parts.record
    if not isinstance(record, ReportCase):
        return
    found = [_failure(each, judges) for each in record.evaluator_failures]
    details = parts.details()
    found += [
        _result(each, judges, shown_json(details[at], address(f"details-{at}"), most=_SMALL))
        for at, each in enumerate(record.results)
    ]
    found += [_skip(each, judges) for each in record.skipped]
    order: dict[Mark | None, int] = {"error": 0, "fail": 1, "partial": 2}
    yield from sorted(found, key=lambda each: order.get(each.mark, 3))[:_JUDGEMENTS]


def _result(result: EvaluationResult, judges: frozenset[str], details: ShownValue | None) -> CellJudgement:
    value: Any = result.value
    mark: Mark | None = None
    if isinstance(value, bool):
        mark = "partial" if result.verdict is EvalVerdict.PARTIAL else "pass" if value else "fail"
        text = {"pass": "passed", "partial": "passed in part", "fail": "did not pass"}[mark]
        text += "" if result.score is None else f" (score {number(result.score)})"
    else:
        text = value if isinstance(value, str) else number(value)
    return CellJudgement(
        name=result.name,
        evaluator=result.evaluator,
        kind=kind_of(value),
        mark=mark,
        value=value if isinstance(value, bool | str) else float(value),
        text=text[:_SMALL],
        reason=(result.reason or "")[:MOST],
        is_judge=result.evaluator in judges,
        details=None if details is None or details.kind == "missing" else details,
    )


def _failure(failure: EvaluatorFailure, judges: frozenset[str]) -> CellJudgement:
    return CellJudgement(
        name=failure.name,
        evaluator=failure.name,
        kind="failure",
        mark="error",
        value=None,
        text="did not finish",
        reason=failure.error_message[:MOST],
        traceback=failure.error_stacktrace[-MOST:],
        is_judge=failure.name in judges,
    )


def _skip(skip: SkippedEvaluation, judges: frozenset[str]) -> CellJudgement:
    return CellJudgement(
        name=skip.name,
        evaluator=skip.evaluator,
        kind="skip",
        mark="skip",
        value=None,
        text="skipped",
        reason=skip.reason[:MOST],
        is_judge=skip.evaluator in judges,
    )


# ---------------------------------------------------------------------- numbers


def _money(metrics: Mapping[str, Any]) -> Money | None:
    """What the attempt and its judges cost, as far as that is known."""
    known = [metrics[name] for name in (COST, JUDGE_COST) if name in metrics]
    if not known:
        return None
    total = float(sum(known))
    at_least = any(metrics.get(name) for name in (UNPRICED_CALLS, JUDGE_UNPRICED_CALLS))
    text = ("at least " if at_least else "") + dollars(max(total, 0.0))
    return Money(dollars=total, at_least=at_least, text=text)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


# ---------------------------------------------------------------------- conversations and sound


def _talk(parts: AttemptParts, data: Any, judges: frozenset[str], *, most: int) -> Talk | None:
    if data is None or not isinstance(parts.record, ReportCase):
        return None
    talk = rollout_transcript(data, parts.record.results)
    if talk is None:
        return None
    return shown_talk(talk, lambda result: _result(result, judges, None), most=most)


def _tree(data: Any) -> list[TreeTurn]:
    """The tree of a rollout; empty if it is no tree, or none that can be drawn."""
    if data is None:
        return []
    try:
        nodes = rollout_tree(data).nodes
    except (CalipersError, ValueError, TypeError):
        return []
    return tree_turns(nodes)


def _hearing(parts: AttemptParts) -> Hearing | None:
    heard, said = parts.attribute("transcript"), parts.inputs
    return hearing(said, heard) if isinstance(heard, str) and isinstance(said, str) else None
