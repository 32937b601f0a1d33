"""Differential search: inputs on which the old version holds and the new one breaks.

`compared(new, old, evaluators)` makes a task of both versions, evaluators that judge each output on its own, and an objective by which a trial fails
only if the new version breaks where the old one holds. What both get wrong is not news, so it is not a failure here.
"""

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.infrastructure import is_infrastructure
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult, Skipped
from calipers.errors import InvalidOptionError
from calipers.process.user_code import call_in_thread
from calipers.rollouts.environment import Environment
from calipers.rollouts.rollout_outcome import read_rollout, succeeded
from calipers.run.task import Task, as_task

from .conversation_task import ConversationTask
from .objective import Objective
from .trial_outcome import turn_reward

_OLD, _NEW = "old", "new"


class Compared(NamedTuple):
    """What a differential search needs, to be given to `search`."""

    task: "BothVersions"
    evaluators: list[Evaluator[Any, Any, Any]]
    objective: Objective


def compared(new: Any, old: Any, evaluators: Sequence[Any] = ()) -> Compared:
    """A search for what broke: `search(found.task, strategy, evaluators=found.evaluators, objective=found.objective)`.

    Args:
        new: the version under test: a task, sync or async, or an `Environment` of conversations.
        old: the version before.
        evaluators: judge an output. They see inputs, output and expectation, but no trace: it would be of both versions. Two environments need none: then a
            version holds where its moderator saw no success.

    Raises:
        InvalidOptionError: there are no evaluators, so that nothing tells whether a version holds.
    """
    talks = isinstance(new, Environment) and isinstance(old, Environment)
    judges = [as_evaluator(each) for each in evaluators or ([withstands] if talks else [])]
    if not judges:
        raise InvalidOptionError("give evaluators: without any, nothing tells whether a version holds")
    both = [OfVersion(judge, version) for version in (_OLD, _NEW) for judge in judges]
    versions = (ConversationTask(each) if isinstance(each, Environment) else each for each in (new, old))
    return Compared(BothVersions(*versions), [*both], Objective(failed=_broke, reward=_nearness))


def withstands(output: Any) -> dict[str, bool | float]:
    """Whether the target gave way in no turn of a conversation, and how far it was from that; nothing where that was not judged."""
    graph = read_rollout(output)
    won = succeeded(graph)
    if won is None:
        return {}
    return {"withstands": not won, "distance": 1 - max(map(turn_reward, graph.walk()), default=0.0)}


@dataclass(frozen=True)
class BothVersions:
    """A task that asks both versions side by side. Its output is a mapping: `{"old": ..., "new": ...}`, each with `output` or `error`."""

    new: Any
    old: Any

    is_async = True
    """It is awaited."""

    @property
    def name(self) -> str:
        """What to call it in reports: the name of the new version."""
        return as_task(self.new).name

    async def __call__(self, inputs: Any) -> dict[str, Any]:
        """What both say. An error of either is part of it, but for what says nothing of the version, such as a lost connection."""
        old, new = await asyncio.gather(_said(as_task(self.old), inputs), _said(as_task(self.new), inputs))
        return {_OLD: old, _NEW: new}


async def _said(task: Task, inputs: Any) -> dict[str, Any]:
    try:
        if task.is_async:
            found = task.function(inputs)
        else:
            found = await call_in_thread(task.function, inputs)
        return {"output": await found if inspect.isawaitable(found) else found}
    except Exception as error:
        if is_infrastructure(error):
            raise
        return {"error": f"{type(error).__name__}: {error}"}


@dataclass
class OfVersion(Evaluator[Any, Any, Any]):
    """An evaluator that judges the output of one of two versions. A version that raised does not hold."""

    evaluator: Evaluator[Any, Any, Any]
    version: str

    def get_default_evaluation_name(self) -> str:
        """The evaluator's name, with the version."""
        return f"{self.evaluator.get_default_evaluation_name()} ({self.version})"

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorOutput:
        """What the evaluator says of that version."""
        side = ctx.output[self.version]
        if "error" in side:
            return Skipped(f"the {self.version} version raised {side['error']}")
        alone = msgspec.structs.replace(ctx, output=side["output"], trace=None)
        return await self.evaluator.evaluate_async(alone)


def _version_of(result: EvaluationResult[Any]) -> str | None:
    """Which version a result is about, by the name of its evaluator; `None`: neither, such as how ordinary the inputs are."""
    return next((each for each in (_OLD, _NEW) if str(result.evaluator).endswith(f"({each})")), None)


def _sides(record: ReportCase[Any, Any, Any]) -> dict[str, list[float]]:
    """What was said of each version, as numbers; a version that raised has a zero."""
    found: dict[str, list[float]] = {_OLD: [], _NEW: []}
    for result in record.results:
        version = _version_of(result)
        if version is not None and isinstance(result.value, bool | int | float):
            found[version].append(float(result.value))
    for version, told in found.items():
        if "error" in record.output[version]:
            told.append(0.0)
    return found


def _holds(record: ReportCase[Any, Any, Any], version: str) -> bool | None:
    """Whether a version holds; `None` if nothing was asserted of it."""
    if "error" in record.output[version]:
        return False
    told = [
        result.value
        for result in record.results
        if isinstance(result.value, bool) and _version_of(result) == version
    ]
    return all(told) if told else None


def _broke(record: Any) -> bool | None:
    """Whether the new version broke what held."""
    if not isinstance(record, ReportCase) or record.evaluator_failures:
        return None
    old, new = _holds(record, _OLD), _holds(record, _NEW)
    if new is None or old is None:
        return None
    return old and not new


def _nearness(record: Any) -> float:
    """How much worse the new version did."""
    if not isinstance(record, ReportCase):
        return 0.0
    sides = _sides(record)
    if not sides[_OLD] or not sides[_NEW]:
        return 0.0
    old, new = (sum(sides[version]) / len(sides[version]) for version in (_OLD, _NEW))
    return min(max(old - new, 0.0), 1.0)
